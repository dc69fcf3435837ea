package extension

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	ranges "github.com/Masterminds/semver/v3"
	"github.com/blang/semver/v4"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
)

// Version is a version and a release. OLM v1 takes the build metadata of a version as its release, if it can be one
// (spec v1-resolver 3; operator-controller: internal/operator-controller/bundleutil/bundle.go).
type Version struct {
	semver.Version
	Release []semver.PRVersion
}

// Compare compares versions, then releases; none is the lowest (operator-registry: alpha/model/versionrelease.go).
func (v Version) Compare(o Version) int {
	if c := v.Version.Compare(o.Version); c != 0 {
		return c
	}
	switch {
	case len(v.Release) == 0 && len(o.Release) > 0:
		return -1
	case len(v.Release) > 0 && len(o.Release) == 0:
		return 1
	}
	return semver.Version{Pre: v.Release}.Compare(semver.Version{Pre: o.Release})
}

// Text returns the version as OLM v1 records it: with the release as build metadata.
func (v Version) Text() string {
	whole := v.Version
	for _, p := range v.Release {
		whole.Build = append(whole.Build, p.String())
	}
	return whole.String()
}

func parseVersion(text string) (Version, error) {
	parsed, err := semver.Parse(text)
	if err != nil {
		return Version{}, err
	}
	v := Version{Version: parsed}
	release, err := catalog.ParseRelease(strings.Join(parsed.Build, "."))
	if err != nil || release == nil {
		return v, nil //nolint:nilerr // it is build metadata
	}
	v.Release, v.Build = release, nil
	return v, nil
}

// versionOf reads the first olm.package of a bundle.
func versionOf(b *catalog.Bundle) (Version, error) {
	for _, p := range b.Properties {
		if p.Type != olm.PropertyPackage {
			continue
		}
		var v catalog.PackageProperty
		if err := json.Unmarshal(p.Value, &v); err != nil {
			return Version{}, fmt.Errorf("error unmarshalling package property: %w", err)
		}
		return parseVersion(v.Version)
	}
	return Version{}, fmt.Errorf("no package property found in bundle %q", b.Name)
}

// A version is a range of the API's CEL rule. It is stricter than Masterminds/semver: * is not a minor version, for
// example (operator-controller: api/v1/clusterextension_types.go).
var versionExpression = lazy.Regexp(`^(\s*(=||!=|>|<|>=|=>|<=|=<|~|~>|\^)\s*` +
	`(v?(0|[1-9]\d*|[x|X|\*])(\.(0|[1-9]\d*|x|X|\*]))?(\.(0|[1-9]\d*|x|X|\*))?` + suffix + `)\s*)` +
	`((?:\s+|,\s*|\s*\|\|\s*)(=||!=|>|<|>=|=>|<=|=<|~|~>|\^)\s*` +
	`(v?(0|[1-9]\d*|x|X|\*])(\.(0|[1-9]\d*|x|X|\*))?(\.(0|[1-9]\d*|x|X|\*]))?` + suffix + `)\s*)*$`)

const suffix = `(-([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?(\+([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?`

// ExactVersion returns the version if a range of a ClusterExtension is one version.
func ExactVersion(versions string) (string, bool) {
	text := strings.TrimPrefix(strings.TrimSpace(versions), "=")
	text = strings.TrimPrefix(strings.TrimSpace(text), "v")
	_, err := semver.Parse(text)
	return text, err == nil
}

// The limits of the API.
const (
	longestRange = 64
	mostChannels = 256
)

// versions reads the range with Masterminds/semver, as OLM v1 does. A skipRange is read with blang/semver (spec v1
// resolver 3; operator-controller: internal/operator-controller/catalogmetadata/compare/compare.go).
func (q Request) versions() (semver.Range, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	if q.Versions == "" {
		return nil, nil //nolint:nilnil // any version
	}
	constraint, err := ranges.NewConstraint(q.Versions)
	if err != nil {
		return nil, refuse("desired version range %q is invalid: %s", q.Versions, err)
	}
	return func(v semver.Version) bool {
		pre := lists.Map(v.Pre, func(p semver.PRVersion) string { return p.String() })
		return constraint.Check(ranges.New(v.Major, v.Minor, v.Patch, strings.Join(pre, "."),
			strings.Join(v.Build, ".")))
	}, nil
}

// Check refuses what the API server refuses.
func (q Request) Check() error {
	switch {
	case q.Package == "":
		return errors.New("there is no package name")
	case len(validation.IsDNS1123Subdomain(q.Package)) > 0:
		return refuse("the API of OLM v1 refuses the package name %q: it must be a DNS-1123 subdomain", q.Package)
	case len(q.Versions) > longestRange:
		return refuse("the API of OLM v1 refuses the version range %q: it is longer than %d characters", q.Versions,
			longestRange)
	case q.Versions != "" && !versionExpression().MatchString(q.Versions):
		return refuse("the API of OLM v1 refuses the version range %q: invalid version expression", q.Versions)
	case len(q.Channels) > mostChannels:
		return refuse("the API of OLM v1 refuses more than %d channels", mostChannels)
	}
	bad := slices.IndexFunc(q.Channels, func(c string) bool { return len(validation.IsDNS1123Subdomain(c)) > 0 })
	if bad >= 0 {
		return refuse("the API of OLM v1 refuses the channel %q: channels entries must be valid DNS1123 subdomains",
			q.Channels[bad])
	}
	return nil
}
