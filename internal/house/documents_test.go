package house

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/golden"
)

// statements are what documents say, and what answers it.
type statements struct {
	Title, Text, End string
	Tables           []struct {
		Title   string
		Columns []string
		Rows    []struct{ Says, Answer, By string }
	}
}

const statementsFile = "../../docs/explanation/documents.yaml"

func readStatements(t *testing.T) (s statements) {
	t.Helper()
	data, err := os.ReadFile(statementsFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, &s); err != nil {
		t.Fatalf("%s: %v", statementsFile, err)
	}
	return s
}

// page writes the statements as Markdown.
func (s statements) page() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n<!-- written by make docs from documents.yaml -->\n\n%s", s.Title, s.Text)
	for _, t := range s.Tables {
		fmt.Fprintf(&b, "\n## %s\n\n| %s |\n|%s\n", t.Title, strings.Join(t.Columns, " | "), strings.Repeat("---|", len(t.Columns)))
		for _, r := range t.Rows {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", r.Says, r.Answer, r.By)
		}
	}
	fmt.Fprintf(&b, "\n%s\n", s.End)
	return []byte(b.String())
}

// TestStatements holds that the page is what the table of statements says.
func TestStatements(t *testing.T) {
	golden.CheckFile(t, "../../docs/explanation/documents.md", readStatements(t).page(), *update)
}

var (
	testData = regexp.MustCompile("`([a-z-]+[.]txtar)`")
	option   = regexp.MustCompile("`(--[a-z-]+)`?")
	ruleID   = regexp.MustCompile("[(]`([a-z]+(?:-[a-z]+)*)`[)]")
)

// TestStatementsHold holds that each statement stands once, that each row has an answer and says what shows it, and that
// the tests, cases, options and rules which it names exist.
func TestStatementsHold(t *testing.T) {
	tests := testFuncs(t)
	var cases, pages strings.Builder
	for _, pattern := range []string{"internal/*/testdata/*.txtar", "*/*/testdata/script/*.txtar"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(names), err)
		}
		for _, name := range names {
			cases.WriteString(filepath.ToSlash(name) + "\n")
		}
	}
	for _, name := range files(t, ".md") {
		if path.Base(name) != "documents.md" {
			pages.WriteString(read(t, name))
		}
	}
	seen := map[string]bool{}
	for _, table := range readStatements(t).Tables {
		for _, r := range table.Rows {
			if r.Says == "" || r.Answer == "" || r.By == "" || seen[r.Says] {
				t.Errorf("%s: %q: it has no answer, nothing shows it, or it stands twice", table.Title, r.Says)
			}
			seen[r.Says] = true
			for name := range missing(tests, cases.String(), pages.String(), r.Answer+" "+r.By) {
				t.Errorf("%s: %q: there is no %s", table.Title, r.Says, name)
			}
		}
	}
}

// missing yields what a text names and nobody has.
func missing(tests map[string][]string, cases, pages, text string) map[string]bool {
	out := map[string]bool{}
	for _, m := range testName.FindAllStringSubmatch(text, -1) {
		out[m[1]] = len(tests[m[1]]) == 0
	}
	for _, m := range testData.FindAllStringSubmatch(text, -1) {
		out[m[1]] = !strings.Contains(cases, "/"+m[1]+"\n")
	}
	for _, m := range slices.Concat(option.FindAllStringSubmatch(text, -1), ruleID.FindAllStringSubmatch(text, -1)) {
		out[m[1]] = !regexp.MustCompile(regexp.QuoteMeta(m[1]) + `[^a-z-]`).MatchString(pages)
	}
	for name, gone := range out {
		if !gone {
			delete(out, name)
		}
	}
	return out
}

// TestMissing holds that a name of nothing is found.
func TestMissing(t *testing.T) {
	tests := map[string][]string{"TestA": {"a"}}
	for text, want := range map[string]int{"`TestA`, `a.txtar`, `--bind-all` (`status`)": 0, "`TestB`": 1, "`b.txtar`": 1,
		"`--bind`": 1, "(`stat`)": 1} {
		if got := missing(tests, "/x/a.txtar\n", "--bind-all, `status` ", text); len(got) != want {
			t.Errorf("%s: %v are missing, want %d", text, got, want)
		}
	}
}
