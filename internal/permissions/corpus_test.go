package permissions_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	rbacv1 "k8s.io/api/rbac/v1"
	rbac "k8s.io/component-helpers/auth/rbac/validation"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/golden/reviewtest"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/manifest"
)

// naive evaluates RBAC in the simplest way: the rules of each account in each namespace, "" for the cluster alone.
type naive map[string]map[string][]rbacv1.PolicyRule

// byDefault returns the rules of the roles that clusters have by default.
func byDefault(tb testing.TB) map[string][]rbacv1.PolicyRule {
	tb.Helper()
	roles := map[string][]rbacv1.PolicyRule{}
	for _, name := range []string{"openshift", "kubernetes"} {
		data, err := os.ReadFile("../rbac/roles-" + name + ".jsonl")
		if err != nil {
			tb.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			var r struct {
				Kind, Namespace, Name string
				Rules                 []rbacv1.PolicyRule
			}
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				tb.Fatal(err)
			}
			roles[r.Kind+" "+r.Namespace+"/"+r.Name] = r.Rules
		}
	}
	return roles
}

func naively(tb testing.TB, list []*manifest.Object) naive {
	tb.Helper()
	roles := byDefault(tb)
	decode := func(o *manifest.Object, into any) {
		if _, err := o.Into(into); err != nil {
			tb.Fatal(err)
		}
	}
	for _, o := range list {
		if o.Kind == "Role" || o.Kind == "ClusterRole" {
			var r rbacv1.ClusterRole
			decode(o, &r)
			roles[o.Kind+" "+o.Namespace+"/"+o.Name] = r.Rules
		}
	}
	out := naive{}
	for _, o := range list {
		if o.Kind != "RoleBinding" && o.Kind != "ClusterRoleBinding" {
			continue
		}
		var b rbacv1.RoleBinding
		decode(o, &b)
		key := b.RoleRef.Kind + " /" + b.RoleRef.Name
		if b.RoleRef.Kind == "Role" {
			key = "Role " + o.Namespace + "/" + b.RoleRef.Name
		}
		if scc, ok := strings.CutPrefix(key, "ClusterRole /system:openshift:scc:"); ok && roles[key] == nil {
			roles[key] = []rbacv1.PolicyRule{{Verbs: []string{"use"}, APIGroups: []string{"security.openshift.io"},
				Resources: []string{"securitycontextconstraints"}, ResourceNames: []string{scc}}}
		}
		for _, s := range b.Subjects {
			name := s.Name // of a group
			switch {
			case s.Kind == "ServiceAccount" && s.Namespace == "":
				name = o.Namespace + "/" + s.Name
			case s.Kind == "ServiceAccount":
				name = s.Namespace + "/" + s.Name
			case s.Kind != "Group":
				continue
			}
			if out[name] == nil {
				out[name] = map[string][]rbacv1.PolicyRule{}
			}
			out[name][o.Namespace] = append(out[name][o.Namespace], roles[key]...)
		}
	}
	for _, o := range list {
		if o.Kind == "ServiceAccount" && out[o.Namespace+"/"+o.Name] == nil {
			out[o.Namespace+"/"+o.Name] = map[string][]rbacv1.PolicyRule{}
		}
	}
	for name, places := range out {
		namespace, _, ok := strings.Cut(name, "/")
		for _, group := range []string{"system:authenticated", "system:serviceaccounts", "system:serviceaccounts:" + namespace} {
			for place, rules := range out[group] {
				if ok {
					places[place] = append(places[place], rules...)
				}
			}
		}
	}
	out.spread()
	return out
}

// spread adds to each namespace what holds in the cluster.
func (n naive) spread() {
	for name, places := range n {
		if !strings.Contains(name, "/") {
			delete(n, name) // a group
		}
		for place := range places {
			if place != "" {
				places[place] = append(places[place], places[""]...)
			}
		}
	}
}

// of returns the same of a report.
func of(items []permissions.Item) naive {
	out := naive{}
	for _, i := range items {
		if i.Subject.Kind != "ServiceAccount" {
			continue
		}
		name := i.Subject.Namespace + "/" + i.Subject.Name
		if out[name] == nil {
			out[name] = map[string][]rbacv1.PolicyRule{}
		}
		for _, place := range i.Namespaces {
			place = strings.TrimPrefix(place, permissions.Everywhere)
			out[name][place] = append(out[name][place], ruleOf(i))
		}
	}
	out.spread()
	return out
}

func ruleOf(i permissions.Item) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: i.Verbs, APIGroups: i.APIGroups, Resources: i.Resources, ResourceNames: i.ResourceNames, NonResourceURLs: i.NonResourceURLs}
}

// same reports where two evaluations differ, judged by Kubernetes' own code.
func same(a, b naive) string {
	for _, pair := range [][2]naive{{a, b}, {b, a}} {
		for name, places := range pair[0] {
			for place, rules := range places {
				held := pair[1][name][place]
				if held == nil {
					held = pair[1][name][""] // nothing is granted there alone
				}
				if ok, left := rbac.Covers(held, rules); !ok {
					return fmt.Sprintf("%s in %q: %d rules such as %v", name, place, len(left), left[0])
				}
			}
		}
	}
	return ""
}

// aggregates reports whether an aggregating ClusterRole is bound, which the naive evaluation does not know.
func aggregates(in permissions.Input) bool {
	bound := map[string]bool{}
	for _, o := range in.Objects {
		if strings.HasSuffix(o.Kind, "Binding") {
			name, _ := o.Get("roleRef", "name")
			bound[fmt.Sprint(name)] = true
		}
	}
	return slices.ContainsFunc(in.Objects, func(o *manifest.Object) bool {
		return bound[o.Name] && o.Len("aggregationRule", "clusterRoleSelectors") > 0
	})
}

// What a report says of each account is what RBAC grants it, every item has its reason, and no rewriting of the rules is a change.
func TestCorpus(t *testing.T) {
	ran, simple := 0, 0
	for _, dir := range corpustest.Bundles(t) {
		b := reviewtest.Bundle(t, dir)
		if b == nil {
			continue
		}
		in, err := input(t, b, generate.Options{})
		if err != nil {
			continue // refused, which other tests are about
		}
		name := strings.Join(strings.Split(filepath.ToSlash(dir), "/")[len(strings.Split(filepath.ToSlash(dir), "/"))-2:], "/")
		r, err := permissions.Evaluate(in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		ran++
		if !aggregates(in) {
			simple++
			if d := same(naively(t, in.Objects), of(r.Permissions)); d != "" {
				t.Errorf("%s: not what RBAC grants: %s", name, d)
			}
		}
		for _, i := range slices.Concat(r.Permissions, r.Users) {
			if i.Source.Object == "" || i.Source.File == "" && i.Source.Why != permissions.WhyOLM || i.Source.File != "" && i.Source.Line == 0 {
				t.Errorf("%s: no reason: %+v", name, i)
			}
		}
		if again, err := permissions.Evaluate(in); err != nil || cmp.Diff(r.Permissions, again.Permissions) != "" {
			t.Errorf("%s: not the same a second time: %v", name, err)
		}
		if d := permissions.Compare(r, r, nil); !d.Empty() {
			t.Errorf("%s: differs from itself: %s", name, lines(slices.Concat(d.Permissions, d.Users)))
		}
		other := in
		other.Objects = reviewtest.Rewritten(t, in.Objects, rand.New(rand.NewPCG(1, uint64(ran))))
		x, err := permissions.Evaluate(other)
		if err != nil {
			t.Fatalf("%s: rewritten: %v", name, err)
		}
		if d := permissions.Compare(r, x, nil); !d.Empty() {
			t.Errorf("%s: rewriting the rules is a change: %s", name, lines(slices.Concat(d.Permissions, d.Users)))
		}
	}
	t.Logf("%d bundles, %d of them without bound aggregation", ran, simple)
	if ran < corpustest.Least(t, 180) || simple < corpustest.Least(t, 150) {
		t.Errorf("only %d bundles were looked at, %d of them against RBAC", ran, simple)
	}
}

// Between neighbouring releases: gained and lost change places with the releases, and what is unchanged and gained is what the newer one allows.
func TestUpgrades(t *testing.T) {
	packages := corpustest.Packages(t)
	pairs, changed := 0, 0
	for _, p := range packages {
		var before *permissions.Report
		for _, dir := range p.Bundles {
			b := reviewtest.Bundle(t, dir)
			if b == nil {
				continue
			}
			in, err := input(t, b, generate.Options{})
			if err != nil {
				continue
			}
			now, err := permissions.Evaluate(in)
			if err != nil {
				t.Fatal(err)
			}
			if before != nil {
				pairs++
				if upgrade(t, dir, before, now) {
					changed++
				}
			}
			before = now
		}
	}
	t.Logf("%d pairs, %d with a change", pairs, changed)
	if pairs < corpustest.Least(t, 30) || changed < corpustest.Least(t, 10) {
		t.Errorf("only %d pairs, %d of them with a change", pairs, changed)
	}
}

func upgrade(t *testing.T, name string, old, now *permissions.Report) bool {
	t.Helper()
	forward, back := permissions.Compare(old, now, nil), permissions.Compare(now, old, nil)
	flip := func(items []permissions.Item) []permissions.Item {
		out := slices.Clone(items)
		for i := range out {
			out[i].Change = map[permissions.Change]permissions.Change{permissions.Gained: permissions.Lost, permissions.Lost: permissions.Gained}[out[i].Change]
		}
		return out
	}
	// A gain has a severity and a reason, a loss has none.
	severity := cmpopts.IgnoreFields(permissions.Item{}, "Severity", "Follows")
	if d := cmp.Diff(forward.Gained(), flip(back.Lost()), severity); d != "" {
		t.Errorf("%s: gained is not what is lost the other way:\n%s", name, d)
	}
	before := of(old.Permissions)
	union := of(slices.DeleteFunc(forward.Gained(), func(i permissions.Item) bool { return i.Subject.Kind != "ServiceAccount" }))
	for subject, places := range of(now.Permissions) {
		for place, rules := range places {
			for _, rule := range rules {
				for _, atom := range rbac.BreakdownRule(rule) {
					held := before[subject][place]
					if held == nil {
						held = before[subject][""]
					}
					if ok, _ := rbac.Covers(held, []rbacv1.PolicyRule{atom}); ok {
						if union[subject] == nil {
							union[subject] = map[string][]rbacv1.PolicyRule{}
						}
						union[subject][place] = append(union[subject][place], atom)
					}
				}
			}
		}
	}
	union.spread()
	if d := same(union, of(now.Permissions)); d != "" {
		t.Errorf("%s: unchanged and gained are not what the new one allows: %s", name, d)
	}
	return !forward.Empty()
}
