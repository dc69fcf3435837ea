package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/testing"
	toolscache "k8s.io/client-go/tools/cache"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/api/client/clientset/versioned"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/api/client/clientset/versioned/fake"
	listersv1 "github.com/operator-framework/operator-lifecycle-manager/pkg/api/client/listers/operators/v1"
	listers "github.com/operator-framework/operator-lifecycle-manager/pkg/api/client/listers/operators/v1alpha1"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/registry"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/registry/resolver"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/registry/resolver/cache"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/registry/resolver/projection"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/lib/operatorlister"
	"github.com/operator-framework/operator-registry/pkg/client"

	"github.com/olmgen/olmgen/golden/resolvercase"
)

// olm is OLM's resolver over the catalogs of a case. The namespace that it sees is exchanged for each resolution.
type olm struct {
	question *resolvercase.Case
	dir      string
	refusals map[string]string // what opm says about catalogs that it does not serve
	clients  clients
	stops    []func()

	subscriptions, csvs, groups, sources toolscache.Indexer
	listed                               *v1alpha1.SubscriptionList
	groupLister                          listersv1.OperatorGroupLister
	log                                  *logrus.Logger
	cache                                cache.OperatorCacheProvider
	resolver                             *resolver.OperatorStepResolver
	bundles                              map[string]map[string]string // annotations by catalog and CSV
}

func newOLM(ctx context.Context, c *resolvercase.Case, dir string) (*olm, error) {
	o := &olm{question: c, dir: dir, refusals: map[string]string{}, clients: clients{},
		bundles: map[string]map[string]string{}}
	for _, each := range c.Catalogs {
		if err := o.connect(ctx, each); err != nil {
			o.close()
			return nil, fmt.Errorf("catalog %s: %w", each.Name, err)
		}
	}
	o.connectResolver()
	return o, nil
}

func (o *olm) close() {
	for _, stop := range o.stops {
		stop()
	}
}

// connect serves a catalog, unless there is no connection to it.
func (o *olm) connect(ctx context.Context, c resolvercase.Catalog) error {
	if c.Unavailable {
		return nil
	}
	dir := resolvercase.CatalogDir(o.dir, c.Name)
	s, err := serve(ctx, dir)
	if refused := (errRefused{}); errors.As(err, &refused) {
		o.refusals[c.Name] = refused.Error()
		if !c.Unvalidated {
			return nil
		}
		s, err = serveUnvalidated(ctx, dir)
	}
	if err != nil {
		return err
	}
	o.stops = append(o.stops, s.stop)
	o.clients[registry.CatalogKey{Name: c.Name, Namespace: c.Namespace}] = s.client
	return nil
}

// clients are the connections to catalogs.
type clients map[registry.CatalogKey]client.Interface

// ClientsForNamespaces returns the connections to the catalogs of some namespaces.
func (c clients) ClientsForNamespaces(namespaces ...string) map[registry.CatalogKey]client.Interface {
	found := map[registry.CatalogKey]client.Interface{}
	for key, each := range c {
		if slices.Contains(namespaces, key.Namespace) {
			found[key] = each
		}
	}
	return found
}

func (o *olm) connectResolver() {
	index := func() toolscache.Indexer {
		return toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc,
			toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc})
	}
	o.subscriptions, o.csvs, o.groups, o.sources = index(), index(), index(), index()
	lister := operatorlister.NewLister()
	sources := listers.NewCatalogSourceLister(o.sources)
	o.groupLister = listersv1.NewOperatorGroupLister(o.groups)
	lister.OperatorsV1alpha1().RegisterCatalogSourceLister("", sources)
	lister.OperatorsV1alpha1().RegisterSubscriptionLister("", listers.NewSubscriptionLister(o.subscriptions))
	lister.OperatorsV1alpha1().RegisterClusterServiceVersionLister("", listers.NewClusterServiceVersionLister(o.csvs))
	lister.OperatorsV1().RegisterOperatorGroupLister("", o.groupLister)
	for _, c := range o.question.Catalogs {
		_ = o.sources.Add(&v1alpha1.CatalogSource{ // it has a name, so there is a key
			ObjectMeta: metav1.ObjectMeta{Name: c.Name, Namespace: c.Namespace},
			Spec:       v1alpha1.CatalogSourceSpec{Priority: c.Priority},
		})
	}
	count, group := o.question.Groups()
	for i := range count {
		_ = o.groups.Add(operatorGroup(o.question.Namespace, i, group))
	}
	o.log = logrus.New()
	o.log.SetOutput(io.Discard)
	o.log.SetLevel(logrus.PanicLevel)
	o.cache = resolver.NewOperatorCacheProvider(lister, o.client(),
		resolver.SourceProviderFromRegistryClientProvider(o.clients, sources, o.log), o.log)
	o.resolver = resolver.NewOperatorStepResolver(lister, o.client(), o.question.GlobalCatalogNamespace, o.cache,
		o.log)
}

func operatorGroup(namespace string, i int, g resolvercase.OperatorGroup) *operatorsv1.OperatorGroup {
	out := &operatorsv1.OperatorGroup{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("og-%d", i), Namespace: namespace}}
	out.Spec.UpgradeStrategy = operatorsv1.UpgradeStrategy(g.UpgradeStrategy)
	if g.ExcludeGlobalCatalogs {
		out.Annotations = map[string]string{"olm.operatorframework.io/exclude-global-namespace-resolution": "true"}
	}
	return out
}

// see replaces what the resolver sees of the namespace. The resolver changes Subscriptions, so it has copies.
func (o *olm) see(s *namespace) error {
	o.listed = &v1alpha1.SubscriptionList{}
	var subscriptions, csvs []any
	for _, sub := range s.subscriptions {
		o.listed.Items = append(o.listed.Items, *sub.DeepCopy())
		subscriptions = append(subscriptions, sub.DeepCopy())
	}
	for _, c := range s.csvs {
		csvs = append(csvs, c)
	}
	return errors.Join(o.subscriptions.Replace(subscriptions, ""), o.csvs.Replace(csvs, ""))
}

// annotation returns the properties annotation that OLM writes into the CSV of a bundle, and the bundle's version.
func (o *olm) annotation(ctx context.Context, source, csv string) (string, string, error) {
	if o.bundles[source] == nil {
		o.bundles[source] = map[string]string{}
		for _, c := range o.question.Catalogs {
			if c.Name != source || c.Unavailable {
				continue
			}
			if err := o.annotations(ctx, c); err != nil {
				return "", "", err
			}
		}
	}
	text, ok := o.bundles[source][csv]
	if !ok {
		return "", "", fmt.Errorf("catalog %s has no bundle %s", source, csv)
	}
	return text, packageVersion(text), nil
}

// annotations asks OLM's registry source for the bundles of a catalog, even if opm refuses to serve it.
func (o *olm) annotations(ctx context.Context, c resolvercase.Catalog) error {
	key := registry.CatalogKey{Name: c.Name, Namespace: c.Namespace}
	connected := clients{key: o.clients[key]}
	if connected[key] == nil {
		s, err := serveUnvalidated(ctx, resolvercase.CatalogDir(o.dir, c.Name))
		if err != nil {
			return err
		}
		defer s.stop()
		connected[key] = s.client
	}
	sources := resolver.SourceProviderFromRegistryClientProvider(connected,
		listers.NewCatalogSourceLister(o.sources), o.log)
	snapshot, err := sources.Sources(c.Namespace)[cache.SourceKey(key)].Snapshot(ctx)
	if err != nil {
		return err
	}
	for _, e := range snapshot.Entries {
		text, err := projection.PropertiesAnnotationFromPropertyList(e.Properties)
		if err != nil {
			return err
		}
		o.bundles[c.Name][e.Name] = text
	}
	return nil
}

// packageVersion returns the version of the olm.package property of an annotation.
func packageVersion(annotation string) string {
	list, err := projection.PropertyListFromPropertiesAnnotation(annotation)
	if err != nil {
		return ""
	}
	for _, p := range list {
		var v struct {
			Version string `json:"version"`
		}
		if p.Type == "olm.package" && json.Unmarshal([]byte(p.Value), &v) == nil {
			return v.Version
		}
	}
	return ""
}

// client returns the API server as OLM's resolver sees it: a list of Subscriptions. OLM calls nothing else of it.
func (o *olm) client() versioned.Interface {
	c := fake.NewSimpleClientset()
	c.PrependReactor("*", "*", func(call testing.Action) (bool, runtime.Object, error) {
		panic(fmt.Sprintf("OLM asks for more than Subscriptions: %v", call))
	})
	c.PrependReactor("list", "subscriptions", func(testing.Action) (bool, runtime.Object, error) {
		return true, o.listed.DeepCopy(), nil
	})
	return c
}
