// Package apply applies what olmgen renders to a real API server as a GitOps engine does: server-side, without force.
package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
)

const manager = "olmgen-e2e"

// Applier applies to one cluster.
type Applier struct {
	Force bool // take fields over from other managers

	cluster *cluster.Cluster
}

// New returns an Applier for a cluster.
func New(c *cluster.Cluster) *Applier {
	return &Applier{cluster: c}
}

// Result counts what became of the objects of a tree.
type Result struct {
	Applied int
	ids     map[id]bool    // of the applied ones
	maybe   map[id]bool    // of the refused ones, which may be there from before
	Unknown map[string]int // by kind: the cluster lacks the API
	Refused map[string]int // by class: the bundle's own fault
}

// Namespaces makes those that trees need. They stay.
func (a *Applier) Namespaces(ctx context.Context, trees ...Tree) error {
	made := map[string]bool{"": true}
	for _, t := range trees {
		for _, o := range t.Objects {
			if ns := o.GetNamespace(); !made[ns] {
				made[ns] = true
				if err := a.cluster.Namespace(ctx, ns, nil); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// DryRun asks the server about every object of a tree.
func (a *Applier) DryRun(ctx context.Context, t Tree) (Result, []error) {
	return a.apply(ctx, t, metav1.DryRunAll)
}

// Apply applies a tree and waits until the APIs of its CRDs are served.
func (a *Applier) Apply(ctx context.Context, t Tree) (Result, []error) {
	r, errs := a.apply(ctx, t)
	for _, o := range t.Objects {
		if r.ids[idOf(o)] && o.GetKind() == "CustomResourceDefinition" {
			if err := a.served(ctx, o); err != nil {
				errs = append(errs, err)
			}
		}
	}
	a.cluster.Rediscover()
	return r, errs
}

// served waits until a CRD's objects can be listed. A CRD that is removed before then stays for minutes: the API server
// lists them once, and then tries again after longer and longer times.
func (a *Applier) served(ctx context.Context, crd *unstructured.Unstructured) error {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		version, ok := v.(map[string]any)
		if !ok || version["served"] != true {
			continue
		}
		resource := schema.GroupVersionResource{Group: group, Version: fmt.Sprint(version["name"]), Resource: plural}
		if err := a.cluster.Wait(ctx, idOf(crd).String(), func() error {
			_, err := a.cluster.Dynamic.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

func (a *Applier) apply(ctx context.Context, t Tree, dryRun ...string) (Result, []error) {
	r, errs := Result{ids: map[id]bool{}, maybe: map[id]bool{}, Unknown: map[string]int{}, Refused: map[string]int{}},
		[]error(nil)
	for _, o := range t.Objects {
		_, err := a.patch(ctx, o, dryRun...)
		switch {
		case err == nil:
			r.Applied++
			r.ids[idOf(o)] = true
		case meta.IsNoMatchError(err):
			r.Unknown[o.GetKind()]++
		default:
			if class := Refusal(o, err); class != "" {
				r.Refused[class]++
				r.maybe[idOf(o)] = true
			} else {
				errs = append(errs, fmt.Errorf("%s: %w", idOf(o), err))
			}
		}
	}
	return r, errs
}

// Synced returns what a GitOps engine would call out of sync after Apply: objects that would change if they were
// applied once more. That is what Argo CD's server-side diff compares. Refusals are counted in the result of
// Apply.
func (a *Applier) Synced(ctx context.Context, t Tree, r Result) (errs []error) {
	for _, o := range t.Objects {
		client, err := a.cluster.ResourceOf(o)
		if meta.IsNoMatchError(err) {
			continue
		}
		for try := 0; err == nil; try++ {
			var live, again *unstructured.Unstructured
			if live, err = client.Get(ctx, o.GetName(), metav1.GetOptions{}); err != nil {
				if apierrors.IsNotFound(err) {
					err = nil // it was refused
				}
				break
			}
			if again, err = a.patch(ctx, o); err != nil || content(live) == content(again) {
				break
			}
			if try == 3 { // until then it could be a controller
				err = fmt.Errorf("changes when it is applied again:\n%s", unequal(content(live), content(again)))
			}
		}
		if err == nil {
			continue
		}
		if class := Refusal(o, err); class != "" {
			r.Refused[class]++
		} else {
			errs = append(errs, fmt.Errorf("%s: %w", idOf(o), err))
		}
	}
	return errs
}

// content is an object without its status and without what only the server writes.
func content(o *unstructured.Unstructured) string {
	c := o.DeepCopy()
	delete(c.Object, "status")
	for _, f := range []string{"resourceVersion", "managedFields"} {
		unstructured.RemoveNestedField(c.Object, "metadata", f)
	}
	data, _ := yaml.Marshal(c.Object)
	return string(data)
}

// unequal are the lines that only one of two texts has, the first twenty.
func unequal(before, after string) string {
	was, is := strings.Split(before, "\n"), strings.Split(after, "\n")
	var out []string
	for _, line := range was {
		if !slices.Contains(is, line) {
			out = append(out, "- "+line)
		}
	}
	for _, line := range is {
		if !slices.Contains(was, line) {
			out = append(out, "+ "+line)
		}
	}
	return strings.Join(out[:min(len(out), 20)], "\n")
}

// Remove deletes the objects of a tree, last first, and waits until they are gone. A ClusterRole is deleted again if
// the aggregation controller, which applies its rules from a cache, has made it anew meanwhile.
func (a *Applier) Remove(ctx context.Context, t Tree) error {
	defer a.cluster.Rediscover()
	for _, o := range slices.Backward(t.Objects) {
		if err := a.cluster.Delete(ctx, o); err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
			return fmt.Errorf("%s: %w", idOf(o), err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for _, o := range t.Objects {
		client, err := a.cluster.ResourceOf(o)
		for err == nil {
			var live *unstructured.Unstructured
			if live, err = client.Get(ctx, o.GetName(), metav1.GetOptions{}); err == nil {
				time.Sleep(20 * time.Millisecond)
				if live.GetDeletionTimestamp() == nil {
					err = a.cluster.Delete(ctx, o)
				}
			}
		}
		if !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
			return fmt.Errorf("%s is not removed: %w", idOf(o), err)
		}
	}
	return nil
}

func (a *Applier) patch(ctx context.Context, o *unstructured.Unstructured,
	dryRun ...string) (*unstructured.Unstructured, error) {
	return a.cluster.Apply(ctx, o, metav1.PatchOptions{
		FieldManager: manager, FieldValidation: metav1.FieldValidationStrict, DryRun: dryRun, Force: &a.Force,
	})
}

// Replace applies an object in place of another one, which is the same with other content; nil is none.
func (a *Applier) Replace(ctx context.Context, old, fresh *unstructured.Unstructured) error {
	if fresh == nil {
		return a.Remove(ctx, Tree{Objects: []*unstructured.Unstructured{old}})
	}
	_, err := a.patch(ctx, fresh)
	return err
}

// Lacking returns the first object of each kind of a tree whose API the cluster lacks.
func (a *Applier) Lacking(t Tree) (lacking []*unstructured.Unstructured, err error) {
	a.cluster.Rediscover()
	seen := map[schema.GroupVersionKind]bool{}
	for _, o := range t.Objects {
		gvk := o.GroupVersionKind()
		if seen[gvk] {
			continue
		}
		seen[gvk] = true
		switch _, err := a.cluster.ResourceOf(o); {
		case meta.IsNoMatchError(err):
			lacking = append(lacking, o)
		case err != nil:
			return nil, err
		}
	}
	return lacking, nil
}

// Changes is an error if applying a tree over what is there would change anything but their metadata.
func (a *Applier) Changes(ctx context.Context, t Tree) (err error) {
	a.cluster.Rediscover()
	force := &Applier{Force: true, cluster: a.cluster}
	for _, o := range t.Objects {
		client, failed := a.cluster.ResourceOf(o)
		if failed != nil {
			return failed
		}
		live, failed := client.Get(ctx, o.GetName(), metav1.GetOptions{})
		if failed != nil {
			return failed
		}
		again, failed := force.patch(ctx, o, metav1.DryRunAll)
		if failed == nil {
			delete(live.Object, "metadata")
			delete(again.Object, "metadata")
			if is, would := content(live), content(again); is != would {
				failed = fmt.Errorf("changes when it is applied:\n%s", unequal(is, would))
			}
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", idOf(o), failed))
		}
	}
	return err
}

// Get returns an object as the cluster has it; nil if it has none.
func (a *Applier) Get(ctx context.Context, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	client, err := a.cluster.ResourceOf(o)
	if err == nil {
		var live *unstructured.Unstructured
		if live, err = client.Get(ctx, o.GetName(), metav1.GetOptions{}); err == nil {
			return live, nil
		}
	}
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		err = nil
	}
	return nil, err
}

// Contents are the objects that the cluster has of some, by name, without what only the server writes.
func (a *Applier) Contents(ctx context.Context, objects []*unstructured.Unstructured) (map[string]string, error) {
	a.cluster.Rediscover()
	all := map[string]string{}
	for _, o := range objects {
		live, err := a.Get(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", idOf(o), err)
		}
		if live != nil {
			if live.Object["aggregationRule"] != nil {
				delete(live.Object, "rules") // the aggregation controller's, which writes them when it comes to it
			}
			all[Name(o)] = content(live)
		}
	}
	return all, nil
}
