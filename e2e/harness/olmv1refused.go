package main

import (
	"context"
	"errors"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olmgen/olmgen/cmd/e2e/harness/apply"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
)

// refusedNamespace is where OLM v1 is asked to install what olmgen refuses.
const refusedNamespace = "refused"

// refuses is an error if OLM v1 installs a case that olmgen refuses.
func (r *v1Run) refuses(ctx context.Context, c v1Case, refusal error) error {
	if err := r.administrator(ctx, refusedNamespace); err != nil {
		return err
	}
	spec := map[string]any{"namespace": refusedNamespace, "serviceAccount": map[string]any{"name": "default"},
		"source": map[string]any{"sourceType": "Catalog", "catalog": map[string]any{"packageName": c.bundle.Package}}}
	extension := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "olm.operatorframework.io/v1",
		"kind": "ClusterExtension", "metadata": map[string]any{"name": "refused"}, "spec": spec}}
	if err := r.serve(ctx, c.dir); err != nil {
		return err
	}
	if _, errs := r.applier.Apply(ctx, apply.Tree{Objects: []*unstructured.Unstructured{extension}}); len(errs) > 0 {
		return errors.Join(errs...)
	}
	said, err := r.Complaint(ctx, extension.GetName())
	if err == nil && said == "" {
		err = fmt.Errorf("OLM v1 installs what olmgen refuses: %w", refusal)
	}
	return errors.Join(err, r.Uninstall(ctx, extension.GetName()))
}

// administrator makes a namespace whose default ServiceAccount may do everything.
func (r *v1Run) administrator(ctx context.Context, ns string) error {
	if err := r.Namespace(ctx, ns, nil); err != nil {
		return err
	}
	_, err := r.Client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: ns},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: ns, Name: "default"}},
	}, metav1.CreateOptions{})
	return cluster.Exists(err)
}
