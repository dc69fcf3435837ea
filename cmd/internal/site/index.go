package site

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/cmd/internal/audit"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/document"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/print"
)

type entry struct {
	Href, Name, Title, Note string
	Source                  string // if another package has the same name
	Provider                string
	Version                 string
	Reaches                 string // in place of chips
	Chips                   []document.Chip
	Score                   int             // how dangerous the head is
	Words                   []string        // that the search finds it by
	Found                   string          // those of the words that have room on the index
	Icon                    *document.Image // of a moderate size
	Modes                   string
	Webhooks, CRDs          string
	Tags                    string
}

// URL returns the icon as a data URL.
func (e entry) URL() template.URL { return print.ImageURL(e.Icon) }

// Letter stands for an icon.
func (e entry) Letter() string {
	for _, r := range strings.ToUpper(cmp.Or(e.Title, e.Name)) {
		return string(r)
	}
	return "?"
}

// filter is a choice above the index. The tag is a class of the rows that have it.
type filter struct{ Tag, Text string }

var filters = []filter{
	{"as", "reads all Secrets"}, {"ns", "reads no Secrets"}, {"wr", "writes RBAC"}, {"nr", "does not write RBAC"},
	{"ev", "may do everything"}, {"no", "namespaced only"}, {"nw", "no webhooks"}, {"di", "images by digest only"},
	{"de", "deprecated"}, {"ok", "objects known"}, {"un", "objects not known"},
}

// tags returns what the filters ask of a release.
func tags(x *audit.Inspected) string {
	is := map[string]bool{"de": x.Deprecated != "", "ok": x.Complete, "un": !x.Complete}
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
	on := lists.Filter(filters, func(f filter) bool { return is[f.Tag] })
	return strings.Join(lists.Map(on, func(f filter) string { return f.Tag }), " ")
}

// namespaced reports whether an operator can be installed for one namespace and asks for nothing outside of it.
func namespaced(x *audit.Inspected) bool {
	one := slices.Contains(x.InstallModes, "OwnNamespace") || slices.Contains(x.InstallModes, "SingleNamespace")
	if !one || len(x.CSV.Spec.InstallStrategy.StrategySpec.ClusterPermissions) > 0 {
		return false
	}
	return !slices.ContainsFunc(x.Bundle.Others, func(o *object) bool { return o.Kind == "ClusterRoleBinding" })
}

// groups names what an operator may reach, on chips.
var groups = map[permissions.Risk]string{permissions.Everything: "everything", permissions.ReadsSecrets: "Secrets",
	permissions.WritesRBAC: "RBAC", permissions.RunsInPods: "pods", permissions.Impersonates: "impersonates",
	permissions.ReachesNodes: "nodes", permissions.Installs: "operators",
	permissions.ChangesAPIs: "webhooks and CRDs"}

// level returns how bad it is to reach a group: with most of them in the cluster, an operator can take it over.
func level(r audit.Reach) findings.Severity {
	switch {
	case !r.Cluster:
		return findings.Note
	case r.Risk == permissions.RunsInPods, r.Risk == permissions.ChangesAPIs:
		return findings.Warning
	}
	return findings.Error
}

// chips returns what a release may reach, the worst first, or a text in their place.
func chips(x audit.Row) (list []document.Chip, instead string) {
	if !x.Complete {
		return nil, "not known"
	}
	for _, worst := range findings.Severities {
		for _, r := range x.Reaches {
			if level(r) == worst {
				list = append(list, document.Chip{Text: groups[r.Risk], Style: document.Style(worst)})
			}
		}
	}
	if len(list) == 0 {
		return nil, "none of the groups"
	}
	return list, ""
}

// legend explains the styles of the chips that a page has.
func legend(chips [][]document.Chip) string {
	style := func(c document.Chip) string { return string(c.Style) }
	return indexPart("legend", lists.Set(slices.Concat(chips...), style))
}

// place returns a source without the directories of the machine that makes the site.
func place(source string) string {
	if strings.Contains(source, "://") || !filepath.IsAbs(source) && !path.IsAbs(source) {
		return clean(source)
	}
	return clean(path.Base(filepath.ToSlash(source)))
}

// named returns the release of a bundle that cannot be read, or where it is.
func named(u audit.Unread) string {
	if u.Package == "" {
		return place(u.Source)
	}
	return clean(u.Release())
}

// clean makes text of a stranger fit for one line.
func clean(s string) string { return text.Printable(text.OneLine(s)) }

func count(n int) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprint(n)
}

func entryOf(x *audit.Inspected, p *audit.Package, slug string, icon *document.Image) entry {
	e := entry{Href: dir(slug) + "/" + indexName, Name: clean(p.Name), Version: "–", Reaches: "not known",
		Webhooks: "–", CRDs: "–", Tags: "un"}
	if slug != plainSlug(p.Name) {
		e.Source = place(p.Source)
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
	e.Version = clean(text.Shorten(x.Version, 40))
	e.Modes = clean(strings.Join(lists.Map(x.InstallModes, audit.Mode), ", "))
	e.Chips, e.Reaches = chips(x.Row)
	points := map[findings.Severity]int{findings.Error: 100, findings.Warning: 10, findings.Note: 1}
	for _, r := range x.Reaches {
		if e.Score += points[level(r)]; r.Risk == permissions.Everything && r.Cluster {
			e.Score += 1000
		}
	}
	if icon != nil && len(icon.Data) <= maxIndexIcon {
		e.Icon = icon
	}
	if x.CSV != nil {
		e.Provider, e.Words = clean(text.Shorten(x.CSV.Spec.Provider.Name, 30)), words(x.CSV)
		if strings.EqualFold(e.Provider, e.Title) || strings.EqualFold(e.Provider, e.Name) {
			e.Provider = ""
		}
	}
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

// part of the index, from its template.
func indexPart(name string, data any) string {
	var b strings.Builder
	if err := indexTemplate().ExecuteTemplate(&b, name, data); err != nil {
		panic(err) // it is part of the program, and a Builder does not fail
	}
	return b.String()
}

const mostCards = 6

// tile is a count of packages. It leads to the list below, with the filter of its tag if it has one.
type tile struct{ Tag, Name, Text string }

// totals are counts of packages, by the tags of their heads.
func totals(entries []entry, report *audit.Report) []tile {
	tagged := func(tag string) int {
		return lists.Count(entries, func(e entry) bool { return slices.Contains(strings.Fields(e.Tags), tag) })
	}
	var out []tile
	for _, all := range []string{text.Count(len(entries), "package"), text.Count(report.Totals.Releases, "release")} {
		n, name, _ := strings.Cut(all, " ")
		out = append(out, tile{Name: name, Text: n})
	}
	for _, t := range []tile{{"ev", "may do everything", ""}, {"as", "read all Secrets", ""}, {"wr", "write RBAC", ""},
		{"no", "namespaced only", ""}, {"de", "deprecated", ""}, {"un", "permissions not known", ""}} {
		if n := tagged(t.Tag); n > 0 {
			t.Text = fmt.Sprint(n)
			out = append(out, t)
		}
	}
	return out
}

func indexPage(title string, entries []entry, report *audit.Report) *document.Document {
	room := max(leastWords, allWords/max(1, len(entries)))
	for i := range entries {
		e := &entries[i]
		e.Found = within(e.Words, e.Name+" "+e.Title+" "+e.Provider, room)
	}
	t := report.Totals
	lead := fmt.Sprintf("%s in %s.", text.Count(len(entries), "package"), text.Count(t.Releases, "release"))
	p := &document.Document{Title: title, Lead: lead, Style: indexCSS, Images: true}
	for _, f := range filters { // without JavaScript, too
		p.Style += fmt.Sprintf("main:has(input[data-tag=%[1]s]:checked) .index tbody tr:not(.%[1]s) "+
			"{ display: none; }\n", f.Tag)
	}
	p.Sections = append(p.Sections, document.Section{HTML: indexPart("totals", totals(entries, report)) +
		legend(lists.Map(entries, func(e entry) []document.Chip { return e.Chips }))})
	// the operators that can take over the cluster, the most dangerous first
	cards := lists.Filter(entries, func(e entry) bool { return e.Score >= 100 })
	slices.SortStableFunc(cards, func(a, b entry) int { return b.Score - a.Score })
	if cards = cards[:min(len(cards), mostCards)]; len(cards) > 0 {
		p.Sections = append(p.Sections, document.Section{ID: "dangerous", Title: "The most dangerous operators",
			HTML: indexPart("cards", cards)})
	}
	p.Sections = append(p.Sections, document.Section{ID: "packages", Title: "All packages",
		HTML: indexPart("table", map[string]any{"Filters": filters, "Entries": entries})})
	p.Sections = append(p.Sections, document.Section{Title: "About these pages", Text: []string{
		"What a package may reach is that of its head: the newest release of its default channel, installed as " +
			"olmgen render does it by default. It is not known where the catalog does not hold the objects of the " +
			"bundle.",
		"The search finds names, categories, keywords, providers, kinds and words of descriptions.",
		"“Namespaced only” are operators that can be installed for one namespace and ask for no cluster " +
			"permissions.",
	},
		Links: []document.Link{{Text: "All data as JSON", Href: dataName}}})
	if len(report.Unread) > 0 {
		table := document.Table{Columns: document.Columns("Release", "Why"), Full: true}
		table.Rows = lists.Map(report.Unread, func(u audit.Unread) []document.Cell {
			return []document.Cell{{Text: named(u), Style: document.Code}, {Text: u.Error}}
		})
		p.Sections = append(p.Sections,
			document.Section{Title: "Bundles that cannot be read", Tables: []document.Table{table}})
	}
	return p
}

// allWords is how many bytes the words that only the search sees have on the index, for all packages together. Each
// package may have leastWords whatever the number of packages.
const (
	allWords   = 36_000
	leastWords = 80
)

// words returns what the search finds an operator by beside its names: categories, provider, keywords, kinds and the
// words of its short description, each once.
func words(csv *v1alpha1.ClusterServiceVersion) (out []string) {
	add := func(text string) {
		if text = strings.ToLower(clean(text)); text != "" {
			out = lists.Add(out, text)
		}
	}
	for c := range strings.SplitSeq(csv.Annotations["categories"], ",") {
		add(c)
	}
	add(csv.Spec.Provider.Name)
	for _, k := range csv.Spec.Keywords {
		add(k)
	}
	for _, c := range csv.Spec.CustomResourceDefinitions.Owned {
		add(c.Kind)
	}
	for w := range strings.FieldsFuncSeq(csv.Annotations["description"], func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		add(w)
	}
	return out
}

// within returns as many of the words as fit, without those that are in the text already.
func within(list []string, text string, most int) string {
	var b strings.Builder
	text = strings.ToLower(text)
	for _, w := range list {
		if strings.Contains(text, w) || strings.Contains(b.String(), w) {
			continue
		}
		if b.Len()+len(w)+1 > most {
			break
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w)
	}
	return b.String()
}
