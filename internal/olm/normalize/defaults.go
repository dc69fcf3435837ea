package normalize

import (
	_ "embed"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/olmgen/olmgen/internal/olm"
)

// defaultsText is the table of defaults.
//
//go:embed defaults.txt
var defaultsText string

// workloads are the kinds with pods.
const workloads = "Deployment,StatefulSet,DaemonSet,ReplicaSet,ReplicationController,Job,CronJob,Pod,PodTemplate"

// defaultValue is a value that the API server fills in, or that OLM's Go types always write. It goes from both sides.
type defaultValue struct {
	path  []string
	value any
	of    func(holder map[string]any) any // what value is if other fields decide, by the mapping that holds the field
}

// computed has the values that depend on other fields, by their paths.
var computed = map[string]func(holder map[string]any) any{
	"spec.backoffLimit":             given("backoffLimitPerIndex", float64(math.MaxInt32), 6.0),
	"spec.podReplacementPolicy":     given("podFailurePolicy", "Failed", "TerminatingOrFailed"),
	"spec.policyTypes":              given("egress", []any{"Ingress", "Egress"}, []any{"Ingress"}),
	"**.spec.serviceAccount":        func(m map[string]any) any { return m["serviceAccountName"] },
	"**.imagePullPolicy":            pullPolicy,
	"**.volumes.*.image.pullPolicy": pullPolicy,
	"spec.ports.*.targetPort":       func(m map[string]any) any { return m["port"] },
	"spec.names.listKind":           func(m map[string]any) any { return olm.Text(m["kind"]) + "List" },
	"spec.names.singular":           func(m map[string]any) any { return strings.ToLower(olm.Text(m["kind"])) },
}

// Filled returns the paths, with indexes, of the fields of an object with the value that the API server fills in, and
// the object without them; none of both for a kind without any.
func Filled(o map[string]any) (found map[string]bool, without map[string]any) {
	found = map[string]bool{}
	for _, d := range defaultsOf()[Object(o).Kind()] {
		if without == nil {
			without = Object(o).Copy()
			quantities(without)
		}
		d.walk(without, d.path, "",
			func(at string) { found[strings.TrimPrefix(at, ".")] = true })
	}
	return found, without
}

// Defaults returns the kinds, the path and the value of each default, as the table has them.
func Defaults() (rows [][3]string) {
	for line := range strings.Lines(defaultsText) {
		if f := strings.Fields(line); len(f) == 3 && f[0] != "#" {
			rows = append(rows, [3]string(f))
		}
	}
	return rows
}

// defaultsOf returns the defaults of each kind, in the order of the table.
var defaultsOf = sync.OnceValue(func() map[string][]defaultValue {
	byKind := map[string][]defaultValue{}
	for _, row := range Defaults() {
		d := defaultValue{path: strings.Split(row[1], ".")}
		if row[2] == "computed" {
			d.of = computed[row[1]]
		} else if err := json.Unmarshal([]byte(row[2]), &d.value); err != nil {
			panic("defaults.txt: " + err.Error()) // TestNoisePage
		}
		for kind := range strings.SplitSeq(strings.Replace(row[0], "workloads", workloads, 1), ",") {
			byKind[kind] = append(byKind[kind], d)
		}
	}
	return byKind
})

// walk removes the fields that have the value, and calls a function for each. at is the path of v.
func (d defaultValue) walk(v any, path []string, at string, found func(at string)) {
	switch v := v.(type) {
	case map[string]any:
		if path[0] == "**" {
			for key, x := range v {
				d.walk(x, path, at+"."+key, found)
			}
			path = path[1:]
		}
		for field := range strings.SplitSeq(strings.Trim(path[0], "{}"), ",") {
			x, ok := v[field]
			switch {
			case ok && len(path) > 1:
				d.walk(x, path[1:], at+"."+field, found)
			case ok && d.equals(x, v):
				found(at + "." + field)
				delete(v, field)
			}
		}
	case []any:
		if path[0] != "*" && path[0] != "**" {
			return
		}
		if path[0] == "*" {
			path = path[1:]
		}
		for i, x := range v {
			d.walk(x, path, at+"["+strconv.Itoa(i)+"]", found)
		}
	}
}

func (d defaultValue) equals(x any, holder map[string]any) bool {
	if d.of != nil {
		return reflect.DeepEqual(x, d.of(holder))
	}
	return reflect.DeepEqual(x, d.value)
}

// given returns one value where another field is given, and a second one where it is not.
func given(field string, value, otherwise any) func(map[string]any) any {
	return func(m map[string]any) any {
		if m[field] != nil {
			return value
		}
		return otherwise
	}
}

// pullPolicy is Always for the tag latest, said or not (Kubernetes: pkg/apis/core/v1/defaults.go; pkg/util/parsers).
func pullPolicy(m map[string]any) any {
	image, ok := m["image"].(string)
	if !ok {
		image, _ = m["reference"].(string)
	}
	name, _, pinned := strings.Cut(image[strings.LastIndex(image, "/")+1:], "@")
	name, tag, tagged := strings.Cut(name, ":")
	if tag == "latest" || !tagged && !pinned && name != "" && name == strings.ToLower(name) {
		return "Always"
	}
	return "IfNotPresent"
}

// quantities writes those in pod specs as the API server does: 1000m is 1.
func quantities(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			switch k {
			case "limits", "requests":
				for name, amount := range olm.Mapping(x) {
					olm.Mapping(x)[name] = quantity(amount)
				}
			case "sizeLimit", "divisor":
				v[k] = quantity(x)
			}
			quantities(x)
		}
	case []any:
		for _, x := range v {
			quantities(x)
		}
	}
}

func quantity(v any) any {
	if f, ok := v.(float64); ok && f == float64(int64(f)) {
		return resource.NewQuantity(int64(f), resource.DecimalSI).String()
	}
	if s, ok := v.(string); ok {
		if q, err := resource.ParseQuantity(s); err == nil {
			return q.String()
		}
	}
	return v
}
