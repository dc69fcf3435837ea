package world

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/operator-framework/api/pkg/lib/version"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// Ordered is an object with its position in the order of creation.
type Ordered struct {
	*manifest.Object
	created string // creationTimestamp; empty for an object that was never in a cluster
	index   int    // position among the objects
}

// Order compares objects by creationTimestamp, then by their position. Objects without a timestamp come last.
func (p Ordered) Order(o Ordered) int {
	if (p.created == "") != (o.created == "") {
		return cmp.Compare(o.created, p.created)
	}
	return cmp.Or(cmp.Compare(p.created, o.created), cmp.Compare(p.index, o.index))
}

// Group is an OperatorGroup.
type Group struct {
	Ordered
	Spec        operatorsv1.OperatorGroupSpec
	Annotations map[string]string
	Status      operatorsv1.OperatorGroupStatus
}

func readGroup(p Ordered) (*Group, *manifest.Error) {
	g := &Group{Ordered: p}
	return g, cmp.Or(
		p.Field(&g.Spec, "spec"),
		p.Field(&g.Annotations, "metadata", "annotations"),
		p.Field(&g.Status, "status"),
	)
}

// Subscription is a Subscription to a package.
type Subscription struct {
	Ordered
	Package, Channel, Source, SourceNamespace, StartingCSV, Approval string // of its spec
	InstalledCSV, CurrentCSV, InstallPlan                            string // of its status
}

func readSubscription(p Ordered) (*Subscription, *manifest.Error) {
	s := &Subscription{Ordered: p}
	if !p.Has("spec") {
		return nil, p.Errorf("spec", "is missing")
	}
	return s, cmp.Or(
		p.Field(&s.Package, "spec", "name"),
		p.Field(&s.Channel, "spec", "channel"),
		p.Field(&s.Source, "spec", "source"),
		p.Field(&s.SourceNamespace, "spec", "sourceNamespace"),
		p.Field(&s.StartingCSV, "spec", "startingCSV"),
		p.Field(&s.Approval, "spec", "installPlanApproval"),
		p.Field(&s.InstalledCSV, "status", "installedCSV"),
		p.Field(&s.CurrentCSV, "status", "currentCSV"),
		p.Field(&s.InstallPlan, "status", "installPlanRef", "name"),
	)
}

// PlanPhase returns the phase of the InstallPlan that a Subscription names, or "". OLM writes status.installedCSV when
// the plan has made the CSV (OLM: pkg/controller/operators/catalog/operator.go, ensureSubscriptionCSVState).
func (w *World) PlanPhase(s *Subscription) v1alpha1.InstallPlanPhase {
	switch plan := w.plan(s); {
	case plan != nil:
		return v1alpha1.InstallPlanPhase(olm.Text(olm.Get(plan, "status", "phase")))
	case s.CurrentCSV != "" && s.CurrentCSV == s.InstalledCSV:
		return v1alpha1.InstallPlanPhaseComplete
	}
	return v1alpha1.InstallPlanPhaseNone
}

func (w *World) plan(s *Subscription) *manifest.Object {
	return w.Get(olm.Group, v1alpha1.InstallPlanKind, s.Namespace, s.InstallPlan)
}

// PlanSays returns what OLM says about what hinders the InstallPlan that a Subscription names, or "".
func (w *World) PlanSays(s *Subscription) string {
	var status v1alpha1.InstallPlanStatus
	if plan := w.plan(s); plan != nil && plan.Field(&status, "status") == nil &&
		status.Phase != v1alpha1.InstallPlanPhaseComplete {
		if why := olm.PlanHindered(&status); why != "" {
			return fmt.Sprintf("InstallPlan %s is %s: %s", s.InstallPlan, status.Phase, why)
		}
	}
	return ""
}

// Asked returns the place that says what the Subscription asks for: a patch of a field of its spec, or the object.
func (s *Subscription) Asked() (file string, line int) {
	for _, field := range []string{"channel", "name", "source", "sourceNamespace", "startingCSV"} {
		if file, line = s.PlaceOf("spec." + field); file != s.File {
			return file, line
		}
	}
	return s.File, s.Line
}

// CSV is a ClusterServiceVersion, without what its InstallPlan and its pods need.
type CSV struct {
	Ordered
	Labels      map[string]string
	Annotations map[string]string
	Version     string
	Replaces    string
	Modes       []v1alpha1.InstallMode
	CRDs        v1alpha1.CustomResourceDefinitions // names, versions and kinds
	APIServices v1alpha1.APIServiceDefinitions     // names, versions, kinds and deployments
	Phase       v1alpha1.ClusterServiceVersionPhase
	Reason      v1alpha1.ConditionReason
	Message     string
	Unusable    error  // why OLM ignores it
	Copied      bool   // by OLM, from another namespace
	Original    string // the namespace that it is copied from
}

// readCSV decodes what decides about the phase of a ClusterServiceVersion. A field of a wrong type is an error.
func readCSV(p Ordered) (*CSV, *manifest.Error) {
	v, o := &CSV{Ordered: p}, p.Object
	var release version.OperatorVersion
	if err := cmp.Or(
		o.Field(&v.Labels, "metadata", "labels"),
		o.Field(&v.Annotations, "metadata", "annotations"),
		o.Field(&v.Modes, "spec", "installModes"),
		o.Field(&release, "spec", "version"),
		o.Field(&v.Replaces, "spec", "replaces"),
		crdsOf(o, &v.CRDs.Owned, "owned"),
		crdsOf(o, &v.CRDs.Required, "required"),
		servicesOf(o, &v.APIServices.Owned, "owned"),
		servicesOf(o, &v.APIServices.Required, "required"),
		o.Field(&v.Phase, "status", "phase"),
		o.Field(&v.Reason, "status", "reason"),
		o.Field(&v.Message, "status", "message"),
	); err != nil {
		return nil, err
	}
	v.Version = release.String()
	v.Unusable = olm.CheckCRDNames(v.Spec())
	v.Original, v.Copied = olm.Copied(
		metav1.ObjectMeta{Namespace: o.Namespace, Labels: v.Labels, Annotations: v.Annotations}, v.Reason)
	return v, nil
}

// CSVOf returns the ClusterServiceVersion that OLM makes of one in a namespace, as old as what asks for it.
func CSVOf(o *manifest.Object, namespace string, like Ordered) (*CSV, *manifest.Error) {
	like.Object = InNamespace(o, namespace)
	return readCSV(like)
}

// Spec returns the APIs that the CSV owns and requires.
func (v *CSV) Spec() *v1alpha1.ClusterServiceVersionSpec {
	return &v1alpha1.ClusterServiceVersionSpec{CustomResourceDefinitions: v.CRDs, APIServiceDefinitions: v.APIServices}
}

func crdsOf(o *manifest.Object, into *[]v1alpha1.CRDDescription, list string) *manifest.Error {
	return itemsOf(o, into, []string{"spec", "customresourcedefinitions", list},
		func(d *v1alpha1.CRDDescription) map[string]*string {
			return map[string]*string{"name": &d.Name, "version": &d.Version, "kind": &d.Kind}
		})
}

func servicesOf(o *manifest.Object, into *[]v1alpha1.APIServiceDescription, list string) *manifest.Error {
	return itemsOf(o, into, []string{"spec", "apiservicedefinitions", list},
		func(d *v1alpha1.APIServiceDescription) map[string]*string {
			return map[string]*string{"name": &d.Name, "group": &d.Group, "version": &d.Version, "kind": &d.Kind,
				"deploymentName": &d.DeploymentName}
		})
}

// itemsOf reads some texts of each item of a list.
func itemsOf[T any](o *manifest.Object, into *[]T, at []string, texts func(*T) map[string]*string) *manifest.Error {
	*into = make([]T, o.Len(at...))
	for i := range *into {
		to := texts(&(*into)[i])
		for _, key := range lists.Keys(to) {
			if err := o.Field(to[key], append(slices.Clip(at), strconv.Itoa(i), key)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// add adds an object to a list, if it is readable.
func add[T any](to *[]*T, p Ordered, read func(Ordered) (*T, *manifest.Error)) *manifest.Error {
	x, err := read(p)
	if err == nil {
		*to = append(*to, x)
	}
	return err
}

// Hub has the fields of an OperatorHub that decide which default CatalogSources there are (openshift/api:
// config/v1/types_operatorhub.go).
type Hub struct {
	Object *manifest.Object
	spec   struct {
		DisableAll bool `json:"disableAllDefaultSources"`
		Sources    []struct {
			Name     string `json:"name"`
			Disabled bool   `json:"disabled"`
		} `json:"sources"`
	}
}

// Source returns a CatalogSource among the objects, or nil.
func (w *World) Source(namespace, name string) *manifest.Object {
	return lists.Find(w.Sources, func(o *manifest.Object) bool { return o.Name == name && o.Namespace == namespace })
}

// Disabled returns the OperatorHub that disables a CatalogSource, or nil. spec.sources overrides
// disableAllDefaultSources. A CatalogSource of that name among the objects is not OpenShift's.
func (w *World) Disabled(namespace, name string) *manifest.Object {
	if w.Hub == nil || !olm.IsDefaultCatalogSource(namespace, name) || w.Source(namespace, name) != nil {
		return nil
	}
	disabled := w.Hub.spec.DisableAll
	for _, s := range w.Hub.spec.Sources {
		if s.Name == name {
			disabled = s.Disabled
		}
	}
	if !disabled {
		return nil
	}
	return w.Hub.Object
}

// NotUpgradeable returns why OLM does not replace the operator of an OperatorCondition, or "" (OLM: pkg/controller/
// operators/olm/operatorconditions.go, isOperatorUpgradeable). One that cannot be read, an error, does not block.
func NotUpgradeable(o *manifest.Object) (string, *manifest.Error) {
	var overrides, asked, conditions []metav1.Condition
	var generation int64
	if err := cmp.Or(
		o.Field(&overrides, "spec", "overrides"),
		o.Field(&asked, "spec", "conditions"),
		o.Field(&conditions, "status", "conditions"),
		o.Field(&generation, "metadata", "generation"),
	); err != nil {
		return "", err
	}
	if override := meta.FindStatusCondition(overrides, operatorsv2.Upgradeable); override != nil {
		if override.Status == metav1.ConditionTrue {
			return "", nil
		}
		return "the operator is not upgradeable: " + override.Message, nil
	}
	// OLM copies spec.conditions to the status (OLM: pkg/controller/operators/operatorcondition_controller.go,
	// syncOperatorConditionStatus).
	for _, a := range asked {
		said := meta.FindStatusCondition(conditions, a.Type)
		if said == nil || said.Status != a.Status || said.ObservedGeneration != generation {
			a.ObservedGeneration = generation
			meta.SetStatusCondition(&conditions, a)
		}
	}
	switch said := meta.FindStatusCondition(conditions, operatorsv2.Upgradeable); {
	case said == nil:
	case said.ObservedGeneration != generation:
		return `the operatorcondition status "` + said.Type + `"="` + string(said.Status) + `" is outdated`, nil
	case said.Status == metav1.ConditionFalse:
		return "the operator is not upgradeable: " + said.Message, nil
	}
	return "", nil
}
