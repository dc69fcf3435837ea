package resolve

import (
	"fmt"
	"slices"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// Cluster holds OLM's objects of all namespaces.
type Cluster struct {
	Namespaces     []*State // with Subscriptions, CSVs or OperatorGroups; sorted by name; without catalogs
	CatalogSources []Source // without content, unless it is in a ConfigMap among the objects
}

// Subscribes reports whether a Subscription names a catalog.
func (c *Cluster) Subscribes(to Source) bool {
	return slices.ContainsFunc(c.Namespaces, func(s *State) bool {
		return s.find(func(sub *Subscription) bool { return sub.from().Same(to) }) != nil
	})
}

// ReadObjects finds OLM's objects. Objects that name no namespace are in the one given. OperatorPolicies approve the
// InstallPlans of the Subscriptions that they manage. The error is about the first object of OLM that cannot be read.
func ReadObjects(objects []*manifest.Object, namespace string) (*Cluster, error) {
	c := world.Read(objects, namespace)
	for _, o := range c.OLM {
		if err := decodes(o); err != nil {
			return nil, err
		}
	}
	for _, f := range c.Faults {
		if f.Object.Group() == olm.Group {
			return nil, f.Error
		}
	}
	return Of(c), nil
}

// decodes returns what is wrong with an object as the API server types it. The resolver itself reads less of it.
func decodes(o *manifest.Object) error {
	typed := map[string]any{
		operatorsv1.OperatorGroupKind:      new(operatorsv1.OperatorGroup),
		v1alpha1.SubscriptionKind:          new(v1alpha1.Subscription),
		v1alpha1.ClusterServiceVersionKind: new(v1alpha1.ClusterServiceVersion),
		v1alpha1.CatalogSourceKind:         new(v1alpha1.CatalogSource),
	}[o.Kind]
	if typed == nil {
		return nil
	}
	_, err := o.Into(typed)
	return err
}

// Of returns the objects of a cluster that OLM's resolver reads.
func Of(c *world.World) *Cluster {
	r := &objectReader{cluster: c, states: map[string]*State{}}
	out := &Cluster{}
	for _, o := range c.Sources {
		var s v1alpha1.CatalogSource
		if _, err := o.Into(&s); err == nil {
			s.Namespace = o.Namespace
			out.CatalogSources = append(out.CatalogSources, r.source(&s))
		}
	}
	for _, g := range c.Groups {
		s := r.state(g.Namespace)
		s.OperatorGroups++
		s.ExcludeGlobal = g.Annotations[olm.AnnotationExcludeGlobal] == "true"
		s.FailForward = g.Spec.UpgradeStrategy == operatorsv1.UpgradeStrategyUnsafeFailForward
	}
	for _, s := range c.Subscriptions {
		r.subscription(s)
	}
	for _, v := range c.CSVs {
		r.csv(v)
	}
	out.Namespaces = lists.Map(lists.Keys(r.states), func(name string) *State { return r.states[name] })
	return out
}

type objectReader struct {
	cluster *world.World
	states  map[string]*State
}

// source returns a catalog, with its content if that is in a ConfigMap among the objects.
func (r *objectReader) source(c *v1alpha1.CatalogSource) Source {
	s := Source{Name: c.Name, Namespace: c.Namespace, Priority: c.Spec.Priority}
	err := sourceFault(&c.Spec)
	inMap := func(o *manifest.Object) bool {
		return o.Name == c.Spec.ConfigMap && o.Namespace == s.Namespace
	}
	switch i := slices.IndexFunc(r.cluster.ConfigMaps, inMap); {
	case err != nil:
	case c.Spec.SourceType == v1alpha1.SourceTypeGrpc:
		s.Image = c.Spec.Image
	case i >= 0:
		s.Catalog, err = catalog.ReadConfigMap(r.cluster.ConfigMaps[i])
	}
	if err != nil {
		s.Unavailable, s.Fault = true, err.Error()
	}
	at := c.Status.GRPCConnectionState
	if at != nil && s.Fault == "" && !slices.Contains(answering, at.LastObservedState) {
		s.Unavailable, s.Connection = true, at.LastObservedState
	}
	return s
}

// answering are the states of a connection to a catalog that answers (google.golang.org/grpc/connectivity).
var answering = []string{"", "READY", "IDLE"}

// sourceFault returns why OLM cannot use a CatalogSource, in its words (OLM:
// pkg/controller/operators/catalog/operator.go, validateSourceType).
func sourceFault(spec *v1alpha1.CatalogSourceSpec) error {
	switch spec.SourceType {
	case v1alpha1.SourceTypeInternal, v1alpha1.SourceTypeConfigmap:
		if spec.ConfigMap == "" {
			return fmt.Errorf("configmap name unset: must be set for sourcetype: %s", spec.SourceType)
		}
	case v1alpha1.SourceTypeGrpc:
		if spec.Image == "" && spec.Address == "" {
			return fmt.Errorf("image and address unset: at least one must be set for sourcetype: %s", spec.SourceType)
		}
	default:
		return fmt.Errorf("unknown sourcetype: %s", spec.SourceType)
	}
	return nil
}

func (r *objectReader) state(namespace string) *State {
	if r.states[namespace] == nil {
		r.states[namespace] = &State{Namespace: namespace, Disputed: r.cluster.Disputes.Namespaces[namespace]}
	}
	return r.states[namespace]
}

func (r *objectReader) subscription(v *world.Subscription) {
	s := r.state(v.Namespace)
	file, line := v.Asked()
	s.Subscriptions = append(s.Subscriptions, Subscription{
		Place: catalog.Place{File: file, Line: line}, Name: v.Name, Package: v.Package, Channel: v.Channel,
		Source: v.Source, SourceNamespace: v.SourceNamespace, StartingCSV: v.StartingCSV,
		Manual:       v.Approval == string(v1alpha1.ApprovalManual),
		InstalledCSV: v.InstalledCSV, CurrentCSV: v.CurrentCSV, plan: r.cluster.PlanPhase(v), planName: v.InstallPlan,
		hindered: r.cluster.PlanSays(v), policy: r.cluster.Managed(v.Namespace, v.Name),
	})
}

func (r *objectReader) csv(v *world.CSV) {
	c := CSV{Place: catalog.Place{File: v.File, Line: v.Line}, Name: v.Name, Version: v.Version, Replaces: v.Replaces,
		Phase: string(v.Phase), Copied: v.Copied, fault: v.Unusable}
	spec := v.Spec()
	c.Owned, c.Required = gvks(olm.OwnedAPIs(spec)), gvks(olm.RequiredAPIs(spec))
	if text, ok := v.Annotations[olm.AnnotationProperties]; ok {
		c.Annotated = true
		var err error
		if c.Properties, err = bundle.ParseProperties(text); err != nil && c.fault == nil {
			c.fault = fmt.Errorf("failed to retrieve properties of csv %q: failed to unmarshal properties "+
				"annotation: %w", v.Name, err)
		}
	}
	s := r.state(v.Namespace)
	s.CSVs = append(s.CSVs, c)
}

func gvks(apis []olm.API) []catalog.GVK {
	return lists.Map(apis, func(a olm.API) catalog.GVK {
		return catalog.GVK{Group: a.Group, Version: a.Version, Kind: a.Kind}
	})
}
