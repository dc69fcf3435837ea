// Package versions knows what the releases of OLM, OpenShift and Kubernetes take. Its facts are data (facts.yaml,
// kubetypes.txt); the CRDs of the releases and the types of Kubernetes prove them. No other package compares a release
// of OLM with another one.
package versions

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/blang/semver/v4"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// Product is what has releases.
type Product string

// The products of which facts are known.
const (
	OLM                Product = "OLM v0"
	OperatorController Product = "operator-controller" // OLM v1
	OpenShift          Product = "OpenShift"
	OPM                Product = "opm"
)

// Products are all products.
var Products = []Product{OLM, OperatorController, OpenShift, OPM}

// State is what a release does with a field or a kind, or how it has a feature gate.
type State string

// The states. Ignored is a field that the API server takes and nobody reads. Unknown is what could not be found out.
const (
	Absent   State = ""
	Required State = "required"
	Accepted State = "accepted"
	Ignored  State = "ignored"
	Enabled  State = "enabled"
	Disabled State = "disabled"
	Holds    State = "holds"
	Unknown  State = "unknown"
)

// Set is a feature set: a cluster has the CRDs of one of them.
type Set string

// The feature sets. Standard is what a cluster has unless its administrator decides otherwise.
const (
	Standard     Set = "standard"
	Experimental Set = "experimental"
)

// Sets are all feature sets.
var Sets = []Set{Standard, Experimental}

// Fact is what some releases do with a field of a kind, with the kind if Field is empty, or with a feature gate, or
// another behavior. Until is the first release of which it no longer holds. Without Since it holds from the oldest
// release on, without Until up to the newest one.
type Fact struct {
	Kind     string  `json:"kind,omitempty"`
	Field    string  `json:"field,omitempty"`
	Gate     string  `json:"gate,omitempty"`
	Behavior string  `json:"behavior,omitempty"`
	Of       Product `json:"of"`
	Since    string  `json:"since,omitempty"`
	Until    string  `json:"until,omitempty"`
	Set      Set     `json:"set,omitempty"` // empty: of all
	State    State   `json:"state"`
	Limit    int     `json:"limit,omitempty"` // the most items of a list
	Source   string  `json:"source"`

	since, until uint64 // inOrder
}

// topic is what a fact is about.
type topic struct{ kind, field, gate, behavior string }

func (f *Fact) topic() topic { return topic{f.Kind, f.Field, f.Gate, f.Behavior} }

// known are the releases of a product.
type known struct {
	Name   Product  `json:"name"`
	Prefix string   `json:"prefix"`
	Oldest string   `json:"oldest"`
	Newest string   `json:"newest"`
	Minors []string `json:"minors"` // empty: all of the major version from Oldest to Newest

	Experimental string `json:"experimental"` // the oldest release that has this set

	Kubernetes map[string]string `json:"kubernetes"` // that a release contains
	Same       map[string]string `json:"same"`       // releases that count as another one
}

//go:embed facts.yaml
var data []byte

type table struct {
	Releases []known `json:"releases"`
	Facts    []Fact  `json:"facts"`

	of map[Product][]Release
}

var facts = sync.OnceValue(func() (t table) {
	if err := yaml.UnmarshalStrict(data, &t); err != nil {
		panic("facts.yaml: " + err.Error()) // TestFacts
	}
	for i := range t.Facts {
		f := &t.Facts[i]
		f.until = math.MaxUint64
		if f.Since != "" {
			f.since = inOrder(number(f.Since))
		}
		if f.Until != "" {
			f.until = inOrder(number(f.Until))
		}
	}
	t.of = map[Product][]Release{}
	for _, k := range t.Releases {
		t.of[k.Name] = append(t.of[k.Name], k.releases()...)
	}
	return t
})

// inOrder returns a number that is greater for a newer release.
func inOrder(v semver.Version) uint64 { return v.Major<<40 | v.Minor<<20 | v.Patch }

// Facts returns all facts, in the order of the file.
func Facts() []Fact { return facts().Facts }

// Release is a minor release of a product, such as operator-controller v1.10.
type Release struct {
	Product      Product
	prefix       string
	major, minor uint64
	experimental bool
	kubernetes   uint64
}

// Kubernetes returns the minor version of Kubernetes 1 that the release contains; 0 if it contains none.
func (r Release) Kubernetes() uint64 { return r.kubernetes }

// Newest returns the newest release of a product.
func Newest(of Product) Release {
	list := Releases(of)
	return list[len(list)-1]
}

// String returns the product and the release.
func (r Release) String() string { return string(r.Product) + " " + r.Number() }

// Number returns the release without its product, such as v1.10.
func (r Release) Number() string { return fmt.Sprintf("%s%d.%d", r.prefix, r.major, r.minor) }

// Releases returns the releases of a product of which facts are known, the oldest first. The list is not the caller's
// own.
func Releases(of Product) []Release { return slices.Clip(facts().of[of]) }

func (k known) releases() (list []Release) {
	minors := k.Minors
	if len(minors) == 0 {
		first, last := number(k.Oldest), number(k.Newest)
		for minor := first.Minor; minor <= last.Minor; minor++ {
			minors = append(minors, fmt.Sprintf("%d.%d", first.Major, minor))
		}
	}
	for _, m := range minors {
		v := number(m)
		r := Release{Product: k.Name, prefix: k.Prefix, major: v.Major, minor: v.Minor}
		r.experimental = k.Experimental != "" && v.GE(number(k.Experimental))
		if contained := k.Kubernetes[m]; contained != "" {
			r.kubernetes = number(contained).Minor
		}
		list = append(list, r)
	}
	return list
}

// Parse reads a release of a product, such as v1.10, 1.10.0 or 4.19. It refuses a release of which no facts are known.
func Parse(of Product, text string) (Release, error) {
	list := Releases(of)
	oldest, newest := list[0], list[len(list)-1]
	v, err := semver.ParseTolerant(text)
	if err != nil {
		return Release{}, manifest.WithHint(fmt.Errorf("%q is not a release of %s", text, of),
			"write it as "+newest.Number())
	}
	if !strings.Contains(text, ".") {
		return Release{}, manifest.WithHint(fmt.Errorf("%q names no minor version of %s", text, of),
			"write it as "+newest.Number())
	}
	for _, r := range list {
		if r.major == v.Major && r.minor == v.Minor {
			return r, nil
		}
	}
	return Release{}, manifest.WithHint(fmt.Errorf("nothing is known of %s %s", of, text),
		fmt.Sprintf("%s to %s are known", oldest, newest.Number()))
}

// ParseOLM reads a release of OLM: v0.x is one of OLM v0, another number one of operator-controller.
func ParseOLM(text string) (Release, error) {
	switch v, err := semver.ParseTolerant(text); {
	case err != nil:
		return Release{}, manifest.WithHint(fmt.Errorf("%q is not a release of OLM", text),
			fmt.Sprintf("write it as %s for OLM v0, or as %s for OLM v1", Newest(OLM).Number(),
				Newest(OperatorController).Number()))
	case v.Major == 0:
		return Parse(OLM, text)
	}
	return Parse(OperatorController, text)
}

// Newer reports whether the release is newer than another version of its product, which may be unknown. Only the major
// and the minor number count, and a release counts as the one that is the same.
func (r Release) Newer(than semver.Version) bool {
	same := func(v semver.Version) semver.Version {
		v = semver.Version{Major: v.Major, Minor: v.Minor}
		for _, k := range facts().Releases {
			if other := k.Same[fmt.Sprintf("%d.%d", v.Major, v.Minor)]; k.Name == r.Product && other != "" {
				return number(other)
			}
		}
		return v
	}
	return same(semver.Version{Major: r.major, Minor: r.minor}).GT(same(than))
}

// Has reports whether the release has CRDs of a feature set.
func (r Release) Has(set Set) bool { return set == Standard || r.experimental }

func number(text string) semver.Version {
	v, err := semver.ParseTolerant(text)
	if err != nil {
		panic("facts.yaml: " + err.Error()) // TestFacts
	}
	return v
}

// State returns what the release does with a field of a kind, or with the kind if field is empty, and the fact that
// says so. A field of which there is no fact in any release must not be asked for: nothing is known of it.
func (r Release) State(kind, field string, set Set) (State, Fact) {
	return r.state(topic{kind: kind, field: field}, set)
}

// Gate returns how the release has a feature gate, if the administrator does not set it. It is State for gates.
func (r Release) Gate(name string, set Set) (State, Fact) { return r.state(topic{gate: name}, set) }

// Does returns the fact that the release behaves in a way; false if it does not. It is State for behaviors.
func (r Release) Does(behavior string) (Fact, bool) {
	state, fact := r.state(topic{behavior: behavior}, Standard)
	return fact, state != Absent
}

func (r Release) state(about topic, set Set) (State, Fact) {
	asked, release := false, inOrder(semver.Version{Major: r.major, Minor: r.minor})
	for i := range facts().Facts {
		f := &facts().Facts[i]
		if f.topic() != about {
			continue
		}
		asked = true
		if f.Of == r.Product && r.Has(set) && (f.Set == "" || f.Set == set) &&
			release >= f.since && release < f.until {
			return f.State, *f
		}
	}
	if !asked {
		panic(fmt.Sprintf("no fact is about %+v", about))
	}
	return Absent, Fact{}
}

// The behaviors that other packages speak of.
const (
	HashedRoles         = "names the ClusterRoles of OperatorGroups by a hash"
	HashedDeployments   = "hashes Deployments with the types of Kubernetes 1.34 or newer"
	RefusesServices     = "refuses bundles that serve APIs by APIServices"
	RefusesDependencies = "refuses bundles with dependencies"
)

// What the renderers of OLM v1 do.
const (
	InstallsConsoles      = "installs ConsolePlugins and NetworkPolicies of bundles"
	InstallsPodMonitors   = "installs PodMonitors of bundles"
	WritesAsIs            = "writes the objects of a bundle as they are (not as Helm templates)"
	Validates             = "validates bundles before it renders them"
	ValidatesNames        = "checks the names of Deployments and the definitions of webhooks"
	ValidatesWebhooks     = "checks conversion webhooks for their install modes and the rules of webhooks"
	KeepsOneReplicaSet    = "keeps one old ReplicaSet of a Deployment"
	ReadsNamespaces       = "lets an operator of all namespaces with namespaced permissions read the namespaces"
	OnlyPermittedAccounts = "makes no ServiceAccount for a Deployment without permissions"
	RenewsEarly           = "has cert-manager renew certificates a day before they end"
	LimitsWebhooks        = "limits webhooks to the target namespaces"
	ClearsMounts          = "removes what is mounted where the certificates of webhooks belong"
	DefaultsToOwn         = "gives an operator of OwnNamespace its own namespace by default"
	NeedsOwnNamespace     = "takes the install namespace as a target only with OwnNamespace"
	AnnotatesAny          = "adds the properties of a bundle to a CSV without annotations (it crashed)"
	TakesConfig           = "takes a deploymentConfig"
	MergesVolumes         = "replaces the volumes and mounts of a deploymentConfig by their names"
	RemovesAffinity       = "removes an affinity by an empty one in a deploymentConfig"
	AnnotatesNamespace    = "annotates pods with olm.operatorNamespace"
	ReadsAnnotation       = "reads the watched namespace from an annotation, " +
		"olm.operatorframework.io/watch-namespace, with the feature gate SingleOwnNamespaceInstallSupport"
)

// later has the kinds that not all releases install, and what those do that install them.
var later = map[string]string{"ConsolePlugin": InstallsConsoles, "NetworkPolicy": InstallsConsoles,
	"PodMonitor": InstallsPodMonitors}

// Installs reports whether a release of OLM installs the objects of a kind that a bundle ships. If it does not, and the
// newest one of its product does, it returns the source; of a kind that no release installs it knows nothing.
func (r Release) Installs(kind string) (ok bool, source string) {
	behavior := later[kind]
	if behavior == "" {
		return true, ""
	}
	_, ok = r.Does(behavior)
	if _, newest := Newest(r.Product).Does(behavior); ok || !newest {
		return true, ""
	}
	return false, SourceOf(r.Product, behavior)
}

// ParseController reads a release that has OLM v1, such as v1.10 of operator-controller or 4.20 of OpenShift.
func ParseController(text string) (Release, error) {
	if v, err := semver.ParseTolerant(text); err == nil && v.Major > 1 {
		return Parse(OpenShift, text)
	}
	return Parse(OperatorController, text)
}

// SourceOf returns the source of a behavior of a product, or of another product if this one never behaves so.
func SourceOf(of Product, behavior string) (source string) {
	for _, f := range Facts() {
		if f.Behavior == behavior && (source == "" || f.Of == of) {
			source = f.Source
		}
	}
	return source
}

// Since returns the release since which a product behaves in a way, such as v0.36.
func Since(of Product, behavior string) string {
	for _, f := range Facts() {
		if f.Of == of && f.Behavior == behavior {
			return f.Since
		}
	}
	panic("no fact is about " + behavior)
}

// The fields of ClusterExtensions that other packages speak of.
const (
	FieldAccount = "spec.serviceAccount"
	FieldConfig  = "spec.config"
)

// LastRequiring returns the newest release of a product whose ClusterExtensions require a field, such as v1.10; empty
// if no release does.
func LastRequiring(of Product, field string) (number string) {
	for _, s := range Spans(of, olm.KindClusterExtension, field, Standard) {
		if s.State == Required {
			number = s.To.Number()
		}
	}
	return number
}

// Span is a row of consecutive releases that do the same with a field or a kind.
type Span struct {
	From, To Release
	State    State
	Limit    int // how many items a list may have; 0 if there is no limit
}

// String returns the product and its releases.
func (s Span) String() string {
	if s.From == s.To {
		return s.From.String()
	}
	return s.From.String() + " to " + s.To.Number()
}

// Spans returns what the releases of a product that have a feature set do with a field of a kind, the oldest first.
func Spans(of Product, kind, field string, set Set) (spans []Span) {
	return spansOf(of, topic{kind: kind, field: field}, set)
}

func spansOf(of Product, about topic, set Set) (spans []Span) {
	for _, r := range Releases(of) {
		if !r.Has(set) {
			continue
		}
		state, fact := r.state(about, set)
		if n := len(spans); n > 0 && spans[n-1].State == state && spans[n-1].Limit == fact.Limit {
			spans[n-1].To = r
			continue
		}
		spans = append(spans, Span{r, r, state, fact.Limit})
	}
	return spans
}

// Where returns the releases of some products of which something holds, such as "operator-controller v1.0 to v1.2 and
// OpenShift 4.18"; empty if there are none.
func Where(holds func(Release) bool, products ...Product) string {
	var list []string
	for _, of := range products {
		var span *Span
		for _, r := range Releases(of) {
			switch {
			case !holds(r):
				span = nil
				continue
			case span != nil:
				span.To = r
				list = list[:len(list)-1]
			default:
				span = &Span{From: r, To: r}
			}
			list = append(list, span.String())
		}
	}
	return text.And(list)
}
