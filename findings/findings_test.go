package findings_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/golden/fuzztest"
)

// list has each level, an object, a hint, and text that a format could trip over.
func list() []findings.Finding {
	return []findings.Finding{
		{
			Rule:    "group",
			Level:   findings.Error,
			File:    "a/x.yaml",
			Line:    3,
			Object:  "OperatorGroup a/b",
			Message: "csv in namespace with no operatorgroups",
			Hint:    "add an OperatorGroup",
		},
		{
			Rule:    "group",
			Level:   findings.Error,
			File:    "a/x.yaml",
			Line:    9,
			Object:  "OperatorGroup a/b",
			Message: "csv in namespace with no operatorgroups",
			Hint:    "add an OperatorGroup",
		},
		{
			Rule:    "group",
			Level:   findings.Warning,
			File:    "a/x.yaml",
			Field:   "spec",
			Message: "a|b <script> `c` *d* [e](https://f.example) @org/team \x1b[31m \n| z |",
		},
		{Rule: "mine", Level: findings.Note, Message: "about the whole"},
		{Source: "oci://r/i", Rule: "group", Level: findings.Note, File: "x", Message: "m", Path: "oci://r/i/x"},
	}
}

func TestThreshold(t *testing.T) {
	for threshold, want := range map[findings.Severity]string{
		findings.Error: "error", findings.Warning: "error warning", findings.Note: "error warning note", findings.None: "",
	} {
		var reached []string
		for _, l := range []findings.Severity{findings.Error, findings.Warning, findings.Note} {
			if findings.Reaches([]findings.Finding{{Level: l}}, threshold) {
				reached = append(reached, string(l))
			}
		}
		if got := strings.Join(reached, " "); got != want {
			t.Errorf("--fail-on %s: %q, want %q", threshold, got, want)
		}
	}
	if findings.Reaches(nil, findings.Note) {
		t.Error("no finding reaches a threshold")
	}
}

func TestSort(t *testing.T) {
	want := list()
	findings.Sort(want)
	for range 3 {
		got := list()
		slices.Reverse(got)
		findings.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
	}
}

func TestBaseline(t *testing.T) {
	first := list()
	b, err := findings.ParseBaseline(findings.NewBaseline(first).Encode())
	if err != nil {
		t.Fatal(err)
	}

	// Lines move, levels change: nothing is new.
	moved := list()
	for i := range moved {
		moved[i].Line += 10
		moved[i].Level = findings.Error
	}
	if fresh, stale := b.Apply(moved); len(fresh) != 0 || len(stale) != 0 {
		t.Errorf("new: %v, stale: %v", fresh, stale)
	}

	// A third of the same words is new; another message is new, and the one before it stale.
	more := append(list(), first[0])
	more[3].Message = "about something else"
	fresh, stale := b.Apply(more)
	if d := cmp.Diff([]findings.Finding{more[3], more[5]}, fresh); d != "" {
		t.Errorf("new (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{".: about the whole [mine]"}, stale); d != "" {
		t.Errorf("stale (-want +got):\n%s", d)
	}
}

// A finding that several clusters have is known if it is known of each, and of a baseline without clusters in any.
func TestBaselineOfClusters(t *testing.T) {
	in := func(clusters string) []findings.Finding {
		f := list()[0]
		f.Clusters = clusters
		return []findings.Finding{f}
	}
	for _, c := range []struct {
		before, now  string
		fresh, stale int
	}{
		{"dev", "dev", 0, 0},
		{"dev", "dev\nprod", 1, 0},
		{"dev", "prod", 1, 1},
		{"dev\nprod", "prod", 0, 1},
		{"", "dev\nprod", 0, 0},
		{"dev\nprod", "", 0, 0},
	} {
		fresh, stale := findings.NewBaseline(in(c.before)).Apply(in(c.now))
		if len(fresh) != c.fresh || len(stale) != c.stale {
			t.Errorf("%q, then %q: %d new, and %d stale", c.before, c.now, len(fresh), len(stale))
		}
	}
}

func TestBaselineRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":               "not a baseline: the file is empty",
		"[]":             "not a baseline: it is a JSON array",
		"packages:":      "not a baseline: the file is not JSON, or only its beginning",
		`{"version":1`:   "not a baseline: the file is not JSON, or only its beginning",
		`{"findings":1}`: "not a baseline: findings has the wrong type, a JSON number",
		`{"version":2}`:  "the baseline has version 2, this olmgen reads version 1",
		`{}`:             "the baseline has version 0",
		`{"x":1}`:        `not a baseline: unknown field "x"`,
		`{"version":1}1`: "text after its end",
		`{"version":1,"findings":[{"rule":"x"}]}`: "findings[0]: no fingerprint",
	} {
		if _, err := findings.ParseBaseline([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func FuzzBaseline(f *testing.F) {
	f.Add(findings.NewBaseline(list()).Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzztest.Limit(t, len(data))
		b, err := findings.ParseBaseline(data)
		if err != nil {
			return
		}
		again, err := findings.ParseBaseline(b.Encode())
		if err != nil || !bytes.Equal(again.Encode(), b.Encode()) {
			t.Errorf("not what was written: %v", err)
		}
		b.Apply(list())
	})
}
