package generate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/views"
	"github.com/olmgen/olmgen/manifest"
)

// Descoped holds the options of ProfileDescoped. They are decisions of the administrator.
type Descoped struct {
	// in each of these the operator's accounts get a RoleBinding
	BindNamespaces []string `json:"bindNamespaces,omitempty"`
	// the accounts get a ClusterRoleBinding instead
	BindAll bool `json:"bindAll,omitempty"`
	// they get one to the rules that no RoleBinding grants, and to nothing else
	BindCluster bool `json:"bindCluster,omitempty"`
	// they get none; an operator that supports AllNamespaces only gets one otherwise
	BindNone    bool          `json:"bindNone,omitempty"`
	AggregateTo []DefaultRole `json:"aggregateTo,omitempty"` // default: none
	Split       Split         `json:"split,omitempty"`       // default: none
	Status      Status        `json:"status,omitempty"`      // default: StatusPlan
	// the accounts get bindings to the operator's internal APIs alone
	BindInternal bool `json:"bindInternal,omitempty"`
	// the optional ClusterRoles, by API group or resource, of namespaces that do not get all of them
	Tenants map[string][]string `json:"-"`
}

// DefaultRole is a ClusterRole for users that every cluster has: a default role of Kubernetes, or OpenShift's
// cluster-reader.
type DefaultRole string

// DefaultRoles are the roles that user roles can be aggregated to.
var DefaultRoles = []DefaultRole{"admin", "edit", "view", "cluster-reader"}

// NoRole in place of default roles means that user roles are aggregated to none, also where they are by default.
const NoRole DefaultRole = "none"

// Split is which rules of a ServiceAccount go into optional ClusterRoles and not into the required one.
type Split string

// SplitFeature makes an optional ClusterRole for each API group that is neither built into Kubernetes nor the group of
// an owned API. SplitResource makes one for each resource that is not an owned API.
const (
	SplitFeature  Split = "feature"
	SplitResource Split = "resource"
)

// Splits are all values of Split.
var Splits = []Split{SplitFeature, SplitResource}

// Status is what the operator may do in all namespaces with the status of the APIs that it owns.
type Status string

// StatusPlan allows what the descoping plan expects, get and update, even if the CSV asks for less. StatusAsked allows
// nothing that the CSV does not ask for.
const (
	StatusPlan  Status = "plan"
	StatusAsked Status = "asked"
)

// Statuses are all values of Status.
var Statuses = []Status{StatusPlan, StatusAsked}

// descopedGenerators are the generators of ProfileDescoped. docs/descoped.md quotes the sentences of the descoping plan
// that they follow.
var descopedGenerators = []func(*rendering){
	boundedRules,
	namespaces,
	serviceAccounts,
	permissions,
	workClusterRoles,
	statusClusterRoles,
	internalRoles,
	userClusterRoles,
	aggregatedClusterRoles,
	tenants,
	servingObjects,
	watchAllNamespaces,
	deployments,
	apiServices,
	webhooks,
	crds,
	withoutBindings,
	shippedObjects,
	descopedWarnings,
}

// CheckDescoped returns an *Error for options that the descoped profile does not use, and for its options with another
// profile. Render calls it.
func (o Options) CheckDescoped() error {
	d := o.Descoped
	if o.Profile != ProfileDescoped {
		return o.checkNotDescoped()
	}
	grouped := o.OperatorGroup != ""
	switch {
	case o.Names == NamesOLM:
		return refuseOption(option.Names, "leave it out", "OLM makes no descoped objects, so it has no names for them")
	case o.InstallMode != "":
		return refuseOption(option.InstallMode, "say where it may work",
			"a descoped operator has no install mode: it serves the whole cluster").
			with(option.BindNamespaces, option.BindAll)
	case o.Selector != nil, o.Static, len(o.StaticProvidedAPIs) > 0, o.ServiceAccount != "",
		len(o.CopiedCSVNamespaces) > 0:
		return refuse("give only the name and the target namespaces of a group",
			"the profile descoped has no OperatorGroup object and no copied CSVs")
	case !grouped && len(o.TargetNamespaces) > 0:
		return refuseOption(option.TargetNamespaces, "name the namespaces to bind in, or the group",
			"target namespaces are those of an OperatorGroup, and none is given").with(option.BindNamespaces,
			option.OperatorGroup)
	case grouped && (d.BindAll || len(d.BindNamespaces) > 0):
		other := manifest.Option(option.BindNamespaces)
		if d.BindAll {
			other = option.BindAll
		}
		group, tip := []manifest.Option{option.OperatorGroup}, "leave out the name of the group"
		if len(o.TargetNamespaces) > 0 {
			group, tip = append(group, option.TargetNamespaces), tip+" and its target namespaces"
		}
		return refuseOption(group[len(group)-1], tip+", or where else the operator is bound",
			"the namespaces of OperatorGroup %q decide where the operator is bound", o.OperatorGroup).
			with(append(group, other)...)
	case d.BindNone && (d.binds() || grouped):
		return refuseOption(option.BindNone, "leave it out", "another option says where the operator is bound")
	case d.BindCluster && (d.BindAll || grouped && len(o.TargetNamespaces) == 0):
		return refuseOption(option.BindCluster, "leave it out",
			"the operator is bound in all namespaces, which includes what is cluster-scoped")
	case d.BindAll && len(d.BindNamespaces) > 0:
		return refuse("choose one", "the operator is bound in all namespaces, so it needs no binding in single ones").
			with(option.BindAll, option.BindNamespaces)
	}
	return cmp.Or(
		checkWord(option.Split, "split", d.Split, Splits),
		checkWord(option.Status, "status", d.Status, Statuses),
		d.checkAggregateTo(),
		checkNamespaces(option.BindNamespaces, "namespace to bind in", d.BindNamespaces),
	)
}

// checkNotDescoped refuses the options of the descoped profile in another one.
func (o Options) checkNotDescoped() error {
	d := o.Descoped
	if d.BindAll || d.BindNone || d.BindCluster || d.BindInternal || len(d.BindNamespaces) > 0 || d.Split != "" ||
		d.Status != "" || len(d.AggregateTo) > 0 && o.Profile != ProfilePlain {
		return refuseOption(option.Profile, "choose that profile",
			"binding in namespaces, splitting and aggregating need the profile descoped")
	}
	return d.checkAggregateTo()
}

func (d Descoped) checkAggregateTo() error {
	if slices.Contains(d.AggregateTo, NoRole) && len(d.AggregateTo) > 1 {
		return refuseOption(option.AggregateTo, "", "aggregate to: %s cannot be given with other roles", NoRole)
	}
	for _, role := range d.AggregateTo {
		if err := checkWord(option.AggregateTo, "default role", role, append(DefaultRoles, NoRole)); err != nil {
			return err
		}
	}
	return nil
}

// binds reports whether an option says what the operator is bound to.
func (d Descoped) binds() bool {
	return d.BindAll || d.BindCluster || d.BindInternal || len(d.BindNamespaces) > 0
}

// boundByDefault reports whether the operator is bound in all namespaces although no option says so: "Any CSV with an
// installModes block that supports AllNamespace-mode only [...] OLM will generate an AllNamespace OperatorGroup for
// it", whose namespaces "will get automatic bindings" (plan).
func (r *rendering) boundByDefault() bool {
	d := r.options.Descoped
	scope, _ := bundle.ScopeOf(r.bundle.CSV)
	return scope == bundle.AllUsers && r.options.OperatorGroup == "" && !d.BindNone && !d.binds()
}

// bound returns the namespaces that the operator is bound in, [""] for all: those of the options or, with an
// OperatorGroup, those of the group. "The namespace list on an operatorgroup is used to determine which namespaces will
// get automatic bindings" (plan).
func (r *rendering) bound() []string {
	o := r.options
	switch {
	case o.Descoped.BindAll, r.boundByDefault(), o.OperatorGroup != "" && len(o.TargetNamespaces) == 0:
		return []string{allNamespaces}
	case o.OperatorGroup != "":
		return o.TargetNamespaces
	}
	return o.Descoped.BindNamespaces
}

func (r *rendering) boundEverywhere() bool { return slices.Contains(r.bound(), allNamespaces) }

// account is a ServiceAccount of the operator with the rules that the CSV requests for it: first those of permissions,
// then those of clusterPermissions.
type account struct {
	name      string
	requested []requestedRule
	rules     []rbacv1.PolicyRule // of requested, without duplicates
}

type requestedRule struct {
	rbacv1.PolicyRule
	field string // its place in the CSV
}

func (r *rendering) accounts() []*account {
	if r.accountList != nil {
		return r.accountList
	}
	index := map[string]*account{}
	seen := map[string]bool{}
	spec := r.csv.Spec.InstallStrategy.StrategySpec
	for i, p := range slices.Concat(spec.Permissions, spec.ClusterPermissions) {
		field, at := "permissions", i
		if n := len(spec.Permissions); i >= n {
			field, at = "clusterPermissions", i-n
		}
		a := index[p.ServiceAccountName]
		if a == nil {
			a = &account{name: p.ServiceAccountName}
			index[a.name] = a
			r.accountList = append(r.accountList, a)
		}
		for j, rule := range p.Rules {
			place := fmt.Sprintf("spec.install.spec.%s[%d].rules[%d]", field, at, j)
			a.requested = append(a.requested, requestedRule{rule, place})
			if key := a.name + " " + rule.String(); !seen[key] {
				seen[key] = true
				a.rules = append(a.rules, rule)
			}
		}
	}
	return r.accountList
}

// descopedLabels returns the labels of a ClusterRole and of its bindings. They say what the role is for: required and
// optional follow the plan's convention, and status is the plan's exception.
func (r *rendering) descopedLabels(what string) views.Ownership {
	labels := r.names.owned()
	labels.Descoped = what
	return labels
}

// workRole is a ClusterRole that an account needs for its work.
type workRole struct {
	place
	account, name string
	rules         []rbacv1.PolicyRule
}

// labels are those of a ClusterRole and of its bindings. The plan counts ClusterRoles, one being required: what only a
// ClusterRoleBinding grants of the required rules is required too.
func (w workRole) labels(r *rendering) views.Ownership {
	what := "required"
	if w.optional != "" {
		what = "optional"
	}
	labels := r.descopedLabels(what)
	if w.cluster {
		labels.Scope = "cluster"
	}
	return labels
}

// workRoles returns the ClusterRoles of all accounts: for each account a required one and, if the options split the
// rules, optional ones; each has a second one beside it for what only a ClusterRoleBinding grants.
func (r *rendering) workRoles() []workRole {
	if r.workList != nil {
		return r.workList
	}
	for _, a := range r.accounts() {
		parts := r.split(a.rules)
		for _, at := range slices.SortedFunc(maps.Keys(parts), place.compare) {
			name := r.names.unusedName(r.names.account(a.name) + "-" + at.name())
			r.workList = append(r.workList, workRole{at, a.name, name, parts[at]})
		}
	}
	return r.workList
}

func workClusterRoles(r *rendering) {
	for _, w := range r.workRoles() {
		view := views.Role{Ownership: w.labels(r), Name: w.name, Rules: rbac.Values(w.rules)}
		r.author("clusterrole.yaml", clusterRole(w.name), view)
	}
}

// statusClusterRoles makes the one binding that a descoped operator has in all namespaces: "De-scoped operators are
// always expected to have read,update /status permission on the APIs they own in all namespaces" (plan). So the
// operator can tell users where it may not work.
func statusClusterRoles(r *rendering) {
	for _, a := range r.accounts() {
		status := r.statusOf(a)
		if len(status) == 0 {
			continue
		}
		name := r.names.unusedName(r.names.account(a.name) + "-status")
		labels := r.descopedLabels("status")
		r.roleAndBinding("", name, rbac.Values(status), labels, labels, r.subject(a.name))
	}
}

// statusOf returns what an account may do with the status of owned APIs in all namespaces: what the CSV asks for and,
// unless the options say otherwise, what the plan expects of an account that serves the API.
func (r *rendering) statusOf(a *account) []rbacv1.PolicyRule {
	rules := r.statusRules(a.rules)
	if r.options.Descoped.Status == StatusAsked {
		return rules
	}
	for _, owned := range r.apis {
		// A CSV can claim to own any API by an APIService. The status of Kubernetes' own APIs, and of all APIs, is left
		// to what the CSV asks for.
		if owned.Group != "*" && owned.Plural != "*" && !olm.BuiltinGroup(owned.Group) && !r.withoutStatus(owned) &&
			slices.Contains(r.servesAPI(owned), a) {
			rules = withStatus(rules, owned)
		}
	}
	return rules
}

// servesAPI returns the accounts that have to do with an API, as far as the bundle tells: those that run a Deployment
// and have a rule on the group of the API, else those with a rule, else those that run a Deployment, else all.
func (r *rendering) servesAPI(a olm.API) []*account {
	used := map[string]bool{}
	for _, d := range r.csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		used[install.Account(&d.Spec.Template.Spec)] = true
	}
	asks := func(b *account) bool {
		return slices.ContainsFunc(b.rules, func(p rbacv1.PolicyRule) bool { return rbac.Has(p.APIGroups, a.Group) })
	}
	runs := func(b *account) bool { return used[b.name] }
	for _, fits := range []func(*account) bool{func(b *account) bool { return runs(b) && asks(b) }, asks, runs} {
		if all := lists.Filter(r.accounts(), fits); len(all) > 0 {
			return all
		}
	}
	return r.accounts()
}

func withStatus(rules []rbacv1.PolicyRule, a olm.API) []rbacv1.PolicyRule {
	resource := a.Plural + "/status"
	i := slices.IndexFunc(rules, func(p rbacv1.PolicyRule) bool {
		return p.APIGroups[0] == a.Group && p.Resources[0] == resource && len(p.ResourceNames) == 0
	})
	if i < 0 {
		i = len(rules)
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{a.Group}, Resources: []string{resource}})
	}
	p := &rules[i]
	p.Verbs = slices.DeleteFunc(slices.Clone(statusVerbs), func(v string) bool {
		return v == "patch" && !slices.Contains(p.Verbs, v)
	})
	return rules
}

var statusVerbs = []string{"get", "update", "patch"}

// statusRules returns what rules allow about the status of owned APIs: one rule for each API and set of resource names.
func (r *rendering) statusRules(asked []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	type key struct{ group, resource, names string }
	var out []rbacv1.PolicyRule
	index := map[key]int{}
	for _, a := range r.apis {
		resource := a.Plural + "/status"
		for _, p := range asked {
			if !rbac.Has(p.APIGroups, a.Group) || !rbac.HasResource(p.Resources, resource) {
				continue
			}
			k := key{a.Group, resource, strings.Join(p.ResourceNames, "\n")}
			i, ok := index[k]
			if !ok {
				i, index[k] = len(out), len(out)
				out = append(out, rbacv1.PolicyRule{APIGroups: []string{a.Group}, Resources: []string{resource},
					ResourceNames: p.ResourceNames})
			}
			for _, v := range statusVerbs {
				if rbac.Has(p.Verbs, v) {
					out[i].Verbs = lists.Add(out[i].Verbs, v)
				}
			}
		}
	}
	return slices.DeleteFunc(out, func(p rbacv1.PolicyRule) bool { return len(p.Verbs) == 0 })
}
