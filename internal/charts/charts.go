// Package charts is the question what a chart of helm renders to, and its answer as objects of a tree.
package charts

import (
	"context"
	"encoding/json"
)

// Release is a chart with what a GitOps engine gives helm to render it.
type Release struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Chart     []File `json:"chart"`
	// Defaults take the place of the chart's values.yaml, in their order; empty: they do not.
	Defaults    []string `json:"defaults,omitempty"`
	Values      []Value  `json:"values,omitempty"` // a later one wins
	CRDs        bool     `json:"crds,omitempty"`   // those of the directory crds too
	Hooks       Hooks    `json:"hooks,omitempty"`
	SkipSchema  bool     `json:"skipSchema,omitempty"`
	KubeVersion string   `json:"kubeVersion,omitempty"` // empty: that of helm
	Strict      bool     `json:"strict,omitempty"`      // a value that is not there is an error
	APIVersions []string `json:"apiVersions,omitempty"` // beside those that helm knows
	Incomplete  bool     `json:"incomplete,omitempty"`  // without the dependencies that are not there
}

// File is a file of a chart, by its path below it.
type File struct {
	Name string `json:"name"`
	Data []byte `json:"data"`
}

// Value is values as YAML, or one value.
type Value struct {
	YAML string `json:"yaml,omitempty"`
	Set  string `json:"set,omitempty"`  // path=value, as the flag --set of helm reads it
	Text bool   `json:"text,omitempty"` // the value is a text, as with --set-string
	// File is the content of the file that a path=file is about, as with --set-file.
	File *string `json:"file,omitempty"`
}

// ValuesOf returns values as they stand in YAML. An error is about what no YAML can hold.
func ValuesOf(values map[string]any) (Value, error) {
	data, err := json.Marshal(values)
	return Value{YAML: string(data)}, err
}

// Hooks selects the hooks of a chart that are applied.
type Hooks string

// The hooks that are applied.
const (
	Run     Hooks = ""      // those that an installation or an upgrade runs
	All     Hooks = "all"   // every one, as an object like the others
	NoTests Hooks = "tests" // every one but tests
	None    Hooks = "none"
)

// Rendered is what helm makes of a Release.
type Rendered struct {
	Manifests []Manifest `json:"manifests,omitempty"`
	// Random are templates of which a value is random or of the clock, and has a fixed one here.
	Random []string `json:"random,omitempty"`
	Error  string   `json:"error,omitempty"` // why helm cannot render it
}

// Manifest is the text of an object, and the template that makes it, by its path below the chart.
type Manifest struct {
	Template string `json:"template"`
	Text     string `json:"text"`
}

// Renderer renders charts.
type Renderer interface {
	Render(ctx context.Context, r Release) (Rendered, error)
}
