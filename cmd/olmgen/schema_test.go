package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/cmd/internal/adopt"
	"github.com/olmgen/olmgen/cmd/internal/imagelist"
	"github.com/olmgen/olmgen/cmd/internal/review"
	updating "github.com/olmgen/olmgen/cmd/internal/update"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/golden/schematest"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/print"
)

// TestSchemaFiles keeps schemas equal to the types that are printed; make docs writes them. ResolveReport is written by hand.
func TestSchemaFiles(t *testing.T) {
	of := map[string]any{"WriteReport": summary{}, "UpdateReport": updating.Report{}, "UpgradeList": compare.Reports{},
		"CheckReport": (&predict.Report{}).JSON(), "FindingReport": print.List{}.JSON(), "ImageReport": imagelist.List{}.JSON(),
		"PathReport": resolve.Path{}, "CatalogDifferenceReport": review.CatalogDiff{},
		"MigrationReport": struct {
			Operators []*adopt.Migration `json:"operators"`
		}{}}
	for _, k := range documentKinds {
		value, ok := of[k.kind]
		if !ok {
			continue
		}
		s := schematest.Schema{Type: reflect.TypeOf(value), Kind: k.kind, Title: "olmgen " + k.command,
			ID: "https://olmgen.dev/schemas/" + strings.ToLower(k.kind) + "-v1alpha1.json"}
		want, err := s.JSON()
		must(t, err)
		golden.CheckFile(t, filepath.Join("schemas", k.kind+".json"), want, *update)
		delete(of, k.kind)
	}
	for kind := range of {
		t.Errorf("%s is no kind of documentKinds", kind)
	}
}

// reporting are command lines of each kind of report.
var reporting = map[string][]string{
	"WriteReport":             {"render bundle -o out", "render -f olmgen.yaml --dry-run -o again", "descope bundle -o descoped"},
	"UpdateReport":            {"update -f olmgen.yaml", "update tree --catalog catalog", "update after --dry-run"},
	"VerificationReport":      {"adopt --verify dump -f olmgen.yaml"},
	"MigrationReport":         {"adopt dump --to clusterextension -o to.yaml"},
	"PermissionReport":        {"permissions bundle", "permissions -f olmgen.yaml"},
	"DifferenceReport":        {"diff bundle-v0.1.0 bundle"},
	"UpgradeList":             {"diff before after"},
	"History":                 {"history ."},
	"CheckReport":             {"check tree", "check dump", "check after", "check tree --catalog catalog --openshift-version 4.18"},
	"FindingReport":           {"lint bundle --policy operate-first", "validate bundle", "catalog validate catalog", "catalog diff catalog catalog", "adopt --verify --since dump dump -f olmgen.yaml"},
	"ImageReport":             {"images bundle", "images -f olmgen.yaml"},
	"ResolveReport":           {"catalog resolve --catalog olm/a=catalog --install redis", "catalog resolve after"},
	"PathReport":              {"catalog path redis --catalog catalog", "catalog path redis --catalog catalog --profile clusterextension"},
	"CatalogDifferenceReport": {"catalog diff catalog catalog --tree tree"},
	"AuditReport":             {"catalog audit bundle", "catalog audit catalog"},
}

// Every report in JSON has an apiVersion and a kind, and conforms to the schema that olmgen prints.
func TestReportsConform(t *testing.T) {
	dir := inputs(t)
	must(t, os.CopyFS(filepath.Join(dir, "bundle-v0.1.0"), os.DirFS(example(t, "bundle-v0.1.0"))))
	t.Chdir(dir)
	for _, file := range []string{"a", "b"} { // two clusters
		for _, tree := range []string{"before", "after"} {
			root := filepath.Join(tree, "clusters", file)
			must(t, os.MkdirAll(root, 0o755))
			must(t, os.WriteFile(filepath.Join(root, "a.yaml"), []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "+tree+file+", namespace: ops}\n"), 0o600))
			must(t, os.WriteFile(filepath.Join(root, "kustomization.yaml"), []byte("resources: [a.yaml]\n"), 0o600))
		}
	}
	for kind, lines := range reporting {
		code, schema, stderr := olmgen("help", "schema", kind)
		if code != exitDone {
			t.Errorf("olmgen help schema %s: %s", kind, stderr)
			continue
		}
		for _, line := range lines {
			code, stdout, stderr := olmgen(append(strings.Fields(line), "--format", "json")...)
			if code != exitDone && code != exitFound {
				t.Errorf("olmgen %s: exit code %d: %s", line, code, stderr)
				continue
			}
			for decoder := json.NewDecoder(strings.NewReader(stdout)); decoder.More(); {
				var document json.RawMessage
				must(t, decoder.Decode(&document))
				if err := schematest.Check([]byte(schema), document); err != nil {
					t.Errorf("olmgen %s --format json is no %s: %v", line, kind, err)
				}
			}
			if !strings.Contains(stdout, `"kind": "`+kind+`"`) {
				t.Errorf("olmgen %s --format json has no kind %s\n%.300s", line, kind, stdout)
			}
		}
	}
}

// Every command that prints JSON is one of those that TestReportsConform runs.
func TestReportsAreKnown(t *testing.T) {
	var all []string
	for _, lines := range reporting {
		all = append(all, lines...)
	}
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			check(c)
		}
		name := strings.TrimPrefix(cmd.CommandPath(), "olmgen ")
		known := slices.ContainsFunc(all, func(line string) bool { return strings.HasPrefix(line, name+" ") })
		if slices.Contains(formatsOf(cmd), "json") && !known && name != "version" && name != "catalog merge" {
			t.Errorf("olmgen %s prints JSON, and no line of reporting runs it", name)
		}
	}
	check(newRoot())
	for _, k := range documentKinds {
		if reporting[k.kind] == nil && k.kind != config.Kind {
			t.Errorf("no line of reporting prints a %s", k.kind)
		}
		command, _, _ := strings.Cut(k.command, " -")
		if found, _, err := newRoot().Find(strings.Fields(strings.ReplaceAll(command, ",", ""))); err != nil || found.Name() == "olmgen" {
			t.Errorf("%s: no command %s", k.kind, command)
		}
	}
}

// A RenderConfig that init writes conforms to the schema that its first line asks for.
func TestSchemaOfInit(t *testing.T) {
	code, text, stderr := olmgen("init", example(t, "bundle"), "-o", "-")
	if code != exitDone {
		t.Fatal(stderr)
	}
	line, _, _ := strings.Cut(text, "\n")
	if line != "# yaml-language-server: $schema="+config.SchemaFile || !strings.Contains(text, "olmgen help schema RenderConfig > "+config.SchemaFile+"\n") {
		t.Errorf("%s", text)
	}
	_, schema, _ := olmgen("help", "schema", "renderconfig")
	_, err := schematest.Compile([]byte(schema))
	must(t, err)
	for args, want := range map[string]string{
		"help schema X":            "olmgen: unknown kind \"X\"\nhint: \"olmgen help schema\" lists them\n",
		"help schema CheckReports": "olmgen: unknown kind \"CheckReports\"\nhint: did you mean CheckReport? \"olmgen help schema\" lists them\n",
	} {
		if code, _, stderr := olmgen(strings.Fields(args)...); code != exitUsage || stderr != want {
			t.Errorf("olmgen %s: exit code %d\n%s", args, code, stderr)
		}
	}
	if _, words, _ := olmgen("__complete", "help", "schema", "Ch"); !strings.HasPrefix(words, "CheckReport\n") {
		t.Errorf("completed: %s", words)
	}
}
