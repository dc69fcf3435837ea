package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/compare/change"
	"github.com/olmgen/olmgen/internal/compare/crds"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/predict/upgrade"
)

// verdict returns what a person decides, in one line. It is empty if there is nothing to decide.
func (r *Report) verdict(pairs []pair) string {
	changed := lists.Count(r.Unresolved, func(u Unresolved) bool { return u.Changed })
	parts := filled([]string{lacking(len(r.Unread)+len(r.Ignored), changed, r.undecided)})
	conditions := r.conditions()
	warnings := r.attention()
	olm := ""
	if !r.Empty() {
		olm = r.olmVerdict(pairs)
	}
	var wrong []string
	if olm == refusal {
		wrong, olm = append(wrong, olm), ""
	}
	unfit := lists.Filter(r.OLM, func(c Consequence) bool { return c.Severity == findings.Error && ofTarget(c.Rule) })
	rules := lists.Map(unfit, func(c Consequence) string { return strings.TrimPrefix(c.Rule, fit.Prefix) })
	if rules = lists.SortedUnique(rules); len(rules) > 0 {
		wrong = append(wrong, "it does not fit the cluster ("+strings.Join(rules, ", ")+")")
	}
	then := ""
	if len(wrong) > 0 {
		parts = append(parts, "not as it is: "+joined(wrong))
		then = "once that is mended, "
	}
	switch {
	case len(conditions) > 0:
		parts = append(parts, then+"accept only if "+joined(conditions))
		if len(warnings) > 0 {
			parts = append(parts, "look also at "+text.And(warnings))
		}
	case len(warnings) > 0:
		parts = append(parts, then+"accept after a look at "+text.And(warnings))
	case r.Empty() || len(r.Unread) > 0 || r.worst() != findings.Info:
	case len(r.Unresolved)+len(r.Unbuilt)+len(r.Before)+len(r.Charts)+len(r.Ignored) > 0:
		parts = append(parts, "nothing in what was looked at speaks against it: no error, no warning")
	default:
		parts = append(parts, "nothing speaks against it: no error, no warning")
	}
	refused := lists.Filter(r.CRDs, func(c CRD) bool { return crds.Misfit(c.Rule) })
	if n := len(lists.Set(refused, func(c CRD) string { return c.CRD + " " + c.Object })); n > 0 {
		fit := "no longer fit"
		if n == 1 {
			fit = "no longer fits"
		}
		parts = append(parts, fmt.Sprintf("%s of yours %s the CRDs", text.Count(n, "object"), fit))
	}
	if olm != "" {
		parts = append(parts, olm)
	}
	return strings.Join(parts, "; ")
}

// Undecided returns the verdict of clusters of which files could not be read, and where kustomizations could be built
// for one of two states only; "" for none.
func Undecided(files, kustomizations int) string { return lacking(files, 0, kustomizations) }

// lacking returns what a person looks at who decides; "" if the report lacks nothing.
func lacking(files, operators, kustomizations int) string {
	var parts []string
	for i, n := range []int{files, operators, kustomizations} {
		if n > 0 {
			parts = append(parts, text.Count(n, []string{"file", "operator", "root"}[i]))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "before you decide, look at what the report does not know: " + text.And(parts)
}

// joined joins conditions, which may have an "and" of their own.
func joined(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + ", and " + list[last]
}

// conditions returns what has to be all right where an error is accepted, by the findings of that severity.
func (r *Report) conditions() []string {
	var out []string
	if who, what := r.gained(findings.Error); len(what) > 0 {
		out = append(out, who+" may "+text.And(what))
	}
	errors := lists.Filter(r.Workloads, func(c change.Change) bool { return c.Severity == findings.Error })
	left := lists.Filter(errors, func(c change.Change) bool { return c.Part != change.Security })
	if len(left) < len(errors) {
		out = append(out, "its pods may have rights on the node")
	}
	breaking := lists.Filter(r.CRDs, func(c CRD) bool { return c.Severity == findings.Error && c.Object == "" })
	if n := len(breaking); n > 0 {
		hurt, whom := "hurt", "none of your objects"
		if n == 1 {
			hurt = "hurts"
		}
		if r.checked {
			whom = "no client"
		}
		names := lists.Set(breaking, func(c CRD) string { return c.CRD })
		out = append(out, fmt.Sprintf("%s of %s %s %s", text.Count(n, "breaking change"), text.Count(len(names), "CRD"),
			hurt, whom))
	}
	alike := lists.Groups(left, func(c change.Change) string { return c.Message })
	if len(alike) > maxOthers {
		return append(out, text.Count(len(left), "other error")+" are all right")
	}
	for _, same := range alike {
		objects := lists.Map(same, func(c change.Change) string { return text.Brief(c.Object) })
		out = append(out, fmt.Sprintf("it is all right for %s that %s", text.FirstOf(maxAlike, objects),
			same[0].Message))
	}
	return out
}

// maxOthers is how many kinds of errors a verdict has words for.
const maxOthers = 2

// gained returns who gains what is as bad, and what that is: the facts, and what no fact says.
func (r *Report) gained(severity findings.Severity) (who string, what []string) {
	var holders, others, more []string
	fresh := lists.Filter(r.facts, func(f permissions.ChangedFact) bool {
		return f.Change == permissions.Gained && f.Severity == severity
	})
	said := lists.Set(fresh, func(f permissions.ChangedFact) permissions.Risk { return f.Risk })
	groups := lists.Groups(fresh, permissions.ChangedFact.In)
	for _, of := range groups {
		may := lists.Unique(lists.Map(of, func(f permissions.ChangedFact) string { return f.May }))
		if len(groups) > 1 || !slices.Contains(of[0].Namespaces, permissions.Everywhere) {
			may = []string{text.And(may) + of[0].In()}
		}
		what = append(what, may...)
	}
	for _, i := range slices.Concat(r.Permissions, r.Users) {
		if i.Change != permissions.Gained || severityOf(i) != severity {
			continue
		}
		switch {
		case said[i.Risk]:
		case i.Risk == permissions.Other && len(i.Kept) == 0 && i.Follows != "":
			others = lists.Add(others, i.Follows)
		default:
			more = lists.Add(more, gainText(i))
		}
		holder := "the operator"
		if r.installers[i.Subject] {
			holder = "the installer"
		}
		if i.Subject.Kind != accountKind && !i.Subject.IsRole() {
			holder = "others"
		}
		holders = lists.Add(holders, cmp.Or(strings.TrimRight(r.holder(i), ", "), holder))
	}
	if len(others) > 0 {
		what = append(what, "use other dangerous rights ("+text.FirstOf(maxAlike, others)+")")
	}
	switch {
	case len(more) > 0 && len(others) > 0:
		what = append(what, "gain "+text.Count(len(more), "other right"))
	case len(more) > 0:
		what = append(what, "gain "+text.FirstOf(maxAlike, more))
	}
	return cmp.Or(strings.Join(holders, " or "), "the operator"), what
}

// warningTopics names what warnings of a part of workloads and identity are about.
var warningTopics = map[change.Part]string{
	change.Security: "pods that are less restricted", change.Account: "accounts", change.Image: "images that moved",
	change.Webhook: "webhooks", change.Service: "Services", change.NetworkPolicy: "network policies",
	change.Provided: "removed APIs", change.Required: "required APIs", change.Dependencies: "dependencies",
	change.InstallModes: "install modes", change.Kubernetes: "the Kubernetes version",
	change.Deprecation: "the deprecation", change.Version: "the older version", change.Operator: "the operators",
}

// otherWarnings are those of no topic, beside some that have one.
const otherWarnings = "other warnings"

// attention names what warnings are about, each once.
func (r *Report) attention() []string {
	var out []string
	if slices.Contains(r.severities(SectionPermissions), findings.Warning) {
		topic := "permissions"
		if who, what := r.gained(findings.Warning); len(what) > 0 {
			topic += " (" + who + " may " + text.FirstOf(maxAlike, what) + ")"
		}
		out = append(out, topic)
	}
	if slices.Contains(r.severities(SectionCRDs), findings.Warning) {
		out = append(out, "CRDs")
	}
	for _, c := range r.OLM {
		switch {
		case c.Severity != findings.Warning || c.Rule == upgrade.RulePath.ID || resolve.Held(c.Rule):
		case c.Rule == RuleMoves:
			out = lists.Add(out, "what may be deleted as it moves")
		default:
			out = lists.Add(out, "what OLM says")
		}
	}
	for _, c := range slices.Concat(r.Workloads, r.Identity) {
		if c.Severity == findings.Warning {
			topic := cmp.Or(warningTopics[c.Part], otherWarnings)
			if c.Part == change.Image && c.Change == change.Added {
				topic = "images of a new registry"
			}
			out = lists.Add(out, topic)
		}
	}
	if len(out) == 1 && out[0] == otherWarnings {
		out[0] = "the warnings"
	}
	return out
}

// refusal is what OLM does where its section has an error.
const refusal = "OLM or the API server would refuse it, or an operator would fail"

// olmVerdict returns what OLM would do, by the section OLM. It is empty where OLM has nothing to do.
func (r *Report) olmVerdict(pairs []pair) string {
	out, other := "", false
	for _, p := range pairs {
		switch {
		case p.now == nil || p.now.WithoutOLM || p.old != nil && p.old.Name == p.now.Name:
		case p.old == nil && out == "":
			out = "OLM would install it"
		case p.old != nil && p.old.otherPackage(*p.now):
			other = true
		case p.old != nil:
			out = "OLM would upgrade"
		}
	}
	if out != "" && r.approval {
		out += " when somebody approves it"
	}
	if other {
		out = "OLM would not upgrade"
	}
	for _, c := range slices.Backward(r.OLM) { // the worst is the first
		switch {
		case refuses(c):
			out = refusal
		case c.Rule == upgrade.RulePath.ID && c.Severity == findings.Warning:
			out = "OLM would not upgrade in one step"
		case resolve.Held(c.Rule), c.Rule == upgrade.RuleSameName.ID:
			out = "OLM would not upgrade"
		case c.Rule == upgrade.RulePath.ID:
			out = "OLM would upgrade if its catalog says so"
		}
	}
	return out
}
