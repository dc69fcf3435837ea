// Package rehearse plays a tree with a real API server and a real OLM, without a cluster, and says what becomes of it.
package rehearse

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/crs/apiserver"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/internal/writes"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// Request is what is asked for: what is in the cluster, and the catalogs.
type Request struct {
	Dumps     []string // what is in the cluster, as kubectl get -o yaml prints it
	Catalogs  []string // [NAMESPACE/NAME=]DIR each
	Namespace string   // of objects that name none
	Source    source.Options
	Tree      tree.Options
	API       writes.Checker // what the prediction asks; may be nil

	catalogs predict.Catalogs
	written  map[string]string // the directories of the catalogs that are served, by namespace/name
}

// Open reads the catalogs. Call it before State.
func (r *Request) Open(ctx context.Context) (err error) {
	reader := review.ContentReader{Options: fbc.Options{Source: r.Source}}
	r.catalogs, err = reader.Catalogs(ctx, r.Catalogs)
	if err == nil && len(r.catalogs.ClusterCatalogs) > 0 {
		err = &review.ContentError{Msg: "OLM v1 is not played", Tip: "write NAMESPACE/NAME=DIR"}
	}
	r.catalogs.Open, r.written = true, map[string]string{}
	return err
}

// State is what one cluster is to have.
type State struct {
	request *Request
	tree    *tree.Tree
	before  []*manifest.Object // that are in the cluster
	applied []*manifest.Object // by an engine, over them
	unknown []string           // what of the tree is not played, and why
	alone   *predict.Report    // what is predicted of it over nothing else
}

// State reads the tree of one cluster. There may be no path.
func (r *Request) State(ctx context.Context, paths ...string) (*State, error) {
	s := &State{request: r, tree: &tree.Tree{}}
	if paths = slices.Concat(r.Dumps, paths); len(paths) == 0 {
		return s, nil
	}
	t, err := tree.Read(ctx, paths, r.Tree)
	if err != nil {
		return nil, err
	}
	if unknown := append(t.Unknown(), t.Faults...); len(unknown) > 0 {
		return nil, unknown[0]
	}
	clusters := t.Clusters(nil)
	if len(clusters) == 0 {
		return nil, fmt.Errorf("%s: there are no objects", strings.Join(paths, ", "))
	}
	if len(clusters) > 1 {
		names := lists.Map(clusters, func(c tree.Cluster) string { return c.Name })
		return nil, manifest.WithHint(fmt.Errorf("%d clusters are in the tree: %s", len(names), text.FirstOf(8, names)),
			"name the path of one, or a directory with all of its roots with --cluster")
	}
	s.tree = t.Of(clusters[0], true)
	for _, e := range t.Templated {
		s.unknown = append(s.unknown, e.Error())
	}
	if what := t.UnappliedText(); what != "" {
		s.unknown = append(s.unknown, what)
	}
	live := func(o *manifest.Object) bool { return o.Has("metadata", "uid") }
	s.before, _ = world.Counted(lists.Filter(s.tree.Objects, live), r.Namespace)
	git := lists.Filter(s.tree.Objects, func(o *manifest.Object) bool { return !live(o) })
	s.applied, _ = world.Counted(git, r.Namespace)
	has := lists.Set(s.tree.Objects, func(o *manifest.Object) string { return world.Key(o, r.Namespace) })
	for o := range predict.World(ctx, s.tree.Objects, r.Namespace, r.catalogs).All() {
		if !has[world.Key(o, r.Namespace)] { // made by a distribution or an OperatorPolicy
			s.applied = append(s.applied, o)
		}
	}
	s.withhold()
	return s, nil
}

// withhold leaves out Subscriptions to catalogs whose content nobody knows: one would fail all others of its namespace.
func (s *State) withhold() {
	s.applied = lists.Filter(s.applied, func(o *manifest.Object) bool {
		if o.Kind != v1alpha1.SubscriptionKind || o.Group() != olm.Group {
			return true
		}
		namespace, name := olm.Text(olm.Get(o, "spec", "sourceNamespace")), olm.Text(olm.Get(o, "spec", "source"))
		from := s.find(v1alpha1.CatalogSourceKind, namespace, name)
		there := s.find(o.Kind, o.Namespace, o.Name)
		switch {
		case s.given(namespace, name) != nil || there != nil && there.Has("status", "installedCSV"),
			from == nil && len(s.before) > 0, from != nil && broken(from):
			return true
		}
		s.unknown = append(s.unknown, fmt.Sprintf("%s is not played: the content of the catalog %s/%s is not given",
			o.Identity(), namespace, name))
		return false
	})
}

// broken reports whether nobody answered for a CatalogSource when it was dumped.
func broken(o *manifest.Object) bool {
	state := olm.Get(o, "status", "connectionState", "lastObservedState")
	return state != nil && state != "READY" && state != "CONNECTING"
}

// find returns an object of OLM in the cluster, else of the tree; nil if there is none.
func (s *State) find(kind, namespace, name string) *manifest.Object {
	return lists.Find(slices.Concat(s.before, s.applied), func(o *manifest.Object) bool {
		return o.Kind == kind && o.Group() == olm.Group && o.Namespace == namespace && o.Name == name
	})
}

// given returns the content of a CatalogSource, or nil.
func (s *State) given(namespace, name string) *fbc.Catalog {
	of := resolve.Source{Namespace: namespace, Name: name}
	if i := slices.IndexFunc(s.request.catalogs.Sources, of.Same); i >= 0 {
		return s.request.catalogs.Sources[i].Catalog
	}
	return s.request.catalogs.Others
}

// sources returns the CatalogSources that the state has or asks for, by namespace and name, and their priorities.
func (s *State) sources() (list []resolve.Source) {
	asked := resolve.Of(world.Read(slices.Concat(s.before, s.applied), s.request.Namespace))
	list = asked.CatalogSources
	add := func(namespace, name string, priority int) {
		source := resolve.Source{Namespace: namespace, Name: name, Priority: priority}
		if !slices.ContainsFunc(list, source.Same) && s.given(namespace, name) != nil {
			list = append(list, source)
		}
	}
	for _, c := range s.request.catalogs.Sources {
		add(c.Namespace, c.Name, c.Priority)
	}
	for _, n := range asked.Namespaces {
		for _, sub := range n.Subscriptions {
			add(sub.SourceNamespace, sub.Source, 0)
		}
	}
	return list
}

// global returns the namespace whose catalogs serve all namespaces.
func (s *State) global() string {
	return cmp.Or(s.request.catalogs.Global, review.GlobalNamespace(nil, s.sources()))
}

// Check returns what olmgen check predicts of the state, over what another one is predicted to leave, which may be nil.
func (s *State) Check(ctx context.Context, over *predict.Report, older *State) (*predict.Report, error) {
	r, t := s.request, *s.tree
	if over == nil && s.alone != nil {
		return s.alone, nil
	}
	if over != nil {
		key := func(o *manifest.Object) string { return world.Key(o, r.Namespace) }
		stays, was := lists.Set(s.applied, key), lists.Set(older.applied, key)
		t.Objects = nil
		for _, o := range over.After {
			if o.Kind != v1alpha1.InstallPlanKind && (!was[key(o)] || stays[key(o)]) {
				t.Objects = append(t.Objects, world.Live(o))
			}
		}
		t.Objects = append(t.Objects, s.applied...)
	}
	report, err := predict.Check(ctx, &t, predict.Options{Namespace: r.Namespace, Catalogs: r.catalogs,
		Checker: apiserver.Checker{}, API: r.API, Bundles: &fbc.Options{Source: r.Source}, Applied: true})
	if over == nil {
		s.alone = report
	}
	return report, err
}

// unstructuredOf returns objects for a client.
func unstructuredOf(objects []*manifest.Object) (list []*unstructured.Unstructured, err error) {
	for _, o := range objects {
		value, err := o.Value()
		if err != nil {
			return nil, err
		}
		data, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(data); err != nil {
			return nil, o.AsError(err)
		}
		list = append(list, u)
	}
	return list, nil
}
