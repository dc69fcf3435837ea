package danger

import (
	"maps"
	"slices"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/rbac"
)

// Consequence is what follows from rights that do not look like it.
type Consequence struct {
	ID                 string
	Text               string            // what a subject can do, for the list of rules
	Message            string            // the same of one subject; %s is the place
	Cluster, Namespace findings.Severity // how bad it is there; None: it does not hold there
	Help               string
	Source             string // who says so, as a path on github.com; empty if others or Help do

	needs  [][]pattern // a subject needs one of each list at the place
	unless []string    // not said where one of these worse ones holds

	// named reports whether a rule for one name meets a need. Without it no such rule does.
	named func(need int, name string) bool

	only   bool        // a rule without names is another consequence
	known  bool        // a rule for the name of a role that is known meets a need, too
	within string      // the namespace that it is about alone
	yields Yield       // whose rights it gives
	also   [][]pattern // what that takes beside needs: one of each list
	By     string      // what a subject does to get them, with also; empty if Text says it
	wide   bool        // they are those of the cluster, even by what is held in a namespace
}

// Yield is whose rights a consequence gives at its place.
type Yield int

// The yields. Pods are fewer than Accounts: the controllers in kube-system have accounts there, and no pods.
const (
	Nothing  Yield = iota
	Accounts       // those of every ServiceAccount
	Pods           // those of every ServiceAccount that runs in a pod
	Every          // all there are
)

// oneOf is for needs that rules for one of these names meet.
func oneOf(names ...string) func(int, string) bool {
	return func(_ int, name string) bool { return slices.Contains(names, name) }
}

// workloads start pods.
var workloads = []pattern{podCreate, rcWrite, appsWrite, batchWrite, dcWrite}

var bindingsWrite = resources(groupRBAC, []string{"rolebindings", "clusterrolebindings"}, writing...)

func resources(group string, resources []string, verbs ...string) pattern {
	return pattern{[]string{group}, resources, verbs}
}

// Consequences are all consequences: the one list of how bad a right is.
var Consequences = sync.OnceValue(func() []Consequence {
	return slices.Concat(ofKubernetes, lists.Map(platforms(), row.consequence))
})

var ofKubernetes = []Consequence{
	{
		ID: "everything", Text: "may do everything", Cluster: findings.Error, Namespace: findings.Warning,
		Message: "may do everything in %s",
		needs:   [][]pattern{{resources(rbac.All, []string{rbac.All}, rbac.All)}},
		Help:    "A wildcard also holds for every kind of object that is added later.",
		yields:  Every,
	},
	{
		ID: "secrets-read", Text: "reads every Secret", Cluster: findings.Error, Namespace: findings.Warning,
		Message: "reads every Secret of %s: the credentials and tokens of all that runs there",
		needs:   [][]pattern{{secretsRead}},
		Help:    "get, list and watch all return the content, and so does a request that changes it.",
		yields:  Accounts, also: [][]pattern{{resources("", []string{"secrets"}, "create")}},
		By: "makes token Secrets and reads them",
	},
	{
		ID: "secrets-write", Text: "writes Secrets", Cluster: findings.Warning, Namespace: findings.Note,
		Message: "makes Secrets of %s: a token Secret of every ServiceAccount there",
		unless:  []string{"secrets-read"},
		needs:   [][]pattern{{resources("", []string{"secrets"}, "create")}},
		Help: "A Secret of type kubernetes.io/service-account-token gets a token of the ServiceAccount that it " +
			"names. Reading it takes get.",
	},
	{
		ID: "secrets-change", Text: "changes Secrets", Cluster: findings.Warning, Namespace: findings.Note,
		Message: "changes every Secret of %s: replaces credentials",
		needs:   [][]pattern{{resources("", []string{"secrets"}, "update", "patch")}},
	},
	{
		ID: "secrets-remove", Text: "removes all Secrets", Cluster: findings.Warning, Namespace: findings.Note,
		Message: "removes every Secret of %s, and reads them by that",
		needs:   [][]pattern{{secretsRemove}},
		Help:    "deletecollection returns what it removes (Kubernetes: generic/registry/store.go).",
	},
	{
		ID: "pods-create", Text: "starts pods", Cluster: findings.Error, Namespace: findings.Warning,
		Message: "starts pods in %s: as every ServiceAccount there, with every Secret and ConfigMap, and on the " +
			"host where Pod Security admission allows it",
		needs:  [][]pattern{workloads},
		Help:   "Writing a workload, such as a Deployment or a Job, is enough.",
		yields: Accounts,
	},
	{
		ID: "pods-change", Text: "changes running pods", Cluster: findings.Error, Namespace: findings.Warning,
		Message: "changes the images of every pod of %s, and so runs code as the ServiceAccount of that pod",
		unless:  []string{"pods-create"},
		needs:   [][]pattern{{podChange}},
		Help:    "Its images are among the few fields of a running pod that may change (ValidatePodUpdate).",
		yields:  Pods,
	},
	{
		ID: "builds-create", Text: "starts builds on OpenShift", Cluster: findings.Warning, Namespace: findings.Warning,
		Message: "starts builds in %s, whose pods run as a ServiceAccount of its choice there",
		needs:   [][]pattern{{buildsCreate}},
		Help:    "The pod of a custom build runs an image of its choice, and is privileged.",
		yields:  Every, also: [][]pattern{{resources(groupBuilds, []string{"builds/custom"}, "create")}}, wide: true,
		By: "starts custom builds, whose pods are privileged",
	},
	{
		ID: "pods-exec", Text: "runs commands in pods", Cluster: findings.Error, Namespace: findings.Warning,
		Message: "runs commands in every pod of %s, as the ServiceAccount of that pod",
		needs:   [][]pattern{{podExec}},
		Help:    "Before Kubernetes 1.35 get is enough, by a WebSocket request.",
		yields:  Pods,
	},
	{
		ID: "pods-debug", Text: "adds debug containers to pods", Cluster: findings.Error, Namespace: findings.Warning,
		Message: "adds a container to every running pod of %s",
		needs:   [][]pattern{{podDebug}},
		Help:    "An ephemeral container has its own image and security context.",
		yields:  Pods,
	},
	{
		ID: "nodes-proxy", Text: "uses the kubelet's API", Cluster: findings.Error, Namespace: findings.None,
		Message: "runs commands in every pod of %s by the kubelet, past admission and audit",
		needs:   [][]pattern{{nodesProxy}},
		Help:    "get is enough: the kubelet takes a WebSocket request to exec as a get.",
		yields:  Pods,
	},
	{
		ID: "rbac-escalate", Text: "writes roles with rights that it does not have",
		Cluster: findings.Error, Namespace: findings.Warning,
		Message: "gives itself every right in %s, by escalate",
		needs: [][]pattern{{resources(groupRBAC, []string{"roles", "clusterroles"}, "escalate")},
			{resources(groupRBAC, []string{"roles", "clusterroles"}, "update", "patch")}},
		Help: "escalate lifts the check that a role has no more than its writer. It takes a role that is bound, " +
			"and the right to change it.",
		known:  true,
		yields: Every,
	},
	{
		ID: "rbac-bind", Text: "binds ClusterRoles that it does not have",
		Cluster: findings.Error, Namespace: findings.Warning,
		Message: "binds itself to every ClusterRole in %s, cluster-admin among them, by bind",
		needs:   [][]pattern{{resources(groupRBAC, []string{"clusterroles"}, "bind")}, {bindingsWrite}},
		named:   oneOf(rbac.ClusterAdmin),
		Help:    "bind lifts the check that a binding gives no more than its writer has.",
		yields:  Every,
	},
	{
		// It is computed for each role (Scopes.binds): no rule meets these needs.
		ID: ruleBinds, Text: "binds a ClusterRole to itself that allows more",
		Cluster: findings.Error, Namespace: findings.Warning, needs: [][]pattern{{}},
		Help: "It is as bad as what the role allows, as far as the role is known.",
	},
	{
		ID: "rbac-bind-roles", Text: "binds Roles that it does not have",
		Cluster: findings.Warning, Namespace: findings.Warning,
		Message: "binds itself to every Role of %s, by bind",
		unless:  []string{"rbac-bind"},
		needs:   [][]pattern{{resources(groupRBAC, []string{"roles"}, "bind")}, {bindingsWrite}},
		Help:    "The right to bind Roles is none to bind ClusterRoles (Kubernetes: escalation_check.go).",
	},
	{
		ID: "rbac-write", Text: "writes roles and bindings", Cluster: findings.Warning, Namespace: findings.Note,
		Message: "grants its own rights to others in %s, and changes those of others",
		unless:  []string{"rbac-escalate", "rbac-bind"},
		needs: [][]pattern{{resources(groupRBAC, []string{"rolebindings", "clusterrolebindings"}, writing...),
			resources(groupRBAC, []string{"roles", "clusterroles"}, writing...)}},
		Help: "Without escalate and bind nobody gets more than the writer has. " +
			"Whoever changes a role that others are bound to changes their rights.",
	},
	{
		ID: "impersonate", Text: "acts as other users", Cluster: findings.Error, Namespace: findings.None,
		Message: "acts as every user in %s",
		needs:   [][]pattern{{impersonateUsers}},
		named:   oneOf("system:admin", "kube-admin", "kubernetes-admin"),
		Help:    "Clusters have users who may do everything, such as system:admin of OpenShift.",
		yields:  Every,
	},
	{
		ID: "impersonate-groups", Text: "acts as a member of other groups",
		Cluster: findings.Error, Namespace: findings.None,
		Message: "acts as a member of every group in %s, system:masters among them",
		needs:   [][]pattern{{impersonateGroups}, {impersonateUsers, impersonateAccounts}},
		named:   func(need int, name string) bool { return need > 0 || name == "system:masters" },
		Help:    "A request for a group names a user or a ServiceAccount too (Kubernetes: impersonation.go).",
		yields:  Every,
	},
	{
		ID: "users-write", Text: "makes users and groups of OpenShift",
		Cluster: findings.Error, Namespace: findings.None,
		Message: "becomes every user or a member of every group of %s, by users, groups or tokens of OpenShift",
		needs:   [][]pattern{{usersWrite, oauthWrite, identityProviders}},
		named:   oneOf("cluster"), // the name of the OAuth of a cluster
		Help:    "OpenShift looks up the groups of a user in its own objects.",
		yields:  Every,
	},
	{
		ID: "impersonate-accounts", Text: "acts as other accounts",
		Cluster: findings.Error, Namespace: findings.Warning,
		Message: "acts as every ServiceAccount of %s",
		needs:   [][]pattern{{impersonateAccounts}},
		Help:    "All verbs on serviceaccounts include impersonate.",
		yields:  Accounts,
	},
	{
		ID: "token-create", Text: "makes tokens of accounts", Cluster: findings.Error, Namespace: findings.Warning,
		Message: "makes a token of every ServiceAccount of %s",
		needs:   [][]pattern{{tokenCreate}},
		yields:  Accounts,
	},
	{
		ID: "csr-approve", Text: "approves certificates of users", Cluster: findings.Error, Namespace: findings.None,
		Message: "issues certificates for every user of %s",
		needs:   [][]pattern{{csrApprove}, {with(csrSigner, "approve")}},
		named: oneOf("kubernetes.io/*", "kubernetes.io/kube-apiserver-client",
			"kubernetes.io/kube-apiserver-client-kubelet"),
		Help:   "A client certificate is a user and groups. It takes somebody who may request one.",
		yields: Every,
		also:   [][]pattern{{resources(groupCertificates, []string{"certificatesigningrequests"}, "create")}},
		By:     "requests certificates of users and approves them",
	},
	{
		ID: "webhooks-write", Text: "writes mutating webhooks", Cluster: findings.Error, Namespace: findings.None,
		Message: "reads every object that is written in %s, Secrets among them, and changes it, by a webhook of " +
			"its own",
		needs:  [][]pattern{{resources(groupAdmission, []string{"mutatingwebhookconfigurations"}, writing...)}},
		yields: Every,
	},
	{
		ID: "validating-webhooks-write", Text: "writes validating webhooks",
		Cluster: findings.Error, Namespace: findings.None,
		Message: "reads every object that is written in %s, Secrets among them, and refuses it, by a webhook of " +
			"its own",
		unless: []string{"webhooks-write"},
		needs:  [][]pattern{{resources(groupAdmission, []string{"validatingwebhookconfigurations"}, writing...)}},
	},
	{
		ID: "policies-write", Text: "writes validating admission policies", Cluster: findings.Warning,
		Namespace: findings.None,
		Message:   "refuses every object that is written in %s, by a policy of its own",
		needs:     [][]pattern{{pattern{[]string{groupAdmission}, policyWrite.resources[:2], writing}}},
		Help:      "It also switches off the policies of others.",
	},
	{
		ID: "crds-write", Text: "changes CRDs of others", Cluster: findings.Warning, Namespace: findings.None,
		Message: "changes and removes every kind of custom resource of %s, with all objects of it",
		needs: [][]pattern{{
			resources(groupExtensions, crdWrite.resources, "update", "patch", "delete", "deletecollection"),
		}},
		Help: "Removing a CRD removes its objects. A conversion webhook sees every object of the kind.",
	},
	{
		ID: "apiservices-write", Text: "serves APIs in place of others",
		Cluster: findings.Warning, Namespace: findings.None,
		Message: "answers requests of other API groups of %s in their place",
		needs:   [][]pattern{{pattern{[]string{groupRegistration}, apiServiceWrite.resources, writing}}},
		Help:    "The API server sends every request of a group to the service that an APIService names.",
	},
	{
		ID: "namespaces-write", Text: "changes namespaces", Cluster: findings.Warning, Namespace: findings.Note,
		Message: "relabels namespaces (%s): their Pod Security level, and which network policies and webhooks hold " +
			"there",
		needs: [][]pattern{{resources("", []string{"namespaces"}, "update", "patch")}},
		named: platform,
	},
	{
		ID: "volumes-create", Text: "makes PersistentVolumes", Cluster: findings.Warning, Namespace: findings.None,
		Message: "reaches the files of every node of %s, by a PersistentVolume with a hostPath",
		needs:   [][]pattern{{resources("", []string{"persistentvolumes"}, "create")}},
		Help:    "A pod has to claim the volume.",
		yields:  Every, also: [][]pattern{workloads},
		By: "makes PersistentVolumes of nodes, and pods that claim them",
	},
	{
		ID: "nodes-write", Text: "changes nodes", Cluster: findings.Warning, Namespace: findings.None,
		Message: "moves pods to nodes of its choice in %s, by labels, taints or removal of nodes",
		needs: [][]pattern{{resources("", []string{"nodes", "nodes/status"},
			"update", "patch", "delete", "deletecollection")}},
	},
	{
		ID: "operators-own", Text: "installs operators of its own catalogs",
		Cluster: findings.Error, Namespace: findings.Warning,
		Message: "installs operators of its own catalogs in %s, with every right that they ask for",
		needs:   [][]pattern{{olmSubscribe}, {catalogWrite}},
		Help:    "OLM grants cluster-wide what a ClusterServiceVersion of the catalog asks for.",
		yields:  Every, wide: true,
	},
	{
		ID: "extensions-own", Text: "installs extensions of its own catalogs",
		Cluster: findings.Error, Namespace: findings.None,
		Message: "installs extensions of its own catalogs in %s, with every right that they ask for",
		needs:   [][]pattern{{extWrite}, {v1CatalogWrite}},
		yields:  Every,
	},
	{
		ID: "installplans-status", Text: "decides what InstallPlans make",
		Cluster: findings.Error, Namespace: findings.Warning,
		Message: "has OLM make every object of its choice, by the status of InstallPlans in %s",
		needs:   [][]pattern{{planStatus}},
		Help:    "OLM makes what the steps in the status say. The status is a subresource.",
		yields:  Every, wide: true,
	},
	{
		ID: "csvs-write", Text: "writes ClusterServiceVersions", Cluster: findings.Error, Namespace: findings.Warning,
		Message: "has OLM run Deployments of its choice in %s, as every ServiceAccount there",
		needs:   [][]pattern{{csvWrite}},
		yields:  Accounts,
	},
	{
		ID: "operators-install", Text: "installs operators", Cluster: findings.Error, Namespace: findings.Warning,
		Message: "installs operators in %s, with the rights that they ask for",
		unless:  []string{"operators-own"},
		needs:   [][]pattern{{olmInstall, extWrite}},
		Help:    "OLM grants what a ClusterServiceVersion asks for. It takes a catalog that has one with more rights.",
	},
	{
		ID: "operators-steer", Text: "steers what OLM installs", Cluster: findings.Warning, Namespace: findings.Warning,
		Message: "decides in %s what OLM installs and where: by catalogs, groups, or Subscriptions and " +
			"InstallPlans of others",
		unless: []string{"operators-own", "operators-install"},
		needs:  [][]pattern{olmSteer},
		Help:   "A group for all namespaces makes ClusterRoles of the Roles of its operators.",
	},
	{
		ID: "scc-write", Text: "writes SecurityContextConstraints", Cluster: findings.Error, Namespace: findings.None,
		Message: "lets every pod of %s run as root on its node, by SecurityContextConstraints",
		needs:   [][]pattern{{sccWrite}},
		yields:  Every, also: [][]pattern{workloads},
		By: "writes SecurityContextConstraints, and starts pods with them",
	},
	{
		ID: "machines-write", Text: "configures machines of OpenShift",
		Cluster: findings.Error, Namespace: findings.None,
		Message: "writes files and runs commands as root on every node of %s, by MachineConfigs",
		needs:   [][]pattern{{machinesWrite}},
		yields:  Every,
	},
	{
		ID: "scc-privileged", Text: "runs privileged pods on OpenShift",
		Cluster: findings.Warning, Namespace: findings.Warning,
		Message: "runs pods in %s as root on their nodes, by the SecurityContextConstraints privileged",
		needs:   [][]pattern{{sccUse}},
		named:   oneOf("privileged"),
		yields:  Every, also: [][]pattern{workloads}, wide: true,
		By: "starts privileged pods",
	},
	{
		ID: "scc-use", Text: "runs pods on OpenShift that are not restricted",
		Cluster: findings.Warning, Namespace: findings.Warning,
		Message: "runs pods in %s that leave the restricted security context",
		unless:  []string{"scc-privileged"},
		needs:   [][]pattern{{sccUse}},
		named:   func(_ int, name string) bool { return !Restricted(name) },
	},
	{
		ID: "configmaps-write", Text: "writes ConfigMaps of kube-system", within: KubeSystem,
		Cluster: findings.Warning, Namespace: findings.None,
		Message: "writes every ConfigMap of %s, on Amazon EKS also aws-auth, which makes cluster administrators",
		needs:   [][]pattern{{resources("", []string{"configmaps"}, writing...)}},
	},
	{
		ID: "services-status", Text: "takes over addresses", Cluster: findings.Note, Namespace: findings.None,
		Message: "takes over external addresses of %s (CVE-2020-8554)",
		needs:   [][]pattern{{resources("", []string{"services/status"}, "update", "patch")}},
	},
}

// Follows is a consequence that holds at a place.
type Follows struct {
	*Consequence
	Place string // a namespace, or empty for the cluster
	// First is the rule that meets the first need: its index among those of Place or, if Wide, of the cluster.
	First int
	Wide  bool
}

// From returns where the first rule is held: a namespace, or "" for the cluster.
func (f Follows) From() string {
	if f.Wide {
		return ""
	}
	return f.Place
}

// Held are the rules that a subject has, by namespace; those of the cluster are under the empty one.
type Held map[string][]rbacv1.PolicyRule

// Follow returns what follows from what a subject has, in the order of Consequences, without what is weaker at a place.
func (s Scopes) Follow(held Held) []Follows {
	var out []Follows
	found := map[string]bool{} // ID and place
	places := slices.Sorted(maps.Keys(held))
	all := s.all(held, places...)
	asked, at := withGroups(all, held)
	for _, c := range all {
		before := len(out)
		for _, place := range places {
			if c.within != "" && place != "" && place != c.within {
				continue
			}
			worse := func(id string) bool { return found[id+place] || found[id] }
			if worse("everything") || slices.ContainsFunc(c.unless, worse) {
				continue
			}
			if f, own, ok := s.met(c, asked, place); own && ok {
				f.First = at[f.From()][f.First]
				out = append(out, f)
			}
		}
		for _, f := range out[before:] {
			found[c.ID+f.Place] = true
		}
	}
	return out
}

// withGroups returns the rules of those API groups that consequences ask for, and at which index of held each stands.
func withGroups(all []*Consequence, held Held) (asked Held, at map[string][]int) {
	groups := map[string]bool{rbac.All: true}
	for _, c := range all {
		for _, p := range slices.Concat(c.needs...) {
			for _, group := range p.groups {
				groups[group] = true
			}
		}
	}
	asked, at = Held{}, map[string][]int{}
	for place, rules := range held {
		for n, r := range rules {
			if slices.ContainsFunc(r.APIGroups, func(group string) bool { return groups[group] }) {
				asked[place], at[place] = append(asked[place], r), append(at[place], n)
			}
		}
	}
	return asked, at
}

// met reports whether all needs are met at a place; own says that one of them is by what is granted there.
func (s Scopes) met(c *Consequence, held Held, place string) (out Follows, own, ok bool) {
	out = Follows{Consequence: c, Place: place}
	for n := range c.needs {
		meets := func(r rbacv1.PolicyRule) bool { return c.meets(s, n, r, place) }
		at, wide := slices.IndexFunc(held[place], meets), false
		if at >= 0 {
			own = true
		} else if at, wide = slices.IndexFunc(held[""], meets), true; at < 0 {
			return out, own, false
		}
		if n == 0 {
			out.First, out.Wide = at, wide
		}
	}
	return out, own, true
}

// Yields returns whose rights a subject gets by what follows, and where: in namespaces, or in the cluster, which is "".
func (s Scopes) Yields(f Follows, held Held) (Yield, []string) {
	also := &Consequence{needs: f.also}
	candidates := []string{f.Place}
	if f.Place == "" && len(f.also) > 0 {
		candidates = slices.Sorted(maps.Keys(held))
	}
	places := slices.DeleteFunc(candidates, func(place string) bool {
		_, _, ok := s.met(also, held, place)
		return !ok
	})
	switch {
	case len(places) == 0:
		return Nothing, nil
	case f.wide, f.Place == "" && f.yields == Every, slices.Contains(places, ""):
		places = []string{""} // a node has pods of all namespaces
	}
	return f.yields, places
}

// meets reports whether a rule allows one of the patterns of a need at a place.
func (c *Consequence) meets(s Scopes, need int, r rbacv1.PolicyRule, place string) bool {
	if len(r.ResourceNames) == 0 {
		return !c.only && s.allowAny(c.needs[need], r, place)
	}
	return slices.ContainsFunc(r.ResourceNames, func(name string) bool {
		return c.named != nil && c.named(need, name) || c.known && s.Role != nil && len(s.Role(name)) > 0
	}) && s.allowAny(lists.Map(c.needs[need], pattern.ofNamed), r, place)
}

// ofNamed returns the pattern of what a rule with names allows: the name of a new object is not known when the right to
// create it is asked for.
func (p pattern) ofNamed() pattern {
	if !slices.ContainsFunc(p.resources, func(r string) bool { return strings.Contains(r, "/") }) {
		p.verbs = lists.Filter(p.verbs, func(verb string) bool { return verb != "create" })
	}
	return p
}

// KubeSystem is the namespace of Kubernetes' own controllers and pods: what is bad in the cluster is bad there.
const KubeSystem = "kube-system"

// Level returns how bad it is at a place: a namespace or, if that is empty, the cluster.
func (c *Consequence) Level(place string) findings.Severity {
	if place == "" || place == c.within || place == KubeSystem && c.Namespace != findings.None {
		return c.Cluster
	}
	return c.Namespace
}

// News returns what follows from a rule at a place beside all that its subject has, and did not follow from what is
// held before, the worst first.
func (s Scopes) News(rule rbacv1.PolicyRule, place string, held, before Held) []*Consequence {
	var out []*Consequence
	for _, c := range s.all(held, place) {
		if c.Level(place) == findings.None || !s.part(c, rule, place) {
			continue
		}
		_, _, had := s.met(c, before, place)
		if _, own, ok := s.met(c, held, place); own && ok && !had {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b *Consequence) int { return a.Level(place).Rank() - b.Level(place).Rank() })
	return out
}

// Part reports whether a rule is a part of what a consequence takes at a place to get the rights of others.
func (s Scopes) Part(id string, rule rbacv1.PolicyRule, place string) bool {
	return slices.ContainsFunc(Consequences(), func(c Consequence) bool {
		return c.ID == id && (s.part(&c, rule, place) || s.part(&Consequence{needs: c.also}, rule, place))
	})
}

func (s Scopes) part(c *Consequence, rule rbacv1.PolicyRule, place string) (part bool) {
	for n := range c.needs {
		part = part || c.meets(s, n, rule, place)
	}
	return part
}
