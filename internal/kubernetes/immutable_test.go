package kubernetes

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/internal/writes"
)

// TestImmutable holds that the fields which package olm calls immutable are those that the API server does not let
// change, of the kinds that are rendered.
func TestImmutable(t *testing.T) {
	eachKind(t, func(t *testing.T, gvk schema.GroupVersionKind, o runtime.Object, r *rand.Rand) {
		was := stored(t, gvk, written(o))
		if !slices.Contains(normalize.Kinds, gvk.Kind) || was["immutable"] == true { // then it is not the field
			return
		}
		path := (&filler{Rand: r, names: 1000}).change(o)
		is := stored(t, gvk, written(o))
		if gvk.Kind == "Service" && (path == ".Spec.ClusterIP" || path == ".Spec.Type") { // it depends on the type
			return
		}
		refuses := refusals(t, is, was)
		maps.DeleteFunc(refuses, func(field, message string) bool {
			return !fixed.MatchString(message) || conditional.MatchString(field)
		})
		said := false
		for _, field := range olm.ImmutableFields(gvk.Group, gvk.Kind) {
			a, had := decoded.At(was, strings.Split(field, "."))
			b, has := decoded.At(is, strings.Split(field, ".")) // the API server keeps the address of a Service
			said = said || had && has && !reflect.DeepEqual(a, b)
		}
		if said != (len(refuses) > 0) {
			t.Errorf("%s %s: package olm calls it immutable: %t; the API server: %v", gvk.Kind, path, said, refuses)
		}
	})
}

// fixed is what the API server says to a field that does not change.
var fixed = regexp.MustCompile(`immutable|cannot change|not be changed|may not change|updates to`)

// conditional are fields that do not change in some Services only: a second family comes and goes.
var conditional = regexp.MustCompile(`^spec\.(ipFamil|loadBalancerClass)`)

// refusals returns the fields of which the API server refuses the value, with its words.
func refusals(t *testing.T, o, existing map[string]any) map[string]string {
	t.Helper()
	var w writes.Write
	var err error
	if w.Object, err = json.Marshal(o); err == nil && existing != nil {
		w.Existing, err = json.Marshal(existing)
	}
	if err != nil {
		t.Fatal(err)
	}
	answers, err := Checker{}.Check(t.Context(), []writes.Write{w})
	if err != nil || !answers[0].Known {
		t.Fatalf("%v %v", err, answers)
	}
	out := map[string]string{}
	for _, c := range answers[0].Causes {
		out[c.Field] = c.Message
	}
	return out
}
