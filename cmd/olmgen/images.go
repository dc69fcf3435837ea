package main

import (
	"bytes"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/cmd/internal/imagelist"
	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/parallel"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/print"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/templates"
)

// formatMirrorSet is a format that needs a mirror.
const formatMirrorSet findings.Format = "imagedigestmirrorset"

type imagesFlags struct {
	format    findings.Format
	mirror    string
	mirrorMap string
	unpinned  bool
	catalogs  treeCatalogs
	roots     treeFlags
	source    sourceFlags
}

func newImages() *cobra.Command {
	f := imagesFlags{format: findings.Text}
	cmd := command("images SOURCE...|TREE... | -f FILE", "Which images does this operator run? List them",
		sourcesOr(&f.source.files), f.run)
	flags := cmd.Flags()
	formatFlag(cmd, &f.format, []findings.Format{findings.Text, findings.Tabular, findings.JSON, findings.Markdown,
		formatMirrorSet})
	flags.StringVar(&f.mirror, "mirror", "", "with imagedigestmirrorset: `REGISTRY[/PREFIX]` that has the images")
	flags.StringVar(&f.mirrorMap, "mirror-map", "", "warn of images that this mirror map (`FILE`) has no mirror for")
	fileFlag(flags, &f.source.files)
	flags.BoolVar(&f.unpinned, "unpinned", false,
		"list only images that are not pinned by digest; exit code 3 if there are any")
	f.catalogs.register(flags)
	f.roots.register(cmd)
	f.source.register(cmd)
	return cmd
}

func (f *imagesFlags) check(cmd *cobra.Command, refs []string) error {
	switch sets := f.format == formatMirrorSet; {
	case sets && f.mirror == "":
		return &usageError{"--format imagedigestmirrorset needs --mirror", "name the registry that has the images"}
	case !sets && f.mirror != "":
		return &usageError{"--mirror is for --format imagedigestmirrorset", ""}
	}
	if err := images.CheckMirror(f.mirror); err != nil && f.mirror != "" {
		return &usageError{"--mirror: " + err.Error(), manifest.HintOf(err)}
	}
	return refuseTreeFlags(cmd, refs, aboutTrees...)
}

func (f *imagesFlags) run(cmd *cobra.Command, refs []string) error {
	if err := f.check(cmd, refs); err != nil {
		return err
	}
	var list []images.Image
	sources, _, err := f.source.sources(cmd, refs)
	if err != nil {
		return err
	}
	failed, unknown, unread, trees := 0, 0, []string(nil), []*tree.Tree(nil)
	f.catalogs.checked = true // with the names of all trees, below
	all := make([]*listed, len(sources))
	parallel.Each(0, len(sources), func(i int) { all[i] = f.listOne(cmd, sources[i], len(sources)) })
	for _, of := range all {
		for _, message := range of.warnings {
			if _, err := cmd.ErrOrStderr().Write(message); err != nil {
				return err
			}
		}
		trees = append(trees, of.tree)
		switch {
		case of.err == nil:
			list, unread = append(list, of.images...), append(unread, of.unread...)
			unknown += of.unknown
		case len(sources) == 1 || cmd.Context().Err() != nil:
			return of.err
		default:
			sayError(cmd, cmd.ErrOrStderr(), of.err)
			failed++
		}
	}
	if err := checkCatalogNames(cmd, f.catalogs.values, nil, trees...); err != nil {
		return err
	}
	if err := f.sayUnmirrored(cmd, list); err != nil {
		return err
	}
	if f.unpinned {
		list = lists.Filter(list, func(i images.Image) bool { return i.Pulled() && !i.Pinned })
	}
	sayGuesses(cmd, list)
	if err := f.print(cmd, list); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%s could not be read", text.Count(failed, "source"))
	}
	if err := unreadError(unread); err != nil {
		return err
	}
	if n := len(images.Names(list)); f.unpinned && n > 0 {
		return &foundError{text.Count(n, "image") + " not pinned by digest"}
	}
	if (f.unpinned || f.mirror != "") && unknown > 0 {
		return unknownError(unknown, f.catalogs.values)
	}
	return nil
}

// listed is what one of several sources has, with the warnings about it.
type listed struct {
	images   []images.Image
	unread   []string // files of a tree
	unknown  int      // operators of a tree
	tree     *tree.Tree
	err      error
	warnings messages
}

// messages are what was written, one by one.
type messages [][]byte

func (m *messages) Write(p []byte) (int, error) {
	*m = append(*m, bytes.Clone(p))
	return len(p), nil
}

func (f *imagesFlags) listOne(cmd *cobra.Command, s namedSource, of int) *listed {
	out := new(listed)
	own := *cmd // with warnings of its own, because several sources are read at the same time
	own.SetErr(&out.warnings)
	o := bundle.ReadOptions{AllowUnsupported: true}
	if of > 1 {
		o.Workers = 1
	}
	if s.ref != tree.Stdin && isTree(s.ref) {
		if out.err = f.listTree(&own, s, out); out.images != nil || out.err != nil {
			return out
		}
	}
	opened, err := openBundle(&own, s.ref, s.options, o)
	if err != nil {
		out.err = err
		return out
	}
	out.images, out.err = imagesOf(&own, s.ref, opened)
	return out
}

// sayUnmirrored warns of images that the mirror map has no mirror for.
func (f *imagesFlags) sayUnmirrored(cmd *cobra.Command, list []images.Image) error {
	if f.mirrorMap == "" {
		return nil
	}
	data, err := readNamed(f.mirrorMap, budget.File, "name a file that maps images to mirrors")
	if err != nil {
		return fmt.Errorf("--mirror-map: %w", err)
	}
	m, err := images.ReadMap(filepath.ToSlash(f.mirrorMap), data)
	if err != nil {
		return err
	}
	w := m.Rewriter()
	for _, i := range list {
		w.Rewrite(images.Place{Kind: i.Kind, Name: i.Name}, i.Image)
	}
	for _, name := range w.Unmapped() {
		warn(cmd, "%s: no mirror for %s%s", f.mirrorMap, name, class(bundle.WarnUnmirrored))
	}
	for _, name := range w.Kept() {
		warn(cmd, "%s does not change %s%s", f.mirrorMap, name, class(bundle.WarnUnmirrored))
	}
	return nil
}

// sayGuesses notes images that are known from texts only.
func sayGuesses(cmd *cobra.Command, list []images.Image) {
	sure := lists.Set(list, func(i images.Image) string { return map[bool]string{false: i.Reference()}[i.Guess] })
	guesses := lists.Filter(list, func(i images.Image) bool { return !sure[i.Reference()] })
	if n := len(images.Names(guesses)); n > 0 {
		note(cmd, "guessed from words in texts: %s, such as %s (%s)", text.Count(n, "image"), guesses[0].Reference(),
			guesses[0].At())
	}
}

// listTree lists the images of manifests, and of what OLM installs for them. It sets no list for files
// without objects.
func (f *imagesFlags) listTree(cmd *cobra.Command, s namedSource, out *listed) error {
	t, err := f.roots.read(cmd, []string{s.ref}, tree.Options{})
	if err != nil || len(t.Objects)+len(t.Faults)+len(t.Unknown()) == 0 {
		return err
	}
	saySkipped(cmd, t)
	out.tree = t
	for _, e := range t.Faults {
		sayError(cmd, cmd.ErrOrStderr(), e)
	}
	list, err := images.ListObjects(t.Objects)
	if err != nil {
		return err
	}
	installed, unknown, err := f.catalogs.installs(cmd, t, s.options)
	if err != nil {
		return err
	}
	for _, i := range installed {
		own, err := imagesOf(cmd, i.Opened.Ref, i.Opened)
		if err != nil {
			return err
		}
		list = append(list, own...)
	}
	for u, also := range firstOf(unknown, func(u review.Unknown) string { return u.Why }, nil) {
		warn(cmd, "the images of what %s installs are not known: %s%s", u.Object.Identity(), u.Why, also)
	}
	if len(unknown) > 0 && len(f.catalogs.values) == 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "hint: pass the content of its catalog with --catalog")
	}
	out.images, out.unknown, out.unread = append([]images.Image{}, list...), len(unknown), t.Unread()
	return nil
}

func imagesOf(cmd *cobra.Command, ref string, opened *config.Opened) ([]images.Image, error) {
	list, err := images.List(opened.Bundle)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	unnamed, err := images.Unnamed(opened.Others)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	if n := len(unnamed); n > 0 {
		warn(cmd, "%s: %s with digests and without the names of their images, such as %s: what runs of them is not "+
			"listed", ref, text.Count(n, "ConfigMap"), unnamed[0].Name)
	}
	if opened.Image != "" {
		list = append(list, images.OfBundle(opened.Bundle, opened.Image))
	}
	for i := range list {
		list[i].Source = opened.SourceName()
		if list[i].Normalized == "" {
			warn(cmd, "%s:%d: %s: %q is not an image reference", list[i].File, list[i].Line, list[i].Field,
				list[i].Image)
		}
	}
	return list, nil
}

func (f *imagesFlags) print(cmd *cobra.Command, list []images.Image) error {
	if f.format != formatMirrorSet {
		return print.Report(cmd.OutOrStdout(), imagelist.List(list), f.format)
	}
	t, err := templates.Load(nil)
	if err != nil {
		return err
	}
	data, err := images.MirrorSets(list, f.mirror, t)
	if err != nil {
		return err
	}
	_, err = cmd.OutOrStdout().Write(data)
	return err
}
