// Package workload compares what an operator runs and serves: workloads, webhooks, Services, NetworkPolicies, and every
// other object that no other section of a difference is about.
package workload

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/compare/change"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/manifest/lazy"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// key identifies an object in a cluster.
type key struct{ group, kind, namespace, name string }

func keyOf(o *manifest.Object) key { return key{o.Group(), o.Kind, o.Namespace, o.Name} }

// elsewhere reports whether another section is about an object: permissions, CRDs, identity, and what OLM makes for
// itself.
func elsewhere(o *manifest.Object) bool {
	switch o.Group() {
	case "rbac.authorization.k8s.io", "apiextensions.k8s.io":
		return true
	case olm.Group:
		return slices.Contains([]string{"ClusterServiceVersion", "OperatorCondition"}, o.Kind)
	}
	return false
}

// Pair is an object of both releases, of which one may be nil.
type Pair struct{ Old, New *manifest.Object }

// Any returns the newer object, else the older one.
func (p Pair) Any() *manifest.Object {
	if p.New != nil {
		return p.New
	}
	return p.Old
}

var version = lazy.Regexp(`[.-]?v?[0-9]+(?:[.-][0-9]+)+(?:[.+-][0-9a-z]+)*`)

// Versionless returns a name without the versions in it, which change with every release.
func Versionless(name string) string { return version().ReplaceAllString(name, "") }

// Pairs matches objects: by their names, then by their names without versions where that is clear. Of two objects with
// the same name the last one counts, as it does when both are applied.
func Pairs(old, now []*manifest.Object) []Pair {
	before, after := byKey(old), byKey(now)
	var out []Pair
	left := map[key][2][]*manifest.Object{}
	for k, o := range after {
		if b := before[k]; b != nil {
			out = append(out, Pair{b, o})
			continue
		}
		k.name = Versionless(k.name)
		sides := left[k]
		sides[1] = append(sides[1], o)
		left[k] = sides
	}
	for k, o := range before {
		if after[k] == nil {
			k.name = Versionless(k.name)
			sides := left[k]
			sides[0] = append(sides[0], o)
			left[k] = sides
		}
	}
	for _, sides := range left {
		if len(sides[0]) == 1 && len(sides[1]) == 1 {
			out = append(out, Pair{sides[0][0], sides[1][0]})
			continue
		}
		for _, o := range sides[0] {
			out = append(out, Pair{o, nil})
		}
		for _, o := range sides[1] {
			out = append(out, Pair{nil, o})
		}
	}
	slices.SortFunc(out, func(a, b Pair) int {
		x, y := keyOf(a.Any()), keyOf(b.Any())
		return cmp.Or(cmp.Compare(x.kind, y.kind), cmp.Compare(x.group, y.group),
			cmp.Compare(x.namespace, y.namespace), cmp.Compare(x.name, y.name))
	})
	return out
}

func byKey(list []*manifest.Object) map[key]*manifest.Object {
	out := map[key]*manifest.Object{}
	for _, o := range list {
		if !elsewhere(o) {
			out[keyOf(o)] = o
		}
	}
	return out
}

// Compare returns how the objects of two releases differ, apart from permissions, CRDs and the identity of operators.
// place returns where an object stands.
func Compare(old, now []*manifest.Object, place func(*manifest.Object) (string, int)) ([]change.Change, error) {
	var out []change.Change
	for _, p := range Pairs(old, now) {
		if same(p) {
			continue
		}
		changes, err := compare(p)
		if err != nil {
			return nil, err
		}
		file, line := place(p.Any())
		for i := range changes {
			changes[i].Object, changes[i].File, changes[i].Line = p.Any().Identity(), file, line
		}
		out = append(out, changes...)
	}
	change.Sort(out)
	return out, nil
}

// same reports whether two objects have the same text, which saves decoding them.
func same(p Pair) bool {
	return p.Old != nil && p.New != nil && len(p.New.Raw()) > 0 && string(p.Old.Raw()) == string(p.New.Raw())
}

// compare compares one object.
func compare(p Pair) ([]change.Change, error) {
	var sides [2]map[string]any
	for i, o := range []*manifest.Object{p.Old, p.New} {
		if o == nil {
			continue
		}
		v, err := o.Value()
		if err != nil {
			return nil, err
		}
		sides[i] = v
	}
	o := p.Any()
	var list []change.Change
	switch {
	case images.HasPods(o.Group(), o.Kind):
		var err error
		if list, err = comparePods(o, sides); err != nil {
			return nil, err
		}
	case o.Group() == groupAdmission && strings.HasSuffix(o.Kind, "WebhookConfiguration"):
		list = compareWebhooks(sides)
	default:
		list = compareFields(o, sides)
	}
	if p.Old == nil || p.New == nil {
		list = whole(p, sides, list)
	} else if p.Old.Name != p.New.Name {
		list = append(list, change.Change{Part: partOf(o), Field: "metadata.name", Change: change.Changed,
			Old: p.Old.Name, New: p.New.Name, Severity: findings.Info})
	}
	return list, nil
}

// differences lists the fields that differ, in the order of their names. Below an item of a list that is new or gone,
// only what is bad is listed besides the item itself.
func differences(old, now values, rules []rule, otherwise change.Part) []change.Change {
	keys := map[string]bool{}
	for _, side := range []values{old, now} {
		for k := range side {
			keys[k] = true
		}
	}
	var out, bad []change.Change
	parent := "\x00" // the item that is new or gone
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		before, had := old[k]
		after, has := now[k]
		if had && has && before == after {
			continue
		}
		c := change.Change{Field: k, Change: change.Changed, Old: before, New: after}
		switch {
		case !had:
			c.Change = change.Added
		case !has:
			c.Change = change.Removed
		}
		judge(&c, rules, otherwise)
		if strings.HasPrefix(k, parent+".") {
			item := &out[len(out)-1]
			switch {
			case c.Severity != findings.Info:
				bad = append(bad, c)
			case last(k) == "image" || last(k) == "value":
				item.Old, item.New = before, after
			}
			continue
		}
		if had != has && before+after == "" && strings.HasSuffix(k, "]") {
			parent = k
		}
		out = append(out, c)
	}
	return append(out, bad...)
}

// sensitive are fields whose values are not shown.
func sensitive(o *manifest.Object, field string) bool {
	return o.Group() == "" && o.Kind == "Secret" && !strings.HasPrefix(field, "metadata") || last(field) == "caBundle"
}

// whole reports that an object is new or gone in one line, before what is bad about it.
func whole(p Pair, sides [2]map[string]any, list []change.Change) []change.Change {
	o := p.Any()
	c := change.Change{Part: partOf(o), Change: change.Added, Severity: findings.Info}
	side := sides[1]
	if p.New == nil {
		c.Change, side = change.Removed, sides[0]
	}
	images.InObject(o.Group(), o.Kind, side, func(place images.Place, ref string) string {
		if place.Kind == images.KindContainer {
			c.Message = strings.TrimPrefix(c.Message+", "+ref, ", ")
		}
		return ref
	})
	switch {
	case p.New == nil && c.Part == change.NetworkPolicy:
		c.Severity, c.Message = findings.Warning, "it restricts no pods any more"
	case p.New == nil && c.Part == change.Webhook:
		c.Severity, c.Message = findings.Warning, "nothing checks or changes these objects any more"
	}
	out := []change.Change{c}
	for _, x := range list {
		about := x.Part != change.Account && x.Part != change.Workload // about which nothing changes
		if x.Severity != findings.Info && about && p.New != nil {
			out = append(out, x)
		}
	}
	return out
}

func partOf(o *manifest.Object) change.Part {
	switch {
	case images.HasPods(o.Group(), o.Kind):
		return change.Workload
	case o.Group() == groupAdmission && strings.HasSuffix(o.Kind, "WebhookConfiguration"):
		return change.Webhook
	case o.Group() == "" && o.Kind == "Service":
		return change.Service
	case o.Kind == "NetworkPolicy":
		return change.NetworkPolicy
	}
	return change.Object
}

// serviceRules are about Services.
var serviceRules = []rule{
	{field(`^spec\.type$`), change.Service, exposed},
	{field(`^spec\.externalIPs\[`), change.Service, given(findings.Warning, "nodes take packets for this address")},
	{field(`^spec\.`), change.Service, nil},
}

func exposed(c *change.Change) {
	if c.New == "LoadBalancer" || c.New == "NodePort" {
		c.Severity, c.Message = findings.Warning, "it can be reached from outside of the cluster"
	}
}

// namespaceRules are about the labels by which the cluster treats the pods of a namespace.
var namespaceRules = []rule{{field(`^metadata\.labels\["pod-security\.kubernetes\.io/enforce"\]$`), change.Security,
	func(c *change.Change) {
		if c.New == "privileged" || c.New == "baseline" && c.Old == "restricted" {
			c.Severity, c.Message = findings.Warning, "Pod Security allows more in this namespace"
		}
	}}}

// compareFields compares an object field by field.
func compareFields(o *manifest.Object, sides [2]map[string]any) []change.Change {
	old, now := fieldsOf(sides[0]), fieldsOf(sides[1])
	rules := []rule{}
	switch {
	case partOf(o) == change.Service:
		rules = serviceRules
	case o.Group() == "" && o.Kind == "Namespace":
		rules = namespaceRules
	}
	list := differences(old, now, rules, partOf(o))
	for i := range list {
		if sensitive(o, list[i].Field) {
			list[i].Old, list[i].New = "", ""
		}
	}
	return list
}

// fieldsOf returns the fields of an object that are not its identity.
func fieldsOf(value map[string]any) values {
	v := values{}
	v.flatten("", value)
	v.without("apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.creationTimestamp", "status")
	for key := range v {
		if bookkeeping().MatchString(key) {
			delete(v, key)
		}
	}
	return v
}

// bookkeeping are fields that OLM writes for itself with every release, or copies from the CSV, where another section
// is about them (OLM: pkg/lib/ownerutil, pkg/controller/operators/olm/operatorgroup.go, pkg/controller/install).
var bookkeeping = field(`\.labels\["olm\.(owner|managed|deployment-spec-hash|webhook-description)` +
	`|\.labels\["operators\.coreos\.com/|\.env\[OPERATOR_CONDITION_NAME\]` +
	`|\.annotations\["?(olm\.|operatorframework\.io/|operators\.operatorframework\.io/|createdAt|alm-examples|` +
	`containerImage|description)|\.annotations\.(createdAt|alm-examples|containerImage|description|capabilities|` +
	`categories|certified|repository|support)$`)
