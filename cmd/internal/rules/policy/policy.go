// Package policy checks the Kubernetes objects of files against rules: those of Operate First's decision record on
// managing operators, and the limits, CEL expressions and exceptions of a policy file.
package policy

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
)

// OperateFirst is the name of the policy with all rules of the decision record and no others.
const OperateFirst = "operate-first"

// Names returns the names of the built-in policies.
func Names() []string { return []string{OperateFirst} }

// Builtin returns the built-in policy of a name, or nil.
func Builtin(name string) *Policy {
	if name != OperateFirst {
		return nil
	}
	return &Policy{rules: recordRules, clusterScope: defaultClusterScope()}
}

// Policy is a set of rules. It is immutable, so several goroutines may use it.
type Policy struct {
	rules        []Rule
	exceptions   []exception
	clusterScope []glob
}

// Rule is one rule of a policy.
type Rule struct {
	ID    string            `json:"id"`
	Level findings.Severity `json:"level"`
	Text  string            `json:"description"`     // the requirement, in one line
	Quote string            `json:"quote,omitempty"` // the sentence of the decision record that requires it
	Help  string            `json:"help,omitempty"`  // how olmgen applies it

	check func(*view)
}

type violation struct {
	*manifest.Object
	field string // dotted path
	msg   string
	hint  string
}

// Input is what Check checks.
type Input struct {
	Paths []string // the paths of tree.Read
	Tree  *tree.Tree

	Installed []Installed // what OLM installs for objects of the tree
	Unknown   []Unknown   // objects of the tree for which OLM installs nobody knows what
}

// Installed is an operator that OLM installs for an object of the tree. The rules about meta-operators, and the limits
// on permissions and images, look at it. What they find is at that object.
type Installed struct {
	By        *manifest.Object
	Name      string // of the bundle
	Namespace string
	CSV       *manifest.Object
}

// Unknown is an object of the tree that hands an operator over to OLM, and why the operator is not looked at.
type Unknown struct {
	By   *manifest.Object
	Why  string
	Hint string // what makes it known; empty if nothing does
}

// Check returns the violations of the policy, sorted. Objects that cannot be read are findings. The error is ctx's.
func (p *Policy) Check(ctx context.Context, in Input) ([]findings.Finding, error) {
	v := newView(in, p.clusterScope)
	v.ctx = ctx
	var found []located
	for _, r := range p.rules {
		v.hits = nil
		r.check(v)
		for _, h := range v.hits {
			found = append(found, v.located(h, r.ID, r.Level))
		}
	}
	for _, h := range v.faults {
		found = append(found, v.located(h, ruleUnreadable, findings.Error))
	}
	for _, u := range in.Unknown {
		h := violation{u.By, "", "the operator that it installs is not looked at: " + u.Why, u.Hint}
		found = append(found, h.located(ruleUnknown, findings.Note))
	}
	found = append(found, unknownFields(v)...)
	found = append(found, operatorRights(v)...)
	for _, s := range in.Tree.Skipped {
		found = append(found, located{nil, findings.Finding{
			Rule: ruleSkipped, Level: findings.Note, File: s.Path, Message: "not read: " + s.Why,
		}})
	}
	for _, f := range in.Tree.Faults {
		found = append(found, located{nil, findings.Finding{
			Rule: ruleUnreadable, Level: findings.Error, File: f.File, Line: f.Line, Field: f.Field, Message: f.Msg,
			Hint: f.Tip,
		}})
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	list := except(p.exceptions, found, v)
	findings.Sort(list)
	return list, nil
}

func unknownFields(v *view) (found []located) {
	for _, kind := range []string{"OperatorGroup", "Subscription", "CatalogSource", "ClusterServiceVersion"} {
		level := findings.Error
		if kind == "ClusterServiceVersion" {
			level = findings.Warning // published ones have some, and OLM installs them
		}
		for _, o := range v.olm(kind) {
			for _, e := range olm.UnknownFields(o.Object) {
				found = append(found, violation{o.Object, e.Field, e.Msg, e.Tip}.located(ruleUnknownField, level))
			}
		}
	}
	return found
}

// located is a finding with its object, which is nil for a finding about a file.
type located struct {
	object *manifest.Object
	findings.Finding
}

// located returns a finding. What is found in an operator that OLM installs is at the object that asks for it.
func (v *view) located(h violation, rule string, level findings.Severity) located {
	l := h.located(rule, level)
	i := slices.IndexFunc(v.installed, func(e *entry) bool { return e.Object == h.Object })
	if i < 0 {
		return l
	}
	by := v.installed[i].by
	l.object = by.By
	place := fmt.Sprintf("see %s:%d", l.File, l.Line) // not in the message, which a baseline keeps
	if l.Hint != "" {
		place += "; " + l.Hint
	}
	if l.Field != "" {
		l.Message = l.Field + ": " + l.Message
	}
	l.Message, l.Hint, l.Field = "installs "+by.Name+": "+l.Message, place, ""
	l.File, l.Line, l.Object = by.By.File, by.By.Line, strings.TrimSpace(by.By.Identity())
	return l
}

func (h violation) located(rule string, level findings.Severity) located {
	file, line := h.File, h.Line
	if h.field != "" { // PlaceOf parses the whole document, so avoid it where it is not needed
		file, line = h.PlaceOf(h.field)
	}
	return located{h.Object, findings.Finding{Rule: rule, Level: level, File: file, Line: line,
		Object: strings.TrimSpace(h.Identity()), Field: withoutIndexes(h.field), Message: h.msg, Hint: h.hint}}
}

var anIndex = lazy.Regexp(`\[[0-9]+`)

// withoutIndexes makes rules[] of rules[3]: the line says which it is, and a baseline matches when items are inserted.
func withoutIndexes(field string) string { return anIndex().ReplaceAllString(field, "[") }

// Rules returns the rules of the policy, sorted by id: built-in ones, those of the file, those about the policy.
func (p *Policy) Rules() []Rule {
	list := slices.Concat(p.rules, ownRules)
	slices.SortFunc(list, func(a, b Rule) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// Explain converts rules for findings.Print.
func Explain(rules []Rule) []findings.Rule {
	return lists.Map(rules, func(r Rule) findings.Rule {
		help := r.Help
		if r.Quote != "" {
			help = strings.TrimSpace("“" + r.Quote + "” (" + recordName + ") " + r.Help)
		}
		return findings.Rule{ID: r.ID, Text: r.Text, Help: help}
	})
}
