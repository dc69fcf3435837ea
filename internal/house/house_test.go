// Package house tests how the packages of olmgen stand on each other.
package house

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/olmgen/olmgen/"

// floors are the folders at the top, from the roof to the ground. A package imports only packages of lower floors and of
// its own folder. Folders of one floor do not import each other.
var floors = [][]string{{"cmd"}, {"report", "pin"}, {"config"}, {"compare"}, {"rules"}, {"predict"}, {"permissions"}, {"output"}, {"generate"}, {"catalog"},
	{"source"}, {"bundle"}, {"templates"}, {"cluster"}, {"rbac"}, {"crs"}, {"olm"}, {"findings"}, {"validateproc"}, {"manifest"}}

// tests are the folders that hold tests and what they need. Nothing imports them.
var tests = []string{"golden", "e2e", "examples", "house"}

// mostFolders is how many folders at the top may hold Go code.
const mostFolders = 20

type pkg struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

// folder returns the folder at the top in which a package stands. internal/X counts as X.
func folder(importPath string) string {
	top, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(importPath, module), "internal/"), "/")
	return top
}

// floor returns how high a folder is; the roof is 0, and -1 means that it has no floor.
func floor(folder string) int {
	return slices.IndexFunc(floors, func(f []string) bool { return slices.Contains(f, folder) })
}

func TestImportsGoDown(t *testing.T) {
	for _, p := range packages(t) {
		from := folder(p.ImportPath)
		if floor(from) < 0 && !slices.Contains(tests, from) {
			t.Errorf("%s: the folder %s has no floor", p.ImportPath, from)
		}
		for _, i := range p.Imports {
			if !strings.HasPrefix(i, module) {
				continue
			}
			to := folder(i)
			if slices.Contains(tests, to) && from != to {
				t.Errorf("%s imports %s, which is for tests", p.ImportPath, i)
			}
			if from == to || floor(from) < 0 || floor(to) > floor(from) {
				continue
			}
			t.Errorf("%s -> %s: imports go down only", strings.TrimPrefix(p.ImportPath, module), strings.TrimPrefix(i, module))
		}
	}
}

// What only tests need is not in the binary. go-cmp is there because crdify imports it; no package of this module does.
func TestBinaryHasNoTestCode(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "./cmd/olmgen")
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	own := 0
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if p := fields[0]; p == "testing" || strings.HasPrefix(p, "testing/") {
			t.Errorf("cmd/olmgen links %s", p)
		}
		if !strings.HasPrefix(fields[0], module) {
			continue
		}
		own++
		for _, i := range fields[1:] {
			if strings.HasPrefix(i, "github.com/google/go-cmp/") || slices.Contains(tests, folder(i)) {
				t.Errorf("%s imports %s", fields[0], i)
			}
		}
	}
	if own < 20 {
		t.Errorf("cmd/olmgen links %d packages of this module", own)
	}
}

// text is for everybody, so it stands on nothing.
func TestTextStandsOnNothing(t *testing.T) {
	for _, p := range packages(t) {
		if p.ImportPath != module+"internal/manifest/text" {
			continue
		}
		for _, i := range p.Imports {
			if strings.Contains(i, ".") {
				t.Errorf("internal/manifest/text imports %s", i)
			}
		}
	}
}

// impure are packages with which a package can touch the disk, other processes or the network.
var impure = []string{"os", "os/exec", "io/ioutil", "path/filepath", "net", "net/http", "math/rand", "math/rand/v2", module + "internal/cluster/tree"}

// Rendering is a pure function: no package that generate stands on in this module touches the disk, but for templates, which
// can read a directory of overlays.
func TestGenerateIsPure(t *testing.T) {
	byPath := map[string]pkg{}
	for _, p := range packages(t) {
		byPath[p.ImportPath] = p
	}
	seen := map[string]bool{}
	var visit func(path string)
	visit = func(path string) {
		if seen[path] {
			return
		}
		seen[path] = true
		p, ok := byPath[path]
		if !ok {
			t.Fatalf("there is no package %s", path)
		}
		for _, i := range p.Imports {
			if slices.Contains(impure, i) && (folder(path) != "templates" || i != "os") {
				t.Errorf("generate stands on %s, which imports %s", path, i)
			}
			if strings.HasPrefix(i, module) {
				if f := floor(folder(i)); f >= 0 && f < floor("generate") {
					t.Errorf("generate stands on %s", i)
				}
				visit(i)
			}
		}
	}
	visit(module + "generate")
	visit(module + "generate/olmv1")
}

func TestFewFolders(t *testing.T) {
	entries, err := os.ReadDir(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	var with []string
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		err := filepath.WalkDir(filepath.Join("..", "..", e.Name()), func(p string, _ os.DirEntry, err error) error {
			if err == nil && filepath.Ext(p) == ".go" {
				with = append(with, e.Name())
				return filepath.SkipAll
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(with) > mostFolders {
		t.Errorf("%d folders at the top hold Go code, want at most %d: %s", len(with), mostFolders, strings.Join(with, ", "))
	}
}
