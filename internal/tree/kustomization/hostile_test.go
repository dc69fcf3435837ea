package kustomization

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a few bytes can make of kustomize's time and memory is refused before it runs.
func TestHostileKustomizations(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	write("level0/kustomization.yaml", "resources: [a.yaml]")
	write("level0/a.yaml", object)
	for i := 1; i <= 40; i++ { // each level builds the one below twice
		for _, side := range []string{"a", "b"} {
			write(fmt.Sprintf("level%d/%s/kustomization.yaml", i, side),
				fmt.Sprintf("namePrefix: %s\nresources: [../../level%d]", side, i-1))
		}
		write(fmt.Sprintf("level%d/kustomization.yaml", i), "resources: [a, b]")
	}
	var many strings.Builder
	for i := range 5_000 {
		fmt.Fprintf(&many, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a%d}\n", i)
	}
	write("many/kustomization.yaml", "resources: [a.yaml]")
	write("many/a.yaml", many.String())
	write("big/kustomization.yaml", "configMapGenerator:\n- name: a\n  files: [big.bin]")
	write("big/big.bin", "")
	if err := os.Truncate(filepath.Join(dir, "big", "big.bin"), 4<<30); err != nil {
		t.Skip("no sparse files here:", err)
	}
	write("aliases/kustomization.yaml", "resources: [a.yaml]")
	bomb := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nx0: &x0 [a, a, a, a, a, a, a, a, a, a]\n"
	for i := 1; i < 12; i++ {
		bomb += fmt.Sprintf("x%d: &x%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*x%d, ", i-1), 10), ", "))
	}
	write("aliases/a.yaml", bomb)
	write("inline/kustomization.yaml", "resources: [a.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: |-\n    "+
		strings.ReplaceAll(bomb, "\n", "\n    "))
	write("inline/a.yaml", object)
	write("other/kustomization.yaml", "resources: [a.yaml]\npatches: [{path: p.txt, target: {kind: ConfigMap}}]")
	write("other/a.yaml", object)
	write("other/p.txt", bomb)
	var copies strings.Builder
	for i := range 30 {
		fmt.Fprintf(&copies, "- {op: copy, from: '', path: /x%d}\n", i)
	}
	write("copies/kustomization.yaml", "resources: [a.yaml]\npatches: [{path: p.yaml, target: {kind: ConfigMap}}]")
	write("copies/a.yaml", object)
	write("copies/p.yaml", copies.String())
	var replacements strings.Builder
	for i := range 30 {
		fmt.Fprintf(&replacements, "- source: {kind: ConfigMap, fieldPath: data}\n  targets: [{select: {kind: ConfigMap}, fieldPaths: [data.x%d], options: {create: true}}]\n", i)
	}
	write("replacements/kustomization.yaml", "resources: [a.yaml]\nreplacements:\n"+replacements.String())
	write("replacements/a.yaml", object+"data: {a: b}\n")
	b := New(dir, dir, func(abs string) string { return strings.TrimPrefix(abs, dir+"/") })
	for name, want := range map[string]string{
		"level12": "builds more than", "level40": "builds more than", "many": "builds more than 4000 objects",
		"big": "has more than 16 MiB", "aliases": "more than", "copies": "copy more than 8 times",
		"inline": "its aliases multiply", "other": "more than",
		"replacements": "copy more than 8 times",
	} {
		objects, err := b.Build(b.Load(filepath.Join(dir, name)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %d objects, %v; want %q", name, len(objects), err, want)
		}
	}
	if objects, err := b.Build(b.Load(filepath.Join(dir, "level5"))); err != nil || len(objects) != 32 {
		t.Errorf("level5: %d objects, %v", len(objects), err)
	}
}
