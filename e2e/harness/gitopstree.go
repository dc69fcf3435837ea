package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/cmd/e2e/harness/apply"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
	"github.com/olmgen/olmgen/golden/corpus"
)

// gitopsLayout is a layout, and the directories that a GitOps engine is pointed to.
type gitopsLayout struct {
	name  string
	roots []string // patterns
}

// gitopsLayouts returns the layouts that a GitOps engine builds with kustomize and, for Argo CD, the chart.
func gitopsLayouts(annotations string) []gitopsLayout {
	kustomized := []gitopsLayout{
		{"flat", []string{"."}},
		{"by-kind", []string{"."}},
		{"gitops-catalog", []string{"*/operator/overlays/*"}},
		{"cluster-scope", []string{"cluster-scope/overlays/prod/common", "*/base"}},
	}
	if annotations == "argocd" {
		return append(kustomized, gitopsLayout{chart, []string{"."}})
	}
	return kustomized
}

// chart is the layout that is a Helm chart. e2e/helm shows that it has the objects of the layout flat.
const chart = "helm"

// gitopsTree is what "olmgen render" wrote for a GitOps engine.
type gitopsTree struct {
	name    string
	dir     string
	roots   []string // the directories that the engine builds
	objects []*unstructured.Unstructured
}

// renderGitOps runs olmgen for a bundle. The n-th tree has the n-th layout, in turns.
func (o options) renderGitOps(ctx context.Context, dir, bundle, annotations string, n int,
	more ...string) (t gitopsTree, err error) {
	layouts := gitopsLayouts(annotations)
	layout := layouts[n%len(layouts)]
	t = gitopsTree{name: fmt.Sprintf("%s (%s)", short(bundle), layout.name), dir: dir}
	flags, err := apply.Flags(bundle)
	if err != nil {
		return t, err
	}
	if len(more) == 0 { // a profile that hands over has no CRDs
		more = []string{"--convert-crds"}
	}
	render := func(dir, layout string) error {
		args := append([]string{"render", bundle, "-o", dir, "--layout", layout, "--annotations", annotations,
			"--quiet"}, append(flags, more...)...)
		out, err := exec.CommandContext(ctx, filepath.Join(o.bin(), "olmgen"), args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("olmgen %s: %w\n%s", strings.Join(args, " "), err, out)
		}
		return nil
	}
	manifests := dir
	if err := render(dir, layout.name); err != nil {
		return t, err
	}
	if layout.name == chart {
		manifests = filepath.Join(dir, "..", filepath.Base(dir)+"-flat")
		defer os.RemoveAll(manifests)
		if err := render(manifests, "flat"); err != nil {
			return t, err
		}
	}
	for _, pattern := range layout.roots {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return t, err
		}
		for _, root := range found {
			_, err := os.Stat(filepath.Join(root, "kustomization.yaml"))
			if (err == nil || layout.name == chart) && !slices.Contains(t.roots, root) {
				t.roots = append(t.roots, root)
			}
		}
	}
	t.objects, err = readTree(manifests)
	if err == nil && (len(t.roots) == 0 || len(t.objects) == 0) {
		err = fmt.Errorf("%s: %d directories, %d objects", t.name, len(t.roots), len(t.objects))
	}
	return t, err
}

// unrenderable counts why olmgen refuses a real bundle; false where it does not, or nothing explains it.
func unrenderable(s *summary, err error) bool {
	if err == nil {
		return false
	}
	class, _ := corpus.Refusal(err)
	if class != "" {
		s.count(class)
	}
	return class != ""
}

// readTree reads the objects below a directory.
func readTree(dir string) (objects []*unstructured.Unstructured, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" || d.Name() == "kustomization.yaml" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(data, u); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		objects = append(objects, u)
		return nil
	})
	return objects, err
}

// defines reports whether a tree has CRDs of an API group, or of one below it.
func (t gitopsTree) defines(group string) bool {
	return slices.ContainsFunc(t.objects, func(o *unstructured.Unstructured) bool {
		of, _, _ := unstructured.NestedString(o.Object, "spec", "group")
		return o.GetKind() == "CustomResourceDefinition" && strings.HasSuffix("."+of, "."+group)
	})
}

// foreignCRDs makes CRDs without schema for the kinds of a tree that neither the cluster nor the tree defines, such as
// Certificate and ServiceMonitor. An engine syncs nothing of a tree with an unknown kind.
func foreignCRDs(ctx context.Context, c *cluster.Cluster, t gitopsTree) error {
	own := map[schema.GroupKind]bool{}
	for _, o := range t.objects {
		if o.GetKind() == "CustomResourceDefinition" {
			group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
			own[schema.GroupKind{Group: group, Kind: kind}] = true
		}
	}
	lacking, err := apply.New(c).Lacking(apply.Tree{Objects: t.objects})
	if err != nil {
		return err
	}
	for _, o := range lacking {
		if own[o.GroupVersionKind().GroupKind()] {
			continue
		}
		if err := stubCRD(ctx, c, o); err != nil {
			return err
		}
	}
	return nil
}

// gitopsBundles are the bundles of the repository and, of the corpus, the newest of thirty packages.
func (o options) gitopsBundles(m material) []string {
	dirs := every(o.sample, m.own)
	for _, p := range every(max(1, len(m.packages)*o.sample/applied), m.packages) {
		dirs = append(dirs, p.Bundles[len(p.Bundles)-1])
	}
	return slices.DeleteFunc(dirs, func(dir string) bool { return !o.only.MatchString(short(dir)) })
}

// there returns which objects of a tree are in the cluster and are not being deleted. A ClusterRole that the
// aggregation controller has made again does not count.
func there(ctx context.Context, a *apply.Applier, objects []*unstructured.Unstructured) (left []string, err error) {
	for _, o := range objects {
		live, failed := a.Get(ctx, o)
		if failed != nil {
			err = errors.Join(err, failed)
		} else if live != nil && live.GetDeletionTimestamp() == nil && !apply.Revived(live) {
			left = append(left, nameOf(o))
		}
	}
	return left, err
}

// removeTree removes what an engine leaves, so that the next tree starts from nothing. Namespaces stay.
func removeTree(ctx context.Context, a *apply.Applier, t gitopsTree) {
	left := only(t.objects, func(o *unstructured.Unstructured) bool { return o.GetKind() != "Namespace" })
	if err := a.Remove(ctx, apply.Tree{Objects: left}); err != nil {
		fmt.Printf("%s: %v\n", t.name, err)
	}
}

func nameOf(o *unstructured.Unstructured) string {
	if ns := o.GetNamespace(); ns != "" {
		return fmt.Sprintf("%s %s/%s", o.GetKind(), ns, o.GetName())
	}
	return fmt.Sprintf("%s %s", o.GetKind(), o.GetName())
}

// isKept reports whether olmgen protects an object from being pruned.
func isKept(o *unstructured.Unstructured) bool {
	return o.GetKind() == "CustomResourceDefinition" || o.GetKind() == "Namespace" && o.GetAPIVersion() == "v1"
}

// only returns the objects for which keep is true.
func only(objects []*unstructured.Unstructured,
	keep func(*unstructured.Unstructured) bool) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool { return !keep(o) })
}

// gitopsUpgrades calls do for pairs of a bundle and its successor: those of golden/upgrades, and the newest two of some
// packages of the corpus.
func (o options) gitopsUpgrades(ctx context.Context, s *summary, m material, annotations string, c *cluster.Cluster,
	do func(ctx context.Context, s *summary, from, to gitopsTree, n int) error) {
	pairs, _ := filepath.Glob(filepath.Join(o.golden(), "upgrades", "*"))
	var all [][2]string
	for _, dir := range every(o.sample, pairs) {
		all = append(all, [2]string{filepath.Join(dir, "from"), filepath.Join(dir, "to")})
	}
	for _, p := range every(max(1, len(m.packages)*o.sample/applied), m.packages) {
		if n := len(p.Bundles); n > 1 {
			all = append(all, [2]string{p.Bundles[n-2], p.Bundles[n-1]})
		}
	}
	for n, pair := range all {
		name := fmt.Sprintf("%s to %s", short(pair[0]), short(pair[1]))
		if ctx.Err() != nil || !o.only.MatchString(name) {
			continue
		}
		var trees [2]gitopsTree
		var err error
		for i, dir := range pair {
			files := c.File(fmt.Sprintf("upgrade-%d-%d", n, i))
			defer os.RemoveAll(files)
			if err == nil {
				trees[i], err = o.renderGitOps(ctx, files, dir, annotations, 0)
			}
		}
		if unrenderable(s, err) {
			continue
		}
		if err == nil {
			err = do(ctx, s, trees[0], trees[1], n)
		}
		_ = s.add(name, apply.Result{Applied: len(trees[1].objects)}, joined(err)) // the summary reports it
	}
}

// hasAggregatedRules reports whether an object has rules that the cluster writes as well.
func hasAggregatedRules(o *unstructured.Unstructured) bool {
	_, has := o.Object["rules"]
	return has && o.GetKind() == "ClusterRole" && o.Object["aggregationRule"] != nil
}

// byHand is what olmgen marks for Flux because server-side apply refuses it: its warning says to apply it by kubectl.
func byHand(o *unstructured.Unstructured) bool {
	return o.GetAnnotations()["kustomize.toolkit.fluxcd.io/ssa"] == "Ignore"
}

// lacking is an error that names the objects of a tree without contents; nil if there are none.
func lacking(t gitopsTree, contents map[string]string) error {
	var names []string
	for _, o := range t.objects {
		if name := apply.Name(o); contents[name] == "" && !byHand(o) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("not in the cluster: %s", strings.Join(names, ", "))
}

// tabs is the error of kustomize about a text that begins with a tab and has several lines: it prints it in a form
// that it does not read.
const tabs = "found a tab character where an indentation space is expected"

// refusedByServer counts a refusal of an object of a tree by the API server for a reason that is the bundle's: see
// apply.Refusal.
func refusedByServer(s *summary, t gitopsTree, err error) bool {
	if err == nil {
		return false
	}
	if strings.Contains(err.Error(), tabs) {
		s.count("a text that kustomize cannot print")
		return true
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		for _, o := range t.objects {
			if !strings.Contains(line, o.GetName()) {
				continue
			}
			if class := apply.Refusal(o, errors.New(line)); class != "" {
				s.count(class)
				return true
			}
		}
	}
	return false
}

// replaced checks what an upgrade leaves: all objects of the successor, and of the predecessor's own only those that
// are protected.
func replaced(ctx context.Context, a *apply.Applier, from, to gitopsTree,
	stays func(*unstructured.Unstructured) bool) error {
	now, err := there(ctx, a, to.objects)
	if err != nil {
		return err
	}
	if len(now) != len(to.objects) {
		err = fmt.Errorf("after the upgrade %d of %d objects are there", len(now), len(to.objects))
	}
	gone := apply.Tree{Objects: from.objects}.Without(apply.Tree{Objects: to.objects}).Objects
	left, failed := there(ctx, a, only(gone, func(o *unstructured.Unstructured) bool { return !stays(o) }))
	if len(left) > 0 {
		failed = errors.Join(failed, fmt.Errorf("the upgrade does not prune %q", left))
	}
	kept := only(gone, stays)
	if staying, more := there(ctx, a, kept); len(staying) != len(kept) {
		failed = errors.Join(failed, more, fmt.Errorf("of %d protected objects only %q stay", len(kept), staying))
	}
	return errors.Join(err, failed)
}

// stubCRD creates a CRD without a schema for the kind of an object, if there is none, and waits until it is served.
func stubCRD(ctx context.Context, c *cluster.Cluster, o *unstructured.Unstructured) error {
	gvk := o.GroupVersionKind()
	plural, singular := meta.UnsafeGuessKindToResource(gvk)
	scope := "Cluster"
	if o.GetNamespace() != "" {
		scope = "Namespaced"
	}
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural.Resource + "." + gvk.Group,
			"annotations": map[string]any{"api-approved.kubernetes.io": "unapproved"}},
		"spec": map[string]any{"group": gvk.Group, "scope": scope,
			"names": map[string]any{"kind": gvk.Kind, "plural": plural.Resource, "singular": singular.Resource},
			"versions": []any{map[string]any{"name": gvk.Version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}},
	}}
	if _, err := c.Dynamic.Resource(cluster.CRDs).Create(ctx, crd, metav1.CreateOptions{}); cluster.Exists(err) != nil {
		return fmt.Errorf("CRD of %s: %w", gvk, err)
	}
	return c.Established(ctx, crd.GetName())
}
