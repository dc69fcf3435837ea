package site

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/cmd/internal/audit"
	"github.com/olmgen/olmgen/cmd/internal/updates"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/document"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
)

type object = manifest.Object

type packagePages struct {
	files  output.Files
	source output.Source
	entry  entry
	rows   []audit.Row
}

type making struct {
	pkg   *audit.Package
	slug  string
	list  []*audit.Inspected
	head  *audit.Inspected // nil if the package has no releases
	known *audit.Inspected // the head, or the newest release, of which is known what it may do; nil if there is none
	diffs map[*audit.Inspected]difference
	out   *packagePages
}

type difference struct {
	href, headline string
	risky          bool // it gains a dangerous permission or breaks a CRD
	old            *audit.Inspected
}

func makePackage(ctx context.Context, p *audit.Package, list []*audit.Inspected, slug string) (*packagePages, error) {
	m := &making{pkg: p, slug: slug, list: list, diffs: map[*audit.Inspected]difference{}, out: &packagePages{}}
	for _, x := range list {
		m.out.rows = append(m.out.rows, x.Row)
		if x.Release == p.Head() {
			m.head = x
		}
	}
	if m.known = m.head; m.head == nil || m.head.Permissions == nil {
		m.known = lists.Find(list, func(x *audit.Inspected) bool { return x.Permissions != nil })
	}
	for _, x := range list {
		if err := m.compare(ctx, x); err != nil {
			return nil, err
		}
	}
	if m.known != nil {
		permissions := m.known.Permissions.Document()
		permissions.Nav = m.nav("index.html")
		if err := m.add("permissions.html", permissions); err != nil {
			return nil, err
		}
	}
	icon := m.icon(ctx)
	if err := m.add(indexName, m.page(icon)); err != nil {
		return nil, err
	}
	if err := m.releases(); err != nil {
		return nil, err
	}
	m.out.entry = entryOf(m.head, p, slug, icon)
	m.out.source = output.Source{Bundle: cmp.Or(clean(p.Name), slug), Source: clean(p.Source), Lock: dir(slug)}
	if m.head != nil && m.head.Bundle != nil {
		m.out.source.Digest = m.head.Bundle.Digest()
	}
	return m.out, nil
}

// nav leads back: to the index and, with a path, to the page of the package.
func (m *making) nav(toPackage string) []document.Link {
	up := strings.Repeat("../", 2+strings.Count(toPackage, "../"))
	out := []document.Link{{Text: "All packages", Href: up + indexName}}
	if toPackage != "" {
		out = append(out, document.Link{Text: clean(m.pkg.Name), Href: toPackage})
	}
	return out
}

// compare makes a page about a release and the one before it, if both could be rendered.
func (m *making) compare(ctx context.Context, x *audit.Inspected) error {
	before := m.pkg.Neighbour(x.Release)
	if before == nil || x.State == nil {
		return nil
	}
	for _, old := range m.list {
		if old.Release != before || old.State == nil {
			continue
		}
		report, err := compare.Compare(ctx, *old.State, *x.State, compare.Options{})
		if err != nil {
			m.diffs[x] = difference{headline: "not compared: " + clean(text.Shorten(err.Error(), 200)), old: old}
			return nil //nolint:nilerr // one bad release does not stop the site
		}
		from, to := plainSlug(cmp.Or(old.Version, old.Name)), plainSlug(cmp.Or(x.Version, x.Name))
		name := "diff/" + from + "_" + to + ".html"
		p := report.Document()
		p.Nav = m.nav("../index.html")
		risky := report.Meets(compare.RiskGained) || report.Meets(compare.CRDBreaking)
		m.diffs[x] = difference{name, p.Lead, risky, old}
		return m.add(name, p)
	}
	return nil
}

func (m *making) page(icon *document.Image) *document.Document {
	p := &document.Document{Kind: "Package", Title: clean(m.pkg.Name), Nav: m.nav(""), Logo: icon, Style: packageStyle}
	if m.head == nil {
		p.Lead = "No release of it can be read."
		return p
	}
	if title := clean(text.Shorten(m.head.DisplayName, 100)); title != "" {
		p.Title = title
	}
	p.Lead = m.lead()
	p.Sections = append(p.Sections, m.overview(), m.may(), m.install(), m.contents(), m.history())
	if m.head.CSV == nil {
		return p
	}
	if d := description(m.head.CSV.Spec.Description); d != "" {
		p.Sections = append(p.Sections, document.Section{ID: "description", Title: "Description",
			Text: []string{"As the operator's author wrote it."}, HTML: `<div class="description">` + d + `</div>`})
	}
	return p
}

//go:embed package.css
var packageStyle string

func (m *making) lead() string {
	x := m.head
	switch {
	case x.Permissions == nil && x.Error != "":
		return "It cannot be read: " + x.Error
	case x.Permissions == nil && m.known == nil:
		return "What it may do is not known: the catalog does not hold the objects of its bundle."
	}
	headline := m.known.Permissions.Document().Lead
	if m.known != x {
		return "Version " + clean(m.known.Version) + ": " + headline + ". What the head may do is not known."
	}
	return strings.ToUpper(headline[:1]) + headline[1:] + "."
}

func facts(list ...document.Fact) (out []document.Fact) {
	for _, f := range list {
		if f.Text = clean(f.Text); f.Text != "" {
			out = append(out, f)
		}
	}
	return out
}

func (m *making) overview() document.Section {
	x := m.head
	list := []document.Fact{{Name: "Package", Text: m.pkg.Name}, {Name: "Version", Text: x.Version}}
	if x.CSV != nil {
		spec, annotations := x.CSV.Spec, x.CSV.Annotations
		list = append(list, document.Fact{Name: "Provider", Text: spec.Provider.Name},
			document.Fact{Name: "Categories", Text: annotations["categories"]},
			document.Fact{Name: "Keywords", Text: text.FirstOf(12, spec.Keywords)},
			document.Fact{Name: "Capability level", Text: annotations["capabilities"]},
			document.Fact{Name: "Maturity", Text: spec.Maturity},
			document.Fact{Name: "Least Kubernetes version", Text: spec.MinKubeVersion})
	}
	list = append(list, document.Fact{Name: "Install modes", Text: strings.Join(x.InstallModes, ", ")},
		document.Fact{Name: "Channels", Text: strings.Join(x.Channels, ", ")},
		document.Fact{Name: "Default channel", Text: m.pkg.DefaultChannel},
		document.Fact{Name: "ClusterServiceVersion", Text: x.Name},
		document.Fact{Name: "Deprecated", Text: x.Deprecated},
		document.Fact{Name: "Support", Text: x.Phases()},
		document.Fact{Name: "Cannot be read", Text: x.Error},
		document.Fact{Name: "Holds back upgrades of OpenShift after", Text: x.MaxOpenShiftVersion},
		document.Fact{Name: "With " + x.Target, Text: x.Verdict.String()},
		document.Fact{Name: "From", Text: place(m.pkg.Source)})
	s := document.Section{Facts: facts(list...)}
	if remedy := clean(x.Verdict.Remedy); remedy != "" {
		s.HTML = indexPart("remedy", []string{remedy})
	}
	return s
}

func (m *making) may() document.Section {
	x := m.known
	s := document.Section{ID: "may", Title: "What it may do"}
	if x == nil {
		s.Text = []string{"Not known."}
		return s
	}
	t := document.Table{Columns: document.Columns("Reach", "It"), Full: true}
	for _, r := range x.Reaches {
		chip := document.Chip{Text: groups[r.Risk], Style: document.Style(level(r))}
		t.Rows = append(t.Rows, []document.Cell{{Chips: []document.Chip{chip}}, {Text: r.Text}})
	}
	if len(t.Rows) > 0 {
		s.Tables, s.HTML = []document.Table{t}, legend(lists.Map(m.list, func(x *audit.Inspected) []document.Chip {
			list, _ := chips(x.Row)
			return list
		}))
	} else {
		s.Text = append(s.Text, "It reads no Secrets, writes no RBAC, runs in no pods, impersonates nobody and "+
			"changes no webhooks or CRDs.")
	}
	o := x.Permissions.Operator
	f := x.Row.Findings
	s.Text = append(s.Text, fmt.Sprintf("Version %s, installed in %s. Findings about the bundle and its permissions: "+
		"%s, %s, %s.", clean(x.Version), o.InstallMode, text.Count(f.Errors, "error"),
		text.Count(f.Warnings, "warning"), text.Count(f.Notes, "note")))
	s.Links = []document.Link{{Text: "All permissions, and which line grants them", Href: "permissions.html"}}
	return s
}

// manyRows are more than a table shows before somebody opens it.
const manyRows = 12

func (m *making) contents() document.Section {
	x := m.head
	s := document.Section{ID: "brings", Title: "What it brings"}
	if x.Complete {
		crds := text.Count(x.CRDs.Count, "CRD")
		if x.CRDs.Count > 0 {
			crds += ", " + audit.Size(x.CRDs.Bytes)
		}
		s.Facts = facts(document.Fact{Name: "CRDs", Text: crds},
			document.Fact{Name: "Webhooks", Text: fmt.Sprintf("%d validating, %d mutating, %d conversion",
				x.Webhooks.Validating, x.Webhooks.Mutating, x.Webhooks.Conversion)},
			document.Fact{Name: "Images", Text: fmt.Sprintf("%d by digest, %d by tag", x.Images.Digest, x.Images.Tag)},
			document.Fact{Name: "Kinds that OLM refuses", Text: strings.Join(x.Unsupported, ", ")})
	}
	if x.CSV == nil {
		return s
	}
	crds := x.CSV.Spec.CustomResourceDefinitions
	s.Tables = lists.Filter([]document.Table{apis("APIs", crds.Owned), apis("Requires", crds.Required)},
		func(t document.Table) bool { return len(t.Rows) > 0 })
	if len(s.Tables)+len(s.Facts) == 0 {
		s.Text = []string{"It owns no APIs."}
	}
	return s
}

func apis(title string, list []v1alpha1.CRDDescription) document.Table {
	t := document.Table{Title: title, Columns: document.Columns("Kind", "Version", "CRD"), Full: true,
		Closed: len(list) > manyRows}
	t.Rows = lists.Map(list, func(c v1alpha1.CRDDescription) []document.Cell {
		return []document.Cell{{Text: c.Kind, Style: document.Strong}, {Text: c.Version},
			{Text: c.Name, Style: document.Code}}
	})
	return t
}

func (m *making) history() document.Section {
	t := document.Table{Columns: document.Columns("Version", "Created", "Channels", "May reach", "Changed"), Full: true,
		Time: true}
	for i, x := range m.list {
		version := document.Cell{Text: clean(cmp.Or(x.Version, x.Name)), Style: document.Strong, Order: i + 1}
		if x == m.head {
			version.Note = "head"
		}
		if x.Deprecated != "" {
			version.Note = strings.TrimPrefix(version.Note+", deprecated: "+clean(x.Deprecated), ", ")
		}
		changed := document.Cell{}
		if d, ok := m.diffs[x]; ok {
			changed = document.Cell{Text: "since " + clean(cmp.Or(d.old.Version, d.old.Name)), Href: d.href,
				Note: d.headline}
			if d.risky {
				changed.Note += "; look at it before an upgrade"
			}
		}
		may := document.Cell{}
		may.Chips, may.Text = chips(x.Row)
		if !x.Complete && x != m.head {
			may.Text = "" // as of most releases in a catalog
		}
		if x.Error != "" {
			may = document.Cell{Text: "cannot be read", Style: document.Style(findings.Error),
				Note: clean(text.Shorten(x.Error, 200))}
		}
		t.Rows = append(t.Rows, []document.Cell{version, {Text: created(x.CSV)},
			{Text: clean(strings.Join(x.Channels, ", "))}, may, changed})
	}
	s := document.Section{ID: "releases", Title: "Releases", Tables: []document.Table{t}}
	if g, err := updates.NewGraph(m.pkg.Package, updates.Options{}); err == nil {
		s.Picture, s.Beside = g.Picture(), true
	}
	return s
}

// created returns the day of a release as its annotation has it, or "".
func created(csv *v1alpha1.ClusterServiceVersion) string {
	if csv == nil {
		return ""
	}
	day, _, _ := strings.Cut(csv.Annotations["createdAt"], "T")
	day, _, _ = strings.Cut(day, " ")
	if _, err := time.Parse(time.DateOnly, day); err != nil {
		return ""
	}
	return day
}

// bundle returns what a command reads a release from: its image, or the directory or catalog that the site is made of.
func (m *making) bundle(r *audit.Release) string {
	if from := m.pkg.Origin(r); from != "" {
		return text.Shell(place(from))
	}
	return text.Shell("catalog:"+place(m.pkg.Source)) + " --package " + text.Shell(clean(m.pkg.Name)) +
		" --version " + text.Shell(clean(r.Version))
}

// install shows how the operator gets into a repository that Argo CD or Flux applies.
func (m *making) install() document.Section {
	s := document.Section{ID: "install", Title: "Install it by GitOps"}
	x := m.head
	target := "operators/" + m.slug + "/"
	for _, from := range []string{m.pkg.Origin(x.Release), m.pkg.Source} {
		if strings.HasPrefix(from+"/", "operators/") { // the repository of a catalog: its bundles are there
			target = "deploy/" + target
			break
		}
	}
	render := "olmgen render " + m.bundle(x.Release)
	if x.Bundle != nil {
		if namespace, err := generate.Namespace(x.Bundle); err == nil && clean(namespace) != "" {
			render += " --namespace " + text.Shell(clean(namespace))
		}
	}
	if x.Webhooks.Total() > 0 {
		render += " --certs cert-manager"
	}
	commands := []string{render + " -o " + target, "olmgen permissions " + target, "git add " + target,
		"git commit -m " + text.Shell(clean(m.pkg.Name)+" "+clean(x.Version))}
	s.Text = append(s.Text, "olmgen writes every object that OLM would create as plain YAML, with a "+
		"kustomization.yaml. Argo CD or Flux applies the directory; nobody talks to a cluster by hand. To upgrade, "+
		"render the next release into the same directory and read the diff.")
	s.HTML = indexPart("install", commands)
	return s
}
