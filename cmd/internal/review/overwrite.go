package review

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/internal/tree/kustomization"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
)

// Overwritten compares the older tree in dir with what is rendered; nil if no file about permissions and CRDs changes.
func Overwritten(ctx context.Context, dir string, rendered *config.Rendered) (*compare.Report, error) {
	if !slices.ContainsFunc(rendered.Files, func(file output.File) bool {
		if !permissions.Relevant(file.Object.Group, file.Object.Kind) && file.Object.Kind != kindCSV {
			return false
		}
		have, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file.Path)))
		return err != nil || !bytes.Equal(text.LF(have), text.LF(file.Data))
	}) {
		return nil, nil //nolint:nilnil // nothing to compare
	}
	old, err := written(ctx, dir)
	if err != nil || len(old) == 0 {
		return nil, err
	}
	var now []*manifest.Object
	for _, o := range rendered.Objects {
		if !grows(o.Group(), o.Kind) {
			continue
		}
		read, err := o.Manifest()
		if err != nil {
			return nil, err
		}
		now = append(now, read)
	}
	var subjects [2]*Subject
	for i, list := range [][]*manifest.Object{old, now} {
		if subjects[i], err = FromObjects(list, permissions.Operator{}, ""); err != nil {
			return nil, err
		}
	}
	return Compare(ctx, subjects[0], subjects[1], [2]string{}, compare.Options{})
}

// Growth returns what grows or breaks, such as "2 permissions gained by app.v1.0.0"; "" if nothing does.
func Growth(report *compare.Report) string {
	if report == nil {
		return ""
	}
	var grown []string
	gained := permissions.Diff{Permissions: report.Permissions, Users: report.Users}.Gained()
	if len(gained) > 0 {
		grown = append(grown, text.Count(len(gained), "permission")+" gained")
	}
	if n := report.Breaking(); n > 0 {
		grown = append(grown, text.Count(n, "breaking change")+" of CRDs")
	}
	if len(grown) == 0 {
		return ""
	}
	whose := report.New.Operators
	if len(report.Operators) > 0 {
		whose = nil
		for _, o := range report.Operators {
			if o.Severity != findings.Info && o.Operator != "" {
				whose = append(whose, o.Operator)
			}
		}
	}
	if len(whose) > 0 {
		whose = []string{"by " + text.FirstOf(3, whose)}
	}
	return strings.Join(append([]string{strings.Join(grown, ", ")}, whose...), " ")
}

// Refusals returns a warning for each reason why OLM would refuse what is rendered over the older tree.
func Refusals(report *compare.Report) (out []config.Warning) {
	if report == nil {
		return nil
	}
	for _, c := range report.OLM {
		if c.Severity == findings.Error {
			out = append(out, config.Warning{Message: fmt.Sprintf("OLM refuses this over the tree: %s %s", c.Operator,
				c.Message)})
		}
	}
	return out
}

// grows reports whether objects of a kind matter for Growth: RBAC, CRDs, and what tells accounts and operators apart.
func grows(group, kind string) bool {
	return permissions.Relevant(group, kind) || images.HasPods(group, kind) || kind == kindCSV
}

const kindCSV = "ClusterServiceVersion"

// written reads what olmgen wrote before. Files of other tools stay, so they do not grow.
func written(ctx context.Context, dir string) ([]*manifest.Object, error) {
	recorded, err := output.Recorded(dir)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, name := range recorded {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if _, err := os.Stat(file); err == nil && filepath.Ext(file) == ".yaml" &&
			!slices.Contains(kustomization.Names(), filepath.Base(file)) {
			paths = append(paths, file)
		}
	}
	if len(paths) == 0 {
		return nil, nil
	}
	t, err := tree.Read(ctx, paths, tree.Options{})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(t.Objects, func(o *manifest.Object) bool { return !grows(o.Group(), o.Kind) }), nil
}

// Over returns what rendered says that is written over dir: the notes that the last run has not printed, a warning for
// each kind of objects that are removed although they take others with them, and a note for each operator whose profile
// changes. A directory that cannot be read has no notes that are known: it is an error of what follows.
func Over(dir string, rendered *config.Rendered) (fresh, removals, profiles []config.Warning) {
	recorded, err := output.RecordedSources(dir)
	if err != nil {
		return rendered.Notes, nil, nil
	}
	for i, now := range rendered.Sources {
		before := profilesOf(recorded, now)
		if len(before) == 1 && before[0] != now.Profile && len(profilesOf(rendered.Sources, now)) == 1 {
			profiles = append(profiles, config.Warning{Operator: rendered.Operators[i].Name, Message: fmt.Sprintf(
				"the profile changes from %s to %s", before[0], now.Profile)})
		}
	}
	preview, err := output.NewPreview(dir, rendered.Files,
		output.WriteOptions{Sources: rendered.Sources, Replace: true})
	if err != nil {
		return rendered.Notes, nil, profiles
	}
	return newNotes(rendered, recorded, preview), removed(dir, rendered, preview), profiles
}

// newNotes leaves out operators that are known: a lock has their bundle and profile, and no file of theirs changes.
func newNotes(rendered *config.Rendered, recorded []output.Source, preview output.Result) []config.Warning {
	if len(recorded) == 0 || len(rendered.Notes) == 0 {
		return rendered.Notes
	}
	known := make([]bool, len(rendered.Sources))
	for i, s := range rendered.Sources {
		known[i] = slices.ContainsFunc(recorded, func(r output.Source) bool {
			return r.Bundle == s.Bundle && r.Profile == s.Profile && r.Digest == s.Digest
		})
	}
	changed := map[output.ID]bool{}
	for _, f := range rendered.Files {
		if slices.Contains(preview.Added, f.Path) || slices.Contains(preview.Changed, f.Path) {
			changed[f.Object] = true
		}
	}
	for _, o := range rendered.Objects {
		for _, i := range o.Operators {
			known[i] = known[i] && !changed[output.IDOf(o.Object)]
		}
	}
	return slices.DeleteFunc(slices.Clone(rendered.Notes), func(n config.Warning) bool {
		for i, o := range rendered.Operators {
			if (n.Operator == "" || n.Operator == o.Name) && !known[i] {
				return false
			}
		}
		return true
	})
}

// owners are the kinds with which the API server deletes others: what is in a Namespace, the custom resources of a CRD.
var owners = []string{"Namespace", "CustomResourceDefinition"}

func removed(dir string, rendered *config.Rendered, preview output.Result) (out []config.Warning) {
	kept := map[string]bool{}
	for _, o := range rendered.Objects {
		kept[o.Kind+" "+o.Name] = true
	}
	for _, f := range rendered.Files {
		kept[f.Object.Kind+" "+f.Object.Name] = true
	}
	gone := map[string][]string{}
	for _, name := range slices.Concat(preview.Removed, preview.Changed) {
		for _, o := range ownersIn(filepath.Join(dir, filepath.FromSlash(name))) {
			if !kept[o.Kind+" "+o.Name] {
				gone[o.Kind] = append(gone[o.Kind], o.Name)
			}
		}
	}
	for _, kind := range owners {
		if names := gone[kind]; len(names) > 0 {
			slices.Sort(names)
			what := "all objects in it"
			if kind == "CustomResourceDefinition" {
				what = "all its custom resources"
			}
			out = append(out, config.Warning{Message: fmt.Sprintf("%s: this run removes %s %s; an engine that prunes "+
				"deletes %s", dir, kind, text.FirstOf(10, slices.Compact(names)), what)})
		}
	}
	return out
}

// ownersIn returns the objects of a file that take others with them. Most files are not parsed.
func ownersIn(name string) (found []*manifest.Object) {
	data, err := whole.ReadFile(name, budget.TreeFile)
	if err != nil || !slices.ContainsFunc(owners, func(kind string) bool {
		return bytes.Contains(data, []byte("\nkind: "+kind+"\n"))
	}) {
		return nil
	}
	docs, err := manifest.ReadFile(name, data, manifest.Limits{})
	if err != nil {
		return nil
	}
	for _, d := range docs {
		objects, err := d.Objects()
		if err != nil {
			continue
		}
		found = append(found, lists.Filter(objects, func(o *manifest.Object) bool {
			return slices.Contains(owners, o.Kind)
		})...)
	}
	return found
}

func profilesOf(list []output.Source, of output.Source) (profiles []string) {
	for _, s := range list {
		if s.Package == of.Package && s.Lock == of.Lock && s.Profile != "" && !slices.Contains(profiles, s.Profile) {
			profiles = append(profiles, s.Profile)
		}
	}
	return profiles
}
