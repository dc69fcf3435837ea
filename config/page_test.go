package config

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output/transform"
)

const pageHead = `# RenderConfig

<!-- Written by "make docs" from the comments in config/types.go. -->

A RenderConfig declares the operators of one cluster: which bundles, in which OperatorGroups, rendered how and laid out where.
"olmgen init SOURCE..." writes one, "olmgen render -f olmgen.yaml" renders it, "olmgen render -f olmgen.yaml --check" tells whether the result is
still what is committed, and "olmgen fn" takes it as the functionConfig of a [KRM function](engines/kustomize.md). It is read strictly: a field
that is not known, that is given twice, or that means nothing with a bundle's [profile](profiles.md#options) is an error with its line.

Paths are relative to the file that holds it. With this first line, editors complete and check it:

` + "```yaml\n# yaml-language-server: $schema=" + SchemaURL + "\n```\n\n[examples/gitops](../examples/gitops) has this one, and what it renders to:\n\n"

// docs/renderconfig.md explains every field in the words of the Go types. "make docs" writes it.
func TestSchemaPage(t *testing.T) {
	example, err := os.ReadFile(filepath.Join("..", "examples", "gitops", "olmgen.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	g := newSchemaWriter(t)
	var page strings.Builder
	page.WriteString(pageHead + "```yaml\n" + string(example) + "```\n")
	for _, typ := range []reflect.Type{
		reflect.TypeFor[RenderConfig](), reflect.TypeFor[Mirror](), reflect.TypeFor[Output](), reflect.TypeFor[Settings](), reflect.TypeFor[Certs](), reflect.TypeFor[Issuer](),
		reflect.TypeFor[Group](), reflect.TypeFor[Bundle](), reflect.TypeFor[Descoped](), reflect.TypeFor[Subscription](), reflect.TypeFor[CatalogSource](),
		reflect.TypeFor[ClusterExtension](), reflect.TypeFor[transform.Patch](), reflect.TypeFor[transform.Target](),
	} {
		fmt.Fprintf(&page, "\n## %s\n\n%s\n\n| field | value | |\n|---|---|---|\n", typ.Name(), g.comments[typ.Name()])
		g.rows(&page, typ)
	}
	golden.CheckFile(t, filepath.Join("..", "docs", "renderconfig.md"), []byte(page.String()), *update)
}

// rows writes a row for each field, those of embedded structs included.
func (g *schemaWriter) rows(page *strings.Builder, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			g.rows(page, f.Type)
			continue
		}
		value := g.value(f.Type)
		if !strings.Contains(options, "omitempty") {
			value += ", required"
		}
		fmt.Fprintf(page, "| `%s` | %s | %s |\n", name, value, strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(g.comments[t.Name()+"."+f.Name]))
	}
}

// value says what a field takes.
func (g *schemaWriter) value(t reflect.Type) string {
	t = manifest.Pointed(t)
	switch t {
	case reflect.TypeFor[v1alpha1.SubscriptionConfig]():
		return "[SubscriptionConfig](https://pkg.go.dev/github.com/operator-framework/api/pkg/operators/v1alpha1#SubscriptionConfig)"
	case reflect.TypeFor[metav1.LabelSelector]():
		return "[LabelSelector](https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#LabelSelector)"
	}
	switch t.Kind() {
	case reflect.String:
		return cmp.Or(strings.Join(g.enums[t], ", "), "text")
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "list of " + g.value(t.Elem())
	case reflect.Map:
		return "mapping"
	case reflect.Struct:
		return fmt.Sprintf("[%s](#%s)", t.Name(), strings.ToLower(t.Name()))
	}
	g.t.Fatalf("no words for %s", t)
	return ""
}
