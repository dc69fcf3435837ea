package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A script that is right plays to its end; one that is wrong is an error that has its line and what was said.
func TestScripts(t *testing.T) {
	for _, test := range []struct{ name, script, skipped, says string }{
		{"right", "exec echo a\nstdout a\nexits 3 sh -c 'exit 3'\nsoon '^b$' echo b\nsettles 400ms '^b$' echo b\n" +
			"stays 400ms b echo b\nretry 1s exits 0 true\n! exits 0 false\n", "", ""},
		{"variables", "exec sh -c 'test $FROM = here && test $ROOT && ls file'\n-- file --\n", "", ""},
		{"objects", "objects x.yaml\ncmp stdout want\n-- x.yaml --\n{apiVersion: v1, kind: Secret, metadata: {name: b}}\n---\n" +
			"{apiVersion: v1, kind: Secret, metadata: {name: a, annotations: {config.kubernetes.io/index: \"1\"}}}\n" +
			"-- want --\n# Secret /a\napiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n" +
			"# Secret /b\napiVersion: v1\nkind: Secret\nmetadata:\n  name: b\n", "", ""},
		{"skips", "skip 'there is no program'\nexec false\n", "there is no program", ""},
		{"fails", "# heading\nexec echo a\nstdout b\nexec touch more\n", "", "x.txtar:3: no match for `b`"},
		{"wrong code", "exits 2 sh -c 'exit 3'\n", "", "exit code 3"},
		{"another text", "stays 10s b echo a\n", "", `it does not say "(?m)b"`},
		{"step succeeds", "! exits 0 true\n", "", "exits succeeds"},
		{"too late", "retry 1ms exits 0 false\n", "", "exit code 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := options{root: t.TempDir(), only: regexp.MustCompile("")}
			file := filepath.Join(o.root, "e2e", "scripts", "check", "x.txtar")
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(test.script), 0o600); err != nil {
				t.Fatal(err)
			}
			s := &session{options: o, ctx: context.Background()}
			skipped, err := s.run(scenario{"x", "check/x", map[string]string{"FROM": "here"}})
			if skipped != test.skipped {
				t.Errorf("skipped: %q", skipped)
			}
			if test.says == "" && err != nil || test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
				t.Errorf("%v, want %q", err, test.says)
			}
		})
	}
}

// Each step of the scripts has its line in the README, and each script uses steps that there are.
func TestStepsAreDescribed(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range scriptSteps {
		if !regexp.MustCompile("(?m)^\\| .*`" + name + "[ `]").Match(readme) {
			t.Errorf("e2e/README.md does not explain the step %s", name)
		}
	}
}

// The edits by hand name objects, edits and outcomes that there are.
func TestHandEdits(t *testing.T) {
	all, err := options{root: "../.."}.handEdits()
	if err != nil || len(all) != 78 {
		t.Fatal(len(all), err)
	}
	for _, e := range all {
		if len(e.Repeat)+len(e.Reverse)+len(e.Remove)+len(e.Set)+len(e.Append) == 0 || e.Does == "" || !strings.Contains(e.Of, " ") {
			t.Errorf("%+v", e)
		}
	}
	o := map[string]any{"list": []any{map[string]any{"name": "a/b", "x": "y"}}}
	handEdit{Repeat: []string{"/list"}, Reverse: []string{"/list"}, Remove: []string{"/list/0/x"},
		Set:    map[string]any{"/list/-/name": "c", "/new/d~1e": true, "/list/name=a~1b/x": "z"},
		Append: map[string]any{"/list": "last"}}.apply(o)
	list, _ := o["list"].([]any)
	if fresh, _ := o["new"].(map[string]any); len(list) != 3 || list[2] != "last" || fresh["d/e"] != true {
		t.Error(o)
	}
}
