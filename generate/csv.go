package generate

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/internal/views"
	"github.com/olmgen/olmgen/manifest"
)

const annotationApplied = corev1.LastAppliedConfigAnnotation

// installedCSV returns the CSV as OLM leaves it in the cluster: with the API server's defaults, OLM's annotations and
// label (spec 5.1).
func installedCSV(b *bundle.Bundle, o Options, targets []string) *v1alpha1.ClusterServiceVersion {
	csv := b.CSV.DeepCopy()
	applyDefaults(csv)
	csv.Namespace = o.Namespace
	csv.Annotations = underlay(csv.Annotations, map[string]string{olm.AnnotationNamespace: o.Namespace,
		olm.AnnotationTargets: strings.Join(targets, ",")})
	if o.OperatorGroup != "" {
		csv.Annotations[olm.AnnotationGroup] = o.OperatorGroup
	}
	if o.Replaces != nil {
		csv.Spec.Replaces = *o.Replaces
	}
	if properties := propertiesAnnotation(b, o.Properties); o.Names == NamesOLM || o.Profile == ProfileOLM &&
		strings.Contains(properties, `"`+olm.PropertyMaxOpenShift+`"`) { // by it OpenShift holds back its upgrade
		csv.Annotations[olm.AnnotationProperties] = properties
	}
	if o.Names == NamesOLM {
		csv.Labels = underlay(csv.Labels, map[string]string{olm.LabelManaged: "true"})
	}
	return csv
}

func (r *rendering) csvID(namespace string) Object {
	return Object{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: v1alpha1.ClusterServiceVersionKind,
		Namespace: namespace, Name: r.csv.Name, Label: r.names.base}
}

func clusterServiceVersion(r *rendering) {
	if !r.olm() {
		return
	}
	spec := r.csvSpec()
	lists, err := olm.DescriptorLists(r.bundle.CSVObject)
	r.fail(err)
	for _, field := range lists {
		r.warn(bundle.WarnDescriptorValue, r.bundle.CSVObject.Errorf(field, "a list, and OLM's schema wants text: OLM "+
			"keeps it in ClusterServiceVersion %s, and server-side apply refuses it; apply this object client-side "+
			"(Argo CD: ServerSideApply=false; Flux: ssa: Ignore, and kubectl), or take the field out with a patch",
			r.csv.Name))
	}
	r.author("clusterserviceversion.yaml", r.csvID(r.options.Namespace),
		views.ClusterServiceVersion{Name: r.csv.Name, Namespace: r.options.Namespace, Labels: r.csv.Labels,
			Annotations: r.csv.Annotations, Spec: manifest.Text(manifest.Block(spec, 2))})
}

// csvSpec returns the CSV's spec without the empty structures that its Go type always writes. A CSV that is in the
// cluster has them, and keeps them: a list without them would be another one for server-side apply.
func (r *rendering) csvSpec() map[string]any {
	v, err := olm.Value(&r.csv.Spec)
	r.fail(err)
	// the CSV's schema requires these lists even if they are empty
	strategy := normalize.At(v, "install", "spec")
	if strategy["deployments"] == nil {
		strategy["deployments"] = []any{}
	}
	for _, field := range []string{"permissions", "clusterPermissions"} {
		for _, p := range normalize.List(strategy, field) {
			if p["rules"] == nil {
				p["rules"] = []any{}
			}
		}
	}
	if r.options.Installed {
		return v
	}
	for _, f := range []string{"provider", "customresourcedefinitions", "apiservicedefinitions"} {
		olm.DropEmpty(v, f)
	}
	if cleanup, _ := v["cleanup"].(map[string]any); cleanup["enabled"] == false {
		delete(v, "cleanup")
	}
	if written, err := r.bundle.CSVObject.Get("spec", "version"); err == nil && written == nil {
		delete(v, "version")
	}
	for _, d := range normalize.List(strategy, "deployments") {
		olm.TrimDeployment(d["spec"])
	}
	return v
}

// copiedCSVs adds the copies of the CSV in the namespaces that the operator watches (spec 5.2).
func copiedCSVs(r *rendering) {
	if !r.olm() || r.options.CopiedCSVs == CopiedNone || len(r.watched()) == 0 {
		return
	}
	spec := r.csvSpec()
	view := views.ClusterServiceVersion{Name: r.csv.Name, Labels: map[string]string{},
		Annotations: maps.Clone(r.csv.Annotations)}
	for k, v := range r.csv.Labels {
		if !strings.HasPrefix(k, olm.LabelComponent) {
			view.Labels[k] = v
		}
	}
	view.Labels[olm.LabelCopiedFrom] = r.options.Namespace
	delete(view.Annotations, olm.AnnotationTargets)
	delete(view.Annotations, annotationApplied)
	if r.options.CopiedCSVs == CopiedStub {
		spec = stub(spec)
	}
	view.Spec = manifest.Text(manifest.Block(spec, 2))
	for _, ns := range r.watched() {
		if view.Namespace = ns; r.options.CopiedCSVs != CopiedStub {
			r.author("clusterserviceversion.yaml", r.csvID(ns), view)
			continue
		}
		r.author("copied-clusterserviceversion-stub.yaml", r.csvID(ns), views.CopiedClusterServiceVersion{
			Name: view.Name, Namespace: ns, Labels: view.Labels, OperatorGroup: view.Annotations[olm.AnnotationGroup],
			OperatorNamespace: view.Annotations[olm.AnnotationNamespace], Spec: view.Spec})
	}
}

// stub keeps what a person or a console shows. The CSV's schema requires displayName and install.strategy.
func stub(spec map[string]any) map[string]any {
	out := map[string]any{"install": map[string]any{"strategy": v1alpha1.InstallStrategyNameDeployment},
		"displayName": ""}
	keep := func(to, from map[string]any, fields ...string) {
		for _, f := range fields {
			if v, ok := from[f]; ok {
				to[f] = v
			}
		}
	}
	keep(out, spec, "displayName", "description", "icon", "links", "provider", "version", "maturity", "keywords",
		"maintainers")
	for _, f := range []string{"customresourcedefinitions", "apiservicedefinitions"} {
		var short []any
		for _, x := range normalize.List(normalize.At(spec, f), "owned") {
			api := map[string]any{}
			keep(api, x, "name", "group", "version", "kind", "displayName", "description")
			short = append(short, api)
		}
		if len(short) > 0 {
			out[f] = map[string]any{"owned": short}
		}
	}
	return out
}

// propertiesAnnotation returns operatorframework.io/properties: the catalog's list, or the one a catalog would make of
// the bundle, in the order of opm render (spec 5.1 and 12.2), with the requirements once more at the end, as OLM does.
func propertiesAnnotation(b *bundle.Bundle, catalog []bundle.Property) string {
	list := catalog
	if list == nil {
		list = b.CatalogProperties()
	}
	if len(list) == 0 {
		return "{}"
	}
	for _, p := range slices.Clone(list) {
		if catalog == nil && (p.Type == olm.PropertyGVKRequired || p.Type == olm.PropertyPackageRequired) {
			list = append(list, p)
		}
	}
	out, err := json.Marshal(map[string]any{"properties": list})
	if err != nil {
		return "{}" // the reader of the bundle has refused values that are not JSON
	}
	return string(out)
}
