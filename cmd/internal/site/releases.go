package site

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/cmd/internal/audit"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/output"
)

// releasesDir has the releases of each package and of each channel, in the form that a custom datasource of Renovate
// reads (renovate: lib/modules/datasource/custom/schema.ts).
const releasesDir = "releases"

type releaseList struct {
	Releases []release `json:"releases"`
}

type release struct {
	Version   string `json:"version"`
	Timestamp string `json:"releaseTimestamp,omitempty"`
	// Renovate does not propose such a release.
	Deprecated bool   `json:"isDeprecated,omitempty"`
	SourceURL  string `json:"sourceUrl,omitempty"`
}

func (m *making) releases() error {
	name := path.Join(releasesDir, m.slug)
	if err := m.addReleases(name+".json", m.pkg.Channels); err != nil {
		return err
	}
	for _, ch := range m.pkg.Channels {
		file := path.Join(name, plainSlug(ch.Name)+".json")
		if err := m.addReleases(file, []*catalog.Channel{ch}); err != nil {
			return err
		}
	}
	return nil
}

func (m *making) addReleases(file string, channels []*catalog.Channel) error {
	list := releaseList{Releases: []release{}}
	offered := offers(channels)
	for _, x := range slices.Backward(m.list) {
		if offered, in := offered[x.Name]; in && x.Version != "" {
			list.Releases = append(list.Releases, release{Version: clean(x.Version), Timestamp: timestamp(x),
				Deprecated: x.Deprecated != "" || !offered || m.deprecated(x.Name), SourceURL: repository(x.CSV)})
		}
	}
	var data bytes.Buffer
	err := findings.WriteJSON(&data, list)
	m.out.files = append(m.out.files, output.File{Path: file, Data: data.Bytes()})
	return err
}

// offers returns the entries of channels, and whether one of the channels has an entry and does not skip it.
func offers(channels []*catalog.Channel) map[string]bool {
	offered := map[string]bool{}
	for _, ch := range channels {
		skipped := ch.Skipped()
		for _, e := range ch.Entries {
			offered[e.Name] = offered[e.Name] || !skipped[e.Name]
		}
	}
	return offered
}

func (m *making) deprecated(name string) bool {
	b := m.pkg.Bundle(name)
	return b != nil && b.Deprecated()
}

func timestamp(x *audit.Inspected) string {
	day := created(x.CSV)
	if day == "" {
		return ""
	}
	return day + "T00:00:00Z"
}

// repository returns where the source of an operator is, by its annotation.
func repository(csv *v1alpha1.ClusterServiceVersion) string {
	if csv == nil {
		return ""
	}
	to := csv.Annotations["repository"]
	if !strings.HasPrefix(to, "https://") || clean(to) != to {
		return ""
	}
	return to
}
