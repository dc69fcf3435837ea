// Package pin makes the directory of olmgen catalog pin: catalogs that hold what Git approved and nothing newer, the
// lock that says what is approved, and what a cluster needs to use them.
//
// [Run] reads what one cluster asks for and what an earlier run left, finds what is approved, has [Make] make the
// catalogs, and returns the files. Make collects for each catalog the approved releases, the releases on the way to
// them from what may be installed, and the dependencies. Before it returns, it plays each namespace and
// ClusterExtension on the new catalogs, as a new cluster and from each release that may be installed. OLM must come to
// rest at what is approved, and install nothing else on the way.
package pin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
)

// Source names a catalog: a CatalogSource, or without Namespace a ClusterCatalog.
type Source struct{ Namespace, Name string }

func (s Source) String() string {
	if s.Namespace == "" {
		return s.Name
	}
	return s.Namespace + "/" + s.Name
}

func sourceOf(text string) Source {
	namespace, name, ok := strings.Cut(text, "/")
	if !ok {
		return Source{Name: text}
	}
	return Source{Namespace: namespace, Name: name}
}

// check returns what is wrong with the name, by the rules of the API server for a namespace and its object: it reaches
// file names, a Dockerfile and patches.
func (s Source) check() error {
	problems := validation.IsDNS1123Subdomain(s.Name)
	if s.Namespace != "" {
		problems = append(problems, validation.IsDNS1123Label(s.Namespace)...)
	}
	if len(problems) > 0 {
		return fmt.Errorf("no catalog has the name %q: %s", s, text.Reason(problems))
	}
	return nil
}

// Package is a package of a catalog.
type Package struct {
	Source Source
	Name   string
}

// Compare orders packages by their catalogs, then by name.
func (p Package) Compare(o Package) int {
	return cmp.Or(cmp.Compare(p.Source.Namespace, o.Source.Namespace), cmp.Compare(p.Source.Name, o.Source.Name),
		cmp.Compare(p.Name, o.Name))
}

// Release is a release of a package. For a Subscription it is one of a channel.
type Release struct {
	Channel string
	Bundle  string // name of the bundle, which is that of its ClusterServiceVersion
}

// Options say what is pinned, and what changes from one pin to the next.
type Options struct {
	Dir  string // of the pin
	Lock *Lock  // of the directory; nil if there is none

	// What asks for operators: a tree, or without one a RenderConfig. Name names it in messages.
	Name      string
	Tree      *tree.Tree
	Namespace string // of objects of the tree that name none
	Catalogs  predict.Catalogs
	Config    *config.Config
	Render    config.Options

	Packages  []string          // that are pinned, with their dependencies; none: all
	Upgrade   map[string]string // a version, or "" for what resolves now, by package
	Forget    []string          // versions or names that no cluster has any more, [PACKAGE@]VERSION
	KeepNames *bool             // the pinned catalogs have the names of their sources; nil: as the lock has it
	Images    map[string]string // of the pinned catalogs, by digest; the key "" is the only one
	Admission AdmissionOptions
}

// Pin is a pin and its files.
type Pin struct {
	Catalogs []Catalog // sorted by Source
	Lock     *Lock
	Notes    []string
	Files    output.Files
}

// UnknownError are objects of a tree of which nobody can say what they ask for.
type UnknownError []predict.Unknown

func (e UnknownError) Error() string {
	return text.Count(len(e), "object") + " not known: nothing is pinned"
}

// OfCatalog reports whether one of them is not known because of its catalog.
func (e UnknownError) OfCatalog() bool {
	return slices.ContainsFunc(e, func(u predict.Unknown) bool { return u.OfCatalog })
}

// RefusedError is why several Subscriptions, ClusterExtensions or namespaces cannot be pinned.
type RefusedError []error

func (e RefusedError) Error() string {
	return text.Count(len(e), "object") + " cannot be pinned: nothing is pinned"
}

// Hint returns the next step.
func (e RefusedError) Hint() string { return pinsOthers }

// Run makes a pin. The error is a *manifest.Error with the place of what is wrong in Git, an UnknownError, or about the
// options. The notes are there even then.
func Run(ctx context.Context, o Options) (*Pin, error) {
	m := &maker{options: o, old: o.Lock, Pin: &Pin{}, forget: map[string]bool{}}
	err := m.readKept(ctx)
	if err != nil {
		return m.Pin, err
	}
	if m.input, err = m.read(ctx); err == nil {
		err = m.input.checkNames()
	}
	if err != nil {
		return m.Pin, err
	}
	m.old = m.old.follow(m.input.Namespaces)
	for _, step := range []func() error{m.checkAdmission, m.chooseNames, m.checkPackages, m.checkUpgrades,
		m.checkForget, func() error { return m.make(ctx) }, m.checkSelectors, m.checkForgotten,
		m.checkLeft} {
		if err := step(); err != nil {
			return m.Pin, err
		}
	}
	kept := m.Notes
	m.Notes = slices.Concat(kept, m.sayLeft(), m.sayLeftOut(), m.sayImages(), m.sayMoves(), m.sayDependencies(),
		m.sayPolicies(), m.sayManual())
	if err := m.makeFiles(); err != nil {
		m.Notes = kept // nothing has moved
		return m.Pin, err
	}
	return m.Pin, m.checkForeign()
}

type maker struct {
	options Options
	input   *Input
	old     *Lock                       // of the earlier run; nil if there is none
	kept    map[Source]*catalog.Catalog // the pinned catalogs of the earlier run, by their source
	written []string                    // the files of the directory that olmgen wrote
	cluster output.Files                // those of them that are for the cluster

	left      []left
	forget    map[string]bool // names of releases
	keepNames bool
	*Pin
}

func (m *maker) read(ctx context.Context) (in *Input, err error) {
	if m.options.Tree == nil {
		if in, err = m.fromConfig(ctx); err == nil && in.empty() {
			err = fmt.Errorf("%s has no operators", m.options.Name)
		}
		return in, err
	}
	in, unknown, err := m.fromTree(ctx)
	switch {
	case err != nil:
		return nil, err
	case in.empty() && len(m.left) > 0:
		return nil, manifest.WithHint(errors.New(m.sayLeft()[0]), "give the content of its catalog, or the name "+
			"of another package")
	case len(unknown) > 0:
		return nil, UnknownError(unknown)
	case in.empty():
		return nil, manifest.WithHint(fmt.Errorf("%s: no Subscription, OperatorPolicy "+
			"or ClusterExtension", m.options.Name), "name the files of one cluster, or a RenderConfig with -f")
	}
	return in, nil
}

// make makes the pinned catalogs, and completes their lock by what the old one says of clusters.
func (m *maker) make(ctx context.Context) error {
	m.approve()
	made, err := Make(ctx, m.input, m.rename)
	if err != nil {
		return err
	}
	m.Catalogs, m.Lock = made.Catalogs, made.Lock
	for i := range m.Lock.Operators {
		m.keepInstalled(&m.Lock.Operators[i])
	}
	return nil
}

// chooseNames finds how the pinned catalogs are named: as in the lock. Clusters use these names.
func (m *maker) chooseNames() error {
	keeps, ok := m.old.keepsNames()
	given := m.options.KeepNames
	if m.keepNames = keeps; !ok {
		m.keepNames = given != nil && *given
	}
	if given == nil || *given == m.keepNames {
		return nil
	}
	are, name := "names of their own", m.old.Catalogs[0].Name
	if keeps {
		are = "the names of their sources"
	}
	return manifest.WithHint(fmt.Errorf("the catalogs of this pin have %s, such as %s, and clusters use them", are,
		name), "leave the names as they are, or pin into another directory")
}

func (m *maker) rename(s Source) Source {
	if !m.keepNames {
		s.Name += "-pinned"
	}
	return s
}

// to returns the pinned catalog of a catalog; the catalog itself if nothing of it is pinned.
func (p *Pin) to(s Source) Source {
	if c := pinnedOf(p.Catalogs, s); c != nil {
		return c.To
	}
	return s
}

// Summary returns one line for each pinned package.
func (p *Pin) Summary() string {
	var out strings.Builder
	for _, c := range p.Catalogs {
		for _, p := range c.Packages {
			for _, ch := range p.Channels {
				names := lists.Map(ch.Entries, func(e Entry) string { return e.Name })
				fmt.Fprintln(&out, text.Printable(fmt.Sprintf("%s: %s, channel %s: %s", c.To, p.Name, ch.Name,
					strings.Join(names, " <- "))))
			}
		}
	}
	return out.String()
}
