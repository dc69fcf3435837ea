package config

import (
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/generate/installs"
	"github.com/olmgen/olmgen/manifest"
)

// advice returns what the descoping plan of a descoped operator advises for its other installations in the file. It
// returns nothing if there are none, or if the operator was made to be descoped.
func (c *Config) advice(all []*loaded, results []*generate.Result, i int) []manifest.Message {
	b := all[i].Bundle
	if scope, _ := bundle.ScopeOf(b.CSV); scope != bundle.Scoped || all[i].Options.Profile != generate.ProfileDescoped {
		return nil
	}
	var known []installs.Install
	for j, l := range all {
		if l.Bundle.Package != b.Package || l.Options.Profile == generate.ProfileDescoped {
			continue
		}
		install := installs.Install{CSV: l.Bundle.CSV.Name, Namespace: results[j].Namespace,
			Targets: l.Options.TargetNamespaces}
		switch results[j].InstallMode {
		case v1alpha1.InstallModeTypeAllNamespaces:
			install.Targets = []string{""}
		case v1alpha1.InstallModeTypeOwnNamespace:
			install.Targets = []string{install.Namespace}
		}
		known = append(known, install)
	}
	if len(known) == 0 {
		return nil
	}
	a := installs.Advise(b.CSV, known)
	text, options := []string{}, []manifest.Option{}
	given := func(o manifest.Option) bool {
		return slices.ContainsFunc(c.pathsOf(o, all[i].group, all[i].index), c.has)
	}
	for _, step := range OpenSteps(a.Steps, known, given, results[i].Bound.Namespaces) {
		text, options = append(text, step.Msg), append(options, step.Options...)
	}
	return []manifest.Message{{Msg: a.State + ": " + strings.Join(text, "; "), Options: options}}
}

// binding are the options that say where a descoped operator is bound.
var binding = []manifest.Option{generate.OptionBindNamespaces, generate.OptionBindAll, generate.OptionBindCluster,
	generate.OptionBindInternal, generate.OptionBindNone, generate.OptionTenants, generate.OptionOperatorGroup,
	generate.OptionTargetNamespaces}

// OpenSteps returns the steps of an advice that are still to be taken. A step that is about an option is not, once the
// option is given; of those that bind the operator one is enough. Where one installation is known, the bound namespaces
// must include those that it watches. Where there are several, somebody has to clean up in any case. In bound, ""
// stands for all namespaces.
func OpenSteps(steps []manifest.Message, known []installs.Install, given func(manifest.Option) bool,
	bound []string) (open []manifest.Message) {
	binds := slices.ContainsFunc(binding, given)
	done := func(o manifest.Option) bool {
		return given(o) || binds && (o == generate.OptionBindNamespaces || o == generate.OptionBindAll)
	}
	for _, s := range steps {
		switch {
		case !slices.ContainsFunc(s.Options, done):
		case len(known) > 1:
			s.Options = slices.DeleteFunc(slices.Clone(s.Options), given)
		case len(known) == 0 || covers(bound, known[0].Targets):
			continue
		}
		open = append(open, s)
	}
	return open
}

func covers(bound, targets []string) bool {
	return slices.Contains(bound, "") || !slices.ContainsFunc(targets, func(n string) bool {
		return !slices.Contains(bound, n)
	})
}
