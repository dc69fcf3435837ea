package config

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/source"
)

// PathWarnings returns a warning for each operator that OLM would not update in one step from the version that a
// directory has to the rendered one. recorded are the sources in the locks of the directory. An operator is skipped if
// neither its catalog nor its bundle says what it updates, and if it is handed over: OLM then chooses the version.
func (r *Rendered) PathWarnings(ctx context.Context, recorded []output.Source) ([]Warning, error) {
	var out []Warning
	for i, opened := range r.Opened {
		old := r.recordedOf(i, recorded)
		if old == "" || r.all[i].Options.Profile.HandsOver() {
			continue
		}
		why, err := r.noStep(ctx, i, old)
		if err != nil {
			return nil, err
		}
		if why != "" {
			w := Warning{Operator: r.Operators[i].Name,
				Message: fmt.Sprintf("the tree has %s, and OLM does not update "+
					"it to %s in one step: %s", old, opened.CSV.Name, why)}
			if r.config.flags() {
				w.Operator = ""
			}
			out = append(out, w)
		}
	}
	return out, nil
}

// recordedOf returns the other version of an operator that the locks have, or "". Of several, none is known to be it.
func (r *Rendered) recordedOf(i int, recorded []output.Source) string {
	name := r.Opened[i].CSV.Name
	var versions []string
	for _, s := range recorded {
		if s.Lock != r.Sources[i].Lock || olm.BaseName(s.Bundle, "") != olm.BaseName(name, "") {
			continue
		}
		if s.Bundle == name {
			return ""
		}
		isRendered := slices.ContainsFunc(r.Sources, func(o output.Source) bool { return o.Bundle == s.Bundle })
		if !isRendered && !slices.Contains(versions, s.Bundle) {
			versions = append(versions, s.Bundle)
		}
	}
	if len(versions) != 1 {
		return ""
	}
	return versions[0]
}

// noStep returns why an operator is no update of an older version, or "".
func (r *Rendered) noStep(ctx context.Context, i int, old string) (string, error) {
	opened := r.Opened[i]
	entry := catalog.EntryOf(opened.CSV)
	if opened.Kind != source.KindCatalog {
		if entry.Updates(old, olm.NameVersion(old)) != catalog.NoEdge {
			return "", nil
		}
		return edges(&entry), nil
	}
	path := strings.TrimPrefix(opened.Ref, source.KindCatalog+":")
	c, err := catalog.Read(ctx, path, catalog.Options{Source: r.options.Source, Cache: r.options.Catalogs,
		Only: []string{opened.Package}, Alone: true})
	if err != nil {
		return "", err
	}
	b := r.config.Groups[r.all[i].group].Bundles[r.all[i].index]
	choice, err := c.Choose(opened.Package, b.Channel, opened.CSV.Name)
	if err != nil || choice.Channel == nil {
		return "", nil //nolint:nilerr // no channel to compare with
	}
	version := olm.NameVersion(old)
	if before := choice.Package.Bundle(old); before != nil {
		if v, ok := before.Version(); ok {
			version = &v
		}
	}
	for _, ch := range choice.Package.Channels {
		e := ch.Entry(choice.Bundle.Name)
		if e != nil && (b.Channel == "" || ch.Name == b.Channel) && e.Updates(old, version) != catalog.NoEdge {
			return "", nil
		}
	}
	return pathText(c, choice, old, version), nil
}

func pathText(c *catalog.Catalog, to catalog.Choice, old string, version *semver.Version) string {
	from := old
	if to.Package.Bundle(old) == nil {
		if version == nil {
			return "its catalog does not have " + old
		}
		from = version.String()
	}
	p, err := resolve.PathOf(c, to.Package.Name, to.Channel.Name, from, to.Bundle.Name)
	if err != nil {
		return err.Error()
	}
	if p.End != resolve.AtTarget {
		return p.Text
	}
	names := lists.Map(p.Steps, func(s resolve.PathStep) string { return s.To })
	return "the path is " + strings.Join(append([]string{old}, names...), " -> ")
}

func edges(e *catalog.Entry) string {
	var parts []string
	if e.Replaces != "" {
		parts = append(parts, "it replaces "+e.Replaces)
	}
	if len(e.Skips) > 0 {
		parts = append(parts, "it skips "+strings.Join(e.Skips, ", "))
	}
	if e.SkipRange != "" {
		parts = append(parts, "its skipRange is "+e.SkipRange)
	}
	return strings.Join(parts, "; ")
}
