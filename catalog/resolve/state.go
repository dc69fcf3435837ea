// Package resolve predicts what the resolver of OLM v0 installs in a namespace, step by step until nothing changes.
//
// A [State] is the namespace as OLM sees it: catalogs, Subscriptions and installed ClusterServiceVersions.
// [State.Install] adds a Subscription. [ReadObjects] finds such objects in manifests. [Run] returns a [Result], in
// which each [Step] is an InstallPlan, and a [Failure] has OLM's own words. [PathOf] lists the updates of one package.
//
// The package follows operator-lifecycle-manager v0.46.0, pkg/controller/registry/resolver. OLM's answer can depend on
// chance, because it iterates over Go maps; then Run returns every answer that it found.
package resolve

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// State is what the resolver sees of one namespace.
type State struct {
	Namespace       string
	GlobalNamespace string // where catalogs serve all namespaces
	OperatorGroups  int    // OLM resolves only with exactly one
	ExcludeGlobal   bool   // the OperatorGroup excludes global catalogs
	FailForward     bool   // the OperatorGroup has the upgradeStrategy TechPreviewUnsafeFailForward
	Disputed        string // why nobody knows what OLM does, such as two roots that differ about its objects

	Catalogs []Source
	// Unknown are catalogs without known content. Subscriptions to them stay, and what may depend on them is a warning.
	Unknown       []Source
	Subscriptions []Subscription
	CSVs          []CSV
}

func (s *State) sees(c Source) bool {
	return c.Namespace == s.Namespace || c.Namespace == s.GlobalNamespace && !s.ExcludeGlobal
}

// Hidden returns the catalogs without known content that the namespace sees, as NAMESPACE/NAME.
func (s *State) Hidden() []string {
	return lists.Map(lists.Filter(s.Unknown, s.sees), func(c Source) string { return c.Namespace + "/" + c.Name })
}

// unknown returns why nobody knows what a Subscription can choose from, or "".
func (s *State) unknown(sub *Subscription) string {
	if s.Disputed != "" {
		return s.Disputed
	}
	if s.hides(sub) {
		return fmt.Sprintf("the content of CatalogSource %s/%s is not known", sub.SourceNamespace, sub.Source)
	}
	for _, c := range s.Catalogs {
		if c.Same(sub.from()) && c.Catalog != nil {
			if err := c.Catalog.Missing(sub.Package); err != nil {
				return fmt.Sprintf("a release of package %s cannot be read: %v", sub.Package, err)
			}
		}
	}
	return ""
}

// hides reports whether nobody knows what the catalog of a Subscription has.
func (s *State) hides(sub *Subscription) bool { return slices.ContainsFunc(s.Unknown, sub.from().Same) }

// Package returns a package of one of the catalogs, or nil.
func (s *State) Package(source, sourceNamespace, name string) *catalog.Package {
	named := Source{Name: source, Namespace: sourceNamespace}
	for _, c := range s.Catalogs {
		if c.Same(named) && c.Catalog != nil && c.Catalog.Packages[name] != nil {
			return c.Catalog.Packages[name]
		}
	}
	return nil
}

// Source is a CatalogSource.
type Source struct {
	Name, Namespace string
	Priority        int
	Image           string // of a CatalogSource in a tree; may be empty
	Catalog         *catalog.Catalog
	Prepared        *Prepared // of Catalog, for several calls of Run; may be nil
	Unavailable     bool      // OLM has no connection to it: its pod does not run, or opm refuses its content
	Fault           string    // why it is unavailable, as far as its CatalogSource says so
	Connection      string    // the last state of OLM's connection that the status has, if nobody answers
}

// Same reports whether two catalogs are the same CatalogSource.
func (s Source) Same(other Source) bool {
	return s.Name == other.Name && s.Namespace == other.Namespace
}

// Subscription is a Subscription of the namespace, with its status.
type Subscription struct {
	catalog.Place   `json:"-"`
	Name            string `json:"name"`
	Package         string `json:"package"`
	Channel         string `json:"channel,omitempty"`
	Source          string `json:"source"`
	SourceNamespace string `json:"sourceNamespace"`
	StartingCSV     string `json:"startingCSV,omitempty"`

	Manual       bool   `json:"-"` // somebody approves its InstallPlans
	InstalledCSV string `json:"-"`
	CurrentCSV   string `json:"-"`

	plan     v1alpha1.InstallPlanPhase // of its InstallPlan, as far as the objects say it
	planName string
	planned  string              // the only CSV that it may move to: such an InstallPlan waits for approval
	hindered string              // what OLM says about what hinders that
	policy   *olm.OperatorPolicy // that manages it; nil if there is none
}

func (s *Subscription) from() Source { return Source{Name: s.Source, Namespace: s.SourceNamespace} }

// CSV is a ClusterServiceVersion of the namespace.
type CSV struct {
	catalog.Place
	Name     string
	Version  string // spec.version
	Replaces string // spec.replaces
	Phase    string // status.phase
	Copied   bool

	// Annotated says that the CSV has its Properties in an annotation. Else its APIs count.
	Annotated       bool
	Properties      []catalog.Property
	Owned, Required []catalog.GVK

	fault error // why OLM cannot read it
}

// Installed returns the CSV that OLM makes of a bundle, as far as the resolver sees it.
func Installed(b *catalog.Bundle, pkg string) CSV {
	c := CSV{Name: b.Name, Phase: "Succeeded", Annotated: true, Properties: propertiesOf(b, pkg)}
	if v, ok := b.Version(); ok {
		c.Version = v.String()
	}
	return c
}

// PropertiesAnnotation returns operatorframework.io/properties of the CSV that OLM makes of a bundle (OLM:
// resolver/projection/properties.go).
func PropertiesAnnotation(b *catalog.Bundle, pkg string) string {
	data, _ := json.Marshal(map[string]any{"properties": propertiesOf(b, pkg)})
	return string(data)
}

const existing = "@existing" // the name of OLM's catalog of what is installed

type sourceKey struct{ name, namespace string }

func (k sourceKey) String() string { return k.name + "/" + k.namespace }
func (k sourceKey) virtual() bool  { return k.name == existing }

// Install adds a Subscription, as a person would create it: PACKAGE[@RANGE][:CHANNEL]. Its catalog is the first with
// the package, in OLM's order. With a range, startingCSV is the entry nearest the head whose version is in it.
func (s *State) Install(what string) error {
	if err := CheckInstall(what); err != nil {
		return err
	}
	pkg, channel, _ := strings.Cut(what, ":")
	pkg, versions, ranged := strings.Cut(pkg, "@")
	if slices.ContainsFunc(s.Subscriptions, func(o Subscription) bool { return o.Name == pkg || o.Package == pkg }) {
		return fmt.Errorf("namespace %s has a Subscription for package %s already", s.Namespace, pkg)
	}
	served := s.Clone() // a catalog that opm refuses still says what its packages are
	served.Catalogs = slices.Clone(s.Catalogs)
	for i := range served.Catalogs {
		served.Catalogs[i].Unavailable = served.Catalogs[i].Catalog == nil
	}
	w := newNamespaceCatalogs(served)
	entries, err := w.find(pkg, channel)
	if err != nil {
		return err
	}
	sub := Subscription{Name: pkg, Package: pkg, Channel: channel, Source: entries[0].source.name,
		SourceNamespace: entries[0].source.namespace}
	if channel == "" {
		for _, e := range entries {
			if e.defaultChannel {
				sub.Channel = e.channel // as the consoles of clusters write it
			}
		}
	}
	if ranged {
		if sub.StartingCSV, err = startingCSV(entries, sub.Channel, versions); err != nil {
			return fmt.Errorf("package %s: %w", pkg, err)
		}
	}
	s.Subscriptions = append(s.Subscriptions, sub)
	return nil
}

// find returns the entries of a package in the preferred catalog that has it.
func (w *namespaceCatalogs) find(pkg, channel string) ([]*entry, error) {
	var all, known []string
	for _, c := range w.sorted(&snapshot{}, sourceKey{}) {
		entries := lists.Filter(c.entries, func(e *entry) bool { return e.pkg == pkg })
		for _, e := range c.entries {
			all = lists.Add(all, e.pkg)
		}
		if len(entries) == 0 {
			continue
		}
		if channel != "" && !slices.ContainsFunc(entries, func(e *entry) bool { return e.channel == channel }) {
			for _, e := range entries {
				known = lists.Add(known, e.channel)
			}
			continue
		}
		return entries, nil
	}
	if len(known) > 0 {
		return nil, fmt.Errorf("package %s has no channel %s; there are %s", pkg, channel, text.FirstOf(10, known))
	}
	hint := text.DidYouMean(pkg, all)
	if len(all) == 0 {
		hint = "pass the content of a catalog"
	}
	err := fmt.Errorf("no catalog that namespace %s sees has package %s", w.namespace, pkg)
	return nil, manifest.WithHint(err, hint)
}

// CheckInstall returns an error for what is not PACKAGE[@RANGE][:CHANNEL].
func CheckInstall(what string) error {
	pkg, _, _ := strings.Cut(what, ":")
	pkg, versions, ranged := strings.Cut(pkg, "@")
	if pkg == "" {
		return fmt.Errorf("%q names no package", what)
	}
	if _, err := semver.ParseRange(versions); ranged && err != nil {
		return fmt.Errorf("%q is not a range of versions", versions)
	}
	return nil
}

func startingCSV(entries []*entry, channel, versions string) (string, error) {
	r, err := semver.ParseRange(versions)
	if err != nil {
		return "", err
	}
	sorted, err := sortSubscribed(lists.Filter(entries, func(e *entry) bool {
		return channel == "" || e.channel == channel
	}))
	if err != nil {
		return "", err
	}
	var known []string
	for _, e := range sorted {
		if e.version == nil {
			continue
		}
		if r(*e.version) {
			return e.name, nil
		}
		known = append(known, e.version.String())
	}
	if len(known) == 0 {
		return "", errors.New("no entry has a version")
	}
	return "", fmt.Errorf("no version of channel %s is in the range %s; there are %s", channel, versions,
		text.FirstOf(10, known))
}
