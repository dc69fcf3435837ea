package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// ofDumps are commands that read a dump of a cluster. SOURCES are the --source of all operators.
var ofDumps = []string{
	"adopt DIR/dump.yaml -o OUT",
	"adopt DIR/dump.yaml --to clusterextension --table",
	"adopt --verify DIR/dump.yaml -f DIR/olmgen.yaml",
	"adopt DIR/dump.yaml SOURCES --to plain -o OUT --plan OUT.md",
	"adopt DIR/dump.yaml SOURCES --to descoped -o OUT --plan OUT.md",
	"check DIR/dump.yaml",
}

var (
	uids   = regexp.MustCompile(`([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-)[0-9a-f]{12}`)
	hashes = regexp.MustCompile(`-[0-9A-Za-z]{37,38}\b`) // in the names of roles
)

// numbered puts a number into each name of the example's operator.
func numbered(text, n string) string {
	return strings.NewReplacer("memcached", "memcached"+n, "Memcached", "Memcached"+n, "operator-ns", "operator-ns-"+n,
		"target-a", "target-a-"+n, "target-b", "target-b-"+n, "tier: one", "tier: t"+n, "- one\n", "- t"+n+"\n").Replace(text)
}

// operators returns n bundles like the example's, and a RenderConfig for all of them.
func operators(n int) map[string]string {
	root := filepath.Join("..", "..", "examples", "memcached-operator", "bundle")
	out := map[string]string{"olmgen.yaml": lines(n, "apiVersion: olmgen.dev/v1alpha1\nkind: RenderConfig\n"+
		"defaults: {profile: olm, names: olm, copiedCSVs: full}\ngroups:\n",
		"- {namespace: operator-ns-#, name: my-og, targetNamespaces: [target-a-#, target-b-#], "+
			"bundles: [{source: bundles/#}]}\n", "")}
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(root, path))
		for i := range n {
			number := fmt.Sprint(i + 1)
			out[filepath.Join("bundles", number, path)] = numbered(string(data), number)
		}
		return err
	})
	if err != nil {
		panic(err)
	}
	return out
}

// dumpOf returns the example's dump with n operators in place of one, each with its own group and namespaces, and what
// renders to them.
func dumpOf(n int) map[string]string {
	data, err := os.ReadFile(filepath.Join("..", "..", "examples", "adopt", "dump.yaml"))
	if err != nil {
		panic(err)
	}
	head, items, _ := strings.Cut(string(data), "\n- ")
	items, end, _ := strings.Cut(items, "\nkind: List")
	unit := uids.ReplaceAllString("\n- "+items, "${1}00000000000#")
	unit = strings.NewReplacer("name: kube-system", "name: kube-system-#", "name: olm\n", "name: olm-#\n").Replace(
		hashes.ReplaceAllString(numbered(unit, "#"), "${0}#"))
	out := operators(n)
	out["dump.yaml"] = lines(n, head, unit, "\nkind: List"+end)
	return out
}

// dumpWith returns the example's dump with more objects.
func dumpWith(unit string) func(n int) map[string]string {
	return func(n int) map[string]string {
		files := dumpOf(1)
		files["dump.yaml"] = strings.Replace(files["dump.yaml"], "\nkind: List", lines(n, "\n", unit, "kind: List"), 1)
		return files
	}
}

func dumpDimensions() []dimension {
	return []dimension{
		{"operators", 64, dumpOf, ofDumps},
		{"objects", 0, dumpWith("- {apiVersion: v1, kind: ServiceAccount, metadata: {name: a#, namespace: operator-ns-1}}\n"), ofDumps},
		{"namespaces", 0, dumpWith("- {apiVersion: v1, kind: Namespace, metadata: {name: n#}}\n"), ofDumps},
		{"roles", 0, dumpWith("- {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r#}, " +
			"rules: [{apiGroups: [g], resources: [r#], verbs: [get]}]}\n"), ofDumps},
		{"groups", 0, dumpWith("- {apiVersion: operators.coreos.com/v1, kind: OperatorGroup, " +
			"metadata: {name: g#, namespace: n#}, spec: {targetNamespaces: [n#]}}\n"), ofDumps},
	}
}
