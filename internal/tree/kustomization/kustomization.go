// Package kustomization builds kustomizations as kustomize does, from files below one directory. It starts no process,
// opens no connection, and says which file and line each field of the result is from.
package kustomization

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/regular"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/charts"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/repos"
	"github.com/olmgen/olmgen/manifest"
)

// Render returns the objects of the chart in a directory. build: with the charts of other directories that it needs.
type Render func(dir string, r charts.Release, build bool) ([]*manifest.Object, error)

// Builder builds kustomizations. It reads each file once.
type Builder struct {
	Render Render            // nil: charts are not rendered
	Repos  *repos.Repos      // that kustomizations may name
	Unsaid []*manifest.Error // what kustomizations that can be built leave unknown
	// Placements say for which clusters generators make their policies, by the names of these.
	Placements map[string]string

	top      string                  // no file outside of this directory is read; "" is no limit
	links    string                  // without top: no symbolic link leads out of this directory
	named    func(abs string) string // the name of a file in messages
	without  string                  // the directory that no kustomization builds on; "" is none
	raw      map[string]*source      // files that kustomize makes data of, as they are
	parsed   map[string]bool         // files that kustomize reads as YAML
	dirs     map[string]*Kustomization
	with     map[string]*Kustomization // that options make
	files    map[string]*source
	patterns map[string]*regexp.Regexp // of the targets of patches
	bytes    int64                     // that were read
	squares  int64                     // of the objects of each root: kustomize compares each with each
	steps    int64                     // of renaming
	text     int64                     // bytes of the files of each root
}

// New returns a Builder. top is the directory that no file is read outside of, absolute and without symbolic links; if
// empty, only symbolic links are followed no further than to links. named returns the name of a file in messages.
func New(top, links string, named func(abs string) string) *Builder {
	return &Builder{top: top, links: links, named: named, Repos: repos.New(nil), dirs: map[string]*Kustomization{},
		Placements: map[string]string{}, with: map[string]*Kustomization{},
		raw: map[string]*source{}, parsed: map[string]bool{},
		files: map[string]*source{}, patterns: map[string]*regexp.Regexp{}}
}

// Without has kustomizations built as if they did not build on a directory, which need not exist.
func (b *Builder) Without(dir string) { b.without = dir }

// Kustomization is one kustomization file, with what it names.
type Kustomization struct {
	Dir     string   // absolute
	File    string   // absolute
	Name    string   // of the file, in messages
	Bases   []string // the directories that it builds on, components too; absolute
	Files   []string // the files that it names; absolute
	Unknown error    // why it cannot be built whatever its bases are, usually a *manifest.Error; nil if it can

	doc       *manifest.Document
	data      []byte
	spec      types.Kustomization
	options   Options
	fetched   map[string]string  // paths of what is in a checkout, by entries
	bytes     int64              // of its files, as often as they are named
	own       int                // patches of its file; those of the options follow
	objects   int                // of its charts
	resources []string           // its files of objects; absolute
	charted   bool               // chartFile has the objects of its charts
	policies  []*manifest.Object // generators of policies
	cost      *cost
	built     *built
	made      []*original // what originals returns, once it was asked
	text      []byte      // what content returns
	patches   []patch
	read      bool // patches are
}

// IsComponent reports whether it is of kind Component, which only others can build.
func (k *Kustomization) IsComponent() bool { return k.spec.Kind == types.ComponentKind }

// Names are the names of kustomization files.
func Names() []string { return konfig.RecognizedKustomizationFileNames() }

// Load returns the kustomization of a directory, an absolute path, or nil if it has none.
func (b *Builder) Load(dir string) *Kustomization {
	if k, ok := b.dirs[dir]; ok {
		return k
	}
	var found []string
	for _, name := range Names() {
		name = filepath.Join(dir, name)
		info, err := os.Stat(name)
		if err == nil && info.Mode().IsRegular() || err != nil && regular.IsAbsent(name) {
			found = append(found, name)
		}
	}
	var k *Kustomization
	if len(found) > 0 {
		k = &Kustomization{Dir: dir, File: found[0], Name: b.named(found[0])}
		if slices.ContainsFunc(b.source(k.File).objects, func(o *manifest.Object) bool {
			return o.Kind != "" && o.APIVersion != "" && o.Group() != Group // such as a Kustomization of Flux
		}) {
			k = nil
		} else if len(found) > 1 {
			k.Unknown = &manifest.Error{File: k.Name, Msg: "the directory has also " + filepath.Base(found[1]),
				Tip: "keep one of the two"}
		} else if err := b.parse(k); err != nil {
			k.Unknown = err
		}
	}
	b.dirs[dir] = k
	return k
}

// Closure returns the files that a kustomization and all that it builds on name, in a fixed order, with those of its
// charts.
func (b *Builder) Closure(k *Kustomization) (files []string) {
	for _, k := range b.withBases(k) {
		files = append(append(files, k.File), k.Files...)
		for _, c := range k.spec.HelmCharts {
			home := cmp.Or(k.spec.HelmGlobals, &types.HelmGlobals{}).ChartHome
			files = append(files, regular.Files(filepath.Join(k.Dir, cmp.Or(home, "charts"), c.Name))...)
		}
	}
	return files
}

// Below returns the directories of all that a kustomization builds on.
func (b *Builder) Below(k *Kustomization) (dirs []string) {
	for _, base := range b.withBases(k)[1:] {
		dirs = append(dirs, base.Dir)
	}
	return dirs
}

// Beside returns what a kustomization is built of beside its files: what its options set, and what charts have made.
// That is not known of one that surely cannot be built.
func (b *Builder) Beside(k *Kustomization) (text string, known bool) {
	text = string(k.data)
	for _, k := range b.withBases(k) {
		if k.Unknown != nil || slices.ContainsFunc(k.Bases, func(dir string) bool { return b.Load(dir) == nil }) {
			return "", false
		}
		if chart := b.files[filepath.Join(k.Dir, chartFile)]; chart != nil {
			text += string(chart.data)
		}
	}
	return text, true
}

// withBases returns a kustomization with all that it builds on.
func (b *Builder) withBases(k *Kustomization) (list []*Kustomization) {
	seen := map[string]bool{}
	var visit func(*Kustomization)
	visit = func(k *Kustomization) {
		if k == nil || seen[k.Dir] {
			return
		}
		seen[k.Dir], list = true, append(list, k)
		for _, dir := range k.Bases {
			visit(b.Load(dir))
		}
	}
	visit(k)
	return list
}

// Group is the API group of kustomizations.
const Group = "kustomize.config.k8s.io"

// parse reads the file of a kustomization, and looks for what it names.
func (b *Builder) parse(k *Kustomization) error {
	s := b.source(k.File)
	if s.err != nil {
		return s.err
	}
	if len(s.docs) != 1 {
		return &manifest.Error{File: k.Name, Msg: text.Count(len(s.docs), "document"),
			Tip: "a kustomization has one"}
	}
	k.doc, k.data = s.docs[0], s.data
	if err := k.spec.Unmarshal(s.data); err != nil {
		_, why, _ := strings.Cut(text.OneLine(err.Error()), ": ")
		return &manifest.Error{File: k.Name, Msg: "not a kustomization: " + why}
	}
	if reflect.DeepEqual(k.spec, types.Kustomization{TypeMeta: k.spec.TypeMeta}) {
		return &manifest.Error{File: k.Name, Msg: "the kustomization is empty"}
	}
	k.own = len(k.spec.Patches)
	return b.entries(k)
}

// entries notes everything that a kustomization names. The error is about the first thing that is not here.
func (b *Builder) entries(k *Kustomization) error {
	var first error
	note := func(err error) { first = cmp.Or(first, err) }
	if len(k.spec.HelmChartInflationGenerator) > 0 {
		note(k.errorf("helmChartInflationGenerator", "olmgen renders what is in helmCharts instead"))
	}
	for _, list := range []struct {
		field string
		items []string
	}{{"resources", k.spec.Resources}, {"bases", k.old().bases}, {"components", k.spec.Components}} {
		for i, entry := range list.items {
			if b.leavesOut(k, entry) {
				continue
			}
			note(b.entry(k, fmt.Sprintf("%s[%d]", list.field, i), entry, true))
		}
	}
	for i, p := range slices.Concat(k.spec.Patches, k.old().json) {
		if !(&source{data: []byte(p.Patch)}).aliases() {
			continue
		}
		if _, err := values(p.Patch); err != nil {
			field := fmt.Sprintf("patches[%d].patch", i)
			if n := i - len(k.spec.Patches); n >= 0 {
				field = fmt.Sprintf("patchesJson6902[%d].patch", n)
			}
			note(k.errorf(field, "its aliases multiply"))
		}
	}
	for _, named := range k.named() {
		if err := b.entry(k, named.field, named.entry, false); err != nil {
			note(err)
		} else if file := k.Files[len(k.Files)-1]; !strings.Contains(named.field, "Generator") {
			b.parsed[file] = true
		} else if b.raw[file] == nil {
			b.raw[file] = &source{}
		}
	}
	note(b.plugins(k))
	note(b.charts(k))
	return first
}

// leavesOut reports whether an entry is in the directory that nothing is built on.
func (b *Builder) leavesOut(k *Kustomization, entry string) bool {
	return b.without != "" && regular.Below(b.without, filepath.Join(k.Dir, filepath.FromSlash(entry)))
}

// oldFields are fields that kustomize still reads.
type oldFields struct {
	bases  []string
	json   []types.Patch
	merged []types.PatchStrategicMerge
}

func (k *Kustomization) old() oldFields {
	return oldFields{k.spec.Bases, k.spec.PatchesJson6902, k.spec.PatchesStrategicMerge} //nolint:staticcheck // in use
}

type named struct{ field, entry string }

// named returns the files that a kustomization names beside its resources.
func (k *Kustomization) named() (list []named) {
	add := func(field string, entries ...string) {
		for i, entry := range entries {
			list = append(list, named{strings.ReplaceAll(field, "*", strconv.Itoa(i)), entry})
		}
	}
	ofPatch := func(p types.Patch) string { return p.Path }
	add("configurations[*]", k.spec.Configurations...)
	add("crds[*]", k.spec.Crds...)
	add("patches[*].path", lists.Map(k.spec.Patches, ofPatch)...)
	add("patchesJson6902[*].path", lists.Map(k.old().json, ofPatch)...)
	add("patchesStrategicMerge[*]", lists.Map(k.old().merged, func(p types.PatchStrategicMerge) string {
		if isMapping(string(p)) {
			return ""
		}
		return string(p)
	})...)
	ofReplacement := func(r types.ReplacementField) string { return r.Path }
	add("replacements[*].path", lists.Map(k.spec.Replacements, ofReplacement)...)
	k.generators(func(field, _ string, args types.GeneratorArgs) {
		for _, entry := range slices.Concat(args.FileSources, args.EnvSources, []string{args.EnvSource}) {
			if _, file, ok := strings.Cut(entry, "="); ok {
				entry = file
			}
			add(field, entry)
		}
	})
	add("openapi.path", k.spec.OpenAPI["path"])
	return slices.DeleteFunc(list, func(n named) bool { return n.entry == "" })
}

// generators visits the generators of ConfigMaps and Secrets: their fields, and the kinds that they make.
func (k *Kustomization) generators(visit func(field, kind string, args types.GeneratorArgs)) {
	for i, g := range k.spec.ConfigMapGenerator {
		visit(fmt.Sprintf("configMapGenerator[%d]", i), "ConfigMap", g.GeneratorArgs)
	}
	for i, g := range k.spec.SecretGenerator {
		visit(fmt.Sprintf("secretGenerator[%d]", i), "Secret", g.GeneratorArgs)
	}
}

func (k *Kustomization) errorf(field, format string, args ...any) *manifest.Error {
	return k.doc.Errorf(field, format, args...)
}

// entry notes a file or directory that a kustomization names. What looks like an address is one to kustomize.
func (b *Builder) entry(k *Kustomization, field, entry string, dirs bool) error {
	real, err := b.leads(k, entry)
	address, below, known := repos.Entry(entry)
	switch {
	case !isAddress(entry) && (err == nil || !known && !strings.Contains(entry, "://") &&
		!strings.Contains(entry, "?ref=")): // it is a path
	case !known || !dirs:
		return k.errorf(field, remote)
	default:
		if real, err = b.Repos.Find(address, below); err != nil {
			return b.Repos.Missing(k.errorf(field, remote), address)
		}
		k.fetch(b, entry, real)
	}
	if filepath.IsAbs(entry) {
		return k.errorf(field, "%s is an absolute path", text.Shorten(entry, maxEntry))
	}
	info := fs.FileInfo(nil)
	if err == nil {
		info, err = os.Stat(real)
	}
	switch {
	case errors.Is(err, regular.ErrOutside):
		return k.errorf(field, "%s %s", entry, err.Error())
	case err != nil:
		return k.errorf(field, "%s %s", text.Shorten(entry, maxEntry), regular.Missing(k.at(entry)))
	case info.IsDir() && !dirs:
		return k.errorf(field, "%s is a directory", entry)
	case info.IsDir():
		k.Bases = append(k.Bases, real)
	case !info.Mode().IsRegular():
		return k.errorf(field, "%s is not a regular file", entry)
	default:
		abs := k.at(entry)
		k.Files = append(k.Files, abs)
		k.bytes += min(info.Size(), int64(fileLimits().FileBytes)) // of a larger one, its error says so
		if dirs {
			b.parsed[abs] = true
			k.resources = append(k.resources, abs)
		}
	}
	return nil
}

// fetch has an entry stand for what is in a checkout. kustomize reads a file of another directory only if it fetches
// it: here its name is one that no directory has.
func (k *Kustomization) fetch(b *Builder, entry, real string) {
	if info, err := os.Stat(real); err == nil && info.Mode().IsRegular() {
		s := b.source(real)
		real = filepath.Join(k.Dir, fmt.Sprintf("%s%x.yaml", madeFile, real))
		b.files[real] = s
	}
	if k.fetched == nil {
		k.fetched = map[string]string{}
	}
	k.fetched[entry] = real
}

// at returns the path of what a kustomization names.
func (k *Kustomization) at(entry string) string {
	if abs, ok := k.fetched[entry]; ok {
		return abs
	}
	return filepath.Join(k.Dir, filepath.FromSlash(entry))
}

const remote = "it is remote, and olmgen reads what is in the tree"

const maxEntry = 100 // characters of an entry in a message

// isAddress reports whether kustomize fetches an entry (api/internal/loader: IsRemoteFile).
func isAddress(entry string) bool {
	u, err := url.Parse(entry)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https")
}

// isMapping reports whether the text of an entry is a document itself, not the name of a file.
func isMapping(entry string) bool {
	docs, _ := values(entry)
	return slices.ContainsFunc(docs, func(v any) bool { return olm.Mapping(v) != nil })
}

// values returns the values of the documents of a text, and the first error.
func values(text string) (list []any, first error) {
	docs, first := manifest.ReadFile("", []byte(text), fileLimits())
	for _, d := range docs {
		v, err := d.Value()
		list, first = append(list, v), cmp.Or(first, err)
	}
	return list, first
}

// plugins refuses generators, transformers and validators that are programs, render charts or fetch files.
func (b *Builder) plugins(k *Kustomization) error {
	for _, list := range []struct {
		field string
		items []string
	}{{"generators", k.spec.Generators}, {"transformers", k.spec.Transformers}, {"validators", k.spec.Validators}} {
		for i, entry := range list.items {
			field := fmt.Sprintf("%s[%d]", list.field, i)
			var docs []*manifest.Document
			if isMapping(entry) {
				docs, _ = manifest.ReadFile(k.Name, []byte(entry), fileLimits())
			} else {
				if err := b.entry(k, field, entry, false); err != nil {
					return err
				}
				b.parsed[k.Files[len(k.Files)-1]] = true
				s := b.source(k.Files[len(k.Files)-1])
				if s.err != nil {
					return s.err
				}
				docs = s.docs
			}
			generates := list.field == "generators" && len(docs) > 0
			if generates && !slices.ContainsFunc(docs, func(d *manifest.Document) bool {
				o, err := d.Object()
				_, broken := d.Value()
				return err != nil || broken != nil || !makesPolicies(o)
			}) {
				for _, d := range docs {
					g, _ := d.Object()
					if err := b.noteManifests(k, g); err != nil {
						return err
					}
				}
				k.spec.Generators = lists.Filter(k.spec.Generators, func(g string) bool { return g != entry })
				continue
			}
			for _, d := range docs {
				v, err := d.Value()
				if err != nil {
					return err
				}
				m := olm.Mapping(v)
				if m["apiVersion"] != "builtin" || m["kind"] == "HelmChartInflationGenerator" {
					return k.errorf(field, "it needs the plugin %v, and olmgen starts no program", m["kind"])
				}
				if hasAddress(v) {
					return k.errorf(field, remote)
				}
			}
		}
	}
	return nil
}

// hasAddress reports whether a value has a text that kustomize could fetch.
func hasAddress(v any) bool {
	switch v := v.(type) {
	case string:
		return isAddress(strings.TrimSpace(v)) || strings.Contains(strings.ToLower(v), "=http")
	case []any:
		return slices.ContainsFunc(v, hasAddress)
	case map[string]any:
		return lists.Any(maps.Values(v), hasAddress)
	}
	return false
}
