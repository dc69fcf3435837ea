package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	psa "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/compare/internal/workload"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/permissions"
)

// The topics that are no risk and no CRD.
const (
	topicUsers      = "users"
	topicSecurity   = "pod-security"
	topicRegistries = "registries"
	topicModes      = "install-modes"
	prefixCRD       = "crd/"
)

// topicsOf returns the topics of releases: those about all operators, then the CRDs.
func topicsOf(all []map[string]string) []Topic {
	var out []Topic
	for _, r := range permissions.Dangerous {
		out = append(out, Topic{string(r), r.Title()})
	}
	out = append(out, Topic{topicUsers, "users gain"}, Topic{topicSecurity, "Pod Security"},
		Topic{topicRegistries, "images from"}, Topic{topicModes, "install modes"})
	names := map[string]bool{}
	for _, values := range all {
		for id := range values {
			if strings.HasPrefix(id, prefixCRD) {
				names[id] = true
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(names)) {
		out = append(out, Topic{id, strings.TrimPrefix(id, prefixCRD)})
	}
	return out
}

// valuesOf returns what a release says, by topic.
func valuesOf(in Input) (map[string]string, error) {
	out := map[string]string{topicModes: strings.Join(in.Modes, ", ")}
	for _, f := range in.Permissions.Reaches() {
		out[string(f.Risk)] = reach(f)
	}
	out[topicUsers] = users(in.Permissions.Users)
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return nil, err
	}
	registries := map[string]bool{}
	var level psa.Level
	for _, o := range in.Objects {
		switch {
		case o.Kind == "CustomResourceDefinition":
			if out[prefixCRD+o.Name], err = versions(o); err != nil {
				return nil, err
			}
		case images.HasPods(o.Group(), o.Kind):
			v, err := o.Value()
			if err != nil {
				return nil, err
			}
			images.InObject(o.Group(), o.Kind, v, func(_ images.Place, ref string) string {
				repository, _ := images.Repository(ref)
				host, _, _ := strings.Cut(repository, "/")
				registries[host] = true
				return ref
			})
			l, _ := workload.PodSecurity(evaluator, o.Group(), o.Kind, v)
			if level == "" || l != "" && psa.CompareLevels(l, level) < 0 {
				level = l
			}
		}
	}
	out[topicRegistries] = cmp.Or(strings.Join(slices.Sorted(maps.Keys(registries)), ", "), "none")
	out[topicSecurity] = string(level)
	return out, nil
}

// reach returns where a fact holds: the cluster, its namespaces, or some names only.
func reach(f permissions.Fact) string {
	where := "namespaces"
	if slices.Contains(f.Namespaces, permissions.Everywhere) {
		where = "the cluster"
	}
	if f.Named {
		where += ", some names"
	}
	return where
}

// users names the API groups of which users gain resources.
func users(items []permissions.Item) string {
	groups := map[string]bool{}
	for _, i := range items {
		if len(i.ResourceNames) > 0 {
			continue // the CRDs themselves
		}
		for _, g := range i.APIGroups {
			if g == "" {
				g = "core"
			}
			groups[g] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(groups)), ", ")
}

// versions names the versions of a CRD: the one that is stored with a star, one that is not served in brackets.
func versions(o *manifest.Object) (string, error) {
	v, err := o.Get("spec", "version")
	if err != nil {
		return "", err
	}
	var names []string
	if s, ok := v.(string); ok && o.Len("spec", "versions") == 0 {
		names = append(names, s+"*")
	}
	for i := range o.Len("spec", "versions") {
		var one struct {
			name            string
			served, storage bool
		}
		for _, f := range []struct {
			field string
			to    any
		}{{"name", &one.name}, {"served", &one.served}, {"storage", &one.storage}} {
			v, err := o.Get("spec", "versions", fmt.Sprint(i), f.field)
			if err != nil {
				return "", err
			}
			switch to := f.to.(type) {
			case *string:
				*to, _ = v.(string)
			case *bool:
				*to, _ = v.(bool)
			}
		}
		if one.storage {
			one.name += "*"
		}
		if !one.served {
			one.name = "(" + one.name + ")"
		}
		names = append(names, one.name)
	}
	slices.Sort(names)
	return strings.Join(names, " "), nil
}
