package review

import (
	"encoding/json"
	"strings"

	"github.com/olmgen/olmgen/compare"
	"github.com/olmgen/olmgen/internal/cluster"
	"github.com/olmgen/olmgen/internal/tree"
)

// ClusterPair is a cluster of OLD and that of NEW; nil where one side has none.
type ClusterPair struct {
	Rel   string
	Sides [2]*tree.Cluster
}

// ClusterPairs pairs the clusters of two trees, those of NEW first. A side without a tree has no cluster.
func ClusterPairs(trees [2]*tree.Tree) (list []ClusterPair) {
	at := map[string]int{}
	for _, i := range []int{1, 0} {
		if trees[i] == nil {
			continue
		}
		for _, c := range trees[i].Clusters() {
			j, ok := at[c.Rel]
			if !ok {
				j = len(list)
				at[c.Rel], list = j, append(list, ClusterPair{Rel: c.Rel})
			}
			list[j].Sides[i] = &c
		}
	}
	return list
}

// Equal reports whether a cluster has the same objects on both sides.
func (p ClusterPair) Equal() bool {
	if p.Sides[0] == nil || p.Sides[1] == nil || len(p.Sides[0].Objects) != len(p.Sides[1].Objects) {
		return false
	}
	for i, old := range p.Sides[0].Objects {
		if !cluster.Same(old, p.Sides[1].Objects[i]) {
			return false
		}
	}
	return true
}

// WithoutNames returns a report as text that does not name its cluster. Reports that say the same are then equal.
func WithoutNames(r *compare.Report, names ...string) string {
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
