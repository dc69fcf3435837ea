package adopt

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/internal/base/decoded"
)

// inWords prints changes, each "field: value of the cluster -> rendered value", with a star if applying changes it.
func inWords(changes []Change) (list []string) {
	for _, c := range changes {
		line := c.Field + ": " + c.Cluster + " -> " + c.Rendered
		if c.Applied {
			line += " *"
		}
		list = append(list, line)
	}
	return list
}

// A comparison sees what server-side apply would change: what only the cluster has stays, lists are merged by the keys
// of their items, and selectors are replaced as a whole.
func TestDiff(t *testing.T) {
	for _, c := range []struct {
		what, kind, cluster, rendered string
		want                          []string
	}{
		{"nothing", "Deployment", `{a: {b: [1]}}`, `{a: {b: [1]}}`, nil},
		{"null is missing", "Deployment", `{a: null, c: {}}`, `{b: null, c: {}}`, nil},
		{"a value", "Deployment", `{a: 1}`, `{a: 2}`, []string{"a: 1 -> 2 *"}},
		{"only in the cluster", "Deployment", `{a: {b: 1}}`, `{}`, []string{`a: {"b":1} -> `}},
		{"only rendered", "Deployment", `{}`, `{a: {b: 1}}`, []string{`a:  -> {"b":1} *`}},
		{"a map and a list", "Deployment", `{a: {b: 1}}`, `{a: [1]}`, []string{`a: {"b":1} -> [1] *`}},
		{"a list and a map", "Deployment", `{a: [1]}`, `{a: {b: 1}}`, []string{`a: [1] -> {"b":1} *`}},
		{"a text and a list", "Deployment", `{a: x}`, `{a: [1]}`, []string{`a: "x" -> [1] *`}},
		{"a list and a text", "Deployment", `{a: [1]}`, `{a: x}`, []string{`a: [1] -> "x" *`}},
		{"the first label", "Role", `{metadata: {name: x}}`, `{metadata: {name: x, labels: {a.b/c: d}}}`,
			[]string{`metadata.labels["a.b/c"]:  -> "d" *`}},
		{"the only annotation", "Role", `{metadata: {annotations: {a: b}}}`, `{metadata: {}}`, []string{`metadata.annotations.a: "b" -> `}},
		{"labels elsewhere", "Role", `{spec: {}}`, `{spec: {labels: {a: b}}}`, []string{`spec.labels:  -> {"a":"b"} *`}},
		{"a selector", "Deployment", `{selector: {matchLabels: {a: b, c: d}}}`, `{selector: {matchLabels: {a: b}}}`,
			[]string{`selector.matchLabels.c: "d" ->  *`}},
		{"a selector that is not rendered", "Deployment", `{spec: {selector: {a: b}}}`, `{spec: {}}`, []string{`spec.selector: {"a":"b"} -> `}},
		{"no selector", "Deployment", `{labels: {a: b, c: d}}`, `{labels: {a: b}}`, []string{`labels.c: "d" -> `}},
		{"secrets to pull images of an account", "ServiceAccount", `{imagePullSecrets: [{name: a}, {name: b}]}`, `{imagePullSecrets: [{name: b}]}`,
			[]string{`imagePullSecrets: [{"name":"a"},{"name":"b"}] -> [{"name":"b"}] *`}},
		{"secrets to pull images of a pod", "Deployment", `{spec: {imagePullSecrets: [{name: a}, {name: b}]}}`, `{spec: {imagePullSecrets: [{name: b}]}}`,
			[]string{`spec.imagePullSecrets[a]: {"name":"a"} -> `}},
		{"secrets of an account", "ServiceAccount", `{secrets: [{name: a}, {name: b}]}`, `{secrets: [{name: b}]}`, []string{`secrets[a]: {"name":"a"} -> `}},
		{"items by their key", "Deployment", `{ports: [{name: a, x: 1}, {name: b}]}`, `{ports: [{name: a, x: 2}, {name: c}]}`,
			[]string{`ports[a].x: 1 -> 2 *`, `ports[b]: {"name":"b"} -> `, `ports[c]:  -> {"name":"c"} *`}},
		{"items of a kind that is replaced", "ClusterServiceVersion", `{deployments: [{name: a, x: 1}]}`, `{deployments: [{name: a}]}`,
			[]string{`deployments[0].x: 1 ->  *`}},
		{"items in another order", "Deployment", `{env: [{name: a}, {name: b}]}`, `{env: [{name: b}, {name: a}]}`,
			[]string{`env: ["a","b"] -> ["b","a"] *`}},
		{"items in another order, and a change", "Deployment", `{env: [{name: a, value: x}, {name: b}]}`, `{env: [{name: b}, {name: a, value: z}]}`,
			[]string{`env[a].value: "x" -> "z" *`}},
		{"items with a null", "Deployment", `{env: [{name: a, value: null}]}`, `{env: [{name: a}]}`, nil},
		{"items without a key", "Deployment", `{terms: [{weight: 1}]}`, `{terms: [{weight: 2}]}`, []string{`terms[0].weight: 1 -> 2 *`}},
		{"items with one key twice", "Deployment", `{env: [{name: a}, {name: a, x: 1}]}`, `{env: [{name: a}]}`,
			[]string{`env: [{"name":"a"},{"name":"a","x":1}] -> [{"name":"a"}] *`}},
		{"items that are rendered with one key twice", "Deployment", `{env: [{name: a}]}`, `{env: [{name: a}, {name: a, x: 1}]}`,
			[]string{`env: [{"name":"a"}] -> [{"name":"a"},{"name":"a","x":1}] *`}},
		{"arguments", "Deployment", `{args: [a, b]}`, `{args: [a, c]}`, []string{`args[1]: "b" -> "c" *`}},
		{"more arguments", "Deployment", `{args: [a]}`, `{args: [a, b]}`, []string{`args: ["a"] -> ["a","b"] *`}},
	} {
		if got := inWords(diff(c.kind, fromYAML(c.cluster), fromYAML(c.rendered))); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%q, want\n%q", c.what, got, c.want)
		}
	}
}

// A field that is rendered with its default is written by server-side apply, though the comparison leaves it out.
func TestWritten(t *testing.T) {
	rendered := fromYAML(`{spec: {ports: [{name: web, protocol: TCP}], list: [x, [z]], a.b: {c: d}, empty: {}, nodeSelector: {}}}`)
	for field, want := range map[string]string{
		`spec.ports[web].protocol`: `"TCP" *`,
		`spec.ports[web].port`:     ``,
		`spec.ports[other]`:        ``,
		`spec.list[0]`:             `"x" *`,
		`spec.list[1]`:             `["z"] *`,
		`spec.list[1][0]`:          `"z" *`,
		`spec.list[2]`:             ``,
		`spec.list[-1]`:            ``,
		`spec.list[x]`:             ``,
		`spec["a.b"]`:              `{"c":"d"} *`,
		`spec.empty`:               ``, // nothing is written there
		`spec.nodeSelector`:        `{} *`,
		`spec["a.b"].c`:            `"d" *`,
		`spec.none`:                ``,
		`spec.list[0].none`:        ``,
	} {
		changes := []Change{{Field: field, Cluster: "1"}, {Field: field, Rendered: "2", Applied: true}}
		written(changes, rendered)
		got := changes[0].Rendered
		if changes[0].Applied {
			got += " *"
		}
		if got != want || changes[1].Rendered != "2" {
			t.Errorf("%s: rendered %q, want %q; %s", field, got, want, changes[1].Rendered)
		}
	}
	if v, ok := lookUp(rendered, decoded.Segments("")); !ok || fmt.Sprint(v) != fmt.Sprint(rendered) {
		t.Errorf("the object itself: %v", v)
	}
}

// Two long values are shown where they begin to differ, so that they are not the same text twice.
func TestAround(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, c := range []struct{ a, b, x, y string }{
		{"1", "2", "1", "2"},
		{long + "a" + long, long + "b" + long, "..." + strings.Repeat("x", 40) + "a" + strings.Repeat("x", 79) + "...", "..." + strings.Repeat("x", 40) + "b" + strings.Repeat("x", 79) + "..."},
		{"a" + long, "b", "a" + strings.Repeat("x", 119) + "...", "b"},
		{"b", "a" + long, "b", "a" + strings.Repeat("x", 119) + "..."},
		{long[:120], long[:119] + "y", long[:120], long[:119] + "y"},
		{long, "", strings.Repeat("x", 59) + "…" + strings.Repeat("x", 60), ""},
		{"", long, "", strings.Repeat("x", 59) + "…" + strings.Repeat("x", 60)},
		{long, long + "é", "..." + strings.Repeat("x", 40), "..." + strings.Repeat("x", 40) + "é"},
	} {
		if x, y := around(c.a, c.b); x != c.x || y != c.y {
			t.Errorf("%q and %q", x, y)
		}
	}
}
