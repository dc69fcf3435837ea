package manifest

import (
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// Every scalar means what it means to Kubernetes: the JSON here is that of sigs.k8s.io/yaml, which the test asks too. (The tag "!",
// which nobody writes, is the one exception: the library that reads the nodes does not tell "! 1" from "1".)
func TestScalars(t *testing.T) {
	for _, c := range []struct{ yaml, json string }{
		// null
		{"", "null"}, {"~", "null"}, {"null", "null"}, {"Null", "null"}, {"NULL", "null"}, {"nULL", `"nULL"`}, {"nil", `"nil"`},
		// booleans, YAML 1.1
		{"true", "true"}, {"True", "true"}, {"TRUE", "true"}, {"yes", "true"}, {"Yes", "true"}, {"YES", "true"}, {"on", "true"}, {"On", "true"},
		{"ON", "true"}, {"y", "true"}, {"Y", "true"},
		{"false", "false"}, {"False", "false"}, {"FALSE", "false"}, {"no", "false"}, {"No", "false"}, {"NO", "false"}, {"off", "false"},
		{"Off", "false"}, {"OFF", "false"}, {"n", "false"}, {"N", "false"},
		{"tRue", `"tRue"`}, {"yES", `"yES"`}, {"oN", `"oN"`}, {"truer", `"truer"`},
		// integers
		{"0", "0"}, {"1", "1"}, {"-1", "-1"}, {"+1", "1"}, {"007", "7"}, {"0o17", "15"}, {"0x1F", "31"}, {"0X1f", "31"}, {"0b101", "5"},
		{"-0b101", "-5"}, {"1_000", "1000"}, {"_1", `"_1"`}, {"08", "8"}, {"0xg", `"0xg"`}, {"1e", `"1e"`}, {"-", ""}, {"+", `"+"`},
		{"9223372036854775807", "9223372036854775807"}, {"9223372036854775808", "9223372036854775808"},
		{"18446744073709551615", "18446744073709551615"}, {"18446744073709551616", "18446744073709552000"},
		{"-9223372036854775808", "-9223372036854775808"}, {"-9223372036854775809", "-9223372036854776000"},
		{strings.Repeat("1", 70), "1.1111111111111112e+69"}, {strings.Repeat("0", 70) + "1", "1"},
		// floats
		{"1.0", "1"}, {"1.5", "1.5"}, {".5", "0.5"}, {"-.5", "-0.5"}, {"+.5", "0.5"}, {"5.", "5"}, {"1e3", "1000"}, {"1E+3", "1000"}, {"1.5e-3", "0.0015"},
		{"1e999", `"1e999"`}, {"-0.0", "-0"}, {"1.2.3", `"1.2.3"`}, {".", `"."`}, {"..", `".."`}, {".e1", `".e1"`}, {"1_0.5", "10.5"},
		// what YAML 1.1 takes for base 60 and times stays text
		{"12:30:45", `"12:30:45"`}, {"190:20:30.15", `"190:20:30.15"`}, {"2001-12-14", `"2001-12-14"`}, {"2001-12-14T21:59:43Z", `"2001-12-14T21:59:43Z"`},
		{"2001-12-14t21:59:43.10-05:00", `"2001-12-14t21:59:43.10-05:00"`}, {"2001-12-14 21:59:43.10", `"2001-12-14 21:59:43.10"`}, {"2001-13-14", `"2001-13-14"`},
		// text
		{"hello world", `"hello world"`}, {"a:b", `"a:b"`}, {"a#b", `"a#b"`}, {"=", `"="`}, {"100m", `"100m"`}, {"1Gi", `"1Gi"`}, {"v1.2.3", `"v1.2.3"`},
		{"{{x}}", ""}, {"*", ""}, {"@a", ""}, {"`a", ""}, {"%a", ""},
		// quoted, nothing is resolved
		{`"true"`, `"true"`}, {"'1'", `"1"`}, {`"~"`, `"~"`}, {`""`, `""`}, {"''", `""`}, {"'it''s'", `"it's"`}, {`"a\tb\n\x41\u00e9"`, `"a\tb\nAé"`},
		// blocks
		{"|\n  a\n  b\n", `"a\nb\n"`}, {"|-\n  a\n\n", `"a"`}, {"|+\n  a\n", `"a\n\n"`}, {">\n  a\n  b\n\n  c\n", `"a b\nc\n"`}, {"|2-\n    a\n", `"  a"`},
		// tags
		{"!!str true", `"true"`}, {"!!str", `""`}, {"!!int 1", "1"}, {"!!int '1'", "1"}, {"!!float 1", "1"}, {"!!bool yes", "true"}, {"!!bool 'on'", "true"},
		{"!!null ''", "null"}, {"!!null ~", "null"}, {"!!binary aGk=", `"hi"`}, {"!!timestamp 2001-12-14", `"2001-12-14"`},
		{"!!int a", ""}, {"!!bool 1", ""}, {"!!float x", ""}, {"!!binary '?'", ""}, {"!!null x", ""},
		// what JSON can't hold
		{".inf", ""}, {"-.Inf", ""}, {"+.INF", ""}, {".nan", ""},
	} {
		text := "v: " + c.yaml + "\n"
		got, err := jsonOf(text)
		want := `{"v":` + c.json + `}`
		if c.json == "" {
			if err == nil {
				t.Errorf("%q: read as %s, want it refused", c.yaml, got)
			}
		} else if err != nil || got != want {
			t.Errorf("%q: got %s, %v, want %s", c.yaml, got, err, want)
		}
		if other, err := yaml.YAMLToJSON([]byte(text)); (err == nil) != (c.json != "") || err == nil && string(other) != want {
			t.Errorf("%q: sigs.k8s.io/yaml makes %s, %v of it, but the table says %s", c.yaml, other, err, want)
		}
	}
}

// Mapping keys become JSON's text keys, and of equal ones the last counts.
func TestKeys(t *testing.T) {
	for _, c := range []struct{ yaml, json string }{
		{"a: 1\n", `{"a":1}`}, {"1: a\n", `{"1":"a"}`}, {"0x10: a\n", `{"16":"a"}`}, {"1.50: a\n", `{"1.5":"a"}`}, {"yes: a\n", `{"true":"a"}`},
		{"y: a\n", `{"true":"a"}`}, {"off: a\n", `{"false":"a"}`}, {"2001-12-14: a\n", `{"2001-12-14":"a"}`}, {"'yes': a\n", `{"yes":"a"}`},
		{"!!str 1: a\n", `{"1":"a"}`}, {"? a\n: b\n", `{"a":"b"}`}, {"? |\n  a\n: b\n", `{"a\n":"b"}`}, {"&x a: *x\n", `{"a":"a"}`}, {"v: &x a\n*x : b\n", `{"a":"b","v":"a"}`},
		{".inf: a\n", `{".inf":"a"}`},
		{"a: 1\na: 2\n", `{"a":2}`}, {"a: {x: 1}\nb: 3\na: {z: 2}\n", `{"a":{"z":2},"b":3}`}, {"yes: 1\ntrue: 2\n", `{"true":2}`},
		// merge keys work where they stand
		{"a: &a {x: 1, y: 2}\nb: {<<: *a, x: 3}\n", `{"a":{"true":2,"x":1},"b":{"true":2,"x":3}}`},
		{"a: &a {x: 1}\nb: {x: 3, <<: *a}\n", `{"a":{"x":1},"b":{"x":1}}`},
		{"a: &a {x: 1}\nc: &c {x: 2, z: 2}\nb: {<<: [*a, *c]}\n", `{"a":{"x":1},"b":{"x":1,"z":2},"c":{"x":2,"z":2}}`},
		{"b: {<<: {x: 1}}\n", `{"b":{"x":1}}`}, {"'<<': {x: 1}\n", `{"\u003c\u003c":{"x":1}}`},
		{"~: a\n", ""}, {"[a]: b\n", ""}, {"{a: b}: c\n", ""}, {"18446744073709551615: a\n", ""}, {"<<: a\n", ""}, {"<<: [a]\n", ""}, {"<<: [[{a: b}]]\n", ""},
	} {
		got, err := jsonOf(c.yaml)
		if (err == nil) != (c.json != "") || got != c.json {
			t.Errorf("%q: got %s, %v, want %s", c.yaml, got, err, c.json)
		}
		if other, err := yaml.YAMLToJSON([]byte(c.yaml)); (err == nil) != (c.json != "") || string(other) != c.json {
			t.Errorf("%q: sigs.k8s.io/yaml makes %s, %v of it, but the table says %s", c.yaml, other, err, c.json)
		}
	}
}

// jsonOf reads one document and gives it as JSON.
func jsonOf(text string) (string, error) {
	docs, err := ReadFile("f.yaml", []byte(text), Limits{})
	if err != nil {
		return "", err
	}
	v, err := docs[0].Value()
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(v)
	return string(b), err
}
