package house

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// stage is a line of .ci/stages.
type stage struct {
	when, command string
	partOf        []string
	paths, needs  []string
}

// stages reads the table, and the names in its order.
func stages(t *testing.T) (names []string, table map[string]stage) {
	t.Helper()
	table = map[string]stage{}
	for line := range strings.Lines(read(t, ".ci/stages")) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		if len(fields) < 6 || !regexp.MustCompile(`^\d+$`).MatchString(fields[4]) {
			t.Fatalf("want: name when paths needs limit command: %s", line)
		}
		if _, twice := table[fields[0]]; twice {
			t.Errorf("stage %s stands there twice", fields[0])
		}
		when, parts, _ := strings.Cut(fields[1], ":")
		names = append(names, fields[0])
		table[fields[0]] = stage{when, strings.Join(fields[5:], " "), list(parts), list(fields[2]), list(fields[3])}
	}
	return names, table
}

// list returns the elements of a column.
func list(column string) []string {
	return strings.FieldsFunc(column, func(r rune) bool { return r == ',' || r == '-' && column == "-" })
}

func TestStages(t *testing.T) {
	names, table := stages(t)
	targets := makeTargets(t)
	for _, name := range names {
		s := table[name]
		if !slices.Contains([]string{"gate", "path", "all"}, s.when) {
			t.Errorf("%s: there is no %q: want gate, path or all", name, s.when)
		}
		if (s.when == "path") != (len(s.paths) > 0) {
			t.Errorf("%s: a stage of \"path\" has paths, and no other one", name)
		}
		for _, p := range s.paths {
			if found, err := filepath.Glob(filepath.Join(root, p+"*")); err != nil || len(found) == 0 {
				t.Errorf("%s: nothing begins with %s", name, p)
			}
		}
		for _, whole := range s.partOf {
			if w, ok := table[whole]; !ok || w.when == "gate" || slices.Index(names, whole) < slices.Index(names, name) {
				t.Errorf("%s: %s, which does more, is no later stage outside of the gate", name, whole)
			}
		}
		made := regexp.MustCompile(`\bmake ([a-z0-9-]+)((?: [a-z0-9-]+\b)*)`).FindAllStringSubmatch(s.command, -1)
		if len(made) == 0 {
			t.Errorf("%s makes nothing: %s", name, s.command)
		}
		for _, m := range made {
			for target := range strings.FieldsSeq(m[1] + m[2]) {
				if !targets[target] {
					t.Errorf("%s: the Makefile has no target %s", name, target)
				}
			}
		}
	}
}

// makeTargets returns the names of the Makefile's targets.
func makeTargets(t *testing.T) map[string]bool {
	t.Helper()
	targets := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z0-9-]+):`).FindAllStringSubmatch(read(t, "Makefile"), -1) {
		targets[m[1]] = true
	}
	return targets
}

// The matrix of the public workflows has every stage that needs neither the corpus nor the oracle, each once.
func TestMatrix(t *testing.T) {
	names, table := stages(t)
	gate, all := matrix(t, "gate"), matrix(t, "all")
	for _, name := range names {
		s := table[name]
		data := slices.Contains(s.needs, "corpus") || slices.Contains(s.needs, "oracle")
		if want := s.when == "gate" && !data; want != slices.Contains(gate, name) {
			t.Errorf("the gate of the public workflows has the stage %s: %v", name, !want)
		}
		whole := len(s.partOf) > 0
		for _, w := range s.partOf {
			whole = whole && slices.Contains(all, w)
		}
		if want := !data && !whole; want != slices.Contains(all, name) {
			t.Errorf("the nightly run has the stage %s: %v", name, !want)
		}
	}
	for _, list := range [][]string{gate, all} {
		if slices.Sort(list); len(slices.Compact(slices.Clone(list))) != len(list) {
			t.Errorf("a stage runs twice: %v", list)
		}
	}
}

// matrix returns the stages of the jobs that .ci/run prints.
func matrix(t *testing.T, run string) []string {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	out, err := exec.Command("bash", filepath.Join(root, ".ci", "run"), "--matrix", run).Output()
	if err != nil {
		t.Fatal(err)
	}
	var jobs []string
	if err := json.Unmarshal(out, &jobs); err != nil {
		t.Fatal(err)
	}
	return strings.Fields(strings.Join(jobs, " "))
}

// workflow is what the tests read of a workflow.
type workflow struct {
	Jobs map[string]struct {
		Needs       any
		Permissions map[string]string
		Strategy    struct{ Matrix any }
		Steps       []struct{ Run string }
	}
}

var (
	runsStages = regexp.MustCompile(`\.ci/run +([^\n"|)]*)`)
	runsMake   = regexp.MustCompile(`(?m)\bmake ([a-z0-9-]+)`)
)

// A workflow takes its stages from the table: no name of a stage stands in it that could be wrong. A target that it makes
// is there. Only the job that opens an issue may write issues.
func TestWorkflows(t *testing.T) {
	found, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*.yaml"))
	if err != nil || len(found) < 5 {
		t.Fatal(found, err)
	}
	_, table := stages(t)
	targets, tables, writers := makeTargets(t), 0, []string(nil)
	for _, file := range found {
		name := path.Base(filepath.ToSlash(file))
		var w workflow
		if err := yaml.Unmarshal([]byte(read(t, ".github/workflows/"+name)), &w); err != nil {
			t.Fatal(name, err)
		}
		for id, job := range w.Jobs {
			if job.Permissions["issues"] == "write" {
				writers = append(writers, name+" "+id)
			}
			for _, step := range job.Steps {
				for _, m := range runsMake.FindAllStringSubmatch(step.Run, -1) {
					if !targets[m[1]] {
						t.Errorf("%s: %s: the Makefile has no target %s", name, id, m[1])
					}
				}
				for _, m := range runsStages.FindAllStringSubmatch(step.Run, -1) {
					if strings.HasPrefix(m[1], "--matrix") {
						tables++
						continue
					}
					for word := range strings.FieldsSeq(m[1]) {
						if _, ok := table[word]; !ok {
							t.Errorf("%s: %s: %s is no stage", name, id, word)
						}
					}
				}
				if strings.Contains(step.Run, `.ci/run "${stages[@]}"`) &&
					fmt.Sprintf("%v %v", job.Needs, job.Strategy.Matrix) != "table map[stages:${{ fromJSON(needs.table.outputs.stages) }}]" {
					t.Errorf("%s: %s: its stages are not those of the job table: %v", name, id, job.Strategy.Matrix)
				}
			}
		}
	}
	if tables != 2 {
		t.Errorf("%d jobs print the table, not those of ci.yaml and nightly.yaml", tables)
	}
	if !slices.Equal(writers, []string{"nightly.yaml issue"}) {
		t.Errorf("these may write issues: %v", writers)
	}
}

var slowTest = regexp.MustCompile(`(?m)^func (Test\w+)\(\w+ \*testing\.T\) \{\n\tfuzztest\.Slow\(t\)$`)

// A slow test runs in one stage: the Makefile names it and its package once, with the switch.
func TestSlowTestsRun(t *testing.T) {
	type line struct{ pattern, packages string }
	var lines []line
	for _, m := range regexp.MustCompile(`(?m)OLMGEN_SLOW=1.* -run '([^']*)' (.*)$`).FindAllStringSubmatch(read(t, "Makefile"), -1) {
		lines = append(lines, line{strings.ReplaceAll(m[1], "$$", "$"), m[2]})
	}
	slow := 0
	for _, file := range files(t, ".go") {
		text := read(t, file)
		marked := slowTest.FindAllStringSubmatch(text, -1)
		if calls := strings.Count(text, "fuzztest.Slow("); calls != len(marked) && file != "internal/house/stages_test.go" {
			t.Errorf("%s: a test is slow as a whole: call fuzztest.Slow(t) in its first line", file)
		}
		for _, m := range marked {
			slow++
			runs := 0
			for _, l := range lines {
				if regexp.MustCompile(l.pattern).MatchString(m[1]) && slices.Contains(strings.Fields(l.packages), "./"+path.Dir(file)) {
					runs++
				}
			}
			if runs != 1 {
				t.Errorf("%s: %d targets of the Makefile run %s with OLMGEN_SLOW=1, want one", file, runs, m[1])
			}
		}
	}
	if slow < 6 {
		t.Errorf("only %d slow tests: does the pattern still match?", slow)
	}
}
