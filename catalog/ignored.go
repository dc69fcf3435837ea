package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/manifest"
)

// fieldsOf are the fields that opm reads of the documents that people write, by schema and by the field that they are
// below (operator-registry: alpha/declcfg/declcfg.go, alpha/template/basic/basic.go). It drops others silently. As for
// encoding/json, case does not count.
var fieldsOf = map[string]map[string][]string{
	olm.SchemaPackage: {
		"":           {"schema", "name", "defaultChannel", "icon", "description", "properties"},
		"icon":       {"base64data", "mediatype"},
		"properties": {"type", "value"},
	},
	olm.SchemaChannel: {
		"":           {"schema", "name", "package", "entries", "properties"},
		"entries":    {"name", "replaces", "skips", "skipRange"},
		"properties": {"type", "value"},
	},
	olm.SchemaDeprecations: {
		"":                  {"schema", "package", "entries"},
		"entries":           {"reference", "message"},
		"entries.reference": {"schema", "name"},
	},
	schemaBasic: {"": {"schema", "entries"}},
}

// Ignored returns what opm passes over without an error: documents whose schema begins with olm., or is nearly one of a
// catalog, and is none, and fields that the schema of a document does not have.
func (c *Catalog) Ignored() []Fault { return c.ignored }

// unknownFields returns the fields of a document that opm drops. The function at returns where a field is.
func unknownFields(schema string, data []byte, at func(field string) Place) (found []Fault) {
	fields := fieldsOf[schema]
	var value any
	if fields == nil || json.Unmarshal(data, &value) != nil {
		return nil
	}
	var walk func(value any, below, field string)
	walk = func(value any, below, field string) {
		known := fields[below]
		switch value := value.(type) {
		case []any:
			for i, item := range value {
				walk(item, below, fmt.Sprintf("%s[%d]", field, i))
			}
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(value)) {
				path := strings.TrimPrefix(field+"."+key, ".")
				i := slices.IndexFunc(known, func(name string) bool { return strings.EqualFold(name, key) })
				switch {
				case known == nil: // the value of a property
				case i < 0:
					remedy := text.DidYouMean(key, known)
					if remedy == "" {
						remedy = "fields: " + strings.Join(known, ", ")
					}
					found = append(found, Fault{Place: at(path), Rule: "unknown-field", Hint: remedy,
						Text: fmt.Sprintf("%s has no field %s: opm drops it", schema, path)})
				default:
					walk(value[key], strings.TrimPrefix(below+"."+known[i], "."), path)
				}
			}
		}
	}
	walk(value, "", "")
	return found
}

// lines returns a function to the place of a field of a document. It reads the document when it is first called.
func lines(document Place, written []byte) func(field string) Place {
	read := sync.OnceValues(func() ([]*manifest.Document, error) {
		return manifest.ReadFile(document.File, written, whole.Limits(budget.CatalogDoc))
	})
	return func(field string) Place {
		at := document
		if docs, err := read(); err == nil && len(docs) == 1 {
			at.Line += docs[0].Errorf(field, "").Line - 1
		}
		return at
	}
}
