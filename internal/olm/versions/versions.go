// Package versions knows what the releases of OLM, OpenShift and Kubernetes take. Its facts are data: read.json, which
// refresh reads from the repositories, facts.yaml, which persons write, and kubetypes.txt. The CRDs of the releases and
// the types of Kubernetes prove them. No other package compares a release of OLM with another one.
package versions

// SOURCES is a directory with clones of the repositories, by their names, as an absolute path.
//go:generate go run -C ../../../tools ./refresh ../internal/olm/versions/read.json $SOURCES

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/blang/semver/v4"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/internal/base/lists"
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

// Set is a feature set: a cluster has the CRDs and feature gates of one of them.
type Set string

// The feature sets. Standard is what a cluster has unless its administrator decides otherwise, Experimental what shows
// what comes. OpenShift has names of its own for them, and two more; its set CustomNoUpgrade has no fixed gates.
const (
	Standard     Set = "standard"
	Experimental Set = "experimental"

	Default     Set = "Default"
	TechPreview Set = "TechPreviewNoUpgrade"
)

// Fact is what some releases do with a field of a kind, with the kind if Field is empty, or with a feature gate, or
// another behavior. Until is the first release of which it no longer holds. Without Since it holds from the oldest
// release on, without Until up to the newest one.
type Fact struct {
	Kind     string   `json:"kind,omitempty"`
	Field    string   `json:"field,omitempty"`
	Gate     string   `json:"gate,omitempty"`
	Behavior string   `json:"behavior,omitempty"`
	Of       Product  `json:"of,omitempty"`
	Since    string   `json:"since,omitempty"`
	Until    string   `json:"until,omitempty"`
	Sets     []Set    `json:"sets,omitempty"` // empty: all
	State    State    `json:"state"`
	Limit    int      `json:"limit,omitempty"` // the most items of a list
	Source   string   `json:"source,omitempty"`
	At       []string `json:"at,omitempty"` // where a tool read it, as REPOSITORY:FILE:LINE; empty: a person wrote it

	since, until uint64 // inOrder
}

// topic is what a fact is about.
type topic struct{ kind, field, gate, behavior string }

func (f *Fact) topic() topic { return topic{f.Kind, f.Field, f.Gate, f.Behavior} }

// Read is what a tool read of a release.
type Read struct {
	Of         Product           `json:"of"`
	Number     string            `json:"number"`
	Kubernetes uint64            `json:"kubernetes,omitempty"` // the minor version of Kubernetes 1
	Sets       []Set             `json:"sets"`
	At         []string          `json:"at,omitempty"`
	Commits    map[string]string `json:"commits"` // by repository
	Facts      []Fact            `json:"facts"`
}

//go:embed read.json
var read []byte

//go:embed facts.yaml
var data []byte

type table struct {
	Releases []struct { // all of a major version
		Name   Product `json:"name"`
		Oldest string  `json:"oldest"`
		Newest string  `json:"newest"`
	} `json:"releases"`
	Same  map[string]string `json:"same"` // releases of OpenShift that count as another one
	Facts []Fact            `json:"facts"`
	Next  []Fact            `json:"next"` // what no release has yet: the source names the commit

	of    map[Product][]Release
	about map[topic][]*Fact
}

var facts = sync.OnceValue(func() (t table) {
	if err := yaml.UnmarshalStrict(data, &t); err != nil {
		panic("facts.yaml: " + err.Error()) // TestFacts
	}
	var list []Read
	if err := json.Unmarshal(read, &list); err != nil {
		panic("read.json: " + err.Error()) // TestFacts
	}
	t.of, t.about = map[Product][]Release{}, map[topic][]*Fact{}
	for _, k := range t.Releases {
		for v, last := number(k.Oldest), number(k.Newest); v.LE(last); v.Minor++ {
			name := fmt.Sprintf("v%d.%d", v.Major, v.Minor)
			t.of[k.Name] = append(t.of[k.Name], Release{k.Name, name, inOrder(v), 0, string(Standard)})
		}
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
	for _, r := range list {
		order := inOrder(number(r.Number))
		sets := strings.Join(text.Words(r.Sets), ",")
		t.of[r.Of] = append(t.of[r.Of], Release{r.Of, r.Number, order, r.Kubernetes, sets})
		for _, f := range r.Facts {
			f.Of, f.Since, f.since, f.until = r.Of, r.Number, order, order+1
			at := strings.Split(f.At[0], ":")
			f.Source = fmt.Sprintf("%s: %s of %s", at[0], at[1], r.Number)
			t.Facts = append(t.Facts, f)
		}
	}
	for i := range t.Facts {
		f := &t.Facts[i]
		t.about[f.topic()] = append(t.about[f.topic()], f)
	}
	return t
})

// inOrder returns a number that is greater for a newer release.
func inOrder(v semver.Version) uint64 { return v.Major<<40 | v.Minor<<20 | v.Patch }

// Facts returns all facts, first those that persons wrote.
func Facts() []Fact { return facts().Facts }

// Release is a minor release of a product, such as operator-controller v1.10.
type Release struct {
	Product    Product
	number     string
	order      uint64 // inOrder
	kubernetes uint64
	sets       string
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
func (r Release) Number() string { return r.number }

// Sets returns the feature sets of the release, first the one of a cluster whose administrator chose none.
func (r Release) Sets() (list []Set) {
	return lists.Map(strings.Split(r.sets, ","), func(name string) Set { return Set(name) })
}

// Releases returns the releases of a product of which facts are known, the oldest first. It is not the caller's own.
func Releases(of Product) []Release { return slices.Clip(facts().of[of]) }

// Within returns those from one version to another.
func Within(of Product, first, last semver.Version) []Release {
	return lists.Filter(Releases(of), func(r Release) bool {
		v := number(r.number)
		return v.GE(first) && v.LE(last)
	})
}

// Parse reads a release of a product, such as v1.10, 1.10.0 or 4.19. It refuses a release of which no facts are known.
func Parse(of Product, text string) (Release, error) {
	list := Releases(of)
	oldest, newest := list[0], list[len(list)-1]
	v, err := semver.ParseTolerant(text)
	if err != nil {
		err = fmt.Errorf("%q is not a release of %s", text, of)
	} else if !strings.Contains(text, ".") {
		err = fmt.Errorf("%q names no minor version of %s", text, of)
	}
	if err != nil {
		return Release{}, manifest.WithHint(err, "write it as "+newest.Number())
	}
	for _, r := range list {
		if r.order == inOrder(semver.Version{Major: v.Major, Minor: v.Minor}) {
			return r, nil
		}
	}
	tip := fmt.Sprintf("%s to %s are known", oldest, newest.Number())
	if of == OpenShift && v.Major == 4 && inOrder(v) < oldest.order {
		tip += fmt.Sprintf("; name its version of Kubernetes instead, 1.%d", v.Minor+13)
	}
	return Release{}, manifest.WithHint(fmt.Errorf("nothing is known of %s %s", of, text), tip)
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
// and the minor number count, and a release of OpenShift counts as the one that is the same.
func (r Release) Newer(than semver.Version) bool {
	same := func(minor string) semver.Version {
		if other := facts().Same[minor]; other != "" && r.Product == OpenShift {
			minor = other
		}
		return number(minor)
	}
	return same(r.number).GT(same(fmt.Sprintf("%d.%d", than.Major, than.Minor)))
}

// Has reports whether the release has a feature set.
func (r Release) Has(set Set) bool { return slices.Contains(r.Sets(), r.named(set)) }

// named returns the name of a feature set in OpenShift.
func (r Release) named(set Set) Set {
	switch {
	case r.Product == OpenShift && set == Standard:
		return Default
	case r.Product == OpenShift && set == Experimental:
		return TechPreview
	}
	return set
}

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

// On returns which feature sets of the release have one of some feature gates on, such as ", which is on in the feature
// set TechPreviewNoUpgrade"; it is empty if none has.
func (r Release) On(gates ...string) string {
	sets := lists.Filter(r.Sets(), func(set Set) bool {
		return slices.ContainsFunc(gates, func(gate string) bool {
			state, _ := r.Gate(gate, set)
			return state == Enabled
		})
	})
	if len(sets) == 0 {
		return ""
	}
	return ", which is on in the feature set " + text.Or(sets)
}

// Does returns the fact that the release behaves in a way; false if it does not. It is State for behaviors.
func (r Release) Does(behavior string) (Fact, bool) {
	state, fact := r.state(topic{behavior: behavior}, Standard)
	return fact, state != Absent
}

func (r Release) state(about topic, set Set) (State, Fact) {
	all, asked := facts().about[about]
	if !asked {
		panic(fmt.Sprintf("no fact is about %+v", about))
	}
	for _, f := range all {
		if f.Of == r.Product && r.order >= f.since && r.order < f.until &&
			(len(f.Sets) == 0 && r.Has(set) || slices.Contains(f.Sets, r.named(set))) {
			return f.State, *f
		}
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
	Annotates             = "annotates pods with " // an annotation that OLM v0 takes from an OperatorGroup
	RemovesAffinity       = "removes an affinity by an empty one in a deploymentConfig"
	AsksCrdify            = "asks crdify v0.6 whether it may change a CRD"
	KeepsInstalled        = "keeps what is installed while no ClusterCatalog is there"
	BlocksInvalid         = "does not try again where the configuration is invalid (InvalidConfiguration)"
	ValidatesConfig       = "validates spec.config"
	NamesAccount          = "says in Installed that the ServiceAccount is missing"
	ValidatesAccount      = "looks for the ServiceAccount before anything else"
	NamesDryRun           = "says that it is the dry run of Helm that fails"
	NamesBundle           = "names the bundle before the error (after it until then)"
	DesiredState          = "begins \"Desired state reached\" with a capital letter"
	JudgesInstalled       = "says of what is installed, and not of what is chosen, whether it is deprecated"
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

// SourceOf returns the source of a behavior or a feature gate, of another product if this one never has it.
func SourceOf(of Product, about string) (source string) {
	for _, f := range Facts() {
		if (f.Behavior == about || f.Gate == about) && (source == "" || f.Of == of) {
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

// LastRequiring returns the newest release, such as v1.10, whose ClusterExtensions require a field; empty if none does.
func LastRequiring(of Product, field string) (number string) {
	for _, r := range Releases(of) {
		if state, _ := r.State(olm.KindClusterExtension, field, Standard); state == Required {
			number = r.Number()
		}
	}
	return number
}

// Where returns the releases of some products of which something holds, such as "operator-controller v1.0 to v1.2 and
// OpenShift 4.18"; empty if there are none.
func Where(holds func(Release) bool, products ...Product) string {
	var list []string
	for _, of := range products {
		first := "" // of consecutive releases
		for _, r := range Releases(of) {
			switch {
			case !holds(r):
				first = ""
			case first == "":
				first = r.String()
				list = append(list, first)
			default:
				list[len(list)-1] = first + " to " + r.Number()
			}
		}
	}
	return text.And(list)
}
