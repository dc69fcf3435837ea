package crds

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/internal/crs/apiserver"
	"github.com/olmgen/olmgen/manifest"
)

// checkObjects checks existing objects against the new CRDs. Objects of other groups are passed over.
func checkObjects(ctx context.Context, o Options, before, after map[string]*crs.CRD) ([]found, error) {
	gone, err := crs.ByKind(before)
	if err != nil {
		return nil, err
	}
	kinds, err := crs.ByKind(after)
	if err != nil {
		return nil, err
	}
	known := slices.AppendSeq(slices.Collect(maps.Keys(gone)), maps.Keys(kinds))
	groups := lists.Set(known, func(gk schema.GroupKind) string { return gk.Group })
	objects := lists.Filter(o.Objects, func(o *manifest.Object) bool { return groups[o.Group()] })
	results, err := crs.Check(ctx, apiserver.Checker{}, kinds, objects)
	if err != nil {
		return nil, err
	}
	var all []found
	for _, r := range results {
		all = append(all, ofObject(r, gone)...)
	}
	lostBefore, err := lostFields(ctx, objects, gone)
	if err != nil {
		return nil, err
	}
	lost, err := lostFields(ctx, objects, kinds)
	if err != nil {
		return nil, err
	}
	for at, f := range lost {
		if _, known := lostBefore[at]; !known {
			all = append(all, f)
		}
	}
	served, err := crs.InNewVersions(objects, gone, kinds)
	if err != nil {
		return nil, err
	}
	if results, err = crs.Check(ctx, apiserver.Checker{}, kinds, served); err != nil {
		return nil, err
	}
	for _, r := range results {
		for _, f := range r.Verdict.Create {
			all = append(all, foundIn(r, r.CRD, ruleObjectUnconverted, f.Path, f.Message+": no webhook converts it"))
		}
	}
	return all, nil
}

// lostFields returns the fields that the storage version of the kind of an object does not have, by object and path.
func lostFields(ctx context.Context, objects []*manifest.Object, kinds map[schema.GroupKind]*crs.CRD) (
	map[[2]string]found, error) {
	stored, err := crs.InStorage(objects, kinds)
	if err != nil {
		return nil, err
	}
	results, err := crs.Check(ctx, crs.Creating{Checker: apiserver.Checker{}}, kinds, stored)
	out := map[[2]string]found{}
	for _, r := range results {
		for _, path := range r.Verdict.Unknown {
			out[[2]string{r.Object.Identity(), path}] = foundIn(r, r.CRD, ruleObjectStored, path, "not in the schema "+
				"of "+r.Version+", in which it is stored: the API server drops it at the next write")
		}
	}
	return out, err
}

// foundIn returns what is wrong with a field of an object.
func foundIn(r crs.Result, crd *crs.CRD, rule, path, message string) found {
	f := Finding{Version: r.Version, Rule: rule, Path: path, Message: place(r.Object, path) + ": " + message,
		Object: r.Object.Identity()}
	if crd != nil {
		f.CRD = crd.Name
	}
	return found{Finding: f}
}

// ofObject lists what is wrong with an object, each field once. gone are the old CRDs.
func ofObject(r crs.Result, gone map[schema.GroupKind]*crs.CRD) []found {
	var all []found
	o := r.Object
	report := func(crd *crs.CRD, rule, path, message string) {
		all = append(all, foundIn(r, crd, rule, path, message))
	}
	old := gone[schema.GroupKind{Group: o.Group(), Kind: o.Kind}]
	switch {
	case r.CRD == nil && old != nil:
		report(old, ruleObjectOrphaned, "", "its CRD is gone: where that is pruned, the object is deleted")
		return all
	case r.CRD == nil:
		report(nil, ruleObjectUnknown, "kind", "no CRD of the group "+o.Group()+" defines this kind")
		return all
	case !r.Served:
		report(r.CRD, ruleObjectVersion, "apiVersion", r.Version+" is not served: requests for it fail")
		return all
	}
	for _, f := range r.Verdict.Update {
		report(r.CRD, ruleObjectInvalid, f.Path, f.Message)
	}
	for _, f := range r.Verdict.Create {
		if !slices.ContainsFunc(r.Verdict.Update, func(u crs.Fault) bool { return u.Path == f.Path }) {
			report(r.CRD, ruleObjectRatcheted, f.Path, f.Message)
		}
	}
	for _, path := range r.Verdict.Unknown {
		report(r.CRD, ObjectPruned, path, "not in the schema: the API server drops it")
	}
	return all
}

// place names an object and, if it is from a file, the line of a field in it.
func place(o *manifest.Object, path string) string {
	name := o.Kind + " " + strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")
	if o.File == "" {
		return name
	}
	if line := o.LineOf(path); line > 0 {
		return o.File + ":" + strconv.Itoa(line) + ": " + name
	}
	return o.File + ": " + name
}
