package rehearse

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/operator-framework/api/crds"

	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// Program is one that a rehearsal runs.
type Program struct {
	Name   string
	Module string // whose version is its own
	Path   string // where it is; empty if it is missing
}

const (
	kubernetes = "k8s.io/kubernetes"
	ofOLM      = "github.com/operator-framework/operator-lifecycle-manager"
	controller = "github.com/operator-framework/operator-controller"
)

// Build is the directory in which "make rehearse-tools" puts the programs.
func Build() string {
	cache, _ := os.UserCacheDir() // without one it is not there
	return filepath.Join(cmp.Or(os.Getenv("OLMGEN_TOOLS"), filepath.Join(cache, "olmgen")), "rehearse")
}

// rehearsed is the directory of OLM v1 below that of Bin, where a cluster looks for releases.
const rehearsed = "rehearsed"

// Find looks for the programs in a directory that is given, in $KUBEBUILDER_ASSETS and in Build, and for those of OLM
// first in a directory of their own. All are needed: without kube-controller-manager there is no garbage collection, no
// aggregated ClusterRole, and no ServiceAccount of a namespace. Those of OLM v1 are in olmv1/RELEASE: the newest
// counts.
func Find(assets, olm string, v1 bool) []Program {
	list := []Program{{"etcd", "go.etcd.io/etcd/server/v3", ""}, {"kube-apiserver", kubernetes, ""},
		{"kube-controller-manager", kubernetes, ""}, {"olm", ofOLM, ""}, {"catalog", ofOLM, ""}}
	if v1 {
		list = append(list, Program{"operator-controller", controller, ""}, Program{"catalogd", controller, ""})
	}
	for i, p := range list {
		dirs := []string{assets, os.Getenv("KUBEBUILDER_ASSETS"), Build()}
		if p.Module == ofOLM {
			dirs = append([]string{olm}, dirs...)
		}
		for _, dir := range dirs {
			places := []string{filepath.Join(dir, p.Name)}
			if p.Module == controller {
				places = nil
				for _, r := range slices.Backward(versions.Releases(versions.OperatorController)) {
					found, _ := filepath.Glob(filepath.Join(dir, "olmv1", r.Number()+".*", p.Name))
					places = append(places, found...)
				}
			}
			for _, place := range places {
				if path, err := exec.LookPath(place); dir != "" && err == nil && list[i].Path == "" {
					list[i].Path = path
				}
			}
		}
	}
	return list
}

// Version returns the version of a program, as its build says it.
func (p Program) Version() string {
	if p.Module == controller {
		return filepath.Base(filepath.Dir(p.Path)) // it is built from a copy of its module
	}
	info, err := buildinfo.ReadFile(p.Path)
	if err != nil {
		return "(unknown)"
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == p.Module {
			return m.Version
		}
	}
	return "(unknown)"
}

// Bin fills a directory with links to the programs, and with OLM's CustomResourceDefinitions. The error names those
// that are missing.
func Bin(dir string, list []Program) (versions map[string]string, err error) {
	var missing []string
	versions = map[string]string{}
	for _, p := range list {
		if p.Path == "" {
			missing = append(missing, p.Name)
			continue
		}
		path, err := filepath.Abs(p.Path)
		link := filepath.Join(dir, p.Name)
		if p.Name == "catalogd" {
			continue // beside operator-controller
		}
		if p.Module == controller {
			path, link = filepath.Dir(path), filepath.Join(dir, "olmv1", rehearsed)
			err = errors.Join(err, os.Mkdir(filepath.Dir(link), 0o700))
		}
		if err == nil {
			err = os.Symlink(path, link)
		}
		if err != nil {
			return nil, err
		}
		versions[p.Name] = p.Version()
	}
	if len(missing) > 0 {
		return nil, manifest.WithHint(fmt.Errorf("programs are missing: %s", text.And(missing)),
			"olmgen-rehearse setup says where to get what a rehearsal needs")
	}
	if err := os.Mkdir(filepath.Join(dir, "crds"), 0o700); err != nil {
		return nil, err
	}
	for _, name := range crds.AssetNames() {
		data, err := crds.Asset(name)
		if err == nil && strings.HasSuffix(name, ".yaml") {
			err = os.WriteFile(filepath.Join(dir, "crds", name), data, 0o600)
		}
		if err != nil {
			return nil, err
		}
	}
	return versions, nil
}

// Fetch takes the programs of OLM from its image, which is named by digest, and keeps them in Build.
func Fetch(ctx context.Context, image string, o source.Options) error {
	if !strings.Contains(image, "@sha256:") || runtime.GOARCH != "amd64" {
		return fmt.Errorf("%s is not IMAGE@sha256:DIGEST, for linux/amd64", image)
	}
	const most = 1 << 30
	o.Limits = source.Limits{MaxFileBytes: most, MaxTotalBytes: most}
	files, err := o.Unpack(ctx, source.KindOCI+"://"+image, "bin/olm", "bin/catalog", "usr/bin/olm",
		"usr/bin/catalog")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(Build(), 0o755); err != nil {
		return err
	}
	for _, name := range []string{"olm", "catalog"} {
		data, err := fs.ReadFile(files, "bin/"+name)
		if err != nil {
			data, err = fs.ReadFile(files, "usr/bin/"+name)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", image, err)
		}
		fresh := filepath.Join(Build(), "."+name)
		if err = os.WriteFile(fresh, data, 0o755); err == nil {
			err = os.Rename(fresh, filepath.Join(Build(), name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Setup reports which programs are there, and how to get the others.
func Setup(list []Program) (said string, complete bool) {
	complete = true
	for _, p := range list {
		if p.Path == "" {
			said, complete = said+fmt.Sprintf("%-24s missing\n", p.Name), false
		} else {
			said += fmt.Sprintf("%-24s %s %s\n", p.Name, p.Version(), p.Path)
		}
	}
	if complete {
		return said + "everything is there\n", true
	}
	return said + `
"make rehearse-tools" in a checkout of olmgen builds all of them from Go modules: it takes 16 CPU minutes, once, and
needs Go and 4 GB of memory. They are then in ` + Build() + `.

"make rehearse-tools WITH=olmv1" builds OLM v1, too.

etcd and kube-apiserver can also be those of envtest (KUBEBUILDER_ASSETS, or --assets DIR). It has no
kube-controller-manager: put that of a release of Kubernetes beside them. The programs olm and catalog
are in OLM's image, in /bin: "olmgen-rehearse setup --olm-image quay.io/operator-framework/olm@sha256:..."
fetches them, and --olm DIR has them.
`, false
}
