package yamltext

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/golden/fuzztest"
)

// parts returns the documents of a text, each behind the number of its first line.
func parts(t *testing.T, r io.Reader) []string {
	t.Helper()
	var list []string
	for c, err := range Split(r, 1<<20) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%d %s", c.Line, c.Data))
	}
	return list
}

func TestSplit(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	tests := []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"blank lines", "\n \n---\n", []string{"1 \n \n---\n"}},
		{"one", "a: 1\n", []string{"1 a: 1\n"}},
		{"no final newline", "a: 1", []string{"1 a: 1"}},
		{"two", "a: 1\n---\nb: 2\n", []string{"1 a: 1\n", "2 ---\nb: 2\n"}},
		{"a marker with content", "--- {a: 1}\n--- # b\nb: 2", []string{"1 --- {a: 1}\n", "2 --- # b\nb: 2"}},
		{"a marker at the end", "a: 1\n---", []string{"1 a: 1\n", "2 ---"}},
		{"not a marker", "a: |\n  ---\n  x\n----\n---x: 1\n", []string{"1 a: |\n  ---\n  x\n----\n---x: 1\n"}},
		{"an end marker", "a: 1\n...\nb: 2\n", []string{"1 a: 1\n", "3 b: 2\n"}},
		{"end markers only", "...\n...\n", nil},
		{"a directive", "%YAML 1.1\n\n---\na: 1\n", []string{"1 %YAML 1.1\n\n---\na: 1\n"}},
		{"a directive in the middle", "a: 1\n...\n\n%YAML 1.1\n---\nb: 2\n", []string{"1 a: 1\n", "3 \n%YAML 1.1\n---\nb: 2\n"}},
		{"a comment before a marker", "# a\n---\nb: 2\n", []string{"1 # a\n", "2 ---\nb: 2\n"}},
		{"CRLF", "a: 1\r\n---\r\nb: 2\r\n", []string{"1 a: 1\r\n", "2 ---\r\nb: 2\r\n"}},
		{"a long line", "a: " + long + "\n---\nb: 2\n", []string{"1 a: " + long + "\n", "2 ---\nb: 2\n"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if d := cmp.Diff(test.want, parts(t, strings.NewReader(test.text))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			var got []string
			for _, c := range Chunks([]byte(test.text)) {
				got = append(got, fmt.Sprintf("%d %s", c.Line, c.Data))
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("in memory (-want +got):\n%s", d)
			}
		})
	}
}

func TestSplitThatFails(t *testing.T) {
	broken := errors.New("broken")
	var got []string
	for c, err := range Split(io.MultiReader(strings.NewReader("a: 1\n---\nb: 2\n"), iotest.ErrReader(broken)), 1<<20) {
		got = append(got, fmt.Sprintf("%d %q %v", c.Line, c.Data, err))
	}
	if d := cmp.Diff([]string{`1 "a: 1\n" <nil>`, `4 "" broken`}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for range Split(strings.NewReader("a: 1\n---\nb: 2\n"), 1<<20) {
		break // the sequence may be left early
	}
}

// Both forms cut every text in the same places.
func FuzzSplit(f *testing.F) {
	f.Add("%YAML 1.1\n---\na: 1\n...\n# b\n--- c\n")
	f.Fuzz(func(t *testing.T, text string) {
		fuzztest.Limit(t, len(text))
		var want []string
		for _, c := range Chunks([]byte(text)) {
			want = append(want, fmt.Sprintf("%d %s", c.Line, c.Data))
		}
		if d := cmp.Diff(want, parts(t, iotest.OneByteReader(strings.NewReader(text)))); d != "" {
			t.Errorf("(-in memory +stream):\n%s", d)
		}
	})
}
