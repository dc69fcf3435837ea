package manifest

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/golden/fuzztest"
)

// One form for every object: what names it comes first, the rest is sorted.
func TestEncodeOrder(t *testing.T) {
	object := map[string]any{
		"status": "s", "data": map[string]any{"name": "n", "b": "2", "a": "1"}, "spec": map[string]any{"z": []any{}, "a": map[string]any{}},
		"metadata": map[string]any{"uid": "u", "annotations": map[string]any{"b": "2", "a": "1"}, "finalizers": []any{"f"}, "namespace": "ns",
			"labels": map[string]any{"metadata": "m", "kind": "k", "apiVersion": "v"}, "name": "n"},
		"kind": "K", "Zeta": nil, "apiVersion": "v1",
	}
	want := `apiVersion: v1
kind: K
metadata:
  name: "n"
  namespace: ns
  labels:
    apiVersion: v
    kind: k
    metadata: m
  annotations:
    a: "1"
    b: "2"
  finalizers:
  - f
  uid: u
Zeta: null
data:
  a: "1"
  b: "2"
  name: "n"
spec:
  a: {}
  z: []
status: s
`
	if diff := cmp.Diff(want, string(Encode(object))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// Nesting, empty values and numbers.
func TestEncodeShape(t *testing.T) {
	for _, c := range []struct {
		name, json, want string
	}{
		{"nothing", `{}`, ""},
		{"no metadata", `{"metadata":{}}`, "metadata: {}\n"},
		{"metadata of another type", `{"metadata":["a"]}`, "metadata:\n- a\n"},
		{"list of mappings", `{"a":[{"b":1,"c":[{"d":{"e":2}}]},{}]}`, "a:\n- b: 1\n  c:\n  - d:\n      e: 2\n- {}\n"},
		{"list of lists", `{"a":[[1,[2,3]],[],[{"b":[4]}]]}`, "a:\n- - 1\n  - - 2\n    - 3\n- []\n- - b:\n    - 4\n"},
		{"numbers", `{"a":1,"b":1.5,"c":1e21,"d":-0.25,"e":18446744073709551615}`, "a: 1\nb: 1.5\nc: 1e21\nd: -0.25\ne: 18446744073709551615\n"},
		{"words", `{"a":null,"b":true,"c":false}`, "a: null\nb: true\nc: false\n"},
		{"long key", `{"` + strings.Repeat("k", 121) + `":{"a":[1]}}`, "? " + strings.Repeat("k", 121) + "\n:\n  a:\n  - 1\n"},
		{"long key in a list", `{"a":[{"` + strings.Repeat("k", 121) + `":"v"}]}`, "a:\n- ? " + strings.Repeat("k", 121) + "\n  : v\n"},
		{"deep", `{"a":{"b":{"c":[{"d":"x\ny"}]}}}`, "a:\n  b:\n    c:\n    - d: |-\n        x\n        y\n"},
	} {
		d := json.NewDecoder(strings.NewReader(c.json))
		d.UseNumber()
		var v map[string]any
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, string(Encode(v))); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.name, diff)
		}
	}
}

// Text is plain where every reader takes it for text, else quoted; several lines are a block.
func TestEncodeText(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a", "a"}, {"hello world", "hello world"}, {"a:b", "a:b"}, {"a#b", "a#b"}, {"quay.io/a/b:v1@sha256:0", "quay.io/a/b:v1@sha256:0"}, {"/a-b_c", "/a-b_c"},
		{"a\"b", "a\"b"}, {"it's", "it's"}, {"é😀", "é😀"}, {"-w", "-w"}, {"--x=y", "--x=y"}, {"100m", "100m"}, {"v1", "v1"}, {"a, b", "a, b"}, {"a]", "a]"},
		{"", `""`}, {" a", "' a'"}, {"a ", "'a '"}, {"a: b", "'a: b'"}, {"a:", "'a:'"}, {"a #b", "'a #b'"}, {"#a", "'#a'"}, {"- a", "'- a'"}, {"-", `"-"`}, {"-a", `"-a"`}, {"? a", "'? a'"},
		{"*", "'*'"}, {"&a", "'&a'"}, {"!a", "'!a'"}, {"|", "'|'"}, {">", "'>'"}, {"%a", "'%a'"}, {"@a", "'@a'"}, {"`a`", "'`a`'"}, {"[a]", "'[a]'"}, {"{a}", "'{a}'"},
		{"{{ .x }}", "'{{ .x }}'"}, {"---", `"---"`}, {"--- a", "'--- a'"}, {"...", `"..."`}, {"'a'", "\"'a'\""}, {"'a\"", "'''a\"'"}, {"\"a\"", "'\"a\"'"},
		{"true", `"true"`}, {"no", `"no"`}, {"y", `"y"`}, {"null", `"null"`}, {"~", `"~"`}, {"1", `"1"`}, {"1.5", `"1.5"`}, {"0x1F", `"0x1F"`}, {"1_000", `"1_000"`}, {"1e3", `"1e3"`},
		{"0o7", `"0o7"`}, {"12:30:45", `"12:30:45"`}, {"2001-12-14", `"2001-12-14"`}, {"2001-12-14T21:59:43Z", `"2001-12-14T21:59:43Z"`}, {".inf", `".inf"`}, {"<<", `"<<"`}, {"=", `"="`},
		{strings.Repeat("1", 80), `"` + strings.Repeat("1", 80) + `"`},
		{"a\tb", "'a\tb'"}, {"\x00", `"\x00"`}, {"a\r", `"a\r"`}, {"\u2028", `"\u2028"`}, {"\ufeffa", `"\ufeffa"`}, {"\u0085", `"\x85"`}, {"\x7f", `"\x7f"`}, {"\\\x01", `"\\\x01"`},
		{"\n", `"\n"`}, {"\n\n", `"\n\n"`}, {" \n", `" \n"`}, {"a\nb\x00", `"a\nb\x00"`},
		{"a\nb", "|-\n  a\n  b"}, {"a\nb\n", "|\n  a\n  b"}, {"a\n\n", "|+\n  a\n"}, {"a\n\nb", "|-\n  a\n\n  b"}, {" a\nb", "|2-\n   a\n  b"}, {"\n a", "|2-\n\n   a"}, {"a\n b", "|-\n  a\n   b"},
		{"a\n---\nb", "|-\n  a\n  ---\n  b"}, {"a \nb", "|-\n  a \n  b"}, {"a\n \t", "|-\n  a\n   \t"},
	} {
		if got, want := string(Encode(map[string]any{"k": c.text})), "k: "+c.want+"\n"; got != want {
			t.Errorf("%q: printed as\n%swant\n%s", c.text, got, want)
		}
		checkEncode(t, map[string]any{"k": c.text})
	}
}

// Block prints what stands behind a key of a template.
func TestBlock(t *testing.T) {
	for _, c := range []struct {
		name   string
		value  any
		indent int
		want   string
	}{
		{"mapping", map[string]string{"b": "1", "a": "x"}, 4, "\n    a: x\n    b: \"1\""},
		{"empty mapping", map[string]string{}, 4, " {}"},
		{"nil mapping", map[string]string(nil), 4, " {}"},
		{"list", []string{"a", "yes"}, 4, "\n  - a\n  - \"yes\""},
		{"empty list", []any{}, 2, " []"},
		{"list of mappings", []map[string]any{{"a": 1, "b": []any{"c"}}}, 2, "\n- a: 1\n  b:\n  - c"},
		{"text", "a", 2, " a"},
		{"text of lines", "a\nb\n", 4, " |\n    a\n    b"},
		{"number", int32(5), 2, " 5"},
		{"nothing", nil, 2, " null"},
		{"printed already", Text("\n  a: b"), 2, "\n  a: b"},
	} {
		if got := Block(c.value, c.indent); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// hostileStrings are texts that break naive YAML.
var hostileStrings = []string{
	"", " ", "a", "\"", "'", "'\"", "\\", "\n", "\r\n", "\t", "\ta", "a\t", " a", "a ", "a\nb", "a\nb\n", "a\n\n", "\na", "\n a", " a\nb", "a\n b\n  ", "a\r\nb", "\n\n", " \n ", "\t\n",
	"{{", "{{ .x }}", "}}", ": ", "a: b", "a:", ":a", " #", "a #b", "#", "- ", "-", "- a", "? ", "!", "!!str", "&a", "*a", "|", ">", "|-\n a", "---", "--- ", "---\na", "...", "a\n---\nb", "%YAML",
	"[", "]", "{", "}", ",", "`", "@", "=", "<<", "~", "null", "true", "yes", "y", "0", "-0", "1e3", "1e999", "0x1", "0b1", "0o7", ".5", ".", "1_0", "+1", "1:2", "12:30:45", ".inf", ".nan", "2001-01-01",
	"\x00", "\x1b", "\x7f", "\u0085", "\u00a0", "\u2028", "a\u2029b", "\ufeff", "\ufffd", "\ufffe", "😀", "é", "\U0010ffff", "a\u2028\nb", "<>&",
	strings.Repeat("k", 200), strings.Repeat("k", 1100), strings.Repeat("k ", 600), strings.Repeat("k\n", 100), strings.Repeat("9", 400),
}

func TestEncodeHostile(t *testing.T) {
	for _, s := range hostileStrings {
		checkEncode(t, hostileObject(s))
	}
}

// Whatever JSON can hold is printed so that every reader takes it for the same.
func FuzzEncode(f *testing.F) {
	for _, s := range hostileStrings {
		f.Add([]byte(s))
		b, err := json.Marshal(hostileObject(s))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzztest.Limit(t, len(data))
		var v any
		if json.Unmarshal(data, &v) == nil {
			m, ok := v.(map[string]any)
			if !ok {
				m = map[string]any{"v": v}
			}
			checkEncode(t, plusZero(m).(map[string]any))
		}
		if utf8.Valid(data) {
			checkEncode(t, hostileObject(string(data)))
		}
	})
}

// plusZero turns -0 into 0: YAML has no negative zero that is an integer.
func plusZero(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = plusZero(x)
		}
	case []any:
		for i, x := range v {
			v[i] = plusZero(x)
		}
	case float64:
		return v + 0
	}
	return v
}

// hostileObject puts a text into every kind of place.
func hostileObject(s string) map[string]any {
	return map[string]any{"v": s, s: s, "metadata": map[string]any{"name": s, "labels": map[string]any{s: s}, s: map[string]any{s: []any{s}}},
		"list": []any{s, []any{s, []any{s}, map[string]any{s: s}}, map[string]any{s: map[string]any{s: s}, "k": s}, map[string]any{s: []any{s}}}}
}

// checkEncode prints an object and reads it with olmgen, sigs.k8s.io/yaml and the YAML 1.2 library.
func checkEncode(t *testing.T, object map[string]any) {
	t.Helper()
	text := Encode(object)
	want, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	if len(object) == 0 {
		return
	}
	if got, err := sigsyaml.YAMLToJSON(text); err != nil || string(got) != string(want) {
		t.Errorf("sigs.k8s.io/yaml reads %s, %v\nwant %s\nfrom\n%s", got, err, want, text)
	}
	docs, err := ReadFile("f.yaml", text, Limits{})
	if err != nil || len(docs) != 1 || docs[0].ReprintReason != "" && docs[0].ReprintReason != "anchors and aliases" {
		t.Errorf("does not read its own text: %d documents, %v\n%s", len(docs), err, text)
		return
	}
	v, err := docs[0].Value()
	if err != nil {
		t.Errorf("does not read its own text: %v\n%s", err, text)
		return
	}
	if again := Encode(v.(map[string]any)); string(again) != string(text) {
		t.Errorf("printed again it differs:\n%s", cmp.Diff(string(text), string(again)))
	}
	var other any
	if err := yaml.Unmarshal(text, &other); err != nil {
		t.Errorf("go.yaml.in/yaml/v3: %v\n%s", err, text)
		return
	}
	if path := differs(object, other); path != "" {
		t.Errorf("go.yaml.in/yaml/v3 reads something else at %s\n%s", path, text)
	}
}

// differs finds where two trees differ; numbers of any type are compared by value.
func differs(want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		m, ok := got.(map[string]any)
		if !ok || len(m) != len(want) {
			return fmt.Sprintf("(%T)", got)
		}
		for k, v := range want {
			if x, ok := m[k]; !ok {
				return fmt.Sprintf(".%q (missing)", k)
			} else if p := differs(v, x); p != "" {
				return fmt.Sprintf(".%q", k) + p
			}
		}
		return ""
	case []any:
		s, ok := got.([]any)
		if !ok || len(s) != len(want) {
			return fmt.Sprintf("(%T)", got)
		}
		for i := range want {
			if p := differs(want[i], s[i]); p != "" {
				return fmt.Sprintf("[%d]", i) + p
			}
		}
		return ""
	case float64:
		var f float64
		switch n := got.(type) {
		case int:
			f = float64(n)
		case int64:
			f = float64(n)
		case uint64:
			f = float64(n)
		case float64:
			f = n
		default:
			return fmt.Sprintf(" (%T)", got)
		}
		if math.Abs(f-want) > math.Abs(want)*1e-15 {
			return fmt.Sprintf(" (%v, want %v)", f, want)
		}
		return ""
	}
	if want != got {
		return fmt.Sprintf(" (%#v, want %#v)", got, want)
	}
	return ""
}
