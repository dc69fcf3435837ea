package upgrade_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/review/permissions"
	"github.com/olmgen/olmgen/review/upgrade"
	"github.com/olmgen/olmgen/review/upgrade/change"
)

var hostile = []string{
	"x", "a|b", "`c`", "**d**", "<script>alert(1)</script>", "</details><h1>", "[e](https://e.example)", "@org/team", "![i](https://e.example/i.png)", "\x1b[31mred\x1b[0m",
	"line\nbreak\r\n| z |", "\u202emirror\u202c", "\u0085\u2028", "a\\|b", "\\", "~~s~~", "#1", "\" onload=x=\"", "{{.}}", "{{template \"body\"}}", "&lt;b&gt;", "\x00", "\ufeff", "', '",
	"]]>", "-->", "$(x)", "éà", strings.Repeat("x", 1<<20),
}

// hostileState has objects and an operator whose every text is s.
func hostileState(tb testing.TB, s, other string) *upgrade.State {
	tb.Helper()
	meta := map[string]any{"name": s, "namespace": s, "labels": map[string]any{s: other}, "annotations": map[string]any{s: other}}
	rule := map[string]any{"apiGroups": []any{s}, "resources": []any{s, other, "secrets"}, "verbs": []any{s, other}}
	pod := map[string]any{"serviceAccountName": other, "hostNetwork": true, "volumes": []any{map[string]any{"name": s, "hostPath": map[string]any{"path": other}}},
		"containers": []any{map[string]any{"name": s, "image": other, "args": []any{s, "--" + other}, "env": []any{map[string]any{"name": other, "value": s}}}}}
	var list []*manifest.Object
	for _, o := range []map[string]any{
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
	} {
		data, err := json.Marshal(o)
		if err != nil {
			tb.Fatal(err)
		}
		docs, err := manifest.ReadFile("x"+s[:min(len(s), 255)], data, manifest.Limits{})
		if err != nil {
			return nil
		}
		for _, d := range docs {
			objects, err := d.Objects()
			if err != nil {
				return nil
			}
			list = append(list, objects...)
		}
	}
	csvs, err := permissions.InstalledCSVs(list)
	if err != nil {
		return nil
	}
	r, err := permissions.Evaluate(permissions.Input{Objects: list, CSVs: csvs})
	if err != nil {
		return nil
	}
	operators, err := upgrade.TreeOperators(list, csvs)
	if err != nil {
		return nil
	}
	roles, err := permissions.UnboundRoles(permissions.Input{Objects: list, CSVs: csvs})
	if err != nil {
		return nil
	}
	return &upgrade.State{Name: s, Objects: list, Operators: operators, Permissions: r, Roles: roles}
}

var (
	tag      = regexp.MustCompile(`</?([a-zA-Z!][a-zA-Z0-9]*)`)
	cellEdge = regexp.MustCompile(`(^|[^\\])((\\\\)*)\|`)
	htmlTags = " !doctype html head meta title style body header main h1 h2 p div label input span button section a table thead tr th tbody td code small strong details summary script "
	handler  = regexp.MustCompile(`<[^>]*\son[a-z]+=[^>]*>`)
	value    = regexp.MustCompile(`="[^"]*"`) // of an attribute
)

// checkFormats prints a report in every format and looks for text that got out of its place.
func checkFormats(t *testing.T, r *upgrade.Report) {
	t.Helper()
	for _, format := range upgrade.Formats {
		var out bytes.Buffer
		if err := r.Print(&out, format); err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		text := out.String()
		if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 && format != upgrade.JSON {
			t.Fatalf("%s: not printable at %d: %q", format, i, text[i:min(i+20, len(text))])
		}
		if format != upgrade.JSON && len(text) > 1<<17 {
			t.Fatalf("%s: %d bytes", format, len(text))
		}
		switch format {
		case upgrade.JSON, upgrade.SARIF:
			if !json.Valid(out.Bytes()) {
				t.Fatalf("%s: not JSON", format)
			}
		case upgrade.HTML:
			for _, m := range tag.FindAllStringSubmatch(text, -1) {
				if !strings.Contains(htmlTags, " "+strings.ToLower(m[1])+" ") {
					t.Fatalf("html: a tag that is not the page's: %s", m[0])
				}
			}
			if strings.Count(text, "<style>") != 1 || strings.Count(text, "<script") != 1 || handler.MatchString(value.ReplaceAllString(text, "=")) || strings.Contains(text, "href=\"http") {
				t.Fatal("html: a style, a handler or a link that is not the page's")
			}
		case upgrade.Markdown:
			checkMarkdown(t, text)
		}
	}
}

func checkMarkdown(t *testing.T, text string) {
	t.Helper()
	if len(text) >= 65536 {
		t.Fatalf("markdown: %d bytes", len(text))
	}
	columns := 0
	for line := range strings.SplitSeq(text, "\n") {
		for _, m := range tag.FindAllStringSubmatch(line, -1) {
			if m[1] != "details" && m[1] != "summary" {
				t.Fatalf("markdown: a tag: %s", line)
			}
		}
		if strings.Contains(line, "@org") || strings.Contains(line, "https://e.example") {
			t.Fatalf("markdown: a mention or a link: %s", line)
		}
		switch edges := len(cellEdge.FindAllString(line, -1)); {
		case !strings.HasPrefix(line, "|"):
			columns = 0
		case columns == 0:
			columns = edges
		case edges != columns:
			t.Fatalf("markdown: %d cells in place of %d: %.300s", edges, columns, line)
		}
	}
}

// hostileReport compares two such states, and adds a finding about a CRD.
func hostileReport(t *testing.T, s, other string) *upgrade.Report {
	t.Helper()
	old, now := hostileState(t, s, "before"), hostileState(t, s, other)
	if old == nil || now == nil {
		return nil
	}
	r, err := upgrade.Compare(t.Context(), *old, *now, upgrade.Options{})
	if err != nil {
		return nil
	}
	r.CRDs = append(r.CRDs, upgrade.CRD{CRD: s, Version: other, Rule: s, Severity: change.Error, Message: other, Path: s})
	if again := compare(t, *now, *now); !again.Empty() {
		t.Errorf("differs from itself: %s", lines(again))
	}
	return r
}

func TestHostile(t *testing.T) {
	read := 0
	for i, s := range hostile {
		for _, other := range []string{s, hostile[(i+7)%len(hostile)]} {
			if r := hostileReport(t, s, other); r != nil {
				read++
				checkFormats(t, r)
			}
		}
	}
	if read < 2*len(hostile)-8 {
		t.Errorf("only %d of %d were read", read, 2*len(hostile))
	}
}

func FuzzReport(f *testing.F) {
	for i, s := range hostile[:len(hostile)-1] {
		f.Add(s, hostile[i/2])
	}
	f.Fuzz(func(t *testing.T, s, other string) {
		if r := hostileReport(t, s, other); r != nil {
			checkFormats(t, r)
		}
	})
}
