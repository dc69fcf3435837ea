package upgrade

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/internal/manifest/text"
	"github.com/olmgen/olmgen/manifest"
)

// listing is what OLM lists of a CRD in one version, to check it against the newer schema.
type listing struct {
	crs.Batch
	objects []*manifest.Object
}

// unfit finds objects that do not fit the newer CRD. OLM lists them in each version that both CRDs serve, and checks
// the schema only (OLM: pkg/controller/operators/catalog/operator.go, validateV1CRDCompatibility, validateExistingCRs).
// A CRD of apiextensions.k8s.io/v1 that converts by a webhook is written all the same (step.go, NewCRDV1Step).
func (j *judge) unfit(ctx context.Context, p Pair) error {
	for _, now := range ownedCRDs(p.New, shipped(p.New, j.New)) {
		before := j.inCluster(now.Name)
		if before == nil || p.Old.Name == p.New.Name && same(before, now) {
			continue // OLM installs no release twice
		}
		objects := j.objectsOf(now)
		if len(objects) == 0 {
			continue
		}
		newer, err := (&crs.CRD{Object: now}).Decode()
		if err != nil {
			return err
		}
		older, err := (&crs.CRD{Object: before}).Decode()
		if err != nil {
			return err
		}
		faults, err := j.faults(ctx, now, listings(older, newer, objects, sharesSchema(now)))
		if err != nil {
			return err
		}
		j.reportUnfit(p.New, now, newer, faults)
	}
	return nil
}

// objectsOf returns the objects of the cluster that a CRD defines.
func (j *judge) objectsOf(crd *manifest.Object) []*manifest.Object {
	group, _ := crd.Get("spec", "group")
	kind, _ := crd.Get("spec", "names", "kind")
	return slices.DeleteFunc(slices.Clone(j.Cluster), func(o *manifest.Object) bool {
		return o.Group() != group || o.Kind != kind
	})
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
		l := listing{Batch: now}
		l.Listed = &before
		for _, o := range objects {
			if !webhook || strings.HasSuffix(o.APIVersion, "/"+v.Name) {
				l.objects = append(l.objects, o)
			}
		}
		if len(l.objects) > 0 {
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

// fault is why an object does not fit.
type fault struct {
	object  *manifest.Object
	version string
	crs.Fault
}

// faults asks about all listings, and returns the first fault of each object.
func (j *judge) faults(ctx context.Context, crd *manifest.Object, list []listing) (out []fault, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	if j.Checker == nil {
		return nil, errors.New("custom resources need a Checker")
	}
	batches := make([]crs.Batch, len(list))
	for i := range list {
		if err := list[i].fill(); err != nil {
			return nil, err
		}
		batches[i] = list[i].Batch
	}
	answers, err := j.Checker.Check(ctx, batches)
	if err != nil {
		return nil, err
	}
	if len(answers) != len(list) {
		return nil, fmt.Errorf("the Checker has %d answers to %d batches", len(answers), len(list))
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
				out = append(out, fault{o, list[i].Version.Name, v.OLM[0]})
			}
		}
	}
	return out, nil
}

// fill adds the objects as the API server lists them in the version.
func (l *listing) fill() error {
	for _, o := range l.objects {
		value, err := o.Value()
		if err != nil {
			return err
		}
		value = maps.Clone(value)
		value["apiVersion"] = o.Group() + "/" + l.Version.Name
		data, err := json.Marshal(value)
		if err != nil {
			return o.Errorf("", "%v", err)
		}
		l.Objects = append(l.Objects, data)
	}
	return nil
}

func (j *judge) reportUnfit(o *Operator, crd *manifest.Object, newer *apiextensionsv1.CustomResourceDefinition,
	faults []fault,
) {
	if len(faults) == 0 {
		return
	}
	f := faults[0]
	name := f.object.Kind + " " + strings.TrimPrefix(f.object.Namespace+"/"+f.object.Name, "/")
	why := fmt.Sprintf("%s (%s: %s)", name, f.version, strings.TrimPrefix(f.Path+": "+f.Message, ": "))
	if n := len(faults) - 1; n > 0 {
		why += fmt.Sprintf(", and %s", text.Count(n, "other object"))
	}
	severity, end := findings.Error, "the InstallPlan fails"
	if c := newer.Spec.Conversion; c != nil && c.Strategy == apiextensionsv1.WebhookConverter &&
		crd.APIVersion == apiextensionsv1.SchemeGroupVersion.String() {
		severity, end = findings.Warning, "OLM trusts its conversion webhook, and only warns"
	}
	j.addAt(o, RuleObjectsUnfit, severity, f.object, f.Path, "has a CRD %s that existing objects do not fit: %s: %s",
		crd.Name, why, end)
}
