package compare_test

import (
	"strings"
	"testing"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/golden/reviewtest"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/print"
)

// hostileState has objects and an operator whose every text is s.
func hostileState(tb testing.TB, s, other string) *compare.State {
	tb.Helper()
	meta := map[string]any{"name": s, "namespace": s, "labels": map[string]any{s: other}, "annotations": map[string]any{s: other}}
	rule := map[string]any{"apiGroups": []any{s}, "resources": []any{s, other, "secrets"}, "verbs": []any{s, other}}
	pod := map[string]any{"serviceAccountName": other, "hostNetwork": true, "volumes": []any{map[string]any{"name": s, "hostPath": map[string]any{"path": other}}},
		"containers": []any{map[string]any{"name": s, "image": other, "args": []any{s, "--" + other}, "env": []any{map[string]any{"name": other, "value": s}}}}}
	list := reviewtest.Hostile(tb, s, []map[string]any{
		{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta},
		{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": meta, "rules": []any{rule}},
		{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": meta, "roleRef": map[string]any{"kind": "Role", "name": s},
			"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": s, "namespace": s}, map[string]any{"kind": "User", "name": other}}},
		{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": map[string]any{"template": map[string]any{"spec": pod}}},
		{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": meta, "webhooks": []any{map[string]any{"name": s,
			"failurePolicy": other, "rules": []any{map[string]any{"apiGroups": []any{other}, "apiVersions": []any{s}, "operations": []any{other}, "resources": []any{s}}}}}},
		{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": map[string]any{s: other, other: s}},
		{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion", "metadata": meta, "spec": map[string]any{"version": "1.0.0", "replaces": other, "maturity": other,
			"skips": []any{other}, "minKubeVersion": other, "installModes": []any{map[string]any{"type": other, "supported": true}},
			"customresourcedefinitions": map[string]any{"owned": []any{map[string]any{"name": other, "kind": other, "version": other}}}}},
	})
	if list == nil {
		return nil
	}
	csvs, err := permissions.InstalledCSVs(list)
	if err != nil {
		return nil
	}
	r, err := permissions.Evaluate(permissions.Input{Objects: list, CSVs: csvs})
	if err != nil {
		return nil
	}
	operators, err := compare.TreeOperators(list, csvs)
	if err != nil {
		return nil
	}
	_, roles, err := permissions.EvaluateWithRoles(permissions.Input{Objects: list, CSVs: csvs})
	if err != nil {
		return nil
	}
	return &compare.State{Name: s, Objects: list, Operators: operators, Permissions: r, Roles: roles}
}

// checkFormats prints a report in every format and looks for text that got out of its place.
func checkFormats(t *testing.T, r *compare.Report) {
	t.Helper()
	for _, format := range print.Formats {
		var out strings.Builder
		if err := print.Report(&out, r, format); err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		reviewtest.CheckFormat(t, string(format), out.String())
		if format == findings.Markdown && out.Len() >= 65536 {
			t.Fatalf("markdown: %d bytes", out.Len())
		}
	}
}

// hostileReport compares two such states, and adds a finding about a CRD.
func hostileReport(t *testing.T, s, other string) *compare.Report {
	t.Helper()
	old, now := hostileState(t, s, "before"), hostileState(t, s, other)
	if old == nil || now == nil {
		return nil
	}
	r, err := compare.Compare(t.Context(), *old, *now, compare.Options{})
	if err != nil {
		return nil
	}
	r.CRDs = append(r.CRDs, compare.CRD{CRD: s, Version: other, Rule: s, Severity: findings.Error, Message: other, Path: s})
	if again := compared(t, *now, *now); !again.Empty() {
		t.Errorf("differs from itself: %s", lines(again))
	}
	return r
}

func TestHostile(t *testing.T) {
	fuzztest.Seconds(t)
	read := 0
	for i, s := range reviewtest.Texts {
		for _, other := range []string{s, reviewtest.Texts[(i+7)%len(reviewtest.Texts)]} {
			if r := hostileReport(t, s, other); r != nil {
				read++
				checkFormats(t, r)
			}
		}
	}
	if read < 2*len(reviewtest.Texts)-8 {
		t.Errorf("only %d of %d were read", read, 2*len(reviewtest.Texts))
	}
}

func FuzzReport(f *testing.F) {
	for i, s := range reviewtest.Texts[:len(reviewtest.Texts)-1] {
		f.Add(s, reviewtest.Texts[i/2])
	}
	f.Fuzz(func(t *testing.T, s, other string) {
		fuzztest.Limit(t, len(s)+len(other))
		if r := hostileReport(t, s, other); r != nil {
			checkFormats(t, r)
		}
	})
}
