package golden

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/config"
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

// command builds olmgen and gives the path of the program.
var command = sync.OnceValues(func() (string, error) {
	program := filepath.Join(scratch, "olmgen")
	out, err := exec.Command("go", "build", "-o", program, "../cmd/olmgen").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build ../cmd/olmgen: %w\n%s", err, out)
	}
	return program, nil
})

// goldenCase is a directory with a case.yaml. Without variants its files are in out/, else those of each variant in out/<name>/.
type goldenCase struct {
	Description string    `json:"description"` // what the case proves
	Bundle      string    `json:"bundle"`      // relative to the case; default: bundle
	Args        []string  `json:"args"`        // as on the command line of olmgen render, of every variant
	Variants    []variant `json:"variants"`

	dir string
}

type variant struct {
	Name string   `json:"name"`
	Args []string `json:"args"` // after those of the case
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
	return c
}

func (c *goldenCase) test(t *testing.T) {
	out := filepath.Join(c.dir, "out")
	if len(c.Variants) == 0 {
		c.testVariant(t, out, c.Args)
		return
	}
	c.removed(t, out)
	for _, v := range c.Variants {
		t.Run(v.Name, func(t *testing.T) { c.testVariant(t, filepath.Join(out, v.Name), slices.Concat(c.Args, v.Args)) })
	}
}

// removed finds the golden files of variants that case.yaml does not have any more.
func (c *goldenCase) removed(t *testing.T, out string) {
	entries, _ := os.ReadDir(out) // no golden files yet: each variant says so
	for _, e := range entries {
		if slices.ContainsFunc(c.Variants, func(v variant) bool { return v.Name == e.Name() }) {
			continue
		}
		if !*update {
			t.Errorf("%s: no variant of that name in case.yaml. Run \"make golden\" to remove it.", filepath.Join(out, e.Name()))
		} else if err := os.RemoveAll(filepath.Join(out, e.Name())); err != nil {
			t.Error(err)
		}
	}
}

func (c *goldenCase) testVariant(t *testing.T, out string, args []string) {
	tree, warnings := c.run(t, args)
	c.testLibrary(t, args, tree, warnings)
	want := Tree{}
	for name, data := range tree {
		want[name] = data
	}
	if warnings != "" {
		want["warnings.txt"] = []byte(warnings)
	}
	Check(t, out, want, *update)
}

// run gives the files that the command writes, without its own record of them, and its warnings.
func (c *goldenCase) run(t *testing.T, args []string) (tree Tree, warnings string) {
	t.Helper()
	program, err := command()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "out")
	cmd := exec.Command(program, slices.Concat([]string{"render", c.Bundle, "-o", dir}, args)...)
	cmd.Dir = c.dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args[1:], " "), err, &stderr)
	}
	if stdout.Len() > 0 {
		t.Errorf("with -o a directory nothing belongs on stdout:\n%s", &stdout)
	}
	if tree, err = Read(dir); err != nil {
		t.Fatal(err)
	}
	delete(tree, output.LockName)
	for line := range strings.Lines(stderr.String()) {
		if !strings.HasPrefix(line, "olmgen: "+dir+": ") { // the count of files
			warnings += line
		}
	}
	return tree, warnings
}

// testLibrary proves that the library makes what the command made, with one worker as with eight, and that it is well-formed.
func (c *goldenCase) testLibrary(t *testing.T, args []string, tree Tree, warnings string) {
	read, options, err := libraryOptions(c.dir, args)
	if err != nil {
		t.Fatal(err)
	}
	var last *rendered
	for _, workers := range []int{1, 8} {
		read.Workers = workers
		if last, err = render(filepath.Join(c.dir, c.Bundle), read, options); err != nil {
			t.Fatal(err)
		}
		got, err := layOut(last.laid, layoutOf(args))
		if err != nil {
			t.Fatal(err)
		}
		if d := Diff("command", tree, got); d != "" {
			t.Errorf("with %d workers the library renders something else than the command:\n%s", workers, d)
		}
		var said strings.Builder
		for _, w := range last.result.Warnings {
			fmt.Fprintln(&said, "olmgen: warning: "+config.Say(w.Error.Error(), w.Options, config.FlagOf))
		}
		for _, w := range last.laid.Warnings(layoutOf(args)) {
			fmt.Fprintln(&said, "olmgen: warning: "+w)
		}
		for _, n := range last.result.Notes {
			fmt.Fprintln(&said, "olmgen: note: "+config.Say(n.Msg, n.Options, config.FlagOf))
		}
		if said.String() != warnings {
			t.Errorf("with %d workers the library warns of something else than the command:\n%s\n%s", workers, &said, warnings)
		}
	}
	checkTypes(t, last)
	checkLayouts(t, last.laid)
}
