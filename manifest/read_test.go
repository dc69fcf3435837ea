package manifest

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/golden/fuzztest"
)

// A file is cut at its document markers; every document knows its first line and says why its bytes can't be carried.
func TestDocuments(t *testing.T) {
	type document struct {
		Line  int
		Empty bool
		Fresh string
		Raw   string
	}
	const several = "one of several documents"
	for _, c := range []struct {
		name, text string
		want       []document
	}{
		{"nothing", "", nil},
		{"blank", "\n \n", nil},
		{"one", "a: b\n", []document{{1, false, "", "a: b\n"}}},
		{"no final newline", "a: b", []document{{1, false, "", "a: b"}}},
		{"leading marker", "---\na: b\n", []document{{1, false, "", "---\na: b\n"}}},
		{"license comment above", "# license\na: b\n", []document{{1, false, "", "# license\na: b\n"}}},
		{"license comment as a document", "# license\n---\na: b\n", []document{{1, true, several, "# license\n"}, {2, false, several, "---\na: b\n"}}},
		{"two", "a: b\n---\nc: d\n", []document{{1, false, several, "a: b\n"}, {2, false, several, "---\nc: d\n"}}},
		{"two markers", "---\n---\na: b\n", []document{{1, true, several, "---\n"}, {2, false, several, "---\na: b\n"}}},
		{"trailing marker", "a: b\n---\n", []document{{1, false, several, "a: b\n"}, {2, true, several, "---\n"}}},
		{"end marker", "a: b\n...\nc: d\n", []document{{1, false, several, "a: b\n"}, {3, false, several, "c: d\n"}}},
		{"marker with a comment", "a: b\n--- # second\nc: d\n", []document{{1, false, several, "a: b\n"}, {2, false, several, "--- # second\nc: d\n"}}},
		{"no marker: text follows", "a: |\n  ---\n  x\nb: '\n  ---'\n---c: d\n", []document{{1, false, "", "a: |\n  ---\n  x\nb: '\n  ---'\n---c: d\n"}}},
		{"directive", "%YAML 1.1\n---\na: b\n", []document{{1, false, "a YAML directive", "%YAML 1.1\n---\na: b\n"}}},
		{"directive below a blank line", "\n%YAML 1.1\n---\na: b\n", []document{{1, false, "a YAML directive", "\n%YAML 1.1\n---\na: b\n"}}},
		{"comment only", "# nothing here\n", []document{{1, true, "", "# nothing here\n"}}},
		{"JSON", "{\"a\": [1, true]}\n", []document{{1, false, "", "{\"a\": [1, true]}\n"}}},
		{"byte-order mark", "\ufeffa: b\n", []document{{1, false, "a byte-order mark", "a: b\n"}}},
		{"CRLF", "a: b\r\nc: d\r\n", []document{{1, false, "", "a: b\nc: d\n"}}},
		{"CR", "a: b\rc: d\r", []document{{1, false, "carriage returns", "a: b\nc: d\n"}}},
		{"line separator", "a: 'b\u2028c'\n", []document{{1, false, "line breaks that most editors do not show", "a: 'b\u2028c'\n"}}},
		{"anchor", "a: &x b\n", []document{{1, false, "anchors and aliases", "a: &x b\n"}}},
		{"tag", "a: !!str b\n", []document{{1, false, "YAML tags", "a: !!str b\n"}}},
		{"word of YAML 1.1", "a: yes\n", []document{{1, false, "words that YAML 1.1 and 1.2 read differently", "a: yes\n"}}},
		{"word of YAML 1.1, quoted", "a: 'yes'\n", []document{{1, false, "", "a: 'yes'\n"}}},
		{"duplicate key", "a: b\na: c\n", []document{{1, false, "duplicate keys", "a: b\na: c\n"}}},
		{"duplicate key, spelled differently", "yes: b\ntrue: c\n", []document{{1, false, "duplicate keys", "yes: b\ntrue: c\n"}}},
		{"merge key", "a:\n  <<: {x: 1}\n", []document{{1, false, "merge keys", "a:\n  <<: {x: 1}\n"}}},
	} {
		docs, err := ReadFile("f.yaml", []byte(c.text), Limits{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []document
		for i, d := range docs {
			got = append(got, document{d.Line, d.Root == nil, d.ReprintReason, string(d.Raw)})
			if d.Index != i || d.File != "f.yaml" {
				t.Errorf("%s: document %d says it is %d of %s", c.name, i, d.Index, d.File)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.name, diff)
		}
	}
}

// Every duplicate key is listed with its line in the file, in small and in large mappings.
func TestDuplicates(t *testing.T) {
	large := strings.Builder{}
	for i := range 100 {
		fmt.Fprintf(&large, "k%d: v\n", i)
	}
	for _, c := range []struct {
		text string
		want []Duplicate
	}{
		{"a: 1\nb: 2\n", nil},
		{"a: 1\nb: 2\na: 3\na: 4\n", []Duplicate{{"a", 3}, {"a", 4}}},
		{"x:\n- a: 1\n  a: 2\n- a: 1\n", []Duplicate{{"a", 3}}},
		{"# first\n---\na: 1\n\"a\": 2\n", []Duplicate{{"a", 4}}},
		{"1: a\n'1': b\n", []Duplicate{{"1", 2}}},
		{large.String() + "k7: w\n", []Duplicate{{"k7", 101}}},
	} {
		docs, err := ReadFile("f.yaml", []byte(c.text), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, docs[len(docs)-1].Duplicates); diff != "" {
			t.Errorf("%q: -want +got\n%s", c.text, diff)
		}
	}
}

// What is not YAML is refused, with the line of the file.
func TestNotYAML(t *testing.T) {
	const tip = "look for a tab in the indentation, a missing quote or a missing colon near that line"
	for _, c := range []struct{ name, text, want, tip string }{
		{"no UTF-8", "a: b\nc: \xff\n", "f.yaml:2: not UTF-8 text", "save it as UTF-8"},
		{"UTF-16", "\xff\xfea\x00", "f.yaml:1: not UTF-8 text, but UTF-16", "save it as UTF-8"},
		{"UTF-16 without a mark", "a\x00:\x00", "f.yaml:1: not UTF-8 text, but UTF-16", "save it as UTF-8"},
		{"UTF-32", "\xff\xfe\x00\x00a\x00\x00\x00", "f.yaml:1: not UTF-8 text, but UTF-32", "save it as UTF-8"},
		{"NUL", "a: b\n\x00\n", "f.yaml:2: has a NUL byte: not text", "get the file again: it is damaged, or no text"},
		{"control character", "a: \x01\n", "f.yaml:1: not YAML: control characters are not allowed", ""},
		{"tab", "a:\n\tb: c\n", "f.yaml:2: not YAML: found character that cannot start any token", tip},
		{"in a block", "a: b\n---\nc:\n  d:\n    - e\n    - f\n    g: 1\n    - h\n", "f.yaml:7: not YAML: did not find expected '-' indicator", ""},
		{"in a mapping", "a:\n  b: [\n  1]\n  c: 'x\n\n  y'\n d: 2\ne: 3\n", "f.yaml:7: not YAML: did not find expected key", ""},
		{"in the second document", "a: b\n---\nc: [\n", "f.yaml:3: not YAML: did not find expected node content", ""},
		{"open quote", "a: b\nc: 'd\n", "f.yaml:2: not YAML: found unexpected end of stream", ""},
		{"prose", "Hello: this is: prose\n", "f.yaml:1: not YAML: mapping values are not allowed in this context", ""},
		{"unknown alias", "c: d\na: *b\n", "f.yaml:2: not YAML: the alias *b has no anchor &b before it", ""},
		{"after the document", "{a: b}\n{c: d}\n", "f.yaml:1: text after the end of the document", ""},
		{"behind an empty value", "&x ]\nkind: A\n", "f.yaml:1: text after the end of the document", ""},
		{"template", "a: {{ .Values.x }}\nb: c\n", "f.yaml:1: a mapping key must be a plain value", "it looks like a template: read its rendered output instead"},
		{"template at its start", "{{ if x }}\na: b\n{{ end }}\n", "f.yaml:1: text after the end of the document", "it looks like a template: read its rendered output instead"},
		{"unknown tag", "a: b\nc: !Ref d\n", "f.yaml:2: unsupported YAML tag !Ref", ""},
		{"infinity", "a: b\nc: .inf\n", "f.yaml:2: .inf is not a number that JSON can hold", ""},
		{"null as a key", "a: b\n~: c\n", "f.yaml:2: mapping key \"~\" is neither text, number nor boolean", ""},
	} {
		_, err := jsonOf(c.text)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
			continue
		}
		if got := err.(*Error).Hint(); got != c.tip {
			t.Errorf("%s: hint %q, want %q", c.name, got, c.tip)
		}
	}
}

// Hostile files give a clear error soon and cost little memory.
func TestLimits(t *testing.T) {
	fuzztest.Seconds(t)
	bomb := func(inner string) string {
		var b strings.Builder
		b.WriteString("a0: &a0 " + inner + "\n")
		for i := 1; i < 12; i++ {
			fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9))
		}
		return b.String()
	}
	merges := strings.Builder{}
	merges.WriteString("a0: &a0 {k0: v}\n")
	for i := 1; i < 40; i++ {
		fmt.Fprintf(&merges, "a%d: &a%d {<<: [*a%d, *a%d], k%d: v}\n", i, i, i-1, i-1, i)
	}
	const (
		values     = "f.yaml:%d: the document has more than 300000 values once its aliases are written out"
		separators = "f.yaml:1: the document has more than 300000 places where a value can begin; no Kubernetes object has so many"
	)
	for _, c := range []struct{ name, text, want string }{
		{"alias bomb of lists", bomb("[x]"), fmt.Sprintf(values, 2)},
		{"alias bomb of mappings", bomb("{x: y}"), fmt.Sprintf(values, 2)},
		{"alias bomb of one long text", bomb(strings.Repeat("x", 100_000)), "f.yaml:1: the document is larger than 16 MiB once its aliases are written out"},
		{"merge bomb", merges.String(), fmt.Sprintf(values, 2)},
		{"alias to itself", "a: &a [*a, *a]\n", "f.yaml:1: nested deeper than 200 levels"},
		{"merge of itself", "a: &a {<<: *a}\n", "f.yaml:1: nested deeper than 200 levels"},
		{"large file", "a: b\n" + strings.Repeat("#", 17<<20), "f.yaml: the file is larger than 16 MiB"},
		{"deep lists", "a: " + strings.Repeat("[", 10_001), "f.yaml:1: not YAML: exceeded max depth of 10000"},
		{"deep mappings", strings.Repeat("{a: ", 9_000) + strings.Repeat("}", 9_000), "f.yaml:1: nested deeper than 200 levels"},
		{"deep blocks", strings.Repeat("- ", 9_000), "f.yaml:1: nested deeper than 200 levels"},
		{"many documents", strings.Repeat("---\na\n", 1_000_000), "f.yaml: more than 10000 documents"},
		{"many values in a list", "[" + strings.Repeat("a,", 1<<20) + "]", separators},
		{"many items", strings.Repeat("-\n", 1<<20), separators},
		{"one long text", "a: " + strings.Repeat("b", 4<<20), "f.yaml:1: the document is larger than 3 MiB: no API server stores such an object"},
		{"many comments at values", strings.Repeat("a: b #\n", 400_000), separators},
	} {
		data := []byte(c.text)
		c.text = ""
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := fuzztest.CPUTime()
		docs, err := ReadFile("f.yaml", data, Limits{})
		for i := 0; err == nil && i < len(docs); i++ {
			_, err = docs[i].Value()
		}
		took := fuzztest.CPUTime() - start
		runtime.ReadMemStats(&after)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
		if took > 10*time.Second { // each takes less than 0.3 s on an idle machine
			t.Errorf("%s: refused after %v of CPU time only", c.name, took)
		}
		if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 256 {
			t.Errorf("%s: took %d MB", c.name, mb)
		}
	}
}

// A limit of one's own counts, and the others stay at their defaults.
func TestOwnLimits(t *testing.T) {
	for _, c := range []struct {
		limits     Limits
		text, want string
	}{
		{Limits{FileBytes: 2 << 20}, strings.Repeat("#", 3<<20), "f.yaml: the file is larger than 2 MiB"},
		{Limits{Depth: 2}, "a: {b: {c: d}}", "f.yaml:1: nested deeper than 2 levels"},
		{Limits{Nodes: 10}, "a: [1,1,1,1,1,1,1,1,1]", "f.yaml:1: the document has more than 10 places where a value can begin; no Kubernetes object has so many"},
		{Limits{Nodes: 10}, "a: &a [1,1]\nb: [*a,*a,*a]", "f.yaml:1: the document has more than 10 values once its aliases are written out"},
		{Limits{Nodes: 20}, "a: &a [1,1]\nb: [*a,*a,*a]", ""},
		{Limits{Documents: 2}, "a\n---\nb\n---\nc\n", "f.yaml: more than 2 documents"},
	} {
		docs, err := ReadFile("f.yaml", []byte(c.text), c.limits)
		for i := 0; err == nil && i < len(docs); i++ {
			_, err = docs[i].Value()
		}
		if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%+v: got %v, want %s", c.limits, err, c.want)
		}
	}
}

var hostileFiles = []string{
	"", "a: b\n", "---\na: b\n---\nc: d\n", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: |\n    y\n",
	"a: [1, 0x10, 1_000, .5, 1e3, ~, yes, 2001-12-14, 12:30]\n", "a: &x {b: c}\nd: {<<: *x}\ne: *x\n", "{\"a\": \"\\u00e9\\ud83d\\ude00\"}",
	"\ufeffa: b\r\nc: d\r\n", "a: 'b\u2028c\u0085d'\n", "a: \"x\\\n  y\"\n", "? a\n: b\n? - c\n", "a: !!binary aGk=\nb: !!str 1\n", "%YAML 1.1\n---\na: b\n",
	"a: |2-\n    b\n   c\n", "a: >+\n  b\n\n  c\n\n", "- - - a\n- {b: [c, {d: e}]}\n", "# only\n# comments\n", "a: b # c\n# d\ne: f\n", "y: n\nn: y\n",
	"a:\n- b\n- c\nd:\n  - e\n", "a: {{ x }}\n", "\tb", "a: b: c", "a: *b", "&a a: *a\n", "a: ''''\nb: \"\\x41\\u2028\"\n", "a: b\n...\nc: d\n", "--- |\n a\n", "a\n", "-1\n", "[]\n",
}

// Whatever the bytes, reading does not panic; a single document that both accept is the same JSON here and in sigs.k8s.io/yaml.
func FuzzRead(f *testing.F) {
	for _, s := range hostileFiles {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzztest.Limit(t, len(data))
		docs, err := ReadFile("f.yaml", data, Limits{})
		if err != nil {
			return
		}
		for _, d := range docs {
			objects, _ := d.Objects()
			for _, o := range objects {
				o.LineOf("spec.a[0].b")
				_, _ = o.Get("metadata", "name")
			}
		}
		if len(docs) != 1 || len(docs[0].Duplicates) > 0 || strings.Contains(string(data), "!") {
			return // of keys such as 1 and "1" the other library takes any; of "! 1" see TestScalars
		}
		v, err := docs[0].Value()
		if err != nil {
			return
		}
		want, err := yaml.YAMLToJSON(data)
		if err != nil {
			return
		}
		if got, err := json.Marshal(v); err != nil || string(got) != string(want) {
			t.Errorf("%q: got %s, %v, but sigs.k8s.io/yaml makes %s of it", data, got, err, want)
		}
	})
}
