package olm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
)

// CRDVersion is a version of a CustomResourceDefinition.
type CRDVersion struct {
	Name            string
	Served, Storage bool
}

// CRDVersions returns the versions of a CustomResourceDefinition of v1 or v1beta1, without fields of a wrong type.
func CRDVersions(crd *manifest.Object) (versions []CRDVersion) {
	n := crd.Len("spec", "versions")
	for i := range n {
		get := func(field string) any { return Get(crd, "spec", "versions", strconv.Itoa(i), field) }
		if name, ok := get("name").(string); ok {
			versions = append(versions, CRDVersion{name, get("served") == true, get("storage") == true})
		}
	}
	if name, ok := Get(crd, "spec", "version").(string); ok && n == 0 {
		versions = append(versions, CRDVersion{name, true, true})
	}
	return versions
}

// IsCRD reports whether a group and kind are those of CustomResourceDefinitions.
func IsCRD(group, kind string) bool {
	return group == "apiextensions.k8s.io" && kind == "CustomResourceDefinition"
}

// ConvertsByWebhook reports whether a CustomResourceDefinition says that a webhook converts its objects.
func ConvertsByWebhook(crd *manifest.Object) bool {
	return Get(crd, "spec", "conversion", "strategy") == "Webhook"
}

// DefinedKind returns the kind of the objects that a CustomResourceDefinition defines: namespaced, unless it says
// Cluster. The error is about a field of a wrong type, which counts as absent.
func DefinedKind(crd *manifest.Object) (k Kind, err *manifest.Error) {
	var names struct{ Plural, Kind string }
	var scope string
	err = cmp.Or(crd.Field(&k.Group, "spec", "group"), crd.Field(&names, "spec", "names"),
		crd.Field(&scope, "spec", "scope"))
	k.Name, k.Plural, k.Namespaced = names.Kind, names.Plural, scope != "Cluster"
	return k, err
}

// DefinedKinds returns the kinds that the CustomResourceDefinitions among objects define, by group/kind.
func DefinedKinds(objects []*manifest.Object) map[string]Kind {
	out := map[string]Kind{}
	for _, o := range objects {
		if IsCRD(o.Group(), o.Kind) {
			k, _ := DefinedKind(o)
			out[k.Group+"/"+k.Name] = k
		}
	}
	return out
}

// CRDs returns the CustomResourceDefinitions among objects by their names. Of two the last one counts, as when applied.
func CRDs(objects []*manifest.Object) map[string]*manifest.Object {
	crds := lists.Filter(objects, func(o *manifest.Object) bool { return o.Kind == "CustomResourceDefinition" })
	return lists.By(crds, func(o *manifest.Object) string { return o.Name })
}

// TakenName is a CustomResourceDefinition that no API server serves: one before it has one of its names.
type TakenName struct {
	CRD, By *manifest.Object
	Name    string
}

// TakenNames returns the CustomResourceDefinitions of which one before them in the list has a name: no two of a group
// share one (apiextensions-apiserver: pkg/controller/status/naming_controller.go). Of one twice the last one counts.
func TakenNames(objects []*manifest.Object) (taken []TakenName) {
	first := map[string]*manifest.Object{}
	for _, crd := range objects {
		if !IsCRD(crd.Group(), crd.Kind) {
			continue
		}
		var names struct {
			Plural, Singular, Kind, ListKind string
			ShortNames                       []string
		}
		_ = crd.Field(&names, "spec", "names") // what cannot be read is refused already
		resources := append(names.ShortNames, names.Plural, cmp.Or(names.Singular, strings.ToLower(names.Kind)))
		kinds := []string{names.Kind, cmp.Or(names.ListKind, names.Kind+"List")}
		said := false
		for i, name := range append(resources, kinds...) {
			key := fmt.Sprintf("%v %t %s", Get(crd, "spec", "group"), i < len(resources), name)
			if by := first[key]; by == nil {
				first[key] = crd
			} else if by.Name != crd.Name && !said {
				taken, said = append(taken, TakenName{crd, by, name}), true
			}
		}
	}
	return taken
}

// Serving returns a CustomResourceDefinition that serves a version of a group, or nil.
func Serving(crds map[string]*manifest.Object, group, version string) *manifest.Object {
	for _, name := range lists.Keys(crds) {
		if k, _ := DefinedKind(crds[name]); k.Group == group && slices.Contains(ServedVersions(crds[name]), version) {
			return crds[name]
		}
	}
	return nil
}

// ServedVersions returns the versions that a CustomResourceDefinition serves.
func ServedVersions(crd *manifest.Object) (names []string) {
	served := lists.Filter(CRDVersions(crd), func(v CRDVersion) bool { return v.Served })
	return lists.Map(served, func(v CRDVersion) string { return v.Name })
}

// StoredVersions returns the versions in which the cluster may have stored objects: status.storedVersions, and the
// storage version if the CustomResourceDefinition has no status. inStatus says which.
func StoredVersions(crd *manifest.Object) (names []string, inStatus bool) {
	for _, v := range Items(Get(crd, "status", "storedVersions")) {
		if name, ok := v.(string); ok {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		return names, true
	}
	stored := lists.Filter(CRDVersions(crd), func(v CRDVersion) bool { return v.Storage })
	return lists.Map(stored, func(v CRDVersion) string { return v.Name }), false
}

// WithStored returns a CustomResourceDefinition as the cluster has it after it took the place of an older one: the API
// server adds its storage version to status.storedVersions, and removes none (apiextensions-apiserver:
// pkg/registry/customresourcedefinition/strategy.go, PrepareForUpdate).
func WithStored(crd, older *manifest.Object) (*manifest.Object, error) {
	value, err := crd.Value()
	if err != nil {
		return nil, err
	}
	names, _ := StoredVersions(older)
	storage, _ := StoredVersions(crd)
	value = maps.Clone(value)
	value["status"] = map[string]any{"storedVersions": text.Values(lists.SortedUnique(slices.Concat(names, storage)))}
	out := manifest.New(value)
	out.File = crd.File
	return out, nil
}

// DroppedVersions returns those of some stored versions that a newer CustomResourceDefinition does not have: the API
// server refuses it, and OLM asks first (apiextensions-apiserver: pkg/apis/apiextensions/validation,
// ValidateCustomResourceDefinitionUpdate; OLM: pkg/lib/crd/storage.go, SafeStorageVersionUpgrade).
func DroppedVersions(stored []string, now *manifest.Object) []string {
	versions := CRDVersions(now)
	return slices.DeleteFunc(slices.Clone(stored), func(name string) bool {
		return slices.ContainsFunc(versions, func(v CRDVersion) bool { return v.Name == name })
	})
}
