package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/golden/resolvercase"
)

// mutants breaks random catalogs, and compares what opm and olmgen say to them. The same seed makes the same catalog.
func (o *options) mutants(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "olmgen-e2e-mutants-")
	if err != nil {
		return err
	}
	defer os.Remove(dir) // it stays if it holds a catalog
	start := time.Now()
	var mu sync.Mutex
	rules := map[string]int{}
	failed := o.each(o.cases, func(i int) error {
		seed := o.seed + uint64(i)
		name := fmt.Sprintf("mutant-%05d", seed)
		at := filepath.Join(dir, name)
		change, text, err := mutant(seed)
		if err == nil {
			err = os.MkdirAll(at, 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(at, "catalog.yaml"), text, 0o644)
		}
		if err != nil {
			return o.report(name, nil, err)
		}
		verdict, diff, err := opinions(ctx, at)
		if err == nil && diff == "" {
			mu.Lock()
			rules[verdict]++
			mu.Unlock()
			return os.RemoveAll(at)
		}
		return o.report(name+", "+change+", in "+at, []string{diff}, err)
	})
	fmt.Printf("mutants, seeds %d to %d: %d of %d catalogs equal (%d served, %d refused with opm's words, %d that "+
		"neither can read)\n%s\n", o.seed, o.seed+uint64(o.cases)-1, o.cases-failed, o.cases, rules[isServed],
		rules[isRefused], rules[isUnread], time.Since(start).Round(time.Second))
	return o.result(ctx, failed)
}

// The verdicts on a catalog.
const (
	isServed  = "served"
	isRefused = "refused"
	isUnread  = "unread" // not YAML, or fields of other types: the words are those of the libraries
)

var named = regexp.MustCompile(`^build package index: process package ("[^"]*")`)

// opinions asks opm and olmgen about a catalog, and returns the verdict and the difference.
func opinions(ctx context.Context, dir string) (verdict, diff string, err error) {
	var want, got string
	s, err := serve(ctx, dir)
	if refused := (errRefused{}); errors.As(err, &refused) {
		want = refused.Error()
	} else if err != nil {
		return "", "", err
	} else {
		s.stop()
	}
	read, err := catalog.Read(ctx, dir, catalog.Options{})
	if err != nil {
		if want == "" {
			return "", "opm serves it; olmgen: " + err.Error(), nil
		}
		return isUnread, "", nil
	}
	// Of several packages that opm refuses, chance decides which it names.
	if m := named.FindStringSubmatch(want); m != nil {
		name, _ := strconv.Unquote(m[1])
		if p := read.Packages[name]; p != nil {
			read = &catalog.Catalog{Packages: map[string]*catalog.Package{name: p}}
		}
	}
	if r := read.Refusal(); r != nil {
		got = r.Error()
	}
	diff = resolvercase.RefusalDiff(map[string]string{"opm": want}, map[string]string{"opm": got})
	if want == "" {
		return isServed, diff, nil
	}
	return isRefused, diff, nil
}

// fields is a document.
type fields map[string]any

// mutant returns the catalog of a seed with one change, and what the change is.
func mutant(seed uint64) (change string, text []byte, err error) {
	r := &random{Rand: rand.New(rand.NewPCG(seed, 1)), names: []string{"a", "b"}}
	docs, err := r.documents()
	if err != nil {
		return "", nil, err
	}
	list := []struct {
		name   string
		schema string // of the document that it changes; empty: of any
		do     func(fields)
	}{
		{"no schema", "", func(d fields) { delete(d, "schema") }},
		{"a schema that is a number", "", func(d fields) { d["schema"] = 1 }},
		{"another schema", "", func(d fields) {
			d["schema"] = pick(r, "olm.chanel", "olm.bundles", "example.com/x", "x y", "OLM.package", "")
		}},
		{"no field", "", func(d fields) {
			delete(d, pick(r, "name", "package", "entries", "image", "properties", "defaultChannel"))
		}},
		{"an icon", "olm.package", func(d fields) { d["icon"] = r.icon() }},
		{"a release", "olm.bundle", func(d fields) { r.release(d, docs) }},
		{"an object", "olm.bundle", func(d fields) {
			properties, _ := d["properties"].([]any)
			d["properties"] = append(properties, fields{"type": "olm.bundle.object", "value": fields{
				"data": pick[any](r, "e30=", "e30", "*", 1, "YTogYgo=", "")}})
		}},
		{"a circle", "olm.channel", func(d fields) { r.circle(d) }},
		{"an entry twice", "olm.channel", func(d fields) {
			entries, _ := d["entries"].([]any)
			d["entries"] = append(entries, entries[0])
		}},
		{"a document twice", "", func(d fields) { docs = append(docs, d) }},
		{"a version", "olm.bundle", func(d fields) {
			value := packageValue(d)
			value["version"] = pick[any](r, "1.0", "v1.0.0", "", "1.0.0-01", 1, "9.9.9")
		}},
		{"the package of the property", "olm.bundle", func(d fields) { packageValue(d)["packageName"] = "z" }},
	}
	m := list[seed%uint64(len(list))]
	if seed%(uint64(len(list))+1) == 0 {
		text, err := printed(docs)
		end := r.IntN(len(text))
		return fmt.Sprintf("cut at byte %d", end), text[:end], err
	}
	var at []fields
	for _, d := range docs {
		if m.schema == "" || d["schema"] == m.schema {
			at = append(at, d)
		}
	}
	m.do(pick(r, at...))
	text, err = printed(docs)
	return m.name, text, err
}

// documents returns the documents of a random catalog.
func (r *random) documents() (docs []fields, err error) {
	for _, p := range r.catalog(1).Packages {
		for _, d := range p.documents() {
			var doc fields
			data, err := json.Marshal(d)
			if err == nil {
				err = json.Unmarshal(data, &doc)
			}
			if err != nil {
				return nil, err
			}
			docs = append(docs, doc)
		}
	}
	return docs, nil
}

func printed(docs []fields) ([]byte, error) {
	var out bytes.Buffer
	for _, d := range docs {
		text, err := resolvercase.YAML(d)
		if err != nil {
			return nil, err
		}
		out.WriteString("---\n")
		out.Write(text)
	}
	return out.Bytes(), nil
}

func packageValue(bundle fields) map[string]any {
	properties, _ := bundle["properties"].([]any)
	for _, p := range properties {
		if property, _ := p.(map[string]any); property["type"] == "olm.package" {
			value, _ := property["value"].(map[string]any)
			return value
		}
	}
	return nil
}

func (r *random) icon() any {
	return pick[any](r, nil, "x", fields{}, fields{"base64data": "PHN2Zz4=", "mediatype": "image/svg+xml"},
		fields{"base64data": "PHN2Zz4", "mediatype": "image/svg+xml"}, fields{"base64data": "<svg/>"},
		fields{"base64data": 1, "mediatype": "image/png"}, fields{"base64data": "PHN2\nZz4=", "mediatype": 1})
}

// release gives a bundle a release, and most times the name that opm wants then.
func (r *random) release(bundle fields, docs []fields) {
	value := packageValue(bundle)
	release := pick(r, "1", "01", "a.b", "a_b", "1..2", "", "123456789012345678901", "0", "rc.1", "-", "1.02.003")
	value["release"] = release
	if r.is(0.2) {
		value["version"] = fmt.Sprint(value["version"], "+build")
	}
	if r.is(0.3) {
		return
	}
	old, name := bundle["name"], fmt.Sprintf("%s-v%s-%s", bundle["package"], value["version"], release)
	for _, d := range docs {
		entries, _ := d["entries"].([]any)
		for _, e := range entries {
			entry, _ := e.(map[string]any)
			if entry["name"] == old {
				entry["name"] = name
			}
			if entry["replaces"] == old {
				entry["replaces"] = name
			}
			skips, _ := entry["skips"].([]any)
			if i := slices.Index(skips, old); i >= 0 {
				skips[i] = name
			}
			reference, _ := entry["reference"].(map[string]any)
			if reference["name"] == old {
				reference["name"] = name
			}
		}
	}
	bundle["name"] = name
}

// circle has the last entry of a channel update another, or itself.
func (r *random) circle(channel fields) {
	entries, _ := channel["entries"].([]any)
	last, _ := entries[len(entries)-1].(map[string]any)
	other, _ := entries[r.IntN(len(entries))].(map[string]any)
	if r.is(0.3) {
		last["skips"] = []any{other["name"]}
		return
	}
	last["replaces"] = other["name"]
}
