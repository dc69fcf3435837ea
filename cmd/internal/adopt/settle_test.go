package adopt

import (
	"slices"
	"strings"
	"testing"
)

// A Subscription that has installed nothing is a comment that says what it waits for.
func TestWaiting(t *testing.T) {
	const ref = `installPlanRef: {name: install-x}`
	for _, c := range []struct {
		what, status, plan string
		want               string
	}{
		{"nothing", `{}`, "", "state unknown"},
		{"a state", `{state: UpgradePending}`, "", "state UpgradePending"},
		{"a plan", `{state: UpgradePending, ` + ref + `}`, `status: {phase: RequiresApproval}`, "InstallPlan install-x is RequiresApproval"},
		{"a plan that failed", `{state: UpgradeFailed, ` + ref + `}`, `status: {phase: Failed, message: later, conditions: [{type: Installed, status: "False", message: no rights}]}`,
			"InstallPlan install-x is Failed: no rights"},
		{"a plan that cannot unpack", `{` + ref + `}`, `status: {phase: Installing, conditions: [{type: Installed, status: "True", message: done}], bundleLookups: [{conditions: [{message: no image}]}]}`,
			"InstallPlan install-x is Installing: no image"},
		{"a plan with a message", `{` + ref + `}`, `status: {phase: Installing, message: no CRD}`, "InstallPlan install-x is Installing: no CRD"},
		{"a plan that has not begun", `{state: UpgradePending, ` + ref + `}`, `{}`, "state UpgradePending"},
		{"a plan that is gone", `{state: UpgradePending, ` + ref + `}`, "", "state UpgradePending"},
		{"a condition", `{state: x, conditions: [{type: A, status: "False", message: not this}, {type: B, status: "True"}, {type: C, status: "True", message: no catalog}]}`,
			"", "C: no catalog"},
	} {
		list := append(ferry(), item("Subscription", "harbour/later", `{spec: {name: tug}, status: `+c.status+`}`))
		if c.plan != "" {
			list = append(list, item("InstallPlan", "harbour/install-x", c.plan))
		}
		s := cluster(t, list)
		want := "Subscription harbour/later: package tug has no ClusterServiceVersion (" + c.want + ")."
		if !slices.Equal(s.Waiting, []string{want}) || !slices.Equal(s.Groups[0].Waiting, []string{"later"}) {
			t.Errorf("%s: %q %q, want %q", c.what, s.Waiting, s.Groups[0].Waiting, want)
		}
	}
	s := cluster(t, ferry(), []map[string]any{item("Subscription", "dock/later", `{spec: {name: tug}}`)})
	if len(s.Waiting) != 1 || len(s.Groups[0].Waiting) != 0 {
		t.Errorf("a Subscription without a group: %q", s.Waiting)
	}
	s = cluster(t, dropped(ferry(), "Subscription", "ferry-sub"), []map[string]any{item("Subscription", "harbour/again", `{spec: {name: ferry}}`)})
	want := "Subscription harbour/again: package ferry has ClusterServiceVersion ferry.v1.0.0, which no Subscription has installed (state unknown)."
	if !slices.Equal(s.Waiting, []string{want}) {
		t.Errorf("a Subscription beside a CSV of its package: %q", s.Waiting)
	}
}

// No plan is made in the middle of an upgrade.
func TestCheckSettled(t *testing.T) {
	const next = `status: {currentCSV: ferry.v2.0.0}`
	plan := func(namespace, names, phase string) map[string]any {
		return item("InstallPlan", namespace+"/p", `{spec: {clusterServiceVersionNames: `+names+`}, status: {phase: `+phase+`}}`)
	}
	old := item("ClusterServiceVersion", "harbour/old", `status: {phase: Replacing}`)
	const both = `[ferry.v2.0.0, tug.v1.0.0]`
	for _, c := range []struct {
		what     string
		csv, sub string
		more     []map[string]any
		want     string
	}{
		{"at rest", `{}`, `{}`, nil, ""},
		{"a failed CSV with a message", `status: {phase: Failed, reason: ComponentUnhealthy, message: no pods}`, `{}`, nil, "ClusterServiceVersion harbour/ferry.v1.0.0 is Failed (ComponentUnhealthy): no pods"},
		{"a failed CSV", `status: {phase: Failed, reason: ComponentUnhealthy}`, `{}`, nil, "ClusterServiceVersion harbour/ferry.v1.0.0 is Failed (ComponentUnhealthy)"},
		{"a new CSV", `status: {phase: "", reason: ""}`, `{}`, nil, "ClusterServiceVersion harbour/ferry.v1.0.0 is new (no reason)"},
		{"a CSV that is about to be replaced", `spec: {replaces: old}`, `{}`, []map[string]any{old}, "ClusterServiceVersion harbour/old is about to be replaced"},
		{"one of another namespace", `{}`, `{}`, []map[string]any{item("OperatorGroup", "dock/og", `{}`), item("ClusterServiceVersion", "dock/old", `status: {phase: Replacing}`),
			item("ClusterServiceVersion", "dock/ferry.v1.0.0", `{spec: {replaces: old}, status: {phase: Succeeded}}`)}, "ClusterServiceVersion dock/old is about to be replaced"},
		{"a plan that installs", `{}`, next, []map[string]any{plan("harbour", both, "Installing")}, "InstallPlan harbour/p is Installing"},
		{"a plan that is made", `{}`, next, []map[string]any{plan("harbour", both, "Planning")}, "InstallPlan harbour/p is Planning"},
		{"a plan that waits for approval", `{}`, next, []map[string]any{plan("harbour", both, "RequiresApproval")}, ""},
		{"a plan for others", `{}`, next, []map[string]any{plan("harbour", `[tug.v1.0.0]`, "Installing")}, ""},
		{"a plan of another namespace", `{}`, next, []map[string]any{plan("pier", both, "Installing")}, ""},
		{"a plan of the installed CSV", `{}`, `{}`, []map[string]any{plan("harbour", `[ferry.v1.0.0]`, "Installing")}, ""},
		{"a plan without Subscription", `{}`, `-`, []map[string]any{plan("harbour", both, "Installing")}, ""},
	} {
		list := subscribed(with(ferry(), "ClusterServiceVersion", c.csv), c.sub)
		err := cluster(t, list, c.more).checkSettled()
		got := ""
		if err != nil {
			got = strings.TrimPrefix(err.Error(), "OLM has not settled: ")
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}
