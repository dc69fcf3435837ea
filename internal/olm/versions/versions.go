// Package versions knows what the releases of OLM v1 and of OpenShift take. Its facts are data (facts.yaml); the CRDs
// of the releases prove them.
package versions

import (
	_ "embed"
	"fmt"
	"slices"
	"sync"

	"github.com/blang/semver/v4"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/manifest"
)

// Product is what has releases.
type Product string

// The products of which facts are known.
const (
	OperatorController Product = "operator-controller" // OLM v1
	OpenShift          Product = "OpenShift"
)

// State is what a release does with a field or a kind.
type State string

// The states. Ignored is a field that the API server takes and nobody reads.
const (
	Absent   State = ""
	Required State = "required"
	Accepted State = "accepted"
	Ignored  State = "ignored"
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

// Fact is what some releases do with a field of a kind, or with the kind if Field is empty. Until is the first release
// of which it no longer holds. Without Since it holds from the oldest release on, without Until up to the newest one.
type Fact struct {
	Kind   string  `json:"kind"`
	Field  string  `json:"field,omitempty"`
	Of     Product `json:"of"`
	Since  string  `json:"since,omitempty"`
	Until  string  `json:"until,omitempty"`
	Set    Set     `json:"set,omitempty"` // empty: of all
	State  State   `json:"state"`
	Source string  `json:"source"`
}

// known are the releases of a product.
type known struct {
	Name   Product  `json:"name"`
	Prefix string   `json:"prefix"`
	Oldest string   `json:"oldest"`
	Newest string   `json:"newest"`
	Minors []string `json:"minors"` // empty: all of the major version from Oldest to Newest

	Experimental string `json:"experimental"` // the oldest release that has this set
}

//go:embed facts.yaml
var data []byte

type table struct {
	Releases []known `json:"releases"`
	Facts    []Fact  `json:"facts"`
}

var facts = sync.OnceValue(func() (t table) {
	if err := yaml.UnmarshalStrict(data, &t); err != nil {
		panic("facts.yaml: " + err.Error()) // TestFacts
	}
	return t
})

// Facts returns all facts, in the order of the file.
func Facts() []Fact { return facts().Facts }

// Release is a minor release of a product, such as operator-controller v1.10.
type Release struct {
	Product      Product
	prefix       string
	major, minor uint64
	experimental bool
}

// String returns the product and the release.
func (r Release) String() string { return string(r.Product) + " " + r.name() }

func (r Release) name() string { return fmt.Sprintf("%s%d.%d", r.prefix, r.major, r.minor) }

// Releases returns the releases of a product of which facts are known, the oldest first.
func Releases(of Product) (list []Release) {
	for _, k := range facts().Releases {
		if k.Name != of {
			continue
		}
		minors := k.Minors
		if len(minors) == 0 {
			first, last := number(k.Oldest), number(k.Newest)
			for minor := first.Minor; minor <= last.Minor; minor++ {
				minors = append(minors, fmt.Sprintf("%d.%d", first.Major, minor))
			}
		}
		for _, m := range minors {
			v := number(m)
			list = append(list, Release{of, k.Prefix, v.Major, v.Minor, v.GE(number(k.Experimental))})
		}
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
			"write it as "+newest.name())
	}
	for _, r := range list {
		if r.major == v.Major && r.minor == v.Minor {
			return r, nil
		}
	}
	return Release{}, manifest.WithHint(fmt.Errorf("nothing is known of %s %s", of, text),
		fmt.Sprintf("%s to %s are known", oldest, newest.name()))
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
	asked, release := false, semver.Version{Major: r.major, Minor: r.minor}
	for _, f := range Facts() {
		if f.Kind != kind || f.Field != field {
			continue
		}
		asked = true
		if f.Of == r.Product && r.Has(set) && (f.Set == "" || f.Set == set) &&
			(f.Since == "" || release.GE(number(f.Since))) && (f.Until == "" || release.LT(number(f.Until))) {
			return f.State, f
		}
	}
	if !asked {
		panic("no fact is about " + kind + " " + field)
	}
	return Absent, Fact{}
}

// Span is a row of consecutive releases that do the same with a field or a kind.
type Span struct {
	From, To Release
	State    State
}

// String returns the product and its releases.
func (s Span) String() string {
	if s.From == s.To {
		return s.From.String()
	}
	return s.From.String() + " to " + s.To.name()
}

// Spans returns what the releases of a product that have a feature set do with a field of a kind, the oldest first.
func Spans(of Product, kind, field string, set Set) (spans []Span) {
	for _, r := range Releases(of) {
		if !r.Has(set) {
			continue
		}
		state, _ := r.State(kind, field, set)
		if n := len(spans); n > 0 && spans[n-1].State == state {
			spans[n-1].To = r
			continue
		}
		spans = append(spans, Span{r, r, state})
	}
	return spans
}

// Fields returns what facts are about: each kind, with each field of it and an empty one for itself.
func Fields() (list [][2]string) {
	for _, f := range Facts() {
		if pair := [2]string{f.Kind, f.Field}; !slices.Contains(list, pair) {
			list = append(list, pair)
		}
	}
	return list
}
