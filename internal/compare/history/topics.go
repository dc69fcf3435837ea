package history

import (
	"cmp"
	"slices"
	"strings"

	psa "k8s.io/pod-security-admission/api"

	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/compare/internal/workload"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/manifest"
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
	out := lists.Map(permissions.Dangerous, func(r permissions.Risk) Topic { return Topic{string(r), r.Title()} })
	out = append(out, Topic{topicUsers, "users gain"}, Topic{topicSecurity, "Pod Security"},
		Topic{topicRegistries, "images from"}, Topic{topicModes, "install modes"})
	for _, id := range lists.Keys(all...) {
		if name, ok := strings.CutPrefix(id, prefixCRD); ok {
			out = append(out, Topic{id, name})
		}
	}
	return out
}

// valuesOf returns what a release says, by topic.
func valuesOf(in Input) (map[string]string, error) {
	out := map[string]string{topicModes: strings.Join(in.Modes, ", ")}
	for _, f := range in.Permissions.Reaches() {
		where := "namespaces"
		if slices.Contains(f.Namespaces, permissions.Everywhere) {
			where = "the cluster"
		}
		if f.Named {
			where += ", some names"
		}
		out[string(f.Risk)] = where
	}
	out[topicUsers] = users(in.Permissions.Users)
	registries := map[string]bool{}
	var level psa.Level
	for _, o := range in.Objects {
		switch {
		case o.Kind == "CustomResourceDefinition":
			out[prefixCRD+o.Name] = versions(o)
		case images.HasPods(o.Group(), o.Kind):
			v, err := o.Value()
			if err != nil {
				return nil, err
			}
			images.InObject(o.Group(), o.Kind, v, func(p images.Place, ref string) string {
				if p.Guess {
					return ref
				}
				repository, _ := images.Repository(ref)
				host, _, _ := strings.Cut(repository, "/")
				registries[host] = true
				return ref
			})
			l, _, err := workload.PodSecurity(o.Group(), o.Kind, v)
			if err != nil {
				return nil, err
			}
			if level == "" || l != "" && psa.CompareLevels(l, level) < 0 {
				level = l
			}
		}
	}
	out[topicRegistries] = cmp.Or(strings.Join(lists.Keys(registries), ", "), "none")
	out[topicSecurity] = string(level)
	return out, nil
}

// users names the API groups of which users gain resources.
func users(items []permissions.Item) string {
	groups := map[string]bool{}
	for _, i := range items {
		if len(i.ResourceNames) > 0 {
			continue // the CRDs themselves
		}
		for _, g := range i.APIGroups {
			groups[cmp.Or(g, "core")] = true
		}
	}
	return strings.Join(lists.Keys(groups), ", ")
}

// versions names the versions of a CRD: the one that is stored with a star, one that is not served in brackets.
func versions(crd *manifest.Object) string {
	var names []string
	for _, v := range olm.CRDVersions(crd) {
		name := v.Name
		if v.Storage {
			name += "*"
		}
		if !v.Served {
			name = "(" + name + ")"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}
