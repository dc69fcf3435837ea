package pin

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
)

// sayLeftOut counts the documents of each source that its pinned catalog does not have.
func (m *maker) sayLeftOut() (notes []string) {
	for _, c := range m.Catalogs {
		left := map[string]int{}
		for key, n := range c.source.Count() {
			left[key.Schema] += n
		}
		for key, n := range c.Catalog.Count() {
			left[key.Schema] -= n
		}
		var counts []string
		for _, schema := range lists.Keys(left) {
			if left[schema] > 0 {
				counts = append(counts, fmt.Sprintf("%d %s", left[schema], schema))
			}
		}
		if len(counts) > 0 {
			notes = append(notes, fmt.Sprintf("the pin leaves out of catalog %s: %s", c.Source,
				strings.Join(counts, ", ")))
		}
	}
	return notes
}

// sayImages names the bundles whose image nothing says: those of directories.
func (m *maker) sayImages() (notes []string) {
	for _, c := range m.Catalogs {
		bundles := slices.Concat(lists.Map(c.Packages, func(p Content) []*catalog.Bundle { return p.Bundles })...)
		without := lists.Filter(bundles, func(b *catalog.Bundle) bool { return b.Image == "" })
		names := lists.Map(without, func(b *catalog.Bundle) string { return b.Name })
		if len(names) > 0 {
			notes = append(notes, fmt.Sprintf("nothing says the image of %s in catalog %s: the pinned catalog has the "+
				"objects, and OLM v0 installs them from there", text.And(names), c.Source))
		}
	}
	return notes
}

// sayDependencies names the Subscriptions that OLM has made for dependencies in clusters that used the source: no patch
// of Git reaches them, and OLM resolves nothing in a namespace where one names a catalog that is gone (spec
// v0-resolver 7).
func (m *maker) sayDependencies() (notes []string) {
	if m.old != nil || m.keepNames {
		return nil
	}
	for o := range m.Lock.operators() {
		if o.RequiredBy == "" {
			continue
		}
		from := o.pkg().Source
		generated := resolve.GeneratedName(o.Package, o.Channel, from.Name, from.Namespace)
		notes = append(notes, fmt.Sprintf("namespace %s: %s is a dependency. In a cluster that has it from %s, "+
			"its Subscription %s names that catalog: add a Subscription of package %s to Git, or set its "+
			"spec.source to %s, before you delete the catalog", o.Namespace, o.Approved, from, generated, o.Package,
			m.rename(from).Name))
	}
	return notes
}

// sayPolicies names what OperatorPolicies approve that no catalog has, and those that take their operators from
// elsewhere: the component has no patch for them.
func (m *maker) sayPolicies() (notes []string) {
	for _, n := range m.input.Namespaces {
		for i := range n.State.Subscriptions {
			o, from := &n.Operators[i], PackageOf(&n.State.Subscriptions[i]).Source
			if o.Policy == nil {
				continue
			}
			of := o.Policy.Object
			where := fmt.Sprintf("%s:%d: %s", of.File, of.Line, of.Identity())
			unknown := slices.DeleteFunc(slices.Clone(o.Policy.Versions),
				func(name string) bool { return has(n.State, name) })
			if len(unknown) > 0 {
				notes = append(notes, fmt.Sprintf("%s: %s: no catalog has %s", where, fieldVersions, text.And(unknown)))
			}
			if to := m.to(from); o.Policy.Source != to.Name && to != from {
				notes = append(notes, fmt.Sprintf("%s: no patch changes it: set spec.subscription.source to %s", where,
					to.Name))
			}
		}
	}
	return notes
}

// sayManual names the Subscriptions whose InstallPlans somebody still approves in the cluster.
func (m *maker) sayManual() (manual []string) {
	for _, n := range m.input.Namespaces {
		for i := range n.State.Subscriptions {
			by := n.Operators[i].Policy
			if s := &n.State.Subscriptions[i]; s.Manual && !s.Automatic() && (by == nil || !by.Automatic) {
				manual = append(manual, n.State.Namespace+"/"+s.Name)
			}
		}
	}
	if len(manual) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("somebody approves the InstallPlans of %s in the cluster, because installPlanApproval "+
		"is Manual. Once they take their operators from the pinned catalogs, Automatic installs what is pinned "+
		"without a person", text.And(manual))}
}

func (m *maker) sayMoves() (notes []string) {
	for o := range m.old.operators() {
		next := m.Lock.first(o)
		where := cmp.Or(o.Namespace, "ClusterExtension "+o.ClusterExtension)
		switch {
		case next == nil:
			notes = append(notes, fmt.Sprintf("%s: package %s is not pinned any more: nothing asks for it. %s stays "+
				"installed until somebody removes it", where, o.Package, o.Approved))
		case next.Left && !o.Left:
			notes = append(notes, fmt.Sprintf("%s: nothing requires package %s any more. %s stays pinned, because OLM "+
				"does not remove it. Once no cluster has it, forget %[2]s@%[3]s", where, o.Package, o.Approved))
		case next.Approved != o.Approved:
			notes = append(notes, fmt.Sprintf("%s: package %s moves from %s to %s", where, o.Package, o.Approved,
				next.Approved))
		}
	}
	return notes
}
