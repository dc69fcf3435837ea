package site

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"sync"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/findings/webpage"
	"github.com/olmgen/olmgen/internal/manifest/text"
	"github.com/olmgen/olmgen/internal/report/audit"
	"github.com/olmgen/olmgen/permissions"
)

// entry is a package in the index.
type entry struct {
	Href, Name, Title, Note string
	Source                  string // if another package has the same name
	Version, Reaches        string
	Modes                   string
	Webhooks, CRDs          string
	Tags                    string
}

// filter is a choice above the index. The tag is a class of the rows that have it.
type filter struct{ Tag, Text string }

var filters = []filter{
	{"as", "reads all Secrets"}, {"ns", "reads no Secrets"}, {"wr", "writes RBAC"}, {"nr", "does not write RBAC"},
	{"ev", "may do everything"}, {"no", "namespaced only"}, {"nw", "no webhooks"}, {"di", "images by digest only"},
	{"de", "deprecated"}, {"ok", "objects known"},
}

// tags returns what the filters ask of a release.
func tags(x *audit.Inspected) string {
	var out []string
	is := map[string]bool{"de": x.Deprecated != "", "ok": x.Complete}
	if x.Complete && x.Permissions != nil {
		reach := func(cluster bool, risk permissions.Risk) bool {
			return slices.ContainsFunc(x.Reaches, func(r audit.Reach) bool {
				return risk == r.Risk && (r.Cluster || !cluster)
			})
		}
		is["as"] = reach(true, permissions.ReadsSecrets)
		is["ns"] = !reach(false, permissions.ReadsSecrets)
		is["wr"] = reach(false, permissions.WritesRBAC)
		is["nr"] = !is["wr"]
		is["ev"] = reach(true, permissions.Everything)
		is["nw"] = x.Webhooks.Total() == 0
		is["di"] = x.Images.Tag == 0 && x.Images.Digest > 0
		is["no"] = namespaced(x)
	}
	for _, f := range filters {
		if is[f.Tag] {
			out = append(out, f.Tag)
		}
	}
	return strings.Join(out, " ")
}

// namespaced reports whether an operator can be installed for one namespace and asks for nothing outside of it.
func namespaced(x *audit.Inspected) bool {
	one := slices.Contains(x.InstallModes, "OwnNamespace") || slices.Contains(x.InstallModes, "SingleNamespace")
	if !one || len(x.CSV.Spec.InstallStrategy.StrategySpec.ClusterPermissions) > 0 {
		return false
	}
	return !slices.ContainsFunc(x.Bundle.Others, func(o *object) bool { return o.Kind == "ClusterRoleBinding" })
}

// words names groups in the index.
var words = map[permissions.Risk]string{permissions.Everything: "everything", permissions.ReadsSecrets: "Secrets",
	permissions.WritesRBAC: "RBAC", permissions.RunsInPods: "pods", permissions.Impersonates: "impersonates",
	permissions.ChangesAPIs: "webhooks and CRDs"}

// reaches returns in a few words what a release may do: in the cluster, then in namespaces.
func reaches(x audit.Row) string {
	if !x.Complete {
		return "not known"
	}
	var cluster, namespaces []string
	for _, r := range x.Reaches {
		if r.Cluster {
			cluster = append(cluster, words[r.Risk])
		} else {
			namespaces = append(namespaces, words[r.Risk])
		}
	}
	var parts []string
	if len(cluster) > 0 {
		parts = append(parts, "cluster: "+strings.Join(cluster, ", "))
	}
	if len(namespaces) > 0 {
		parts = append(parts, "namespaces: "+strings.Join(namespaces, ", "))
	}
	if len(parts) == 0 {
		return "none of the groups"
	}
	return strings.Join(parts, "; ")
}

func modes(list []string) string {
	var out []string
	for _, m := range list {
		out = append(out, strings.TrimSuffix(strings.TrimSuffix(m, "Namespaces"), "Namespace"))
	}
	return clean(strings.Join(out, ", "))
}

// clean makes text of a stranger fit for one line.
func clean(s string) string { return findings.Printable(text.OneLine(s)) }

func count(n int) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprint(n)
}

func entryOf(x *audit.Inspected, p *audit.Package, slug string) entry {
	e := entry{Href: dir(slug) + "/" + indexName, Name: clean(p.Name), Version: "–", Reaches: "not known",
		Webhooks: "–", CRDs: "–"}
	if slug != plainSlug(p.Name) {
		e.Source = clean(p.Source)
	}
	if x == nil {
		return e
	}
	if title := clean(text.Shorten(x.DisplayName, 60)); !strings.EqualFold(title, e.Name) {
		e.Title = title
	}
	if x.Deprecated != "" {
		e.Note = "deprecated"
	}
	if x.Error != "" {
		e.Note = strings.TrimPrefix(e.Note+", cannot be read", ", ")
	}
	e.Version, e.Reaches, e.Modes = clean(text.Shorten(x.Version, 40)), reaches(x.Row), modes(x.InstallModes)
	e.Webhooks, e.CRDs, e.Tags = count(x.Webhooks.Total()), count(x.CRDs.Count), tags(x)
	if !x.Complete {
		e.Webhooks = "?"
	}
	return e
}

var (
	//go:embed index.html
	indexHTML string
	//go:embed index.css
	indexCSS string
)

var indexTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("index").Parse(strings.TrimSpace(indexHTML)))
})

// indexStyle filters without JavaScript, too.
func indexStyle() string {
	var b strings.Builder
	b.WriteString(indexCSS)
	for _, f := range filters {
		fmt.Fprintf(&b, "main:has(input[data-tag=%[1]s]:checked) .index tbody tr:not(.%[1]s) { display: none; }\n",
			f.Tag)
	}
	return b.String()
}

// indexPage is the page that a reader opens first.
func indexPage(title string, entries []entry, report *audit.Report) webpage.Page {
	var b bytes.Buffer
	if err := indexTemplate().Execute(&b, map[string]any{"Filters": filters, "Entries": entries}); err != nil {
		panic(err) // it is part of the program, and a Buffer does not fail
	}
	t := report.Totals
	lead := fmt.Sprintf("%s in %s.", text.Count(len(entries), "package"), text.Count(t.Releases, "release"))
	p := webpage.Page{Title: title, Lead: lead, Style: indexStyle()}
	p.Sections = append(p.Sections, webpage.Section{HTML: template.HTML(b.String())})
	about := webpage.Section{Title: "About these pages", Text: []string{
		"What a package may reach is that of its head: the newest release of its default channel, installed as " +
			"olmgen render does it by default. It is not known where the catalog does not hold the objects of the " +
			"bundle.",
		"“Namespaced only” are operators that can be installed for one namespace and ask for no cluster " +
			"permissions.",
	},
		Links: []webpage.Link{{Text: "All data as JSON", Href: dataName}}}
	p.Sections = append(p.Sections, about)
	if len(report.Unread) > 0 {
		table := webpage.Table{Columns: []string{"Where", "Why"}}
		for _, u := range report.Unread {
			table.Rows = append(table.Rows, []webpage.Cell{{Text: u.Source, Style: webpage.Code}, {Text: u.Error}})
		}
		p.Sections = append(p.Sections,
			webpage.Section{Title: "Bundles that cannot be read", Tables: []webpage.Table{table}})
	}
	return p
}
