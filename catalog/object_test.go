package catalog

import (
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// An object of a catalog becomes the YAML that sigs.k8s.io/yaml makes of it, whatever its numbers and texts are.
func TestJSONToYAML(t *testing.T) {
	for _, in := range []string{
		`{}`, `{"a":null,"b":true,"c":[],"d":{}}`, `{"a":1,"b":-1,"c":-0,"d":1.0,"e":0.1,"f":1e5,"g":1E-7,"h":1e21}`,
		`{"a":9223372036854775807,"b":9223372036854775808,"c":-9223372036854775808,"d":18446744073709551615,"e":18446744073709551616}`,
		`{"a":"1","b":"true","c":"~","d":"0x1","e":"1e3","f":"","g":" a","h":"a: b","i":"- a","j":"2001-01-01","k":"y","l":"1_000","m":"a\nb\n"}`,
		`{"a":"\u0000\u0007\u00e9\"\\ \u2028","<b>":"&"}`, `{"b":1,"a":2,"a10":3,"a2":4,"A":5}`, `{"a":1,"a":2}`,
		`{"a":["` + strings.Repeat("long words ", 30) + `",[[1],{"b":[{}]}]]}`,
		`{a: b, c: [1, 0x10, 010, .5]}`, `{"a": 'b'}`, `{"a":1} # comment`, "{\n\"a\": 1\n}\n",
	} {
		want, wantErr := yaml.JSONToYAML([]byte(in))
		got, err := asYAML(in)
		if (err == nil) != (wantErr == nil) || string(got) != string(want) {
			t.Errorf("%s: got %q, %v; want %q, %v", in, got, err, want, wantErr)
		}
	}
	// The YAML library refuses these two, which are JSON.
	for in, want := range map[string]string{`{"a":"\ud83d\ude00"}`: `a: "\U0001F600"` + "\n", `{"a":"b\/c"}`: "a: b/c\n"} {
		if got, err := asYAML(in); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v; want %q", in, got, err, want)
		}
	}
}

func asYAML(in string) ([]byte, error) {
	value, isJSON := decodeNumbers([]byte(in))
	return toYAML(value, isJSON, []byte(in))
}

// The short way to the data of an object gives what JSON gives, or nothing.
func TestOnlyData(t *testing.T) {
	short := 0
	for _, in := range []string{
		`{"data":"e30="}`, "{\n    \"data\": \"e30=\"\n}", ` {"data" : "e30=" } `, `{"data":""}`, `{"data":"e30"}`, `{"data":"e3\u0030="}`,
		`{"data":"e3\n0="}`, `{"data":"e30=","ref":"a"}`, `{"ref":"a","data":"e30="}`, `{"Data":"e30="}`, `{"data":null}`, `{"data":5}`,
		`{"data":"e30=","data":"W10="}`, `{"data":["e30="]}`, `{}`, `null`, `[]`, `"e30="`,
	} {
		var want struct{ Data []byte }
		err := json.Unmarshal([]byte(in), &want)
		got := onlyData(json.RawMessage(in))
		if len(got) > 0 && (err != nil || string(got) != string(want.Data)) {
			t.Errorf("%s: got %q, want %q, %v", in, got, want.Data, err)
		}
		if len(got) > 0 {
			short++
		}
	}
	if short != 3 {
		t.Errorf("%d texts went the short way", short)
	}
}

// Kind and name are the same, however an object is written. One that is no text is refused.
func TestObjectHeads(t *testing.T) {
	for in, want := range map[string]string{
		`{"kind":"A","metadata":{"name":"b"}}`: "A b",
		`{"metadata":{"name":"b"}}`:            " b",
		`{"kind":"A"}`:                         "A ",
		"kind: A\nmetadata: {name: b}":         "A b",
		`{kind: A}`:                            "object:1: value that starts in line 1: invalid character 'k' at start of string (expecting '\"')",
		`{"kind":5,"metadata":{"name":"b"}}`:   "kind: has the wrong type (number)",
		`{"kind":"A","metadata":[]}`:           "metadata: has the wrong type (array)",
	} {
		kind, name, _, err := contentObject(in).file(documentLimits{1000, 1000})
		got := kind + " " + name
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}
