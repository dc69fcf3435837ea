package text

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

type word string

func TestLists(t *testing.T) {
	for _, c := range []struct{ list, or, and, first string }{
		{"", "", "", ""},
		{"a", "a", "a", "a"},
		{"a b", "a or b", "a and b", "a, b"},
		{"a b c", "a, b or c", "a, b and c", "a, b and 1 more"},
	} {
		var list []word
		for w := range strings.FieldsSeq(c.list) {
			list = append(list, word(w))
		}
		if or, and, first := Or(list), And(list), FirstOf(2, list); or != c.or || and != c.and || first != c.first {
			t.Errorf("%q: Or %q, And %q, FirstOf %q", c.list, or, and, first)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 files", 1: "1 file", 2: "2 files"} {
		if got := Count(n, "file"); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestReason(t *testing.T) {
	for value, want := range map[string]string{
		"A": "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', " +
			"and must start and end with an alphanumeric character (e.g. 'my-name' or '123-abc')",
		strings.Repeat("a", 64): "must be no more than 63 characters",
	} {
		if got := Reason(validation.IsDNS1123Label(value)); got != want {
			t.Errorf("%s: got %s, want %s", value, got, want)
		}
	}
	if got := Reason([]string{validation.RegexError("a word", "[a-z]")}); got != "a word" {
		t.Errorf("got %q", got)
	}
}

func TestOneLine(t *testing.T) {
	if got := OneLine(" a\n\tb  c\r\n"); got != "a b c" {
		t.Errorf("OneLine = %q", got)
	}
}

func TestNearest(t *testing.T) {
	names := []word{"bundles", "svg", "name", "namespace", "OperatorGroup"}
	for s, want := range map[string]string{
		"bundels": "bundles", "Name": "name", "nmespace": "namespace", "operatorgruop": "OperatorGroup", "": "", "xyz": "", "nme": "name", "ame": "name", "png": "", "namespaces-of-it": "",
	} {
		if got := Nearest(s, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", s, got, want)
		}
	}
	for s, want := range map[string]string{"grafana": "grafana-operator", "kube": "", "gr": ""} { // the beginning of one, of two
		if got := Nearest(s, []string{"grafana-operator", "kubevirt-operator", "kube-descheduler"}); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", s, got, want)
		}
	}
	if got := Nearest[string]("a", nil); got != "" {
		t.Errorf("Nearest without names = %q", got)
	}
}

// Text is cut between characters, and what would steer a terminal is replaced.
func TestShorten(t *testing.T) {
	for s, want := range map[string]string{"": "", "äöüß": "äöüß", "äöüßé": "äöü…", "a\x1bb": "a\uFFFDb"} {
		if got := Shorten(s, 4); got != want {
			t.Errorf("Shorten(%q) = %q, want %q", s, got, want)
		}
	}
	if got, want := FirstOf(1, []string{strings.Repeat("x", 500), "b"}), strings.Repeat("x", maxBrief-1)+"… and 1 more"; got != want {
		t.Errorf("FirstOf = %q, want %q", got, want)
	}
}

// A word is quoted for a shell if it has to be.
func TestShell(t *testing.T) {
	for word, want := range map[string]string{"a-b.c/d:e=f@g_1": "a-b.c/d:e=f@g_1", "a,b": "a,b", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$x": "'$x'"} {
		if got := Shell(word); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
