package witness

import (
	"regexp"
	"strings"
	"testing"
)

func TestPatternWidens(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"^(a|b)$", "^[ab]$", true}, {"^[ab]$", "^(a|b)$", true}, {"^a{3}$", "^aaa$", true}, {"^a$", "^[ab]$", true},
		{"^[ab]$", "^a$", false}, {"^a$", "a", true}, {"a", "^a$", false}, {"", "a", false}, {"a", "", true}, {"", ".*", true},
		{`^\d+$`, "^[0-9]+$", true}, {`^a\b`, "^a", true}, {"^a", `^a\b`, false}, {"(?i)^k$", "^[kK]$", false},
		{"^[kK]$", "(?i)^k$", true}, {"^.$", "^[^x]$", false}, {`^.$`, `(?s)^.$`, true}, {`(?s)^.$`, `^.$`, false},
		{"^[a-z]([-a-z0-9]*[a-z0-9])?$", "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", true},
		{"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "^[a-z]([-a-z0-9]*[a-z0-9])?$", false},
		{"^(a|ab)(c|bcd)$", "^(ac|abc|abcd|abbcd)$", true}, {"(?=a)", "a", false}, {"a", "(?=a)", false},
		{"^.{0,63}$", "^.{0,253}$", true}, {"^.{0,253}$", "^.{0,63}$", false},
	} {
		if got := patternWidens(c.from, c.to); got != c.want {
			t.Errorf("%q -> %q: %t", c.from, c.to, got)
		}
	}
}

// FuzzPatternWidens holds that no text refutes a proof.
func FuzzPatternWidens(f *testing.F) {
	f.Add("^(a|b)$", "^[ab]$", "ab\n")
	f.Add(`\ba*$`, `a\B`, "aa b")
	f.Fuzz(func(t *testing.T, from, to, text string) {
		if len(from)+len(to) > 40 || !patternWidens(from, to) {
			return
		}
		a, b := regexp.MustCompile(from), regexp.MustCompile(to)
		for n := range len(text) + 1 {
			for _, part := range []string{text[:n], text[n:]} {
				if s := strings.ToValidUTF8(part, ""); a.MatchString(s) && !b.MatchString(s) {
					t.Errorf("%q -> %q: %q", from, to, s)
				}
			}
		}
	})
}
