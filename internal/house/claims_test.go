package house

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	testName = regexp.MustCompile("`((?:Test|Fuzz)\\w+)(?:/([^`]+))?`")
	fuzzRow  = regexp.MustCompile("^\\| `([^`]+)` (Fuzz\\w+) \\|")
)

// testFuncs returns the folders of the tests and fuzz targets of the repository, by name.
func testFuncs(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for declared := range declarations(t) {
		file, name, _ := strings.Cut(declared, " ")
		if strings.HasSuffix(file, "_test.go") && (strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Fuzz")) {
			found[name] = append(found[name], path.Dir(file))
		}
	}
	return found
}

// TestClaims holds that each row of a table of claims or faults names tests that exist.
func TestClaims(t *testing.T) {
	tests, rows := testFuncs(t), 0
	for _, page := range []string{"SECURITY.md", "docs/reliability.md"} {
		inTable := false
		for i, line := range strings.Split(read(t, page), "\n") {
			switch {
			case !strings.HasPrefix(line, "|"):
				inTable = false
			case strings.HasSuffix(line, "| test |"):
				inTable = true
			case inTable && !strings.HasPrefix(line, "|---"):
				rows++
				cells := strings.Split(strings.TrimSuffix(line, "|"), "|")
				names := testName.FindAllStringSubmatch(cells[len(cells)-1], -1)
				if len(names) == 0 {
					t.Errorf("%s:%d: a claim without a test: %.80s", page, i+1, line)
				}
				for _, n := range names {
					if len(tests[n[1]]) == 0 {
						t.Errorf("%s:%d: there is no %s", page, i+1, n[1])
					}
					if n[1] == "TestScripts" && !exists("cmd/olmgen/testdata/script/"+n[2]+".txtar") {
						t.Errorf("%s:%d: there is no script %s", page, i+1, n[2])
					}
				}
			}
		}
	}
	if rows < 30 {
		t.Errorf("only %d claims: do the tables still have a column named test?", rows)
	}
}

// TestFuzzTable holds that the table of fuzz targets has all of them, and no others.
func TestFuzzTable(t *testing.T) {
	want, have := map[string]bool{}, map[string]bool{}
	for name, dirs := range testFuncs(t) {
		for _, dir := range dirs {
			if strings.HasPrefix(name, "Fuzz") {
				want[dir+" "+name] = true
			}
		}
	}
	for line := range strings.Lines(read(t, "docs/reference/fuzzing.md")) {
		if m := fuzzRow.FindStringSubmatch(line); m != nil {
			have[m[1]+" "+m[2]] = true
		}
	}
	for _, target := range slices.Sorted(maps.Keys(want)) {
		if !have[target] {
			t.Errorf("docs/reference/fuzzing.md: no row for %s", target)
		}
	}
	for _, target := range slices.Sorted(maps.Keys(have)) {
		if !want[target] {
			t.Errorf("docs/reference/fuzzing.md: there is no fuzz target %s", target)
		}
	}
}
