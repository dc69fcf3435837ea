package resolvercase

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"

	"go.yaml.in/yaml/v3"
)

// Write writes case.yaml.
func (c *Case) Write(dir string) error { return writeYAML(filepath.Join(dir, "case.yaml"), c) }

// Write writes expected.yaml.
func (a *Answer) Write(dir string) error { return writeYAML(filepath.Join(dir, "expected.yaml"), a) }

// writeYAML writes a value with the keys in the order of the Go fields. Small mappings and lists in lists stand on one
// line.
func writeYAML(file string, v any) error {
	data, err := YAML(v)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

// YAML returns a value as the files of a case hold it.
func YAML(v any) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text.Bytes(), &doc); err != nil {
		return nil, err
	}
	style(&doc)
	var out bytes.Buffer
	w := yaml.NewEncoder(&out)
	w.SetIndent(2)
	if err := w.Encode(&doc); err != nil {
		return nil, err
	}
	return out.Bytes(), w.Close()
}

// oneLine are the mappings that stand on one line each, by the key of their list.
var oneLine = map[string]bool{"catalogs": true, "subscriptions": true, "newSubscriptions": true, "csvs": true,
	"removed": true, "installed": true, "deprecationConditions": true, "operatorGroup": true,
	"entries": true, "properties": true}

// oldBool matches strings that are booleans in YAML 1.1, which opm reads: they stay in quotes.
var oldBool = regexp.MustCompile(`^(?i:y|n|yes|no|on|off)$`)

func style(n *yaml.Node) {
	if n.Kind != yaml.ScalarNode || !oldBool.MatchString(n.Value) {
		n.Style = 0
	}
	for i, c := range n.Content {
		style(c)
		if n.Kind != yaml.MappingNode || i%2 == 0 || !oneLine[n.Content[i-1].Value] {
			continue
		}
		switch {
		case c.Kind == yaml.MappingNode, len(c.Content) > 0 && c.Content[0].Kind == yaml.ScalarNode:
			c.Style = yaml.FlowStyle
		default:
			for _, item := range c.Content {
				item.Style = yaml.FlowStyle
			}
		}
	}
}
