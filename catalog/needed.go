package catalog

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/constraints"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/olm"
)

// needed is what of directories of bundles is asked for: packages, the providers of APIs, or anything.
type needed struct {
	packages map[string]bool
	apis     []GVK
	any      bool
}

// grow adds what those of a catalog that are needed require. It returns the APIs that it adds, and whether it adds
// anything.
func (n *needed) grow(c *Catalog) (apis []GVK, more bool) {
	packages, known := len(n.packages), len(n.apis)
	for _, p := range c.Packages {
		for _, b := range p.Bundles {
			if n.packages[p.Name] || b.providesAny(n.apis) {
				n.packages[p.Name] = true // its other releases are needed too
				break
			}
		}
		if n.packages[p.Name] {
			for _, b := range p.Bundles {
				for _, property := range b.Properties {
					n.add(property)
				}
			}
		}
	}
	return n.apis[known:], n.any || len(n.packages) > packages || len(n.apis) > known
}

// providesAny reports whether a bundle provides one of the APIs.
func (b *Bundle) providesAny(apis []GVK) bool {
	return len(apis) > 0 && slices.ContainsFunc(b.Properties, func(p Property) bool {
		var provided GVK
		return p.Type == olm.PropertyGVK && json.Unmarshal(p.Value, &provided) == nil && slices.Contains(apis, provided)
	})
}

// add adds what a property requires.
func (n *needed) add(p Property) {
	var c constraints.Constraint
	var err error
	switch p.Type {
	case olm.PropertyPackageRequired:
		err = json.Unmarshal(p.Value, &c.Package)
	case olm.PropertyGVKRequired:
		err = json.Unmarshal(p.Value, &c.GVK)
	case olm.PropertyConstraint:
		c, err = constraints.Parse(p.Value)
	default:
		n.any = n.any || strings.HasSuffix(p.Type, ".required") // of a label, which any may have
	}
	n.any = n.any || err != nil
	n.constraint(c)
}

func (n *needed) constraint(c constraints.Constraint) {
	if c.Package != nil {
		n.packages[c.Package.PackageName] = true
	}
	if c.GVK != nil && !slices.Contains(n.apis, GVK(*c.GVK)) {
		n.apis = append(n.apis, GVK(*c.GVK))
	}
	n.any = n.any || c.Cel != nil || c.GVK != nil && c.GVK.Group == ""
	for _, of := range []*constraints.CompoundConstraint{c.All, c.Any, c.Not} {
		if of != nil {
			for _, one := range of.Constraints {
				n.constraint(one)
			}
		}
	}
}

// mayProvide reports whether a file of a bundle has the group of one of the APIs behind the word "group", and its kind:
// CRDs, APIServices and properties do. Only what is read whole says whether it provides it.
func (f *folder) mayProvide(apis []GVK) (may bool) {
	names := func(data []byte, a GVK) bool {
		for at := 0; ; at += len(a.Group) {
			i := bytes.Index(data[at:], []byte(a.Group))
			if i < 0 {
				return false
			}
			if at += i; bytes.Contains(data[max(0, at-32):at], []byte("group")) {
				return bytes.Contains(data, []byte(a.Kind))
			}
		}
	}
	var text bytes.Buffer
	most := budget.Of(budget.CatalogDoc).Bytes
	for _, dir := range f.bundles {
		if may || len(apis) == 0 {
			break
		}
		_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				return nil
			}
			text.Reset()
			if err == nil && e.Type().IsRegular() {
				var file *os.File
				if file, err = os.Open(path); err == nil {
					_, err = text.ReadFrom(io.LimitReader(file, most))
					file.Close()
				}
			}
			// What is not read here is read with its bundle, and says then why it cannot be.
			if may = err != nil || !e.Type().IsRegular() || int64(text.Len()) == most ||
				slices.ContainsFunc(apis, func(a GVK) bool { return names(text.Bytes(), a) }); may {
				return fs.SkipAll
			}
			return nil
		})
	}
	return may
}
