package plan

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// listing is what OLM lists of a CRD in one version, to check it against the newer schema.
type listing struct {
	crs.Version
	objects []*manifest.Object
}

// Unfit returns the objects that do not fit the CRD that takes the place of another, each with its first fault.
func Unfit(ctx context.Context, checker crs.Checker, before, now *manifest.Object, w *world.World) ([]Fault, error) {
	k, _ := olm.DefinedKind(now)
	objects := w.Of(k.Group, k.Name)
	if len(objects) == 0 {
		return nil, nil
	}
	slices.SortFunc(objects, func(a, b *manifest.Object) int { // as the API server lists them
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
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

// Unconverted returns the objects that do not fit a version that only the CRD that takes the place of another serves,
// as nothing converts them, each with its first fault.
func Unconverted(ctx context.Context, checker crs.Checker, before, now *manifest.Object, w *world.World) (out []Fault,
	err error) {
	k, _ := olm.DefinedKind(now)
	kinds := func(crd *manifest.Object) map[schema.GroupKind]*crs.CRD {
		return map[schema.GroupKind]*crs.CRD{{Group: k.Group, Kind: k.Name}: {Object: crd}}
	}
	objects, err := crs.InNewVersions(w.Of(k.Group, k.Name), kinds(before), kinds(now))
	if err != nil || len(objects) == 0 {
		return nil, err
	}
	results, err := crs.Check(ctx, checker, kinds(now), objects)
	for _, r := range results {
		if len(r.Verdict.Create) > 0 {
			out = append(out, Fault{Object: r.Object, Version: r.Version, Fault: r.Verdict.Create[0]})
		}
	}
	return out, err
}

// TrustsWebhook reports whether OLM writes a CRD that existing objects do not fit, and only warns (OLM: step.go,
// NewCRDV1Step).
func TrustsWebhook(crd *manifest.Object) bool {
	return olm.ConvertsByWebhook(crd) && crd.APIVersion == apiextensionsv1.SchemeGroupVersion.String()
}

// listings returns what OLM lists. Without a conversion webhook, an object is the same in every version. What a webhook
// makes of it is not known. first says that OLM stops at the first version.
func listings(older, newer *apiextensionsv1.CustomResourceDefinition, objects []*manifest.Object, first bool,
) (out []listing) {
	webhook := older.Spec.Conversion != nil && older.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter
	for _, v := range newer.Spec.Versions {
		now, served := crs.VersionOf(newer, v.Name)
		before, wasServed := crs.VersionOf(older, v.Name)
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
	return crd.APIVersion == apiextensionsv1beta1.SchemeGroupVersion.String() &&
		olm.Get(crd, "spec", "validation") != nil && crd.Len("spec", "versions") > 0
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
	seen := map[*manifest.Object]bool{}
	for _, l := range list {
		if checker == nil {
			return nil, crs.ErrNoChecker
		}
		judge, err := checker.Judge(l.Version)
		if err != nil {
			return nil, crd.Errorf("spec.versions", "the API server cannot use the schema of %s: %v", l.Name, err)
		}
		for _, o := range l.objects {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			v, err := judge.Of(o, l.Name)
			if err != nil {
				return nil, err
			}
			if len(v.OLM) > 0 && !seen[o] {
				seen[o] = true
				out = append(out, Fault{o, l.Name, v.OLMSays, v.OLM[0]})
			}
		}
	}
	return out, nil
}

// define writes a CRD, and returns why it fails (OLM: step.go, NewCRDV1Step). OLM waits for a new one until its names
// are accepted. One that is being deleted goes all the same.
func (r *Result) define(ctx context.Context, w *writer, s step) string {
	now := s.object
	if r.unserved(now.APIVersion, kindCRD) {
		return notFound(now.APIVersion, now)
	}
	before := w.CRD(now.Name)
	if before != nil {
		if message := r.replace(ctx, w.World, before, now); message != "" {
			return message
		}
		if before.Has("metadata", "deletionTimestamp") {
			w.Delete(before)
			return ""
		}
	}
	if causes := w.ask(before, ownedBy(now, now.APIVersion, "", nil)); len(causes) > 0 {
		refusal := invalidObject(groupCRD, now, causes).Text
		if before != nil {
			refusal = fmt.Sprintf("error updating CRD %q: %s", now.Name, refusal)
		}
		return refusal
	}
	stored, err := olm.WithStored(ownedBy(now, now.APIVersion, "", nil), cmp.Or(before, now))
	if err != nil {
		return err.Error()
	}
	if before == nil {
		taken := olm.TakenNames(append(w.Of(groupCRD, kindCRD), now))
		if n := len(taken); n > 0 && taken[n-1].CRD == now {
			r.Waits, r.At = true, now
			stored = world.WithStatus(stored, map[string]any{"conditions": []any{map[string]any{"type": "NamesAccepted",
				"status": "False", "message": "names are in use by " + taken[n-1].By.Name}}})
		}
	}
	stored.Line = now.Line
	w.Put(stored)
	return ""
}

// replace returns why a CRD cannot take the place of another.
func (r *Result) replace(ctx context.Context, w *world.World, before, now *manifest.Object) string {
	faults, err := Unfit(ctx, r.Checker, before, now, w)
	if err != nil {
		r.Unknown = append(r.Unknown, fmt.Sprintf("whether existing objects fit CRD %s: %v", now.Name, err))
	}
	if len(faults) > 0 && !TrustsWebhook(now) { // OLM looks at the versions in the order of a Go map
		var all []string
		for _, same := range lists.Groups(faults, func(f Fault) string { return f.Version }) {
			f := same[0]
			name := strings.TrimPrefix(f.Object.Namespace+"/"+f.Object.Name, "/")
			all = append(all, fmt.Sprintf("error validating existing CRs against new CRD's schema for %q: error "+
				"validating %s/%s, Kind=%s %q: updated validation is too restrictive: %s", now.Name, f.Object.Group(),
				f.Version, f.Object.Kind, name, f.Said))
		}
		r.Also = append(r.Also, all[1:]...)
		return all[0]
	}
	stored, _ := olm.StoredVersions(before)
	if dropped := olm.DroppedVersions(stored, now); len(dropped) > 0 {
		all := lists.Map(dropped, func(version string) string {
			return fmt.Sprintf("risk of data loss updating %q: new CRD removes version %s that is listed as a stored "+
				"version on the existing CRD", now.Name, version)
		})
		r.Also = append(r.Also, all[1:]...) // OLM takes the first of a map
		return all[0]
	}
	return ""
}
