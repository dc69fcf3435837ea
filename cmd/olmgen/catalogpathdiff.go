package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/compare"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/findings/print"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/source"
)

// pathDiff is which versions of a path are compared.
type pathDiff string

const (
	diffTotal pathDiff = "total" // the first with the last
	diffSteps pathDiff = "steps" // each with the next
)

// openedCatalog is a catalog of the path.
type openedCatalog struct {
	name, ref string
	content   *fbc.Catalog
}

// checkDiff refuses flags that say how --diff renders if there is no --diff.
func (f *pathFlags) checkDiff(cmd *cobra.Command) (wrong error) {
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		_, option := f.review.render.options.Option(flag.Name)
		option = option || flag.Name == "tree" || flag.Name == "crs"
		if option && f.diff == "" && wrong == nil {
			wrong = &usageError{"--" + flag.Name + " needs --diff", "add --diff"}
		}
	})
	return wrong
}

// compare compares versions of a path as olmgen diff does.
func (f *pathFlags) compare(cmd *cobra.Command, path *resolve.Path) ([]*compare.Report, error) {
	steps := path.Steps
	if len(steps) > 0 && steps[0].From == "" {
		steps = steps[1:] // a fresh install
	}
	if f.diff == "" || len(steps) == 0 {
		return nil, nil
	}
	if f.diff == diffTotal {
		last := steps[len(steps)-1]
		steps = []resolve.PathStep{{From: steps[0].From, To: last.To, Catalog: last.Catalog}}
	}
	f.review.inCatalog = true
	var reports []*compare.Report
	for _, s := range steps {
		old, err := f.side(path.Package, s.From, "")
		if err != nil {
			return nil, err
		}
		old.old = true
		now, err := f.side(path.Package, s.To, s.Catalog)
		if err != nil {
			return nil, err
		}
		sides := [2]side{old, now}
		on, o, err := f.review.prepare(cmd, sides)
		if err != nil {
			return nil, err
		}
		report, err := f.review.compareSides(cmd, sides, on, o)
		if err != nil {
			return nil, err
		}
		reports = append(reports, report)
	}
	return reports, nil
}

// side returns a bundle of a catalog as a side of a comparison. Without the name of a catalog, it is the first that
// has the bundle.
func (f *pathFlags) side(pkg, csv, catalog string) (side, error) {
	for _, c := range f.opened {
		p := c.content.Packages[pkg]
		if p == nil || p.Bundle(csv) == nil || catalog != "" && c.name != catalog {
			continue
		}
		found := side{Revision: review.Revision{Ref: source.KindCatalog + ":" + c.ref, Name: csv}, pkg: pkg,
			version: csv}
		if f.profile == generate.ProfileClusterExtension {
			found.profile = generate.ProfileOLMv1
		}
		return found, nil
	}
	return side{}, fmt.Errorf("--diff: no catalog has %s, so there is nothing to compare with", csv)
}

// printPath prints a path and, behind it, the comparisons.
func printPath(w io.Writer, path *resolve.Path, diffs []*compare.Report, format findings.Format) error {
	if format == findings.JSON && diffs != nil {
		return findings.WriteJSON(w, struct {
			*resolve.Path
			Diffs []*compare.Report `json:"diffs"`
		}{path, diffs})
	}
	if err := print.Report(w, path, format); err != nil {
		return err
	}
	for _, d := range diffs {
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
		if err := print.Report(w, d, findings.Text); err != nil {
			return err
		}
	}
	return nil
}
