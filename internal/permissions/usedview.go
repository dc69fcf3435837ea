package permissions

import (
	"fmt"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/document"
)

// sections returns the comparison for people: for each account what nothing uses first, the most dangerous first.
func (u *Usage) sections() []document.Section {
	log := u.Log
	s := document.Section{Title: "Used and granted, by audit logs", Remarks: []document.Remark{{Label: "log",
		Text: fmt.Sprintf("%s from %s to %s, of %s", text.Count(log.Events, "event"), text.Printable(log.First),
			text.Printable(log.Last), text.FirstOf(4, lists.Map(log.Files, text.Brief)))}}}
	if log.Skipped > 0 {
		s.Remarks = append(s.Remarks, document.Remark{Label: "not read",
			Text: text.Count(log.Skipped, "line") + " without an event, or with one of more than 16 MiB"})
	}
	if len(log.Gaps) > 0 {
		s.Remarks = append(s.Remarks, document.Remark{Label: "note", Text: "nobody has an event from " +
			text.FirstOf(4, log.Gaps) + ": files of the log may be missing"})
	}
	s.Remarks = append(s.Remarks, document.Remark{Label: "note", Text: "what the audit policy drops (level None) " +
		"and what another API server logs is not in it: a right that is not used here may be used there"})
	return append([]document.Section{s}, lists.Map(u.Accounts, AccountUse.section)...)
}

func (a AccountUse) section() document.Section {
	s := document.Section{Title: text.Brief(a.Account.String()) + ": used and granted"}
	seen := text.Count(a.Events, "event")
	if a.LogName != "" {
		seen += " as " + text.Brief(a.LogName)
	}
	if len(a.Stages) > 0 {
		seen += " of the stages " + text.FirstOf(4, a.Stages) + " at the levels " + text.FirstOf(4, a.Levels)
	}
	s.Remarks = append(document.Remarks("log", []string{seen}), document.Remarks("note", a.Notes)...)
	for _, t := range []struct {
		title string
		items []Item
	}{{"Never used", a.Unused}, {"Not known whether it is used", a.Unknown},
		{"Granted by wildcards, and used in part", a.Wider},
		{"Denied: asked for, and not granted", a.Denied}, {"Kept, though no request shows it", a.Kept},
		{"Used", a.Used}, {"Used, and granted by a group or by what is not here", a.Elsewhere}} {
		if len(t.items) == 0 {
			continue
		}
		s.Tables = append(s.Tables, document.Table{Title: t.title, Indent: 2, Columns: []document.Column{
			{Title: "Level", Width: 7}, {Title: "Where", Align: true}, {Title: "What"},
			{Title: "Follows or granted by", Aside: true}}, Rows: lists.Map(t.items, func(i Item) []document.Cell {
			why := text.Printable(sourcesText([]Item{i}))
			if i.Follows != "" {
				why = i.Follows + "; " + why
			}
			level := document.Cell{}
			if i.Severity != "" {
				level = document.SeverityCell(i.Severity)
			}
			return append([]document.Cell{level}, document.Cells(i.where(), i.ruleText(), why)...)
		})})
	}
	return s
}
