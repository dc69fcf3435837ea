package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	conflicts "k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/cmd/internal/adopt"
	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/golden/equal"
)

// edited is a cluster whose objects are edited by hand.
var edited = equal.Case{Name: "hand-edits", Bundle: "live-bundles/gates",
	With: []string{"../examples/memcached-operator/bundle", "live-bundles/meters"}, InstallMode: "MultiNamespace",
	Namespace: "operator-ns", OperatorGroup: "my-og", TargetNamespaces: []string{"target-a", "target-b"},
	Config: "subscription-config/subscription.yaml"}

// edits changes one object after the other by hand, compares it with what is rendered, and applies that. What the page
// says must be what the API server does. OLM is stopped, so nobody else writes.
func (a *adoption) edits(ctx context.Context) (string, error) {
	state, data, err := a.dump(ctx)
	if err != nil {
		return "", err
	}
	values, _, err := a.render(ctx, state, adopt.Options{}, nil)
	if err != nil {
		return "", err
	}
	a.cluster.StopOLM()
	var list struct {
		Items []map[string]any `json:"items"`
	}
	if err := yaml.Unmarshal(data, &list); err != nil {
		return "", err
	}
	e := &editor{adoption: a, items: list.Items, rendered: values, outcomes: map[string]int{}}
	all, err := a.handEdits()
	for _, edit := range all {
		if failed := e.try(ctx, edit); failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", edit.Edit, failed))
		}
		if ctx.Err() != nil {
			return "", errors.Join(err, ctx.Err())
		}
	}
	return fmt.Sprintf("the server did what the page said of %d edits by hand: %v", len(all), e.outcomes), err
}

// editor edits the objects of a cluster.
type editor struct {
	*adoption
	items    []map[string]any // of the dump
	rendered []map[string]any
	outcomes map[string]int
}

// try makes one edit, and the object as it was afterwards.
func (e *editor) try(ctx context.Context, edit handEdit) (err error) {
	at := slices.IndexFunc(e.items, func(o map[string]any) bool { return edit.is(o) })
	if at < 0 {
		return errors.New("no such object")
	}
	pristine := &unstructured.Unstructured{Object: e.items[at]}
	defer func() { err = errors.Join(err, e.replace(ctx, pristine, "olm")) }()
	// as OLM wrote it, and as nobody has applied it yet
	if err := e.replace(ctx, pristine, "olm"); err != nil {
		return err
	}
	if pristine, err = e.cluster.ClientOf(pristine).Get(ctx, pristine.GetName(), metav1.GetOptions{}); err != nil {
		return err
	}
	e.items[at] = pristine.Object
	changed := pristine.DeepCopy()
	edit.apply(changed.Object)
	if err := e.update(ctx, changed); err != nil {
		return err
	}
	here, err := e.cluster.ClientOf(changed).Get(ctx, changed.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	said, err := e.said(ctx, at, here)
	if err != nil {
		return err
	}
	did, left, err := e.did(ctx, pristine, here)
	if err != nil {
		return err
	}
	e.outcomes[did]++
	if said != cmp.Or(edit.Says, edit.Does) || did != edit.Does {
		return fmt.Errorf("the page says %q, the server did %q, expected is %q; what is not as before: %s", said, did,
			edit.Does, strings.Join(left, "; "))
	}
	return nil
}

// outcome names what happens: refused, or some of restart, written and left.
func outcome(refused, restart, written, left bool) string {
	if refused {
		return "refused"
	}
	var parts []string
	for _, part := range []struct {
		is   bool
		name string
	}{{restart, "restart"}, {written, "written"}, {left, "left"}} {
		if part.is {
			parts = append(parts, part.name)
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// said returns what the comparison says of an edited object.
func (e *editor) said(ctx context.Context, at int, here *unstructured.Unstructured) (string, error) {
	items := slices.Clone(e.items)
	items[at] = here.Object
	data, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		return "", err
	}
	d, err := dump.Read(ctx, []string{"-"}, bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	s, err := adopt.Read(d)
	if err != nil {
		return "", err
	}
	identity := d.Get(here.GetKind(), here.GetNamespace(), here.GetName()).Identity()
	for _, c := range s.Verify(e.rendered).Objects {
		if c.Object == identity {
			applied := func(x adopt.Change) bool { return x.Applied }
			left := func(x adopt.Change) bool { return !x.Applied }
			return outcome(len(c.Immutable) > 0, len(c.Restarts) > 0, slices.ContainsFunc(c.Changes, applied),
				slices.ContainsFunc(c.Changes, left)), nil
		}
	}
	return "", fmt.Errorf("%s is not compared", identity)
}

// did applies what is rendered, and returns what the API server does, and which fields are not as before the edit.
func (e *editor) did(ctx context.Context, pristine, here *unstructured.Unstructured) (string, []string, error) {
	at := slices.IndexFunc(e.rendered, func(o map[string]any) bool {
		u := unstructured.Unstructured{Object: o}
		return u.GetKind() == here.GetKind() && u.GetName() == here.GetName() && u.GetNamespace() == here.GetNamespace()
	})
	if at < 0 {
		return "", nil, errors.New("it is not rendered")
	}
	force := true
	after, err := e.cluster.Apply(ctx, &unstructured.Unstructured{Object: e.rendered[at]},
		metav1.PatchOptions{FieldManager: "olmgen", Force: &force})
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return outcome(true, false, false, false), nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	was, is, first := written(here), written(after), written(pristine)
	template := func(o map[string]any) any {
		v, _, _ := unstructured.NestedFieldNoCopy(o, "spec", "template")
		return v
	}
	restart := here.GetKind() == "Deployment" && len(fields("", pair(template(was)), pair(template(is)))) > 0
	left := fields("", first, is)
	return outcome(false, restart, len(fields("", was, is)) > 0, len(left) > 0), left, nil
}

func pair(v any) map[string]any { return map[string]any{"v": v} }

// written returns what somebody writes of an object.
func written(o *unstructured.Unstructured) map[string]any {
	out := o.DeepCopy().Object
	delete(out, "status")
	m := map[string]any{}
	for _, field := range []string{"labels", "annotations"} {
		if o.GetKind() == "APIService" && field == "annotations" {
			continue // OLM sets those of the Subscription only if it finds that in time (install/apiservice.go)
		}
		if v, ok, _ := unstructured.NestedMap(out, "metadata", field); ok && len(v) > 0 {
			m[field] = v
		}
	}
	out["metadata"] = m
	return out
}

// update writes an edited object. What cannot be changed is made anew.
func (e *editor) update(ctx context.Context, o *unstructured.Unstructured) error {
	client := e.cluster.ClientOf(o)
	err := conflicts.RetryOnConflict(conflicts.DefaultBackoff, func() error {
		here, err := client.Get(ctx, o.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		next := o.DeepCopy()
		next.SetResourceVersion(here.GetResourceVersion())
		_, err = client.Update(ctx, next, metav1.UpdateOptions{FieldManager: "kubectl-edit"})
		return err
	})
	if apierrors.IsInvalid(err) {
		return e.replace(ctx, o, "kubectl-edit")
	}
	stored, _, _ := unstructured.NestedSlice(o.Object, "status", "storedVersions")
	if err != nil || len(stored) < 2 {
		return err
	}
	return conflicts.RetryOnConflict(conflicts.DefaultBackoff, func() error {
		here, err := client.Get(ctx, o.GetName(), metav1.GetOptions{})
		if err == nil {
			err = unstructured.SetNestedField(here.Object, stored, "status", "storedVersions")
		}
		if err == nil {
			_, err = client.UpdateStatus(ctx, here, metav1.UpdateOptions{})
		}
		return err
	})
}

// replace makes an object anew, with one manager for all its fields.
func (e *editor) replace(ctx context.Context, o *unstructured.Unstructured, manager string) error {
	const patience = 30 * time.Second
	client := e.cluster.ClientOf(o)
	_, err := client.Patch(ctx, o.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`),
		metav1.PatchOptions{})
	if err == nil {
		err = client.Delete(ctx, o.GetName(), metav1.DeleteOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	next := o.DeepCopy()
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields",
		"deletionTimestamp", "finalizers"} {
		unstructured.RemoveNestedField(next.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(next.Object, "status")
	unstructured.RemoveNestedField(next.Object, "spec", "clusterIP") // it is not free again at once
	unstructured.RemoveNestedField(next.Object, "spec", "clusterIPs")
	for started := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		_, err := client.Create(ctx, next, metav1.CreateOptions{FieldManager: manager})
		if !apierrors.IsAlreadyExists(err) || time.Since(started) > patience {
			return err
		}
	}
}
