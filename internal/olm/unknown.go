package olm

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
)

// Undeclared is what becomes of a field that no schema has: kubectl, Helm and server-side apply validate.
const Undeclared = "an apply that validates refuses the object, else the API server drops it"

// UnknownFields returns the fields of an OperatorGroup, Subscription, CatalogSource or ClusterServiceVersion that the
// API server drops without an error, because the schema does not have them. The errors suggest the intended field. An
// object whose apiVersion is unknown has none.
func UnknownFields(o *manifest.Object) []*manifest.Error {
	s, e := schemaOf(o)
	if e != nil {
		return nil
	}
	value, err := o.Value()
	if err != nil {
		return nil
	}
	u := &unknownFields{object: o}
	if o.Kind == operatorsv1.OperatorGroupKind {
		var spec operatorsv1.OperatorGroupSpec
		_ = o.Field(&spec, "spec") // a field of a wrong type counts as absent
		u.global = TargetsOf(&spec).Global()
	}
	u.walk("metadata", value["metadata"], metadata())
	top := maps.Clone(value)
	for _, name := range []string{"apiVersion", "kind", "metadata", "status"} {
		delete(top, name)
	}
	u.walk("", top, s)
	return u.found
}

// UnknownKind returns an error about an object of OLM whose kind OLM does not have, or of Kubernetes whose kind looks
// like a misspelt one; nil of others. The kinds are those of the newest releases, and those of OLM v0's marketplace.
func UnknownKind(o *manifest.Object) *manifest.Error {
	group := o.Group()
	own := group == Group || group == GroupV1
	if _, known := KindOf(group, o.Kind); known || !own && !BuiltinGroup(group) || strings.HasSuffix(o.Kind, "List") ||
		o.Kind == "OperatorSource" || o.Kind == "CatalogSourceConfig" {
		return nil
	}
	hint := text.DidYouMean(o.Kind, lists.Map(kinds().groups[group], func(k Kind) string { return k.Name }))
	if !own && hint == "" {
		return nil
	}
	return o.Errorf("kind", "%s has no kind %s: the API server refuses it", cmp.Or(group, "v1"), o.Kind).With(hint)
}

// metadata returns the fields that metadata of an object has. What they hold is not looked at.
var metadata = sync.OnceValue(func() *schema {
	s := &schema{Type: "object", Properties: map[string]*schema{}}
	for f := range reflect.TypeFor[metav1.ObjectMeta]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		s.Properties[name] = &schema{KeepsUnknown: true}
	}
	return s
})

type unknownFields struct {
	object *manifest.Object
	global bool // a group that targets all namespaces
	found  []*manifest.Error
}

func (u *unknownFields) walk(field string, value any, s *schema) {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			of := cmp.Or(s.Properties[name], s.Values)
			switch {
			case of != nil:
				u.walk(join(field, name), value[name], of)
			case !s.KeepsUnknown && s.Type == "object":
				u.add(join(field, name), name, s)
			}
		}
	case []any:
		for i, item := range value {
			if s.Items != nil {
				u.walk(fmt.Sprintf("%s[%d]", field, i), item, s.Items)
			}
		}
	}
}

func (u *unknownFields) add(field, name string, s *schema) {
	e := u.object.Errorf(field, "unknown field: %s", Undeclared)
	if u.global && (name == "spec" || !strings.HasPrefix(field, "metadata.")) {
		e.Msg += ", so the group targets all namespaces"
	}
	known := slices.Sorted(maps.Keys(s.Properties))
	switch near := text.Nearest(name, known); {
	case field == "metadata."+name && slices.Contains([]string{"spec", "status"}, name):
		e.Tip = "did you mean " + name + " beside metadata? Indent it less"
	case near != "":
		e.Tip = "did you mean " + near + "?"
	case s.Properties["matchLabels"] != nil:
		e.Tip = "did you mean matchLabels? Put the labels below it"
	case len(known) > 0:
		e.Tip = "known fields: " + strings.Join(known, ", ")
	}
	u.found = append(u.found, e)
}

// ListedAPIs returns the items of olm.providedAPIs (OLM: pkg/controller/registry/resolver/cache/operators.go,
// GVKStringToProvidedAPISet).
func ListedAPIs(annotation string) []string {
	items := strings.Split(strings.ReplaceAll(annotation, " ", ""), ",")
	return slices.DeleteFunc(items, func(item string) bool { return item == "" })
}

// MalformedAPIs returns the items of olm.providedAPIs that do not name an API as Kind.version.group. OLM ignores some
// of them and never finds an operator for the others (OLM: pkg/controller/registry/resolver/cache/operators.go,
// GVKStringToProvidedAPISet).
func MalformedAPIs(annotation string) []string {
	return lists.Filter(ListedAPIs(annotation), func(item string) bool {
		kind, rest, _ := strings.Cut(item, ".")
		version, group, _ := strings.Cut(rest, ".")
		return kind == "" || !isVersion().MatchString(version) || !isGroup().MatchString(group)
	})
}

var (
	isVersion = lazy.Regexp(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	isGroup   = lazy.Regexp(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
)

// DescriptorLists returns the fields of a ClusterServiceVersion in which a descriptor of an API has a list as its
// value. The schema of OLM's CRD says that it is text of the format byte. The API server takes a list for that when an
// object is created or updated, as OLM does, and when it is applied client-side; server-side apply refuses it with
// "expected string" (Kubernetes: kube-openapi pkg/validation/validate/type.go; structured-merge-diff
// typed/validate.go).
func DescriptorLists(csv *manifest.Object) ([]string, error) {
	var found []string
	for _, apis := range []string{"customresourcedefinitions", "apiservicedefinitions"} {
		for _, list := range []string{"owned", "required"} {
			v, err := csv.Get("spec", apis, list)
			if err != nil {
				return nil, err
			}
			for i, x := range Items(v) {
				found = append(found, listsOf(x, fmt.Sprintf("spec.%s.%s[%d]", apis, list, i))...)
			}
		}
	}
	return found, nil
}

// listsOf returns the descriptors of an API that have lists as their values.
func listsOf(api any, at string) (found []string) {
	for _, kind := range []string{"specDescriptors", "statusDescriptors", "actionDescriptors"} {
		for i, d := range Items(Mapping(api)[kind]) {
			if _, list := Mapping(d)["value"].([]any); list {
				found = append(found, fmt.Sprintf("%s.%s[%d].value", at, kind, i))
			}
		}
	}
	return found
}
