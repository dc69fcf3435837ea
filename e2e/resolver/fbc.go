package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/golden/resolvercase"
)

// fbc is a file-based catalog.
type fbc struct{ Packages []*pkg }

type pkg struct {
	Name           string
	DefaultChannel string
	Channels       []*channel
	Bundles        []*bundle
	Deprecations   []deprecation
}

type channel struct {
	Name    string
	Entries []catalog.Entry
}

type bundle struct {
	Name       string
	Version    string
	Image      string
	Properties []catalog.Property
}

type deprecation struct {
	Reference reference `json:"reference"`
	Message   string    `json:"message"`
}

type reference struct {
	Schema string `json:"schema"`
	Name   string `json:"name,omitempty"`
}

func property(kind string, value any) catalog.Property {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		panic(err) // the generator makes nothing that JSON cannot hold
	}
	return catalog.Property{Type: kind, Value: bytes.TrimSpace(text.Bytes())}
}

// write writes a catalog as one YAML file.
func (c *fbc) write(dir string) error {
	var out bytes.Buffer
	for _, p := range c.Packages {
		for _, d := range p.documents() {
			text, err := resolvercase.YAML(d)
			if err != nil {
				return err
			}
			out.WriteString("---\n")
			out.Write(text)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "catalog.yaml"), out.Bytes(), 0o644)
}

func (p *pkg) documents() []any {
	docs := []any{struct {
		Schema         string `json:"schema"`
		Name           string `json:"name"`
		DefaultChannel string `json:"defaultChannel"`
	}{"olm.package", p.Name, p.DefaultChannel}}
	for _, c := range p.Channels {
		docs = append(docs, struct {
			Schema  string          `json:"schema"`
			Package string          `json:"package"`
			Name    string          `json:"name"`
			Entries []catalog.Entry `json:"entries"`
		}{"olm.channel", p.Name, c.Name, c.Entries})
	}
	for _, b := range p.Bundles {
		docs = append(docs, struct {
			Schema     string             `json:"schema"`
			Package    string             `json:"package"`
			Name       string             `json:"name"`
			Image      string             `json:"image"`
			Properties []catalog.Property `json:"properties"`
		}{"olm.bundle", p.Name, b.Name, b.Image, b.Properties})
	}
	if len(p.Deprecations) > 0 {
		docs = append(docs, struct {
			Schema  string        `json:"schema"`
			Package string        `json:"package"`
			Entries []deprecation `json:"entries"`
		}{"olm.deprecations", p.Name, p.Deprecations})
	}
	return docs
}

// puzzle is a case with the content of its catalogs.
type puzzle struct {
	question *resolvercase.Case
	catalogs map[string]*fbc
}

// write writes a case without its answer.
func (p *puzzle) write(dir string) error {
	for name, c := range p.catalogs {
		if err := c.write(resolvercase.CatalogDir(dir, name)); err != nil {
			return err
		}
	}
	return p.question.Write(dir)
}
