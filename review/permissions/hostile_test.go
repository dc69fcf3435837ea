package permissions_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/review/permissions"
)

// hostile is text that could break a format.
var hostile = []string{
	"a|b", "`code`", "<script>alert(1)</script>", "</details></style>", "\x1b[31mred", "line\nnext", "\u202eleft", "@org/team", "[x](https://e.example)",
	"\"><img src=x onerror=1>", "{{.}}", "*b* _i_ ~s~ #1", "\u0000", "a\tb", "\u2028", "-->", "&lt;", "\\|", strings.Repeat("long", 1<<18),
}

// hostileTree has a text in every place that a report prints.
func hostileTree(s string) []any {
	rule := map[string]any{"apiGroups": []string{s, ""}, "resources": []string{s, "secrets"}, "verbs": []string{s, "get"}}
	named := map[string]any{"apiGroups": []string{""}, "resources": []string{"secrets", "pods/exec"}, "verbs": []string{"get"}, "resourceNames": []string{s}}
	url := map[string]any{"nonResourceURLs": []string{s}, "verbs": []string{"get"}}
	object := func(kind, name string, more map[string]any) map[string]any {
		o := map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": map[string]any{"name": name, "namespace": s,
			"labels": map[string]string{"rbac.authorization.k8s.io/aggregate-to-view": "true"}}}
		for k, v := range more {
			o[k] = v
		}
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
	var list []*manifest.Object
	for _, o := range hostileTree(s) {
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
	r, err := permissions.Evaluate(permissions.Input{Operator: permissions.Operator{Name: s, InstallMode: s, Targets: []string{s}}, Objects: list})
	if err != nil {
		return nil
	}
	return r
}

var (
	tag       = regexp.MustCompile(`</?([a-zA-Z!][a-zA-Z0-9]*)`)
	cellEdge  = regexp.MustCompile(`(^|[^\\])((\\\\)*)\|`)
	htmlTags  = " !doctype html head meta title style body header main h1 p div label input span button section a table thead tr th tbody td code small h2 strong details summary script "
	attribute = regexp.MustCompile(`\son[a-z]+=`)
)

// checkFormats prints a report in every format and looks for text that got out of its place.
func checkFormats(t *testing.T, r *permissions.Report) {
	t.Helper()
	for _, format := range permissions.Formats {
		var out bytes.Buffer
		if err := r.Print(&out, format); err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		text := out.String()
		if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 && format != permissions.JSON {
			t.Fatalf("%s: not printable at %d: %q", format, i, text[i:min(i+20, len(text))])
		}
		if format != permissions.JSON && len(text) > 1<<17 {
			t.Fatalf("%s: %d bytes", format, len(text))
		}
		switch format {
		case permissions.JSON, permissions.SARIF:
			if !json.Valid(out.Bytes()) {
				t.Fatalf("%s: not JSON", format)
			}
		case permissions.HTML:
			for _, m := range tag.FindAllStringSubmatch(text, -1) {
				if !strings.Contains(htmlTags, " "+strings.ToLower(m[1])+" ") {
					t.Fatalf("html: a tag that is not the page's: %s", m[0])
				}
			}
			if strings.Count(text, "<style>") != 1 || strings.Count(text, "<script") != 1 || attribute.MatchString(regexp.MustCompile(`<[^>]*>`).FindString(text)) {
				t.Fatal("html: a style or a handler that is not the page's")
			}
		case permissions.Markdown:
			checkMarkdown(t, text)
		}
	}
}

func checkMarkdown(t *testing.T, text string) {
	t.Helper()
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

func TestHostile(t *testing.T) {
	read := 0
	for _, s := range hostile {
		if r := hostileReport(t, s); r != nil {
			read++
			checkFormats(t, r)
		}
	}
	if read < len(hostile)-2 {
		t.Errorf("only %d of %d were read", read, len(hostile))
	}
}

func FuzzReport(f *testing.F) {
	for _, s := range hostile[:len(hostile)-1] {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r := hostileReport(t, s)
		if r == nil {
			return
		}
		checkFormats(t, r)
		if d := permissions.Compare(r, r); !d.Empty() {
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
	_, err := permissions.Evaluate(permissions.Input{Objects: objects(t, "tree.yaml", text)})
	if err == nil || !strings.Contains(err.Error(), "tree.yaml:11: rules[0]: the rules of ServiceAccount op/sa have more than 524288 combinations") {
		t.Errorf("got %v", err)
	}
}
