package resolvercase

import (
	"encoding/json"
	"os"
)

// Pinned is how a scenario is pinned at where OLM comes to rest.
type Pinned struct {
	Settled bool     // OLM comes to rest at releases of catalogs that opm serves
	Chance  bool     // where, depends on chance
	Refused []string // why no answer can be pinned

	Catalogs []PinnedCatalog // nil if nothing is pinned
	Approved []Approved
	ImageSet []byte // an ImageSetConfiguration for these catalogs
}

// PinnedCatalog is a pinned catalog, under the name of its source.
type PinnedCatalog struct {
	Namespace, Name string
	Image           string
	Packages        []PinnedPackage
}

// PinnedPackage is a package of a pinned catalog.
type PinnedPackage struct {
	Name            string
	File            []byte
	Bundles, Images []string
}

// Approved is a release that a namespace is to have.
type Approved struct{ Catalog, Package, Bundle string }

// PinnedCases are the scenarios of cases, by the directory of the case.
type PinnedCases map[string][]Pinned

// ReadPinned reads what Write wrote.
func ReadPinned(file string) (p PinnedCases, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return p, json.Unmarshal(data, &p)
}

// Write writes pinned cases.
func (p PinnedCases) Write(file string) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}
