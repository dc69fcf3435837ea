package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/golden/fuzztest"
)

// Each of these inputs is a little smaller than 1 MB, and made to need much time or memory. Each is read by a command
// within the limits of package fuzztest. "make fuzz-smoke" runs them.

// hostileSize is the size of an input. What is added around it keeps it below 1 MB.
const hostileSize = 950_000

// filled returns head, as many units as fit, and tail. Units get their number in place of #.
func filled(head, unit, tail string) string {
	var b strings.Builder
	b.WriteString(head)
	for i := 0; b.Len()+len(unit)+len(tail)+8 < hostileSize; i++ {
		b.WriteString(strings.ReplaceAll(unit, "#", strconv.Itoa(i)))
	}
	return b.String() + tail
}

// nested returns text that opens, and closes, as often as fits.
func nested(head, open, inner, end string) string {
	n := (hostileSize - len(head) - len(inner)) / (len(open) + len(end))
	return head + strings.Repeat(open, n) + inner + strings.Repeat(end, n)
}

// hostile is an input: a file, the command that reads it, and what it says.
type hostile struct {
	name, text string
	args       string // FILE is the file, DIR its directory, BUNDLE a bundle with it, OTHER what it is compared with
	want       string // in stdout or stderr
}

const configMapOf = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"

// The limits of documents: depth, number of values, number of documents, and how aliases multiply.
func hostileYAML() []hostile {
	return []hostile{
		{"flow list", filled(configMapOf+"data: [", "ab,", "]\n"), "", ""},
		{"flow mapping", filled(configMapOf+"data: {", "k#: v,", "}\n"), "", ""},
		{"keys", filled(configMapOf+"data:\n", "  k#: v\n", ""), "", ""},
		{"one key", filled(configMapOf+"data:\n", "  k: v\n", ""), "", ""},
		{"anchors", filled(configMapOf+"data:\n", "- &a# a\n", ""), "", ""},
		{"aliases", filled(configMapOf+"x: &a [a, a, a]\ndata: [", "*a,", "]\n"), "", ""},
		{"merge keys", filled(configMapOf+"x0: &x0 {a: 1}\n", "x#: &y# {<<: *x0, k#: 1}\n", ""), "", ""},
		{"plain text", filled(configMapOf+"data: a", "a", "\n"), "", ""},
		{"folded text", filled(configMapOf+"data: >\n", "  a\n", ""), "", ""},
		{"quoted text", filled(configMapOf+"data: \"", `\n`, "\"\n"), "", ""},
		{"empty lines", filled(configMapOf+"data: a\n", "\n", "  a\n"), "", ""},
		{"comments", filled(configMapOf+"data:\n", "- a # a\n", ""), "", ""},
		{"number", filled(configMapOf+"data: 1", "1", "\n"), "", ""},
		{"not closed", filled(configMapOf+"data: [", `"a" , `, ""), "", "not YAML"},
		{"deep flow", nested(configMapOf+"data: ", "[", "", "]"), "", "max depth"},
		{"deep block", nested(configMapOf+"data:\n", "- ", "a", ""), "", "max depth"},
		{"deep JSON", nested(`{"apiVersion":"v1","kind":"A","metadata":{"name":"a"},"x":`, "[", "", "]"), "", "max depth"},
		{"documents", filled("", "---\nkind: A\n", ""), "", ""},
		{"list of objects", filled("apiVersion: v1\nkind: List\nitems:\n",
			"- {apiVersion: v1, kind: A, metadata: {name: a#}}\n", ""), "", ""},
		{"objects", filled("", "---\n"+configMapOf, "")[:9_000*(len(configMapOf)+4)], "", ""},
	}
}

// What objects begin with.
const (
	roleV1   = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\nrules:\n"
	bindRole = "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: b}\n" +
		"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}\nsubjects:\n"
	subject = "- {kind: ServiceAccount, name: s, namespace: ns}\n"
	crdOf   = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.g}\nspec:\n" +
		"  group: g\n  scope: Namespaced\n  names: {kind: A, plural: as}\n  versions:\n"
	versionOf = "  - name: v1\n    served: true\n    storage: true\n    schema:\n" +
		"      openAPIV3Schema:\n        type: object\n"
	groupOf = "---\napiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: g, namespace: n#}\n" +
		"spec: {targetNamespaces: [n#, m#]}\n"
	csvOf = "---\napiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\n" +
		"metadata: {name: c#, namespace: ns}\n" +
		"spec: {displayName: a, version: 1.0.0, replaces: d#, install: {strategy: deployment}}\n"
	catalogOf = "---\n{schema: olm.package, name: a, defaultChannel: s}\n---\n{schema: olm.channel, package: a, name: s, " +
		"entries: [{name: a.v1}]}\n---\n{schema: olm.bundle, package: a, name: a.v1, image: x, properties: [{type: " +
		"olm.package, value: {packageName: a, version: 1.0.0}}]}\n"
	constraintOf = "---\n{schema: olm.package, name: a, defaultChannel: s}\n---\n{schema: olm.channel, package: a, name: s, " +
		"entries: [{name: a.v1}]}\n---\n{schema: olm.bundle, package: a, name: a.v1, image: x, properties: [{type: " +
		"olm.package, value: {packageName: a, version: 1.0.0}}, {type: olm.constraint, value: "
	policyOf = "apiVersion: olmgen.dev/v1alpha1\nkind: Policy\nextends: [operate-first]\n"
	tooMany  = "the rules have more than 524288 combinations"
)

// celLoops is a rule of nested loops.
var celLoops = strings.Repeat("[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20].all(x, ", 8) + "true" +
	strings.Repeat(")", 8)

func hostileObjects() []hostile {
	return []hostile{
		{"rules", filled(roleV1, "- {apiGroups: [g#], resources: [r], verbs: [get]}\n", bindRole+subject),
			"permissions FILE", "g1"},
		{"a rule that multiplies", roleV1 + "- {verbs: [" + part("v#,") + "x], apiGroups: [" + part("g#,") +
			"x], resources: [" +
			part("r#,") + "x]}\n" + bindRole + subject, "permissions FILE", tooMany},
		{"subjects that multiply", roleV1 + part("- {apiGroups: [g#], resources: [r], verbs: [get]}\n") + bindRole +
			part("- {kind: ServiceAccount, name: s#, namespace: ns}\n"), "permissions FILE", tooMany},
		{"subjects of many rules", roleV1 + part("- {apiGroups: [g#], resources: [r], verbs: [get]}\n") + bindRole +
			part("- {kind: ServiceAccount, name: s#, namespace: ns}\n"), "lint FILE --policy operate-first", ""},
		{"a CRD with versions", filled(crdOf, "  - {name: v#, served: true, storage: false}\n", ""), "diff FILE OTHER",
			"more than 50 versions"},
		{"a CRD with fields", filled(crdOf+versionOf+"        properties:\n", "          p#: {type: string}\n", ""),
			"diff FILE OTHER", ""},
		{"OperatorGroups", filled("", groupOf, ""), "check FILE", "OperatorGroup"},
		{"CSVs of a dump", filled("", csvOf, ""), "adopt FILE", ""},
		{"a chain of updates", filled(catalogOf+"---\n{schema: olm.channel, package: a, name: c, entries: [{name: a.v1}",
			", {name: c#, skips: [b#]}",
			"]}\n"), "catalog validate DIR", ""},
		{"skipRange", filled(catalogOf+"---\n{schema: olm.channel, package: a, name: c, entries: [{name: a.v1, skipRange: '1.0.0",
			" || 1.0.0", "'}]}\n"),
			"catalog validate DIR", ""},
		{"a constraint in constraints", nested(constraintOf, "{all: {constraints: [", "", "]}}") + "}]}\n",
			"catalog validate DIR", "max depth"},
		{"a rule of loops", constraintOf + "{failureMessage: x, cel: {rule: '" + celLoops + "'}}}]}\n",
			"catalog resolve --catalog DIR --install a",
			"the CEL rules of the catalogs cost more than"},
		{"glob", filled(policyOf+"clusterScope: ['", "**/a", "']\n"),
			"lint OTHER --policy FILE", "more than 4096 characters"},
		{"parentheses", nested(policyOf+"cel:\n- name: x\n  expression: '", "(", "true", ")") + "'\n",
			"lint OTHER --policy FILE", "expression"},
	}
}

// part returns a third of what filled returns.
func part(unit string) string {
	text := filled("", unit, "")
	return text[:strings.LastIndex(text[:len(text)/3], unit[:1])]
}

func TestHostileYAML(t *testing.T) {
	fuzztest.Slow(t)
	for _, h := range hostileYAML() {
		h.args = "lint FILE --policy operate-first"
		h.run(t)
		if h.want == "max depth" {
			h.want = "more than 300000 places where a value can begin" // a file of a tree may have more
		}
		h.args = "render BUNDLE -n ns -o -"
		h.run(t)
	}
}

func TestHostileObjects(t *testing.T) {
	fuzztest.Slow(t)
	for _, h := range hostileObjects() {
		h.run(t)
	}
}

func TestHostileArchives(t *testing.T) {
	fuzztest.Slow(t)
	for name, add := range map[string]func(w *tar.Writer, i int) error{
		"entries": func(w *tar.Writer, i int) error {
			return w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprintf("manifests/%d.txt", i)})
		},
		"links": func(w *tar.Writer, i int) error {
			return w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: fmt.Sprintf("manifests/%d", i),
				Linkname: strconv.Itoa(i + 1)})
		},
		"directories": func(w *tar.Writer, i int) error {
			return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: strings.Repeat("a/", i%500) + "b"})
		},
	} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for i := 0; b.Len() < hostileSize; i++ {
			if err := add(w, i); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		hostile{name + ".tar", b.String(), "render FILE -n ns -o -", "tar"}.run(t)
	}
}

// allocates has the inputs that need more than the limit of package fuzztest, freed memory included, in MB.
var allocates = map[string]uint64{
	"flow list/render":       250, // 193: each of 316,000 values is a node of the YAML parser
	"one key/render":         350, // 297: 135,000 nodes, and as many again in the mapping that has the key once
	"a CRD with fields/diff": 850, // 720: 22,000 lost fields, for each of which the API server's code is asked with an object
	"OperatorGroups/check":   250, // 200: 8,000 objects, each with a finding that is printed
	"rules/permissions":      350, // 283: 19,000 rules with one permission each
}

// file returns the name of the file.
func (h hostile) file() string {
	if strings.HasSuffix(h.name, ".tar") {
		return h.name
	}
	return "input.yaml"
}

// run runs the command and compares what it says.
func (h hostile) run(t *testing.T) {
	command, _, _ := strings.Cut(h.args, " ")
	t.Run(h.name+"/"+command, func(t *testing.T) {
		dir := t.TempDir()
		bundle, other := filepath.Join(dir, "bundle"), filepath.Join(dir, "other")
		example := os.DirFS(filepath.Join("..", "..", "examples", "memcached-operator", "bundle"))
		for _, d := range []string{bundle, other} {
			noError(t, os.CopyFS(d, example))
		}
		name := filepath.Join(dir, "input", h.file())
		noError(t, os.Mkdir(filepath.Dir(name), 0o755))
		text := h.text
		noError(t, os.WriteFile(name, []byte(text), 0o644))
		noError(t, os.WriteFile(filepath.Join(bundle, "manifests", "hostile.yaml"), []byte(text), 0o644))
		crdFile := filepath.Join(dir, "other.yaml")
		noError(t, os.WriteFile(crdFile, []byte(crdOf+versionOf), 0o644))
		if command == "diff" {
			other = crdFile
		}
		paths := strings.NewReplacer("FILE", name, "DIR", filepath.Dir(name), "BUNDLE", bundle, "OTHER", other)

		if mb, ok := allocates[h.name+"/"+command]; ok {
			fuzztest.LimitMemory(t, len(text), mb*1_000_000)
		} else {
			fuzztest.Limit(t, len(text))
		}
		var out bytes.Buffer
		if code := run(strings.Fields(paths.Replace(h.args)), strings.NewReader(""), &out, &out); code == exitUsage {
			t.Errorf("exit code %d", code)
		}
		if !strings.Contains(out.String(), h.want) {
			t.Errorf("got %.300q, want %q", out.String(), h.want)
		}
	})
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
