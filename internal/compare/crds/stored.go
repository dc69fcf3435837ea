package crds

import (
	"context"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/compare/internal/witness"
	"github.com/olmgen/olmgen/internal/crs"
)

// prunedIn returns the name of the storage version, if the API server drops what its schema does not have of each
// object that is written, whatever version it is in: no webhook converts (apiextensions-apiserver:
// pkg/apiserver/customresource_handler.go, schemaCoercingConverter).
func prunedIn(crd *definition) string {
	c := crd.Spec.Conversion
	if c != nil && c.Strategy == apiextensionsv1.WebhookConverter || crd.Spec.PreserveUnknownFields {
		return ""
	}
	return lists.Find(crd.Spec.Versions, func(v versionOf) bool { return v.Storage }).Name
}

// compareStored returns the fields of served versions of the newer CRD that are lost when an object is written, and
// were not lost with the older one, which may have no versions.
func (c *comparators) compareStored(ctx context.Context, old, now *definition) (all []found) {
	storage := version(now, prunedIn(now))
	if storage == nil {
		return nil
	}
	for _, v := range now.Spec.Versions {
		if !v.Served || v.Name == storage.Name {
			continue
		}
		if was := version(old, prunedIn(old)); was != nil && equality.Semantic.DeepEqual(was, storage) &&
			equality.Semantic.DeepEqual(version(old, v.Name), &v) {
			continue // what is lost was lost
		}
		was := lists.Set(c.lost(ctx, old, v.Name), func(i issue) string { return i.path })
		issues := slices.DeleteFunc(c.lost(ctx, now, v.Name), func(i issue) bool { return was[i.path] })
		written, kept := *now, *now // as one version whose schema changes
		pruned := v
		pruned.Schema = storage.Schema
		written.Spec.Versions, kept.Spec.Versions = []versionOf{v}, []versionOf{pruned}
		_, served := crs.VersionOf(old, v.Name)
		for _, f := range shown(ctx, &written, &kept, v.Name, issues) {
			f.Rule, f.Version, f.as = ruleStoredWithout, v.Name+arrow+storage.Name, ""
			open := f.Message[len(strings.TrimSuffix(f.Message, unproven)):]
			f.Message = "not in " + storage.Name + ", in which objects are stored: each write drops it" + open
			if !served {
				f.limit = ruleServedVersions
			}
			all = append(all, f)
		}
	}
	return all
}

// lost returns the fields of a version that the storage version does not have, if they are dropped.
func (c *comparators) lost(ctx context.Context, crd *definition, name string) []issue {
	from, to := version(crd, name), version(crd, prunedIn(crd))
	if from == nil || to == nil || !from.Served || from == to {
		return nil
	}
	return lists.Filter(c.compareSchemas(ctx, witness.SchemaOf(from), witness.SchemaOf(to)), func(i issue) bool {
		return i.rule == ruleFieldRemoved
	})
}

// StoredWithout returns the fields of served versions of a CRD that are lost when an object is written. The error is
// that of ctx, or about a CRD that cannot be read.
func StoredWithout(ctx context.Context, crd *crs.CRD) ([]Finding, error) {
	now, err := crd.Decode()
	if err != nil {
		return nil, err
	}
	comparators, err := crdifyComparators()
	if err != nil {
		return nil, err
	}
	all := comparators.compareStored(ctx, &definition{}, now)
	for i, f := range all {
		all[i].CRD = crd.Name
		all[i].File, all[i].Line = crd.PlaceOf(f.field(crd.Object))
	}
	return Rules{}.apply(all), ctx.Err()
}
