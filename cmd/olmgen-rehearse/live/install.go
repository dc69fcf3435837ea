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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/operator-framework/operator-registry/pkg/api"

	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/catalog"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
	"github.com/olmgen/olmgen/golden/equal"
	recordings "github.com/olmgen/olmgen/golden/live"
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
func (i *installation) bundles() (dirs []string) {
	for _, b := range append([]string{i.Bundle}, i.With...) {
		dirs = append(dirs, filepath.Join(i.golden, b))
	}
	return dirs
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
func (i *installation) subscribe(ctx context.Context, c *catalog.Catalog) error {
	source := &v1alpha1.CatalogSource{Spec: v1alpha1.CatalogSourceSpec{SourceType: v1alpha1.SourceTypeGrpc,
		Address: c.Address}}
	source.Name = "catalog"
	if err := i.create(ctx, source, v1alpha1.SchemeGroupVersion.WithKind("CatalogSource"),
		"catalogsources"); err != nil {
		return err
	}
	for n, dir := range i.bundles() {
		b, err := catalog.Read(dir)
		if err != nil {
			return err
		}
		i.csvs = append(i.csvs, b.CsvName)
		name := subscription
		if n == 0 {
			i.CSV = b.CsvName
			err = i.group(ctx, b)
		} else {
			name = fmt.Sprintf("%s-%d", subscription, n+1)
		}
		if err != nil {
			return err
		}
		sub := &v1alpha1.Subscription{Spec: &v1alpha1.SubscriptionSpec{
			Package: b.PackageName, Channel: catalog.Channel, CatalogSource: source.Name,
			CatalogSourceNamespace: i.Namespace,
			InstallPlanApproval:    v1alpha1.ApprovalAutomatic,
		}}
		sub.Name = name
		if i.Config != "" {
			if sub.Spec.Config, err = readConfig(filepath.Join(i.golden, i.Config)); err != nil {
				return err
			}
		}
		if err := i.create(ctx, sub, v1alpha1.SchemeGroupVersion.WithKind("Subscription"),
			"subscriptions"); err != nil {
			return err
		}
	}
	return nil
}

// group creates the OperatorGroup.
func (i *installation) group(ctx context.Context, b *api.Bundle) (err error) {
	group := &operatorsv1.OperatorGroup{Spec: operatorsv1.OperatorGroupSpec{ServiceAccountName: i.ServiceAccount,
		StaticProvidedAPIs: i.Static}}
	group.Name = i.OperatorGroup
	if i.Selector != "" {
		if group.Spec.Selector, err = metav1.ParseToLabelSelector(i.Selector); err != nil {
			return err
		}
	} else {
		group.Spec.TargetNamespaces = i.TargetNamespaces
	}
	if i.Static {
		group.Annotations = map[string]string{operatorsv1.OperatorGroupProvidedAPIsAnnotationKey: provided(b)}
	}
	return i.create(ctx, group, operatorsv1.GroupVersion.WithKind("OperatorGroup"), "operatorgroups")
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

func (i *installation) create(ctx context.Context, object any, gvk schema.GroupVersionKind, resource string) error {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: m}
	u.SetGroupVersionKind(gvk)
	unstructured.RemoveNestedField(m, "status")
	_, err = i.cluster.Dynamic.Resource(gvk.GroupVersion().WithResource(resource)).Namespace(i.Namespace).Create(ctx, u,
		metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("%s: %w", gvk.Kind, err)
	}
	return nil
}

// olm is a resource of OLM in the namespace of the installation.
func (i *installation) olm(resource string) dynamic.ResourceInterface {
	return i.cluster.Dynamic.Resource(v1alpha1.SchemeGroupVersion.WithResource(resource)).Namespace(i.Namespace)
}

// look asks how far the InstallPlans and the CSVs are. ended is true when nothing more is to be expected.
func (i *installation) look(ctx context.Context) (ended bool) {
	const complete, succeeded = string(v1alpha1.InstallPlanPhaseComplete), string(v1alpha1.CSVPhaseSucceeded)
	i.Plan, i.Phase, i.Message = "", "", ""
	plans, err := i.olm("installplans").List(ctx, metav1.ListOptions{})
	if err != nil || len(plans.Items) == 0 {
		i.Message = i.unresolved(ctx)
		return false
	}
	for _, plan := range plans.Items { // the first one that is not complete tells
		if i.Plan == "" || i.Plan == complete {
			i.Plan, _, _ = unstructured.NestedString(plan.Object, "status", "phase")
			i.Message, _, _ = unstructured.NestedString(plan.Object, "status", "message")
		}
	}
	for _, name := range i.csvs {
		if i.Phase != "" && i.Phase != succeeded {
			continue
		}
		i.Phase = ""
		csv, err := i.cluster.Dynamic.Resource(cluster.CSVs).Namespace(i.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			break
		}
		i.Phase, _, _ = unstructured.NestedString(csv.Object, "status", "phase")
		if i.Plan == complete {
			i.Message, _, _ = unstructured.NestedString(csv.Object, "status", "message")
		}
	}
	return i.Plan == string(v1alpha1.InstallPlanPhaseFailed) || i.Plan == complete && i.Phase == succeeded
}

// unresolved is what OLM says of a Subscription that it makes no InstallPlan for.
func (i *installation) unresolved(ctx context.Context) (message string) {
	sub, err := i.olm("subscriptions").Get(ctx, subscription, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	conditions, _, _ := unstructured.NestedSlice(sub.Object, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["status"] == "True" && m["message"] != nil {
			message = fmt.Sprint(m["type"], ": ", m["message"])
		}
	}
	return message
}

// installer makes a ServiceAccount that may do everything, for an OperatorGroup that names one.
func (i *installation) installer(ctx context.Context) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: i.ServiceAccount}}
	if _, err := i.cluster.Client.CoreV1().ServiceAccounts(i.Namespace).Create(ctx, account,
		metav1.CreateOptions{}); err != nil {
		return err
	}
	binding := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
		"metadata": map[string]any{"name": "installer"},
		"roleRef": map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
			"name": "cluster-admin"},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": i.ServiceAccount, "namespace": i.Namespace}},
	}}
	bindings := schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1",
		Resource: "clusterrolebindings"}
	_, err := i.cluster.Dynamic.Resource(bindings).Create(ctx, binding, metav1.CreateOptions{})
	return err
}
