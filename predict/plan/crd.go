package plan

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// define writes a CRD, and returns why it fails (OLM: step.go, NewCRDV1Step).
func (r *Result) define(ctx context.Context, c *Cluster, s step) string {
	now := s.object
	if r.unserved(now.APIVersion, kindCRD) {
		return notFound(now.APIVersion, now)
	}
	written := ownedBy(now, now.APIVersion, "", nil)
	before := c.CRD(now.Name)
	if before == nil {
		before = now
	} else if message := r.replace(ctx, c, before, now); message != "" {
		return message
	}
	stored, err := olm.WithStored(written, before)
	if err != nil {
		return err.Error()
	}
	stored.Line = now.Line
	c.Put(stored)
	return ""
}

// replace returns why a CRD cannot take the place of another.
func (r *Result) replace(ctx context.Context, c *Cluster, before, now *manifest.Object) string {
	if message := r.unfit(ctx, c, before, now); message != "" {
		return message
	}
	stored, _ := olm.StoredVersions(before)
	if dropped := olm.DroppedVersions(stored, now); len(dropped) > 0 {
		var all []string
		for _, version := range dropped {
			all = append(all, fmt.Sprintf("risk of data loss updating %q: new CRD removes version %s that is listed "+
				"as a stored version on the existing CRD", now.Name, version))
		}
		r.Also = append(r.Also, all[1:]...) // OLM takes the first of a map
		return all[0]
	}
	var errs field.ErrorList
	for _, at := range []string{"spec.scope", "spec.names.kind", "spec.group", "spec.names.plural"} {
		if valueAt(before, at) != valueAt(now, at) {
			value, _ := now.Get(strings.Split(at, ".")...)
			errs = append(errs, field.Invalid(field.NewPath(at), value, "field is immutable"))
		}
	}
	if len(errs) > 0 {
		return fmt.Sprintf("error updating CRD %q: %s", now.Name, apiError(groupCRD, now, errs))
	}
	return ""
}

// unfit returns what OLM says of existing objects that do not fit. It looks at the versions in the order of a Go map.
func (r *Result) unfit(ctx context.Context, c *Cluster, before, now *manifest.Object) string {
	faults, err := Unfit(ctx, r.Checker, before, now, c)
	if err != nil {
		r.Unknown = append(r.Unknown, fmt.Sprintf("whether existing objects fit CRD %s: %v", now.Name, err))
		return ""
	}
	if len(faults) == 0 || TrustsWebhook(now) {
		return ""
	}
	said := map[string]bool{}
	var all []string
	for _, f := range faults {
		if said[f.Version] {
			continue
		}
		said[f.Version] = true
		name := strings.TrimPrefix(f.Object.Namespace+"/"+f.Object.Name, "/")
		all = append(all, fmt.Sprintf("error validating existing CRs against new CRD's schema for %q: error "+
			"validating %s/%s, Kind=%s %q: updated validation is too restrictive: %s", now.Name, f.Object.Group(),
			f.Version, f.Object.Kind, name, f.Said))
	}
	r.Also = append(r.Also, all[1:]...)
	return all[0]
}
