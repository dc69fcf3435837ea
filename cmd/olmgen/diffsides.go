package main

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/compare"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// side is OLD or NEW.
type side struct {
	review.Revision
	old          bool
	tree         *tree.Tree
	pkg, version string // what to choose from a catalog, if it is not what the flags say
	profile      generate.Profile
}

func (s side) isTree() bool { return !s.Empty && isTree(s.Ref) }

func (s side) isSource() bool {
	return !s.Empty && !source.IsRenderConfig(s.Ref) && !review.IsTree(s.Ref)
}

// checkout reads PATH at the Git revisions of --git.
func (f *diffFlags) checkout(given []string) (sides [2]side, remove func(), err error) {
	oldRev, newRev, two := strings.Cut(f.git, "..")
	if strings.HasPrefix(newRev, ".") {
		return sides, nil, &usageError{"--git REV...REV is not known", "write REV..REV, perhaps with git merge-base"}
	}
	if oldRev == "" || two && newRev == "" {
		return sides, nil, &usageError{fmt.Sprintf("--git %q has an empty revision", f.git), "write REV or REV..REV"}
	}
	revisions, remove, err := review.Checkout(append(given, ".")[0], oldRev, newRev)
	for i, r := range revisions {
		sides[i] = side{Revision: r, old: i == 0}
	}
	return sides, remove, err
}

// readTrees reads the sides that are trees.
func (f *diffFlags) readTrees(cmd *cobra.Command, sides *[2]side) (err error) {
	for i := range sides {
		s := &sides[i]
		if !s.isTree() {
			continue
		}
		o := tree.Options{Top: s.Root, Plain: true}
		if s.Root != "" {
			revision, below, _ := strings.Cut(s.Name, ":")
			o.Named = func(rel string) string { return revision + ":" + path.Join(below, rel) }
		}
		if s.tree, err = f.roots.read(cmd, []string{s.Ref}, o); err != nil {
			return err
		}
	}
	return nil
}

// clusterPairs pairs the clusters of two trees. There are none if a side is no tree.
func clusterPairs(sides [2]side) []review.ClusterPair {
	if slices.ContainsFunc(sides[:], func(s side) bool { return s.tree == nil && !s.Empty }) {
		return nil
	}
	return review.ClusterPairs([2]*tree.Tree{sides[0].tree, sides[1].tree})
}

// compareClusters compares cluster by cluster.
func (f *diffFlags) compareClusters(cmd *cobra.Command, sides [2]side, pairs []review.ClusterPair,
	on review.TreeOptions, o compare.Options) (*compare.Reports, error) {
	out := &compare.Reports{Kind: "UpgradeList", Old: sides[0].Name, New: sides[1].Name,
		Clusters: []compare.ClusterReport{}, Unbuilt: o.Unbuilt}
	o.Unbuilt = nil
	for n, pair := range pairs {
		if len(f.oldCatalogs) == 0 && pair.Equal() {
			out.Compared++
			continue
		}
		each := sides
		for i, c := range pair.Sides {
			if c == nil {
				each[i].tree, each[i].Empty = nil, true
				each[i].Name = path.Join(each[i].Name, pair.Rel)
				continue
			}
			each[i].tree = sides[i].tree.Of(*c, n == 0)
			each[i].Name = c.Name
		}
		report, err := f.compareSides(cmd, each, on, o)
		if err != nil {
			return nil, err
		}
		out.Add(pair.Rel, review.WithoutNames(report, each[0].Name, each[1].Name), report)
	}
	return out, nil
}

// renamedError names the files of a Git revision in an error.
func renamedError(err error, names *strings.Replacer) error {
	text, hint := config.ErrorText(err, func(manifest.Option) string { return "" })
	if named := names.Replace(text); named != text {
		return manifest.WithHint(errors.New(named), names.Replace(hint))
	}
	return err
}

// renamingWriter names the files of a Git revision in messages.
type renamingWriter struct {
	w     io.Writer
	names *strings.Replacer
}

func (r *renamingWriter) Write(p []byte) (int, error) {
	_, err := io.WriteString(r.w, r.names.Replace(string(p)))
	return len(p), err
}
