package crds

import (
	"errors"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/golden/reviewtest"
	"github.com/olmgen/olmgen/manifest"
)

const head = "apiVersion: olmgen.dev/v1alpha1\nkind: CRDRules\n"

func TestRules(t *testing.T) {
	rules, err := ParseRules("rules.yaml", []byte(head+`rules:
- {id: type, severity: info}
- {id: crdAdded, severity: none}
- {id: servedVersions, severity: error}
`))
	if err != nil {
		t.Fatal(err)
	}
	for rule, want := range map[string]findings.Severity{"type": Info, "crdAdded": None, "enum": Error, "servedVersions": Error} {
		if got := rules.Severity(rule); got != want {
			t.Errorf("%s is %s, want %s", rule, got, want)
		}
	}
	findings, err := Compare(t.Context(), nil, reviewtest.Objects(t, "now.yaml", crdText("{type: string}", "v1 served storage")),
		Options{Rules: rules})
	if err != nil || len(findings) != 0 {
		t.Errorf("a finding of severity none is there: %v, %v", findings, err)
	}
}

func TestBadRules(t *testing.T) {
	for name, tc := range map[string]struct{ text, want, hint string }{
		"empty":       {"", "rules.yaml: is empty", "start the file with"},
		"kind":        {"apiVersion: v1\nkind: List2\n", "rules.yaml:2: kind: is \"List2\", not CRDRules", "write kind: CRDRules"},
		"field":       {head + "rule: []\n", "rules.yaml:3: rule: no such field", "did you mean rules?"},
		"deep field":  {head + "rules:\n- {id: type, severty: info}\n", "rules.yaml:4: rules[0].severty: no such field", "did you mean severity?"},
		"rule":        {head + "rules:\n- {id: maxLenght, severity: info}\n", `rules.yaml:4: rules[0].id: unknown rule "maxLenght"`, "did you mean maxLength?"},
		"severity":    {head + "rules:\n- {id: type, severity: warn}\n", `rules.yaml:4: rules[0].severity: unknown value "warn"`, "choose one of error, warning, info, none"},
		"twice":       {head + "rules:\n- {id: type, severity: info}\n- {id: type, severity: error}\n", "rules.yaml:5: rules[1].id: the rule type occurs twice", "remove one"},
		"key twice":   {head + "rules: []\nrules: []\n", "rules.yaml:4: rules: is given twice", "keep one of them"},
		"no id":       {head + "rules:\n- {severity: info}\n", "rules.yaml:4: rules[0]: id is missing", ""},
		"type":        {head + "rules: {}\n", "rules.yaml:3: rules: ", ""},
		"second":      {head + "---\n" + head, "rules.yaml:3: a second YAML document", ""},
		"not a YAML":  {"{", "rules.yaml:", ""},
		"not a field": {"- a\n", "rules.yaml:1: ", ""},
	} {
		_, err := ParseRules("rules.yaml", []byte(tc.text))
		var e *manifest.Error
		if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), tc.want) || !strings.Contains(e.Tip, tc.hint) {
			t.Errorf("%s: %v, hint %q; want %s, hint %q", name, err, e, tc.want, tc.hint)
		}
	}
}

// TestRuleIDs holds that each rule is declared once and has a text.
func TestRuleIDs(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range BuiltinRules() {
		if seen[r.ID] || r.Text == "" || r.Severity.Rank() < 0 {
			t.Errorf("%+v", r)
		}
		seen[r.ID] = true
	}
	c, err := crdifyComparators()
	if err != nil || len(c.crds) == 0 || len(c.schemas) == 0 {
		t.Error(c, err)
	}
}
