package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
)

// probeNamespace has the ConfigMaps by which a clientConfig is tried out.
const probeNamespace = "e2e-probe"

// calls has the API server call everything that a tree serves: with requests that its webhooks match, where the bundle
// has an example or an empty object is valid, and each clientConfig with a probe.
func (x *certCheck) calls(ctx context.Context, t certTree) (errs []error) {
	for _, o := range t.Objects {
		if o.GetAnnotations()[injectFrom] == "" || len(cluster.ClientConfigs(o)) == 0 {
			continue
		}
		live, err := x.ClientOf(o).Get(ctx, o.GetName(), metav1.GetOptions{})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, client := range cluster.ClientConfigs(live) {
			if err := x.call(ctx, t, live, client); err != nil {
				errs = append(errs, fmt.Errorf("%s %s %s: %w", o.GetKind(), o.GetName(), client.Name, err))
			}
		}
	}
	return errs
}

func (x *certCheck) call(ctx context.Context, t certTree, o *unstructured.Unstructured, c cluster.ClientConfig) error {
	if o.GetKind() == "APIService" {
		x.counts["APIServices asked"]++
		return soon(ctx, func() error { return x.get(ctx, o) })
	}
	if err := x.probe(ctx, c, "refused by "+here(c)); err != nil {
		return err
	}
	stranger := c
	stranger.Fields = maps.Clone(c.Fields)
	delete(stranger.Fields, "caBundle")
	if err := x.probe(ctx, stranger, "x509: certificate signed by unknown authority"); err != nil {
		return fmt.Errorf("without the CA: %w", err)
	}
	x.counts["clientConfigs called by a probe, and refused without the CA"]++
	if o.GetKind() == "CustomResourceDefinition" {
		return x.conversion(ctx, t, o, c)
	}
	return x.admission(ctx, t, o, c)
}

// here is what a server in the place of pods calls itself.
func here(c cluster.ClientConfig) string { return c.Host() + cmp.Or(c.Path, "/") }

// get asks an extension API server through the API server. That it is Available is no proof: the API server finds
// that out without looking at the certificate.
func (x *certCheck) get(ctx context.Context, o *unstructured.Unstructured) error {
	group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
	version, _, _ := unstructured.NestedString(o.Object, "spec", "version")
	return x.Discovery.RESTClient().Get().AbsPath("/apis/" + group + "/" + version).Do(ctx).Error()
}

// probe tries a clientConfig out: in a webhook of its own that is asked about a ConfigMap.
func (x *certCheck) probe(ctx context.Context, c cluster.ClientConfig, says string) error {
	x.probes++
	name := fmt.Sprintf("probe-%d.e2e.olmgen.dev", x.probes)
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
		"metadata": map[string]any{"name": name},
		"webhooks": []any{map[string]any{"name": name, "clientConfig": c.Fields,
			"rules": []any{map[string]any{"apiGroups": []any{""}, "apiVersions": []any{"v1"},
				"operations": []any{"CREATE"}, "resources": []any{"configmaps"}}},
			"namespaceSelector": map[string]any{
				"matchLabels": map[string]any{corev1.LabelMetadataName: probeNamespace}},
			"admissionReviewVersions": []any{"v1"}, "sideEffects": "None"}}}}
	if _, err := x.ClientOf(o).Create(ctx, o, metav1.CreateOptions{}); err != nil {
		return err
	}
	defer func() { _ = x.ClientOf(o).Delete(ctx, name, metav1.DeleteOptions{}) }()
	asks := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "probe",
		Annotations: map[string]string{cluster.Deny: here(c)}}}
	return soon(ctx, func() error {
		_, err := x.Client.CoreV1().ConfigMaps(probeNamespace).Create(ctx, asks,
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), says) {
			return fmt.Errorf("a request does not end in %q: %w", says, cmp.Or(err, errors.New("it passes")))
		}
		return nil
	})
}

// admission creates an object that a webhook of the tree matches and that asks it to refuse.
func (x *certCheck) admission(ctx context.Context, t certTree, o *unstructured.Unstructured,
	c cluster.ClientConfig) error {
	for _, example := range t.examples {
		client, plural, err := x.clientFor(t, example)
		if err != nil || !matches(o, c.Name, example.GroupVersionKind(), plural) {
			continue
		}
		asks := named(example)
		asks.SetAnnotations(map[string]string{cluster.Deny: here(c)})
		made, err := client.Create(ctx, asks, metav1.CreateOptions{})
		if err == nil {
			_ = client.Delete(ctx, made.GetName(), metav1.DeleteOptions{})
		} else if strings.Contains(err.Error(), "refused by "+here(c)) {
			x.counts["webhooks that refused a request"]++
			return nil
		} else if strings.Contains(err.Error(), "calling webhook") {
			return err
		}
	}
	x.counts["webhooks that match no request that could be sent"]++
	return nil
}

// matches reports whether a webhook is asked about the creation of an object.
func matches(o *unstructured.Unstructured, webhook string, kind schema.GroupVersionKind, plural string) bool {
	webhooks, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
	for _, w := range webhooks {
		m, _ := w.(map[string]any)
		rules, _, _ := unstructured.NestedSlice(m, "rules")
		for _, r := range rules {
			rule, _ := r.(map[string]any)
			has := func(field, want string) bool {
				list, _, _ := unstructured.NestedStringSlice(rule, field)
				return slices.Contains(list, want) || slices.Contains(list, "*")
			}
			if m["name"] == webhook && has("apiGroups", kind.Group) && has("operations", "CREATE") &&
				has("resources", plural) {
				return true
			}
		}
	}
	return false
}

// conversion creates an object in one version and reads it in each: the API server has it converted.
func (x *certCheck) conversion(ctx context.Context, t certTree, crd *unstructured.Unstructured,
	c cluster.ClientConfig) error {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	versions := servedVersions(crd)
	if len(versions) < 2 {
		x.counts["CRDs with a conversion webhook and one version"]++
		return nil
	}
	call := cluster.Call{Kind: "ConversionReview", Host: c.Host(), Path: cmp.Or(c.Path, "/")}
	for _, example := range t.examples {
		client, plural, err := x.clientFor(t, example)
		if err != nil || example.GroupVersionKind().Group != group || example.GetKind() != kind {
			continue
		}
		before := x.Calls(call)
		made, err := client.Create(ctx, named(example), metav1.CreateOptions{})
		if err != nil {
			if strings.Contains(err.Error(), "onversion webhook") {
				return err
			}
			continue // it is not valid
		}
		err = x.readAll(ctx, made, group, plural, versions)
		if err == nil && x.Calls(call) == before {
			err = errors.New("nothing was converted")
		}
		x.counts["CRDs whose objects were converted"]++
		return errors.Join(err, client.Delete(ctx, made.GetName(), metav1.DeleteOptions{}))
	}
	x.counts["CRDs of which no object could be made"]++
	return nil
}

func (x *certCheck) readAll(ctx context.Context, o *unstructured.Unstructured, group, plural string,
	versions []string) error {
	for _, version := range versions {
		r := x.Dynamic.Resource(schema.GroupVersionResource{Group: group, Version: version, Resource: plural})
		live, err := r.Namespace(o.GetNamespace()).Get(ctx, o.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		if live.GetAPIVersion() != group+"/"+version {
			return fmt.Errorf("%s is read as %s", version, live.GetAPIVersion())
		}
	}
	return nil
}

// clientFor is the client for an object of a tree's CRDs, in the namespace of the operator.
func (x *certCheck) clientFor(t certTree, o *unstructured.Unstructured) (dynamic.ResourceInterface, string, error) {
	for _, crd := range t.Objects {
		group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
		scope, _, _ := unstructured.NestedString(crd.Object, "spec", "scope")
		gvk := o.GroupVersionKind()
		if crd.GetKind() != "CustomResourceDefinition" || group != gvk.Group || kind != gvk.Kind ||
			!slices.Contains(servedVersions(crd), gvk.Version) {
			continue
		}
		client := x.Dynamic.Resource(gvk.GroupVersion().WithResource(plural))
		if scope == "Namespaced" {
			return client.Namespace(t.namespace()), plural, nil
		}
		return client, plural, nil
	}
	return nil, "", &meta.NoKindMatchError{GroupKind: o.GroupVersionKind().GroupKind()}
}

// namespace is the operator's: where its certificates are.
func (t certTree) namespace() string {
	for _, o := range t.Objects {
		if isCertificate(o) {
			return o.GetNamespace()
		}
	}
	return ""
}

// named is a copy with a name and without a namespace.
func named(o *unstructured.Unstructured) *unstructured.Unstructured {
	o = o.DeepCopy()
	o.SetNamespace("")
	o.SetName(cmp.Or(o.GetName(), "e2e"))
	return o
}

// refusedCalls has everything called that a tree serves: nothing may have a CA, and no call may succeed.
func (x *certCheck) refusedCalls(ctx context.Context, t certTree) (errs []error) {
	for _, o := range t.Objects {
		if len(cluster.ClientConfigs(o)) == 0 {
			continue
		}
		live, err := x.ClientOf(o).Get(ctx, o.GetName(), metav1.GetOptions{})
		if err != nil {
			return append(errs, err)
		}
		for _, c := range cluster.ClientConfigs(live) {
			if o.GetKind() == "APIService" {
				if x.get(ctx, live) == nil {
					err = errors.New("it answers")
				}
			} else {
				err = x.probe(ctx, c, "x509: certificate signed by unknown authority")
			}
			if err == nil && len(c.CA) > 0 {
				err = errors.New("it has a CA")
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s %s %s: %w", o.GetKind(), o.GetName(), c.Name, err))
			}
			x.counts["without the annotation no call succeeds"]++
		}
	}
	return errs
}
