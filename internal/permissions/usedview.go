package permissions

import (
	"fmt"
	"strings"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
)

// sections returns the comparison for people: for each account what nothing uses first, the most dangerous first.
func (u *Usage) sections() (out []findings.Section) {
	log := u.Log
	s := findings.Section{Title: "Used and granted, by audit logs", Remarks: []findings.Remark{{Label: "log",
		Text: fmt.Sprintf("%s from %s to %s, of %s", text.Count(log.Events, "event"), text.Printable(log.First),
			text.Printable(log.Last), text.FirstOf(4, lists.Map(log.Files, text.Brief)))}}}
	if log.Skipped > 0 {
		s.Remarks = append(s.Remarks, findings.Remark{Label: "not read",
			Text: text.Count(log.Skipped, "line") + " without an event, or with one of more than 16 MiB"})
	}
	s.Remarks = append(s.Remarks, findings.Remark{Label: "note", Text: "what the audit policy drops (level None) " +
		"and what another API server logs is not in it: a right that is not used here may be used there"})
	out = append(out, s)
	for _, a := range u.Accounts {
		out = append(out, a.section())
	}
	return out
}

func (a AccountUse) section() findings.Section {
	s := findings.Section{Title: text.Brief(a.Account.String()) + ": used and granted"}
	seen := text.Count(a.Events, "event")
	if a.LogName != "" {
		seen += " as " + text.Brief(a.LogName)
	}
	if len(a.Stages) > 0 {
		seen += " of the stages " + text.FirstOf(4, a.Stages) + " at the levels " + text.FirstOf(4, a.Levels)
	}
	s.Remarks = append(findings.Remarks("log", []string{seen}), findings.Remarks("note", a.Notes)...)
	table := func(title string, rows [][]findings.Cell) {
		if len(rows) > 0 {
			s.Tables = append(s.Tables, findings.Table{Title: title, Indent: 2, Rows: rows,
				Columns: []findings.Column{{Title: "Level", Width: 7}, {Title: "Where", Align: true}, {Title: "What"},
					{Title: "Follows or granted by", Aside: true}}})
		}
	}
	rated := func(items []Item) [][]findings.Cell {
		return lists.Map(items, func(i Item) []findings.Cell {
			why := sourcesText([]Item{i})
			if i.Follows != "" {
				why = i.Follows + "; " + why
			}
			return append([]findings.Cell{findings.SeverityCell(i.Severity)},
				findings.Cells(i.where(), i.ruleText(), why)...)
		})
	}
	rights := func(list []Right) [][]findings.Cell {
		return lists.Map(list, func(r Right) []findings.Cell {
			i := Item{Namespaces: r.Namespaces, Verbs: r.Verbs, APIGroups: r.APIGroups, Resources: r.Resources,
				ResourceNames: r.ResourceNames, NonResourceURLs: r.NonResourceURLs}
			return findings.Cells("", i.where(), i.ruleText(), strings.TrimSpace(text.Printable(r.Reason)))
		})
	}
	table("Never used", rated(a.Unused))
	table("Granted by wildcards, and used in part", rated(a.Wider))
	table("Denied: asked for, and not granted", rights(a.Denied))
	table("Kept, though no request shows it", rights(a.Kept))
	table("Used", lists.Map(a.Used, func(i Item) []findings.Cell {
		return findings.Cells("", i.where(), i.ruleText(), sourcesText([]Item{i}))
	}))
	table("Used, and granted by what is not here", rights(a.Elsewhere))
	return s
}
