package predict

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/document"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// Scope is how much of a tree a report is about.
type Scope struct {
	Roots    int `json:"roots"`    // kustomizations and directories that are applied
	Unbuilt  int `json:"unbuilt"`  // of them: those that cannot be built
	Clusters int `json:"clusters"` // that the others are applied to
	Asking   int `json:"asking"`   // Subscriptions, ClusterExtensions and OperatorPolicies of all clusters
	Unknown  int `json:"unknown"`  // of them: those of which nobody can say what they install

	Which string `json:"which,omitempty"` // roots count as one cluster, as a sentence; empty if there is one

	Give   string `json:"-"` // what gives a catalog, for people, as the end of a sentence
	others bool   // not all of those that ask are Subscriptions
	blind  bool   // some are unknown, and no catalog is given
}

// CheckClusters predicts what OLM does in each cluster of a tree; options are those of one. What is found in several
// clusters is said once, with one of them.
func CheckClusters(ctx context.Context, t *tree.Tree, options func(*tree.Tree) Options) (*Report, error) {
	clusters := t.Clusters(nil)
	scope := Scope{Roots: len(t.Roots), Unbuilt: len(t.Unknown()), Clusters: len(clusters)}
	if len(clusters) > 1 {
		scope.Which = t.ClustersText()
	}
	if len(clusters) == 0 {
		clusters = []tree.Cluster{{}}
	}
	all := &Report{}
	var found []findings.Finding
	homes := homesOf(t.Roots)
	strangers := strangers{homes: map[string]string{}}
	for i, c := range clusters {
		of := t.Of(c, i == 0)
		o := options(of)
		if len(clusters) > 1 {
			o.cluster, o.Catalogs.elsewhere = c.Name, homes.beside(c.Name)
		}
		r, err := Check(ctx, of, o)
		if err != nil {
			return nil, err
		}
		scope.count(of.Objects, r, o)
		if len(clusters) == 1 {
			r.Scope = scope
			if scope.Unbuilt+len(t.Templated) > 0 { // they may have some
				r.Findings = slices.DeleteFunc(r.Findings, func(f findings.Finding) bool {
					return f.Rule == ruleNothing.ID
				})
			}
			return r, nil
		}
		if !slices.ContainsFunc(t.Roots, func(r tree.Root) bool { return r.Alone && r.Cluster == c.Name }) {
			strangers.add(c.Rel, of.Objects, r)
		}
		for _, f := range r.Findings {
			if f.Rule != ruleNothing.ID { // it is said of the whole tree
				f.Clusters = c.Rel
				found = append(found, f)
			}
		}
		all.objects.Subscriptions += r.objects.Subscriptions
		all.objects.InstallPlans += r.objects.InstallPlans
		all.objects.Sources += r.objects.Sources
		all.Groups, all.CSVs = append(all.Groups, r.Groups...), append(all.CSVs, r.CSVs...)
		all.Plans, all.Subscriptions = append(all.Plans, r.Plans...), append(all.Subscriptions, r.Subscriptions...)
		all.Extensions, all.Operators = append(all.Extensions, r.Extensions...), append(all.Operators, r.Operators...)
		all.Unknown, all.Target = append(all.Unknown, r.Unknown...), r.Target
	}
	found = append(found, strangers.findings()...)
	all.Scope, all.Findings = scope, append(Folded(found), apart(t.Roots)...)
	slices.SortStableFunc(all.Findings, func(a, b findings.Finding) int { return a.Level.Rank() - b.Level.Rank() })
	return all, nil
}

// homes are the roots that have what OLM looks for.
type homes map[place][]tree.Root

func homesOf(roots []tree.Root) homes {
	h := homes{}
	for _, r := range roots {
		for _, o := range r.Objects {
			at := place{o.Kind, o.Namespace, o.Name}
			switch {
			case o.Group() == olm.Group && o.Kind == operatorsv1.OperatorGroupKind:
				at.name = ""
			case o.Group() == olm.Group && o.Kind == v1alpha1.CatalogSourceKind:
			case o.Group() == "" && o.Kind == rbacv1.ServiceAccountKind:
			default:
				continue
			}
			h[at] = append(h[at], r)
		}
	}
	return h
}

// beside returns what the roots of other clusters have, as the end of a sentence.
func (h homes) beside(cluster string) func(place) string {
	return func(at place) string {
		i := slices.IndexFunc(h[at], func(r tree.Root) bool { return r.Cluster != cluster })
		if i < 0 {
			return ""
		}
		return ", and may be that of " + h[at][i].Name
	}
}

// strangers are custom resources of clusters without their CRD, and the clusters to which operators bring one.
type strangers struct {
	homes   map[string]string // of a group/kind
	objects []stranger
}

type stranger struct {
	*manifest.Object
	cluster string
}

// add looks at a cluster. Where an operator is not known, its CRDs are not, either.
func (s *strangers) add(cluster string, objects []*manifest.Object, r *Report) {
	for kind := range r.brought {
		s.homes[kind] = cmp.Or(s.homes[kind], cluster)
	}
	if len(r.Unknown) > 0 {
		return
	}
	own := olm.DefinedKinds(r.After)
	for _, o := range objects {
		kind := o.Group() + "/" + o.Kind
		if own[kind].Name == "" && r.brought[kind].Name == "" && strings.Contains(o.Group(), ".") {
			s.objects = append(s.objects, stranger{o, cluster})
		}
	}
}

const unserved = "the API server does not know the kind, and an engine may apply nothing of what is beside it"

func (s *strangers) findings() (list []findings.Finding) {
	for _, o := range s.objects {
		if home := s.homes[o.Group()+"/"+o.Kind]; home != "" {
			f := about(ruleUnfit, o.Object, "nothing brings its CRD to this cluster, as an operator does to %s: "+
				unserved, home)
			f.Clusters, f.Hint = o.cluster, "install the operator there too, or leave the object out"
			list = append(list, f)
		}
	}
	return list
}

// apart returns a note about the custom resources of roots whose CRDs are in other roots, where nothing says that these
// are other clusters: nobody compares the two.
func apart(roots []tree.Root) []findings.Finding {
	homes := map[string][]string{} // of CRDs, by group/kind
	for _, r := range roots {
		for kind := range olm.DefinedKinds(r.Objects) {
			homes[kind] = append(homes[kind], r.Cluster)
		}
	}
	var list []*manifest.Object
	dir := ""
	for _, r := range lists.Filter(roots, func(r tree.Root) bool { return r.Alone }) {
		for _, o := range r.Objects {
			in := homes[o.Group()+"/"+o.Kind]
			if len(in) == 0 || slices.Contains(in, r.Cluster) {
				continue
			}
			list = append(list, o)
			for dir = cmp.Or(dir, r.Cluster); !within(r.Cluster, dir) || !within(in[0], dir); {
				dir = path.Dir(dir)
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	file, line := list[0].PlaceOf("")
	kinds := lists.Unique(lists.Map(list, func(o *manifest.Object) string { return o.Kind }))
	return []findings.Finding{{Rule: ruleUnfit.ID, Level: findings.Note, File: file, Line: line,
		Message: fmt.Sprintf("%s (%s) not compared with the CRD, which another root has",
			text.Count(len(list), "custom resource"), text.FirstOf(3, kinds)),
		Hint: "say that " + text.Shell(dir) + " is one cluster"}}
}

func within(name, dir string) bool {
	return dir == "." || dir == "/" || name == dir || strings.HasPrefix(name, dir+"/")
}

// count adds the objects of a cluster that ask OLM for an operator. The outcome of a Subscription is not known if Check
// has not looked at it, or if the API server refuses it.
func (s *Scope) count(objects []*manifest.Object, r *Report, options Options) {
	c := options.Catalogs
	none := len(c.Sources)+len(c.ClusterCatalogs) == 0 && c.Others == nil
	unclear, looked, counted := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, u := range r.Unknown {
		unclear[world.Key(u.Object, options.Namespace)] = !u.Nothing
	}
	for _, e := range r.Extensions {
		unclear[world.Key(e.object, options.Namespace)] = e.Unknown != ""
	}
	for _, u := range r.Subscriptions {
		looked[world.Key(u.object, options.Namespace)] = true
	}
	for _, o := range objects {
		subscription := o.Group() == olm.Group && o.Kind == v1alpha1.SubscriptionKind
		policies := olm.OperatorPolicies([]*manifest.Object{o}) // those in a Policy are among the objects
		if subscription || o.Group() == olm.GroupV1 && o.Kind == olm.KindClusterExtension ||
			o.Kind == olm.KindOperatorPolicy && len(policies) > 0 {
			key := world.Key(o, options.Namespace)
			if counted[key] {
				continue // another root has it too
			}
			counted[key] = true
			s.Asking++
			s.others = s.others || !subscription
			for _, p := range policies {
				key = world.Key(p.Stands(), options.Namespace)
			}
			if unclear[key] || subscription && (!looked[key] || len(olm.Rejected(o, "")) > 0) {
				s.Unknown++
			}
			s.blind = s.blind || unclear[key] && none
		}
	}
}

// fewNotes is how many equal notes about one cluster are no more than a reader takes.
const fewNotes = 3

// foldNotes returns the findings of one cluster for people: of many equal notes only the first.
func foldNotes(list []findings.Finding) (out []findings.Finding) {
	count := map[findings.Finding]int{}
	for _, x := range list {
		count[equal(x)]++
	}
	for _, x := range list {
		n := count[equal(x)]
		if n > fewNotes && x.Level == findings.Note {
			count[equal(x)] = 0
			x.Hint = strings.TrimSuffix("the same of "+text.Count(n-1, "other object")+"; "+x.Hint, "; ")
		}
		if n > 0 {
			out = append(out, x)
		}
	}
	return out
}

// equal returns what equal findings have in common: they can be from other files, and notes about other objects.
func equal(x findings.Finding) findings.Finding {
	key := findings.Finding{Rule: x.Rule, Level: x.Level, Object: x.Object, Field: x.Field, Message: x.Message}
	if x.Object == "" {
		key.File = x.File
	}
	if x.Level == findings.Note {
		key.Object = ""
	}
	return key
}

// Folded returns findings about the clusters of a tree, each of which names one: equal ones once.
func Folded(all []findings.Finding) (list []findings.Finding) {
	for _, same := range lists.Groups(all, equal) {
		x := same[0]
		objects := len(lists.Set(same, func(x findings.Finding) string { return x.Clusters + " " + x.Object }))
		names := lists.SortedUnique(lists.Map(same, func(x findings.Finding) string { return x.Clusters }))
		clusters := len(names)
		x.Clusters = strings.Join(names, "\n")
		also := ""
		switch {
		case objects > clusters:
			also = fmt.Sprintf("the same of %s in %s; ", text.Count(objects-1, "other object"),
				text.Count(clusters, "cluster"))
		case clusters > 1:
			also = "in clusters " + text.FirstOf(6, names) + "; "
		case x.Clusters != "" && x.Clusters != "." && x.File != "" && !strings.Contains("/"+x.File, "/"+x.Clusters+"/"):
			also = "in cluster " + x.Clusters + "; " // its file does not say so
		}
		x.Hint = strings.TrimSuffix(also+x.Hint, "; ")
		list = append(list, x)
	}
	return list
}

// String returns how much of the tree the report is about, as a sentence.
func (s Scope) String() string {
	var parts []string
	if s.Roots > 1 {
		out := text.Count(s.Roots, "root")
		if s.Clusters > 1 {
			out += " in " + text.Count(s.Clusters, "cluster")
		}
		if s.Unbuilt > 0 {
			out += fmt.Sprintf(", %d not built", s.Unbuilt)
		}
		parts = append(parts, out)
	}
	ask := "Subscription"
	if s.others {
		ask = "operator"
	}
	judged := fmt.Sprintf("%d of %s judged", s.Asking-s.Unknown, text.Count(s.Asking, ask))
	switch {
	case s.blind && s.Unknown == s.Asking:
		judged = text.Count(s.Asking, ask) + ", none judged: no catalog given" + s.Give
	case s.Unknown > 0:
		judged += fmt.Sprintf(", %d unknown", s.Unknown)
	}
	return strings.Join(append(parts, judged), "; ")
}

// remarks returns what is said of the whole tree.
func (s Scope) remarks() []document.Remark {
	list := []document.Remark{{Text: s.String()}}
	if s.Which != "" {
		list = append(list, document.Remark{Text: s.Which})
	}
	return list
}
