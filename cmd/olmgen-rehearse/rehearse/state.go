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
	OLMv1     bool           // OLM v1 runs, too
	Memory    int64          // bytes that the programs of a cluster may use; 0: any

	reader   review.ContentReader
	catalogs predict.Catalogs
	written  map[string]string // the directories of the catalogs that are served, by namespace/name
}

// Open reads the catalogs. Call it before State.
func (r *Request) Open(ctx context.Context) (err error) {
	r.reader = review.ContentReader{Options: fbc.Options{Source: r.Source}}
	r.catalogs, err = r.reader.Catalogs(ctx, r.Catalogs)
	if err == nil && len(r.catalogs.ClusterCatalogs) > 0 && !r.OLMv1 {
		err = &review.ContentError{Msg: "a ClusterCatalog has content, and OLM v1 does not run",
			Tip: "write NAMESPACE/NAME=DIR, or have OLM v1 run"}
	}
	r.catalogs.Open, r.written = true, map[string]string{}
	return err
}

// State is what one cluster is to have.
type State struct {
	request  *Request
	tree     *tree.Tree
	catalogs predict.Catalogs            // those of the request, and the images that the tree names
	before   []*manifest.Object          // that are in the cluster
	applied  []*manifest.Object          // by an engine, over them
	byKey    map[string]*manifest.Object // of both; of two of one name, that in the cluster
	left     []predict.Unknown           // what is not played
	unknown  []string                    // what else is not known
	alone    *predict.Report             // what is predicted of it over nothing else
}

// State reads the tree of one cluster. There may be no path.
func (r *Request) State(ctx context.Context, paths ...string) (*State, error) {
	s := &State{request: r, tree: &tree.Tree{}, catalogs: r.catalogs}
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
	has := lists.Set(s.tree.Objects, s.key)
	s.catalogs = r.reader.WithImages(ctx, s.tree, r.catalogs)
	for o := range predict.World(ctx, s.tree.Objects, r.Namespace, s.catalogs).All() {
		if !has[s.key(o)] { // made by a distribution or an OperatorPolicy
			s.applied = append(s.applied, o)
		}
	}
	s.byKey = lists.By(slices.Concat(s.applied, s.before), s.key)
	s.withhold()
	return s, nil
}

// withhold leaves out what nobody can play: Subscriptions to catalogs whose content nobody knows, of which one would
// fail all others of its namespace, and of OLM v1 what it would fetch from elsewhere or keeps where no dump shows it.
func (s *State) withhold() {
	asked, left := map[string]string{}, map[string]bool{}
	_, unknown := predict.AskedExtensions(s.tree.Objects, s.catalogs)
	for _, u := range unknown {
		asked[s.key(u.Object)] = u.Why
	}
	why := func(o *manifest.Object) string {
		switch {
		case ofOLMv1(o) && !s.request.OLMv1:
			return "OLM v1 does not run"
		case ofOLMv1(o) && o.Kind == olm.KindClusterCatalog && s.clusterContent(o.Name) == nil:
			return "its content is not given"
		case ofOLMv1(o) && s.byKey[s.key(o)].Has("status", "install"):
			return "what OLM v1 keeps of an installation is in no dump: play the state before a change as a tree"
		case ofOLMv1(o):
			return asked[s.key(o)]
		case o.Group() == olm.Group && o.Kind == v1alpha1.SubscriptionKind && !o.Has("metadata", "uid"):
			return s.unanswered(o)
		}
		return ""
	}
	plays := func(o *manifest.Object) bool {
		u, k := predict.Unknown{Object: o, Why: why(o)}, s.key(o)
		if u.Why != "" && !left[k] {
			s.left, left[k] = append(s.left, u), true
		}
		return u.Why == ""
	}
	s.before, s.applied = lists.Filter(s.before, plays), lists.Filter(s.applied, plays)
}

// unanswered returns why nobody knows what comes of a Subscription, or "".
func (s *State) unanswered(o *manifest.Object) string {
	namespace, name := olm.Text(olm.Get(o, "spec", "sourceNamespace")), olm.Text(olm.Get(o, "spec", "source"))
	from := s.find(v1alpha1.CatalogSourceKind, namespace, name)
	there := s.find(o.Kind, o.Namespace, o.Name)
	switch {
	case s.given(namespace, name) != nil || there != nil && there.Has("status", "installedCSV"),
		from == nil && len(s.before) > 0, from != nil && broken(from):
		return ""
	}
	return fmt.Sprintf("the content of the catalog %s/%s is not given", namespace, name)
}

// ofOLMv1 reports whether an object is a ClusterExtension or a ClusterCatalog.
func ofOLMv1(o *manifest.Object) bool {
	return o.Group() == olm.GroupV1 && (o.Kind == olm.KindClusterExtension || o.Kind == olm.KindClusterCatalog)
}

// key identifies an object, whatever its version.
func (s *State) key(o *manifest.Object) string { return world.Key(o, s.request.Namespace) }

// broken reports whether nobody answered for a CatalogSource when it was dumped.
func broken(o *manifest.Object) bool {
	state := olm.Get(o, "status", "connectionState", "lastObservedState")
	return state != nil && state != "READY" && state != "CONNECTING"
}

// find returns an object of OLM in the cluster, else of the tree; nil if there is none.
func (s *State) find(kind, namespace, name string) *manifest.Object {
	return s.byKey[strings.Join([]string{olm.Group, kind, namespace, name}, "/")]
}

// clusterContent returns the content of a ClusterCatalog, or nil.
func (s *State) clusterContent(name string) *fbc.Catalog {
	for _, c := range s.catalogs.ClusterCatalogs {
		if c.Name == name {
			return c.Catalog
		}
	}
	return s.catalogs.Others
}

// given returns the content of a CatalogSource, or nil.
func (s *State) given(namespace, name string) *fbc.Catalog {
	of := resolve.Source{Namespace: namespace, Name: name}
	if i := slices.IndexFunc(s.catalogs.Sources, of.Same); i >= 0 {
		return s.catalogs.Sources[i].Catalog
	}
	return s.catalogs.Others
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
	for _, c := range s.catalogs.Sources {
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
	return cmp.Or(s.catalogs.Global, predict.GlobalNamespace(s.sources()))
}

// Check returns what olmgen check predicts of the state, over what another one is predicted to leave, which may be nil.
func (s *State) Check(ctx context.Context, over *predict.Report, older *State) (*predict.Report, error) {
	r, t := s.request, *s.tree
	if over == nil && s.alone != nil {
		return s.alone, nil
	}
	if over != nil {
		stays, was := lists.Set(s.applied, s.key), lists.Set(older.applied, s.key)
		t.Objects = nil
		for _, o := range over.After {
			if o.Kind != v1alpha1.InstallPlanKind && (!was[s.key(o)] || stays[s.key(o)]) {
				t.Objects = append(t.Objects, world.Live(o))
			}
		}
		t.Objects = append(t.Objects, s.applied...)
	}
	report, err := predict.Check(ctx, &t, predict.Options{Namespace: r.Namespace, Catalogs: s.catalogs,
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
