package config

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/golden"
)

const pageHead = `# RenderConfig

<!-- Written by "make docs" from config/declared.go. -->

A RenderConfig declares the operators of one cluster: the bundles, their OperatorGroups, and how to render and lay them out.
"olmgen init SOURCE..." writes one, "olmgen render -f olmgen.yaml" renders it, "olmgen render -f olmgen.yaml --check" compares the result with the
committed files, and "olmgen fn" reads it as the functionConfig of a [KRM function](../engines/kustomize.md). olmgen is strict: an unknown field, a
field that occurs twice, and a field that a bundle's [profile](../profiles.md#options) does not use are errors with their line.

Paths are relative to the file. With this first line, editors complete and check it, once "olmgen help schema RenderConfig > olmgen.schema.json" has written the schema:

` + "```yaml\n# yaml-language-server: $schema=" + SchemaFile + "\n```\n\n[examples/gitops](../../examples/gitops) has this one, and what it renders to:\n\n"

const pageTail = `
## Dependencies

With ` + "`resolve: true`" + `, rendering adds the operators that others require: by a package, an API or a constraint of their bundle. They are the operators that OLM's
resolver ([catalogs](../catalogs.md)) would install with those of a group in an empty namespace, from the catalogs that are sources in the file
(` + "`catalog:DIR`" + `). Each is rendered like the operator that requires it: with its profile and other settings, in its group. A note says which operators
rendering adds and why, and ` + "`olmgen.lock`" + ` records the version. So a new dependency, or a new version of one, is a change in the pull request that causes it.

` + "```yaml" + `
resolve: true
groups:
- namespace: operators
  bundles:
  - {source: "catalog:configs", package: memcached-operator, version: 0.2.1}
` + "```" + `

The choice depends on the file and the catalogs only, not on what was rendered before. A newer version of a dependency in the catalog changes the
rendered objects. To decide yourself when that happens, list the operator with its version. Rendering does not add an operator that a group lists. A
requirement that no catalog meets is an error.

## Two versions of one operator

A canary is a second group with a newer version of an operator, for other namespaces. A cluster can have only one CRD of a name, and with stable names only
one set of ClusterRoles for an API. So one of the groups leaves its own out with ` + "`clusterObjectsFrom`" + `:

` + "```yaml" + `
groups:
- namespace: stable
  targetNamespaces: [team-a]
  clusterObjectsFrom: canary
  bundles:
  - {name: stable, source: operator-1.0.0}
- namespace: canary
  targetNamespaces: [team-b]
  bundles:
  - {name: canary, source: operator-1.1.0}
` + "```" + `

Let the group with the newer version bring them: its CRDs must serve every version that the other operator owns, or rendering fails. The group that
leaves them out keeps cluster-scoped objects that only it has. Its ` + "`-admin`, `-edit` and `-view`" + ` ClusterRoles also aggregate the other group's APIs. A
shipped ClusterRole or ClusterRoleBinding of the other group that has other rules or subjects is a warning: the operator may lack rights. Patch it, or
give the operator a role of its own. Any other object that is not the same in both is an error. In the layout ` + "`helm`" + ` the objects are in the chart
of the group that brings them: install that chart first.

## Many registries

olmgen opens 32 sources at the same time: waiting for registries is what takes longest for many images. A catalog is read once for a run, however
many operators name it.
`

// docs/reference/renderconfig.md explains every field in the words of its declaration. "make docs" writes it.
func TestSchemaPage(t *testing.T) {
	example, err := os.ReadFile(filepath.Join("..", "examples", "gitops", "olmgen.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	page := pageHead + "```yaml\n" + string(example) + "```\n" + fieldTables(declared) + pageTail
	golden.CheckFile(t, filepath.Join("..", "docs", "reference", "renderconfig.md"), []byte(page), *update)
}

// fieldTables returns a table of the fields of a RenderConfig, and one of each object in it. Objects that are in several places, such as
// patches, have one table.
func fieldTables(options []Option) string {
	var out strings.Builder
	var seen []string
	table := func(title, text string, fields []Option) {
		if slices.Contains(seen, title) {
			return
		}
		seen = append(seen, title)
		fmt.Fprintf(&out, "\n## %s\n\n%s\n\n| field | value | |\n|---|---|---|\n", title, text)
		for _, o := range fields {
			value := pageValue(o)
			if o.Required {
				value += ", required"
			}
			fmt.Fprintf(&out, "| `%s` | %s | %s |\n", o.Name, value, strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(o.sentence()))
		}
	}
	table("RenderConfig", "The declaration of the operators of one cluster.", options)
	for o := range all(options) {
		if len(o.Fields) > 0 {
			table(o.Name, o.sentence(), o.Fields)
		}
	}
	return out.String()
}

// pageValue returns what a field takes.
func pageValue(o Option) string {
	text := cmp.Or(strings.Join(o.Words, ", "), "text")
	switch o.Type {
	case Bool:
		return "true or false"
	case List:
		return "list of " + text
	case Mapping, Anything:
		return "mapping"
	case Object:
		return fmt.Sprintf("[mapping](#%s)", strings.ToLower(o.Name))
	case Objects:
		return fmt.Sprintf("list of [mappings](#%s)", strings.ToLower(o.Name))
	case LabelSelector:
		return "[LabelSelector](https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#LabelSelector)"
	case SubscriptionConfig:
		return "[SubscriptionConfig](https://pkg.go.dev/github.com/operator-framework/api/pkg/operators/v1alpha1#SubscriptionConfig)"
	}
	return text
}

// sentence returns a text as it stands in a page: with a capital, its default and a period.
func (o Option) sentence() string {
	text := strings.ToUpper(o.Text[:1]) + o.Text[1:] + "."
	if o.Default != "" {
		text += " Default: " + o.Default + "."
	}
	return text
}
