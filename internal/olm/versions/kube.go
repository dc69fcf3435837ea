package versions

import (
	_ "embed"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/blang/semver/v4"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// ParseKubernetes reads a version of Kubernetes, such as 1.31 or v1.31.4+k3s1. The error has a hint.
func ParseKubernetes(text string) (*semver.Version, error) {
	v, err := semver.ParseTolerant(text)
	if err != nil || v.Major != 1 {
		return nil, manifest.WithHint(fmt.Errorf("%q is not a version of Kubernetes", text),
			"write it as 1.31 or v1.31.4")
	}
	v.Pre, v.Build = nil, nil // distributions put their own there
	return &v, nil
}

// Unserved returns which versions of Kubernetes do not serve a kind, such as "1.25 and later do not serve". It is empty
// if this version serves it, or if the kind is not one of Kubernetes.
func Unserved(apiVersion, kind string, minor uint64) string {
	since, until := lifetime(apiVersion, kind)
	switch {
	case minor < since:
		return fmt.Sprintf("1.%d and earlier do not serve", since-1)
	case until > 0 && minor >= until:
		return fmt.Sprintf("1.%d and later do not serve", until)
	}
	return ""
}

// lifetime returns the minor versions of Kubernetes 1 that first serve a kind, and no longer do; 0 if not known.
func lifetime(apiVersion, kind string) (since, until uint64) {
	l, ok := lifetimes()[apiVersion+" "+kind]
	if !ok {
		return 0, removed[apiVersion]
	}
	return l.since, l.until
}

// kubetypes.txt has what the Go types of Kubernetes' own APIs say about the versions that serve them. The command does
// not link the types for it: they would make it a tenth larger. TestKubeTypes compares, and -update writes the file.
//
//go:embed kubetypes.txt
var kubeTypes string

type lifespan struct{ since, until uint64 }

var lifetimes = sync.OnceValue(func() map[string]lifespan {
	all := map[string]lifespan{}
	for line := range strings.Lines(kubeTypes) {
		var apiVersion, kind string
		var l lifespan
		if n, _ := fmt.Sscan(line, &apiVersion, &kind, &l.since, &l.until); n == 4 {
			all[apiVersion+" "+kind] = l
		}
	}
	return all
})

// removed has the minor versions that dropped APIs older than the types (Kubernetes: Deprecated API Migration Guide).
var removed = map[string]uint64{
	"apiregistration.k8s.io/v1beta1":     22,
	"scheduling.k8s.io/v1alpha1":         22,
	"rbac.authorization.k8s.io/v1alpha1": 22,
	"policy/v1beta1":                     25,
	"autoscaling/v2beta1":                25,
	"autoscaling/v2beta2":                26,
}

// ResourceRemoved returns the minor version of Kubernetes 1 that serves no version of a resource any more, which a rule
// of RBAC names by its group and plural; 0 if there is none or it is not known.
func ResourceRemoved(group, plural string) uint64 { return removedResources()[plural+"."+group] }

// removedResources has the resources whose versions have all gone.
var removedResources = sync.OnceValue(func() map[string]uint64 {
	all := map[string]uint64{"podsecuritypolicies.policy": removed["policy/v1beta1"],
		"podsecuritypolicies.extensions": 16}
	served := map[string]bool{}
	for key, l := range lifetimes() {
		apiVersion, kind, _ := strings.Cut(key, " ")
		gv, err := schema.ParseGroupVersion(apiVersion)
		if err != nil {
			panic("kubetypes.txt: " + err.Error()) // TestKubeTypes
		}
		resource, _ := meta.UnsafeGuessKindToResource(gv.WithKind(kind))
		name := resource.Resource + "." + gv.Group
		_, current := olm.KindOf(gv.Group, kind) // the kinds of the group extensions are there for old objects
		served[name] = served[name] || l.until == 0 || current && gv.Group != "extensions"
		all[name] = max(all[name], l.until)
	}
	maps.DeleteFunc(all, func(name string, _ uint64) bool { return served[name] })
	return all
})
