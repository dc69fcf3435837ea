package predict

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// judgeFit reports custom resources that the API server refuses, or drops a field of, by the schema of their CRD in the
// tree. OLM's own objects are left out: see judgeSchema. Where they cannot be judged, a finding says so. The error is
// that of ctx.
func (c *prediction) judgeFit(ctx context.Context, checker crs.Checker, objects []*manifest.Object) error {
	kinds := map[schema.GroupKind]*crs.CRD{}
	for key, d := range c.definitions() {
		if _, kind, _ := strings.Cut(key, "/"); d.of.Group != "" && kind != "" && d.of.Group != olm.Group {
			kinds[schema.GroupKind{Group: d.of.Group, Kind: kind}] = &crs.CRD{Object: d.Object}
		}
	}
	resources := lists.Filter(objects, func(o *manifest.Object) bool {
		return kinds[schema.GroupKind{Group: o.Group(), Kind: o.Kind}] != nil
	})
	if len(resources) == 0 || checker == nil {
		return nil
	}
	results, err := crs.Check(ctx, checker, kinds, resources)
	if err != nil {
		return c.unjudged(ctx, err)
	}
	for _, r := range results {
		if !r.Served { // judgeVersion says so
			continue
		}
		for _, f := range r.Verdict.Create {
			c.note(ruleUnfit, findings.Error, r.Object, f.Path, f.Path+": "+f.Message,
				"it does not fit CustomResourceDefinition "+r.CRD.Name)
		}
		for _, path := range r.Verdict.Unknown {
			c.note(ruleUnfit, findings.Warning, r.Object, path, path+": not in the schema: the API server drops it",
				"CustomResourceDefinition "+r.CRD.Name+" does not have it")
		}
	}
	return nil
}

// unjudged reports why custom resources could not be judged.
func (c *prediction) unjudged(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.report(ruleUnfit, findings.Warning, &manifest.Error{Msg: "custom resources are not judged: " + err.Error(),
		Tip: manifest.HintOf(err)}, "")
	return nil
}
