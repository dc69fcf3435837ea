package resolve

import (
	"fmt"
	"slices"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/internal/olm"
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
		return slices.ContainsFunc(s.Subscriptions, func(sub Subscription) bool {
			return sub.Source == to.Name && sub.SourceNamespace == to.Namespace
		})
	})
}

// ReadObjects finds OLM's objects. Objects that name no namespace are in the one given. OperatorPolicies approve the
// InstallPlans of the Subscriptions that they manage.
func ReadObjects(objects []*manifest.Object, namespace string) (*Cluster, error) {
	return readObjects(objects, namespace, func(err error) error { return err })
}

// ReadValid is ReadObjects without the objects that the API server refuses.
func ReadValid(objects []*manifest.Object) *Cluster {
	c, _ := readObjects(objects, "", func(error) error { return nil }) // no error comes back
	return c
}

func readObjects(objects []*manifest.Object, namespace string, fault func(error) error) (*Cluster, error) {
	r := &objectReader{namespace: namespace, states: map[string]*State{}}
	for _, o := range objects {
		if o.Group() == "" && o.Kind == "ConfigMap" {
			r.configMaps = append(r.configMaps, o)
		}
	}
	for _, p := range olm.OperatorPolicies(objects) {
		if p.Installs() {
			r.policies = append(r.policies, p)
		}
	}
	for _, o := range objects {
		if o.Group() != olm.Group {
			continue
		}
		if err := r.read(o); err != nil {
			if err = fault(err); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for n := range r.states {
			if !yield(n) {
				return
			}
		}
	}) {
		r.cluster.Namespaces = append(r.cluster.Namespaces, r.states[name])
	}
	return &r.cluster, nil
}

type objectReader struct {
	namespace string
	states    map[string]*State
	cluster   Cluster

	configMaps []*manifest.Object
	policies   []*olm.OperatorPolicy // that make Subscriptions
}

func (r *objectReader) read(o *manifest.Object) error {
	switch o.Kind {
	case v1alpha1.SubscriptionKind:
		return r.subscription(o)
	case v1alpha1.ClusterServiceVersionKind:
		return r.csv(o)
	case v1alpha1.CatalogSourceKind:
		var c v1alpha1.CatalogSource
		if _, err := o.Into(&c); err != nil {
			return err
		}
		r.cluster.CatalogSources = append(r.cluster.CatalogSources, r.source(&c))
	case operatorsv1.OperatorGroupKind:
		var g operatorsv1.OperatorGroup
		if _, err := o.Into(&g); err != nil {
			return err
		}
		s := r.state(o.Namespace)
		s.OperatorGroups++
		s.ExcludeGlobal = g.Annotations[olm.AnnotationExcludeGlobal] == "true"
		s.FailForward = g.UpgradeStrategy() == operatorsv1.UpgradeStrategyUnsafeFailForward
	}
	return nil
}

// source returns a catalog, with its content if that is in a ConfigMap among the objects.
func (r *objectReader) source(c *v1alpha1.CatalogSource) Source {
	s := Source{Name: c.Name, Namespace: r.in(c.Namespace), Priority: c.Spec.Priority}
	err := sourceFault(&c.Spec)
	inMap := func(o *manifest.Object) bool {
		return o.Name == c.Spec.ConfigMap && r.in(o.Namespace) == s.Namespace
	}
	switch i := slices.IndexFunc(r.configMaps, inMap); {
	case err != nil:
	case c.Spec.SourceType == v1alpha1.SourceTypeGrpc:
		s.Image = c.Spec.Image
	case i >= 0:
		s.Catalog, err = catalog.ReadConfigMap(r.configMaps[i])
	}
	if err != nil {
		s.Unavailable, s.Fault = true, err.Error()
	}
	return s
}

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

func (r *objectReader) in(namespace string) string {
	if namespace == "" {
		return r.namespace
	}
	return namespace
}

func (r *objectReader) state(namespace string) *State {
	namespace = r.in(namespace)
	if r.states[namespace] == nil {
		r.states[namespace] = &State{Namespace: namespace}
	}
	return r.states[namespace]
}

func (r *objectReader) subscription(o *manifest.Object) error {
	var v v1alpha1.Subscription
	if _, err := o.Into(&v); err != nil {
		return err
	}
	if v.Spec == nil {
		return o.Errorf("spec", "is missing")
	}
	s := r.state(o.Namespace)
	s.Subscriptions = append(s.Subscriptions, Subscription{
		Place: catalog.Place{File: o.File, Line: o.Line}, Name: v.Name, Package: v.Spec.Package,
		Channel: v.Spec.Channel,
		Source:  v.Spec.CatalogSource, SourceNamespace: v.Spec.CatalogSourceNamespace, StartingCSV: v.Spec.StartingCSV,
		Manual:       v.Spec.InstallPlanApproval == v1alpha1.ApprovalManual,
		InstalledCSV: v.Status.InstalledCSV, CurrentCSV: v.Status.CurrentCSV,
		policy: r.policyOf(v.Name, r.in(o.Namespace)),
	})
	return nil
}

// policyOf returns the OperatorPolicy that manages a Subscription, or nil.
func (r *objectReader) policyOf(name, namespace string) *olm.OperatorPolicy {
	for _, p := range r.policies {
		if p.Package == name && (p.Namespace == namespace || p.Namespace == "") {
			return p
		}
	}
	return nil
}

func (r *objectReader) csv(o *manifest.Object) error {
	var v v1alpha1.ClusterServiceVersion
	if _, err := o.Into(&v); err != nil {
		return err
	}
	v.Namespace = r.in(v.Namespace)
	c := CSV{Place: catalog.Place{File: o.File, Line: o.Line}, Name: v.Name, Version: v.Spec.Version.String(),
		Replaces: v.Spec.Replaces, Phase: string(v.Status.Phase)}
	_, c.Copied = olm.Copied(v.ObjectMeta, v.Status.Reason)
	c.Owned, c.Required = gvks(olm.OwnedAPIs(&v.Spec)), gvks(olm.RequiredAPIs(&v.Spec))
	c.fault = olm.CheckCRDNames(&v.Spec)
	if text, ok := v.Annotations[olm.AnnotationProperties]; ok {
		c.Annotated = true
		var err error
		if c.Properties, err = bundle.ParseProperties(text); err != nil && c.fault == nil {
			c.fault = fmt.Errorf("failed to retrieve properties of csv %q: failed to unmarshal properties "+
				"annotation: %w", v.Name, err)
		}
	}
	s := r.state(o.Namespace)
	s.CSVs = append(s.CSVs, c)
	return nil
}

func gvks(apis []olm.API) []catalog.GVK {
	var out []catalog.GVK
	for _, a := range apis {
		out = append(out, catalog.GVK{Group: a.Group, Version: a.Version, Kind: a.Kind})
	}
	return out
}
