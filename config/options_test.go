package config

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
)

// notOfGenerate are the options of other packages.
var notOfGenerate = []manifest.Option{option.Suppress, option.Package, option.Version, option.AllowUnsupported,
	option.Layout, option.HelmCRDs, option.KubeVersion}

// docs/reference/profile-options.md has the options that are not for all profiles. "make docs" writes it.
func TestPage(t *testing.T) {
	name := filepath.Join("..", "docs", "reference", "profile-options.md")
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(page), tableHead)
	want := before + profileTable(declared)
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(page) != want {
		t.Errorf("%s is stale, run \"make docs\"", name)
	}
}

const tableHead = "| option | field |"

// profileTable returns the table of the options that are not for all profiles.
func profileTable(options []Option) string {
	table := tableHead
	for _, p := range generate.Profiles {
		table += " " + string(p) + " |"
	}
	table += "\n|---|---|" + strings.Repeat("---|", len(generate.Profiles)) + "\n"
	for o := range all(options) {
		field := strings.TrimPrefix(strings.TrimPrefix(o.Path, bundleField+"."), "groups[].")
		shown := o.Flag != "" || o.Fields == nil && !inObject(o) || o.Type == Objects
		if o.Profiles == nil || strings.HasPrefix(o.Path, defaultsField+".") || !shown {
			continue
		}
		flag := ""
		if o.Flag != "" {
			flag = "`--" + o.Flag + "`"
		}
		table += fmt.Sprintf("| %s | `%s` |", flag, strings.TrimSuffix(field, "[]"))
		for _, p := range generate.Profiles {
			if o.Uses(p) {
				table += " yes"
			}
			table += " |"
		}
		table += "\n"
	}
	return table
}

// A new option is one declaration: its flag, its schema, its rows in the pages and the check of its profile come from there.
func TestAddAnOption(t *testing.T) {
	added := Option{Name: "tier", Words: []string{"gold", "silver"}, Default: "gold", Flag: "tier", Value: "TIER", Topic: TopicObjects,
		Profiles: descoped, Text: "how well the operator is looked after"}
	options := slices.Clone(declared)
	at := slices.IndexFunc(options, func(o Option) bool { return o.Name == "groups" })
	options[at].Fields = append(slices.Clone(options[at].Fields), added)

	set := pflag.NewFlagSet("render", pflag.ContinueOnError)
	flags := NewFlags(WithFlags(options))
	for _, v := range flags.Values() {
		set.VarP(v, v.Flag, v.Short, v.Usage())
	}
	if flag := set.Lookup("tier"); flag == nil || flag.Usage != "how well the operator is looked after: gold or silver (default: gold)" {
		t.Errorf("flag: %+v", flag)
	}
	if err := set.Parse([]string{"--tier", "sliver"}); err == nil || !strings.Contains(err.Error(), `unknown value "sliver"`) {
		t.Errorf("an unknown word: %v", err)
	}
	if hint := text.Unknown("value", "sliver", added.Words).Hint(); hint != "did you mean silver? choose one of gold, silver" {
		t.Errorf("hint: %s", hint)
	}
	if err := set.Parse([]string{"--tier", "silver"}); err != nil {
		t.Fatal(err)
	}
	document, given, err := flags.document("bundle", nil)
	if err != nil || !given["groups[0].tier"] {
		t.Fatalf("document %v, given %v, %v", document, given, err)
	}

	group := schemaOf(t, options)["properties"].(map[string]any)["groups"].(map[string]any)["items"].(map[string]any)
	tier, _ := group["properties"].(map[string]any)["tier"].(map[string]any)
	if tier == nil || tier["description"] != "How well the operator is looked after. Default: gold." {
		t.Errorf("schema: %v", tier)
	}
	for page, row := range map[string]string{
		fieldTables(options):  "| `tier` | gold, silver | How well the operator is looked after. Default: gold. |\n",
		profileTable(options): "| `--tier` | `tier` | | | yes | | | |\n",
	} {
		if !strings.Contains(page, row) {
			t.Errorf("no row %q in\n%s", row, page)
		}
	}
	c := &Config{given: given}
	for p, want := range map[generate.Profile]string{
		generate.ProfileOLM:      "has no effect with profile olm",
		generate.ProfileDescoped: "",
	} {
		if got := fmt.Sprint(c.unused(document, options, "", p)); want == "" && got != "[]" || !strings.Contains(got, want) {
			t.Errorf("profile %s: %s, want %q", p, got, want)
		}
	}
}

// flagName finds flags in a text.
var flagName = regexp.MustCompile(`(^|[^-a-z])--[a-z][a-z-]*[a-z]`)

// notLibrary are the folders whose texts may name flags: commands, tests of them, and programs of others that e2e runs.
var notLibrary = []string{"cmd", "e2e", "examples", "docs", "golden", "tools"}

// scripts are the files with commands of other programs, such as kubectl and git.
var scripts = []string{"../cmd/internal/adopt/plan.go", "../cmd/internal/adopt/planolm.go",
	"../cmd/internal/adopt/settle.go", "../cmd/internal/adopt/migration.go",
	"../cmd/internal/adopt/running.go", "../catalog/resolve/approval.go", "../internal/fit/remedies.go"}

// No text of a library package names a flag: the front end names options.
func TestTextsNameNoFlag(t *testing.T) {
	files := 0
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := filepath.Base(name)
		if d.IsDir() && (slices.Contains(notLibrary, base) || base == "testdata" || strings.HasPrefix(base, ".") && base != "..") {
			return filepath.SkipDir
		}
		if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") ||
			slices.Contains(scripts, filepath.ToSlash(name)) {
			return nil
		}
		files++
		for _, text := range literals(t, name) {
			if flag := flagName.FindString(text); flag != "" && !strings.Contains(text, "\n") {
				t.Errorf("%s: %q names the flag %s", name, text, flag)
			}
		}
		return nil
	})
	if err != nil || files < 150 {
		t.Errorf("%d files, %v", files, err)
	}
}

// literals returns the strings in a Go file.
func literals(t *testing.T, name string) (texts []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, text)
		}
		return true
	})
	return texts
}
