package budget

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

func TestPlaces(t *testing.T) {
	for text, want := range map[string]int64{"": 1, "a": 1, "a: b\n": 3, "[1,2]": 3, "- a\n- b\n": 5, "{a: b}": 3} {
		if got := Places([]byte(text)); got != want {
			t.Errorf("%q has %d, want %d", text, got, want)
		}
	}
}

func TestWeight(t *testing.T) {
	for text, want := range map[string]int64{
		"":                           0,
		"a: b\n":                     5,
		"a: b":                       4,
		"  a: b\n\n   \n\t c: d\n":   10,
		"# a comment\na: b # kept\n": 12,
		"  # a comment\r\na\n":       2,
	} {
		if got := Weight([]byte(text)); got != want {
			t.Errorf("%q has %d, want %d", text, got, want)
		}
	}
}

// The JSON of a text is never larger than what AsJSON says.
func FuzzAsJSON(f *testing.F) {
	for _, text := range []string{"", "a: b\n", "a:\n", "- ~\n- 1e20\n- 0x1f\n", "a: |\n  # no comment\n    <b>\n\n  c\n", "- - a: >-2 # c\n      x\n",
		"{a: b, c: [d, e]}", "a: \"\\u2028\\t\"\n", "a: ä\U0001f600\n", "[[],{},[[]]]", "? a\n: b\n", "a\n  b\n", "a: 'x\n\n\n  y'\n",
		"a: \"x\\\n    y\"\n", "a: b # |\n  c: d\n", ".1:", "a:\n  - b: |1\n      c\n\n     d\n    e: n\n", "a: 2001-01-01\nb: .inf\nc: 1_000\nd: 0b11\ne: 1E+20\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if len(text) > 500 || !utf8.ValidString(text) || strings.ContainsAny(text, "*!") || yaml.Unmarshal([]byte(text), &v) != nil {
			return
		}
		data, err := json.Marshal(v)
		if err != nil {
			return
		}
		if most := AsJSON([]byte(text)); int64(len(data)) > most {
			t.Errorf("%q has %d bytes as JSON, and AsJSON says %d: %s", text, len(data), most, data)
		}
	})
}

// A meter is over its budget by the sum, whoever charges.
func TestMeter(t *testing.T) {
	most := Of(Bundle)
	for _, c := range []struct {
		bytes, values int64 // that each of four charges
		want          string
	}{
		{most.Bytes / 4, most.Values / 4, ""},
		{most.Bytes/4 + 1, 1, "the bundle is larger than 64 MiB, its aliases written out"},
		{1, most.Values/4 + 1, "the bundle has more than 1000000 places where a value can begin"},
	} {
		m := NewMeter(Bundle)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { m.Charge(c.bytes, c.values) })
		}
		all.Wait()
		if got := m.Over(); got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
	if over := NewMeter(Dump).Charge(0, math.MaxInt64); over != "" {
		t.Errorf("a budget of zero is a limit: %s", over)
	}
}

func TestMore(t *testing.T) {
	defer Raise(1)
	for factor, want := range map[int64]string{1: "OLMGEN_LIMITS=2", 3: "OLMGEN_LIMITS=6", 600: "OLMGEN_LIMITS=1000", 1000: ""} {
		Raise(factor)
		if got := More(); got != want {
			t.Errorf("%d: %q, want %q", factor, got, want)
		}
	}
}

func TestRaiseTo(t *testing.T) {
	defer Raise(1)
	for value, want := range map[string]int64{"": 1, "1": 1, "3": 3, "1000": 1000, "0": 0, "1001": 0, "-1": 0, "x": 0, "2.5": 0} {
		Raise(1)
		err := RaiseTo(value)
		if (err == nil) != (want > 0) {
			t.Errorf("%q: %v", value, err)
		}
		want = max(want, 1)
		got := []int64{Of(File).Bytes, Of(Bundle).Values, Of(Bundle).Objects, Of(Revision).Files, Of(Object).Values, Of(Object).Bytes}
		if fmt.Sprint(got) != fmt.Sprint([]int64{want * 16 << 20, want * 1_000_000, want * 2_000, want * 1 << 20, want * 300_000, 3 << 20}) {
			t.Errorf("%q: %v", value, got)
		}
	}
}
