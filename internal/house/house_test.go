// Package house tests how the packages of olmgen stand on each other.
package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/olmgen/olmgen/"

// rooms are the parts of the house, from the roof to the ground. A path tells its room: the folder at the top, a folder
// of internal, or generate/olmv1. A package imports only packages of its own room and of lower ones.
var rooms = []string{"cmd", "internal/compare", "internal/predict", "internal/print", "config", "output", "internal/installs",
	"internal/tree", "internal/charts", "internal/repos", "internal/inplace", "generate", "internal/installer", "internal/fit",
	"generate/olmv1", "catalog", "source", "bundle", "internal/permissions", "templates", "internal/views", "internal/world", "internal/whole",
	"internal/netpol", "internal/crs", "internal/rbac", "internal/kubernetes", "internal/writes", "internal/olm", "internal/document",
	"findings", "manifest", "internal/base"}

// The rooms are few, small and loosely tied.
const (
	mostLines  = 12000 // of a room, without tests; each folder of cmd/internal counts for itself
	mostArrows = 5.8   // for each room, on average: the other rooms that it imports
)

// tests are the folders that hold tests and what they need. Nothing imports them.
var tests = []string{"golden", "e2e", "examples", "internal/house"}

// mostFolders is how many folders at the top may hold Go code.
const mostFolders = 20

type pkg struct {
	ImportPath, Dir, Doc string
	Imports, GoFiles     []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Doc,Imports,GoFiles", "./...")
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

// Each package says what it does.
func TestSynopsis(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.GoFiles) > 0 && p.Doc == "" {
			t.Errorf("package %s has no comment", p.ImportPath)
		}
	}
}

// in returns the path of a package in this module.
func in(importPath string) string { return strings.TrimPrefix(importPath, module) }

// forTests reports whether a package is there for tests only.
func forTests(importPath string) bool {
	return slices.ContainsFunc(tests, func(t string) bool { return within(importPath, t) })
}

// room returns the room of a package.
func room(importPath string) string {
	path := in(importPath)
	if within(path, "generate/olmv1") {
		return "generate/olmv1"
	}
	parts := strings.SplitN(path, "/", 3)
	if parts[0] == "internal" && len(parts) > 1 {
		return "internal/" + parts[1]
	}
	return parts[0]
}

// floor returns how high a room is; the roof is 0, and -1 means that it has no floor.
func floor(room string) int { return slices.Index(rooms, room) }

func TestImportsGoDown(t *testing.T) {
	arrows := map[[2]string]bool{}
	for _, p := range packages(t) {
		if forTests(p.ImportPath) {
			continue
		}
		from := room(p.ImportPath)
		if floor(from) < 0 {
			t.Errorf("%s: the room %s has no floor", p.ImportPath, from)
		}
		for _, i := range p.Imports {
			switch {
			case !strings.HasPrefix(i, module):
			case forTests(i):
				t.Errorf("%s imports %s, which is for tests", p.ImportPath, i)
			case floor(room(i)) < floor(from):
				t.Errorf("%s -> %s: imports go down only", in(p.ImportPath), in(i))
			case room(i) != from:
				arrows[[2]string{from, room(i)}] = true
			}
		}
	}
	t.Logf("%d arrows between %d rooms", len(arrows), len(rooms))
	if float64(len(arrows)) > mostArrows*float64(len(rooms)) {
		t.Errorf("%d arrows between %d rooms, want at most %.1f a room", len(arrows), len(rooms), mostArrows)
	}
}

// What only commands use stands in a folder of cmd/internal. Two of these folders do not stand on each other.
func TestCommandsHaveFloors(t *testing.T) {
	below := map[string]map[string]bool{}
	for _, p := range packages(t) {
		for _, i := range p.Imports {
			if from, to := command(p.ImportPath), command(i); from != "" && to != "" && from != to {
				if below[from] == nil {
					below[from] = map[string]bool{}
				}
				below[from][to] = true
			}
		}
	}
	var visit func(at string, above []string)
	visit = func(at string, above []string) {
		if slices.Contains(above, at) {
			t.Fatalf("%s stands on itself: %s", at, strings.Join(append(above, at), " -> "))
		}
		for _, to := range slices.Sorted(maps.Keys(below[at])) {
			visit(to, append(slices.Clone(above), at))
		}
	}
	for at := range below {
		visit(at, nil)
	}
}

// command returns the folder of cmd/internal in which a package stands, or "".
func command(importPath string) string {
	rest, ok := strings.CutPrefix(in(importPath), "cmd/internal/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

func TestRoomsAreSmall(t *testing.T) {
	lines := map[string]int{}
	for _, p := range packages(t) {
		if forTests(p.ImportPath) {
			continue
		}
		name := room(p.ImportPath)
		if c := command(p.ImportPath); c != "" {
			name = "cmd/internal/" + c
		}
		for _, f := range p.GoFiles {
			data, err := os.ReadFile(filepath.Join(p.Dir, f))
			if err != nil {
				t.Fatal(err)
			}
			lines[name] += bytes.Count(data, []byte{'\n'})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		t.Logf("%6d %s", lines[name], name)
		if lines[name] > mostLines {
			t.Errorf("%s has %d lines, want at most %d", name, lines[name], mostLines)
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
			if strings.HasPrefix(i, "github.com/google/go-cmp/") || forTests(i) {
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
		if p.ImportPath != module+"internal/base/text" {
			continue
		}
		for _, i := range p.Imports {
			if strings.Contains(i, ".") {
				t.Errorf("internal/base/text imports %s", i)
			}
		}
	}
}

// impure are packages with which a package can touch the disk, other processes or the network.
var impure = []string{"os", "os/exec", "io/ioutil", "path/filepath", "net", "net/http", "math/rand", "math/rand/v2", module + "internal/tree"}

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
			if slices.Contains(impure, i) && (room(path) != "templates" || i != "os") {
				t.Errorf("generate stands on %s, which imports %s", path, i)
			}
			if strings.HasPrefix(i, module) {
				if f := floor(room(i)); f >= 0 && f < floor("generate") {
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
