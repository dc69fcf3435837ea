// Package history says what changed from release to release of an operator.
//
// [Read] renders releases that [github.com/olmgen/olmgen/catalog.Releases] lists. [New] makes the [History] of them:
// for each [Release] and [Topic] a [Cell] with its value, and since which release it has this value. Topics are
// dangerous rights, the versions of CRDs, Pod Security levels, registries of images and install modes. Package print
// prints a table or a chart.
package history

import (
	"cmp"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/manifest"
)

// The version and kind of a history in JSON.
const (
	apiVersion = "olmgen.dev/v1alpha1"
	kind       = "History"
)

// Input is a release: its operator, and what is applied to a cluster.
type Input struct {
	Name     string // of the ClusterServiceVersion
	Version  semver.Version
	Replaces string
	Skips    []string
	Channels []string

	Objects     []*manifest.Object
	Permissions *permissions.Report
	Modes       []string // the install modes that it supports
}

// History is what changed, release by release.
type History struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Package    string    `json:"package"`
	Topics     []Topic   `json:"topics"`   // in the order of their columns
	Releases   []Release `json:"releases"` // in the order of the update graph
	Notes      []string  `json:"notes"`
}

// Topic is a column: what a cell is about.
type Topic struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// Release is a row.
type Release struct {
	Name        string   `json:"name"` // of the ClusterServiceVersion
	Version     string   `json:"version"`
	Replaces    string   `json:"replaces,omitempty"`
	Channels    []string `json:"channels,omitempty"`
	Permissions int      `json:"permissions"` // verbs on resources that its accounts have
	Cells       []Cell   `json:"cells"`       // one for each topic
}

// Cell is what a release says about a topic.
type Cell struct {
	Topic string `json:"topic"`
	Value string `json:"value"`
	Since string `json:"since"` // the release that changed it to this
}

// New makes the history of releases.
func New(pkg string, list []Input) (*History, error) {
	h := &History{APIVersion: apiVersion, Kind: kind, Package: pkg, Releases: []Release{}, Notes: []string{}}
	ordered, cyclic := inOrder(list)
	if cyclic {
		h.Notes = append(h.Notes, "the update graph has a cycle: its releases are in the order of their versions")
	}
	all := make([]map[string]string, len(ordered))
	for i, in := range ordered {
		var err error
		if all[i], err = valuesOf(in); err != nil {
			return nil, err
		}
	}
	h.Topics = topicsOf(all)
	before := map[string]Cell{}
	for i, in := range ordered {
		r := Release{Name: in.Name, Version: in.Version.String(), Replaces: in.Replaces, Channels: in.Channels,
			Permissions: countOf(in.Permissions), Cells: []Cell{}}
		for _, t := range h.Topics {
			c := Cell{t.ID, cmp.Or(all[i][t.ID], absent), in.Name}
			if b, ok := before[t.ID]; ok && b.Value == c.Value {
				c.Since = b.Since
			}
			before[t.ID] = c
			r.Cells = append(r.Cells, c)
		}
		h.Releases = append(h.Releases, r)
	}
	return h, nil
}

// absent is the value of a topic that a release does not have.
const absent = "no"

// inOrder puts releases in the order of the update graph: each after those that it replaces or skips, else by version.
func inOrder(list []Input) (out []Input, cyclic bool) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Input) int {
		return cmp.Or(a.Version.Compare(b.Version), cmp.Compare(a.Name, b.Name))
	})
	index := map[string]int{}
	for i, in := range list {
		index[in.Name] = i
	}
	later := make([][]int, len(list))
	for i, in := range list {
		for _, name := range lists.SortedUnique(append([]string{in.Replaces}, in.Skips...)) {
			if j, ok := index[name]; ok && j != i {
				later[j] = append(later[j], i)
			}
		}
	}
	order, cyclic := lists.Order(len(list), func(i int) []int { return later[i] })
	return lists.Map(order, func(i int) Input { return list[i] }), cyclic
}

// countOf counts verbs on resources, or on URLs, in the places where accounts have them.
func countOf(r *permissions.Report) int {
	n := 0
	for _, i := range r.Permissions {
		if i.Risk != permissions.NoEffect {
			n += len(i.Namespaces) * len(i.Verbs) *
				(len(i.APIGroups)*len(i.Resources)*max(1, len(i.ResourceNames)) + len(i.NonResourceURLs))
		}
	}
	return n
}
