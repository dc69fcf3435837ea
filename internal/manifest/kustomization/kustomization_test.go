package kustomization

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

func write(t *testing.T, archive string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		name := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestX(t *testing.T) {
	top := "/work/shared/cases/gitops"
	b := New("", top, func(abs string) string { return strings.TrimPrefix(abs, top+"/") })
	for _, d := range []string{"json-patch-channel/new/overlay", "json-patch-wrong-channel/inline", "namespace-from-kustomization/new/op"} {
		k := b.Load(filepath.Join(top, d))
		list, err := b.Build(k, Options{})
		t.Log(d, err)
		for _, o := range list {
			f, l := o.PlaceOf("spec.channel")
			f2, l2 := o.PlaceOf("metadata.namespace")
			t.Log(o.Identity(), o.File, o.Line, f, l, f2, l2)
		}
	}
}
