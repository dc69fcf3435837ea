package adopt

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/permissions"
)

// rbacKinds are the kinds that decide who may do what.
var rbacKinds = []string{"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}

// lostRights returns who loses which right if rendered objects are applied and the plan's objects are deleted, one line
// for each subject and place.
func (d *departure) lostRights(rendered []map[string]any) ([]string, error) {
	applied := map[string]normalize.Object{}
	for _, o := range rendered {
		o := normalize.Object(asJSON(o))
		if slices.Contains(rbacKinds, o.Kind()) {
			applied[o.Key()] = o
		}
	}
	var before, after []*manifest.Object
	for _, kind := range append(slices.Clone(rbacKinds), "ServiceAccount") {
		for _, o := range d.state.Dump.OfKind(kind) {
			value := o.Value()
			before = append(before, manifest.New(value))
			now, ok := applied[o.Key()]
			delete(applied, o.Key())
			switch {
			case ok:
				after = append(after, manifest.New(appliedOver(value, now)))
			case !d.deletes(o):
				after = append(after, manifest.New(value))
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(applied)) {
		after = append(after, manifest.New(applied[key]))
	}
	old, err := permissions.Evaluate(permissions.Input{Objects: before})
	if err != nil {
		return nil, err
	}
	now, err := permissions.Evaluate(permissions.Input{Objects: after})
	if err != nil {
		return nil, err
	}
	return lines(permissions.Compare(old, now).Lost()), nil
}

// appliedOver returns what server-side apply makes of a role or a binding: its lists are replaced as a whole.
func appliedOver(live, rendered map[string]any) map[string]any {
	out := maps.Clone(live)
	for _, field := range []string{"rules", "aggregationRule", "subjects", "roleRef"} {
		if rendered[field] != nil {
			out[field] = rendered[field]
		}
	}
	meta := maps.Clone(normalize.At(live, "metadata"))
	labels := maps.Clone(normalize.At(live, "metadata", "labels"))
	maps.Copy(labels, normalize.At(rendered, "metadata", "labels"))
	meta["labels"] = labels
	out["metadata"] = meta
	return out
}

// lines prints lost rights, sorted by their subjects.
func lines(items []permissions.Item) (out []string) {
	subjects := map[permissions.Subject][]permissions.Item{}
	for _, i := range items {
		subjects[i.Subject] = append(subjects[i.Subject], i)
	}
	order := slices.SortedFunc(maps.Keys(subjects), func(a, b permissions.Subject) int {
		return cmp.Compare(a.String(), b.String())
	})
	for _, s := range order {
		for _, l := range permissions.Lines(subjects[s]) {
			out = append(out, fmt.Sprintf("%s loses, in %s: %s", s, l.Where, l.What))
		}
	}
	return out
}
