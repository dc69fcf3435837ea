package resolve

import (
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/operator-framework/api/pkg/constraints"
)

var celRules = []string{
	"true", "1", "1 == 1", "properties", "properties.exists(p, p.type == 'olm.package')",
	"properties.exists(p, p.type == 'olm.package' && p.value.version == '1.0.0')",
	"properties.exists(p, p.type == 'olm.package' && (semver_compare(p.value.version, '0.9') == 1))",
	"properties.exists(p, semver_compare(p.value.version, '0.9') == 1)", "semver_compare('x', '1.0.0') == 0",
	"semver_compare(1, 2) < 0", "semver_compare('1.0', 'v1.0.0') == 0", "size(properties) == 2",
	"properties.all(p, p.value.none == 1)", "properties.map(p, p.type) == ['olm.package', 'x']", "none", "(", "dyn(true)",
	"properties[0].value.version.matches('^1')", "duration('1s') > duration('1ms')",
}

// The rules mean what they mean in the package that OLM uses.
func TestCELIsOLMs(t *testing.T) {
	data := map[string]any{"properties": []map[string]any{
		{"type": "olm.package", "value": map[string]any{"packageName": "a", "version": "1.0.0"}},
		{"type": "x", "value": "y"},
	}}
	theirs := constraints.NewCelEnvironment()
	c := newConverter()
	held := 0
	for _, rule := range celRules {
		program, wantErr := theirs.Validate(rule)
		own, err := c.compile(rule)
		if (err == nil) != (wantErr == nil) {
			t.Errorf("%s: error %v, OLM has %v", rule, err, wantErr)
			continue
		}
		if err != nil {
			continue
		}
		want, wantErr := program.Evaluate(data)
		got := c.holds(rule, own, &entry{facts: &facts{cel: data["properties"].([]map[string]any)}})
		if got != (want && wantErr == nil) {
			t.Errorf("%s: %v, OLM has %v, %v", rule, got, want, wantErr)
		}
		if got {
			held++
		}
	}
	if held < 6 || c.fault != nil {
		t.Errorf("only %d rules hold, %v", held, c.fault)
	}
}

// A rule with nested loops is an error, and not a hang.
func TestCELCost(t *testing.T) {
	c := newConverter()
	list := "[" + strings.Repeat("1,", 50) + "1]"
	rule := "true"
	for v := range strings.SplitSeq("abcdef", "") {
		rule = list + ".all(" + v + ", " + rule + ")"
	}
	r, err := c.cel(rule, "")
	if err != nil {
		t.Fatal(err)
	}
	if r.test(&entry{facts: &facts{}}) || c.fault == nil || !strings.Contains(c.fault.Error(), "cost more than") {
		t.Errorf("the fault is %v", c.fault)
	}
	c.spend(1, "a later rule")
	if strings.Contains(c.fault.Error(), "a later rule") {
		t.Errorf("the fault is the last one: %v", c.fault)
	}
	var p cel.Program // not asked any more
	if c.holds("true", p, nil) {
		t.Error("a rule holds after the fault")
	}
}

// The limit itself may be spent.
func TestCELLimit(t *testing.T) {
	c := newConverter()
	if c.spend(celCost, "a"); c.fault != nil {
		t.Error(c.fault)
	}
	if c.spend(1, "b"); c.fault == nil {
		t.Error("one more is no fault")
	}
}
