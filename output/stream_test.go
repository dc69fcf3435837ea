package output

import (
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestStream(t *testing.T) {
	for _, c := range []struct {
		name  string
		files Files
		want  string
	}{
		{"nothing", nil, ""},
		{"one", Files{{"a", []byte("a: 1\n")}}, "a: 1\n"},
		{"two", Files{{"a", []byte("a: 1\n")}, {"b", []byte("b: 1\n")}}, "a: 1\n---\nb: 1\n"},
		{"no final newline", Files{{"a", []byte("a: 1")}, {"b", []byte("b: 1")}}, "a: 1\n---\nb: 1\n"},
		{"marker of its own", Files{{"a", []byte("---\na: 1\n")}, {"b", []byte("---\nb: 1\n")}}, "---\na: 1\n---\nb: 1\n"},
		{"marker with a comment", Files{{"a", []byte("a: 1\n")}, {"b", []byte("--- # b\nb: 1\n")}}, "a: 1\n--- # b\nb: 1\n"},
		{"marker of windows", Files{{"a", []byte("a: 1\n")}, {"b", []byte("---\r\nb: 1\r\n")}}, "a: 1\n---\r\nb: 1\r\n"},
		{"marker after comments", Files{{"a", []byte("a: 1\n")}, {"b", []byte("\n# b\n---\nb: 1\n")}}, "a: 1\n\n# b\n---\nb: 1\n"},
		{"no marker", Files{{"a", []byte("a: 1\n")}, {"b", []byte("---b: 1\n")}}, "a: 1\n---\n---b: 1\n"},
		{"several documents in a file", Files{{"a", []byte("a: 1\n---\nb: 1\n")}, {"c", []byte("c: 1\n")}}, "a: 1\n---\nb: 1\n---\nc: 1\n"},
		{"left out", Files{
			{"kustomization.yaml", []byte("k")}, {"x/kustomization.yaml", []byte("k")}, {"olmgen.lock", []byte("l")}, {"e", []byte(" \n")}, {"a", []byte("a: 1\n")},
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
	if err := Stream(broken{}, Files{{"a", []byte("a: 1\n")}}); err == nil || err.Error() != "broken pipe" {
		t.Errorf("error %v", err)
	}
}

// FuzzStream checks that a file in the middle does not change its neighbours, as long as it is YAML on its own.
func FuzzStream(f *testing.F) {
	for _, s := range []string{"b: 1", "---\nb: 1\n", "# x\n---\n", "--- {b: 1}", "- 1\n- 2", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, middle string) {
		var v any
		if yaml.Unmarshal([]byte(middle), &v) != nil || strings.ContainsAny(middle, "\x00%") {
			return
		}
		var b strings.Builder
		must(t, Stream(&b, Files{{"a", []byte("a: 1\n")}, {"b", []byte(middle)}, {"c", []byte("c: 1")}}))
		if s := b.String(); !strings.HasPrefix(s, "a: 1\n") || !strings.HasSuffix(s, "---\nc: 1\n") {
			t.Fatalf("stream %q", s)
		}
	})
}
