package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/compare"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/internal/manifest/text"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/manifest/gittree"
	"github.com/olmgen/olmgen/manifest/tree"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/permissions"
)

// sayGrowth prints a note if permissions grow, or if CRDs change in a way that breaks, by what is about to be written
// over an older tree. It compares only if files of RBAC or CRDs differ. What cannot be read is no reason to fail here.
func (f *renderFlags) sayGrowth(cmd *cobra.Command, r *config.Rendered) {
	if f.output == output.Stdout || quiet(cmd) || !f.touchesRules(r.Files) {
		return
	}
	old, err := f.older(cmd)
	if err != nil || len(old) == 0 {
		return
	}
	var now []*manifest.Object
	for _, o := range r.Objects {
		if !judged(o.Group(), o.Kind) {
			continue
		}
		read, err := o.Manifest()
		if err != nil {
			return
		}
		now = append(now, read)
	}
	report, err := compareObjects(cmd.Context(), old, now)
	if err != nil {
		return
	}
	var grew []string
	if gained := (permissions.Diff{Permissions: report.Permissions, Users: report.Users}).Gained(); len(gained) > 0 {
		grew = append(grew, text.Count(len(gained), "permission")+" gained")
	}
	if n := report.Breaking(); n > 0 {
		grew = append(grew, text.Count(n, "breaking change")+" of CRDs")
	}
	if len(grew) > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "olmgen: note: %s: %s: see %s\n", f.output, strings.Join(grew, ", "),
			f.howToSee(cmd))
	}
}

// quiet reports whether notes are not printed.
func quiet(cmd *cobra.Command) bool {
	_, is := cmd.ErrOrStderr().(*quietWriter)
	return is
}

// judged reports whether an object has a part in the note: RBAC, CRDs, and what tells accounts and operators apart.
func judged(group, kind string) bool {
	return permissions.Relevant(group, kind) || images.HasPods(group, kind) || kind == "ClusterServiceVersion"
}

// touchesRules reports whether the files of RBAC or CRDs are others than those of an older tree.
func (f *renderFlags) touchesRules(files output.Files) bool {
	return slices.ContainsFunc(files, func(file output.File) bool {
		if !permissions.Relevant(file.Object.Group, file.Object.Kind) {
			return false
		}
		have, err := os.ReadFile(filepath.Join(f.output, filepath.FromSlash(file.Path)))
		return err != nil || !bytes.Equal(text.LF(have), text.LF(file.Data))
	})
}

// older reads what olmgen wrote before. Files of others are not replaced, so they have no part in the note.
func (f *renderFlags) older(cmd *cobra.Command) ([]*manifest.Object, error) {
	recorded, err := output.Recorded(f.output)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, name := range recorded {
		file := filepath.Join(f.output, filepath.FromSlash(name))
		if _, err := os.Stat(file); err == nil && filepath.Ext(file) == ".yaml" {
			paths = append(paths, file)
		}
	}
	if len(paths) == 0 {
		return nil, nil
	}
	t, err := tree.Read(cmd.Context(), paths, tree.Options{})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(t.Objects, func(o *manifest.Object) bool { return !judged(o.Group(), o.Kind) }), nil
}

// compareObjects compares two sets of objects as trees.
func compareObjects(ctx context.Context, old, now []*manifest.Object) (*compare.Report, error) {
	var states [2]compare.State
	for i, list := range [][]*manifest.Object{old, now} {
		r := &reviewed{all: list}
		r.Objects = list
		var err error
		if r.CSVs, err = permissions.InstalledCSVs(list); err != nil {
			return nil, err
		}
		if r.operators, err = compare.TreeOperators(list, r.CSVs); err != nil {
			return nil, err
		}
		if states[i], err = r.state(""); err != nil {
			return nil, err
		}
	}
	return compare.Compare(ctx, states[0], states[1], compare.Options{})
}

// howToSee returns the command that shows what grew.
func (f *renderFlags) howToSee(cmd *cobra.Command) string {
	dir := findablePath(f.output)
	what := strings.Join(append(cmd.Flags().Args(), f.files...), " ")
	switch {
	case f.check || f.summary.dryRun:
		return "olmgen diff " + dir + " " + findablePath(what)
	case gittree.Tracks(f.output):
		return "olmgen diff --git HEAD " + dir
	}
	return "olmgen diff with a copy of the older tree and " + dir
}

// findablePath quotes a path for a shell where it needs that.
func findablePath(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return strings.ContainsRune(" \t\n'\"$`\\*?[]{}()<>|&;#~!", r) }) {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}
