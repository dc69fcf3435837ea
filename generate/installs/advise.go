// Package installs finds the installations of an operator in a tree, and says what the descoping plan advises for them.
package installs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/manifest"
)

// Advice is what the descoping plan recommends for an operator and its installations.
type Advice struct {
	State string             // how the operator is installed; empty if it makes no difference
	Steps []manifest.Message // what to do
}

// Advise returns the advice of the descoping plan (Installation-specific migrations steps) for an operator and its
// installations. nil means that the installations are unknown, an empty list that there are none.
func Advise(csv *v1alpha1.ClusterServiceVersion, installs []Install) Advice {
	switch scope, _ := bundle.ScopeOf(csv); scope {
	case bundle.Descoped:
		return Advice{"",
			steps(step("bind it where it may work", generate.OptionBindNamespaces, generate.OptionBindAll))}
	case bundle.AllUsers:
		everywhere := "it is bound in all namespaces by default: bind it only where it may work if that is too much"
		aggregated := step("all users get its APIs: their roles are aggregated to admin, edit and view; choose other "+
			"roles, or none, if that is too much", generate.OptionAggregateTo)
		if slices.ContainsFunc(installs, Install.global) {
			return Advice{"installed for all namespaces, " + describe(installs),
				steps(step("keep its bindings there, which it has by default", generate.OptionBindAll), aggregated)}
		}
		return Advice{"", steps(step(everywhere, generate.OptionBindNamespaces, generate.OptionBindNone), aggregated)}
	}
	return scoped(csv, installs)
}

func scoped(csv *v1alpha1.ClusterServiceVersion, installs []Install) Advice {
	global := slices.ContainsFunc(installs, Install.global)
	versions := lists.Set(installs, func(i Install) string { return i.CSV })
	switch {
	case installs == nil:
		return Advice{"olmgen does not know where it is installed", single(csv, nil)}
	case len(installs) == 0:
		return Advice{
			"it is not installed",
			steps(step("look for an alternative that is descoped, or bind it where it may work",
				generate.OptionBindNamespaces)),
		}
	case len(installs) == 1 && global:
		return Advice{
			fmt.Sprintf("installed in %s for all namespaces", installs[0].Namespace),
			steps(step("keep its bindings there", generate.OptionBindAll)),
		}
	case len(installs) == 1:
		return Advice{"installed once, " + describe(installs), single(csv, installs)}
	case len(versions) > 1:
		return Advice{fmt.Sprintf("installed %d times in different versions: %s", len(installs), describe(installs)),
			steps(step("clean this up by hand: only one version can own an API in a cluster; choose one, or other " +
				"operators"))}
	case multi(csv) && !global:
		return Advice{fmt.Sprintf("installed %d times in one version: %s", len(installs), describe(installs)),
			steps(step("it supports MultiNamespace: move to a single "+
				"instance for "+namespaces(installs)+"; then descope that one", generate.OptionTargetNamespaces))}
	}
	return Advice{fmt.Sprintf("installed %d times in one version: %s", len(installs), describe(installs)),
		steps(step("clean this up by hand: keep one, and bind it where the others work",
			generate.OptionBindNamespaces))}
}

// single returns the advice for one installation that does not watch all namespaces.
func single(csv *v1alpha1.ClusterServiceVersion, installs []Install) []manifest.Message {
	where := "where it works today"
	if names := watched(installs); len(names) > 0 {
		where = "in " + strings.Join(names, ",")
	}
	list := steps(step("until a release is descoped, replace it with this output, bound "+where,
		generate.OptionBindNamespaces))
	if multi(csv) {
		list = append(list, step("it supports MultiNamespace: first move to one instance for "+namespaces(installs),
			generate.OptionTargetNamespaces))
	}
	return list
}

func step(msg string, options ...manifest.Option) manifest.Message {
	return manifest.Message{Msg: msg, Options: options}
}

func steps(list ...manifest.Message) []manifest.Message { return list }

func multi(csv *v1alpha1.ClusterServiceVersion) bool {
	return slices.Contains(bundle.SupportedModes(csv), v1alpha1.InstallModeTypeMultiNamespace)
}

func (i Install) global() bool { return slices.Contains(i.Targets, "") }

// watched returns the namespaces that installations watch, sorted, without duplicates.
func watched(installs []Install) []string {
	var out []string
	for _, i := range installs {
		out = append(out, i.Targets...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// namespaces names the namespaces of an instance that replaces all installations.
func namespaces(installs []Install) string {
	names := watched(installs)
	if len(names) < 2 {
		return "all namespaces that need it"
	}
	return "all their namespaces, " + strings.Join(names, ",")
}

func describe(installs []Install) string {
	parts := make([]string, len(installs))
	for n, i := range installs {
		parts[n] = cmp.Or(i.CSV, "an unknown version") + " in " + i.Namespace
		switch {
		case i.global():
			parts[n] += " for all namespaces"
		case len(i.Targets) > 0:
			parts[n] += " for " + strings.Join(i.Targets, ",")
		}
	}
	return strings.Join(parts, "; ")
}
