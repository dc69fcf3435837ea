package output

import (
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/golden/fuzztest"
)

func TestStream(t *testing.T) {
	for _, c := range []struct {
		name  string
		files Files
		want  string
	}{
		{"nothing", nil, ""},
		{"one", Files{{Path: "a", Data: []byte("a: 1\n")}}, "a: 1\n"},
		{"two", Files{{Path: "a", Data: []byte("a: 1\n")}, {Path: "b", Data: []byte("b: 1\n")}}, "a: 1\n---\nb: 1\n"},
		{"no final newline", Files{{Path: "a", Data: []byte("a: 1")}, {Path: "b", Data: []byte("b: 1")}}, "a: 1\n---\nb: 1\n"},
		{"marker of its own", Files{{Path: "a", Data: []byte("---\na: 1\n")}, {Path: "b", Data: []byte("---\nb: 1\n")}}, "---\na: 1\n---\nb: 1\n"},
		{"marker with a comment", Files{{Path: "a", Data: []byte("a: 1\n")}, {Path: "b", Data: []byte("--- # b\nb: 1\n")}}, "a: 1\n--- # b\nb: 1\n"},
		{"marker of windows", Files{{Path: "a", Data: []byte("a: 1\n")}, {Path: "b", Data: []byte("---\r\nb: 1\r\n")}}, "a: 1\n---\r\nb: 1\r\n"},
		{"marker after comments", Files{{Path: "a", Data: []byte("a: 1\n")}, {Path: "b", Data: []byte("\n# b\n---\nb: 1\n")}}, "a: 1\n\n# b\n---\nb: 1\n"},
		{"no marker", Files{{Path: "a", Data: []byte("a: 1\n")}, {Path: "b", Data: []byte("---b: 1\n")}}, "a: 1\n---\n---b: 1\n"},
		{"several documents in a file", Files{{Path: "a", Data: []byte("a: 1\n---\nb: 1\n")}, {Path: "c", Data: []byte("c: 1\n")}}, "a: 1\n---\nb: 1\n---\nc: 1\n"},
		{"left out", Files{
			{Path: "kustomization.yaml", Data: []byte("k")}, {Path: "x/kustomization.yaml", Data: []byte("k")}, {Path: "olmgen.lock", Data: []byte("l")}, {Path: "e", Data: []byte(" \n")}, {Path: "a", Data: []byte("a: 1\n")},
		}, "a: 1\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			must(t, Stream(&b, c.files))
			equal(t, "stream", b.String(), c.want)
		})
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestStreamFails(t *testing.T) {
	if err := Stream(broken{}, Files{{Path: "a", Data: []byte("a: 1\n")}}); err == nil || err.Error() != "broken pipe" {
		t.Errorf("error %v", err)
	}
}

// FuzzStream checks that a file in the middle does not change its neighbours, as long as it is YAML on its own.
func FuzzStream(f *testing.F) {
	for _, s := range []string{"b: 1", "---\nb: 1\n", "# x\n---\n", "--- {b: 1}", "- 1\n- 2", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, middle string) {
		fuzztest.Limit(t, len(middle))
		var v any
		if yaml.Unmarshal([]byte(middle), &v) != nil || strings.ContainsAny(middle, "\x00%") {
			return
		}
		var b strings.Builder
		must(t, Stream(&b, Files{{Path: "a", Data: []byte("a: 1\n")}, {Path: "b", Data: []byte(middle)}, {Path: "c", Data: []byte("c: 1")}}))
		if s := b.String(); !strings.HasPrefix(s, "a: 1\n") || !strings.HasSuffix(s, "---\nc: 1\n") {
			t.Fatalf("stream %q", s)
		}
	})
}
