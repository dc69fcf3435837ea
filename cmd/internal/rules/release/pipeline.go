package release

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// ci is what is read of ci.yaml: how bundles become a part of catalogs.
type ci struct {
	UpdateGraph string `json:"updateGraph"`
	FBC         struct {
		Enabled   bool      `json:"enabled"`
		Promotion string    `json:"version_promotion_strategy"`
		Mapping   []mapping `json:"catalog_mapping"`
	} `json:"fbc"`
}

// mapping is a template with the catalogs that it makes.
type mapping struct {
	Template string   `json:"template_name"`
	Type     string   `json:"type"`
	Catalogs []string `json:"catalog_names"`
}

const semverMode = "semver-mode"

// releaseConfig is a release-config.yaml: the channels of templates that get a bundle.
type releaseConfig struct {
	Merge     bool `json:"merge"`
	Templates []struct {
		Template       string   `json:"template_name"`
		DefaultChannel string   `json:"defaultChannel"`
		Channels       []string `json:"channels"`
		catalog.Entry
	} `json:"catalog_templates"`
}

// decode decodes a file of the pipeline. It returns nil if the file is not there or cannot be decoded. Unknown fields
// are refused where they begin with strict, as in the schemas of operator-pipelines.
func (s *catalogSet) decode(file, strict string, into any) (o *manifest.Object) {
	data, err := whole.ReadFile(file, budget.RenderConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var unknown []string
	if err == nil {
		o, err = manifest.ReadOne(file, data)
	}
	if err == nil {
		unknown, err = o.Into(into)
	}
	if err != nil {
		at := &manifest.Error{File: file, Msg: err.Error()}
		errors.As(err, &at)
		s.refuse(at)
		return nil
	}
	for _, field := range unknown {
		if strings.HasPrefix(field, strict) && !strings.Contains(field, "[") {
			s.refuse(o.Errorf(field, "no such field"))
		}
	}
	return o
}

func (s *catalogSet) refuse(e *manifest.Error) {
	s.add(ruleCI, findings.Error, catalog.Place{File: e.File, Line: e.Line}, "", "%s", e.Msg)
	s.list[len(s.list)-1].Field = e.Field
}

// pipeline reads ci.yaml: which template makes which catalogs of an operator.
func (s *catalogSet) pipeline(operator string) {
	doc, by := s.decode(filepath.Join(s.root, "ci.yaml"), "fbc.", &s.ci), map[string]string{}
	if mode := s.ci.UpdateGraph; doc != nil && !slices.Contains([]string{"", "replaces-mode", semverMode}, mode) {
		s.refuse(doc.Errorf("updateGraph", "%s is neither replaces-mode nor semver-mode", mode))
	}
	for i, m := range s.ci.FBC.Mapping {
		field, file := fmt.Sprintf("fbc.catalog_mapping[%d]", i), filepath.Join(s.root, "catalog-templates", m.Template)
		for _, name := range m.Catalogs {
			if by[name] != "" {
				s.refuse(doc.Errorf(field+".catalog_names", "%s is made of two templates, %s and %s", name, by[name],
					m.Template))
			}
			by[name] = m.Template
			dir := filepath.Join(s.top, "catalogs", name, operator)
			if s.committed[dir] == nil {
				s.say("not compared with %s: %s is not there, or not read", m.Template, dir)
				continue
			}
			s.templates[file] = append(s.templates[file], dir)
		}
		if kind := s.kinds[file]; kind == "" {
			s.refuse(doc.Errorf(field+".template_name", "catalog-templates has no template %s", m.Template))
		} else if kind != m.Type {
			s.refuse(doc.Errorf(field+".type", "%s is one of schema %s", m.Template, kind))
		}
	}
}

// catalog judges a catalog by itself.
func (s *catalogSet) catalog(dir string) {
	s.list = append(s.list, lists.Filter(resolve.Validate(s.committed[dir]), func(f findings.Finding) bool {
		return f.Level != findings.Note
	})...)
	if release := s.openShift(dir); release == "" || source.CompareVersions(release, "4.17") < 0 {
		return
	}
	for _, p := range s.committed[dir].Packages {
		for _, b := range p.Bundles {
			if b.Inlined() {
				s.add(ruleFormat, findings.Error, b.Place, "Bundle "+b.Name, "catalogs from v4.17 on must not have "+
					"olm.bundle.object: render it with --migrate-level bundle-object-to-csv-metadata")
			}
		}
	}
}

// compare compares what a template makes with a catalog.
func (s *catalogSet) compare(file, dir string, made *catalog.Catalog) {
	list, err := resolve.Compare(s.ctx, s.committed[dir], made)
	if err != nil {
		s.say("%s is not compared with %s: %v", file, dir, err)
	}
	list = slices.DeleteFunc(list, func(f findings.Finding) bool { return f.Rule == "package-text" })
	if s.list = append(s.list, list...); len(list) > 0 {
		s.add(ruleTemplate, findings.Warning, catalog.Place{File: file}, "", "%s is not what it makes, by %s: render "+
			"it again", dir, text.Count(len(list), "difference"))
	}
}

// release is a bundle in a channel.
type release struct {
	catalog.Entry
	edges   olm.Edges
	version semver.Version
}

func (r release) updates(o release) bool { return r.edges.Field(o.Name, &o.version) != "" }

// graph asks what the pipeline asks of a bundle without file-based catalogs (static_tests/community/operator.py and
// bundle.py, static_tests/common/bundle.py).
func (s *catalogSet) graph(b *bundle.Bundle, at catalog.Place) {
	if s.ci.FBC.Enabled || s.top == s.root {
		return
	}
	channels, csvs, names := map[string][]release{}, map[string]bool{"": true}, map[string]bool{}
	for _, dir := range lists.Keys(s.dirs) {
		for _, p := range s.dirs[dir].Packages {
			name, _, _ := strings.Cut(p.Bundles[0].Name, ".")
			v, _ := p.Bundles[0].Version()
			csvs[p.Bundles[0].Name], names[name] = true, true
			for _, ch := range p.Channels {
				e := ch.Entries[0]
				edges := olm.NewEdges(e.Replaces, e.Skips, e.SkipRange)
				channels[ch.Name] = append(channels[ch.Name], release{e, edges, v})
			}
		}
	}
	var config struct {
		Organization string `json:"organization"`
	}
	level := findings.Warning // but for community operators
	s.decode(filepath.Join(s.top, "config.yaml"), "organization.", &config)
	if config.Organization == "" || strings.HasPrefix(config.Organization, "community") {
		level = findings.Error
	}
	if len(names) > 1 {
		s.add(ruleGraph, level, at, "", "the bundles have several operator names: %s", text.And(lists.Keys(names)))
	}
	if old := b.CSV.Spec.Replaces; !csvs[old] {
		s.add(ruleGraph, findings.Error, at, "", "it replaces %s, and no bundle of the operator is that", old)
	}
	for _, name := range lists.SortedUnique(append(slices.Clone(b.Channels), b.DefaultChannel)) {
		if s.ci.UpdateGraph != semverMode {
			s.channel(name, channels[name], level)
		}
	}
}

// channel finds what nothing updates, and what updates each other in a circle.
func (s *catalogSet) channel(name string, list []release, level findings.Severity) {
	slices.SortStableFunc(list, func(a, b release) int { return a.version.Compare(b.version) })
	var dangling, back []string // a circle has an update to what is not older
	for i, r := range list {
		if !slices.ContainsFunc(list, func(o release) bool { return o.updates(r) }) && i+1 < len(list) {
			dangling = append(dangling, r.Name)
		}
		for _, o := range list[i:] {
			if r.updates(o) {
				back = append(back, r.Name+" updates "+o.Name)
			}
		}
	}
	if len(dangling) > 0 {
		at := lists.Find(list, func(r release) bool { return r.Name == dangling[0] }).Place
		s.add(ruleGraph, level, at, "Channel "+name, "dangling: the head is %s, and nothing updates %s",
			list[len(list)-1].Name, text.FirstOf(3, dangling))
	}
	if _, circular := lists.Order(len(list), func(i int) (next []int) {
		for j, o := range list {
			if list[i].updates(o) {
				next = append(next, j)
			}
		}
		return next
	}); circular {
		s.add(ruleGraph, level, list[0].Place, "Channel "+name, "updates form a circle: %s", text.And(back))
	}
}

// planned looks at the release-config.yaml of a bundle, by which the pipeline adds it to templates. It returns the
// catalogs that get it, and whether there is such a file.
func (s *catalogSet) planned(dir string, b *bundle.Bundle) (in []string, there bool) {
	var config releaseConfig
	doc := s.decode(filepath.Join(dir, "release-config.yaml"), "", &config)
	if doc == nil {
		return nil, false
	}
	if !s.ci.FBC.Enabled {
		s.refuse(doc.Errorf("", "fbc.enabled of ci.yaml is not true"))
	}
	for i, t := range config.Templates {
		field, stages := fmt.Sprintf("catalog_templates[%d]", i), []string{"Candidate", "Fast", "Stable"}
		m := lists.Find(s.ci.FBC.Mapping, func(m mapping) bool { return m.Template == t.Template })
		switch at := doc.Errorf(field, ""); {
		case m.Template == "":
			s.refuse(doc.Errorf(field+".template_name", "the catalog_mapping of ci.yaml does not have %s", t.Template))
		case m.Type == "olm.semver" && len(lists.Union(stages, t.Channels)) > len(stages):
			s.refuse(doc.Errorf(field+".channels", "an olm.semver has %s", text.And(stages)))
		case t.DefaultChannel != "" && !slices.Contains(t.Channels, t.DefaultChannel):
			s.refuse(doc.Errorf(field+".defaultChannel", "%s is not among the channels", t.DefaultChannel))
		case m.Type != "olm.semver":
			t.Name = b.CSV.Name
			for _, c := range s.templates[filepath.Join(s.root, "catalog-templates", t.Template)] {
				s.stay(catalog.Place{File: at.File, Line: at.Line}, c, b, t.Channels, t.Entry, true)
			}
		}
		for _, name := range m.Catalogs {
			in = append(in, filepath.Join(s.top, "catalogs", name))
		}
	}
	return in, true
}

// stay finds the heads of channels of a catalog from which the entry of a new bundle does not lead. For opm a channel
// whose head has only a skipRange has two heads (operator-registry: alpha/model, Channel.Head). What is older than a
// head may be no update.
func (s *catalogSet) stay(at catalog.Place, dir string, b *bundle.Bundle, channels []string, e catalog.Entry,
	update bool) {
	p := s.committed[dir].Packages[b.Package]
	for _, name := range channels {
		if p == nil || p.Channel(name) == nil || p.Channel(name).Entry(e.Name) != nil {
			continue
		}
		after := catalog.Channel{Entries: append(slices.Clone(p.Channel(name).Entries), e)}
		for _, head := range after.Heads() {
			why, has := "no replaces, skips or skipRange of it leads from there, and they stay", p.Bundle(head.Name)
			if has == nil {
				continue // the new one, or what opm refuses
			}
			old, _ := has.Version()
			if e.Updates(head.Name, &old) == catalog.SkipRange {
				why = "only its skipRange leads from there, and opm refuses a channel with two heads"
			}
			if !update && old.GT(b.CSV.Spec.Version.Version) {
				s.say("%s is older than %s, the head of channel %s: no update is looked for", e.Name, head.Name, name)
				continue
			}
			s.add(ruleStay, findings.Error, at, "Channel "+p.Name+"/"+name, "users run %s, and %s is new: %s",
				head.Name, e.Name, why)
		}
	}
}
