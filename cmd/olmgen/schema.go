package main

import (
	"embed"
	"io"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/cmd/internal/adopt"
	"github.com/olmgen/olmgen/cmd/internal/audit"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/compare/history"
	"github.com/olmgen/olmgen/internal/permissions"
)

// topicSchema is the topic that prints the schema of a kind.
const topicSchema = "schema"

// schemaFiles holds the JSON Schemas of reports whose packages have none.
//
//go:embed schemas/*.json
var schemaFiles embed.FS

// documentKinds are the kinds of documents that olmgen reads or prints: which command prints them, and their schemas,
// which are nil for those of schemaFiles.
var documentKinds = []struct {
	kind, command string
	schema        []byte
}{
	{config.Kind, "init", config.Schema},
	{"WriteReport", "render -o DIR --format json", nil},
	{"UpdateReport", "update --format json", nil},
	{"VerificationReport", "adopt --verify --format json", adopt.Schema},
	{"MigrationReport", "adopt --to clusterextension --format json", nil},
	{"PermissionReport", "permissions --format json", permissions.Schema},
	{"DifferenceReport", "diff --format json", compare.Schema},
	{"UpgradeList", "diff --format json, of several clusters", nil},
	{"History", "history --format json", history.Schema},
	{"CheckReport", "check --format json", nil},
	{"FindingReport", "lint, validate --format json", nil},
	{"ImageReport", "images --format json", nil},
	{"ResolveReport", "catalog resolve --format json", nil},
	{"PathReport", "catalog path --format json", nil},
	{"CatalogDifferenceReport", "catalog diff --tree PATH --format json", nil},
	{audit.Kind, "catalog audit --format json", audit.Schema},
}

func kindNames() (names []string) {
	for _, k := range documentKinds {
		names = append(names, k.kind)
	}
	return names
}

// schemaOf returns the JSON Schema of a kind, in any case.
func schemaOf(kind string) ([]byte, error) {
	i := slices.IndexFunc(kindNames(), func(name string) bool { return strings.EqualFold(name, kind) })
	if i < 0 {
		err := text.CheckKnown("kind", kind, kindNames())
		return nil, &usageError{err.Error(), strings.TrimSpace(
			text.DidYouMean(kind, kindNames()) + ` "olmgen help schema" lists them`)}
	}
	if k := documentKinds[i]; k.schema != nil {
		return k.schema, nil
	}
	return schemaFiles.ReadFile("schemas/" + documentKinds[i].kind + ".json")
}

// helpSchema prints a schema, or lists the kinds.
func helpSchema(w io.Writer, given []string) error {
	switch len(given) {
	case 0:
		printTopic(w, topicSchema)
		return nil
	case 1:
		schema, err := schemaOf(given[0])
		if err == nil {
			_, err = w.Write(schema)
		}
		return err
	}
	return &usageError{"one argument too many: \"" + given[1] + "\"", "write olmgen help schema KIND"}
}
