// Package corpus reads a directory of real bundles, bundles/<package>/<version>, and explains why some are refused.
package corpus

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/blang/semver/v4"
)

// refusals are the errors that a real bundle may end in. OLM or the API server refuses each of these bundles too.
var refusals = []struct {
	class, why string
	pattern    *regexp.Regexp
}{
	{"no-manifests", "its annotations name a directory that is not there",
		regexp.MustCompile(`no such directory, but the bundle's annotations say that its manifests are there$`)},
	{"unsupported-kind",
		"OLM refuses the InstallPlan, or sends an object of another group to Kubernetes' own API of that kind",
		regexp.MustCompile(`: OLM does not install \w+ of [\w./]+ from a bundle$`)},
	{"olm-v1", "OLM v1 refuses the bundle, or the install mode",
		regexp.MustCompile(`profile clusterextension: OLM v1 (refuses .*|does not support MultiNamespace)$`)},
	{"open-channel", "a Subscription needs one of its channels, and it says none",
		regexp.MustCompile(`profile subscription: .* and the default channel is not one of them$`)},
}

// Refusal explains why olmgen may refuse a real bundle with an error. The class of any other error is empty.
func Refusal(err error) (class, why string) {
	for _, r := range refusals {
		if r.pattern.MatchString(err.Error()) {
			return r.class, r.why
		}
	}
	return "", ""
}

// Package is one package with the directories of its bundles, oldest first.
type Package struct {
	Name    string
	Bundles []string
}

// Packages reads the layout below a directory. Versions are sorted as semantic ones.
func Packages(root string) ([]Package, error) {
	dirs, err := filepath.Glob(filepath.Join(root, "bundles", "*"))
	if err != nil {
		return nil, err
	}
	if len(dirs) == 0 {
		return nil, fmt.Errorf("there are no bundles below %s", root)
	}
	var packages []Package
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		p, versions := Package{Name: filepath.Base(dir)}, map[string]semver.Version{}
		for _, e := range entries {
			if v, err := semver.ParseTolerant(e.Name()); err == nil {
				bundle := filepath.Join(dir, e.Name())
				p.Bundles, versions[bundle] = append(p.Bundles, bundle), v
			}
		}
		slices.SortFunc(p.Bundles, func(a, b string) int { return versions[a].Compare(versions[b]) })
		if len(p.Bundles) > 0 {
			packages = append(packages, p)
		}
	}
	return packages, nil
}
