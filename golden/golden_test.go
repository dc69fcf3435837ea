package golden

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/output"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// scratch is a directory for what all tests share.
var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "olmgen-golden-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(scratch)
	os.Exit(code)
}

// command builds olmgen and returns the path of the program.
var command = sync.OnceValues(func() (string, error) {
	program := filepath.Join(scratch, "olmgen")
	out, err := exec.Command("go", "build", "-ldflags=-w", "-o", program, "../cmd/olmgen").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build ../cmd/olmgen: %w\n%s", err, out)
	}
	return program, nil
})

// goldenCase is a directory with a case.yaml. Its golden files are in out/, those of each variant under the variant's
// name.
type goldenCase struct {
	Description string    `json:"description"` // what the case proves
	Bundle      string    `json:"bundle"`      // relative to the case; default: bundle
	Args        []string  `json:"args"`        // as on the command line of olmgen render, of every variant
	Files       bool      `json:"files"`       // of every variant
	Variants    []variant `json:"variants"`    // default: one, named objects

	dir string
}

type variant struct {
	Name string   `json:"name"`
	Args []string `json:"args"` // after those of the case
	// the golden files are the directory that -o writes; default: one file with what goes to stdout
	Files bool `json:"files"`
}

// Every case renders to its golden files, by the command and by the library.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("*/case.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		dir := filepath.Dir(file)
		t.Run(dir, func(t *testing.T) { readCase(t, dir).test(t) })
	}
}

func readCase(t *testing.T, dir string) *goldenCase {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "case.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c := &goldenCase{dir: dir, Bundle: "bundle"}
	if err := yaml.UnmarshalStrict(data, c); err != nil {
		t.Fatal(err)
	}
	if c.Description == "" {
		t.Error("case.yaml does not say what the case proves")
	}
	if len(c.Variants) == 0 {
		c.Variants = []variant{{Name: "objects"}}
	}
	for i := range c.Variants {
		v := &c.Variants[i]
		v.Args = slices.Concat(c.Args, v.Args)
		v.Files = v.Files || c.Files
	}
	return c
}

func (c *goldenCase) test(t *testing.T) {
	out := filepath.Join(c.dir, "out")
	known := map[string]bool{} // the entries of out/
	for _, v := range c.Variants {
		t.Run(v.Name, func(t *testing.T) {
			var got outcome
			if testing.Short() {
				got = c.library(t, v)
			} else {
				got = c.run(t, v)
				c.testLibrary(t, v, got)
			}
			if v.Files {
				Check(t, filepath.Join(out, v.Name), got.tree, *update)
			} else {
				CheckFile(t, filepath.Join(out, v.Name+".yaml"), got.stdout, *update)
			}
			if got.warnings != "" {
				CheckFile(t, filepath.Join(out, v.Name+".warnings.txt"), []byte(got.warnings), *update)
				known[v.Name+".warnings.txt"] = true
			}
		})
		known[v.Name], known[v.Name+".yaml"] = v.Files, !v.Files
	}
	if !t.Failed() {
		checkEntries(t, out, known)
	}
}

// checkEntries finds golden files of variants and warnings that no longer exist.
func checkEntries(t *testing.T, out string, known map[string]bool) {
	t.Helper()
	entries, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		file := filepath.Join(out, e.Name())
		if known[e.Name()] {
			continue
		}
		if !*update {
			t.Errorf("%s: nothing renders to it. Run \"make golden\" to remove it.", file)
		} else if err := os.RemoveAll(file); err != nil {
			t.Error(err)
		}
	}
}

// outcome is what a run of the command leaves.
type outcome struct {
	stdout   []byte
	tree     Tree // what it wrote, without its own record of that
	warnings string
}

// run renders a variant with the command.
func (c *goldenCase) run(t *testing.T, v variant) (got outcome) {
	t.Helper()
	program, err := command()
	if err != nil {
		t.Fatal(err)
	}
	args := slices.Concat([]string{"render", c.Bundle, "--verbose"}, v.Args)
	dir := filepath.Join(t.TempDir(), "out")
	if v.Files {
		args = append(args, "-o", dir)
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = c.dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("olmgen %s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	got.stdout = stdout.Bytes()
	if v.Files && stdout.Len() > 0 {
		t.Errorf("with -o a directory nothing belongs on stdout:\n%s", &stdout)
	}
	if got.tree, err = Read(dir); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(got.tree, func(name string, _ []byte) bool { return path.Base(name) == output.LockName })
	for line := range strings.Lines(stderr.String()) {
		if !strings.HasPrefix(line, "olmgen: "+dir+": ") { // the count of files
			got.warnings += line
		}
	}
	return got
}

// library renders a variant with the library.
func (c *goldenCase) library(t *testing.T, v variant) outcome {
	t.Helper()
	read, options, err := libraryOptions(c.dir, v.Args)
	if err != nil {
		t.Fatal(err)
	}
	r, err := render(filepath.Join(c.dir, c.Bundle), read, options)
	if err != nil {
		t.Fatal(err)
	}
	return libraryOutcome(t, r, v)
}

// testLibrary proves that the library renders what the command rendered, with one worker as with eight, and that it is
// well-formed.
func (c *goldenCase) testLibrary(t *testing.T, v variant, command outcome) {
	read, options, err := libraryOptions(c.dir, v.Args)
	if err != nil {
		t.Fatal(err)
	}
	var last *rendered
	for _, workers := range []int{1, 8} {
		read.Workers = workers
		if last, err = render(filepath.Join(c.dir, c.Bundle), read, options); err != nil {
			t.Fatal(err)
		}
		got := libraryOutcome(t, last, v)
		if d := Diff("command", command.tree, got.tree); d != "" {
			t.Errorf("with %d workers the library renders other files than the command:\n%s", workers, d)
		}
		if d := diff.Diff("command", command.stdout, "library", got.stdout); d != nil {
			t.Errorf("with %d workers the library renders another stream than the command:\n%s", workers, d)
		}
		if d := diff.Diff("command", []byte(command.warnings), "library", []byte(got.warnings)); d != nil {
			t.Errorf("with %d workers the library has other warnings than the command:\n%s", workers, d)
		}
	}
	checkTypes(t, last)
	checkLayouts(t, last.laid)
}

// libraryOutcome is what the command would leave of a rendering.
func libraryOutcome(t *testing.T, r *rendered, v variant) (got outcome) {
	t.Helper()
	layout := layoutOf(v.Args)
	files, err := r.laid.Files(layout)
	if err != nil {
		t.Fatal(err)
	}
	var stdout bytes.Buffer
	if v.Files {
		got.tree, err = layOut(r.laid, layout)
	} else {
		err = output.Stream(&stdout, files)
	}
	if err != nil {
		t.Fatal(err)
	}
	got.stdout = stdout.Bytes()
	var said strings.Builder
	for _, w := range r.result.Warnings {
		fmt.Fprintln(&said, "olmgen: warning: "+config.WithOptionNames(w.Error.Error(), w.Options, config.FlagOf)+" ["+w.Class+"]")
	}
	for _, w := range r.laid.Warnings(layout) {
		fmt.Fprintln(&said, "olmgen: warning: "+w)
	}
	for _, n := range r.result.Notes {
		fmt.Fprintln(&said, "olmgen: note: "+config.WithOptionNames(n.Msg, n.Options, config.FlagOf))
	}
	labelled := slices.ContainsFunc(r.result.Objects, func(o generate.Object) bool {
		return o.Kind == "Namespace" && o.Name == r.result.Namespace &&
			(bytes.Contains(o.Data, []byte("pod-security.kubernetes.io/enforce: "+string(r.result.PodSecurity.Level)+"\n")) ||
				bytes.Contains(o.Data, []byte("pod-security.kubernetes.io/enforce: privileged\n")))
	})
	if need := r.result.PodSecurity.Need(r.result.Namespace); need != "" && !labelled {
		fmt.Fprintln(&said, "olmgen: note: "+need)
	}
	got.warnings = said.String()
	return got
}
