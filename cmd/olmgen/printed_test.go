package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/cmd/internal/adopt"
	"github.com/olmgen/olmgen/cmd/internal/audit"
	"github.com/olmgen/olmgen/cmd/internal/imagelist"
	"github.com/olmgen/olmgen/cmd/internal/pin"
	"github.com/olmgen/olmgen/cmd/internal/review"
	updating "github.com/olmgen/olmgen/cmd/internal/update"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/compare/history"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/print"
)

// printedTypes are the types with a method Document or Formats, by which reports are printed.
var printedTypes = []any{&resolve.Report{}, &resolve.Path{}, &permissions.Report{}, &print.List{}, &compare.Report{},
	&history.History{}, &compare.Reports{}, &predict.Report{}, &imagelist.List{}, &review.CatalogDiff{},
	&updating.Report{}, &audit.Report{}, &adopt.Migrations{}}

const hostileLine = "a\x1b[31mb\x7fc\u0085d\u009be\u200bf\u202eg\u2028h\u2066i\nhint: evil\nolmgen: evil\n::error::evil\r\tj"

// fill sets all strings of a value that other packages can set, and makes lists, maps and pointers for them.
func fill(v reflect.Value, depth int) {
	if depth > 7 || !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.String:
		if v.SetString(hostileLine); v.Type() == reflect.TypeFor[findings.Severity]() { // olmgen's own
			v.SetString(string(findings.Error))
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field, depth+1)
		}
	case reflect.Slice:
		n := 1
		if history := strings.HasPrefix(v.Type().Elem().String(), "history."); history { // a cell for each topic
			n = 20
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(v.Index(i), depth+1)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth+1)
		fill(value, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	}
}

// TestPrintedTypes puts hostile text into every string of every type that is printed: no output controls a terminal,
// the direction of text or a log.
func TestPrintedTypes(t *testing.T) {
	formats := []findings.Format{findings.Text, findings.Markdown, findings.HTML, findings.JSON,
		findings.SARIF, findings.CSV, findings.Tabular, findings.SVG}
	for _, zero := range printedTypes {
		v := reflect.New(reflect.TypeOf(zero).Elem())
		fill(v.Elem(), 0)
		if r, ok := reflect.TypeAssert[*updating.Report](v); ok {
			r.Patch = "" // a part of files as they are, for other programs
		}
		printed := 0
		for _, format := range formats {
			var out bytes.Buffer
			if err := func() (err error) {
				defer func() {
					if r := recover(); r != nil {
						err = fmt.Errorf("panic: %v", r)
					}
				}()
				return print.Report(&out, v.Interface(), format)
			}(); err != nil {
				if !strings.Contains(err.Error(), "has no format") {
					t.Errorf("%T: %s: %v", zero, format, err)
				}
				continue
			}
			printed++
			checkPrinted(t, fmt.Sprintf("%T: %s", zero, format), out.String(), format)
		}
		if printed == 0 {
			t.Errorf("%T is not printed", zero)
		}
	}
	p := &pin.Pin{Catalogs: []pin.Catalog{{Packages: []pin.Content{{Channels: []*pin.Channel{{}}}}}}}
	fill(reflect.ValueOf(&p.Catalogs).Elem(), 0)
	checkPrinted(t, "pin", p.Summary(), findings.Text)
}

func checkPrinted(t *testing.T, what, out string, format findings.Format) {
	t.Helper()
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		for _, r := range line {
			if !unicode.IsPrint(r) && r != '\t' {
				t.Errorf("%s: %U in %.200q", what, r, line)
				break
			}
		}
		for _, start := range []string{"hint: ", "olmgen: ", "::"} {
			if strings.HasPrefix(line, start) && format != findings.CSV {
				t.Errorf("%s: %.200q", what, line)
			}
		}
	}
}

// TestPrintedTypesAreKnown looks for the methods by which reports are printed.
func TestPrintedTypesAreKnown(t *testing.T) {
	known := map[string]bool{"catalog.Bundle": true, "catalog.Package": true,
		"catalog.Channel": true, "catalog.Other": true, "update.patch": true} // documents of catalogs, and a file as it is
	for _, zero := range printedTypes {
		known[reflect.TypeOf(zero).Elem().String()] = true
	}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if _, none := os.Stat(filepath.Join(name, "go.mod")); none == nil && name != root {
			return fs.SkipDir // a module of its own
		}
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != "Document" && f.Name.Name != "Formats" {
				continue
			}
			of := f.Recv.List[0].Type
			if star, ok := of.(*ast.StarExpr); ok {
				of = star.X
			}
			if id, ok := of.(*ast.Ident); ok && !known[file.Name.Name+"."+id.Name] {
				t.Errorf("%s: %s.%s is printed, and no test fills it", name, file.Name.Name, id.Name)
			}
		}
		return nil
	})
	must(t, err)
}
