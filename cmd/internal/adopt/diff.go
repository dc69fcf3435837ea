package adopt

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
)

// Change is a field that differs.
type Change struct {
	Field    string `json:"field"`
	Cluster  string `json:"cluster,omitempty"`  // as JSON; empty if the field is not there
	Rendered string `json:"rendered,omitempty"` // the same
	// Applied is true if server-side apply changes the field: what only the cluster has stays, unless it is in a list
	// that is replaced as a whole.
	Applied bool   `json:"applied"`
	By      string `json:"by,omitempty"` // who wrote it, if the dump has managedFields
	Reason  string `json:"reason,omitempty"`

	scaled bool // written through the subresource scale: it stays as it is
}

// differ compares two values as server-side apply sees them.
type differ struct {
	keyed   bool // lists of the kind are merged by the keys of their items
	changes []Change
}

// diff returns the fields in which an object of the cluster differs from the rendered one.
func diff(kind string, cluster, rendered map[string]any) []Change {
	d := &differ{keyed: slices.Contains([]string{"Deployment", "Service", "ServiceAccount",
		"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}, kind)}
	d.value("", cluster, rendered, true, true, false)
	return d.changes
}

func (d *differ) value(path string, a, b any, hasA, hasB, atomic bool) {
	if reflect.DeepEqual(a, b) {
		return // null is as good as missing
	}
	am, okA := a.(map[string]any)
	bm, okB := b.(map[string]any)
	if okA && okB || path == "metadata.labels" || path == "metadata.annotations" { // of those each key counts
		d.fields(path, am, bm, atomic)
		return
	}
	al, okA := a.([]any)
	bl, okB := b.([]any)
	if okA && okB {
		d.list(path, al, bl, atomic)
		return
	}
	c := Change{Field: path, Applied: hasB || atomic}
	if hasA {
		c.Cluster = compactJSON(a)
	}
	if hasB {
		c.Rendered = compactJSON(b)
	}
	d.changes = append(d.changes, c)
}

func (d *differ) fields(path string, a, b map[string]any, atomic bool) {
	for _, k := range lists.Keys(a, b) {
		x, inA := a[k]
		y, inB := b[k]
		at := strings.TrimPrefix(path+"."+k, ".")
		if strings.ContainsAny(k, ".[]/") {
			at = path + `["` + k + `"]`
		}
		replaces := slices.Contains(atomicFields, k) || path == "" && k == "imagePullSecrets"
		d.value(at, x, y, inA, inB, atomic || inB && replaces)
	}
}

// atomicFields are what the types of k8s.io/api v0.36.3 mark with mapType=atomic, structType=atomic or listType=atomic
// (core/v1, meta/v1 and rbac/v1 types.go): selectors, references to a key, and the selectors of nodes. In a
// ServiceAccount, imagePullSecrets are atomic too.
var atomicFields = []string{"namespaceSelector", "objectSelector", "labelSelector", "podSelector", "selector",
	"nodeSelector", "configMapKeyRef", "secretKeyRef", "fileKeyRef", "fieldRef", "resourceFieldRef", "roleRef",
	"nodeSelectorTerms"}

// mergeKeys are the fields by which server-side apply finds an item of a list again.
var mergeKeys = []string{"name", "mountPath", "containerPort", "port", "uid", "ip"}

func (d *differ) list(path string, a, b []any, atomic bool) {
	key := lists.Find(mergeKeys, func(key string) bool { // by which all items of both lists can be told apart
		return len(byKey(a, key)) == len(a) && len(byKey(b, key)) == len(b)
	})
	if d.keyed && !atomic && key != "" {
		x, y := byKey(a, key), byKey(b, key)
		for _, k := range lists.Keys(x, y) {
			m, inA := x[k]
			n, inB := y[k]
			d.value(path+"["+k+"]", m, n, inA, inB, false)
		}
		order := func(x any) any { return x.(map[string]any)[key] } // each has it
		if a, b = lists.Map(a, order), lists.Map(b, order); len(d.changes) == 0 && !reflect.DeepEqual(a, b) {
			d.replaced(path, a, b)
		}
		return
	}
	if len(a) != len(b) {
		d.replaced(path, a, b)
		return
	}
	for i := range a {
		d.value(path+"["+strconv.Itoa(i)+"]", a[i], b[i], true, true, true)
	}
}

// replaced notes a list that server-side apply replaces as a whole.
func (d *differ) replaced(path string, a, b []any) {
	d.changes = append(d.changes, Change{Field: path, Cluster: compactJSON(a), Rendered: compactJSON(b), Applied: true})
}

func byKey(list []any, key string) map[string]any {
	out := map[string]any{}
	for _, x := range list {
		if m, _ := x.(map[string]any); m[key] != nil {
			out[fmt.Sprint(m[key])] = x
		}
	}
	return out
}

// written marks changes of fields that are rendered with the value that is their default: the comparison leaves such
// values out, and server-side apply writes them. Of an empty map it writes nothing, unless it replaces the field.
func written(changes []Change, rendered map[string]any) {
	for i := range changes {
		if c := &changes[i]; !c.Applied {
			v, ok := lookUp(rendered, decoded.Segments(c.Field))
			_, member := parentOf(c.Field)
			m, isMap := v.(map[string]any)
			if ok && (!isMap || len(m) > 0 || slices.Contains(atomicFields, member)) {
				c.Applied, c.Rendered = true, compactJSON(v)
			}
		}
	}
}

// lookUp follows the path of a Change in an object.
func lookUp(v any, path []string) (any, bool) {
	if len(path) == 0 {
		return v, true
	}
	switch v := v.(type) {
	case map[string]any:
		if next, ok := v[path[0]]; ok {
			return lookUp(next, path[1:])
		}
	case []any:
		for _, key := range mergeKeys {
			if next, ok := byKey(v, key)[path[0]]; ok {
				return lookUp(next, path[1:])
			}
		}
		if i, err := strconv.Atoi(path[0]); err == nil && i >= 0 && i < len(v) {
			return lookUp(v[i], path[1:])
		}
	}
	return nil, false
}

func compactJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return string(data)
}

// around shortens two values to the place where they begin to differ.
func around(a, b string) (string, string) {
	const most, before = 120, 40
	x, y := []rune(a), []rune(b)
	if len(x) <= most && len(y) <= most {
		return a, b
	}
	if a == "" || b == "" {
		return text.Middle(a, most), text.Middle(b, most)
	}
	same := 0
	for same < min(len(x), len(y)) && x[same] == y[same] {
		same++
	}
	cut := func(r []rune) string {
		from, to := max(0, same-before), min(len(r), max(0, same-before)+most)
		out := string(r[from:to])
		if from > 0 {
			out = "..." + out
		}
		if to < len(r) {
			out += "..."
		}
		return out
	}
	return cut(x), cut(y)
}
