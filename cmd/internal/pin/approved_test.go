package pin_test

import (
	"context"
	"reflect"
	"slices"

	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/cmd/internal/pin"
)

// approvedAt approves where OLM comes to rest from a state: one answer, or if it depends on chance each of them, the most
// frequent first. An answer is left out if OLM does not come to rest, or if not all that is installed then is of a
// Subscription and in the catalogs.
func approvedAt(ctx context.Context, state *resolve.State) (list []pin.Namespace, chance bool, err error) {
	result, err := resolve.Run(ctx, state, resolve.Options{})
	if err != nil {
		return nil, false, err
	}
	for _, w := range append([]resolve.Walk{result.Walk}, result.Alternatives...) {
		approved, ok := approvedBy(&w, state)
		same := func(q pin.Namespace) bool { return reflect.DeepEqual(q.Approved, approved) }
		if ok && !slices.ContainsFunc(list, same) {
			list = append(list, pin.Namespace{State: state, Operators: askers(state), Approved: approved})
		}
	}
	return list, len(result.Alternatives) > 0, nil
}

// askers returns who asks for the Subscriptions of a state.
func askers(state *resolve.State) (list []pin.Operator) {
	for _, s := range state.Subscriptions {
		list = append(list, pin.Operator{Name: s.Name, Object: "Subscription " + state.Namespace + "/" + s.Name})
	}
	return list
}

func approvedBy(w *resolve.Walk, state *resolve.State) (approved map[pin.Package]pin.Release, ok bool) {
	if w.Outcome != resolve.Settled {
		return nil, false
	}
	approved = map[pin.Package]pin.Release{}
	var owned []string
	for _, s := range w.End().Subscriptions {
		p := state.Package(s.Source, s.SourceNamespace, s.Package)
		if s.InstalledCSV == "" || p == nil || p.Bundle(s.InstalledCSV) == nil {
			return nil, false
		}
		approved[pin.PackageOf(&s)] = pin.Release{Channel: s.Channel, Bundle: s.InstalledCSV}
		owned = append(owned, s.InstalledCSV)
	}
	for _, name := range w.Installed {
		if !slices.Contains(owned, name) {
			return nil, false
		}
	}
	return approved, true
}
