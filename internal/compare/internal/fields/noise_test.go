package fields

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// TestNoise holds that each entry hides what it names and nothing else: the same field of another kind, with another value, or under another
// key is a difference.
func TestNoise(t *testing.T) {
	for _, n := range Ignored {
		if n.Reason == "" || strings.HasSuffix(n.Reason, ".") {
			t.Errorf("%+v has no reason", n)
		}
		kinds := n.Kinds
		if len(kinds) == 0 {
			kinds = []string{"Deployment", "CronJob", "Pod"}
		}
		keys := n.Keys
		if len(keys) == 0 {
			keys = []string{""}
		}
		for _, kind := range kinds {
			podPath, hasPods := PodPath(groups[kind], kind)
			for _, path := range n.expand(podPath, hasPods) {
				for _, key := range keys {
					at := segments(path)
					if key != "" {
						at = append(at, strings.Replace(key, "*", "rest", 1))
					}
					base, noisy := with(kind, at, nil, n.Owned), with(kind, at, valueOf(n.Value), n.Owned)
					if d := Differences(noisy, with(kind, at, "another", n.Owned)); n.Value == "" && len(d) > 0 {
						t.Errorf("%s %v has another value, and is a difference: %v", kind, at, d)
					}
					if d := Differences(base, noisy); len(d) > 0 {
						t.Errorf("%s %v is a difference: %v", kind, at, d)
					}
					d := Differences(noisy, with(kind, at, "of no OLM", false))
					if n.Owned && podPath != "" && !slices.ContainsFunc(d, func(d Difference) bool {
						return d.Old.Text == "any" && d.New.Text == "of no OLM"
					}) {
						t.Errorf("%s %v is no difference from an object that OLM does not own: %v", kind, at, d)
					}
					if other := with(kind, at, "another value", false); n.Value != "" && len(Differences(base, other)) == 0 {
						t.Errorf("%s %v: another value is no difference", kind, at)
					}
				}
			}
		}
	}
	for _, kind := range []string{"ConfigMap", "Ferry"} {
		a, b := with(kind, []string{"spec", "timeoutSeconds"}, 1, false), with(kind, []string{"spec", "timeoutSeconds"}, nil, false)
		if len(Differences(a, b)) == 0 {
			t.Errorf("the default of a probe is that of a %s", kind)
		}
	}
}

var groups = map[string]string{"Deployment": "apps", "StatefulSet": "apps", "ReplicaSet": "apps", "DaemonSet": "apps", "CronJob": "batch",
	"Job": "batch", "Ferry": "example.com"}

// segments splits a path of the list; "[]" and "[NAME]" are items.
func segments(path string) []string {
	return strings.FieldsFunc(strings.ReplaceAll(path, "[", ".["), func(r rune) bool { return r == '.' })
}

func valueOf(text string) any {
	switch text {
	case "":
		return "any"
	case "{}":
		return map[string]any{}
	case `""`:
		return ""
	case "true", "false":
		return text == "true"
	}
	return text
}

// with returns the fields of an object that has a value at a path, and another field beside it. OLM owns it or does not.
func with(kind string, path []string, value any, owned bool) Values {
	at := beside(path[len(path)-1], value)
	for _, seg := range slices.Backward(path[:len(path)-1]) {
		if name, isItem := strings.CutPrefix(seg, "["); isItem {
			m := maps.Clone(at.(map[string]any))
			m["name"] = cmp.Or(strings.TrimSuffix(name, "]"), "x")
			at = []any{m}
		} else {
			at = map[string]any{seg: at}
		}
	}
	v := at.(map[string]any)
	v["kind"], v["apiVersion"] = kind, strings.TrimPrefix(groups[kind]+"/v1", "/")
	if owned {
		metadata := maps.Clone(olm.Mapping(v["metadata"]))
		if metadata == nil {
			metadata = map[string]any{}
		}
		metadata["labels"], v["metadata"] = map[string]any{olm.LabelOwner: "a.v1"}, metadata
	}
	return WithoutNoise(manifest.New(v), v)
}

// beside returns a mapping with a key and another one, or a list with an item and another one.
func beside(key string, value any) any {
	if name, isItem := strings.CutPrefix(key, "["); isItem {
		list := []any{map[string]any{"name": "other"}}
		if value != nil {
			list = append(list, map[string]any{"name": strings.TrimSuffix(name, "]"), "value": value})
		}
		return list
	}
	m := map[string]any{"other": "1"}
	if value != nil {
		m[key] = value
	}
	return m
}

func ExampleDifferences() {
	of := func(v map[string]any) Values { return WithoutNoise(manifest.New(v), v) }
	for _, d := range Differences(of(map[string]any{"kind": "ConfigMap", "data": map[string]any{"a": "1"}}),
		of(map[string]any{"kind": "ConfigMap", "data": map[string]any{"a": "2"}})) {
		fmt.Println(d.Path, d.Old.Text, d.New.Text)
	}
	// Output: data.a 1 2
}

// An item of a list is called by a name that is text, and not by a list that the API server drops.
func TestNamesOfItems(t *testing.T) {
	o, err := manifest.ReadOne("a.yaml", []byte("apiVersion: v1\nkind: Service\nmetadata: {name: a}\n"))
	if err != nil {
		t.Fatal(err)
	}
	item := func(name any) Values {
		return WithoutNoise(o, map[string]any{"spec": map[string]any{"items": []any{map[string]any{"name": name, "value": "x"}}}})
	}
	if v := item("n"); v["spec.items[n].value"].Text != "x" {
		t.Errorf("%v", v)
	}
	if v := item([]any{}); v["spec.items[0].value"].Text != "x" {
		t.Errorf("%v", v)
	}
}
