// Command refresh reads from clones what the releases of OLM v1 and of OpenShift take, and writes it for package
// versions, each fact with the repository, commit, file and line that say so:
//
//	refresh read.json DIR
//
// DIR/OWNER/NAME is a clone of each repository with its tags and release branches, bare or not. What refresh does not
// understand it refuses.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/manifest"
)

// The repositories that are read.
const (
	upstream = "operator-framework/operator-controller"
	operand  = "openshift/operator-framework-operator-controller"
	operator = "openshift/cluster-olm-operator"
	api      = "openshift/api"
)

// products have releases with v1 of the API: each is a ref of every repository, which is followed by a commit.
var products = []struct {
	name         versions.Product
	refs         *regexp.Regexp
	repositories []string
	read         func(*release)
}{
	{versions.OperatorController, regexp.MustCompile(`(?m)^refs/tags/(v[1-9]\d*\.\d+)\.\d+ .*\b(\w{40})`),
		[]string{upstream}, (*release).upstream},
	{versions.OpenShift, regexp.MustCompile(`(?m)^refs/(?:heads|remotes/origin)/release-` +
		`(4\.1[89]|4\.[2-9]\d|[5-9]\.\d+) (\w{40})`), []string{operand, operator, api}, (*release).openshift},
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("refresh read.json DIR")
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func run(file, dir string) error {
	var list []versions.Read
	for _, p := range products {
		var numbers []string
		commits := map[string]map[string]string{} // by release and repository
		for _, name := range p.repositories {
			refs, err := git(dir, name, "for-each-ref", "--sort=version:refname:lstrip=-1",
				"--format=%(refname) %(objectname) %(*objectname)")
			if err != nil {
				return err
			}
			for _, m := range p.refs.FindAllStringSubmatch(refs, -1) {
				if commits[m[1]] == nil {
					numbers, commits[m[1]] = append(numbers, m[1]), map[string]string{}
				}
				commits[m[1]][name] = m[2]
			}
		}
		for _, number := range numbers {
			r := release{Read: versions.Read{Of: p.name, Number: number, Commits: commits[number]}, dir: dir}
			if len(r.Commits) < len(p.repositories) {
				log.Printf("%s %s is left out: only %v have it", p.name, number, slices.Sorted(maps.Keys(r.Commits)))
				continue
			}
			if p.read(&r); r.err != nil {
				return r.err
			}
			list = append(list, r.Read)
		}
	}
	out, err := json.Marshal(list)
	if err != nil {
		return err
	}
	out = bytes.ReplaceAll(out, []byte("},{"), []byte("},\n{")) // a fact, a line
	return os.WriteFile(file, append(out, '\n'), 0o644)         //nolint:gosec // a file of the repository
}

// git returns what git prints of a repository. What it complains of goes to stderr.
func git(dir, repository string, args ...string) (string, error) {
	args = append([]string{"-C", filepath.Join(dir, repository)}, args...)
	cmd := exec.CommandContext(context.Background(), "git", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	return string(out), err
}

type release struct {
	versions.Read
	dir string
	err error // the first one; what was read then does not count
}

type file struct{ name, text string }

func (f file) line(n int) string { return fmt.Sprintf("%s:%d", f.name, n) }

// files returns the files of a repository whose paths have a pattern.
func (r *release) files(repository, paths string) (list []file) {
	commit := r.Commits[repository]
	names, err := git(r.dir, repository, "ls-tree", "-r", "--name-only", commit)
	for _, path := range regexp.MustCompile(`(?m)^(?:`+paths+`)$`).FindAllString(names, -1) {
		text, e := git(r.dir, repository, "show", commit+":"+path)
		list, err = append(list, file{repository + ":" + path, text}), cmp.Or(err, e)
	}
	r.err = cmp.Or(r.err, err)
	return list
}

// match is what a pattern found: its groups, and the source.
type match struct {
	groups []string
	source string
}

// find returns what a pattern finds in files of a repository. That they have nothing is an error.
func (r *release) find(repository, pattern, paths string) (list []match) {
	files := r.files(repository, paths)
	for _, f := range files {
		for _, at := range regexp.MustCompile(pattern).FindAllStringSubmatchIndex(f.text, -1) {
			m := match{source: f.line(strings.Count(f.text[:at[0]], "\n") + 1)}
			for i := 2; i < len(at); i += 2 {
				m.groups = append(m.groups, f.text[max(at[i], 0):max(at[i+1], 0)])
			}
			list = append(list, m)
		}
	}
	if len(list) == 0 && len(files) > 0 {
		r.err = cmp.Or(r.err, fmt.Errorf("%s of %s has nothing that refresh understands: read it, and change the "+
			"pattern %s", files[0].name, r.Number, pattern))
	}
	return list
}

// asked are the kinds and fields of which facts are written.
var asked = map[string][]string{
	olm.KindClusterCatalog: {""},
	olm.KindClusterExtension: {"", "spec.serviceAccount", "spec.config", "spec.progressDeadlineMinutes",
		"spec.source.catalog.selector"},
	"ClusterExtensionRevision": {"", "spec.phases", "spec.phases[].objects"},
	"ClusterObjectSet":         {"", "spec.phases", "spec.phases[].objects"},
}

// variant is what a set of manifests has, by what the facts are about.
type variant map[string]versions.Fact

func gate(name string, on bool, sources ...string) versions.Fact {
	f := versions.Fact{Gate: name, State: versions.Disabled, At: sources}
	if on {
		f.State = versions.Enabled
	}
	return f
}

// put puts a fact where it belongs, with more sources.
func (v variant) put(f versions.Fact, sources ...string) {
	f.At = slices.Concat(f.At, sources)
	v[f.Gate+f.Kind+" "+f.Field] = f
}

func (v variant) read(f file) error {
	for i, line := range strings.Split(f.text, "\n") {
		if _, arg, ok := strings.Cut(line, "--feature-gates="); ok {
			name, value, _ := strings.Cut(arg, "=")
			v.put(gate(name, value == "true", f.line(i+1)))
		}
	}
	documents, err := manifest.ReadFile(f.name, []byte(f.text), manifest.Limits{})
	for _, d := range documents {
		o, err := d.Object()
		if err != nil {
			return err
		}
		kind, _ := o.Get("spec", "names", "kind")
		name, _ := kind.(string) // of a CRD
		for _, field := range asked[name] {
			at := "spec.versions[0].schema.openAPIV3Schema"
			if field != "" {
				at += strings.NewReplacer("[].", ".items.properties.", ".", ".properties.").Replace("." + field)
			}
			path := decoded.Segments(at)
			if !o.Has(path...) {
				continue
			}
			found := versions.Fact{Kind: name, Field: field, State: versions.Accepted}
			required, _ := o.Get(append(slices.Clone(path[:len(path)-2]), "required")...)
			if list, _ := required.([]any); slices.Contains(list, any(path[len(path)-1])) {
				found.State = versions.Required
			}
			most, _ := o.Get(append(path, "maxItems")...)
			limit, _ := most.(int64)
			found.Limit = int(limit)
			v.put(found, f.line(o.LineOf(at)))
		}
	}
	return err
}

// code returns the feature gates as the code of operator-controller has them, and what its manifests have: the standard
// and the experimental ones, and the CRDs that the chart makes only with a feature gate.
func (r *release) code(repository, manifests string) (gates variant, variants map[string]variant) {
	gates, variants = variant{}, map[string]variant{}
	for _, m := range r.find(repository, `(?m)^\t(\w+):\s*\{\s*Default:\s*(true|false)`,
		`internal/(?:operator-controller/)?features/features\.go`) { // a constant has the name of its gate
		gates.put(gate(m.groups[0], m.groups[1] == "true", m.source))
	}
	for _, f := range r.files(repository, manifests) {
		name := "standard"
		switch {
		case strings.Contains(f.name, "/crd/experimental/"):
			name = "gated"
		case strings.Contains(f.name, "experimental"):
			name = "experimental"
		}
		if variants[name] == nil {
			variants[name] = variant{}
		}
		r.err = cmp.Or(r.err, variants[name].read(f))
	}
	return gates, variants
}

// upstream reads a release of operator-controller: its code, as its manifests set it.
func (r *release) upstream() {
	gates, variants := r.code(upstream, `manifests/(?:standard|experimental)\.yaml|`+
		`config/base/(?:[\w-]+/)?crd/bases/.*\.yaml`)
	for _, set := range slices.Backward(slices.Sorted(maps.Keys(variants))) {
		r.ship(versions.Set(set), gates, variants[set])
	}
}

// ship adds the facts of a feature set: the CRDs, and the code's feature gates, each as the last manifest sets it.
func (r *release) ship(set versions.Set, gates variant, manifests ...variant) {
	all := maps.Clone(gates)
	for _, m := range manifests {
		for about, f := range m {
			if _, ok := gates[about]; ok || f.Kind != "" {
				all[about] = f
			}
		}
	}
	r.Sets = append(r.Sets, set)
	for _, about := range slices.Sorted(maps.Keys(all)) {
		f := all[about]
		i := slices.IndexFunc(r.Facts, func(g versions.Fact) bool {
			g.Sets = nil
			return reflect.DeepEqual(f, g)
		})
		if i < 0 {
			i, r.Facts = len(r.Facts), append(r.Facts, f)
		}
		r.Facts[i].Sets = append(r.Facts[i].Sets, set)
	}
}

// feature is a feature gate of OpenShift: the feature sets that have it on in profile SelfManaged, and the sources.
type feature struct{ on, at []string }

var fixedSet = regexp.MustCompile(`(?:\bin|configv1\.)(Default|OKD|TechPreviewNoUpgrade|DevPreviewNoUpgrade)\b`)

// features returns the feature gates of OpenShift by the names of their Go variables.
func (r *release) features() map[string]feature {
	all, name := map[string]feature{}, ""
	for _, m := range r.find(api, `(FeatureGate\w+)\s*=\s*newFeatureGate\(|`+
		`\benable(In|ForClusterProfile)?\(((?:[^()]|\([^()]*\))*)\)\.`, `features/features\.go`) {
		args := m.groups[2]
		switch {
		case m.groups[0] != "":
			name = m.groups[0]
			all[name] = feature{at: []string{m.source}}
		case strings.Contains(args, "inVersion(") && strings.HasPrefix(name, "FeatureGateNewOLM"):
			r.err = fmt.Errorf("%s enables %s by version, which refresh does not understand", m.source, name)
		case !strings.Contains(m.groups[1]+args, "ClusterProfile") || strings.Contains(args, "SelfManaged"):
			f := feature{all[name].on, []string{m.source}}
			for _, set := range fixedSet.FindAllStringSubmatch(args, -1) {
				f.on = append(f.on, set[1])
			}
			all[name] = f
		}
	}
	return all
}

// mapping is how cluster-olm-operator sets a feature gate of operator-controller by one of OpenShift.
type mapping struct {
	feature
	gate, value string // enabled: as the other; false: always; empty: only if the other is on
}

// mapper returns how cluster-olm-operator maps feature gates.
func (r *release) mapper() (list []mapping) {
	features, by, names := r.features(), "", map[string]string{}
	for _, m := range r.find(operator, `(?m)^\t(\w+)\s*=\s*"(\w+)"|`+
		`^\t+features\.(FeatureGate\w+):\s*(?:\{(\w+)\}|func\()|`+
		`enable(?:OperatorController|Catalogd)Feature\(v, (enabled|false), (\w+)\)`,
		`internal/featuregates/mapper\.go`) {
		by = cmp.Or(m.groups[2], by)
		names[m.groups[0]] = m.groups[1]
		if name := names[m.groups[3]+m.groups[5]]; name != "" {
			list = append(list, mapping{feature{features[by].on, append(features[by].at, m.source)}, name, m.groups[4]})
		}
	}
	return list
}

// openshift reads a release of OpenShift: the code and the manifests of its branch, as cluster-olm-operator sets them.
func (r *release) openshift() {
	for _, m := range r.find(operand, `(?m)^\tk8s\.io/api v0\.(\d+)\.`, `go\.mod`) {
		r.Kubernetes, r.err = strconv.ParseUint(m.groups[0], 10, 64)
		r.At = append(r.At, m.source)
	}
	var sets []string
	for _, m := range r.find(api, `AllFixedFeatureSets = \[\]FeatureSet\{([^}]*)\}`, `config/v1/types_feature\.go`) {
		sets, r.At = strings.Split(m.groups[0], ", "), append(r.At, m.source)
	}
	gates, variants := r.code(operand, `openshift/(?:[\w-]+/)?manifests(?:-experimental)?(?:/[^/]+)?\.ya?ml|`+
		`helm/olmv1/base/operator-controller/crd/experimental/.*_clusterobjectsets\.yaml`)
	gating := r.find(operand, `has "(\w+)" \.Values\.options\.operatorController\.features\.enabled`,
		`helm/olmv1/templates/crds/.*-clusterobjectsets\..*`)
	mapped := r.mapper()
	named := r.find(operator, `case configv1\.(\w+):\s*(?:return true|useExperimental = true)\n|^`,
		`pkg/controller/builder\.go|cmd/cluster-olm-operator/main\.go`)
	anyGate := r.find(operator, `useExperimental := b\.UseExperimentalFeatureSet\(\) \|\| hasEnabledFeatureGates\n|`+
		`if hasEnabledFeatureGates \{\s*useExperimental = true\n`, `pkg/controller/helm\.go`)
	for _, set := range sets {
		managed, why := variant{}, []string(nil) // why the set gets the experimental manifests
		for _, m := range named {
			if m.groups[0] == set {
				why = []string{m.source}
			}
		}
		for _, m := range mapped {
			on := slices.Contains(m.on, set)
			if on || m.value != "" {
				managed.put(gate(m.gate, on && m.value != "false"), m.at...)
			}
			for _, rule := range anyGate { // it is enough that a feature gate is on that is mapped
				if on && why == nil {
					why = append([]string{rule.source}, m.at...)
				}
			}
		}
		shipped := variants["standard"]
		if why != nil && variants["experimental"] != nil {
			shipped = variant{}
			for _, f := range variants["experimental"] {
				shipped.put(f, why...)
			}
			for _, m := range gating {
				by := managed[m.groups[0]+" "]
				for _, f := range variants["gated"] {
					if by.State == versions.Enabled {
						shipped.put(f, append(by.At, m.source)...)
					}
				}
			}
		}
		r.ship(versions.Set(set), gates, shipped, managed)
	}
}
