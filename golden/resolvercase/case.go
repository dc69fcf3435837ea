// Package resolvercase reads and writes questions to OLM's resolver and the answers to them, and compares what
// catalog/resolve predicts with an answer.
//
// A case is a directory: case.yaml is the question, catalogs/NAME a file-based catalog, expected.yaml the answer.
package resolvercase

import (
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
)

// Case is case.yaml: catalogs, and questions about one namespace that can use them.
type Case struct {
	Statement              string         `json:"statement"`
	Kind                   string         `json:"kind"`
	Namespace              string         `json:"namespace"`
	GlobalCatalogNamespace string         `json:"globalCatalogNamespace"`
	OperatorGroup          *OperatorGroup `json:"operatorGroup,omitempty"`
	Catalogs               []Catalog      `json:"catalogs"`
	Scenarios              []Scenario     `json:"scenarios"`
}

// OperatorGroup is the OperatorGroup of the namespace. Nil is one without special fields.
type OperatorGroup struct {
	Count                 *int   `json:"count,omitempty"`
	ExcludeGlobalCatalogs bool   `json:"excludeGlobalCatalogs,omitempty"`
	UpgradeStrategy       string `json:"upgradeStrategy,omitempty"`
}

// Groups returns how many OperatorGroups the namespace has, and what they look like.
func (c *Case) Groups() (int, OperatorGroup) {
	switch {
	case c.OperatorGroup == nil:
		return 1, OperatorGroup{}
	case c.OperatorGroup.Count == nil:
		return 1, *c.OperatorGroup
	}
	return *c.OperatorGroup.Count, *c.OperatorGroup
}

// Catalog is a CatalogSource. Its content is in the directory catalogs/NAME.
type Catalog struct {
	Name        string `json:"name"`
	Namespace   string `json:"namespace"`
	Priority    int    `json:"priority"`
	Unvalidated bool   `json:"unvalidated,omitempty"` // it is served although opm refuses it
	Unavailable bool   `json:"unavailable,omitempty"` // OLM has no connection to it
	Reference   string `json:"reference,omitempty"`   // where it was taken from
}

// Scenario is one question.
type Scenario struct {
	Name          string         `json:"name"`
	Subscriptions []Subscription `json:"subscriptions,omitempty"`
	Installed     []CSV          `json:"installed,omitempty"`
}

// Subscription is a Subscription with its status. Without CurrentCSV, that is InstalledCSV.
type Subscription struct {
	Name            string `json:"name"`
	Package         string `json:"package"`
	Channel         string `json:"channel"`
	Source          string `json:"source"`
	SourceNamespace string `json:"sourceNamespace"`
	StartingCSV     string `json:"startingCSV,omitempty"`
	InstalledCSV    string `json:"installedCSV,omitempty"`
	CurrentCSV      string `json:"currentCSV,omitempty"`
}

// CSV is an installed CSV. It has at most one of From, Properties, and Provided with Required.
type CSV struct {
	Name       string             `json:"name"`
	Version    string             `json:"version,omitempty"`
	Replaces   string             `json:"replaces,omitempty"`
	Phase      string             `json:"phase,omitempty"`
	CopiedFrom string             `json:"copiedFrom,omitempty"`
	From       string             `json:"from,omitempty"` // its bundle is in this catalog
	Properties []catalog.Property `json:"properties,omitempty"`
	Provided   []GVK              `json:"provided,omitempty"`
	Required   []GVK              `json:"required,omitempty"`
}

// GVK is an API of a CSV.
type GVK struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
	Plural  string `json:"plural,omitempty"`
}

// Answer is expected.yaml: what OLM does.
type Answer struct {
	Oracle        string            `json:"oracle,omitempty"` // the versions of the code that answered
	CatalogErrors map[string]string `json:"catalogErrors,omitempty"`
	Scenarios     []ScenarioAnswer  `json:"scenarios"`
}

// ScenarioAnswer is a walk, or several if it depends on chance which one OLM takes.
type ScenarioAnswer struct {
	Name string `json:"name"`
	Walk
	Unstable []Alternative `json:"unstable,omitempty"`
}

// Alternative is one of several walks.
type Alternative struct {
	Share string `json:"share"` // in how many of the runs
	Walk
}

// Unstable is the outcome of a scenario with several walks.
const Unstable = "unstable"

// Walk is the way of a namespace from InstallPlan to InstallPlan.
type Walk struct {
	Outcome               string        `json:"outcome"`
	CycleFrom             *int          `json:"cycleFrom,omitempty"`
	Steps                 []Step        `json:"steps,omitempty"`
	Withheld              *Step         `json:"withheld,omitempty"`
	Error                 *Failure      `json:"error,omitempty"`
	Installed             []string      `json:"installed,omitempty"`
	Subscriptions         []Status      `json:"subscriptions,omitempty"`
	DeprecationConditions []Deprecation `json:"deprecationConditions,omitempty"`
}

// Step is one InstallPlan.
type Step struct {
	Subscriptions    []resolve.Move `json:"subscriptions,omitempty"`
	NewSubscriptions []Subscription `json:"newSubscriptions,omitempty"`
	CSVs             []PlannedCSV   `json:"csvs,omitempty"`
	Removed          []string       `json:"removed,omitempty"`
}

// PlannedCSV is a CSV of an InstallPlan.
type PlannedCSV struct {
	Name            string `json:"name"`
	Replaces        string `json:"replaces,omitempty"`
	Source          string `json:"source"`
	SourceNamespace string `json:"sourceNamespace"`
}

// Failure is why OLM does not resolve. If the text varies, it is the shortest of those that were seen.
type Failure struct {
	Reason         string   `json:"reason"`
	Text           string   `json:"text"`
	DifferentTexts int      `json:"differentTexts,omitempty"`
	Always         []string `json:"always,omitempty"`
	Sometimes      []string `json:"sometimes,omitempty"`
	OtherTexts     []string `json:"otherTexts,omitempty"`
}

// Status is a Subscription at the end.
type Status struct {
	Name         string `json:"name"`
	InstalledCSV string `json:"installedCSV"`
}

// Deprecation holds the messages of a Subscription's conditions.
type Deprecation struct {
	Subscription string `json:"subscription"`
	Package      string `json:"package,omitempty"`
	Channel      string `json:"channel,omitempty"`
	Bundle       string `json:"bundle,omitempty"`
}

// Read reads the question of a case.
func Read(dir string) (*Case, error) {
	c := &Case{}
	return c, readYAML(filepath.Join(dir, "case.yaml"), c)
}

// ReadAnswer reads the answer of a case.
func ReadAnswer(dir string) (*Answer, error) {
	a := &Answer{}
	return a, readYAML(filepath.Join(dir, "expected.yaml"), a)
}

// CatalogDir returns the directory of a catalog.
func CatalogDir(dir, name string) string { return filepath.Join(dir, "catalogs", name) }

func readYAML(file string, into any) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		return &os.PathError{Op: "read", Path: file, Err: err}
	}
	return nil
}
