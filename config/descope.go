package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/installs"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// advice returns what the plan of a descoped operator advises for its other installations in the file, if any.
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

// sharing reports which of the descoped operators that provide one API may write its status where. The message is of
// the first of them. During a canary rollout these are two releases of one operator (descoping plan, Operator
// Patterns).
func sharing(all []*loaded, results []*generate.Result, first int) (out []manifest.Message) {
	provides := func(l *loaded) []string {
		if l.Options.Profile != generate.ProfileDescoped {
			return nil
		}
		return lists.Map(olm.OwnedAPIs(&l.Bundle.CSV.Spec), func(a olm.API) string { return a.Plural + "." + a.Group })
	}
	who := map[string][]string{} // APIs by what is said of them
	for _, api := range lists.Unique(provides(all[first])) {
		var operators []string
		for j, l := range all {
			if !slices.Contains(provides(l), api) {
				continue
			}
			if j < first { // it is said there
				break
			}
			where := "no namespace"
			if slices.Contains(results[j].Bound.Status, api) {
				where = "all namespaces"
			}
			operators = append(operators,
				fmt.Sprintf("%s may write the status in %s and is %s", l.Name, where, results[j].Bound.Text))
		}
		if said := strings.Join(operators, "; "); len(operators) > 1 {
			who[said] = append(who[said], api)
		}
	}
	for _, said := range lists.Keys(who) {
		out = append(out, manifest.Message{Options: []manifest.Option{option.Status},
			Msg: "several operators provide " + text.FirstOf(3, who[said]) + ": " + said})
	}
	return out
}

// binding are the options that say where a descoped operator is bound.
var binding = []manifest.Option{option.BindNamespaces, option.BindAll, option.BindCluster,
	option.BindInternal, option.BindNone, option.Tenants, option.OperatorGroup,
	option.TargetNamespaces}

// OpenSteps returns the steps of an advice that are still to be taken. A step about an option is not, once that is
// given; of those that bind the operator one is enough. The bound namespaces, "" for all, must include those that the
// one known installation watches. Where there are several, somebody has to clean up in any case.
func OpenSteps(steps []manifest.Message, known []installs.Install, given func(manifest.Option) bool,
	bound []string) (open []manifest.Message) {
	binds := slices.ContainsFunc(binding, given)
	done := func(o manifest.Option) bool {
		return given(o) || binds && (o == option.BindNamespaces || o == option.BindAll)
	}
	unbound := func(namespace string) bool { return !slices.Contains(bound, namespace) }
	for _, s := range steps {
		switch {
		case !slices.ContainsFunc(s.Options, done):
		case len(known) > 1:
			s.Options = slices.DeleteFunc(slices.Clone(s.Options), given)
		case len(known) == 0 || slices.Contains(bound, "") || !slices.ContainsFunc(known[0].Targets, unbound):
			continue
		}
		open = append(open, s)
	}
	return open
}

// tenantList is a file of the namespaces that a descoped operator is bound in.
type tenantList struct {
	Tenants []tenant `json:"tenants"`
	Cluster bool     `json:"cluster,omitempty"` // the operator is bound to what is cluster-scoped, too
}

// tenant is a namespace with the optional ClusterRoles that it gets, by API group or resource; nil stands for all.
type tenant struct {
	Namespace string    `json:"namespace"`
	Optional  *[]string `json:"optional,omitempty"`
}

// tenants fills in what the file says that the operator's tenants are in. Such a file is all that decides about them.
func (b Bundle) tenants(dir string, o *generate.Options) error {
	d := b.Descoped
	if d == nil || d.Tenants == "" {
		return nil
	}
	if d.BindAll || d.BindNone || d.BindCluster || len(d.BindNamespaces) > 0 {
		return &fieldError{"descoped.tenants", manifest.WithHint(
			errors.New("the file says where the operator is bound, and so does another option"), "keep one of them")}
	}
	data, err := readFile(dir, d.Tenants)
	if err != nil {
		return &fieldError{"descoped.tenants", err}
	}
	list, err := readTenants(filepath.ToSlash(d.Tenants), data)
	if err != nil {
		return &fieldError{"descoped.tenants", err}
	}
	o.Descoped.BindCluster = list.Cluster
	o.Descoped.BindNone = !list.Cluster && len(list.Tenants) == 0
	o.Descoped.Tenants = map[string][]string{}
	for _, t := range list.Tenants {
		o.Descoped.BindNamespaces = append(o.Descoped.BindNamespaces, t.Namespace)
		if t.Optional != nil {
			o.Descoped.Tenants[t.Namespace] = *t.Optional
		}
	}
	return nil
}

// readTenants reads a list of tenants, strictly. Errors are *manifest.Error.
func readTenants(name string, data []byte) (list tenantList, err error) {
	form := manifest.Form{What: "a list of tenants", Start: "write tenants: [{namespace: team-a}]"}
	object, err := form.Read(name, data, manifest.Limits{}, &list)
	if err != nil {
		return list, err
	}
	if !object.Has("tenants") {
		return list, object.Errorf("tenants", "is missing").With(form.Start)
	}
	seen := map[string]bool{}
	for i, t := range list.Tenants {
		field := fmt.Sprintf("tenants[%d].namespace", i)
		if problems := validation.IsDNS1123Label(t.Namespace); len(problems) > 0 {
			return list, object.Errorf(field, "%q is not a valid namespace name: %s", t.Namespace,
				text.Reason(problems))
		}
		if seen[t.Namespace] {
			return list, object.Errorf(field, "%s is a tenant twice", t.Namespace)
		}
		seen[t.Namespace] = true
	}
	return list, nil
}
