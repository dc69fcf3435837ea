package tree

import (
	"cmp"
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/base/watch"
	"github.com/olmgen/olmgen/internal/charts"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/repos"
	"github.com/olmgen/olmgen/internal/tree/kustomization"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// Root is what a GitOps engine applies at once: the path of an Application of Argo CD or a Kustomization of Flux, a
// kustomization that no other one of the tree builds on, or a directory of manifests that no kustomization reaches.
type Root struct {
	Name    string             // of the directory, in messages
	Objects []*manifest.Object // as they are applied: of two of one name that differ the last one
	Hidden  []world.Duplicate  // the others
	Unknown *manifest.Error    // why it cannot be built; nil if it can
	Cluster string             // what names the cluster: mostly a directory whose roots are in it
	Alone   bool               // nothing says which roots are in one cluster with it
	Of      string             // the directory that other roots are overlays of, too, so that each is a cluster
	Above   []string           // roots of the cluster that have the objects that apply it

	dir   string           // absolute
	files []string         // that it is built of, if it cannot be; absolute
	by    *manifest.Object // of an engine, that applies it; may be nil
	bases []string         // the directories that it builds on, in messages
	below bool             // its directory is in that of its cluster, or is it

	placed bool  // policies make it, in the clusters of a placement
	node   *node // nil for plain manifests
}

// inCluster is the cluster that a directory is in, or the directory itself, if it shares that with no other.
type inCluster struct {
	dir    string
	shared bool
}

type applied struct {
	options Options
	paths   []given
	builder *kustomization.Builder
	top     string // the repository, or the first path if there is none
	roots   []*kustomization.Kustomization
	asked   map[*kustomization.Kustomization]bool // those of roots that are a path
	files   []string                              // that are paths, in messages
	repos   *repos.Repos
	entries map[string][]entry // of repositories, by their directories, once they are needed
	reached map[string]bool    // files that a kustomization names, with symbolic links resolved
	charts  *charts.Reader
	step    func(total int) // is told that one more of the roots is built
	// template fills a Go template.
	template func(text string, values map[string]any) (string, error)
	found    map[string]string // directories with a chart, by their names in messages

	names      []string             // of paths, in messages
	inClusters map[string]inCluster // what clusterDir has said of directories
	references []string             // directories of kube-compare
	unused     []string             // components that nothing builds on

	parted map[string]bool // directories that are roots of plain manifests in a tree to compare with, relative

	tree    *Tree              // without what is applied
	plain   []*manifest.Object // of the files that no kustomization names
	dropped map[string]bool    // files and directories that only a tree to compare with applies, relative
}

func (a *applied) isDropped(name string) bool {
	if len(a.dropped) == 0 {
		return false
	}
	rel, _ := (&Tree{paths: a.names}).Rel(name)
	return a.dropped[rel]
}

type given struct{ name, real, in string } // in: in the repository, or empty

// apply finds the kustomizations among the files below some paths.
func apply(ctx context.Context, files []file, paths []string, o Options) *applied {
	a := &applied{options: o, inClusters: map[string]inCluster{}, asked: map[*kustomization.Kustomization]bool{},
		reached: map[string]bool{}, found: map[string]string{}, repos: repos.New(o.Repos),
		entries: map[string][]entry{},
		dropped: map[string]bool{},
		step:    func(total int) { watch.Step(ctx, "building kustomizations", total) }}
	a.repos.Give = o.RepoOption
	for _, p := range paths {
		if real, err := realPath(p); err == nil && p != Stdin {
			a.paths = append(a.paths, given{p, real, inside(o.repository(real), real)})
			a.names = append(a.names, o.name(p, "."))
		}
	}
	var dirs []string
	named := map[string]bool{} // a path that is a kustomization is a root, whatever builds on it
	for _, f := range files {
		if f.skip == "" && f.path != Stdin && slices.Contains(kustomization.Names(), path.Base(f.name)) {
			dir := filepath.Dir(f.path)
			named[dir] = named[dir] || f.named && !f.found
			if o.All || !o.hidden(f.name) && !a.apart(f.name) {
				dirs = append(dirs, dir)
			}
		}
		if f.found && path.Base(f.name) == "Chart.yaml" {
			a.found[o.dir(f.name)] = filepath.Dir(f.path)
		}
		if f.named && !f.found {
			a.files = append(a.files, f.name)
		}
	}
	if len(a.paths) == 0 {
		return a
	}
	a.findRoots(ctx, dirs, named)
	return a
}

// findRoots finds the roots among the kustomizations in directories. named are those that are paths.
func (a *applied) findRoots(ctx context.Context, dirs []string, named map[string]bool) {
	o := a.options
	for _, p := range a.paths {
		named[p.real] = true
	}
	top := cmp.Or(o.Top, repository(a.paths[0].real))
	a.top = cmp.Or(top, a.paths[0].real)
	a.builder = kustomization.New(top, filepath.Dir(a.paths[0].real), a.name)
	a.builder.Repos = a.repos
	a.charts = &charts.Reader{Top: a.top, Repos: a.repos, Named: a.name, Renderer: o.Charts, KubeVersion: o.KubeVersion}
	a.builder.Render = func(dir string, r charts.Release, build bool) ([]*manifest.Object, error) {
		return a.charts.Render(ctx, dir, r, build)
	}
	a.template = func(text string, values map[string]any) (string, error) { return a.charts.Fill(ctx, text, values) }
	if o.Output != "" {
		a.builder.Without(resolved(o.Output))
	}
	used, reached := a.follow(dirs), map[string]bool{}
	var reach func(k *kustomization.Kustomization)
	reach = func(k *kustomization.Kustomization) {
		if k != nil && !reached[k.Dir] {
			reached[k.Dir] = true
			for _, base := range k.Bases {
				reach(a.builder.Load(base))
			}
		}
	}
	root := func(dir string, is bool) {
		if k := a.builder.Load(dir); k != nil && is && !slices.Contains(a.roots, k) {
			a.roots = append(a.roots, k)
			a.asked[k] = named[dir]
			reach(k)
		}
	}
	for _, dir := range dirs {
		k := a.builder.Load(dir)
		root(dir, named[dir] || k != nil && !used[dir] && !k.IsComponent())
	}
	for _, dir := range dirs { // what is built on only by what it builds on: a cycle, which kustomize refuses
		root(dir, used[dir] && !reached[dir])
		if k := a.builder.Load(dir); k != nil && !reached[dir] {
			a.unused = append(a.unused, k.Name) // a component of nothing
		}
	}
}

// follow loads kustomizations and all that they build on, and notes the files. It returns the directories of bases.
func (a *applied) follow(dirs []string) (used map[string]bool) {
	used = map[string]bool{}
	seen := map[string]bool{}
	var follow func(dir string)
	follow = func(dir string) {
		k := a.builder.Load(dir)
		if k == nil || seen[dir] {
			return
		}
		seen[dir] = true
		a.reached[k.File] = true
		for _, name := range k.Files {
			a.reached[name] = true
			if real, err := filepath.EvalSymlinks(name); err == nil {
				a.reached[real] = true
			}
		}
		for _, base := range k.Bases {
			used[base] = true
			follow(base)
		}
	}
	for i, dir := range dirs {
		if real, err := realPath(dir); err == nil {
			dirs[i] = real
			follow(real)
		}
	}
	return used
}

// hidden reports whether a directory of a file begins with a dot.
func (o Options) hidden(name string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(o.below(name)), "/"), func(segment string) bool {
		return strings.HasPrefix(segment, ".") && strings.Trim(segment, ".") != ""
	})
}

func repository(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// inside returns a path relative to the repository, or "" if it is in none.
func inside(top, real string) string {
	if top == "" {
		return ""
	}
	rel, err := filepath.Rel(top, real)
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// name returns the name of a file in messages: as the path that leads to it was given.
func (a *applied) name(abs string) string {
	best := ""
	for _, p := range a.paths {
		rel, err := filepath.Rel(p.real, abs)
		if err != nil {
			continue
		}
		if filepath.IsLocal(rel) {
			return a.options.name(p.name, rel)
		}
		best = cmp.Or(best, a.options.name(p.name, rel))
	}
	if name, ok := a.repos.Name(abs); ok {
		return name
	}
	return cmp.Or(best, filepath.ToSlash(abs))
}

// resolved returns an absolute path without symbolic links; what does not exist has none.
func resolved(p string) string {
	abs := absolute(p)
	if real, err := filepath.EvalSymlinks(abs); err == nil || filepath.Dir(abs) == abs {
		return cmp.Or(real, abs)
	}
	return filepath.Join(resolved(filepath.Dir(abs)), filepath.Base(abs))
}

func absolute(p string) string {
	if abs, err := filepath.Abs(p); err == nil {
		return abs
	}
	return p
}

// complete builds the roots of a tree, and decides which other objects are applied.
func (a *applied) complete(t *Tree) error {
	t.paths, a.references = a.names, t.references
	for _, p := range a.paths[:min(len(a.paths), 1)] {
		t.base = p.real
	}
	read := *t
	read.Objects = nil
	a.tree, a.plain = &read, t.Objects
	a.defined(a.plain)
	x := a.explore()
	if x.tooMany != nil {
		x.tooMany.Tip = "read fewer directories at once"
		return x.tooMany
	}
	*t = *x.assemble()
	return nil
}

// assemble makes the tree of what is built.
func (x *explorer) assemble() *Tree {
	read := *x.tree
	t, a, plain := &read, x.applied, x.plain
	t.explored = x
	t.Faults, t.Skipped, t.Templated = slices.Clone(t.Faults), slices.Clone(t.Skipped), slices.Clip(t.Templated)
	t.Charts, t.Addresses = a.chartsOf(), a.repos.Named()
	plain = lists.Filter(plain, func(o *manifest.Object) bool {
		gone := a.isDropped(o.File) && !x.taken[o.File]
		if gone {
			t.Unapplied = append(t.Unapplied, o.File)
		}
		return !gone
	})
	for _, k := range a.roots {
		if a.isDropped(a.name(k.Dir)) {
			t.Unapplied = append(t.Unapplied, k.Name)
		}
	}
	if a.charts != nil {
		t.Templated = append(append(t.Templated, a.charts.Random...), a.builder.Unsaid...)
	}
	if len(x.nodes) == 0 {
		a.onlyPlain(t, plain)
	} else {
		nodes := lists.Filter(x.nodes, func(n *node) bool { return n.unknown != nil })
		unbuilt := lists.Set(nodes, func(n *node) string { return n.name }) // files in them may be parts of it
		plain = slices.DeleteFunc(slices.Clone(plain), func(o *manifest.Object) bool {
			return x.taken[o.File] || x.rendered(o.File) || unbuilt[a.options.dir(o.File)]
		})
		t.Skipped = slices.DeleteFunc(t.Skipped, func(s Skipped) bool { return x.rendered(s.Path) })
		t.Files += len(a.reached)
		applies := a.plainRoots(t, plain, x.nodes)
		a.unapplied(t, func(file string) bool {
			return x.taken[file] || applies[a.options.dir(file)] && !a.apart(file)
		})
	}
	for i := range t.Roots {
		r := &t.Roots[i]
		var templated []*manifest.Error
		r.Objects, templated = withTemplates(r.Objects)
		t.Templated = append(t.Templated, templated...)
	}
	t.Roots = append(x.list(t), t.Roots...)
	for i := range t.Roots {
		t.Roots[i].hide()
	}
	a.gather(t)
	for _, r := range t.Roots {
		t.Objects = append(t.Objects, r.Objects...)
	}
	t.Objects = lists.Unique(t.Objects)
	first := func(same []*manifest.Error) *manifest.Error { return same[0] }
	t.Templated = lists.Map(lists.Groups(t.Templated, (*manifest.Error).Error), first)
	return t
}

// onlyPlain makes the roots of a tree without kustomizations and engines: each cluster directory below a path, and
// the rest.
func (a *applied) onlyPlain(t *Tree, plain []*manifest.Object) {
	objects := lists.Filter(plain, func(o *manifest.Object) bool {
		if a.loose(o.File) {
			t.Unapplied = append(t.Unapplied, o.File)
		}
		return !a.loose(o.File)
	})
	rest := ""
	if len(a.paths) > 0 {
		rest = a.options.name(a.paths[0].name, ".")
	}
	a.splitPlain(t, objects, len(a.paths) == 1 && !a.options.Strict, func(dir string) string {
		in, is := a.clusterDir(dir)
		if rel, below := t.Rel(in); is && below && rel != "." {
			return in
		}
		return rest
	})
	a.unapplied(t, func(file string) bool { return !a.apart(file) })
}

// splitPlain adds the roots of plain manifests, by the root of each directory. branch: those that exclude each other
// are roots of their own.
func (a *applied) splitPlain(t *Tree, objects []*manifest.Object, branch bool, root func(dir string) string) {
	top := func(o *manifest.Object) string { return root(a.options.dir(o.File)) }
	for _, same := range lists.Groups(objects, top) {
		in := top
		if branch {
			in = a.branches(top(same[0]), same)
		}
		for _, of := range lists.Groups(same, in) {
			t.Roots = append(t.Roots, Root{Name: in(of[0]), Objects: of})
		}
	}
}

// hide takes out the objects that a later one takes the place of.
func (r *Root) hide() {
	for _, o := range r.Objects {
		o.Root = cmp.Or(o.Root, r.Name)
	}
	if _, r.Hidden = world.Counted(r.Objects, ""); len(r.Hidden) > 0 {
		hidden := lists.Set(r.Hidden, func(d world.Duplicate) *manifest.Object { return d.Object })
		r.Objects = lists.Filter(r.Objects, func(o *manifest.Object) bool { return !hidden[o] })
	}
}

func (a *applied) isPath(dir string) bool {
	return slices.ContainsFunc(a.paths, func(p given) bool { return a.options.name(p.name, ".") == dir })
}

// given reports whether a root is one of the paths, or has files that are.
func (a *applied) given(root string) bool {
	return slices.ContainsFunc(a.paths, func(p given) bool {
		name := a.options.name(p.name, ".")
		return name == root || a.options.dir(name) == root && slices.Contains(a.files, name)
	})
}

// plainRoots adds the directories of which no kustomization names anything, if they are a path of Read or have objects
// of OLM or of a GitOps engine: nobody knows whether something applies the others. It returns their names.
func (a *applied) plainRoots(t *Tree, plain []*manifest.Object, built []*node) (applies map[string]bool) {
	applies = map[string]bool{}
	beside := map[string]bool{} // directories of which a kustomization names something
	for file := range a.reached {
		beside[a.options.dir(a.name(file))] = true
	}
	for _, p := range a.paths {
		applies[a.options.name(p.name, ".")] = true
	}
	for _, o := range plain {
		dir := a.options.dir(o.File)
		if a.loose(o.File) {
			continue
		}
		applies[dir] = applies[dir] || o.File == StdinFile || a.options.All ||
			(a.options.Plain || !beside[dir] && handsOver(o)) && !a.options.hidden(o.File)
	}
	copied := a.copied(plain, built)
	kept := lists.Filter(plain, func(o *manifest.Object) bool {
		is := (applies[a.options.dir(o.File)] || applies[o.File]) && !a.loose(o.File) &&
			!copied[a.options.dir(o.File)]
		if !is {
			t.Unapplied = append(t.Unapplied, o.File)
		}
		return is
	})
	a.splitPlain(t, kept, true, a.plainRoot)
	return applies
}

// copied returns the directories, in no cluster directory, whose operators are just those of a root or of another such
// directory: what a generator wrote, or must write. Nobody knows which one is applied, or where.
func (a *applied) copied(plain []*manifest.Object, built []*node) map[string]bool {
	copies := map[string]bool{}
	if a.options.All || a.options.Plain || a.options.Other != "" {
		return copies
	}
	has := map[string]string{} // the first place with some operators, by their texts
	note := func(place string, objects []*manifest.Object) {
		texts := lists.Map(lists.Filter(objects, isOfOLM), func(o *manifest.Object) string {
			v, _ := o.Value()
			return string(manifest.Encode(v))
		})
		operators := strings.Join(lists.SortedUnique(texts), "---\n")
		if first, is := has[operators]; is && operators != "" {
			copies[first], copies[place] = true, true
		} else {
			has[operators] = place
		}
	}
	for _, n := range built {
		note(n.name, n.objects)
	}
	dir := func(o *manifest.Object) string { return a.options.dir(o.File) }
	for _, objects := range lists.Groups(plain, dir) {
		if in := dir(objects[0]); !a.isPath(in) {
			if _, clusters := a.clusterDir(in); !clusters {
				note(in, objects)
			}
		}
	}
	return copies
}

// plainRoot returns the root of a directory of manifests: all that are in no cluster directory are applied together.
func (a *applied) plainRoot(dir string) string {
	if in, ok := a.clusterDir(dir); ok || len(a.paths) == 0 {
		return in
	}
	for _, p := range a.paths {
		base := a.options.name(p.name, ".")
		if base == "." || strings.HasSuffix(base, ":.") || dir == base || strings.HasPrefix(dir, base+"/") {
			return base
		}
	}
	return dir
}

// handsOver reports whether OLM, an engine or another controller installs or applies what an object names or has.
func handsOver(o *manifest.Object) bool {
	return isOfOLM(o) || isOfEngine(o) || carriers[o.Kind+"."+o.Group()] != ""
}

// isOfOLM reports whether OLM acts on an object.
func isOfOLM(o *manifest.Object) bool {
	switch o.Kind {
	case operatorsv1.OperatorGroupKind, v1alpha1.SubscriptionKind, v1alpha1.ClusterServiceVersionKind:
		return o.Group() == olm.Group
	case olm.KindClusterExtension:
		return o.Group() == olm.GroupV1
	}
	return o.Group() == olm.GroupPolicy
}

// unapplied counts the files that no root applies. What cannot be read of them is no fault of the tree.
func (a *applied) unapplied(t *Tree, applies func(file string) bool) {
	apart := func(file string) bool {
		if applies(file) {
			return false
		}
		t.Unapplied = append(t.Unapplied, file)
		return true
	}
	t.Faults = slices.DeleteFunc(t.Faults, func(e *manifest.Error) bool { return apart(e.File) })
	t.Skipped = slices.DeleteFunc(t.Skipped, func(s Skipped) bool { return apart(s.Path) })
	t.Unapplied = append(t.Unapplied, a.unused...)
	slices.Sort(t.Unapplied)
	t.Unapplied = slices.Compact(t.Unapplied)
}

// Below reports whether a file is below the paths of Read: kustomizations name others too.
func (t *Tree) Below(file string) bool {
	_, below := t.Rel(file)
	return below || len(t.paths) == 0
}

// Rel returns a name relative to the path of Read that it is below or, if it is below none, to the only one. Of several
// it returns the name itself.
func (t *Tree) Rel(name string) (rel string, below bool) {
	for _, base := range t.paths {
		if strings.HasPrefix(base, name+"/") {
			return ".", true
		}
		if rel, below := relative(base, name); below {
			return rel, true
		}
	}
	if len(t.paths) == 1 {
		revision, base, is := strings.Cut(t.paths[0], ":")
		if below, of := strings.CutPrefix(name, revision+":"); is && of {
			name = below
		} else {
			base = t.paths[0]
		}
		if up, err := filepath.Rel(base, name); err == nil {
			return filepath.ToSlash(up), false
		}
	}
	return name, false
}

// relative returns a name relative to a path, both in messages, if it is below that or the path itself.
func relative(base, name string) (rel string, below bool) {
	if name == base {
		return ".", true
	}
	rest, below := strings.CutPrefix(name, base)
	if base == "." || strings.HasSuffix(base, ":.") {
		rest, below = strings.CutPrefix(name, strings.TrimSuffix(base, "."))
	} else if below {
		rest, below = strings.CutPrefix(rest, "/")
	}
	return rest, below && !strings.HasPrefix(rest, "../")
}

// Of returns the tree of one cluster: what is known of all files stays with the first.
func (t *Tree) Of(c Cluster, first bool) *Tree {
	out := &Tree{paths: t.paths, Objects: c.Objects, Engines: c.engines,
		Roots: []Root{{Name: c.Name, Cluster: c.Name, Objects: c.Objects, Hidden: c.Hidden}}}
	if first {
		out.Skipped, out.Faults, out.Failed, out.Strays, out.Files = t.Skipped, t.Faults, t.Failed, t.Strays, t.Files
	}
	return out
}

// Hidden returns the objects that a later one of their root takes the place of.
func (t *Tree) Hidden() []world.Duplicate {
	return lists.Unique(slices.Concat(lists.Map(t.Roots, func(r Root) []world.Duplicate { return r.Hidden })...))
}

// Duplicates returns the objects of one name that differ, in the roots and between those of each cluster.
func (t *Tree) Duplicates() (list []world.Duplicate) {
	for _, c := range t.Clusters(nil) {
		_, found := world.Counted(c.Objects, "")
		list = append(list, slices.Concat(c.Hidden, found)...)
	}
	return lists.Unique(list)
}

// Unknown returns why roots could not be built.
func (t *Tree) Unknown() []*manifest.Error {
	all := lists.Map(t.Roots, func(r Root) *manifest.Error { return r.Unknown })
	return slices.DeleteFunc(all, func(e *manifest.Error) bool { return e == nil })
}

// UnappliedText returns how many files nothing applies, as a sentence, or "".
func (t *Tree) UnappliedText() string {
	if len(t.Unapplied) == 0 {
		return ""
	}
	verb := "are"
	if len(t.Unapplied) == 1 {
		verb = "is"
	}
	return text.Count(len(t.Unapplied), "file") + " " + verb + " applied by nothing that olmgen knows, such as " +
		t.Unapplied[0]
}
