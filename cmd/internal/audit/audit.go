// Package audit says what the operators of catalogs and directories ask for: a row for each release, and the totals.
package audit

import (
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/permissions"
)

// The version and kind of a report in JSON.
const (
	APIVersion = "olmgen.dev/v1alpha1"
	Kind       = "AuditReport"
)

// Report is the audit of some catalogs and directories. Its lists are never nil.
type Report struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Target     string   `json:"target"` // the releases that Unfit of the rows is about
	Rows       []Row    `json:"rows"`
	Unread     []Unread `json:"unread"` // bundles that are in no row
	Totals     Totals   `json:"totals"`
	Notes      []string `json:"notes,omitempty"` // on a tree: what its objects stand for, and what is not in the rows

	list []findings.Finding
}

// Row is what one release asks for.
type Row struct {
	Source      string   `json:"source"`            // catalog, bundle or tree, as a person finds it
	Cluster     string   `json:"cluster,omitempty"` // of a tree with several
	Package     string   `json:"package"`
	Name        string   `json:"name"` // of the ClusterServiceVersion
	Version     string   `json:"version"`
	DisplayName string   `json:"displayName,omitempty"`
	Channels    []string `json:"channels"`
	Head        bool     `json:"head"` // of the default channel
	Deprecated  string   `json:"deprecated,omitempty"`
	Matches     []string `json:"matches,omitempty"` // what it is found by
	// Support has the phases of support of its version, as the catalog says them.
	Support []fit.Phase `json:"support,omitempty"`
	// Complete says that the objects of the bundle were read. A catalog that does not hold them has only metadata, so
	// that Reaches, Images, Unsupported and Findings are empty.
	Complete     bool     `json:"complete"`
	InstallModes []string `json:"installModes"` // that it supports
	// Upgradeable is false if olm.maxOpenShiftVersion, or an OperatorCondition in a tree, holds back upgrades.
	Upgradeable         bool     `json:"upgradeable"`
	MaxOpenShiftVersion string   `json:"maxOpenShiftVersion,omitempty"`
	Reaches             []Reach  `json:"reaches"`
	Webhooks            Webhooks `json:"webhooks"`
	CRDs                CRDs     `json:"crds"`
	Images              Images   `json:"images"`
	Unsupported         []string `json:"unsupportedKinds"` // that OLM refuses
	// Unfit has what keeps it from working with Target: the rules of errors and warnings, without their prefix
	Unfit    []string    `json:"unfit"`
	Verdict  fit.Verdict `json:"verdict"` // on Target
	Findings Counts      `json:"findings"`
	Error    string      `json:"error,omitempty"` // why it could not be read, or not be rendered
}

// Reach is one group of what the permissions allow.
type Reach struct {
	Risk    permissions.Risk `json:"risk"`
	Cluster bool             `json:"cluster"` // in all namespaces
	Text    string           `json:"text"`
}

// Webhooks counts the webhooks of the ClusterServiceVersion.
type Webhooks struct {
	Validating int `json:"validating"`
	Mutating   int `json:"mutating"`
	Conversion int `json:"conversion"`
}

// Total returns their number.
func (w Webhooks) Total() int { return w.Validating + w.Mutating + w.Conversion }

// CRDs counts the CustomResourceDefinitions. Of a release whose CRDs are not known, Bytes is 0 and Count is what it
// owns.
type CRDs struct {
	Count int `json:"count"`
	Bytes int `json:"bytes"`
}

// Images counts the images that a cluster pulls, each once.
type Images struct {
	Digest int `json:"digest"`
	Tag    int `json:"tag"` // and those that are not valid
}

// Counts counts findings: mistakes in the bundle, and what follows from its permissions.
type Counts struct {
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Notes    int `json:"notes"`
}

// Unread is a bundle that is in no row.
type Unread struct {
	Source  string `json:"source"`
	Package string `json:"package,omitempty"` // by the other bundles, or the name, of the directory that it is in
	Version string `json:"version,omitempty"` // by the name of its own directory
	Error   string `json:"error"`
}

// Release returns the package and version, or where the bundle is if they are not known.
func (u Unread) Release() string {
	if u.Package == "" {
		return u.Source
	}
	return u.Package + " " + u.Version
}

// Totals counts over all rows.
type Totals struct {
	Packages   int     `json:"packages"`
	Releases   int     `json:"releases"`
	Complete   int     `json:"complete"`
	Failed     int     `json:"failed"` // rows with an error, and Unread
	Deprecated int     `json:"deprecated"`
	Webhooks   int     `json:"withWebhooks"` // releases
	CRDs       CRDs    `json:"crds"`
	Images     Images  `json:"images"`
	Reaches    []Count `json:"reaches"`  // releases in each group, all groups
	Unfit      []Count `json:"unfit"`    // releases, by what keeps them from Target
	Verdicts   []Count `json:"verdicts"` // releases, by verdict and rule
	Findings   Counts  `json:"findings"`
	Metrics    Metrics `json:"metrics"`
}

// Count is a number of releases.
type Count struct {
	Name     string `json:"name"`
	Releases int    `json:"releases"`
	Cluster  int    `json:"cluster,omitempty"` // of these in all namespaces
}

// Metrics are the counts that OLM has as metrics, if these releases were installed, or of what is in a tree.
type Metrics struct {
	CSVs           int     `json:"csv_count"`
	Subscriptions  int     `json:"subscription_count"`
	InstallPlans   int     `json:"install_plan_count"`
	CatalogSources int     `json:"catalog_source_count"`
	InstallModes   []Count `json:"installModes"`
	Upgradeable    int     `json:"upgradeable"`
	NotUpgradeable int     `json:"notUpgradeable"`
}

// Findings returns all findings, for SARIF.
func (r *Report) Findings() []findings.Finding { return r.list }
