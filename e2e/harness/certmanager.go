package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/cmd/e2e/harness/apply"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
	"github.com/olmgen/olmgen/generate"
)

// certForms are how bundles that serve are rendered. All bundles have the first two of them, the repository's own all.
var certForms = []apply.Form{
	{Name: "plain", Names: generate.NamesStable, Profile: generate.ProfilePlain},
	{Name: "olmv1", Names: generate.NamesStable, Profile: generate.ProfileOLMv1},
	{Name: "plain, OLM's names", Names: generate.NamesOLM, Profile: generate.ProfilePlain},
	{Name: "descoped", Names: generate.NamesStable, Profile: generate.ProfileDescoped},
	{Name: "olm", Names: generate.NamesStable, Profile: generate.ProfileOLM},
}

// served is how many bundles of the corpus that serve are applied.
const served = 30

// certCheck is a cluster with cert-manager.
type certCheck struct {
	*cluster.Cluster
	applier *apply.Applier
	counts  map[string]int
	probes  int
}

// certTree is a tree, with objects of its CRDs.
type certTree struct {
	apply.Tree
	examples []*unstructured.Unstructured
}

// certManager renders bundles that serve webhooks or APIs with certificates of cert-manager, applies them as a GitOps
// engine does, and has the API server call what they serve.
func (o options) certManager(ctx context.Context, m material) error {
	c, err := cluster.Start(ctx, o.bin(), o.files(), cluster.WithWebhooks)
	if err != nil {
		return err
	}
	defer c.Stop()
	if err := errors.Join(c.InstallOLMCRDs(ctx), startCertManager(ctx, c, o.bin()), c.Namespace(ctx, probeNamespace,
		nil)); err != nil {
		return fmt.Errorf("%w\n%s", err, c.Log("cert-manager"))
	}
	x := &certCheck{Cluster: c, applier: apply.New(c), counts: map[string]int{}}
	s := newSummary("cert-manager")
	for _, dir := range m.serving() {
		forms := certForms
		if !strings.HasPrefix(dir, o.root) {
			forms = forms[:2]
		}
		for _, form := range forms {
			t, ok := x.render(s, form, dir)
			if !ok || !o.only.MatchString(t.Name) {
				continue
			}
			r, errs := x.tree(ctx, t)
			_ = s.add(t.Name, r, errs) // s.err reports it
			if err := errors.Join(ctx.Err(), c.Check()); err != nil {
				return err
			}
		}
	}
	err = errors.Join(s.err(), x.withoutAnnotation(ctx, o.golden()), x.renewal(ctx, o.golden()))
	fmt.Printf("cert-manager: %s\n", counts(x.counts))
	return err
}

// serving returns the bundles that have webhooks or APIServices: all of the repository, and some of the corpus.
func (m material) serving() (dirs []string) {
	serves := func(dir string) bool {
		b, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{})
		return err == nil && len(b.CSV.Spec.WebhookDefinitions)+len(b.CSV.Spec.APIServiceDefinitions.Owned) > 0
	}
	for _, dir := range m.own {
		if serves(dir) {
			dirs = append(dirs, dir)
		}
	}
	own := len(dirs)
	for _, p := range m.packages {
		if newest := p.Bundles[len(p.Bundles)-1]; serves(newest) {
			dirs = append(dirs, newest)
		}
	}
	return append(dirs[:own:own], every(max(1, (len(dirs)-own)/served), dirs[own:])...)
}

// render returns a bundle's tree. OLM v1 has no APIServices and not all install modes, and descoped operators have no
// install mode.
func (x *certCheck) render(s *summary, form apply.Form, dir string) (t certTree, ok bool) {
	options := generate.Options{Certs: generate.CertsManager, ConvertCRDs: true}
	switch form.Profile {
	case generate.ProfileOLMv1, generate.ProfileDescoped:
		tree, err := form.Render(dir, options)
		if err != nil {
			x.counts["refused by olmgen for profile "+string(form.Profile)]++
			return t, false
		}
		t.Tree, ok = tree, true
	default:
		t.Tree, ok = s.render(form, dir, options)
	}
	if !ok || t.certificates() == 0 {
		return t, false
	}
	t.examples = examples(dir)
	for _, o := range t.Objects {
		if o.GetKind() == "CustomResourceDefinition" {
			t.examples = append(t.examples, empty(o)...)
		}
	}
	return t, true
}

func (t certTree) certificates() (n int) {
	for _, o := range t.Objects {
		if isCertificate(o) {
			n++
		}
	}
	return n
}

// examples are a bundle's own ones.
func examples(dir string) (all []*unstructured.Unstructured) {
	b, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{})
	if err != nil {
		return nil
	}
	var list []map[string]any
	if json.Unmarshal([]byte(b.CSV.Annotations["alm-examples"]), &list) != nil {
		return nil // the tree is judged without them
	}
	for _, m := range list {
		all = append(all, &unstructured.Unstructured{Object: m})
	}
	return all
}

// empty are objects without content, one for each served version of a CRD.
func empty(crd *unstructured.Unstructured) (all []*unstructured.Unstructured) {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	for _, version := range servedVersions(crd) {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetAPIVersion(group + "/" + version)
		o.SetKind(kind)
		all = append(all, o)
	}
	return all
}

func servedVersions(crd *unstructured.Unstructured) (names []string) {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		if m, ok := v.(map[string]any); ok && m["served"] == true {
			names = append(names, fmt.Sprint(m["name"]))
		}
	}
	return names
}

// tree applies a tree, has everything called that it serves, and applies it once more.
func (x *certCheck) tree(ctx context.Context, t certTree) (apply.Result, []error) {
	if err := x.applier.Namespaces(ctx, t.Tree); err != nil {
		return apply.Result{}, []error{err}
	}
	r, errs := x.apply(ctx, t)
	there := certTree{t.Only(r), t.examples}
	if there.certificates() < t.certificates() && len(errs) == 0 {
		return r, x.remove(ctx, t) // explained; without its certificate nothing is served
	}
	for _, step := range []func(context.Context, certTree) []error{x.issued, x.calls,
		func(ctx context.Context, t certTree) []error { return x.applier.Synced(ctx, t.Tree, r) },
		x.injected, // still, or the second time would have removed it
	} {
		if len(errs) == 0 {
			errs = step(ctx, there)
		}
	}
	return r, append(errs, x.remove(ctx, t)...)
}

// apply applies a tree as an engine does that tries again: a webhook of the tree may be asked about its other objects
// before it has its certificate.
func (x *certCheck) apply(ctx context.Context, t certTree) (r apply.Result, errs []error) {
	for try := range 60 {
		if r, errs = x.applier.Apply(ctx, t.Tree); len(errs) == 0 {
			if try > 0 {
				x.counts["trees applied more than once, because of a webhook of their own"]++
			}
			break
		}
		if !strings.Contains(errors.Join(errs...).Error(), "calling webhook") {
			break
		}
		time.Sleep(500 * time.Millisecond)
	}
	return r, errs
}

// remove removes a tree, the Secrets of its certificates and the requests for them: the garbage collector finds out
// late that these are there.
func (x *certCheck) remove(ctx context.Context, t certTree) (errs []error) {
	if err := x.applier.Remove(ctx, t.Tree); err != nil {
		errs = append(errs, err)
	}
	for _, o := range t.Objects {
		if !isCertificate(o) {
			continue
		}
		request := o.DeepCopy()
		request.SetKind("CertificateRequest")
		for _, remove := range []func() error{
			func() error {
				return x.Client.CoreV1().Secrets(o.GetNamespace()).Delete(ctx, secretOf(o), metav1.DeleteOptions{})
			},
			func() error {
				return x.ClientOf(request).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
			},
			func() error {
				return x.Client.CoreV1().Events(o.GetNamespace()).DeleteCollection(ctx, metav1.DeleteOptions{},
					metav1.ListOptions{})
			},
		} {
			if err := remove(); err != nil && !apierrors.IsNotFound(err) {
				errs = append(errs, err)
			}
		}
	}
	return errs
}

// one is a tree that has all there is: admission, conversion and APIServices are in these two.
var one = []string{"webhooks", "owned-apiservice"}

// withoutAnnotation applies trees whose objects do not ask for the CA: none gets one, and no call succeeds.
func (x *certCheck) withoutAnnotation(ctx context.Context, golden string) (err error) {
	for _, name := range one {
		t, ok := x.render(newSummary("cert-manager"), certForms[0], filepath.Join(golden, name, "bundle"))
		if !ok {
			return fmt.Errorf("%s: is not rendered", name)
		}
		for _, o := range t.Objects {
			annotations := o.GetAnnotations()
			delete(annotations, injectFrom)
			o.SetAnnotations(annotations)
		}
		if err := x.applier.Namespaces(ctx, t.Tree); err != nil {
			return err
		}
		_, errs := x.apply(ctx, t)
		errs = append(errs, x.certificatesReady(ctx, t)...)
		if len(errs) == 0 {
			errs = x.refusedCalls(ctx, t)
		}
		errs = append(errs, x.remove(ctx, t)...)
		if failed := errors.Join(errs...); failed != nil {
			err = errors.Join(err, fmt.Errorf("cert-manager: %s without its annotations: %w", t.Name, failed))
		}
	}
	return err
}
