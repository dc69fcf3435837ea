// Package live records what a real OLM makes of a bundle.
package live

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/catalog"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/rehearse"
	"github.com/olmgen/olmgen/golden/equal"
	recordings "github.com/olmgen/olmgen/golden/live"
	"github.com/olmgen/olmgen/internal/base/lists"
)

const subscription = "operator"

// installation is a case in a cluster.
type installation struct {
	equal.Case
	golden  string
	cluster *cluster.Cluster
	before  map[string]bool // UIDs of what was there before
	csvs    []string        // of all bundles

	usersBefore recordings.Users // what the roles for users allow before
}

// bundles are the directories of all bundles.
func (i *installation) bundles() []string {
	return lists.Map(append([]string{i.Bundle}, i.With...), func(b string) string { return filepath.Join(i.golden, b) })
}

// prepare makes the namespaces and what else is there before OLM is asked.
func (i *installation) prepare(ctx context.Context) error {
	names := slices.Concat([]string{i.Namespace}, i.TargetNamespaces, recordings.Targets, []string{"unrelated"})
	slices.Sort(names)
	names = slices.Compact(names)
	for _, name := range names {
		var labels map[string]string
		if slices.Contains(i.TargetNamespaces, name) {
			labels = i.NamespaceLabels
		}
		if err := i.cluster.Namespace(ctx, name, labels); err != nil {
			return err
		}
	}
	if i.CRDs != "" {
		if err := i.cluster.InstallCRDs(ctx, filepath.Join(i.golden, i.CRDs)); err != nil {
			return err
		}
	}
	if i.ServiceAccount != "" {
		if err := i.installer(ctx); err != nil {
			return err
		}
	}
	err := makeClusterReader(ctx, i.cluster)
	if err != nil {
		return err
	}
	if i.usersBefore, err = usersRules(ctx, i.cluster); err != nil {
		return err
	}
	objects, err := i.cluster.Objects(ctx, uncompared)
	i.before = map[string]bool{}
	for _, o := range objects {
		i.before[string(o.GetUID())] = true
	}
	return err
}

// subscribe creates what a user of OLM creates.
func (i *installation) subscribe(ctx context.Context, address string) error {
	const source = "catalog"
	objects := []runtime.Object{&v1alpha1.CatalogSource{TypeMeta: ofOLM("CatalogSource"), ObjectMeta: i.named(source),
		Spec: v1alpha1.CatalogSourceSpec{SourceType: v1alpha1.SourceTypeGrpc, Address: address}}}
	for n, dir := range i.bundles() {
		b, err := catalog.Read(dir)
		if err != nil {
			return err
		}
		i.csvs = append(i.csvs, b.Name)
		name := subscription
		if n == 0 {
			i.CSV = b.Name
			group, err := i.group(b)
			if err != nil {
				return err
			}
			objects = append(objects, group)
		} else {
			name = fmt.Sprintf("%s-%d", subscription, n+1)
		}
		sub := &v1alpha1.Subscription{TypeMeta: ofOLM(v1alpha1.SubscriptionKind), ObjectMeta: i.named(name),
			Spec: &v1alpha1.SubscriptionSpec{Package: b.Package, Channel: Channel, CatalogSource: source,
				CatalogSourceNamespace: i.Namespace, InstallPlanApproval: v1alpha1.ApprovalAutomatic}}
		if i.Config != "" {
			if sub.Spec.Config, err = readConfig(filepath.Join(i.golden, i.Config)); err != nil {
				return err
			}
		}
		objects = append(objects, sub)
	}
	return i.create(ctx, objects...)
}

func ofOLM(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: kind}
}

func (i *installation) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: i.Namespace, Name: name}
}

// group returns the OperatorGroup.
func (i *installation) group(b declcfg.Bundle) (group *operatorsv1.OperatorGroup, err error) {
	group = &operatorsv1.OperatorGroup{ObjectMeta: i.named(i.OperatorGroup),
		TypeMeta: metav1.TypeMeta{APIVersion: operatorsv1.GroupVersion.String(), Kind: operatorsv1.OperatorGroupKind},
		Spec: operatorsv1.OperatorGroupSpec{ServiceAccountName: i.ServiceAccount, StaticProvidedAPIs: i.Static,
			TargetNamespaces: i.TargetNamespaces}}
	if i.Selector != "" {
		group.Spec.TargetNamespaces = nil
		if group.Spec.Selector, err = metav1.ParseToLabelSelector(i.Selector); err != nil {
			return nil, err
		}
	}
	if i.Static {
		group.Annotations = map[string]string{}
		group.Annotations[operatorsv1.OperatorGroupProvidedAPIsAnnotationKey], err = provided(b)
	}
	return group, err
}

func readConfig(file string) (*v1alpha1.SubscriptionConfig, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var s struct {
		Spec struct {
			Config *v1alpha1.SubscriptionConfig `json:"config"`
		} `json:"spec"`
	}
	return s.Spec.Config, yaml.Unmarshal(data, &s)
}

func (i *installation) create(ctx context.Context, objects ...runtime.Object) error {
	var list []*unstructured.Unstructured
	for _, o := range objects {
		value, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			return err
		}
		delete(value, "status")
		list = append(list, &unstructured.Unstructured{Object: value})
	}
	return i.cluster.Make(ctx, list...)
}

// look asks how far the InstallPlans and the CSVs are. ended is true when nothing more is to be expected.
func (i *installation) look(ctx context.Context) (ended bool) {
	const complete, succeeded = string(v1alpha1.InstallPlanPhaseComplete), string(v1alpha1.CSVPhaseSucceeded)
	i.Plan, i.Phase, i.Message = "", "", ""
	all, err := rehearse.Statuses(ctx, i.cluster)
	if err != nil {
		i.Message = err.Error()
		return false
	}
	csvs := map[string]rehearse.Status{}
	for _, s := range all {
		switch {
		case s.Namespace != i.Namespace:
		case s.Kind == v1alpha1.ClusterServiceVersionKind:
			csvs[s.Name] = s
		case s.Kind == v1alpha1.InstallPlanKind && (i.Plan == "" || i.Plan == complete):
			i.Plan, i.Message = s.Phase, s.Message // the first one that is not complete tells
		case s.Name == subscription && i.Plan == "":
			for _, c := range s.Conditions {
				if c.Message != "" {
					i.Message = c.Type + ": " + c.Message
				}
			}
		}
	}
	for _, name := range i.csvs {
		s, there := csvs[name]
		if i.Phase = s.Phase; there && i.Plan == complete {
			i.Message = s.Message
		}
		if i.Phase != succeeded {
			break
		}
	}
	return i.Plan == string(v1alpha1.InstallPlanPhaseFailed) || i.Plan == complete && i.Phase == succeeded
}

// installer makes a ServiceAccount that may do everything, for an OperatorGroup that names one.
func (i *installation) installer(ctx context.Context) error {
	return i.create(ctx, &corev1.ServiceAccount{ObjectMeta: i.named(i.ServiceAccount),
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "installer"},
			TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: i.ServiceAccount, Namespace: i.Namespace}}})
}
