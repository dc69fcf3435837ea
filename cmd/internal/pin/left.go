package pin

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
)

// left is an operator that stays as it is: no run has pinned it.
type left struct {
	Locked        // where it is; what it takes the operator from, as far as that is known
	object string // in words
	why    string
}

const notNamed = "--package names others"

func (m *maker) named(pkg string) bool {
	return len(m.options.Packages) == 0 || slices.Contains(m.options.Packages, pkg)
}

// leave notes an operator that stays as it is, and reports whether it does. One that an earlier run has pinned stays
// pinned: the error is that Git moves it, and its package is not named.
func (m *maker) leave(o *Operator, at Locked, why string) (bool, error) {
	if !m.named(at.Package) {
		why = notNamed
	}
	if why == "" {
		return false, nil
	}
	for was := range m.old.operators() {
		if was.Namespace != at.Namespace || was.ClusterExtension != at.ClusterExtension || was.Package != at.Package {
			continue
		}
		if !m.named(at.Package) && o.Approved != "" && o.Approved != was.Approved {
			return false, o.refuse(fmt.Sprintf("%s is approved, the pin has %s, and --package does not name %s",
				o.Approved, was.Approved, at.Package), "add --package "+at.Package, o.By)
		}
		return false, nil
	}
	m.left = append(m.left, left{at, asker{o.Object, o}.String(), why})
	return true, nil
}

func (m *maker) sayLeft() (notes []string) {
	var reasons []string
	objects := map[string][]string{}
	for _, l := range m.left {
		reasons = lists.Add(reasons, l.why)
		objects[l.why] = append(objects[l.why], l.object)
	}
	for _, why := range reasons {
		notes = append(notes, fmt.Sprintf("not pinned, and left as it is: %s: %s", text.And(objects[why]), why))
	}
	return notes
}

func (m *maker) checkPackages() error {
	for _, pkg := range m.options.Packages {
		asked := false
		for _, p := range m.input.operators() {
			asked = asked || p == pkg
		}
		if !asked {
			return m.notAsked(pkg, fmt.Sprintf("nothing asks for package %s of a catalog that is known", pkg))
		}
	}
	return nil
}

// notAsked is an error about a package, with the packages that are asked for.
func (m *maker) notAsked(pkg, msg string) error {
	var names []string
	for _, name := range m.input.operators() {
		names = lists.Add(names, name)
	}
	return manifest.WithHint(errors.New(msg), cmp.Or(text.DidYouMean(pkg, names), "name the package of a "+
		"Subscription, OperatorPolicy or ClusterExtension: "+text.Names(names)))
}

// checkLeft refuses a pin that changes what is to stay as it is.
func (m *maker) checkLeft() error {
	_, policies := m.keepsPolicies()
	for _, l := range m.left {
		if policies {
			return manifest.WithHint(fmt.Errorf("admission policies refuse what is not pinned, and %s is not: %s",
				l.object, l.why), "pin all that the cluster has, or pin without policies")
		}
		for _, c := range m.Catalogs {
			if c.To == c.Source && (c.Source.String() == l.Catalog ||
				l.ClusterExtension != "" && c.To.Namespace == "") {
				return manifest.WithHint(fmt.Errorf("%s may need catalog %s, in whose place the pinned one comes, "+
					"and is not pinned: %s", l.object, c.Source, l.why), "pin without --keep-names, or pin it too")
			}
		}
		for o := range m.Lock.operators() {
			if o.RequiredBy != "" && o.Namespace == l.Namespace && o.Package == l.Package {
				return manifest.WithHint(fmt.Errorf("%s requires %s, and %s is not pinned: %s", o.RequiredBy,
					o.Approved, l.object, l.why), "pin package "+l.Package+" too")
			}
		}
	}
	return nil
}
