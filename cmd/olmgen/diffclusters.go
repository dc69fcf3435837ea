package main

import (
	"encoding/json"
	"path"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/compare"
	"github.com/olmgen/olmgen/internal/cluster/tree"
	"github.com/olmgen/olmgen/internal/config/review"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// readTrees reads the sides that are trees.
func (f *diffFlags) readTrees(cmd *cobra.Command, sides *[2]side) (err error) {
	for i := range sides {
		s := &sides[i]
		if s.empty || source.IsRenderConfig(s.ref) || !review.IsTree(s.ref) {
			continue
		}
		o := tree.Options{Top: s.root, Plain: true}
		if s.root != "" {
			revision, below, _ := strings.Cut(s.name, ":")
			o.Named = func(rel string) string { return revision + ":" + path.Join(below, rel) }
		}
		if s.tree, err = f.roots.read(cmd, []string{s.ref}, o); err != nil {
			return err
		}
	}
	return nil
}

// clusterPair is a cluster of OLD and that of NEW; nil where one side has none.
type clusterPair struct {
	rel   string
	sides [2]*tree.Cluster
}

// clusterPairs pairs the clusters of two trees, those of NEW first. There are none if a side is no tree.
func clusterPairs(sides [2]side) (list []clusterPair) {
	at := map[string]int{}
	for _, i := range []int{1, 0} {
		if sides[i].tree == nil {
			if sides[i].empty {
				continue
			}
			return nil
		}
		for _, c := range sides[i].tree.Clusters() {
			j, ok := at[c.Rel]
			if !ok {
				j = len(list)
				at[c.Rel], list = j, append(list, clusterPair{rel: c.Rel})
			}
			list[j].sides[i] = &c
		}
	}
	return list
}

// compareClusters compares cluster by cluster.
func (f *diffFlags) compareClusters(cmd *cobra.Command, sides [2]side, pairs []clusterPair, on review.TreeOptions,
	o compare.Options) (*compare.Reports, error) {
	out := &compare.Reports{Kind: "UpgradeList", Old: sides[0].name, New: sides[1].name,
		Clusters: []compare.ClusterReport{}, Unbuilt: o.Unbuilt}
	o.Unbuilt = nil
	for n, pair := range pairs {
		if len(f.oldCatalogs) == 0 && pair.equal() {
			out.Compared++
			continue
		}
		each := sides
		for i, c := range pair.sides {
			if c == nil {
				each[i].tree, each[i].empty = nil, true
				each[i].name = path.Join(each[i].name, pair.rel)
				continue
			}
			each[i].tree = sides[i].tree.Of(*c, n == 0)
			each[i].name = c.Name
		}
		report, err := f.compareSides(cmd, each, on, o)
		if err != nil {
			return nil, err
		}
		out.Add(pair.rel, without(report, each[0].name, each[1].name), report)
	}
	return out, nil
}

// equal reports whether a cluster has the same objects on both sides.
func (p clusterPair) equal() bool {
	if p.sides[0] == nil || p.sides[1] == nil || len(p.sides[0].Objects) != len(p.sides[1].Objects) {
		return false
	}
	for i, old := range p.sides[0].Objects {
		if !sameObject(old, p.sides[1].Objects[i]) {
			return false
		}
	}
	return true
}

func sameObject(a, b *manifest.Object) bool {
	v, err := a.Value()
	w, err2 := b.Value()
	return err == nil && err2 == nil && reflect.DeepEqual(v, w)
}

// without returns a report as text that does not name its cluster.
func without(r *compare.Report, names ...string) string {
	data, err := json.Marshal(r)
	if err != nil {
		return ""
	}
	text := string(data)
	for _, name := range names { // of a file below it, or its own
		text = strings.NewReplacer(`"`+name+"/", `"`, `"`+name+`"`, `""`, "("+name+"/", "(").Replace(text)
	}
	return text
}
