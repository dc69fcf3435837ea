package permissions_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/golden/reviewtest"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/print"
)

// hostileTree has a text in every place that a report prints.
func hostileTree(s string) []any {
	rule := map[string]any{"apiGroups": []string{s, ""}, "resources": []string{s, "secrets"}, "verbs": []string{s, "get"}}
	named := map[string]any{"apiGroups": []string{""}, "resources": []string{"secrets", "pods/exec"}, "verbs": []string{"get"}, "resourceNames": []string{s}}
	url := map[string]any{"nonResourceURLs": []string{s}, "verbs": []string{"get"}}
	object := func(kind, name string, more map[string]any) map[string]any {
		o := map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": map[string]any{"name": name, "namespace": s,
			"labels": map[string]string{"rbac.authorization.k8s.io/aggregate-to-view": "true"}}}
		maps.Copy(o, more)
		return o
	}
	bind := func(kind, name, role string) map[string]any {
		return object(kind, name, map[string]any{"roleRef": map[string]any{"kind": role, "name": name},
			"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": s, "namespace": s}, map[string]any{"kind": s, "name": s},
				map[string]any{"kind": "User", "name": "system:serviceaccount:" + s + ":" + s}}})
	}
	rules := map[string]any{"rules": []any{rule, named, url}}
	return []any{object("ClusterRole", s, rules), bind("ClusterRoleBinding", s, "ClusterRole"), object("Role", s, rules), bind("RoleBinding", s, "Role"),
		bind("RoleBinding", s+"missing", "ClusterRole")}
}

// hostileReport evaluates such a tree; what is not YAML is refused, which is well.
func hostileReport(tb testing.TB, s string) *permissions.Report {
	tb.Helper()
	list := reviewtest.Hostile(tb, s, hostileTree(s))
	if list == nil {
		return nil
	}
	r, err := permissions.Evaluate(permissions.Input{Operator: permissions.Operator{Name: s, InstallMode: s, Targets: []string{s}}, Objects: list})
	if err != nil {
		return nil
	}
	return r
}

// checkFormats prints a report in every format and looks for text that got out of its place.
func checkFormats(t *testing.T, r *permissions.Report) {
	t.Helper()
	for _, format := range print.Formats {
		var out strings.Builder
		if err := print.Report(&out, r, format); err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		reviewtest.CheckFormat(t, string(format), out.String())
	}
}

func TestHostile(t *testing.T) {
	read := 0
	for _, s := range reviewtest.Texts {
		if r := hostileReport(t, s); r != nil {
			read++
			checkFormats(t, r)
		}
	}
	if read < len(reviewtest.Texts)-4 {
		t.Errorf("only %d of %d were read", read, len(reviewtest.Texts))
	}
}

func FuzzReport(f *testing.F) {
	for _, s := range reviewtest.Texts[:len(reviewtest.Texts)-1] {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		fuzztest.Limit(t, len(s))
		r := hostileReport(t, s)
		if r == nil {
			return
		}
		checkFormats(t, r)
		if d := permissions.Compare(r, r, nil); !d.Empty() {
			t.Errorf("differs from itself: %s", lines(d.Permissions))
		}
	})
}

// A rule that multiplies to more than can be looked at is refused with its line.
func TestTooLarge(t *testing.T) {
	long := func(prefix string) string {
		var b strings.Builder
		for i := range 2000 {
			b.WriteString(prefix + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + strings.Repeat("y", i/26) + ", ")
		}
		return b.String()
	}
	text := account + role("r", "op", "\n- {apiGroups: ["+long("gg")+"], resources: ["+long("rr")+"], resourceNames: ["+long("nn")+"], verbs: ["+long("vv")+"]}")
	_, err := permissions.Evaluate(permissions.Input{Objects: reviewtest.Objects(t, "tree.yaml", text)})
	if err == nil || !strings.Contains(err.Error(), "tree.yaml:11: rules[0]: the rules have more than 524288 combinations") {
		t.Errorf("got %v", err)
	}
}
