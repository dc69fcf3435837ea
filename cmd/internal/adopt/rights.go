package adopt

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/manifest"
)

// rbacKinds are the kinds that decide who may do what.
var rbacKinds = []string{"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}

// Left returns the operators that what is rendered takes from OLM: it has neither their CSV nor what asks OLM for it.
func (s *State) Left(rendered []map[string]any) []*Operator {
	objects := lists.Map(rendered, func(o map[string]any) normalize.Object { return o })
	keys := lists.By(objects, normalize.Object.Key)
	kept, packages := s.notRendered(keys), handedOver(keys)
	return lists.Filter(s.All(), func(op *Operator) bool {
		return keys[op.Object.Key()] == nil && !packages[op.Package] && !slices.Contains(kept, op)
	})
}

// VerifyLeaving is Verify that also finds who loses a right when operators have left OLM. asOLM is what profile olm
// renders of them: it explains what OLM made, which goes.
func (s *State) VerifyLeaving(rendered []map[string]any, leaving []*Operator, asOLM []map[string]any) (v *Verification,
	err error) {
	v = s.Verify(rendered)
	made := s.Verify(asOLM)
	byKey := lists.By(made.Objects, func(c Compared) string { return c.object.Key() })
	for i := range v.Objects {
		c := byKey[v.Objects[i].object.Key()]
		v.Objects[i].byForm(&c)
	}
	v.departure = newDeparture(s, leaving, v, made)
	v.Lost, err = v.departure.lostRights(rendered)
	return v, err
}

// lostRights returns who loses which right if rendered objects are applied and the plan's objects are deleted, one line
// for each subject and place. OLM takes the APIs of operators that leave from the ClusterRoles of a group that stays.
func (d *departure) lostRights(rendered []map[string]any) ([]string, error) {
	applied := map[string]normalize.Object{}
	for _, o := range rendered {
		o := normalize.Object(asJSON(o))
		if slices.Contains(rbacKinds, o.Kind()) {
			applied[o.Key()] = o
		}
	}
	for _, g := range d.state.Groups {
		for _, o := range d.state.Dump.OfKind("ClusterRole") {
			if pruned := d.pruned(g, o); pruned != nil {
				applied[o.Key()] = pruned
			}
		}
	}
	old, now, err := d.state.evaluate(applied, d.deletes)
	if err != nil {
		return nil, err
	}
	return lines("loses", slices.DeleteFunc(permissions.Compare(old, now, nil).Lost(), bookkeeping)), nil
}

// bookkeeping reports whether a right is on OperatorConditions: OLM gives it to each operator, and only OLM needs it.
func bookkeeping(i permissions.Item) bool {
	return slices.Equal(i.APIGroups, []string{olm.Group}) && !slices.ContainsFunc(i.Resources, func(r string) bool {
		return r != "operatorconditions" && !strings.HasPrefix(r, "operatorconditions/")
	})
}

// pruned returns what OLM makes of a ClusterRole of a group that stays when the APIs are gone that only the leaving
// operators own; nil if it is another object, or stays as it is (OLM: operatorgroup.go, pruneProvidedAPIs and
// getClusterRoleAggregationRule).
func (d *departure) pruned(g *Group, o *dump.Object) map[string]any {
	if !g.made(o) || d.takesWhole(g) || g.Spec.StaticProvidedAPIs {
		return nil
	}
	gone := map[string]bool{} // labels of the ClusterRoles for these APIs
	for _, role := range d.state.Dump.OfKind("ClusterRole") {
		names := func(op *Operator) bool {
			return slices.ContainsFunc(role.Owners, func(r dump.Owner) bool { return op.namesRole(role.Name, r.Name) })
		}
		leaves := func(op *Operator) bool { return op.Group.Namespace == g.Namespace && names(op) }
		if slices.ContainsFunc(d.operators, leaves) && !slices.ContainsFunc(g.Others, names) {
			for label := range role.Labels {
				gone[label] = strings.HasPrefix(label, olm.LabelAggregateTo)
			}
		}
	}
	value := o.Value()
	rule := normalize.At(value, "aggregationRule")
	selectors, _ := rule["clusterRoleSelectors"].([]any)
	kept := lists.Filter(selectors, func(x any) bool {
		selector, _ := x.(map[string]any)
		return !lists.Any(maps.Keys(normalize.At(selector, "matchLabels")),
			func(label string) bool { return gone[label] })
	})
	if len(kept) == len(selectors) {
		return nil
	}
	rule["clusterRoleSelectors"] = kept
	return value
}

// evaluate returns who may do what in the cluster, and who will when objects have been applied and others are deleted.
func (s *State) evaluate(applied map[string]normalize.Object, deleted func(*dump.Object) bool) (old,
	now *permissions.Report, err error) {
	applied = maps.Clone(applied)
	var before, after []*manifest.Object
	for _, kind := range append(slices.Clone(rbacKinds), "ServiceAccount") {
		for _, o := range s.Dump.OfKind(kind) {
			value := spelled(o.Value())
			before = append(before, manifest.New(value))
			now, ok := applied[o.Key()]
			delete(applied, o.Key())
			switch {
			case ok:
				after = append(after, manifest.New(spelled(appliedOver(value, now))))
			case !deleted(o):
				after = append(after, manifest.New(value))
			}
		}
	}
	for _, key := range lists.Keys(applied) {
		after = append(after, manifest.New(spelled(applied[key])))
	}
	if old, err = permissions.Evaluate(permissions.Input{Objects: before}); err != nil {
		return nil, nil, err
	}
	now, err = permissions.Evaluate(permissions.Input{Objects: after})
	return old, now, err
}

// spelled returns a role with the verbs of the API server in place of a star, where its APIs are those of CRDs: nobody
// can do anything else there (k8s.io/apiserver: pkg/endpoints/request/requestinfo.go).
func spelled(role map[string]any) map[string]any {
	builtIn := func(group any) bool {
		_, known := olm.NamespacedResource(fmt.Sprint(group), "")
		return known || group == rbac.All
	}
	rules := normalize.List(role, "rules")
	for i, r := range rules {
		groups, _ := r["apiGroups"].([]any)
		verbs, _ := r["verbs"].([]any)
		if len(verbs) == 1 && verbs[0] == rbac.All && !slices.ContainsFunc(groups, builtIn) {
			rules[i] = maps.Clone(r)
			rules[i]["verbs"] = text.Values(rbac.Verbs)
		}
	}
	role = maps.Clone(role)
	role["rules"] = text.Values(rules)
	return role
}

// givenBack returns the rights that somebody gains if the rendered roles and bindings are applied that the cluster does
// not have, by namespace; "" are those in the whole cluster. An error of the evaluation gives nil: nothing is known.
func (v *verifier) givenBack() map[string][]permissions.Item {
	missing := map[string]normalize.Object{}
	for key, o := range v.rendered {
		if slices.Contains(rbacKinds, o.Kind()) && v.twin(o) == nil {
			missing[key] = o
		}
	}
	if len(missing) == 0 {
		return nil
	}
	old, now, err := v.evaluate(missing, func(*dump.Object) bool { return false })
	if err != nil {
		return nil
	}
	gained := map[string][]permissions.Item{}
	for _, item := range permissions.Compare(old, now, nil).Gained() {
		for _, ns := range item.Namespaces {
			ns = strings.TrimPrefix(ns, permissions.Everywhere)
			gained[ns] = append(gained[ns], item)
		}
	}
	return gained
}

// appliedOver returns what server-side apply makes of a role or a binding: its lists are replaced as a whole.
func appliedOver(live, rendered map[string]any) map[string]any {
	out, labels := normalize.CopyAt(live, "metadata", "labels")
	maps.Copy(labels, normalize.At(rendered, "metadata", "labels"))
	for _, field := range []string{"rules", "aggregationRule", "subjects", "roleRef"} {
		if rendered[field] != nil {
			out[field] = rendered[field]
		}
	}
	return out
}

// lines prints rights that subjects lose or gain, sorted by their subjects.
func lines(verb string, items []permissions.Item) (out []string) {
	subjects := lists.Group(items, func(i permissions.Item) permissions.Subject { return i.Subject })
	order := slices.SortedFunc(maps.Keys(subjects), func(a, b permissions.Subject) int {
		return cmp.Compare(a.String(), b.String())
	})
	for _, s := range order {
		for _, l := range permissions.Lines(subjects[s]) {
			out = append(out, fmt.Sprintf("%s %s, in %s: %s", s, verb, l.Where, l.What))
		}
	}
	return out
}
