package house

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The Examples of importable packages compile in a module that requires this one: they show what a user can write.
func TestExamplesCompileOutside(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles this module a second time")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := strings.TrimSuffix(module, "/")
	// With all that this module requires, go loads no go.mod of modules that nothing needs: those are not on every machine.
	_, requires, _ := strings.Cut(read(t, "go.mod"), "\n")
	write(t, filepath.Join(dir, "go.mod"), fmt.Sprintf("module example.com/user\n%s\nrequire %s v0.0.0\n\nreplace %s => %s\n",
		requires, path, path, root))
	write(t, filepath.Join(dir, "go.sum"), read(t, "go.sum"))

	promised, others := importablePackages(t)
	for _, p := range append(promised, others...) {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(p), "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		copied := 0
		for _, name := range files {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if !hasExample(f) {
				continue
			}
			example := filepath.Join(filepath.FromSlash(p), filepath.Base(name))
			write(t, filepath.Join(dir, example), read(t, example))
			copied++
		}
		if copied == 0 {
			t.Errorf("%s has no Example", p)
		}
	}
	vet := exec.Command("go", "vet", "./...") // compiles without linking
	vet.Dir = dir
	vet.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off", "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod")
	if out, err := vet.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
