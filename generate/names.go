package generate

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/views"
)

// names makes the names and labels of generated objects, stable ones or OLM's.
type names struct {
	mode      Names
	csv       *v1alpha1.ClusterServiceVersion
	namespace string
	base      string // the CSV's name without its version
	group     string // the OperatorGroup
	taken     bool   // the stable names of its ClusterRoles
	profile   Profile
	partOf    string // the package

	// stable names that are given already, to what the bundle ships or to other generated objects: of Roles and of
	// ClusterRoles, their bindings included
	roles, clusterRoles map[string]bool
}

// newNames reserves the stable names that no permission may have.
func newNames(b *bundle.Bundle, csv *v1alpha1.ClusterServiceVersion, o Options, serving []*serving) names {
	n := names{mode: o.Names, csv: csv, namespace: o.Namespace, group: o.OperatorGroup, profile: o.Profile,
		partOf: b.Package, base: olm.BaseName(csv.Name, csv.Spec.Version.String()), roles: map[string]bool{},
		clusterRoles: map[string]bool{}}
	if n.olm() {
		return n
	}
	n.taken = o.Shown && (IsDefaultRole(n.group) || shippedGroupRole(b, n.group) != "")
	for _, x := range b.Others {
		switch {
		case install.GroupOf(x) != rbacv1.GroupName:
		case strings.HasPrefix(x.Kind, "Cluster"):
			n.clusterRoles[x.Name] = true
		default:
			n.roles[x.Name] = true
		}
	}
	n.roles[n.condition()] = true
	for _, s := range serving {
		n.roles[s.secret()] = true
		n.clusterRoles[n.delegator(s)] = true
	}
	return n
}

func (n names) olm() bool { return n.mode == NamesOLM }

const labelAggregateRBAC = "rbac.authorization.k8s.io/aggregate-to-"

// withoutOLM reports whether the generated objects belong to no object of OLM and have stable names. Then they have no
// labels and annotations that tell the CSV or its version: an upgrade changes only what the bundle changes.
func (n names) withoutOLM() bool {
	return !n.olm() && (n.profile == ProfilePlain || n.profile == ProfileDescoped)
}

// ownerless reports whether objects have OLM's names and no owner of OLM.
func (n names) ownerless() bool { return n.olm() && n.profile == ProfilePlain }

// owned returns the labels of an object that belongs to the CSV or, without a CSV, to the package. With OLM's names
// there is no CSV in profile plain: OLM deletes by the labels of an owner that is not there (OLM:
// pkg/controller/operators/olm/operator.go, processFinalizer and syncAPIService).
func (n names) owned() views.Ownership {
	if n.withoutOLM() {
		return n.recommended(n.partOf)
	}
	if n.ownerless() {
		return views.Ownership{Managed: true}
	}
	return views.Ownership{Managed: n.olm(), Owner: &views.Owner{Name: n.csv.Name, Namespace: n.namespace}}
}

// managed are the labels of what OLM marks as its own but not as the CSV's; stable names mark it as the CSV's.
func (n names) managed() views.Ownership {
	if n.olm() {
		return views.Ownership{Managed: true}
	}
	return n.owned()
}

// recommended are Kubernetes' recommended labels
// (kubernetes.io/docs/concepts/overview/working-with-objects/common-labels) of what is part of an application. A name
// that cannot be a label value is left out.
func (n names) recommended(application string) views.Ownership {
	if len(validation.IsValidLabelValue(application)) > 0 {
		return views.Ownership{}
	}
	return views.Ownership{Olmgen: true, PartOf: application}
}

// groupRole names an OperatorGroup's ClusterRole: <group>-admin, as in the OperatorGroup design document, or OLM's
// hashed name.
func (n names) groupRole(suffix string) string {
	if n.olm() || n.taken {
		return GroupRoleName(n.namespace, n.group, suffix)
	}
	return n.group + "-" + suffix
}

// aggregate is the label by which an OperatorGroup's ClusterRole finds those of an API: one of the group, or OLM's one
// of the API.
func (n names) aggregate(gvk, suffix string) *views.Aggregate {
	if n.olm() {
		return &views.Aggregate{To: fnvHex(gvk) + "-" + suffix, Value: "true"}
	}
	return &views.Aggregate{To: suffix, Value: n.group}
}

// apiRole names the ClusterRole of a provided API. OLM leaves an APIService's group out of it.
func (n names) apiRole(a olm.API, suffix string) string {
	if suffix == suffixCRDView && !n.olm() {
		suffix = "view-crd"
	}
	name := a.CRD
	if name == "" {
		name = a.Plural
		if !n.olm() {
			name += "." + a.Group
		}
	}
	return name + "-" + a.Version + "-" + suffix
}

// grant is one entry of the CSV's permissions or clusterPermissions with its object's name.
type grant struct {
	v1alpha1.StrategyDeploymentPermissions
	name string
}

// grants names the entries of a list. Stable names are <operator>-<account>, or the account's name where that begins
// with the operator's; those of cluster-wide objects have the namespace in front, so that installations in two
// namespaces do not share them; further entries of an account are numbered.
func (n names) grants(list []v1alpha1.StrategyDeploymentPermissions, cluster bool) []grant {
	var out []grant
	used, last := n.roles, map[string]int{} // the last number given to a name
	if cluster {
		used = n.clusterRoles
	}
	for _, p := range list {
		if n.olm() {
			out = append(out, grant{p, roleName(n.csv.Name, n.namespace, p, cluster)})
			continue
		}
		first := n.account(p.ServiceAccountName)
		if cluster {
			first = n.clusterName(first)
		}
		name := unused(used, last, first)
		out = append(out, grant{p, name})
		if !cluster {
			n.clusterRoles[n.promoted(grant{p, name})] = true
		}
	}
	return out
}

// account names what belongs to a ServiceAccount of the operator.
func (n names) account(sa string) string {
	rest, ok := strings.CutPrefix(sa, n.base+"-")
	spec := n.csv.Spec.InstallStrategy.StrategySpec
	other := func(p v1alpha1.StrategyDeploymentPermissions) bool { return p.ServiceAccountName == rest }
	if sa == n.base || ok && !slices.ContainsFunc(spec.Permissions, other) &&
		!slices.ContainsFunc(spec.ClusterPermissions, other) {
		return sa
	}
	return n.base + "-" + sa
}

func (n names) clusterName(name string) string { return shortName(n.namespace + "." + name) }

// unusedName returns a stable name for a cluster-wide object that no other object has, and reserves it.
func (n names) unusedName(first string) string {
	return unused(n.clusterRoles, map[string]int{}, n.clusterName(first))
}

// unused returns the first of the numbered forms of a name that is not used, and reserves it.
func unused(used map[string]bool, last map[string]int, first string) string {
	name := shortName(first)
	for i := max(2, last[first]); used[name]; i++ {
		name = shortName(fmt.Sprintf("%s-%d", first, i))
		last[first] = i
	}
	used[name] = true
	return name
}

// shortName cuts a name to the length that paths and the API server allow; a hash keeps it unique.
func shortName(name string) string {
	const limit = 253
	if len(name) <= limit {
		return name
	}
	hash := base62([]byte(name))[:10]
	return strings.TrimRight(name[:limit-len(hash)-1], ".-") + "-" + strings.ToLower(hash)
}

// promoted names the cluster-wide form of a namespaced grant. OLM uses the Role's name.
func (n names) promoted(g grant) string {
	if n.olm() {
		return g.name
	}
	return n.clusterName(g.name + "-promoted")
}

// delegator names the binding of a Deployment that serves to Kubernetes' role system:auth-delegator.
func (n names) delegator(s *serving) string {
	if n.olm() {
		return s.service + "-system:auth-delegator"
	}
	return n.clusterName(s.service + "-auth-delegator")
}

func (n names) roleLabels(g grant) views.Ownership {
	labels := n.owned()
	if n.olm() {
		labels.Hash = contentHash(g.Rules)
	}
	return labels
}

func (n names) bindingLabels(g grant, kind string) views.Ownership {
	labels := n.owned()
	if n.olm() {
		labels.Hash = contentHash(struct {
			RoleRef  rbacv1.RoleRef
			Subjects []rbacv1.Subject
		}{rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: g.name},
			[]rbacv1.Subject{{Kind: "ServiceAccount", Name: g.ServiceAccountName, Namespace: n.namespace}}})
	}
	return labels
}

func (n names) condition() string {
	if n.olm() {
		return n.csv.Name
	}
	return n.base + "-operatorcondition"
}

// labelVersions labels objects whose names have a version in them without it, so that an upgrade does not rename
// their files. An object keeps its name where it would meet another.
func (r *rendering) labelVersions() {
	if r.names.olm() {
		return
	}
	version := r.csv.Spec.Version.String()
	place := func(o Object, name string) string {
		return Object{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: name}.key()
	}
	labels, count := make([]string, len(r.objects)), map[string]int{}
	for i, o := range r.objects {
		labels[i] = o.Name
		if o.Kind != "CustomResourceDefinition" && o.Label == "" {
			labels[i] = withoutVersion(o.Name, version)
		}
		count[place(o, labels[i])]++
	}
	for i, o := range r.objects {
		if labels[i] != o.Name && count[place(o, labels[i])] == 1 {
			r.objects[i].Label = labels[i]
		}
	}
}

var versionInName = lazy.Regexp(`[.-]v?[0-9]+\.[0-9]+\.[0-9]+`)

// withoutVersion takes a version out of a name, if it stands there as a part of its own: the given one, or any with
// three numbers. operator-v1.2.0-metrics is operator-metrics.
func withoutVersion(name, version string) string {
	patterns := []*regexp.Regexp{versionInName()}
	if version != "" && strings.Contains(name, version) {
		patterns = []*regexp.Regexp{regexp.MustCompile("[.-]v?" + regexp.QuoteMeta(version)), versionInName()}
	}
	for _, pattern := range patterns {
		for _, at := range pattern.FindAllStringIndex(name, -1) {
			rest := name[at[1]:]
			if at[0] > 0 &&
				(rest == "" || rest[0] == '-' || rest[0] == '.' && len(rest) > 1 && (rest[1] < '0' || rest[1] > '9')) {
				return name[:at[0]] + rest
			}
		}
	}
	return name
}

// The hashes of spec section 0.3.

// base62 writes SHA-224 of b as one big number, digits 0-9a-zA-Z.
func base62(b []byte) string { return olm.Digits(b, 62) }

// deepHash is H2: of the JSON with a final newline (OLM: pkg/lib/kubernetes/pkg/util/hash/hash.go).
func deepHash(v any) string { return olm.Hash(v, 62) }

// contentHash is H3: of the JSON without a final newline (OLM: pkg/controller/registry/resolver/rbac.go).
func contentHash(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return base62(b)
}

// fnvHex is H4 and H5: FNV-1a, 64 bits, hexadecimal without padding.
func fnvHex(s string) string {
	h := fnv.New64a()
	h.Write([]byte(s))
	return fmt.Sprintf("%x", h.Sum64())
}

// roleName returns the name of the Role, or of the ClusterRole, that OLM makes of an entry of a CSV's permissions.
func roleName(csv, namespace string, p v1alpha1.StrategyDeploymentPermissions, cluster bool) string {
	if cluster {
		return permissionName(csv, csv, namespace, p)
	}
	return permissionName(csv+"-"+p.ServiceAccountName, csv, "", p)
}

// permissionName returns N1 (namespaced, no namespace in the hash) or N2 (cluster-wide, with it) of spec 4.1.
func permissionName(base, csv, namespace string, p v1alpha1.StrategyDeploymentPermissions) string {
	hash := deepHash(struct {
		Name       string                                 `json:"name"`
		Namespace  string                                 `json:"namespace,omitempty"`
		Permission v1alpha1.StrategyDeploymentPermissions `json:"permission"`
	}{csv, namespace, p})
	// OLM forgets the dash when it compares, so 63 characters of base and hash become a name of 64
	if len(base)+len(hash) > 63 {
		base = base[:62-len(hash)]
	}
	return base + "-" + hash
}

// GroupRoleName returns the name that OLM gives a ClusterRole of an OperatorGroup; suffix is admin, edit or view (spec
// section 2; OLM: pkg/controller/operators/olm/operatorgroup.go, getClusterRoleName).
func GroupRoleName(namespace, group, suffix string) string {
	hash := base62([]byte(namespace + "/" + group + "/" + suffix))
	const literal = len("olm.og..-")
	if room := 253 - literal - len(suffix) - len(hash); len(group) >= room {
		group = group[:room]
	}
	return strings.Join([]string{"olm.og.", group, ".", suffix, "-", hash}, "")
}
