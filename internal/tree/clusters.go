package tree

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// gather decides which roots are in one cluster, and which are overlays of one directory: those are two. Nobody knows
// it of the others.
func (a *applied) gather(t *Tree) {
	for i := range t.Roots {
		r := &t.Roots[i]
		if r.placed {
			continue // in any cluster
		}
		own, shared := a.cluster(r.Name)
		if r.Cluster == "" { // plain manifests
			rel, _ := t.Rel(r.Name)
			r.Cluster = own
			for _, p := range a.paths[:min(len(a.paths), 1)] {
				r.dir = filepath.Join(p.real, filepath.FromSlash(rel))
			}
		}
		r.below = shared && r.Cluster == own
		r.Alone = !shared && r.Cluster == r.Name
	}
	join(t.Roots, a.written, func(same, _ []Root) []Root {
		names := lists.Set(same, func(r Root) string { _, name := a.overlay(t, r); return name })
		if delete(names, ""); len(names) > 1 {
			return nil
		}
		return same
	})
	dirs := map[string]string{} // of clusters, by the last part of their names
	for _, r := range t.Roots {
		if _, shared := a.clusterDir(r.Name); shared && !r.placed {
			dirs[path.Base(r.Cluster)] = r.Cluster
		}
	}
	join(t.Roots, func(r Root) string {
		_, name := a.overlay(t, r)
		if dirs[name] == "" && name != "" {
			return a.label(path.Join("overlays", name))
		}
		return dirs[name]
	}, func(same, all []Root) []Root {
		apart, in := map[string]bool{}, map[*manifest.Object]string{} // an object may be one of a base of several
		var objects []*manifest.Object
		for _, r := range all {
			for _, o := range r.Objects {
				in[o] = r.Name
			}
			objects = append(objects, r.Objects...)
		}
		for _, pair := range excluding(objects) {
			if a, b := in[pair[0]], in[pair[1]]; a != b {
				apart[a], apart[b] = true, true
				t.Templated = append(t.Templated, pair[1].Errorf("", "%s and %s (%s:%d) exclude each other: "+
					"%s and %s, overlays of one name, are not taken for one cluster", pair[1].Identity(),
					pair[0].Identity(), pair[0].File, pair[0].Line, b, a))
			}
		}
		same = slices.DeleteFunc(same, func(r Root) bool { return apart[r.Name] })
		if len(lists.Set(all, func(r Root) string { application, _ := a.overlay(t, r); return application })) < 2 {
			return nil
		}
		return same
	})
	t.undecided()
}

// undecided finds the roots that are in no cluster with others, and those of them that are overlays of one directory.
func (t *Tree) undecided() {
	in, on := map[string]int{}, map[string]int{}
	for _, r := range t.Roots {
		in[r.Cluster]++
		for _, base := range r.bases {
			if r.Alone {
				on[base]++
			}
		}
	}
	for i := range t.Roots {
		r := &t.Roots[i]
		r.Alone = r.Alone && in[r.Cluster] == 1 || r.placed
		if j := slices.IndexFunc(r.bases, func(base string) bool { return on[base] > 1 }); r.Alone && j >= 0 {
			r.Of = r.bases[j]
		}
	}
}

// join puts roots that are alone, and of which in names one cluster, into it: those that fit takes of them, with those
// that are there already and what engines apply for one of them.
func join(roots []Root, in func(Root) string, fit func(same, all []Root) []Root) {
	alone := lists.Filter(roots, func(r Root) bool { return r.Alone })
	for _, same := range lists.Groups(alone, in) {
		to := in(same[0])
		if to == "" {
			continue
		}
		of := func(list []Root) func(Root) bool {
			was := lists.Set(list, func(r Root) string { return r.Cluster })
			return func(r Root) bool { return was[r.Cluster] }
		}
		there := of(append([]Root{{Cluster: to}}, same...))
		joins := of(fit(same, lists.Filter(roots, there)))
		for i := range roots {
			if joins(roots[i]) {
				roots[i].Cluster, roots[i].Alone = to, false
			}
		}
	}
}

// written returns the outermost directory that olmgen has written and that a root is in, by its lock (package output:
// LockName); "" if there is none.
func (a *applied) written(r Root) (outermost string) {
	for dir := r.dir; dir != "" && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, "olmgen.lock")); err == nil {
			outermost = a.name(dir)
		}
		if dir == a.top {
			break
		}
	}
	return outermost
}

// overlay returns the application that a root is an overlay of, and the name of the overlay, which may be one of a
// cluster; "" if it is none.
func (a *applied) overlay(t *Tree, r Root) (application, name string) {
	rel, _ := t.Rel(r.Name)
	dir, base := path.Split(rel)
	application = path.Clean(dir)
	if i := strings.LastIndex("/"+rel, "/overlays/"); i >= 0 {
		application, base = rel[:i], rel[i+len("overlays/"):]
	} else if !slices.Contains(r.bases, path.Join(strings.TrimSuffix(a.options.dir(r.Name), "."), "base")) {
		return "", ""
	}
	if slices.ContainsFunc(strings.Split(base, "/"), isNoCluster) {
		return application, ""
	}
	return application, base
}

// label returns the name of a cluster that is no directory.
func (a *applied) label(name string) string {
	if a.options.Named != nil {
		return a.options.Named(name)
	}
	return name
}

// excluding returns pairs of objects that exclude each other: two that differ, and two OperatorGroups of a namespace.
func excluding(objects []*manifest.Object) (pairs [][2]*manifest.Object) {
	groups := map[string]*manifest.Object{}
	for _, o := range objects {
		if o.Group() != olm.Group || o.Kind != operatorsv1.OperatorGroupKind {
			continue
		}
		if other := groups[o.Namespace]; other != nil && other.Name != o.Name {
			pairs = append(pairs, [2]*manifest.Object{other, o})
		}
		groups[o.Namespace] = o
	}
	_, found := world.Counted(objects, "")
	for _, d := range found {
		pairs = append(pairs, [2]*manifest.Object{d.Object, d.Other})
	}
	return pairs
}

// branches returns the root of each object of plain manifests. Directories that exclude each other, such as the
// alternatives of a library, are roots of their own, from where their paths part; so are those that exclude each other
// in a tree to compare with.
func (a *applied) branches(root string, objects []*manifest.Object) func(*manifest.Object) string {
	apart := map[string]bool{}
	for _, pair := range excluding(objects) {
		in, shared := a.clusterDir(a.options.dir(pair[0].File))
		if other, _ := a.clusterDir(a.options.dir(pair[1].File)); shared && in == other {
			continue
		}
		dirs := [2][]string{strings.Split(a.options.dir(pair[0].File), "/"),
			strings.Split(a.options.dir(pair[1].File), "/")}
		n := 0
		for n < min(len(dirs[0]), len(dirs[1])) && dirs[0][n] == dirs[1][n] {
			n++
		}
		if n < len(dirs[0]) && n < len(dirs[1]) { // neither is in the other
			apart[strings.Join(dirs[0][:n+1], "/")], apart[strings.Join(dirs[1][:n+1], "/")] = true, true
		}
	}
	top := &Tree{paths: a.names}
	return func(o *manifest.Object) string {
		up := a.options.dir
		for dir := up(o.File); len(apart)+len(a.parted) > 0 && dir != up(dir); dir = up(dir) {
			if rel, below := top.Rel(dir); apart[dir] || below && a.parted[rel] {
				return dir
			}
		}
		return root
	}
}

// cluster returns the directory whose roots are in one cluster with a root, and whether something says so: the first
// path of several, one of Options.Clusters, or one right below "clusters" or its like. Otherwise it is the root itself.
func (a *applied) cluster(root string) (dir string, shared bool) {
	if len(a.paths) > 1 && a.given(root) {
		return a.options.name(a.paths[0].name, "."), true
	}
	return a.clusterDir(root)
}

// clusterDir is cluster of a root that is no path of several.
func (a *applied) clusterDir(root string) (dir string, shared bool) {
	if known, ok := a.inClusters[root]; ok {
		return known.dir, known.shared
	}
	defer func() { a.inClusters[root] = inCluster{dir, shared} }()
	if dir, ok := a.chosen(root); ok {
		return dir, true
	}
	in, within := a.inRepository(root)
	segments := strings.Split(in, "/")
	i := slices.IndexFunc(segments, func(s string) bool {
		return slices.Contains([]string{"clusters", "environments", "envs"}, s[strings.LastIndex(s, ":")+1:])
	}) + 1
	if i > 0 && i < len(segments) && segments[i] == "overlays" {
		i++
	}
	if i == 0 || i >= len(segments) || isForAll(segments[i]) {
		return root, false
	}
	up, own := len(segments)-i-1, strings.Split(root, "/")
	if up >= len(own) {
		return within, true // the path, which is below the directory
	}
	return strings.Join(own[:len(own)-up], "/"), true
}

// inRepository returns a root as the repository calls it, whatever path leads to it, and that path. Without a
// repository it has the name that was given.
func (a *applied) inRepository(root string) (in, within string) {
	for _, p := range a.paths {
		base := a.options.name(p.name, ".")
		if rel, below := relative(base, root); below && p.in != "" {
			return name(p.in + "/" + rel), base
		}
	}
	return root, root
}

// isForAll reports whether a directory has what all clusters share.
func isForAll(name string) bool {
	return slices.Contains([]string{"base", "bases", "common", "default", "shared", "all"}, name)
}

// noCluster are names of overlays for a part of a cluster, or for a channel or a release.
var noCluster = lazy.Regexp(`^(overlays?|components?|operators?|instances?|` +
	`apps?|applications?|examples?|samples?|main|master|latest|alpha|beta|v?[0-9.]+|` +
	`(stable|fast|candidate|eus|release|preview|(tech|dev)-preview)([-.].*)?|.*[0-9]\.[0-9x].*)$`)

// isNoCluster reports whether an overlay is not one for a cluster.
func isNoCluster(name string) bool { return isForAll(name) || noCluster().MatchString(name) }

// chosen returns the directory of Options.Clusters that a root is below.
func (a *applied) chosen(root string) (string, bool) {
	for _, dir := range a.options.Clusters {
		if dir = name(dir); root == dir || strings.HasPrefix(root, dir+"/") || dir == "." {
			return dir, true
		}
	}
	return "", false
}

// clustersOf returns the clusters that a root is in: those of what applies it, or its own.
func (x *explorer) clustersOf(n *node) (list []string) {
	if n.visited {
		return nil
	}
	n.visited = true
	defer func() { n.visited = false }()
	if dir, ok := x.cluster(n.name); ok && dir != n.name {
		if _, chosen := x.chosen(n.name); chosen || n.asked {
			return []string{dir}
		}
	}
	list = slices.Clone(n.clusters)
	for _, p := range n.parents {
		twins := lists.Any(slices.Values(n.bases), func(base string) bool { return slices.Contains(p.bases, base) })
		if x.alive(p) && !twins { // overlays of one base are two clusters
			list = append(list, x.clustersOf(p)...)
		}
	}
	if len(list) == 0 {
		own, shared := x.cluster(n.name)
		if !shared && x.variants[n.dir] > 1 && n.by != nil {
			own = fmt.Sprintf("%s (%s)", own, n.by.Identity())
		}
		return []string{own}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Cluster is the objects of the roots that are in one cluster.
type Cluster struct {
	Name    string // mostly of a directory
	Rel     string // the same relative to the path of Read
	Roots   int
	Objects []*manifest.Object // of all roots: world.Counted says which of two of one name count
	Hidden  []world.Duplicate  // those that a later one of their root takes the place of

	engines []Root // that an engine applies
}

// Clusters returns the clusters of a tree with at least one root that could be built, in the order of their roots. What
// another tree, which may be nil, says to be one cluster is one here too.
func (t *Tree) Clusters(like *Tree) (list []Cluster) {
	built := lists.Filter(t.Roots, func(r Root) bool { return r.Unknown == nil })
	in := t.in(like)
	for _, roots := range lists.Groups(built, in) {
		c := Cluster{Rel: in(roots[0]), Roots: len(roots)}
		c.Name = c.Rel
		if rel, _ := t.Rel(roots[0].Cluster); rel == c.Rel {
			c.Name = roots[0].Cluster
		} else if c.Rel == "." {
			c.Name = t.paths[0]
		} else if rest, ok := strings.CutPrefix(rel, c.Rel); ok {
			c.Name = strings.TrimSuffix(roots[0].Cluster, rest)
		}
		for _, r := range roots {
			c.Objects, c.Hidden = append(c.Objects, r.Objects...), append(c.Hidden, r.Hidden...)
			if r.by != nil {
				c.engines = append(c.engines, r)
			}
		}
		list = append(list, c)
	}
	return list
}

// Key is what clusters have in common that have the same objects, in files of the same names below their directories.
func (c Cluster) Key() (key [sha256.Size]byte) {
	h := sha256.New()
	add := func(o *manifest.Object) {
		data := o.Raw()
		if data == nil {
			v, err := o.Value()
			if err != nil {
				v = map[string]any{"": err.Error()} // which names the place
			}
			data = manifest.Encode(v)
		}
		fmt.Fprintf(h, "%q %q %d\n", strings.TrimPrefix(o.File, c.Name+"/"), o.Namespace, len(data))
		h.Write(data)
	}
	for _, o := range c.Objects {
		add(o)
	}
	for _, d := range c.Hidden {
		fmt.Fprintf(h, "hidden %t\n", d.Roots)
		add(d.Object)
		add(d.Other)
	}
	for _, r := range c.engines {
		n := cmp.Or(r.node, &node{})
		fmt.Fprintf(h, "by %t %q %q\n", n.argo, n.sync, n.makes)
		add(r.by)
		for _, o := range r.Objects {
			fmt.Fprintf(h, "%q\n", o.Identity())
		}
	}
	h.Sum(key[:0])
	return key
}

// Dropped reports whether nothing applies the roots of a cluster, and engines do so in another tree: they are not new
// there, nor gone.
func (t *Tree) Dropped(c Cluster, other *Tree) bool {
	in := t.in(other)
	applied := lists.Set(lists.Filter(other.Roots, func(r Root) bool { return r.by != nil }),
		func(r Root) string { rel, _ := other.Rel(r.Name); return rel })
	return !slices.ContainsFunc(t.Roots, func(r Root) bool {
		rel, _ := t.Rel(r.Name)
		return in(r) == c.Rel && (r.by != nil || !applied[rel])
	})
}

// in returns the cluster of each root, relative to the path of Read.
func (t *Tree) in(like *Tree) func(Root) string {
	var dirs []string
	of := map[string]string{} // the cluster of a root that is not alone there
	if like != nil {
		for _, r := range like.Roots {
			root, _ := like.Rel(r.Name)
			cluster, _ := like.Rel(r.Cluster)
			if r.below {
				dirs = lists.Add(dirs, cluster)
			}
			if !r.Alone {
				of[root] = cluster
			}
		}
	}
	return func(r Root) string {
		cluster, below := t.Rel(r.Cluster)
		root, _ := t.Rel(r.Name)
		for _, dir := range dirs {
			if below && (dir == "." || strings.HasPrefix(cluster, dir+"/")) {
				return dir
			}
		}
		if r.Alone && of[root] != "" {
			return of[root]
		}
		return cluster
	}
}

// ClustersText returns which roots count as one cluster, as a sentence.
func (t *Tree) ClustersText() string {
	short := func(name string) string { rel, _ := t.Rel(name); return rel }
	var said []string
	together := lists.Filter(t.Roots, func(r Root) bool { return !r.Alone })
	names := lists.SortedUnique(lists.Map(together, func(r Root) string { return short(r.Cluster) }))
	if len(names) > 0 {
		said = append(said, text.FirstOf(mostNames, names))
	}
	over := lists.Filter(t.Roots, func(r Root) bool { return r.Of != "" })
	for i, same := range lists.Groups(over, func(r Root) string { return r.Of }) {
		if i < mostNames {
			names := lists.Map(same, func(r Root) string { return path.Base(short(r.Name)) })
			said = append(said, fmt.Sprintf("overlays %s of %s", text.FirstOf(mostNames, names), short(same[0].Of)))
		}
	}
	out := strings.Join(said, "; ")
	if n, what := t.Undecided(); n > 0 {
		out = strings.TrimPrefix(out+"; "+what, "; ")
	}
	return "clusters: " + out
}

// Undecided returns how many roots may be in one cluster with others, and what that means as a sentence.
func (t *Tree) Undecided() (n int, what string) {
	list := lists.Filter(t.Roots, func(r Root) bool { return r.Alone && r.Of == "" })
	if len(list) == 1 {
		name, _ := t.Rel(list[0].Name)
		return 1, "root " + text.Brief(name) + " undecided, judged for itself"
	}
	return len(list), text.Count(len(list), "root") + " undecided, each judged for itself"
}

// mostNames is how many names of a kind a sentence has.
const mostNames = 4
