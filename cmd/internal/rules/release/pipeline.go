package release

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/cmd/internal/rules/validate"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/whole/pipeline"
	"github.com/olmgen/olmgen/manifest"
)

// releaseConfig is a release-config.yaml: the channels of templates that get a bundle.
type releaseConfig struct {
	Templates []struct {
		Template       string   `json:"template_name"`
		DefaultChannel string   `json:"defaultChannel"`
		Channels       []string `json:"channels"`
		catalog.Entry
	} `json:"catalog_templates"`
}

// decode decodes a file of the pipeline. It returns nil if the file is not there or cannot be decoded.
func (s *catalogSet) decode(file string, into any) *manifest.Object {
	doc, err := pipeline.Read(file, into)
	if err == nil {
		return doc
	}
	if !errors.Is(err, fs.ErrNotExist) {
		at := &manifest.Error{File: file, Msg: err.Error()}
		errors.As(err, &at)
		s.refuse(at)
	}
	return nil
}

func (s *catalogSet) refuse(e *manifest.Error) {
	f := s.add(ruleCI, findings.Error, catalog.Place{File: e.File, Line: e.Line}, "", "%s", e.Msg)
	f.Field, f.Hint = e.Field, e.Tip
}

// pipeline reads ci.yaml: which template makes which catalogs of an operator.
func (s *catalogSet) pipeline() {
	doc, by := s.decode(filepath.Join(s.root, pipeline.File), &s.ci), map[string]string{}
	modes := []string{"", pipeline.ModeReplaces, pipeline.ModeSemver}
	if mode := s.ci.UpdateGraph; !slices.Contains(modes, mode) {
		s.refuse(doc.Errorf("updateGraph", "%s is neither %s nor %s", mode, modes[1], modes[2]))
	}
	for i, m := range s.ci.FBC.Mapping {
		field, file := fmt.Sprintf("fbc.catalog_mapping[%d]", i), filepath.Join(s.root, pipeline.Templates, m.Template)
		for _, name := range m.Catalogs {
			if by[name] != "" {
				s.refuse(doc.Errorf(field+".catalog_names", "%s is made of two templates, %s and %s", name, by[name],
					m.Template))
			}
			by[name] = m.Template
			dir := filepath.Join(s.top, "catalogs", name, s.name)
			if s.committed[dir] == nil {
				s.say("not compared with %s: %s is not there, or not read", m.Template, dir)
				continue
			}
			s.makes[file] = append(s.makes[file], dir)
		}
		if kind := s.templates[file]; kind == "" {
			s.absent[m.Template] = doc.Errorf(field+".template_name", "%s has no template %s", pipeline.Templates,
				m.Template)
		} else if kind != m.Type {
			s.refuse(doc.Errorf(field+".type", "%s is one of schema %s", m.Template, kind))
		}
	}
}

// names asks whether the newest bundle has the names of all others that agree (static_tests/common/bundle.py).
func (s *catalogSet) names(all, released []*opened) {
	if s.top == s.root || len(released) == 0 {
		return
	}
	x := slices.MaxFunc(released, func(a, b *opened) int {
		return a.bundle.CSV.Spec.Version.Compare(b.bundle.CSV.Spec.Version.Version)
	})
	rest := lists.Filter(all, func(o *opened) bool { return o.dir != x.dir })
	compare := func(what string, name func(*opened) string) {
		if others := lists.Set(rest, name); len(others) == 1 && !others[name(x)] {
			s.add(validate.RuleCatalogName, findings.Error, bundleIn(s.own, x.bundle).Place, "", "the operator is %q "+
				"in %s, and %q in all other bundles", name(x), what, lists.Keys(others)[0])
		}
	}
	compare("annotations", func(x *opened) string { return x.bundle.Package })
	compare("the CSV", func(x *opened) string { return operatorName(x.bundle.CSV.Name) })
}

// operatorName returns the name of the operator in that of a ClusterServiceVersion.
func operatorName(csv string) string {
	name, _, _ := strings.Cut(csv, ".")
	return name
}

// graph asks what the pipeline asks of a bundle without file-based catalogs (static_tests/community/operator.py and
// bundle.py, static_tests/common/bundle.py).
func (s *catalogSet) graph(b *bundle.Bundle) {
	unversioned := func(x *opened) bool { _, err := semver.ParseTolerant(path.Base(x.dir)); return err != nil }
	if s.ci.FBC.Enabled || s.top == s.root && (len(s.committed)+len(s.templates) > 0 ||
		lists.Any(maps.Values(s.opened), unversioned)) {
		return
	}
	p, e := s.own.Packages[b.Package], catalog.EntryOf(b.CSV)
	rules := []string{"default-channel", "duplicate-version", "replaces-downgrade"}
	s.list = append(s.list, lists.Filter(resolve.Validate(s.own), func(f findings.Finding) bool {
		ofPackage := f.Object == "Package "+p.Name || strings.HasPrefix(f.Object, "Channel "+p.Name+"/")
		return ofPackage && slices.Contains(rules, f.Rule) &&
			(f.Rule != "replaces-downgrade" || s.ci.UpdateGraph != pipeline.ModeSemver)
	})...)
	in := b.AnnotationError(olm.BundleChannels, "")
	s.others(catalog.Place{File: filepath.Join(s.opened[e.Name].dir, in.File), Line: in.Line}, p, e, b.Channels)
	at := p.Bundle(b.CSV.Name).Place
	var config struct {
		Organization string `json:"organization"`
	}
	level := findings.Warning // but for community operators
	s.decode(filepath.Join(s.top, "config.yaml"), &config)
	if config.Organization == "" || strings.HasPrefix(config.Organization, "community") {
		level = findings.Error
	}
	names := lists.Set(p.Bundles, func(b *catalog.Bundle) string { return operatorName(b.Name) })
	known := func(f findings.Finding) bool { return f.Rule == validate.RuleCatalogName }
	if len(names) > 1 && !slices.ContainsFunc(s.list, known) {
		s.add(ruleGraph, level, at, "", "the bundles have several operator names: %s", text.And(lists.Keys(names)))
	}
	if s.top == s.root && len(p.Bundles) == 1 && e.Replaces != "" { // the others are elsewhere
		s.say("%s replaces %s, and no other bundle and no catalog is there: the update was not looked at", e.Name,
			e.Replaces)
	} else {
		s.named(p.Name, e, findings.Error, s.field(e.Name, catalog.Replaces), s.stranded(p, b))
	}
	for _, name := range lists.SortedUnique(append(slices.Clone(b.Channels), b.DefaultChannel)) {
		if ch := p.Channel(name); ch != nil && s.ci.UpdateGraph != pipeline.ModeSemver {
			s.channel(p, ch, level)
		}
	}
}

// named finds what an entry updates and no bundle of its package is. What was never released may be skipped.
func (s *catalogSet) named(pkg string, e catalog.Entry, level findings.Severity, at catalog.Place, stranded string) {
	known := map[string]bool{}
	for _, c := range append(slices.Collect(maps.Values(s.committed)), s.own) {
		for _, ch := range cmp.Or(c.Packages[pkg], &catalog.Package{}).Channels {
			maps.Copy(known, lists.Set(ch.Entries, func(of catalog.Entry) string { return of.Name }))
		}
	}
	base, kind := func(name string) string { return olm.BaseName(name, "") }, catalog.Replaces
	bases := lists.Set(lists.Keys(known), base)
	for _, name := range append([]string{e.Replaces}, e.Skips...) {
		if name != "" && !known[name] && (kind == catalog.Replaces || !bases[base(name)]) {
			f := s.add(ruleGraph, level, at, "", "it %s %s, and no bundle of the operator is that%s", kind, name,
				stranded)
			older := slices.DeleteFunc(lists.Keys(known), func(name string) bool { return name == e.Name })
			f.Hint = cmp.Or(text.DidYouMean(name, older), fmt.Sprintf("name in %s a bundle that is there", kind))
		}
		kind, level, stranded = catalog.Skips, findings.Warning, ""
	}
}

var ofVersion = lazy.Regexp(`-?v?\d[\d.x]*`)

// others finds the channels of a package that its new release is not in, whether one that has only this release is
// misspelt, and whether anything leads to it. Packages with a channel for each minor version leave the older ones on
// purpose.
func (s *catalogSet) others(at catalog.Place, p *catalog.Package, e catalog.Entry, channels []string) {
	var left []string
	fresh, words := slices.Clone(channels), map[string]string{}
	word := func(channel string) string { return ofVersion().ReplaceAllString(channel, "") }
	older := lists.Filter(p.Bundles, func(b *catalog.Bundle) bool { return b.Name != e.Name })
	for _, ch := range p.Channels {
		has := lists.Filter(older, func(b *catalog.Bundle) bool { return ch.Entry(b.Name) != nil })
		if len(has) == 0 {
			continue
		}
		fresh = slices.DeleteFunc(fresh, func(name string) bool { return name == ch.Name })
		if !slices.Contains(channels, ch.Name) {
			newest := slices.MaxFunc(has, func(x, y *catalog.Bundle) int {
				v, _ := x.Version()
				w, _ := y.Version()
				return v.Compare(w)
			})
			left, words[word(ch.Name)] = append(left, fmt.Sprintf("%s at %s", ch.Name, newest.Name)), ch.Name
		}
	}
	if len(left) == 0 || len(channels) == 0 {
		return
	}
	f := s.add(ruleStay, findings.Note, at, "Package "+p.Name, "%s is only in channel %s: users of other channels "+
		"stay: %s", e.Name, text.And(channels), text.FirstOf(6, left))
	leads := func(b *catalog.Bundle) bool { return updates(e, b) != catalog.NoEdge }
	if len(fresh) == len(channels) && !slices.ContainsFunc(older, leads) {
		f.Level, f.Hint = findings.Warning, "name in replaces what they run"
		f.Message += ", and no replaces, skips or skipRange of it leads from there"
	}
	for _, name := range fresh {
		if near := text.Nearest(word(name), lists.Keys(words)); near != "" && near != word(name) {
			f.Level, f.Hint = findings.Warning, "did you mean "+words[near]+"?"
		}
	}
}

// field returns where the CSV of a bundle says what it updates.
func (s *catalogSet) field(name string, kind catalog.EdgeKind) catalog.Place {
	fields := map[catalog.EdgeKind]string{catalog.Replaces: "spec.replaces", catalog.Skips: "spec.skips",
		catalog.SkipRange: `metadata.annotations["` + olm.AnnotationSkipRange + `"]`}
	x := s.opened[name]
	file, line := x.bundle.CSVObject.PlaceOf(fields[kind])
	return catalog.Place{File: filepath.Join(x.dir, file), Line: line}
}

// stranded returns the releases in the channels of a bundle from which nothing leads to the head, as the end of a
// sentence.
func (s *catalogSet) stranded(p *catalog.Package, b *bundle.Bundle) string {
	var names []string
	for _, name := range b.Channels {
		reaches, err := resolve.Reaches(p, name)
		if err != nil {
			continue
		}
		for _, e := range p.Channel(name).Entries {
			if good, err := reaches(e.Name); err == nil && !good {
				names = lists.Add(names, e.Name)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ": users of " + text.FirstOf(6, names) + " stay"
}

// channel finds what nothing updates, and what updates each other in a circle.
func (s *catalogSet) channel(p *catalog.Package, ch *catalog.Channel, level findings.Severity) {
	type release struct {
		catalog.Entry
		version semver.Version
		edges   olm.Edges
	}
	list := lists.Map(ch.Entries, func(e catalog.Entry) release {
		v, _ := p.Bundle(e.Name).Version()
		return release{e, v, olm.NewEdges(e.Replaces, e.Skips, e.SkipRange)}
	})
	slices.SortStableFunc(list, func(a, b release) int { return a.version.Compare(b.version) })
	updates, updated := make([][]int, len(list)), make([]bool, len(list))
	var back []string // a circle has an update to what is not older
	var at catalog.Place
	hint := olm.EndRange
	for i, e := range list {
		for j, o := range list {
			field := e.edges.Field(o.Name, &o.version)
			if field == "" {
				continue
			}
			updates[i], updated[j] = append(updates[i], j), true
			if j >= i {
				back, at = append(back, e.Name+" updates "+o.Name), cmp.Or(at, s.field(e.Name, catalog.EdgeKind(field)))
				if catalog.EdgeKind(field) != catalog.SkipRange {
					hint = "a release updates older ones only: remove one of these"
				}
			}
		}
	}
	var dangling []release
	for i, e := range list[:max(0, len(list)-1)] {
		if !updated[i] {
			dangling = append(dangling, e)
		}
	}
	if len(dangling) > 0 {
		names := lists.Map(dangling, func(e release) string { return e.Name })
		f := s.add(ruleGraph, level, dangling[0].Place, "Channel "+ch.Name, "dangling: the head is %s, and nothing "+
			"updates %s", list[len(list)-1].Name, text.FirstOf(3, names))
		f.Hint = skipIt
	}
	if _, circular := lists.Order(len(list), func(i int) []int { return updates[i] }); circular {
		f := s.add(ruleGraph, level, at, "Channel "+ch.Name, "updates form a circle: %s", text.And(back))
		f.Hint = hint
	}
}

// planned looks at the release-config.yaml of a bundle, by which the pipeline adds it to templates, and reports whether
// there is one.
func (s *catalogSet) planned(x *opened) bool {
	var config releaseConfig
	known := len(s.list)
	doc := s.decode(filepath.Join(x.dir, "release-config.yaml"), &config)
	if doc == nil {
		return len(s.list) > known
	}
	if !s.ci.FBC.Enabled {
		s.refuse(doc.Errorf("", "fbc.enabled of %s is not true", pipeline.File))
	}
	if len(config.Templates) == 0 {
		s.refuse(doc.Errorf("catalog_templates", "missing: the pipeline adds the bundle to no template"))
	}
	for i, t := range config.Templates {
		field := fmt.Sprintf("catalog_templates[%d]", i)
		delete(s.absent, t.Template) // the pipeline makes it (entrypoints/add_bundle_to_fbc.py)
		m := lists.Find(s.ci.FBC.Mapping, func(m pipeline.Mapping) bool { return m.Template == t.Template })
		switch at := doc.Errorf(field, ""); {
		case m.Template == "":
			s.refuse(doc.Errorf(field+".template_name", "the catalog_mapping of %s does not have %s", pipeline.File,
				t.Template))
		case t.DefaultChannel != "" && !slices.Contains(t.Channels, t.DefaultChannel):
			s.refuse(doc.Errorf(field+".defaultChannel", "%s is not among the channels", t.DefaultChannel))
		case len(t.Channels) == 0:
			s.refuse(doc.Errorf(field+".channels", "missing: the pipeline adds the bundle to no channel"))
		case m.Type == "olm.semver":
			for j, name := range t.Channels {
				if err := text.CheckKnown("channel", name, []string{"Candidate", "Fast", "Stable"}); err != nil {
					s.refuse(doc.Errorf(fmt.Sprintf("%s.channels[%d]", field, j), "%v of a template of schema %s", err,
						m.Type).With(manifest.HintOf(err)))
				}
			}
		default:
			t.Name = x.bundle.CSV.Name
			s.planning = append(s.planning, t.Entry)
			place := catalog.Place{File: at.File, Line: at.Line}
			s.named(x.bundle.Package, t.Entry, findings.Warning, place, "")
			for _, c := range s.makes[filepath.Join(s.root, pipeline.Templates, t.Template)] {
				s.stay(place, s.committed[c], x.bundle, t.Channels, t.Entry, true)
			}
		}
	}
	return true
}

// stay finds the heads of channels of a catalog from which the entry of a new bundle does not lead. For opm a channel
// whose head has only a skipRange has two heads (operator-registry: alpha/model, Channel.Head). What is older than a
// head may be no update.
func (s *catalogSet) stay(at catalog.Place, c *catalog.Catalog, b *bundle.Bundle, channels []string, e catalog.Entry,
	update bool) {
	p := c.Packages[b.Package]
	if p != nil && p.Bundle(e.Name) == nil {
		s.others(at, p, e, channels)
	}
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
			if updates(e, has) == catalog.SkipRange {
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
