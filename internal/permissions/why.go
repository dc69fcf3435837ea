package permissions

import (
	"fmt"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/manifest"
)

// Why is the reason why a rule is among the objects.
type Why string

// The reasons.
const (
	WhyPermission        Why = "permission"        // of the CSV's permissions, in the operator's namespace
	WhyClusterPermission Why = "clusterPermission" // of the CSV's clusterPermissions
	WhyPromoted          Why = "promoted"          // of its permissions, which OLM promotes for all namespaces
	WhyCopied            Why = "copied"            // of its permissions, copied to a target namespace
	WhyBound             Why = "bound"             // of a descoped operator, where an administrator binds it
	WhyOLM               Why = "olm"               // OLM's own, or olmgen's in its place
	WhyDescoped          Why = "descoped"          // made for a descoped operator beside what the CSV asks for
	WhyShipped           Why = "shipped"           // in an object of the bundle
	WhyDefault           Why = "default"           // in a role that every cluster has
	WhyTree              Why = "tree"              // in an object of a tree of which nothing says where it is from
)

// whyText has each reason in a few words.
var whyText = map[Why]string{
	WhyPermission:        "permissions",
	WhyClusterPermission: "clusterPermissions",
	WhyPromoted:          "permissions, promoted to the cluster",
	WhyCopied:            "permissions, copied to a target",
	WhyBound:             "bound by an administrator",
	WhyOLM:               "OLM's own",
	WhyDescoped:          "made for a descoped operator",
	WhyShipped:           "shipped in the bundle",
	WhyDefault:           "a role of every cluster",
	WhyTree:              "in the tree",
}

// Whys are all reasons.
var Whys = []Why{WhyPermission, WhyClusterPermission, WhyPromoted, WhyCopied, WhyBound, WhyOLM,
	WhyDescoped, WhyShipped, WhyDefault, WhyTree}

// ofOperator reports whether an account has an item because it runs an operator.
func (i Item) ofOperator() bool {
	return i.Subject.Kind == rbacv1.ServiceAccountKind && i.Source.Via == "" &&
		slices.Contains([]Why{WhyPermission, WhyClusterPermission, WhyPromoted, WhyCopied, WhyBound, WhyDescoped},
			i.Source.Why)
}

// CSV is a ClusterServiceVersion whose permissions may be the reason for rules.
type CSV = olm.CSV

// origins say where rules come from.
type origins struct {
	csvs     []CSV
	roles    map[rbac.Key]*rbac.Role     // that the bundle ships; nil for a tree
	bindings map[string]*manifest.Object // that the bundle ships, by kind and name
	read     []*rbac.Role                // the roles of the objects
	tree     bool                        // the lines of the objects count, but of those that are rendered

	// What is found for all rules of a role at once. The second is a role, or permissions of a CSV.
	begun  map[pair]bool          // the role begins with the rules of the second
	places map[any]map[string]int // where each rule stands first
}

type pair struct {
	role *rbac.Role
	with any
}

func (o *origins) inTree(object *manifest.Object) bool { return o.tree && !Authored(object) }

// newOrigins takes what a bundle ships, or for a tree its own CSVs.
func newOrigins(in Input, v *inventory) (*origins, error) {
	o := &origins{csvs: in.CSVs, bindings: map[string]*manifest.Object{},
		begun: map[pair]bool{}, places: map[any]map[string]int{},
		read: v.Roles, tree: !in.Rendered}
	var shipped rbac.Objects
	for _, s := range in.Shipped {
		if install.GroupOf(s) != rbacv1.GroupName || !rbac.Relevant(rbacv1.GroupName, s.Kind) {
			continue
		}
		if err := shipped.Add(s, ""); err != nil { // its namespace is that of the operator
			return nil, err
		}
	}
	o.roles = lists.By(shipped.Roles, func(r *rbac.Role) rbac.Key { return r.Key })
	for _, b := range shipped.Bindings {
		o.bindings[b.Object.Kind+" "+b.Object.Name] = b.Object
	}
	return o, nil
}

// use is how an account has a rule.
type use struct {
	role    *rbac.Role
	rule    int
	account rbac.Account // empty if the subject is none
	binding *rbac.Binding
}

// source returns where the rule stands and why it is there.
func (o *origins) source(u use) Source {
	in := u.role.Rules[u.rule].Role
	if in.Object == nil {
		return o.bindingSource(u.binding, in.String())
	}
	s := ruleSource(u.role.Rules[u.rule])
	if shipped := o.roles[rbac.Key{Kind: in.Kind, Name: in.Name}]; shipped != nil {
		if i, ok := o.place(shipped, u, shipped.PolicyRules); ok {
			s = ruleSource(shipped.Rules[i])
			s.Why = WhyShipped
			return s
		}
	}
	for _, csv := range o.csvs {
		if found, ok := o.find(csv, u); ok {
			if o.inTree(in.Object) {
				found.File, found.Line, found.Object, found.Field = s.File, s.Line, s.Object, s.Field
			}
			return found
		}
	}
	installed := o.installed(u, in)
	switch {
	case in.Labels[olm.LabelDescoped] != "":
		s.Why = WhyDescoped
	case o.inTree(in.Object) && installed != "":
		s.Why = installed
	case !o.inTree(in.Object) || in.Generated():
		s.Why = WhyOLM
	}
	if !o.inTree(in.Object) {
		s.File, s.Line, s.Field = "", 0, "" // it is in no file of the bundle
	}
	return s
}

// installed returns why a role has a rule that OLM or olmgen made of the permissions of a ClusterServiceVersion, by the
// labels of the role; empty for any other rule. It is for a tree without the ClusterServiceVersion. A promoted
// ClusterRole has the rules of a Role and one to see namespaces (OLM: pkg/controller/operators/olm/operatorgroup.go,
// ensureSingletonRBAC).
func (o *origins) installed(u use, in *rbac.Role) Why {
	condition := len(in.Rules) == 1 && slices.Equal(in.Rules[0].APIGroups, []string{olm.Group}) &&
		slices.Equal(in.Rules[0].Resources, []string{"operatorconditions"}) // which OLM makes and no CSV asks for
	ofCSV := in.Labels[olm.LabelOwnerKind] == v1alpha1.ClusterServiceVersionKind || in.InPlaceOfOLM()
	switch {
	case !ofCSV || u.account == rbac.Account{} || u.role != in || isAggregated(in) || condition:
		return ""
	case in.Kind == rbac.KindRole && u.binding.Namespace == u.account.Namespace:
		return WhyPermission
	case in.Kind == rbac.KindRole:
		return WhyCopied
	}
	for _, r := range o.read {
		if r.Kind != rbac.KindRole || r.Namespace != u.account.Namespace || len(in.Rules) != len(r.Rules)+1 ||
			!o.begins(in, r, r.PolicyRules) || !equal(in.Rules[len(r.Rules)].PolicyRule, seesNamespaces) {
			continue
		}
		if u.rule == len(r.Rules) {
			return WhyOLM
		}
		return WhyPromoted
	}
	return WhyClusterPermission
}

// seesNamespaces is the rule that OLM adds to those that it promotes.
var seesNamespaces = rbacv1.PolicyRule{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{""},
	Resources: []string{"namespaces"}}

// bindingSource returns where a binding stands whose role does not stand anywhere.
func (o *origins) bindingSource(b *rbac.Binding, role string) Source {
	s, from := Source{Object: role, Why: WhyDefault}, b.Object
	if from != nil && !o.inTree(from) {
		s.Why = WhyOLM
		if from = o.bindings[b.Object.Kind+" "+b.Object.Name]; from != nil {
			s.Why = WhyShipped
		}
	}
	if from != nil {
		s.File, s.Line = from.PlaceOf("roleRef")
		s.Field = "roleRef"
	}
	return s
}

// find finds the rule in the CSV's permissions: first an entry whose rules are those of the role, then an equal rule.
func (o *origins) find(c CSV, u use) (Source, bool) {
	spec := c.Spec.InstallStrategy.StrategySpec
	lists := []struct {
		field   string
		entries []v1alpha1.StrategyDeploymentPermissions
	}{{"clusterPermissions", spec.ClusterPermissions}, {"permissions", spec.Permissions}}
	if u.role.Kind == rbac.KindRole {
		slices.Reverse(lists)
	}
	for _, whole := range []bool{true, false} {
		for _, l := range lists {
			for i := range l.entries {
				entry := &l.entries[i]
				if entry.ServiceAccountName != u.account.Name {
					continue
				}
				rules := func() []rbacv1.PolicyRule { return entry.Rules }
				j, ok := u.rule, whole && u.rule < len(entry.Rules) && o.begins(u.role, entry, rules)
				if !whole {
					j, ok = o.place(entry, u, rules)
				}
				if ok {
					field := fmt.Sprintf("spec.install.spec.%s[%d].rules[%d]", l.field, i, j)
					return Source{File: c.Object.File, Line: c.Object.LineOf(field), Object: c.Object.Identity(),
						Field: field, Why: whyOf(c, l.field, u)}, true
				}
			}
		}
	}
	return Source{}, false
}

func whyOf(c CSV, list string, u use) Why {
	switch kind := u.role.Labels[olm.LabelDescoped]; {
	case kind == "required" || kind == "optional":
		return WhyBound
	case kind != "":
		return WhyDescoped
	case list == "clusterPermissions":
		return WhyClusterPermission
	case u.binding.Namespace == "":
		return WhyPromoted
	case u.binding.Namespace == c.Namespace:
		return WhyPermission
	}
	return WhyCopied
}

// place returns where the rule of a use stands first among those of a role, or of permissions of a CSV.
func (o *origins) place(among any, u use, rules func() []rbacv1.PolicyRule) (i int, ok bool) {
	places := o.places[among]
	if places == nil {
		places = map[string]int{}
		for i, r := range slices.Backward(rules()) {
			places[rbac.RuleKey(r)] = i
		}
		o.places[among] = places
	}
	i, ok = places[rbac.RuleKey(u.role.Rules[u.rule].PolicyRule)]
	return i, ok
}

// begins reports whether a role begins with the rules of another, or of permissions of a CSV.
// It has at most one more: OLM adds one to those it promotes.
func (o *origins) begins(r *rbac.Role, with any, rules func() []rbacv1.PolicyRule) bool {
	yes, known := o.begun[pair{r, with}]
	if !known {
		list := rules()
		extra := len(r.Rules) - len(list)
		yes = (extra == 0 || extra == 1) && len(list) > 0 &&
			slices.EqualFunc(r.PolicyRules()[:len(list)], list, equal)
		o.begun[pair{r, with}] = yes
	}
	return yes
}

// equal compares rules as they are written, apart from lists that are empty or missing.
func equal(a, b rbacv1.PolicyRule) bool { return rbac.RuleKey(a) == rbac.RuleKey(b) }
