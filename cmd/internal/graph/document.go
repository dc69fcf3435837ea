package graph

import (
	"fmt"
	"strings"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/permissions"
)

// Document returns the picture as a page: the drawing, and below it what it says, in words. title names the operator.
func (r *Radius) Document(title string) *findings.Document {
	t := findings.Table{Columns: []findings.Column{{Title: "Where"}, {Title: "ServiceAccount"}, {Title: "May"},
		{Title: "Role"}, {Title: "About"}, {Title: "Binding", Style: findings.Code}}}
	marked := 0
	for _, p := range r.Places {
		for _, b := range p.Bindings {
			names := lists.Map(b.Accounts, func(a int) string { return text.Brief(r.Accounts[a].Name) })
			if len(b.Marks) > 0 {
				marked++
			}
			role := r.Roles[b.Role]
			t.Rows = append(t.Rows, []findings.Cell{{Text: text.Brief(p.title(r))}, {Text: strings.Join(names, ", ")},
				{Text: strings.Join(b.Marks, "; "), Style: findings.Removed},
				{Text: text.Brief(role.Kind + " " + role.Name)}, {Text: text.Brief(role.Summary)},
				{Text: text.Brief(b.Kind + " " + b.Name)}})
		}
	}
	d := &findings.Document{Kind: "Blast radius", Title: text.Brief(title),
		Lead: fmt.Sprintf("%s in %s; %d dangerous", text.Count(len(t.Rows), "binding"),
			text.Count(len(r.Places), "place"), marked)}
	d.Sections = []findings.Section{{Picture: r.picture()},
		{ID: "bindings", Title: "Bindings", Tables: []findings.Table{t}, Remarks: []findings.Remark{
			{Label: strings.Join(r.Unbound, ", "), Text: "no RoleBinding, " + r.access()}}}}
	accounts := findings.Table{Columns: []findings.Column{{Title: "ServiceAccount"}, {Title: "Runs"}}}
	for _, a := range r.Accounts {
		runs := lists.Map(a.Deployments, func(name string) string { return "Deployment " + text.Brief(name) })
		accounts.Rows = append(accounts.Rows, findings.Cells(text.Brief(a.Name), strings.Join(runs, ", ")))
	}
	if len(accounts.Rows) > 0 {
		s := findings.Section{ID: "accounts", Title: "Accounts of " + text.Brief(r.Namespace),
			Tables: []findings.Table{accounts}}
		s.Remarks = lists.Map(r.Ways, func(w permissions.Way) findings.Remark {
			return findings.Remark{Label: text.Brief(w.Subject.Name) + " reaches", Text: w.String()}
		})
		d.Sections = append(d.Sections, s)
	}
	return d
}
