// Package compare says how two releases of operators differ, for whoever decides about an upgrade.
//
// [Compare] takes the [State] of each release: its objects, its operators and its permissions, which package
// [github.com/olmgen/olmgen/permissions] evaluates. [TreeOperators] finds the operators of a set of objects. The
// [Report] has a [Section] each for permissions, CRDs, workloads, identity and what OLM would do, and its summary has
// an [Answer] for each. Package print prints it; [Report.Meets] decides whether a [Trigger] of a pipeline is met.
//
// Package [github.com/olmgen/olmgen/compare/history] compares all releases of an operator.
package compare

import (
	_ "embed"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/compare/change"
	"github.com/olmgen/olmgen/internal/compare/crds"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/predict/upgrade"
)

// The version and kind of a report in JSON.
const (
	apiVersion = "olmgen.dev/v1alpha1"
	kind       = "DifferenceReport"
)

// Report lists how two releases differ. Its lists are never nil.
type Report struct {
	APIVersion  string             `json:"apiVersion"`
	Kind        string             `json:"kind"`
	Old         Side               `json:"old"`
	New         Side               `json:"new"`
	Summary     []Answer           `json:"summary"`             // a line for each section that is not empty
	Verdict     string             `json:"verdict"`             // what a person decides; empty if nothing differs
	Operators   []OperatorAnswer   `json:"operators,omitempty"` // of several: those that differ
	Permissions []permissions.Item `json:"permissions"`         // gained and lost
	Users       []permissions.Item `json:"users"`               // what the roles for users gain and lose by aggregation
	Renamed     []Rename           `json:"renamed"`             // accounts that are compared under two names
	CRDs        []CRD              `json:"crds"`
	Workloads   []change.Change    `json:"workloads"`
	Identity    []change.Change    `json:"identity"`
	OLM         []Consequence      `json:"olm"`    // what OLM would do about it
	Notes       []string           `json:"notes"`  // what a reader has to know about the comparison
	Unread      []string           `json:"unread"` // files that could not be read, and why
	Unresolved  []Unresolved       `json:"unresolved"`
	Unbuilt     []string           `json:"unbuilt,omitempty"` // kustomizations that could not be built, and why
	Before      []string           `json:"before,omitempty"`  // the same, of both states with equal files
	Charts      []string           `json:"charts,omitempty"`  // charts that changed, and that nothing applies
	Ignored     []string           `json:"ignored,omitempty"` // files that are no longer looked at

	About []string `json:"-"` // what Notes are about, wherever that stands

	facts      []permissions.ChangedFact    // what subjects gain and lose in short
	several    bool                         // subjects have permissions: facts name theirs
	checked    bool                         // existing objects were checked against the newer CRDs
	approval   bool                         // somebody approves the InstallPlan
	installers map[permissions.Subject]bool // accounts by which OLM v1 installs operators
	chosen     bool                         // nobody gave an install mode
	undecided  int                          // kustomizations that could be built for one of the states only
}

// Side is one of the two releases.
type Side struct {
	Name      string   `json:"name"`      // what a person gave
	Operators []string `json:"operators"` // names of ClusterServiceVersions

	// InstallMode and Namespace are those that the only operator is judged in, as far as they are known.
	InstallMode string `json:"installMode,omitempty"`
	Namespace   string `json:"namespace,omitempty"`
}

// Section is a part of a report.
type Section string

// The sections in their order.
const (
	SectionPermissions Section = "permissions"
	SectionCRDs        Section = "crds"
	SectionWorkloads   Section = "workloads"
	SectionIdentity    Section = "identity"
	SectionOLM         Section = "olm"
)

var sections = []Section{SectionPermissions, SectionCRDs, SectionWorkloads, SectionIdentity, SectionOLM}

// Title returns the heading of a section.
func (s Section) Title() string {
	return map[Section]string{SectionPermissions: "Permissions", SectionCRDs: "CRDs", SectionWorkloads: "Workloads",
		SectionIdentity: "Identity", SectionOLM: "OLM"}[s]
}

// Answer sums up a section in one line.
type Answer struct {
	Section  Section           `json:"section"`
	Severity findings.Severity `json:"severity"` // the worst of the section
	Text     string            `json:"text"`

	best  string   // the text for people
	parts []string // of the text, worst first, and what counts the rest
	count string
}

// Rename is an account that has another name in the newer release.
type Rename struct {
	Old permissions.Subject `json:"old"`
	New permissions.Subject `json:"new"`
	Why string              `json:"why"`
}

// CRD is a finding about a CustomResourceDefinition.
type CRD = crds.Finding

// Unresolved is an object that hands an operator over to OLM, and whose operator is not known.
type Unresolved struct {
	Object  string `json:"object"` // kind namespace/name
	Message string `json:"message"`
	// Changed says that it, its OperatorGroup, its catalog or what is known of it is not as in the older release.
	Changed bool   `json:"changed"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
}

// Consequence is what OLM would do about the upgrade.
type Consequence = upgrade.Consequence

// Empty reports whether the releases do not differ.
func (r *Report) Empty() bool {
	return len(r.Permissions)+len(r.Users)+len(r.CRDs)+len(r.Workloads)+len(r.Identity)+len(r.OLM)+len(r.Unread) == 0
}

// Missing returns which files could not be read, and why.
func (r *Report) Missing() []string { return r.Unread }

// Schema is the JSON Schema of a report in JSON.
//
//go:embed schema.json
var Schema []byte

// Explained returns the differences as findings, for code review.
func (r *Report) Explained() ([]findings.Rule, []findings.Finding) { return Rules(), r.Findings() }
