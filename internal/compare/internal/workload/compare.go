// Package workload compares what an operator runs and serves: workloads, webhooks, Services, NetworkPolicies, and every
// other object that no other section of a difference is about.
package workload

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/compare/change"
	"github.com/olmgen/olmgen/internal/compare/internal/fields"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// key identifies an object in a cluster.
type key struct{ group, kind, namespace, name string }

func keyOf(o *manifest.Object) key { return key{o.Group(), o.Kind, o.Namespace, o.Name} }

// kindsOfOtherSections are those that other sections are about, with what OLM makes.
var kindsOfOtherSections = map[string][]string{
	"rbac.authorization.k8s.io": {"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"},
	"apiextensions.k8s.io":      {"CustomResourceDefinition"},
	olm.Group:                   {"ClusterServiceVersion", "OperatorCondition"},
}

// Pair is an object of both releases, of which one may be nil.
type Pair struct{ Old, New *manifest.Object }

// Any returns the newer object, else the older one.
func (p Pair) Any() *manifest.Object { return cmp.Or(p.New, p.Old) }

var version = lazy.Regexp(`[.-]?v?[0-9]+(?:[.-][0-9]+)+(?:[.+-][0-9a-z]+)*`)

// Versionless returns a name without the versions in it, which change with every release.
func Versionless(name string) string { return version().ReplaceAllString(name, "") }

// Pairs matches objects: by their names, then by their names without versions where that is clear, then the only
// Deployment of a namespace that is gone with the only one that is new, if they have a container of one name. Of two
// objects with the same name the last one counts, as it does when both are applied.
func Pairs(old, now []*manifest.Object) []Pair {
	return Lone(PairsOf(old, now, func(o *manifest.Object) bool {
		return !slices.Contains(kindsOfOtherSections[o.Group()], o.Kind)
	}), "Deployment", sharesContainer)
}

// Lone makes a pair of the only object of a kind and namespace that is gone and the only new one, if they are alike.
func Lone(pairs []Pair, kind string, alike func(old, now *manifest.Object) bool) []Pair {
	gone, fresh := map[string][]*Pair{}, map[string][]*Pair{} // by namespace
	for i, p := range pairs {
		switch o := p.Any(); {
		case o.Kind != kind:
		case p.New == nil:
			gone[o.Namespace] = append(gone[o.Namespace], &pairs[i])
		case p.Old == nil:
			fresh[o.Namespace] = append(fresh[o.Namespace], &pairs[i])
		}
	}
	for namespace, was := range gone {
		if is := fresh[namespace]; len(was) == 1 && len(is) == 1 && alike(was[0].Old, is[0].New) {
			is[0].Old, was[0].Old = was[0].Old, nil
		}
	}
	return nonEmpty(pairs)
}

// Joined returns pairs in which objects of two names are one, by the identities of the older and the newer one.
func Joined(pairs []Pair, renames map[string]string) []Pair {
	index := map[string]int{}
	for i, p := range pairs {
		if p.Old == nil {
			index[p.New.Identity()] = i
		}
	}
	for i, p := range pairs {
		if p.New != nil {
			continue
		}
		if at, ok := index[renames[p.Old.Identity()]]; ok {
			pairs[at].Old, pairs[i].Old = p.Old, nil
		}
	}
	return nonEmpty(pairs)
}

func nonEmpty(pairs []Pair) []Pair {
	return slices.DeleteFunc(pairs, func(p Pair) bool { return p.Any() == nil })
}

// sharesContainer reports whether two Deployments have a container of one name.
func sharesContainer(a, b *manifest.Object) bool {
	names := func(o *manifest.Object) []any {
		list := olm.Items(olm.Get(o, "spec", "template", "spec", "containers"))
		return lists.Map(list, func(c any) any { return olm.Mapping(c)["name"] })
	}
	was := names(a)
	return slices.ContainsFunc(names(b), func(n any) bool { return n != nil && slices.Contains(was, n) })
}

// PairsOf matches those objects that a function chooses.
func PairsOf(old, now []*manifest.Object, wanted func(*manifest.Object) bool) []Pair {
	before, after := lists.By(lists.Filter(old, wanted), keyOf), lists.By(lists.Filter(now, wanted), keyOf)
	var out []Pair
	left := map[key][2][]*manifest.Object{}
	add := func(k key, side int, o *manifest.Object) {
		k.name = Versionless(k.name)
		sides := left[k]
		sides[side] = append(sides[side], o)
		left[k] = sides
	}
	for k, o := range after {
		if b := before[k]; b != nil {
			out = append(out, Pair{b, o})
		} else {
			add(k, 1, o)
		}
	}
	for k, o := range before {
		if after[k] == nil {
			add(k, 0, o)
		}
	}
	for _, sides := range left {
		if len(sides[0]) == 1 && len(sides[1]) == 1 {
			out = append(out, Pair{sides[0][0], sides[1][0]})
			continue
		}
		out = append(out, lists.Map(sides[0], func(o *manifest.Object) Pair { return Pair{Old: o} })...)
		out = append(out, lists.Map(sides[1], func(o *manifest.Object) Pair { return Pair{New: o} })...)
	}
	slices.SortFunc(out, func(a, b Pair) int {
		x, y := keyOf(a.Any()), keyOf(b.Any())
		return cmp.Or(cmp.Compare(x.kind, y.kind), cmp.Compare(x.group, y.group),
			cmp.Compare(x.namespace, y.namespace), cmp.Compare(x.name, y.name))
	})
	return out
}

// Compare returns how pairs differ. now are all objects of the newer release; place returns where a field stands.
func Compare(pairs []Pair, now []*manifest.Object, place func(o *manifest.Object, field string) (string, int)) (
	[]change.Change, error) {
	called, err := calledServices(now)
	if err != nil {
		return nil, err
	}
	before := lists.Filter(lists.Map(pairs, func(p Pair) *manifest.Object { return p.Old }),
		func(o *manifest.Object) bool { return o != nil })
	used, err := images.ListObjects(before)
	if err != nil {
		return nil, err
	}
	registries := lists.Set(used, func(i images.Image) string { return registry(i.Image) })
	kinds := slices.Collect(maps.Values(olm.DefinedKinds(now)))
	lost := sync.OnceValue(func() map[key]string { return unwatched(pairs) })
	var out []change.Change
	for _, p := range pairs {
		if p.Old != nil && p.New != nil && len(p.New.Raw()) > 0 && string(p.Old.Raw()) == string(p.New.Raw()) {
			continue // which saves decoding them
		}
		changes, err := compare(p, kinds)
		if err != nil {
			return nil, err
		}
		o := p.Any()
		if kind := o.Kind; (kind == "OperatorGroup" || kind == "Namespace") && len(changes) > 0 {
			if had, is := lost()[keyOf(o)]; is {
				judgeTargets(changes, had)
			}
		}
		for i := range changes {
			c := &changes[i]
			c.Object = o.Identity()
			c.File, c.Line = place(o, c.At)
			fromElsewhere(c, registries)
			if c.Part == change.Service && strings.HasPrefix(c.Field, "spec.selector") &&
				called[o.Namespace+"/"+o.Name] {
				c.Severity = findings.Warning
				c.Message = "the API server calls this Service, and reaches other pods now"
			}
		}
		out = append(out, changes...)
	}
	change.Sort(out)
	return out, nil
}

// ComparePair returns the fields in which two objects differ, besides some.
func ComparePair(p Pair, without ...string) ([]change.Change, error) {
	sides, err := p.sides()
	if err != nil {
		return nil, err
	}
	old, now := fields.WithoutNoise(p.Old, sides[0]), fields.WithoutNoise(p.New, sides[1])
	old.Without(without...)
	now.Without(without...)
	return Differences(old, now, nil, change.Object), nil
}

// sides returns both objects decoded; nil for one that is not there.
func (p Pair) sides() (sides [2]map[string]any, err error) {
	for i, o := range []*manifest.Object{p.Old, p.New} {
		if o != nil && err == nil {
			sides[i], err = o.Value()
		}
	}
	return sides, err
}

// compare returns how the objects of a pair differ, by the rules of their kind. One that is new or gone is one line,
// with what is bad about it.
func compare(p Pair, kinds []olm.Kind) ([]change.Change, error) {
	sides, err := p.sides()
	if err != nil || p.Old != nil && p.New != nil && reflect.DeepEqual(sides[0], sides[1]) {
		return nil, err
	}
	o := p.Any()
	old, now := fields.WithoutNoise(o, sides[0]), fields.WithoutNoise(o, sides[1])
	var list []change.Change
	switch part := partOf(o); part {
	case change.Workload:
		if list, err = comparePods(o, sides, old, now); err != nil {
			return nil, err
		}
	case change.Webhook:
		list = withoutSecrets(o, compareWebhooks(sides, old, now, kinds))
	default:
		rules, ok := rulesOf[o.Kind]
		if !ok {
			rules = rulesOf[o.Group()+"/"+o.Kind]
		}
		list = withoutSecrets(o, Differences(old, now, rules, part))
		if part == change.NetworkPolicy {
			judgeNetworkPolicy(list, sides)
		}
	}
	if p.Old == nil || p.New == nil {
		return whole(p, sides, list), nil
	}
	for _, f := range [][3]string{{"metadata.name", p.Old.Name, p.New.Name},
		{"metadata.namespace", p.Old.Namespace, p.New.Namespace}} {
		if f[1] != f[2] {
			list = append(list, change.Change{Part: partOf(o), Field: f[0], Change: change.Changed, Old: f[1],
				New: f[2], Severity: findings.Info})
		}
	}
	return list, nil
}

// Differences lists the fields that differ, in the order of their names. Below an item of a list that is new or gone,
// only what is bad is listed besides the item itself.
func Differences(old, now fields.Values, rules []Rule, otherwise change.Part) []change.Change {
	var out, bad []change.Change
	parent := "\x00" // the item that is new or gone
	for _, d := range fields.Differences(old, now) {
		c := changeOf(d)
		judge(&c, rules, otherwise)
		if strings.HasPrefix(d.Path, parent+".") {
			item := &out[len(out)-1]
			switch {
			case c.Severity != findings.Info:
				bad = append(bad, c)
			case strings.Contains(parent, ".volumes[") && slices.Contains(volumeFields, fields.Last(d.Path)):
				item.Old = strings.TrimSpace(item.Old + " " + d.Old.Text)
				item.New = strings.TrimSpace(item.New + " " + d.New.Text)
			case named(d.Path):
				item.Old, item.New = d.Old.Text, d.New.Text
			}
			continue
		}
		if d.Had != d.Has && d.Old.Text+d.New.Text == "" && strings.HasSuffix(d.Path, "]") {
			parent = d.Path
		}
		out = append(out, c)
	}
	return append(out, bad...)
}

// volumeFields say where the files of a volume are from.
var volumeFields = []string{"claimName", "driver", "secretProviderClass", "server", "repository", "reference",
	"targetPortal", "pdName", "volumeID", "diskURI", "shareName"}

// named reports whether a field says what an item of a list is about: an image, a value, a Secret or a ConfigMap.
func named(path string) bool {
	last := fields.Last(path)
	return last == "image" || last == "value" ||
		last == "name" && slices.ContainsFunc([]string{"secretKeyRef", "configMapKeyRef", "secretRef", "configMapRef",
			"configMap"}, func(from string) bool { return strings.HasSuffix(path, from+".name") })
}

// changeOf returns a difference as a change that is not judged. Values that differ in their type alone show it.
func changeOf(d fields.Difference) change.Change {
	c := change.Change{Field: d.Path, Change: change.Changed, Old: d.Old.Text, New: d.New.Text, At: d.At()}
	switch {
	case !d.Had:
		c.Change = change.Added
	case !d.Has:
		c.Change = change.Removed
	case c.Old != c.New:
	case d.Old.Number:
		c.New = strconv.Quote(c.New)
	default:
		c.Old = strconv.Quote(c.Old)
	}
	return c
}

// withoutSecrets removes the values of fields whose values are not shown.
func withoutSecrets(o *manifest.Object, list []change.Change) []change.Change {
	for i, c := range list {
		if o.Group() == "" && o.Kind == "Secret" && !strings.HasPrefix(c.Field, "metadata") ||
			fields.Last(c.Field) == "caBundle" {
			list[i].Old, list[i].New = "", ""
		}
	}
	return list
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
		if place.Kind == images.KindContainer || place.Kind == images.KindInitContainer {
			c.Message = strings.TrimPrefix(c.Message+", "+ref, ", ")
		}
		return ref
	})
	if p.New == nil {
		if severity, why := removed(o, c.Part); why != "" {
			c.Severity, c.Message = severity, why
		}
	}
	return append([]change.Change{c}, lists.Filter(list, func(x change.Change) bool {
		// about what else nothing changes
		about := (x.Part != change.Account || o.Kind == "Secret") && x.Part != change.Workload
		return x.Severity != findings.Info && about && p.New != nil
	})...)
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
