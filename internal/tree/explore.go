package tree

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/regular"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/tree/kustomization"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/manifest"
)

// node is a root of a tree that may turn out to be a part of another one.
type node struct {
	name, dir string
	objects   []*manifest.Object
	unknown   *manifest.Error
	files     []string // that an unknown one is built of, absolute
	templated []*manifest.Error

	k      *kustomization.Kustomization // nil for none
	later  bool                         // it is the same in another tree, and waits
	beside string                       // what it is built of beside files, if these are the same there
	target target                       // that waits, or that is not there
	absent bool                         // the directory of the target is not there
	argo   bool                         // Argo CD applies it
	sync   []string                     // options of Argo CD
	makes  []string                     // namespaces that Argo CD makes for it
	placed [][]*manifest.Object         // objects, where they are of several clusters

	asked    bool             // a path of Read
	from     *node            // whose objects it was found by; nil for none
	by       *manifest.Object // of an engine, that applies it first; nil if nothing does
	app      string           // the Application, if by is a set, and its name is known
	parents  []*node          // that have objects of an engine that apply it
	clusters []string         // of plain manifests that do, and of destinations
	bases    []string         // directories that it builds on, in messages
	visited  bool
}

// held is an object and the root that has it, nil for one of a plain manifest.
type held struct {
	o  *manifest.Object
	in *node
}

type nodeKey struct {
	k         *kustomization.Kustomization
	dir       string
	namespace string
	plain     plainOptions
	by        string // the object whose variables count, or that renders the chart, with the values
}

type explorer struct {
	*applied
	tree     *Tree
	followed int
	looked   int // by generators
	tooMany  *manifest.Error
	plain    []*manifest.Object
	nodes    []*node
	byKey    map[nodeKey]*node
	replaced map[string]bool             // directories that are applied as engines say, or as a part of such a one
	taken    map[string]bool             // files, in messages, that are
	said     map[string]bool             // what is not known
	variants map[string]int              // roots of a directory
	byName   map[named]map[string][]held // and by the cluster of the file, "" if that is in none
	crossed  map[string]bool             // clusters of files that others apply, too
	next     int                         // of nodes: its objects are to be followed
	parent   *node                       // whose objects are followed
	orphans  []held                      // objects of engines that are followed if no engine applies them
	reached  map[manifest.Place]bool     // those that one does
	acted    []held                      // objects of engines that were followed
	unclear  map[*manifest.Object]bool   // objects of engines: it is not known all that they apply

	substituted *budget.Meter                 // what variables make
	open        map[*manifest.Object][]string // objects of engines with a variable whose value is not known

	here map[string]bool // repositories that the tree has a directory of, with the revision

	compared map[string]fileState          // by absolute paths
	built    map[string][]*manifest.Object // by what nodes are built of beside files
}

const (
	maxRoots = 5_000 // that engines apply
	maxTimes = 3     // that a directory is applied by what it applies itself, with other options each time
)

// explore builds the kustomizations, and what the objects of GitOps engines in them and in plain manifests apply.
func (a *applied) explore() *explorer {
	for without := map[string]bool{}; ; {
		x := a.exploreWithout(without)
		n := len(without)
		if maps.Copy(without, x.unlisted()); len(without) == n || x.tooMany != nil {
			return x
		}
	}
}

// exploreWithout is explore, which does not read objects for engines in some files.
func (a *applied) exploreWithout(files map[string]bool) *explorer {
	t := *a.tree
	t.Templated = slices.Clip(t.Templated)
	x := &explorer{applied: a, tree: &t, plain: a.plain, byKey: map[nodeKey]*node{}, replaced: map[string]bool{},
		substituted: budget.NewMeter(budget.Tree), taken: map[string]bool{}, said: map[string]bool{},
		variants: map[string]int{}, byName: map[named]map[string][]held{}, crossed: map[string]bool{},
		compared: map[string]fileState{}, built: map[string][]*manifest.Object{}, here: map[string]bool{},
		reached: map[manifest.Place]bool{},
		open:    map[*manifest.Object][]string{}, unclear: map[*manifest.Object]bool{}}
	plain := lists.Filter(a.plain, func(o *manifest.Object) bool { return !files[o.File] && !a.isDropped(o.File) })
	x.keep(nil, plain)
	for _, k := range a.roots {
		if !a.isDropped(a.name(k.Dir)) {
			x.build(nodeKey{k: k, dir: k.Dir}, target{}, nil).asked = a.asked[k]
		}
		a.step(len(a.roots))
	}
	for _, o := range plain {
		if o.File != StdinFile && (a.options.All || !a.options.hidden(o.File)) && !a.loose(o.File) {
			x.follow(o, nil)
		}
	}
	x.followNew()
	for _, h := range x.ordered() {
		if h.in != nil && (h.in.by != nil || !x.replaced[h.in.dir]) || !x.reached[placeOf(h.o)] {
			x.reach(h.o, h.in)
			x.followNew()
		}
	}
	x.await()
	x.nodes = slices.DeleteFunc(x.nodes, func(n *node) bool { return !x.alive(n) || n.absent && !x.lacks(n) })
	for _, n := range x.nodes {
		x.variants[n.dir]++
	}
	return x
}

func (x *explorer) alive(n *node) bool { return n.asked || n.by != nil || !x.replaced[n.dir] }

// follow adds the roots that an object of an engine applies. parent is nil for one of a plain manifest. What no engine
// is known to apply comes last: what an engine applies differs from the file by variables, patches and namespaces.
func (x *explorer) follow(o *manifest.Object, parent *node) {
	switch {
	case !isOfEngine(o) || x.top == "":
	case parent == nil || parent.by == nil:
		x.orphans = append(x.orphans, held{o, parent})
	default:
		x.reached[placeOf(o)] = true
		x.reach(o, parent)
	}
}

// followNew follows the objects of the roots that are new.
func (x *explorer) followNew() {
	for ; x.next < len(x.nodes); x.next++ {
		for _, o := range x.nodes[x.next].objects {
			x.follow(o, x.nodes[x.next])
		}
	}
}

// ordered returns the objects that no engine is known to apply, each after those that apply its directory.
func (x *explorer) ordered() (list []held) {
	appliers, done := map[string][]held{}, map[held]bool{}
	for _, h := range x.orphans {
		spec := olm.Mapping(olm.Get(h.o, "spec"))
		for _, source := range slices.Concat(olm.Items(spec["sources"]), []any{spec, spec["source"]}) {
			if dir, ok := olm.Mapping(source)["path"].(string); ok {
				dir = x.name(filepath.Join(x.top, filepath.FromSlash(clean(dir))))
				appliers[dir] = append(appliers[dir], h)
			}
		}
	}
	var add func(h held)
	add = func(h held) {
		if done[h] {
			return
		}
		done[h] = true
		dir := x.options.dir(h.o.File)
		if h.in != nil {
			dir = h.in.name
		}
		for _, up := range append(x.parents(dir), x.name(x.top)) {
			of := appliers[up]
			delete(appliers, up)
			for _, first := range of {
				add(first)
			}
		}
		list = append(list, h)
	}
	for _, h := range x.orphans {
		add(h)
	}
	return list
}

// parents returns a directory and those above it.
func (x *explorer) parents(dir string) (list []string) {
	for list = []string{dir}; dir != x.options.dir(dir); list = append(list, dir) {
		dir = x.options.dir(dir)
	}
	return list
}

func (x *explorer) reach(o *manifest.Object, parent *node) {
	if x.tooMany != nil {
		return
	}
	x.parent, x.acted = parent, append(x.acted, held{o, parent})
	if isOfFlux(o) && olm.Get(o, "spec", "suspend") == true {
		x.say(o.Errorf("spec.suspend", "Flux changes nothing of %s while it is suspended", o.Identity()))
	}
	targets, unknown := x.targetsOf(o)
	for _, e := range unknown {
		if !errors.Is(e, errTwice) {
			x.unclear[o] = true
		}
		if !x.said[e.Error()] && (errors.Is(e, errRefused) || errors.Is(e, errTwice)) {
			x.said[e.Error()] = true
			x.nodes = append(x.nodes, &node{name: o.File, by: o, unknown: e, clusters: []string{x.clusterOf(o)}})
		}
	}
	x.say(unknown...)
	for _, t := range targets {
		if i := slices.IndexFunc(x.open[o], func(v string) bool { return strings.Contains(t.dir, v) }); i >= 0 {
			x.say(o.Errorf(t.field, "the value of %s is not known", x.open[o][i]))
			continue
		}
		if x.followed++; x.followed > maxRoots {
			x.tooMany = o.Errorf("spec", "with it, engines apply more than %d directories", maxRoots)
			return
		}
		n := x.apply(t, parent)
		if dir, shared := x.clusterDir(n.name); shared {
			x.cross(x.options.dir(o.File), dir)
		}
		if n.by == nil {
			n.by, n.app = o, t.app
		}
		n.argo, n.sync = n.argo || t.plain != nil, append(n.sync, t.sync...)
		if slices.Contains(t.sync, "CreateNamespace=true") {
			n.makes = append(n.makes, t.namespace)
		}
		switch {
		case t.elsewhere && t.destination != "":
			n.clusters = append(n.clusters, x.label(t.destination))
		case t.elsewhere:
		case parent == nil:
			n.clusters = append(n.clusters, x.clusterOf(o))
		case parent != n:
			n.parents = append(n.parents, parent)
		}
	}
}

// clusterOf returns the cluster of a manifest.
func (x *explorer) clusterOf(o *manifest.Object) string {
	cluster, _ := x.clusterDir(x.options.dir(o.File))
	return cluster
}

// apply returns the root of a target.
func (x *explorer) apply(t target, from *node) *node {
	real, err := regular.Inside(x.repos.Limit(t.dir, x.top), t.dir)
	info := os.FileInfo(nil)
	if err == nil {
		info, err = os.Stat(real)
	}
	if err != nil || !info.IsDir() {
		n := &node{name: x.name(t.dir), dir: t.dir, target: t, absent: true}
		x.nodes = append(x.nodes, n)
		return n
	}
	x.here[t.repository()] = t.address != "" && x.repos.Dir(t.address) == ""
	x.replaced[real] = true
	key := nodeKey{dir: real, namespace: t.namespace}
	if t.postBuild != nil {
		key.by = fmt.Sprintf("%s:%d %s", t.by.File, t.by.Line, t.postBuild.settle(x))
	}
	if x.isChart(t, real) {
		key.by = fmt.Sprintf("%s:%d %s %s", t.by.File, t.by.Line, t.chart.name, t.chart.settle(x))
	} else if key.k = x.builder.With(real, t.options); key.k != nil {
		x.take(key.k)
	} else if t.plain != nil {
		key.plain = *t.plain
	}
	return x.build(key, t, from)
}

// lacks reports whether this repository is the one that lacks the directory of a target, and notes that. It is if the
// tree, or the one before it, has another directory of it; else the directory may be in another repository.
func (x *explorer) lacks(n *node) bool {
	t, in := n.target, n.target.repository()
	if !x.here[in] && (x.options.Like == nil || !x.options.Like.explored.here[in]) {
		x.say(x.repos.Missing(t.by.Errorf(t.field, "the path is not in this repository"), t.address))
		x.unclear[t.by] = true
		return false
	}
	rel, _ := filepath.Rel(x.top, t.dir)
	n.unknown = t.by.Errorf(t.field, "there is no directory %s", filepath.ToSlash(rel))
	if near := nearest(x.top, filepath.ToSlash(rel)); near != "" {
		n.unknown.Msg += ": the nearest is " + near
	}
	return true
}

// nearest returns the directory whose path is most likely meant; "" if none is close.
func nearest(top, rel string) (near string) {
	for segment := range strings.SplitSeq(rel, "/") {
		entries, _ := os.ReadDir(filepath.Join(top, near)) // nothing is close to what is not readable
		dirs := lists.Filter(entries, fs.DirEntry.IsDir)
		name := text.Nearest(segment, lists.Map(dirs, fs.DirEntry.Name))
		if name == "" {
			return ""
		}
		near = path.Join(near, name)
	}
	return near
}

func (x *explorer) say(list ...*manifest.Error) {
	for _, e := range list {
		if !x.said[e.Error()] {
			x.said[e.Error()] = true
			x.tree.Templated = append(x.tree.Templated, e)
		}
	}
}

func has(dir, file string) bool {
	_, err := os.Lstat(filepath.Join(dir, file))
	return err == nil
}

func (x *explorer) take(k *kustomization.Kustomization) {
	for _, file := range append(slices.Clone(k.Files), k.File) {
		x.taken[x.name(file)] = true
	}
	for _, dir := range k.Bases {
		if base := x.builder.Load(dir); base != nil && !x.replaced[dir] {
			x.replaced[dir] = true
			x.take(base)
		}
	}
}

// build returns the root with a key, which it makes if there is none.
func (x *explorer) build(key nodeKey, t target, from *node) *node {
	if n, ok := x.byKey[key]; ok {
		return n
	}
	n := &node{dir: key.dir, name: x.name(key.dir), k: key.k, from: from}
	if key.k != nil {
		n.bases = lists.Map(key.k.Bases, x.name)
	}
	x.byKey[key] = n
	x.nodes = append(x.nodes, n)
	times := 0
	for up := from; up != nil; up = up.from {
		if up.dir == n.dir {
			times++
		}
	}
	if times >= maxTimes {
		n.unknown = t.by.Errorf(t.field, "%s applies itself, with other options each time", n.name)
		return n
	}
	if x.compare(n, key.k, t) {
		n.later, n.target = true, t
		return n
	}
	objects, err := x.objects(n, key, t)
	if err == nil && t.postBuild != nil {
		objects, err = t.postBuild.apply(objects, x)
	}
	if err == nil {
		err = cmp.Or(x.unsettled(t, objects), t.refused(objects))
	}
	x.made(n, t.withNamespace(objects), err)
	return n
}

// placed returns what generated policies keep, for each of several placements, or nil: nobody knows which clusters have
// two of them. The first part is the rest.
func (x *explorer) placed(objects []*manifest.Object) [][]*manifest.Object {
	parts := lists.Groups(slices.Concat([]*manifest.Object{nil}, objects), func(o *manifest.Object) string {
		if o == nil || o.Kind != olm.KindPolicy {
			return ""
		}
		return x.builder.Placements[o.Name]
	})
	if len(parts) < 3 {
		return nil
	}
	parts[0] = parts[0][1:]
	for i := range parts {
		parts[i], _ = withTemplates(parts[i])
	}
	return parts
}

// objects returns what a root applies: what its kustomization builds, what its chart renders, or the manifests of its
// directory.
func (x *explorer) objects(n *node, key nodeKey, t target) ([]*manifest.Object, error) {
	switch {
	case key.k != nil:
		return x.kustomized(n, key.k)
	case x.isChart(t, key.dir):
		return x.chartObjects(t, key.dir)
	case t.plain == nil:
		return nil, t.by.Errorf(t.field, "the directory has no Chart.yaml")
	}
	dir, all := x.name(key.dir), x.plain
	if !slices.ContainsFunc(x.paths, func(p given) bool { return regular.Below(p.real, key.dir) }) {
		var err error
		if all, err = x.others(key); err != nil {
			return nil, err
		}
	}
	takes := func(file string) bool {
		rel, below := relative(dir, file)
		return below && key.plain.takes(rel)
	}
	for _, e := range x.tree.Faults {
		if takes(e.File) {
			x.taken[e.File] = true
		}
	}
	var out []*manifest.Object
	for _, o := range all {
		if takes(o.File) {
			x.taken[o.File] = true
			out = append(out, o)
		}
	}
	return out, nil
}

// others returns the objects of a directory of manifests that is below no path of Read.
func (x *explorer) others(key nodeKey) ([]*manifest.Object, error) {
	files, failed := find([]string{key.dir}, Options{Exclude: x.options.Exclude,
		Named: func(rel string) string { return x.name(filepath.Join(key.dir, filepath.FromSlash(rel))) }})
	limits, meter := whole.Limits(budget.TreeFile), budget.NewMeter(budget.Tree)
	limits.Charge = meter.Charge
	files = slices.DeleteFunc(files, func(f file) bool {
		rel, err := filepath.Rel(key.dir, f.path)
		return err != nil || !key.plain.takes(filepath.ToSlash(rel))
	})
	t := collect(files, lists.Map(files, func(f file) result {
		f.named = true
		return f.read(Options{}, limits)
	}))
	failed = append(failed, t.Failed...)
	for _, s := range t.Skipped {
		failed = append(failed, &manifest.Error{File: s.Path, Msg: s.Why})
	}
	if over := meter.Over(); over != "" {
		failed = []error{manifest.OverLimit(&manifest.Error{File: x.name(key.dir), Msg: over})}
	}
	if len(failed) > 0 {
		return nil, failed[0]
	}
	return t.Objects, nil
}

// named is what objects of engines name others by.
type named struct{ group, kind, name string }

// keep notes objects of a root, or plain ones, for what names them.
func (x *explorer) keep(in *node, objects []*manifest.Object) {
	for _, o := range objects {
		key, dir := named{o.Group(), o.Kind, o.Name}, x.ofFile(o)
		if in != nil {
			x.cross(in.name, dir)
		}
		if x.byName[key] == nil {
			x.byName[key] = map[string][]held{}
		}
		x.byName[key][dir] = append(x.byName[key][dir], held{o, in})
	}
}

func placeOf(o *manifest.Object) manifest.Place { return manifest.Place{File: o.File, Line: o.Line} }

// homes returns the clusters that an object is in.
func (x *explorer) homes(h held) []string {
	if h.in != nil {
		return x.clustersOf(h.in)
	}
	return []string{x.clusterOf(h.o)}
}

// ofFile returns the cluster that the file of an object is in, "" if it is in none.
func (x *explorer) ofFile(o *manifest.Object) string {
	if dir, shared := x.clusterDir(x.options.dir(o.File)); shared {
		return dir
	}
	return ""
}

// cross notes that something applies what is in the files of a cluster, and is not in them itself.
func (x *explorer) cross(by, dir string) {
	if in, shared := x.clusterDir(by); dir != "" && (!shared || in != dir) {
		x.crossed[dir] = true
	}
}

// candidates returns the objects of a name that may be in the cluster of a file.
func (x *explorer) candidates(of named, dir string) (list []held) {
	dirs := append(lists.Keys(x.crossed), "", dir)
	if dir == "" {
		dirs = lists.Keys(x.byName[of])
	}
	for _, dir := range lists.SortedUnique(dirs) {
		list = append(list, x.byName[of][dir]...)
	}
	return list
}

// holder returns an object that one of Flux names: the only one of the tree, or of the cluster.
func (x *explorer) holder(group, kind string, by *manifest.Object, namespace, name string) *manifest.Object {
	namespace = cmp.Or(namespace, by.Namespace)
	all, near := map[manifest.Place]*manifest.Object{}, map[manifest.Place]*manifest.Object{}
	x.late(name)
	in := x.homes(held{by, x.parent})
	dir := x.ofFile(by)
	for _, h := range x.candidates(named{group, kind, name}, dir) {
		o := h.o
		if o.Namespace == namespace || o.Namespace == "" || namespace == "" {
			here := lists.Any(slices.Values(x.homes(h)), func(dir string) bool { return slices.Contains(in, dir) })
			if here || dir == "" || x.ofFile(o) == "" { // else it is of another cluster
				all[placeOf(o)] = o // what is filled later wins
			}
			if here {
				near[placeOf(o)] = o
			}
		}
	}
	if len(near) == 1 {
		all = near
	}
	for _, o := range all {
		if len(all) == 1 {
			return o
		}
	}
	return nil
}

// carriers are kinds whose objects have others in them, for clusters that a controller selects, and the fields.
var carriers = map[string]string{
	"SelectorSyncSet.hive.openshift.io":                      "spec.resources",
	"SyncSet.hive.openshift.io":                              "spec.resources",
	"ManifestWork.work.open-cluster-management.io":           "spec.workload",
	"ManifestWorkReplicaSet.work.open-cluster-management.io": "spec.manifestWorkTemplate",
	"Subscription.apps.open-cluster-management.io":           "spec.channel",
	"ClusterGroupUpgrade.ran.openshift.io":                   "spec.managedPolicies",
	"ClusterResourceSet.addons.cluster.x-k8s.io":             "spec.resources",
	"GitRepo.fleet.cattle.io":                                "spec.repo",
}

// withTemplates returns objects with those that policies keep in a cluster.
func withTemplates(objects []*manifest.Object) (all []*manifest.Object, unknown []*manifest.Error) {
	all = slices.Clip(objects)
	for _, o := range objects {
		if field := carriers[o.Kind+"."+o.Group()]; field != "" && o.Has(strings.Split(field, ".")...) {
			unknown = append(unknown, o.Errorf(field, "olmgen does not read what a %s applies", o.Kind))
		}
		more, why := olm.ObjectTemplates(o)
		all, unknown = append(all, more...), append(unknown, why...)
	}
	return all, unknown
}

func (x *explorer) list(t *Tree) (list []Root) {
	for _, n := range x.nodes {
		if x.variants[n.dir] > 1 && n.by != nil { // others apply the directory in another way
			for _, o := range n.objects {
				o.Root = fmt.Sprintf("%s (%s)", n.name, n.by.Identity())
			}
		}
		for _, c := range x.clustersOf(n) {
			root := Root{Name: n.name, Objects: n.objects, Unknown: n.unknown, Cluster: c, dir: n.dir,
				bases: n.bases, files: n.files, by: n.by, node: n}
			for up := n.from; up != nil; up = up.from {
				root.Above = append(root.Above, up.name)
			}
			for i, part := range n.placed {
				if root.Objects = part; i == len(n.placed)-1 {
					break
				}
				list = append(list, root)
				root.Name = fmt.Sprintf("%s (placement of Policy %s)", n.name, n.placed[i+1][0].Name)
				root.Cluster, root.bases, root.placed = root.Name, nil, true
			}
			list = append(list, root)
		}
		t.Templated = append(t.Templated, n.templated...)
	}
	return list
}
