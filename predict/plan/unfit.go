package plan

import (
	"context"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/manifest"
)

// listing is what OLM lists of a CRD in one version, to check it against the newer schema.
type listing struct {
	crs.Batch
	objects []*manifest.Object
}

// Unfit returns the objects of a cluster that do not fit the CRD that takes the place of another, each with its first
// fault.
func Unfit(ctx context.Context, checker crs.Checker, before, now *manifest.Object, c *Cluster) ([]Fault, error) {
	objects := c.resourcesOf(now)
	if len(objects) == 0 {
		return nil, nil
	}
	newer, err := (&crs.CRD{Object: now}).Decode()
	if err != nil {
		return nil, err
	}
	older, err := (&crs.CRD{Object: before}).Decode()
	if err != nil {
		return nil, err
	}
	return faults(ctx, checker, now, listings(older, newer, objects, sharesSchema(now)))
}

// TrustsWebhook reports whether OLM writes a CRD that existing objects do not fit, and only warns (OLM: step.go,
// NewCRDV1Step).
func TrustsWebhook(crd *manifest.Object) bool {
	strategy, _ := crd.Get("spec", "conversion", "strategy")
	return strategy == string(apiextensionsv1.WebhookConverter) &&
		crd.APIVersion == apiextensionsv1.SchemeGroupVersion.String()
}

// listings returns what OLM lists. Without a conversion webhook, an object is the same in every version. What a webhook
// makes of it is not known. first says that OLM stops at the first version.
func listings(older, newer *apiextensionsv1.CustomResourceDefinition, objects []*manifest.Object, first bool,
) (out []listing) {
	webhook := older.Spec.Conversion != nil && older.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter
	for _, v := range newer.Spec.Versions {
		now, served := crs.BatchOf(newer, v.Name)
		before, wasServed := crs.BatchOf(older, v.Name)
		if !served || !wasServed {
			continue
		}
		l := listing{now, lists.Filter(objects, func(o *manifest.Object) bool {
			return !webhook || strings.HasSuffix(o.APIVersion, "/"+v.Name)
		})}
		if l.Listed = &before; len(l.objects) > 0 {
			out = append(out, l)
		}
		if first {
			break
		}
	}
	return out
}

// sharesSchema reports whether the versions of a CRD of apiextensions.k8s.io/v1beta1 have one schema, spec.validation.
// OLM then checks the first version that both CRDs serve, and no other (OLM:
// pkg/controller/operators/catalog/operator.go, validateV1Beta1CRDCompatibility).
func sharesSchema(crd *manifest.Object) bool {
	validation, _ := crd.Get("spec", "validation")
	return crd.APIVersion == apiextensionsv1beta1.SchemeGroupVersion.String() && validation != nil &&
		crd.Len("spec", "versions") > 0
}

// Fault is why an object does not fit.
type Fault struct {
	Object  *manifest.Object
	Version string
	Said    string // what OLM says of the object
	crs.Fault
}

// faults asks about all listings, and returns the first fault of each object.
func faults(ctx context.Context, checker crs.Checker, crd *manifest.Object, list []listing) (out []Fault, err error) {
	batches := make([]crs.Batch, len(list))
	for i, l := range list {
		for _, o := range l.objects {
			if err := l.Add(o); err != nil {
				return nil, err
			}
		}
		batches[i] = l.Batch
	}
	answers, err := crs.Ask(ctx, checker, batches)
	if err != nil {
		return nil, err
	}
	seen := map[*manifest.Object]bool{}
	for i, a := range answers {
		if a.Error != "" {
			return nil, crd.Errorf("spec.versions", "the API server cannot use the schema of %s: %s",
				list[i].Version.Name, a.Error)
		}
		for k, v := range a.Verdicts {
			if o := list[i].objects[k]; len(v.OLM) > 0 && !seen[o] {
				seen[o] = true
				out = append(out, Fault{o, list[i].Version.Name, v.OLMSays, v.OLM[0]})
			}
		}
	}
	return out, nil
}
