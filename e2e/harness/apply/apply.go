// Package apply gives what olmgen renders to a real API server, as a GitOps engine does: by server-side apply, without force.
package apply

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/e2e/harness/cluster"
)

const manager = "olmgen-e2e"

// Tree is what is applied together, in this order.
type Tree struct {
	Name    string
	Objects []*unstructured.Unstructured
}

// GoldenTrees reads every tree below golden/*/out, in the order of its kustomization.yaml.
func GoldenTrees(golden string) (trees []Tree, err error) {
	for _, pattern := range []string{"*/out/kustomization.yaml", "*/out/*/kustomization.yaml"} {
		files, err := filepath.Glob(filepath.Join(golden, pattern))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			name, _ := filepath.Rel(golden, filepath.Dir(file))
			t := Tree{Name: name}
			var k struct{ Resources []string }
			if err := readYAML(file, &k); err != nil {
				return nil, err
			}
			for _, resource := range k.Resources {
				u := &unstructured.Unstructured{}
				if err := readYAML(filepath.Join(filepath.Dir(file), resource), u); err != nil {
					return nil, err
				}
				t.Objects = append(t.Objects, u)
			}
			trees = append(trees, t)
		}
	}
	slices.SortFunc(trees, func(a, b Tree) int { return strings.Compare(a.Name, b.Name) })
	return trees, nil
}

func readYAML(file string, into any) error {
	data, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(data, into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// Newest gives the directory of the newest bundle of every package of the corpus.
func Newest(corpus string) ([]string, error) {
	packages, err := filepath.Glob(filepath.Join(corpus, "bundles", "*"))
	if err != nil {
		return nil, err
	}
	var newest []string
	for _, dir := range packages {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		best, name := semver.Version{}, ""
		for _, e := range entries {
			if v, err := semver.ParseTolerant(e.Name()); err == nil && (name == "" || v.GT(best)) {
				best, name = v, e.Name()
			}
		}
		if name != "" {
			newest = append(newest, filepath.Join(dir, name))
		}
	}
	return newest, nil
}

// Applier applies to one cluster.
type Applier struct {
	cluster *cluster.Cluster
	mapper  *restmapper.DeferredDiscoveryRESTMapper
}

// New gives an applier for a cluster.
func New(c *cluster.Cluster) *Applier {
	return &Applier{c, restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.Discovery))}
}

// Result counts what became of the objects of a tree.
type Result struct {
	Applied int
	Unknown map[string]int // kinds that the cluster lacks the API of
}

// Namespaces makes those that a tree needs, as a dry run makes none.
func (a *Applier) Namespaces(ctx context.Context, t Tree) error {
	made := map[string]bool{"": true}
	for _, o := range t.Objects {
		ns := o.GetNamespace()
		if made[ns] {
			continue
		}
		made[ns] = true
		object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
		if _, err := a.cluster.Client.CoreV1().Namespaces().Create(ctx, object, metav1.CreateOptions{}); cluster.Exists(err) != nil {
			return err
		}
	}
	return nil
}

// DryRun asks the server about every object of a tree.
func (a *Applier) DryRun(ctx context.Context, t Tree) (Result, []error) {
	r, errs := Result{Unknown: map[string]int{}}, []error(nil)
	for _, o := range t.Objects {
		if _, err := a.patch(ctx, o, metav1.DryRunAll); meta.IsNoMatchError(err) {
			r.Unknown[o.GetKind()]++
		} else if err != nil {
			errs = append(errs, fmt.Errorf("%s %s/%s: %w", o.GetKind(), o.GetNamespace(), o.GetName(), err))
		} else {
			r.Applied++
		}
	}
	return r, errs
}

// Twice applies a tree and applies it again: the second time nothing may change.
func (a *Applier) Twice(ctx context.Context, t Tree) (Result, []error) {
	r, errs := Result{Unknown: map[string]int{}}, []error(nil)
	versions := map[int]string{}
	for pass := range 2 {
		for n, o := range t.Objects {
			got, err := a.patch(ctx, o)
			id := fmt.Sprintf("%s %s/%s", o.GetKind(), o.GetNamespace(), o.GetName())
			switch {
			case meta.IsNoMatchError(err):
				r.Unknown[o.GetKind()]++
			case err != nil:
				errs = append(errs, fmt.Errorf("%s (pass %d): %w", id, pass+1, err))
			case pass == 0:
				r.Applied++
				versions[n] = ownPart(got)
			case versions[n] != ownPart(got):
				errs = append(errs, fmt.Errorf("%s changes when it is applied again:\n%s\n%s", id, versions[n], ownPart(got)))
			}
		}
		a.mapper.Reset() // there are new CRDs
	}
	return r, errs
}

// ownPart is what the applier has a say in: the specification and not what controllers write meanwhile.
func ownPart(o *unstructured.Unstructured) string {
	c := o.DeepCopy()
	delete(c.Object, "status")
	for _, f := range []string{"resourceVersion", "managedFields"} {
		unstructured.RemoveNestedField(c.Object, "metadata", f)
	}
	if c.Object["aggregationRule"] != nil {
		delete(c.Object, "rules")
	}
	data, _ := yaml.Marshal(c.Object)
	return string(data)
}

func (a *Applier) patch(ctx context.Context, o *unstructured.Unstructured, dryRun ...string) (*unstructured.Unstructured, error) {
	gvk := o.GroupVersionKind()
	mapping, err := a.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	data, err := o.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var client dynamic.ResourceInterface = a.cluster.Dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		client = a.cluster.Dynamic.Resource(mapping.Resource).Namespace(o.GetNamespace())
	}
	return client.Patch(ctx, o.GetName(), types.ApplyPatchType, data, metav1.PatchOptions{
		FieldManager: manager, FieldValidation: metav1.FieldValidationStrict, DryRun: dryRun,
	})
}
