package config

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/yamltext"
	"github.com/olmgen/olmgen/manifest"
)

// seen are the largest legitimate inputs: of each number the largest, wherever it is.
type seen map[budget.Input]budget.Budget

func (s seen) note(i budget.Input, b budget.Budget) {
	old := s[i]
	s[i] = budget.Budget{Bytes: max(old.Bytes, b.Bytes), Values: max(old.Values, b.Values),
		Objects: max(old.Objects, b.Objects), Files: max(old.Files, b.Files)}
}

// measured returns the largest inputs in the corpus, and such as are made of it: each bundle as one document of a
// catalog, each of its objects as kubectl prints it, all bundles as one tree, revision, dump and RenderConfig.
func measured(t *testing.T) seen {
	s := seen{}
	var tree, revision, dump budget.Budget
	groups := []any{}
	for _, dir := range corpustest.Bundles(t) {
		b := s.bundle(t, dir)
		s.note(budget.Bundle, b.Budget)
		// As a package of manifests, and as a stream in one file.
		s.note(budget.Function, budget.Budget{Bytes: b.Bytes, Values: b.Values})
		s.note(budget.TreeFile, budget.Budget{Bytes: b.Bytes, Values: b.Values, Objects: b.Objects})
		s.note(budget.CatalogDoc, budget.Budget{Bytes: int64(base64.StdEncoding.EncodedLen(int(b.Bytes))), Objects: b.Objects})
		tree = budget.Budget{Bytes: tree.Bytes + b.Bytes, Values: tree.Values + b.charged}
		revision = budget.Budget{Bytes: revision.Bytes + b.Bytes, Files: revision.Files + b.Files}
		dump = budget.Budget{Bytes: dump.Bytes + b.plain, Objects: dump.Objects + b.Objects}
		groups = append(groups, map[string]any{"name": filepath.Base(dir), "namespace": "operators",
			"bundles": []any{map[string]any{"source": dir}}})
	}
	s.note(budget.Tree, tree)
	s.note(budget.Revision, revision)
	s.note(budget.Dump, dump)
	text := manifest.Encode(map[string]any{"apiVersion": APIVersion, "kind": Kind, "groups": groups})
	s.note(budget.RenderConfig, budget.Budget{Bytes: int64(len(text)), Values: budget.Places(text)})
	for _, file := range corpustest.Glob(t, corpustest.Root(t), "catalogs", "*", "*") {
		data, err := os.ReadFile(file)
		noError(t, err)
		for part, err := range yamltext.Split(bytes.NewReader(data), int64(len(data))) {
			noError(t, err)
			s.note(budget.CatalogDoc, budget.Budget{Bytes: int64(len(part.Data)), Values: budget.Places(part.Data)})
		}
		s.note(budget.Catalog, budget.Budget{Bytes: int64(len(data)), Files: 1})
	}
	return s
}

// files is what a bundle has.
type files struct {
	budget.Budget
	charged int64 // values that are charged when it is read as a tree: not those of the schemas of CRDs
	plain   int64 // bytes of what is no CRD
}

func (s seen) bundle(t *testing.T, dir string) (b files) {
	var charged atomic.Int64
	noError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b.Files++
		data, err := os.ReadFile(path)
		noError(t, err)
		b.Bytes += int64(len(data))
		docs, err := manifest.ReadFile(path, data, manifest.Limits{Charge: func(_, values int64) string {
			charged.Add(values)
			return ""
		}})
		noError(t, err)
		s.note(budget.File, budget.Budget{Bytes: int64(len(data)), Objects: int64(len(docs))})
		for _, d := range docs {
			b.Objects++
			b.Values += budget.Places(d.Raw)
			s.note(budget.Object, budget.Budget{Bytes: budget.Weight(d.Raw), Values: budget.Places(d.Raw)})
			if !bytes.Contains(d.Raw, []byte("kind: CustomResourceDefinition")) {
				b.plain += int64(len(d.Raw))
			} else if len(d.Raw) < 1<<20 {
				continue // a larger one is larger as JSON, too
			}
			v, err := d.Value()
			noError(t, err)
			indented, err := json.MarshalIndent(v, "        ", "    ")
			noError(t, err)
			s.note(budget.DumpObject, budget.Budget{Bytes: int64(len(indented)), Values: budget.Places(d.Raw)})
		}
		return nil
	}))
	b.charged = charged.Load()
	return b
}

// Each budget is at least four times the largest legitimate input, but for the bytes of an object, which Kubernetes
// decides. The page has these figures.
func TestBudgets(t *testing.T) {
	largest := measured(t)
	var table strings.Builder
	table.WriteString("| input | bytes | values | objects | files |\n|---|---|---|---|---|\n")
	for _, i := range budget.Inputs() {
		b, most := budget.Of(i), largest[i]
		fmt.Fprintf(&table, "| %s |", i)
		for n, v := range [][2]int64{{b.Bytes, most.Bytes}, {b.Values, most.Values}, {b.Objects, most.Objects}, {b.Files, most.Files}} {
			fmt.Fprintf(&table, " %s |", cell(v[0], v[1], n == 0))
			if 4*v[1] > v[0] && v[0] > 0 && (i != budget.Object || n > 0) {
				t.Errorf("%s: the largest that was seen has %d, more than a quarter of the budget of %d", i, v[1], v[0])
			}
		}
		table.WriteString("\n")
	}
	page, err := os.ReadFile(filepath.Join("..", "docs", "reference", "limits.md"))
	noError(t, err)
	if corpustest.Whole(t) && !strings.Contains(string(page), table.String()) {
		t.Errorf("docs/reference/limits.md does not have this table:\n%s", table.String())
	}
}

// cell returns a budget, and the largest that was seen if there is one.
func cell(limit, most int64, bytes bool) string {
	text := func(n int64) string {
		switch {
		case !bytes:
			return thousands(n)
		case n >= 1<<30 && n%(1<<30) == 0:
			return fmt.Sprintf("%d GiB", n>>30)
		case n >= 1<<20 && n%(1<<20) == 0:
			return fmt.Sprintf("%d MiB", n>>20)
		}
		return fmt.Sprintf("%.2f MB", float64(n)/1e6)
	}
	switch {
	case limit == 0:
		return ""
	case most == 0:
		return text(limit)
	}
	return text(limit) + " (" + text(most) + ")"
}

func thousands(n int64) string {
	s := fmt.Sprint(n)
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
