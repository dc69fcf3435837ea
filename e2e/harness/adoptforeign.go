package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olmgen/olmgen/cmd/internal/adopt"
)

// strangers are objects that an operator made, or somebody else, and gave to its CSV or its OperatorCondition.
type strangers struct {
	adoption *adoption
	objects  []*unstructured.Unstructured
}

// createStrangers creates ten objects of different kinds that refer to an operator which leaves.
func (a *adoption) createStrangers(ctx context.Context, f form) (*strangers, error) {
	state, _, err := a.dump(ctx)
	if err == nil && f.stays != "" {
		state, err = state.Select(adopt.Selection{Except: f.staying()})
	}
	if err != nil {
		return nil, err
	}
	operator := state.All()[0]
	name, ns := operator.CSV.Name, operator.Group.Namespace
	owner := func(apiVersion, kind, namespace string) map[string]any {
		o := state.Dump.Get(kind, namespace, name)
		if o == nil {
			return nil
		}
		return map[string]any{"apiVersion": apiVersion, "kind": kind, "name": name, "uid": o.UID}
	}
	csv := owner("operators.coreos.com/v1alpha1", "ClusterServiceVersion", ns)
	condition := owner("operators.coreos.com/v2", "OperatorCondition", ns)
	copied := owner("operators.coreos.com/v1alpha1", "ClusterServiceVersion", "target-a")
	labels := map[string]any{"olm.owner": name, "olm.owner.kind": "ClusterServiceVersion", "olm.owner.namespace": ns}
	pods := map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "mine"}},
		"spec": map[string]any{"containers": []any{map[string]any{"name": "x", "image": "x"}}}}
	workload := map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "mine"}},
		"template": pods}
	rules := []any{map[string]any{"apiGroups": []any{"mine.example.com"}, "resources": []any{"x"},
		"verbs": []any{"get"}}}
	ref := map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "mine"}
	s := &strangers{adoption: a}
	add := s.add
	const rbac = "rbac.authorization.k8s.io/v1"
	add("apps/v1", "Deployment", ns, csv, nil, map[string]any{"spec": workload})
	add("v1", "Service", ns, csv, nil, map[string]any{"spec": map[string]any{
		"ports": []any{map[string]any{"port": int64(80)}}}})
	add("apps/v1", "StatefulSet", ns, condition, nil, map[string]any{"spec": workload})
	add("v1", "PersistentVolumeClaim", ns, condition, nil, map[string]any{"spec": map[string]any{
		"accessModes": []any{"ReadWriteOnce"},
		"resources":   map[string]any{"requests": map[string]any{"storage": "1Gi"}}}})
	add("v1", "ConfigMap", "target-a", copied, nil, map[string]any{"data": map[string]any{"a": "b"}})
	add(rbac, "Role", "target-a", copied, labels, map[string]any{"rules": rules})
	add(rbac, "RoleBinding", ns, csv, labels, map[string]any{"roleRef": ref, "subjects": []any{}})
	add(rbac, "ClusterRole", "", nil, labels, map[string]any{"rules": rules})
	// no webhook configuration: with one that has its labels, OLM calls the operator unhealthy
	add("networking.k8s.io/v1", "NetworkPolicy", ns, condition, nil, map[string]any{"spec": map[string]any{
		"podSelector": map[string]any{}}})
	add("batch/v1", "CronJob", ns, csv, nil, map[string]any{"spec": map[string]any{"schedule": "0 0 1 1 *",
		"jobTemplate": map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"restartPolicy": "Never", "containers": []any{map[string]any{"name": "x", "image": "x"}}}}}}}})
	return s, s.create(ctx)
}

// add adds an object that is still to be created.
func (s *strangers) add(apiVersion, kind, namespace string, of, labels, fields map[string]any) {
	m := map[string]any{"name": "mine"}
	if namespace != "" {
		m["namespace"] = namespace
	}
	if of != nil {
		m["ownerReferences"] = []any{of}
	}
	// OLM's label, or OLM would label everything at its next start and exit (OLM:
	// pkg/controller/operators/labeller)
	all := map[string]any{"olm.managed": "true"}
	maps.Copy(all, labels)
	m["labels"] = all
	o := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": m}
	maps.Copy(o, fields)
	s.objects = append(s.objects, (&unstructured.Unstructured{Object: o}).DeepCopy())
}

func (s *strangers) create(ctx context.Context) error {
	for i, o := range s.objects {
		made, err := s.adoption.cluster.ClientOf(o).Create(ctx, o, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("foreign %s: %w", o.GetKind(), err)
		}
		s.objects[i] = made
	}
	return nil
}

// kept holds that nobody has deleted or changed them, but for the marks that tie them to the operator.
func (s *strangers) kept(ctx context.Context) (err error) {
	for _, o := range s.objects {
		now, failed := s.adoption.cluster.ClientOf(o).Get(ctx, o.GetName(), metav1.GetOptions{})
		switch {
		case failed != nil:
			err = errors.Join(err, fmt.Errorf("foreign %s: %w", o.GetKind(), failed))
		case now.GetUID() != o.GetUID() || !reflect.DeepEqual(payload(o), payload(now)):
			err = errors.Join(err, fmt.Errorf("foreign %s is another: %s", o.GetKind(),
				strings.Join(fields("", payload(o), payload(now)), "; ")))
		}
	}
	if err == nil {
		s.adoption.say("all %d foreign objects are there, unchanged", len(s.objects))
	}
	return err
}

// payload returns an object without its metadata and status.
func payload(o *unstructured.Unstructured) map[string]any {
	out := o.DeepCopy().Object
	delete(out, "metadata")
	delete(out, "status")
	return out
}

func (s *strangers) remove(ctx context.Context) (err error) {
	free := []byte(`{"metadata": {"finalizers": null}}`) // of the claim: no controller takes it away here
	for _, o := range s.objects {
		client := s.adoption.cluster.ClientOf(o)
		_, failed := client.Patch(ctx, o.GetName(), types.MergePatchType, free, metav1.PatchOptions{})
		err = errors.Join(err, failed, client.Delete(ctx, o.GetName(), metav1.DeleteOptions{}))
	}
	return err
}
