package site

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/document"
	"github.com/olmgen/olmgen/output"
)

// maxPage is how many bytes a page of a package may have. More rows go to further pages.
const maxPage = 200_000

// add adds a document as a page, or as several that lead to each other.
func (m *making) add(name string, d *document.Document) error {
	all, err := divide(d)
	if err != nil {
		return err
	}
	var links []document.Link
	where := map[string]string{} // the pages of the sections that cells refer to
	for i, part := range all {
		l := document.Link{Text: fmt.Sprintf("Page %d", i+1), Href: path.Base(name)}
		if i > 0 {
			l.Href = strings.TrimSuffix(l.Href, ".html") + fmt.Sprintf("_%d.html", i+1) // no slug has a _
		}
		for _, s := range slices.Backward(part.Sections) {
			where[s.ID] = l.Href
			if s.Title != "" {
				l.Text = fmt.Sprintf("Page %d: %s", i+1, s.Title)
			}
		}
		links = append(links, l)
	}
	for i, part := range all {
		if len(all) > 1 {
			leadAcross(part, where)
			part.Sections = slices.Insert(part.Sections, 0, document.Section{Links: links})
		}
		data, err := page(part)
		if err != nil {
			return err
		}
		m.out.files = append(m.out.files, output.File{Path: path.Join(dir(m.slug), path.Dir(name), links[i].Href),
			Data: data, Lock: dir(m.slug)})
	}
	return nil
}

// divide returns a document as parts whose pages are small enough, as far as their rows make them large.
func divide(d *document.Document) ([]*document.Document, error) {
	data, err := page(d)
	if err != nil || len(data) <= maxPage || rows(d.Sections...) < 2 {
		return []*document.Document{d}, err
	}
	first, rest := *d, *d
	first.Notes = nil
	first.Sections, rest.Sections = cut(d.Sections, middle(d.Sections))
	before, err := divide(&first)
	if err != nil {
		return nil, err
	}
	after, err := divide(&rest)
	return append(before, after...), err
}

func rows(sections ...document.Section) (n int) {
	for _, s := range sections {
		for _, t := range s.Tables {
			n += len(t.Rows)
		}
	}
	return n
}

// middle returns the number of rows in front of the section that begins nearest to the middle of all rows. If only one
// section has rows, it is half of them.
func middle(all []document.Section) int {
	whole := rows(all...)
	best, before := 0, 0
	for _, s := range all {
		before += rows(s)
		if before < whole && max(2*before-whole, whole-2*before) < max(2*best-whole, whole-2*best) {
			best = before
		}
	}
	return cmp.Or(best, whole/2)
}

// cut divides sections behind so many rows.
func cut(all []document.Section, n int) (first, rest []document.Section) {
	for i, s := range all {
		own := rows(s)
		if n == 0 {
			return slices.Clip(all[:i]), all[i:]
		}
		if n < own {
			upper, lower := s, document.Section{Title: s.Title}
			upper.Tables, lower.Tables = cutTables(s.Tables, n)
			return append(slices.Clip(all[:i]), upper), append([]document.Section{lower}, all[i+1:]...)
		}
		n -= own
	}
	return all, nil
}

func cutTables(all []document.Table, n int) (first, rest []document.Table) {
	for _, t := range all {
		upper, lower := t, t
		at := min(n, len(t.Rows))
		upper.Rows, lower.Rows = t.Rows[:at], t.Rows[at:]
		first, rest, n = append(first, upper), append(rest, lower), n-at
	}
	filled := func(t document.Table) bool { return len(t.Rows) > 0 }
	return lists.Filter(first, filled), lists.Filter(rest, filled)
}

// leadAcross has the cells of a page lead to the pages of the sections that they refer to.
func leadAcross(d *document.Document, where map[string]string) {
	for _, s := range d.Sections {
		for _, t := range s.Tables {
			for _, row := range t.Rows {
				for i, c := range row {
					if c.Section != "" {
						row[i].Section, row[i].Href = "", where[c.Section]+"#"+c.Section
					}
				}
			}
		}
	}
}
