package config

import (
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/review/installs"
)

// advice says for a descoped operator what the descoping plan advises for its other installations in the file;
// nothing if there are none, or if it was made to be descoped.
func advice(all []*loaded, results []*generate.Result, i int) []manifest.Message {
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
	for _, step := range a.Steps {
		text, options = append(text, step.Msg), append(options, step.Options...)
	}
	return []manifest.Message{{Msg: a.State + ": " + strings.Join(text, "; "), Options: options}}
}
