package catalog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
)

// Fault is a reason for which opm refuses a catalog.
type Fault struct {
	Place
	Rule    string
	Package string // empty: the document is of no package
	Text    string // in opm's words
	Hint    string // in olmgen's words; may be empty

	path   []string // what it is in, from the package on; nil: opm stops there, before it looks at the graph
	behind int      // how many channels or bundles of the package were read before it
}

func (p *Package) fault(at Place, rule, format string, args ...any) {
	f := Fault{Place: at, Rule: rule, Text: fmt.Sprintf(format, args...), behind: len(p.Bundles)}
	if rule == "duplicate-channel" {
		f.behind = len(p.Channels)
	}
	p.faults = append(p.faults, f)
}

// Refusal is opm's reason not to serve a catalog. A pod of such a CatalogSource does not start.
type Refusal struct{ Text string }

func (r *Refusal) Error() string { return r.Text }

// Refusal returns the reason for which opm refuses to serve the catalog, or nil. Where opm names one of several
// packages, which depends on chance, this is the first by name.
func (c *Catalog) Refusal() *Refusal {
	if len(c.faults) > 0 {
		return &Refusal{c.faults[0].Text}
	}
	for _, p := range c.sorted() {
		if list := p.check(); len(list) > 0 {
			return &Refusal{fmt.Sprintf("build package index: process package %q: %s", p.Name, refusalText(list))}
		}
	}
	return nil
}

// refusalText prints faults as opm does: the first one alone if it stops opm, else all as a tree (operator-registry:
// alpha/model/error.go).
func refusalText(list []Fault) string {
	if list[0].path == nil {
		return list[0].Text
	}
	root := &branch{text: "invalid index"}
	for _, f := range list {
		at := root
		for _, step := range f.path {
			at = at.child(step)
		}
		at.children = append(at.children, &branch{text: f.Text})
	}
	var b strings.Builder
	root.print(&b, "", "")
	return strings.TrimSpace(b.String())
}

type branch struct {
	text     string
	children []*branch
}

func (b *branch) child(text string) *branch {
	c := lists.Find(b.children, func(c *branch) bool { return c.text == text })
	if c == nil {
		c = &branch{text: text}
		b.children = append(b.children, c)
	}
	return c
}

func (b *branch) print(out *strings.Builder, first, rest string) {
	out.WriteString(first + b.text)
	if len(b.children) > 0 {
		out.WriteString(":")
	}
	out.WriteString("\n")
	for i, c := range b.children {
		if i == len(b.children)-1 {
			c.print(out, rest+"└── ", rest+"    ")
		} else {
			c.print(out, rest+"├── ", rest+"│   ")
		}
	}
}

// check returns the reasons for which opm refuses a package (operator-registry: alpha/declcfg/declcfg_to_model.go, then
// alpha/model/model.go).
func (p *Package) check() []Fault {
	if f := p.checkDocuments(); f != nil {
		return []Fault{*f}
	}
	c := &graphCheck{pkg: p, path: []string{fmt.Sprintf("invalid package %q", p.Name)}}
	if p.DefaultChannel == "" {
		c.add(p.Place, "no-default-channel", nil, "default channel must be set")
	}
	if len(p.Channels) == 0 && p.DefaultChannel == "" {
		c.add(p.Place, "no-channel", nil, "package must contain at least one channel")
	}
	for _, ch := range slices.SortedFunc(slices.Values(p.Channels), func(a, b *Channel) int {
		return cmp.Compare(a.Name, b.Name)
	}) {
		c.channel(ch)
	}
	if d := p.DefaultChannel; d != "" && p.Channel(d) == nil {
		c.add(cmp.Or(p.saysAt, p.Place), "default-channel", []string{fmt.Sprintf("invalid channel %q", d)},
			"channel must contain at least one bundle")
	}
	c.versions()
	for _, d := range p.Deprecations {
		if d.Schema == olm.PropertyPackage && d.Message == "" {
			c.add(d.Place, "deprecation", nil, "invalid deprecation: message must be set")
		}
	}
	return c.list
}

// checkDocuments returns the first fault that stops opm before it looks at the graph. The checks stand in opm's order:
// it decodes all documents of a package first.
func (p *Package) checkDocuments() *Fault {
	if f := p.faultOf("icon", "object"); f != nil {
		return f
	}
	if f := p.faultOf("duplicate-package"); f != nil {
		return f
	}
	for _, check := range []func() *Fault{p.checkDeclaration, p.checkChannels, p.checkBundles, p.missingBundles,
		p.checkDeprecations} {
		if f := check(); f != nil {
			return f
		}
	}
	return nil
}

// stop returns a fault that stops opm.
func stop(at Place, rule, format string, args ...any) *Fault {
	return &Fault{Place: at, Rule: rule, Text: fmt.Sprintf(format, args...)}
}

// faultOf returns the first fault of some rules that reading the documents found.
func (p *Package) faultOf(rules ...string) *Fault {
	if i := slices.IndexFunc(p.faults, func(f Fault) bool { return slices.Contains(rules, f.Rule) }); i >= 0 {
		return &p.faults[i]
	}
	return nil
}

// checkDeclaration looks for the document of the package.
func (p *Package) checkDeclaration() *Fault {
	switch {
	case p.Name == "" && p.Declared:
		return stop(p.Place, "no-name", "config contains package with no name")
	case p.Declared:
		if errs := validation.IsDNS1123Label(p.Name); len(errs) > 0 {
			return stop(p.Place, "package-name", "invalid package name %q: %v", p.Name, errs)
		}
		return nil
	case len(p.Channels) > 0:
		return stop(p.Channels[0].Place, "no-package", "unknown package %q for channel %q", p.Name, p.Channels[0].Name)
	case len(p.Bundles) > 0 && p.Name == "":
		return stop(p.Bundles[0].Place, "no-name", "package name must be set for bundle %q", p.Bundles[0].Name)
	case p.Name == "":
		return stop(p.Place, "no-name", "package name must be set for deprecation item 0")
	case len(p.Bundles) > 0:
		return stop(p.Bundles[0].Place, "no-package", "unknown package %q for bundle %q", p.Name, p.Bundles[0].Name)
	}
	return stop(p.Place, "no-package", "cannot apply deprecations to an unknown package %q", p.Name)
}

func (p *Package) checkChannels() *Fault {
	duplicate := p.faultOf("duplicate-channel")
	for i, ch := range p.Channels {
		if duplicate != nil && duplicate.behind <= i {
			return duplicate
		}
		if ch.Name == "" {
			return stop(ch.Place, "no-name", "package %q contains channel with no name", p.Name)
		}
		seen := map[string]bool{}
		for _, e := range ch.Entries {
			if seen[e.Name] {
				return stop(e.Place, "duplicate-entry", "invalid package %q, channel %q: duplicate entry %q",
					p.Name, ch.Name, e.Name)
			}
			seen[e.Name] = true
		}
	}
	return duplicate
}

func (p *Package) checkBundles() *Fault {
	duplicate := p.faultOf("duplicate-bundle")
	for i, b := range p.Bundles {
		if duplicate != nil && duplicate.behind <= i {
			return duplicate
		}
		if f := p.checkBundle(b); f != nil {
			return f
		}
	}
	return duplicate
}

func (p *Package) checkBundle(b *Bundle) *Fault {
	packages, err := b.parse()
	switch {
	case err != nil:
		return stop(b.Place, "property", "parse properties for bundle %q: %v", b.Name, err)
	case len(packages) != 1:
		return stop(b.Place, "package-property", "package %q bundle %q must have exactly 1 %q property, found %d",
			p.Name, b.Name, olm.PropertyPackage, len(packages))
	case packages[0].PackageName != p.Name:
		return stop(b.Place, "package-property", "package %q does not match %q property %q",
			p.Name, olm.PropertyPackage, packages[0].PackageName)
	}
	if b.imageFault != "" {
		return stop(b.Place, "image", "package %q bundle %q %s", p.Name, b.Name, b.imageFault)
	}
	if _, err := semver.Parse(packages[0].Version); err != nil {
		return stop(b.Place, "version", "error parsing bundle %q version %q: %v", b.Name, packages[0].Version, err)
	}
	if _, err := ParseRelease(packages[0].Release); err != nil {
		return stop(b.Place, "release", "error parsing bundle %q release version %q: %v", b.Name,
			packages[0].Release, err)
	}
	if !slices.ContainsFunc(p.Channels, func(c *Channel) bool { return c.Entry(b.Name) != nil }) {
		return stop(b.Place, "no-entry", "package %q, bundle %q not found in any channel entries", p.Name, b.Name)
	}
	return nil
}

// missingBundles looks at the last channel only, as opm does; the other channels fail later, with other words.
func (p *Package) missingBundles() *Fault {
	if len(p.Channels) == 0 {
		return nil
	}
	last := p.Channels[len(p.Channels)-1]
	var missing []string
	for _, e := range last.Entries {
		if p.Bundle(e.Name) == nil {
			missing = append(missing, e.Name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return stop(last.Place, "no-bundle", "no olm.bundle blobs found in package %q for olm.channel entries %s", p.Name,
		missing)
}

func (p *Package) checkDeprecations() *Fault {
	const rule = "deprecation"
	seen := map[[2]string]bool{}
	for i, d := range p.Deprecations {
		switch key := [2]string{d.Schema, d.Name}; {
		case d.Schema == "":
			return stop(d.Place, rule, "schema must be set for deprecation entry [%d] for package %q", i, p.Name)
		case seen[key]:
			return stop(d.Place, rule,
				"duplicate deprecation entry declcfg.PackageScopedReference{Schema:%q, Name:%q} for package %q",
				d.Schema, d.Name, p.Name)
		default:
			seen[key] = true
		}
		switch d.Schema {
		case olm.SchemaBundle:
			if p.Bundle(d.Name) == nil {
				return stop(d.Place, rule, "cannot deprecate bundle %q for package %q: bundle not found", d.Name,
					p.Name)
			}
		case olm.SchemaChannel:
			if p.Channel(d.Name) == nil && (d.Name == "" || d.Name != p.DefaultChannel) {
				return stop(d.Place, rule, "cannot deprecate channel %q for package %q: channel not found", d.Name,
					p.Name)
			}
		case olm.PropertyPackage:
			if d.Name != "" {
				return stop(d.Place, rule, "package name must be empty for deprecated package %q (specified %q)",
					p.Name, d.Name)
			}
		default:
			return stop(d.Place, rule,
				"cannot deprecate object declcfg.PackageScopedReference{Schema:%q, Name:%q} referenced by entry %d "+
					"for package %q: object schema unknown", d.Schema, d.Name, i, p.Name)
		}
	}
	return p.faultOf("duplicate-deprecations")
}

// inTypesOfOPM replaces the types in errors of encoding/json by those of opm's types.
var inTypesOfOPM = strings.NewReplacer("type catalog.Icon", "type declcfg.Icon",
	"type catalog.PackageProperty", "type property.Package", "type catalog.",
	"type property.",
	"field PackageProperty.", "field Package.")

// parse reads the properties whose type operator-registry knows (alpha/property, Parse) and returns those of type
// olm.package.
func (b *Bundle) parse() ([]PackageProperty, error) {
	var packages []PackageProperty
	for i, p := range b.Properties {
		var err error
		switch p.Type {
		case olm.PropertyPackage:
			var v PackageProperty
			err = json.Unmarshal(p.Value, &v)
			packages = append(packages, v)
		case olm.PropertyPackageRequired:
			err = json.Unmarshal(p.Value, &PackageRequired{})
		case olm.PropertyGVK:
			err = json.Unmarshal(p.Value, &GVK{})
		case olm.PropertyGVKRequired:
			type GVKRequired GVK
			err = json.Unmarshal(p.Value, &GVKRequired{})
		case olm.SchemaChannel:
			err = json.Unmarshal(p.Value, &struct {
				ChannelName string `json:"channelName"`
				Priority    int    `json:"priority"`
			}{})
		default:
			var v json.RawMessage
			err = json.Unmarshal(p.Value, &v)
		}
		if err != nil {
			return nil, fmt.Errorf("parse property[%d] of type %q: %s", i, p.Type, inTypesOfOPM.Replace(err.Error()))
		}
	}
	if b.bodyFault != "" {
		return nil, fmt.Errorf("%s", b.bodyFault)
	}
	return packages, nil
}

// Faults returns all reasons for which opm refuses the catalog. opm itself stops at the first package.
func (c *Catalog) Faults() []Fault {
	list := slices.Clone(c.faults)
	for _, p := range slices.Concat(c.refused, c.sorted()) {
		for _, f := range p.check() {
			f.Package, f.Text = p.Name, f.said()
			list = append(list, f)
		}
	}
	return list
}

// said returns the fault in one line, without the name of its package.
func (f *Fault) said() string {
	if len(f.path) > 1 {
		return strings.Join(f.path[1:], ": ") + ": " + f.Text
	}
	return f.Text
}

// Rules of faults, with what they mean.
var Rules = map[string]string{
	"cycle":                  "The replaces of a channel form a cycle",
	"default-channel":        "The default channel does not exist",
	"deprecation":            "A deprecation is of something that does not exist, or has no message",
	"duplicate-bundle":       "A bundle occurs twice",
	"duplicate-channel":      "A channel occurs twice",
	"duplicate-deprecations": "A package has olm.deprecations twice",
	"duplicate-entry":        "A channel has an entry twice",
	"duplicate-package":      "A package occurs twice",
	"duplicate-version":      "Two bundles of a package have the same version",
	"empty-channel":          "A channel has no entries",
	"icon":                   "The icon of a package cannot be read",
	"image":                  "The image of a bundle is not a reference",
	"no-bundle":              "A channel entry has no bundle",
	"no-channel":             "A package has no channel",
	"no-default-channel":     "A package names no default channel",
	"no-entry":               "A bundle is in no channel",
	"no-head":                "Each entry of a channel is replaced or skipped",
	"no-image":               "A bundle has no image",
	"no-name":                "A package, channel or entry has no name",
	"no-package":             "There is no olm.package for a channel, bundle or deprecation",
	"object":                 "An object of a bundle cannot be read",
	"package-name":           "The name of a package is not a DNS label",
	"package-property":       "A bundle does not have exactly one olm.package property, of its own package",
	"property":               "A property has a value that opm cannot read",
	"release":                "The release of an olm.package property cannot be used",
	"schema":                 "A document has no schema, or one that opm cannot keep",
	"several-heads":          "A channel has several entries that nothing replaces or skips",
	"skip-range":             "A skipRange cannot be read",
	"skips":                  "skips has an empty name",
	"stranded":               "An entry is not reached from the head along replaces, and nothing skips it",
	"version":                "A version is not a semantic version",
}
