package pin

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/cmd/internal/pin/admission"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
)

// LockName is the name of the file in a pin's directory that says what is approved and what may be installed.
const LockName = "pin.yaml"

// LockKind is the kind of that file.
const LockKind = "CatalogPin"

// Lock is what a pin keeps from one run to the next.
type Lock struct {
	APIVersion string              `json:"apiVersion"`
	Kind       string              `json:"kind"`
	Catalogs   []LockedCatalog     `json:"catalogs"`
	Operators  []Locked            `json:"operators"`
	Admission  *admission.Policies `json:"admission,omitempty"`
}

// LockedCatalog is a catalog and its pinned one: NAMESPACE/NAME of a CatalogSource, or the name of a ClusterCatalog.
type LockedCatalog struct {
	Source string `json:"source"`
	Name   string `json:"name"`
	Image  string `json:"image,omitempty"` // of the pinned catalog, by digest
	// Content is the digest of the files that Image was given for.
	Content string `json:"content,omitempty"`
}

// Locked is an operator of a pin: of a Subscription, of a ClusterExtension, or a dependency.
type Locked struct {
	Namespace        string   `json:"namespace,omitempty"` // of the Subscription, or of the dependency
	Subscription     string   `json:"subscription,omitempty"`
	ClusterExtension string   `json:"clusterExtension,omitempty"`
	Catalog          string   `json:"catalog"`
	Package          string   `json:"package"`
	Channel          string   `json:"channel,omitempty"`
	Approved         string   `json:"approved"`
	ApprovedBy       string   `json:"approvedBy,omitempty"` // the field in Git; empty: this file
	RequiredBy       string   `json:"requiredBy,omitempty"` // of a dependency
	Left             bool     `json:"left,omitempty"`       // a dependency that nothing requires any more
	Installed        []string `json:"installed,omitempty"`  // other releases that clusters may have
}

func (o *Locked) pkg() Package { return Package{Source: sourceOf(o.Catalog), Name: o.Package} }

const lockHead = `# olmgen catalog pin writes and reads this file. Commit it.
# approved: the release that the pinned catalogs lead to. installed: other releases that clusters may have.
`

// ReadLock reads the lock of a directory; nil if there is none. One that olmgen has written there must be there.
func ReadLock(dir string) (*Lock, error) {
	name := filepath.Join(dir, LockName)
	data, err := whole.ReadFile(name, budget.RenderConfig)
	if errors.Is(err, fs.ErrNotExist) {
		if written, err := output.Recorded(dir); err != nil || !slices.Contains(written, LockName) {
			return nil, err
		}
		return nil, refuseLock(name, "it is gone, and %s says that olmgen wrote it", output.LockName)
	}
	if err != nil {
		return nil, err
	}
	return parseLock(name, data)
}

func parseLock(name string, data []byte) (*Lock, error) {
	b, l := budget.Of(budget.RenderConfig), &Lock{}
	form := manifest.Form{APIVersion: config.APIVersion, Kind: LockKind, What: "a " + LockKind, Start: lockTip,
		Second: lockTip, Hint: func(string) string { return lockTip }}
	limits := manifest.Limits{FileBytes: budget.Int(b.Bytes), ObjectBytes: -1, Nodes: budget.Int(b.Values)}
	if _, err := form.Read(filepath.ToSlash(name), data, limits, l); err != nil {
		return nil, err
	}
	return l, l.check(name)
}

// lockTip is what to do about a lock that cannot be read.
const lockTip = "restore it from Git; without it, nothing is known of what clusters have"

func refuseLock(name, format string, args ...any) error {
	return &manifest.Error{File: filepath.ToSlash(name), Msg: fmt.Sprintf(format, args...), Tip: lockTip}
}

// check refuses a catalog whose name none can have, an operator that lacks a field, and one that is there twice.
func (l *Lock) check(name string) error {
	for i, c := range l.Catalogs {
		if err := cmp.Or(sourceOf(c.Source).check(), sourceOf(c.Name).check()); err != nil {
			return refuseLock(name, "catalogs[%d]: %s", i, err)
		}
	}
	seen := map[string]bool{}
	for i, o := range l.Operators {
		key := fmt.Sprintf("%q %q %q %q", o.Namespace, o.ClusterExtension, o.Catalog, o.Package)
		switch {
		case o.Catalog == "" || o.Package == "" || o.Approved == "",
			(o.Namespace == "") == (o.ClusterExtension == ""):
			return refuseLock(name, "operators[%d] needs catalog, package, approved, and either namespace or "+
				"clusterExtension", i)
		case seen[key]:
			return refuseLock(name, "operators[%d] is there twice", i)
		}
		seen[key] = true
	}
	return nil
}

func (l *Lock) bytes() ([]byte, error) {
	l.APIVersion, l.Kind = config.APIVersion, LockKind
	slices.SortFunc(l.Operators, func(a, b Locked) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.ClusterExtension, b.ClusterExtension),
			cmp.Compare(a.Catalog, b.Catalog), cmp.Compare(a.Package, b.Package))
	})
	text, err := yaml.Marshal(l)
	return append([]byte(lockHead), text...), err
}

// operators returns the operators. l may be nil.
func (l *Lock) operators() iter.Seq[*Locked] {
	return func(yield func(*Locked) bool) {
		for i := 0; l != nil && i < len(l.Operators); i++ {
			if !yield(&l.Operators[i]) {
				return
			}
		}
	}
}

// keepsNames reports whether the pinned catalogs have the names of their sources; ok: l has catalogs. l may be nil.
func (l *Lock) keepsNames() (keeps, ok bool) {
	if l == nil || len(l.Catalogs) == 0 {
		return false, false
	}
	return l.Catalogs[0].Name == l.Catalogs[0].Source, true
}

// follow returns a lock in which the operators of a namespace are of the catalogs that its Subscriptions name now: who
// changes spec.source of a Subscription has the same operator in the cluster, and its dependencies. l may be nil.
func (l *Lock) follow(namespaces []*Namespace) *Lock {
	if l == nil {
		return nil
	}
	moved := *l
	moved.Operators = slices.Clone(l.Operators)
	for _, n := range namespaces {
		state, to := n.State, map[string]Source{} // by the catalog that is named no more
		for j := range state.Subscriptions {
			p := PackageOf(&state.Subscriptions[j])
			if l.find(state.Namespace, p) != nil {
				continue
			}
			for _, o := range l.Operators {
				if o.Namespace == state.Namespace && o.Package == p.Name && o.Subscription != "" {
					to[o.Catalog] = p.Source
				}
			}
		}
		for j := range moved.Operators {
			o := &moved.Operators[j]
			source, ok := to[o.Catalog]
			p := Package{Source: source, Name: o.Package}
			if !ok || o.Namespace != state.Namespace || content(state, p) == nil {
				continue
			}
			asked := slices.ContainsFunc(state.Subscriptions, func(s resolve.Subscription) bool {
				return PackageOf(&s) == o.pkg()
			})
			if !asked && moved.find(state.Namespace, p) == nil {
				o.Catalog = source.String()
			}
		}
	}
	return &moved
}

// of returns what a lock, which may be nil, has of an operator. A ClusterExtension may take it from any catalog.
func (l *Lock) of(o *Locked) []*Locked {
	return lists.Filter(slices.Collect(l.operators()), func(x *Locked) bool {
		return x.Namespace == o.Namespace && x.ClusterExtension == o.ClusterExtension && x.Package == o.Package &&
			(x.Catalog == o.Catalog || o.ClusterExtension != "")
	})
}

// first returns the first of these, or nil.
func (l *Lock) first(o *Locked) *Locked {
	return lists.Find(l.of(o), func(*Locked) bool { return true })
}

// find returns the operator of a package in a namespace, or nil. l may be nil.
func (l *Lock) find(namespace string, p Package) *Locked {
	return l.first(&Locked{Namespace: namespace, Catalog: p.Source.String(), Package: p.Name})
}

// catalog returns a pinned catalog by its name; an empty one if there is none. l may be nil.
func (l *Lock) catalog(name string) LockedCatalog {
	if l == nil {
		return LockedCatalog{}
	}
	return lists.Find(l.Catalogs, func(c LockedCatalog) bool { return c.Name == name })
}

// Subscribes reports whether a Subscription is one of the pin.
func (l *Lock) Subscribes(namespace, name string) bool {
	return slices.ContainsFunc(l.Operators, func(o Locked) bool {
		return o.Namespace == namespace && o.Subscription == name && name != ""
	})
}

// Serving has the content of a catalog, NAME=CONTENT, serve the pinned one too: a Subscription that uses it asks for
// its source. Of ClusterCatalogs it has those that named reports: OLM v1 looks into all that are there. l may be nil.
func (l *Lock) Serving(values []string, named func(clusterCatalog string) bool) []string {
	if l == nil {
		return values
	}
	out := values
	for _, c := range l.Catalogs {
		for _, value := range values {
			content, ok := strings.CutPrefix(value, c.Source+"=")
			if ok && c.Name != c.Source && (strings.Contains(c.Name, "/") || named(c.Name)) {
				out = append(slices.Clip(out), c.Name+"="+content)
			}
		}
	}
	return out
}

// Original returns the catalog that a pinned catalog is made of; s itself if it is none.
func (l *Lock) Original(s Source) Source {
	if c := l.catalog(s.String()); c.Name != "" {
		return sourceOf(c.Source)
	}
	return s
}
