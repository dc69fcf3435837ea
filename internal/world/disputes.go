package world

import (
	"cmp"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// Disputes say why nobody knows what OLM does with some objects: two roots of the cluster differ about one.
type Disputes struct {
	Namespaces map[string]string // of OLM's objects in a namespace, at which it looks together
	Groups     map[string]string // of the OperatorGroup of a namespace
	Labels     string            // of a Namespace

	objects map[key]string
}

func disputesOf(found []Duplicate, defaultNamespace string) Disputes {
	d := Disputes{Namespaces: map[string]string{}, Groups: map[string]string{}, objects: map[key]string{}}
	for _, x := range found {
		if !x.Roots {
			continue
		}
		k, why := keyOf(x.Other, defaultNamespace), x.String()
		d.objects[k] = why
		switch k.group + "/" + k.kind {
		case olm.Group + "/OperatorGroup":
			d.Groups[k.namespace], d.Namespaces[k.namespace] = why, why
		case olm.Group + "/Subscription", olm.Group + "/ClusterServiceVersion":
			d.Namespaces[k.namespace] = why
		case olm.GroupPolicy + "/" + olm.KindOperatorPolicy, olm.GroupPolicy + "/" + olm.KindPolicy:
			for _, p := range olm.OperatorPolicies([]*manifest.Object{x.Object, x.Other}) {
				d.Namespaces[p.Namespace] = why
			}
		case "/Namespace":
			d.Labels = why
		}
	}
	return d
}

// Source returns why nobody knows what a CatalogSource serves, or "". configMap is the one that it names.
func (d *Disputes) Source(namespace, name, configMap string) string {
	return cmp.Or(d.objects[key{olm.Group, v1alpha1.CatalogSourceKind, namespace, name}],
		d.objects[key{"", "ConfigMap", namespace, configMap}])
}

// CSV returns why nobody knows what OLM does with a CSV, or "".
func (d *Disputes) CSV(v *CSV) string {
	why := d.Namespaces[v.Namespace]
	for _, crd := range slices.Concat(v.CRDs.Owned, v.CRDs.Required) {
		why = cmp.Or(why, d.objects[key{groupCRD, kindCRD, "", crd.Name}])
	}
	return why
}
