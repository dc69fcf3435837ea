package predict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// judgeResources checks the custom resources of the tree against their CRDs and operators, and reports an API that
// operators in several namespaces provide, as their roles show: the descoping plan allows one in a cluster.
func (sim *simulation) judgeResources() {
	defined := sim.definitions(sim.brought()...)
	operators := map[string]*operators{} // by name of the CRD
	for _, x := range sim.Others {
		d, ok := defined[x.Group()+"/"+x.Kind]
		if !ok {
			continue
		}
		if _, version, _ := strings.Cut(x.APIVersion, "/"); !serves(d.Object, version) {
			sim.note(ruleVersion, findings.Error, x, "apiVersion",
				"CustomResourceDefinition "+d.Name+" does not serve version "+version,
				"it serves "+cmp.Or(strings.Join(olm.ServedVersions(d.Object), ", "), "none"))
		}
		if operators[d.Name] == nil {
			operators[d.Name] = sim.operatorsOf(d)
		}
		sim.judgeController(x, d, operators[d.Name])
	}
	for _, key := range lists.Keys(defined) { // of CSVs judgeOwners says it
		d := defined[key]
		accounts, _ := statusWriters(&sim.RBAC, d, d.of.Plural+"/status")
		homes := lists.By(accounts, func(a rbac.Account) string { return a.Namespace })
		if sim.shared[d.Name] || len(sim.operatorsOf(d).csvs) > 0 || len(homes) < 2 {
			continue
		}
		list := lists.Map(lists.Keys(homes),
			func(home string) string { return "ServiceAccount " + homes[home].String() })
		sim.note(ruleOwners, findings.Warning, d.Object, "",
			"operators in several namespaces provide this API: "+text.FirstOf(3, list),
			"keep one of them, or declare that they share it (annotation "+rbac.AnnotationShared+")")
	}
}

// operators are those that manage the custom resources of a CRD.
type operators struct {
	csvs     []*csv
	accounts []rbac.Account  // that a role of the tree lets update the status, or the resources
	granted  map[string]bool // the resources that a role of the tree lets its subjects update
	manages  bool            // a ServiceAccount watches and changes the resources, or olmgen rendered their operator
}

func (sim *simulation) operatorsOf(d definition) *operators {
	r := &operators{granted: map[string]bool{}}
	r.csvs = lists.Filter(sim.csvs, func(v *csv) bool { return !v.deleted && v.owns(d.Name) })
	for _, resource := range []string{d.of.Plural, d.of.Plural + "/status"} {
		accounts, granted := statusWriters(&sim.RBAC, d, resource)
		r.accounts, r.granted[resource] = append(r.accounts, accounts...), granted
	}
	forUsers := func(r *rbac.Role) bool { return r.ForUsers() && rbac.Covers(r.PolicyRules(), d.watches()) }
	r.manages = len(r.accounts) > 0 || slices.ContainsFunc(sim.RBAC.Roles, forUsers) || managed(&sim.RBAC, d)
	return r
}

// managed reports whether a role that names the API group lets a ServiceAccount watch and change its resources: an
// operator does both, and who only looks at them is another program.
func managed(x *rbac.Objects, d definition) bool {
	account := func(s rbacv1.Subject) bool {
		_, ok := rbac.AccountOf(s)
		return ok
	}
	return slices.ContainsFunc(x.Bindings, func(b *rbac.Binding) bool {
		role := x.Bound(b)
		if role == nil || !slices.ContainsFunc(b.Subjects, account) {
			return false
		}
		named := d.named(role)
		return rbac.Covers(named, d.watches()) && (rbac.Covers(named, d.rule(d.of.Plural, "update")) ||
			rbac.Covers(named, d.rule(d.of.Plural+"/finalizers", "update")))
	})
}

// named returns the rules of a role that name the API group.
func (d definition) named(role *rbac.Role) []rbacv1.PolicyRule {
	return lists.Filter(role.PolicyRules(),
		func(rule rbacv1.PolicyRule) bool { return slices.Contains(rule.APIGroups, d.of.Group) })
}

// statusOf returns the resource by which the status of a custom resource is written. Without the subresource status
// (Kubernetes) it is written like any other field.
func (d definition) statusOf(x *manifest.Object) string {
	_, version, _ := strings.Cut(x.APIVersion, "/")
	for i := range d.Len("spec", "versions") {
		at := fmt.Sprint(i)
		name, err := d.Get("spec", "versions", at, "name")
		if err == nil && name == version && d.Has("spec", "versions", at, "subresources", "status") {
			return d.of.Plural + "/status"
		}
	}
	return d.of.Plural
}

func (d definition) rule(resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: verbs, APIGroups: []string{d.of.Group}, Resources: []string{resource}}
}

func (d definition) watches() rbacv1.PolicyRule { return d.rule(d.of.Plural, "list", "watch") }

// statusWriters returns the ServiceAccounts of roles that name the API group and let them update the status of its
// resources, and whether there is such a role. A role for all groups belongs to an administrator. Where the status is
// part of the resource, an operator also watches it, and what only users have does not count.
func statusWriters(x *rbac.Objects, d definition, status string) (accounts []rbac.Account, granted bool) {
	writes := map[rbac.Key]bool{}
	for _, role := range x.Roles {
		named := d.named(role)
		if !rbac.Covers(named, d.rule(status, "update")) && !rbac.Covers(named, d.rule(status, "patch")) ||
			status == d.of.Plural && (role.ForUsers() || !rbac.Covers(named, d.watches())) {
			continue
		}
		writes[role.Key] = true
		granted = granted || status != d.of.Plural || role.Labels[olm.LabelDescoped] != ""
	}
	for _, b := range x.Bindings {
		for _, s := range b.Subjects {
			if a, ok := rbac.AccountOf(s); ok && writes[b.Role] {
				accounts = append(accounts, a)
			}
		}
	}
	slices.SortFunc(accounts, func(a, b rbac.Account) int { return cmp.Compare(a.User(), b.User()) })
	return slices.Compact(accounts), granted || len(accounts) > 0
}

// judgeController reports a custom resource that no operator of the tree can manage where it is. The descoping plan
// wants an alert for one whose status no operator may update. A tree without the operator says nothing about it.
func (sim *simulation) judgeController(x *manifest.Object, d definition, ops *operators) {
	namespace, where := x.Namespace, "in namespace "+x.Namespace
	if !d.of.Namespaced {
		namespace, where = "", "in all namespaces"
	} else if namespace == "" || namespace == world.Placeholder {
		return
	}
	// one without a single group that has targets is a finding of its own
	targeted := func(v *csv) bool {
		groups := sim.groupsIn[v.Namespace]
		return len(groups) != 1 || groups[0].unknown || groups[0].refused != nil || len(groups[0].status) == 0 ||
			isGlobal(groups[0].status) || slices.Contains(groups[0].status, namespace)
	}
	var message string
	status := d.statusOf(x)
	hint := "bind the operator there, or move the resource"
	switch {
	case slices.ContainsFunc(ops.csvs, targeted):
		return
	case len(ops.csvs) > 0:
		message = fmt.Sprintf("ClusterServiceVersion %s, which provides its API, does not work %s", ops.csvs[0].Name,
			where)
		hint = "add the namespace to the targets of the OperatorGroup, or move the resource"
	case len(sim.unknownCSV) > 0, !ops.granted[d.of.Plural+"/status"] && !ops.manages:
		return
	case !ops.granted[status]:
		message = "no role of the tree lets the operator update its status"
		hint = fmt.Sprintf("allow update of %s of %s to the operator's ServiceAccount", status, d.of.Group)
	case !sim.mayAny(ops.accounts, namespace, d.rule(status, "update"), d.rule(status, "patch")):
		message = "no operator may update its status " + where
	case !sim.mayAny(ops.accounts, namespace, d.watches()):
		message = "no operator may watch it " + where
	default:
		return
	}
	level := findings.Warning
	if sim.open && sim.options.cluster != "" { // another root of the tree may be in this cluster
		level = findings.Note
	}
	sim.note(ruleNoOperator, level, x, "", message, hint)
}

func (sim *simulation) mayAny(accounts []rbac.Account, namespace string, rules ...rbacv1.PolicyRule) bool {
	return slices.ContainsFunc(accounts, func(account rbac.Account) bool {
		return slices.ContainsFunc(rules, func(rule rbacv1.PolicyRule) bool {
			return sim.RBAC.Allows(account, namespace, rule)
		})
	})
}

// judgeEngines reports what an engine never applies, or on a new cluster does not come to. Of the custom resources of
// one kind that wait for what is applied with them, it reports the first.
func (sim *simulation) judgeEngines(roots []tree.Root) {
	if len(roots) == 0 {
		return
	}
	brings, defined := map[string]*manifest.Object{}, sim.definitions() // by group/kind
	for _, v := range sim.csvs {
		for _, d := range v.CRDs.Owned {
			if _, group, _ := strings.Cut(d.Name, "."); v.sub != nil && !v.deleted {
				brings[group+"/"+d.Kind] = v.sub.Object
			}
		}
	}
	for _, e := range sim.extensions {
		for kind := range olm.DefinedKinds(e.made) {
			brings[kind] = e.object
		}
	}
	key := func(o *manifest.Object) string { return world.Key(o, sim.options.Namespace) }
	for _, r := range roots {
		for _, e := range r.Unsynced() {
			sim.report(ruleUnsynced, findings.Warning, e, "")
		}
		if len(brings) == 0 {
			continue
		}
		in, said := lists.Set(r.Objects, key), map[string]bool{}
		for _, x := range r.Objects {
			kind := x.Group() + "/" + x.Kind
			with := brings[kind]
			if _, here := defined[kind]; with == nil || here || said[kind] || !in[key(with)] {
				continue
			}
			if e := r.Blocked(x, with); e != nil {
				said[kind] = true
				sim.report(ruleUnsynced, findings.Warning, e, x.Identity())
			}
		}
	}
}

// judgeInheritance reports rules of hand-written ClusterRoles that are aggregated to a role for fewer permissions and
// not to the one for more: aggregation does not inherit. OLM and olmgen generate the other roles.
func (sim *simulation) judgeInheritance() {
	aggregated := map[string][]rbacv1.PolicyRule{} // by label and value
	for _, r := range sim.RBAC.Roles {
		for label, value := range r.Labels {
			aggregated[label+"="+value] = append(aggregated[label+"="+value], r.PolicyRules()...)
		}
	}
	for _, r := range sim.RBAC.Roles {
		if r.Generated() {
			continue
		}
		for _, family := range []string{rbac.AggregateTo, olm.LabelAggregateTo} {
			for _, step := range [][2]string{{"view", "edit"}, {"edit", "admin"}} {
				value, ok := r.Labels[family+step[0]]
				if ok && (family != rbac.AggregateTo || value == "true") {
					sim.judgeStep(r, family+step[1], step, aggregated[family+step[1]+"="+value])
				}
			}
		}
	}
}

func (sim *simulation) judgeStep(r *rbac.Role, label string, step [2]string, held []rbacv1.PolicyRule) {
	level := findings.Warning
	if strings.HasPrefix(label, rbac.AggregateTo) {
		// Kubernetes' own edit and admin include view and edit, unless somebody changed their labels
		level = findings.Note
	}
	for i, rule := range r.PolicyRules() {
		if !rbac.Covers(held, rule) {
			sim.note(ruleInherit, level, r.Object, fmt.Sprintf("rules[%d]", i),
				fmt.Sprintf("the rule is aggregated to %s but not to %s: %s", step[0], step[1], rbac.RuleText(rule)),
				"add the label "+label+", or write the rule into a role that has it")
			return
		}
	}
}
