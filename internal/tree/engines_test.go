package tree_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/internal/tree"
)

// What an engine's object names is not read outside of the repository, and not without end.
func TestHostileEngines(t *testing.T) {
	app := func(path string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec: {source: {path: " + path + "}}\n"
	}
	many := "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: a}\nspec:\n" +
		"  template: {spec: {source: {path: 'here{{name}}'}}}\n  generators: [{list: {elements: [" +
		strings.Repeat("{name: a},", 5_001) + "]}}]\n"
	for name, tc := range map[string]struct{ app, want, templated string }{
		"a link out":  {app("out"), "", "app.yaml:4: spec.source.path: the path is not in this repository"},
		"a path up":   {app("../../outside"), "", "app.yaml:4: spec.source.path: the path is not in this repository"},
		"a file":      {app("app.yaml"), "", "app.yaml:4: spec.source.path: the path is not in this repository"},
		"the top":     {app("."), "", "app.yaml:4: spec.source.path: the path is the top of a repository, which may be another one"},
		"no text":     {app("{a: [b]}"), "", ""},
		"5,001 paths": {many, "with it, engines apply more than 5000 directories", ""},
	} {
		t.Run(name, func(t *testing.T) {
			outside := t.TempDir()
			files(t, "-- .git/HEAD --\n-- here/kustomization.yaml --\nresources: [a.yaml]\n-- here/a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
			write(t, filepath.Join(outside, "kustomization.yaml"), "resources: [secret.yaml]\n")
			write(t, filepath.Join(outside, "secret.yaml"), "apiVersion: v1\nkind: Secret\nmetadata: {name: outside}\n")
			if err := os.Symlink(outside, "out"); err != nil {
				t.Fatal(err)
			}
			write(t, "app.yaml", tc.app)
			got, err := tree.Read(t.Context(), []string{"."}, tree.Options{})
			switch {
			case tc.want != "":
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%v, want %s", err, tc.want)
				}
				return
			case err != nil:
				t.Fatal(err)
			}
			said := ""
			if len(got.Templated) > 0 {
				said = got.Templated[0].Error()
			}
			if said != tc.templated {
				t.Errorf("%s, want %s", said, tc.templated)
			}
			for _, o := range got.Objects {
				if o.Name == "outside" {
					t.Error("an object of another directory is read")
				}
			}
		})
	}
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
