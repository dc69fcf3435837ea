package predict

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olmgen/olmgen/catalog/extension"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/manifest"
)

// olmv1.json has the CRDs of OLM v1 that people write objects of, of its newest release with all that is experimental:
// no release takes more. A test makes it.
//
//go:embed olmv1.json
var olmV1 []byte

var crdsOfOLMv1 = sync.OnceValues(func() ([]*manifest.Object, error) {
	docs, err := manifest.ReadFile("olmv1.json", olmV1, manifest.Limits{})
	if err != nil {
		return nil, err
	}
	return docs[0].Objects()
})

// fits judges custom resources by their CRD in the tree, once, and objects of OLM v1 by its own. The schemas of OLM v0
// are left out: see judgeObjects. What has no CRD, or cannot be judged, is left out.
func (c *prediction) fits(ctx context.Context) (map[*manifest.Object]crs.Result, error) {
	if c.fitted == nil {
		definitions := c.crds()
		if slices.ContainsFunc(c.objects, func(o *manifest.Object) bool { return o.Group() == olm.GroupV1 }) {
			own, err := crdsOfOLMv1()
			if err != nil {
				return nil, err
			}
			definitions = slices.Concat(own, definitions) // those of the tree count
		}
		c.fitted, c.unfitted = c.judgeAll(ctx, definitions)
	}
	return c.fitted, c.unfitted
}

func (c *prediction) judgeAll(ctx context.Context, crds []*manifest.Object) (map[*manifest.Object]crs.Result, error) {
	kinds := map[schema.GroupKind]*crs.CRD{}
	for _, crd := range crds {
		if k, _ := olm.DefinedKind(crd); k.Group != "" && k.Name != "" && k.Group != olm.Group {
			kinds[schema.GroupKind{Group: k.Group, Kind: k.Name}] = &crs.CRD{Object: crd}
		}
	}
	objects := lists.Filter(c.objects, func(o *manifest.Object) bool {
		return kinds[schema.GroupKind{Group: o.Group(), Kind: o.Kind}] != nil &&
			(o.Kind == olm.KindClusterExtension || c.options.Unchanged == nil || !c.options.Unchanged(o))
	})
	if len(objects) == 0 || c.options.Checker == nil {
		return map[*manifest.Object]crs.Result{}, nil
	}
	results, err := crs.Check(ctx, crs.Creating{Checker: c.options.Checker}, kinds, objects)
	return lists.By(results, func(r crs.Result) *manifest.Object { return r.Object }), err
}

// brought returns the CRDs that operators bring, and that the tree lacks.
func (c *prediction) brought() []*manifest.Object {
	list := slices.Clone(c.brings)
	for _, e := range c.extensions {
		if e.Refused == "" && e.Unknown == "" {
			list = append(list, lists.Filter(e.made, isCRD)...)
		}
	}
	return lists.Filter(list, func(crd *manifest.Object) bool { return c.CRDs[crd.Name] == nil })
}

func isCRD(o *manifest.Object) bool { return olm.IsCRD(o.Group(), o.Kind) }

// judgeFit reports custom resources that the API server refuses, or drops a field of. Where they cannot be judged, a
// finding says so. The error is that of ctx.
func (c *prediction) judgeFit(ctx context.Context) error {
	results, err := c.fits(ctx)
	brought, failed := c.judgeAll(ctx, c.brought())
	if err = cmp.Or(err, failed); err != nil && ctx.Err() == nil {
		c.report(ruleUnfit, findings.Warning, &manifest.Error{Msg: "custom resources are not judged: " + err.Error(),
			Tip: manifest.HintOf(err)}, "")
	}
	for _, o := range c.objects {
		r, judged := results[o]
		if brings, ok := brought[o]; ok {
			r, judged = brings, true
		}
		if !judged {
			continue
		}
		where := "it does not fit CustomResourceDefinition " + r.CRD.Name
		ofOLMv1 := o.Group() == olm.GroupV1
		played := ofOLMv1 && o.Kind == olm.KindClusterExtension // playExtensions says so
		if ofOLMv1 && !played && !r.Served {
			c.note(ruleVersion, findings.Error, o, "apiVersion", notServed(r), "")
		}
		for _, f := range r.Verdict.Create {
			if !played {
				c.note(ruleUnfit, findings.Error, r.Object, f.Path, f.Path+": "+f.Message, where)
			}
		}
		level := findings.Warning
		if ofOLMv1 {
			level = findings.Error // as of OLM v0's kinds
		}
		for _, path := range r.Verdict.Unknown {
			c.note(ruleUnfit, level, r.Object, path, path+": not in the schema: "+olm.Undeclared,
				"CustomResourceDefinition "+r.CRD.Name+" does not have it")
		}
	}
	return ctx.Err()
}

const apiServerRefuses = "the API server refuses it: "

// notServed returns that the API server refuses an object because of its version.
func notServed(r crs.Result) string {
	return apiServerRefuses + r.Object.APIVersion + " is not served, " +
		text.And(olm.ServedVersions(r.CRD.Object)) + " is"
}

// refusal returns why the API server refuses a ClusterExtension, and the field; or nil.
func (c *prediction) refusal(ctx context.Context, x *manifest.Object) (field string, why error) {
	for _, release := range c.options.Target.Releases() {
		state, _ := release.State(olm.KindClusterExtension, versions.FieldAccount, versions.Standard)
		if state == versions.Required && !x.Has("spec", "serviceAccount") && !x.Has("metadata", "uid") {
			return "spec", &extension.Refusal{Text: fmt.Sprintf("%s%s: Required value: %s requires it",
				apiServerRefuses, versions.FieldAccount, release)}
		}
	}
	results, _ := c.fits(ctx) // judgeFit says why it cannot
	r, judged := results[x]
	if !judged {
		return "", nil
	}
	switch faults := r.Verdict.Create; {
	case !r.Served:
		return "apiVersion", &extension.Refusal{Text: notServed(r)}
	case len(faults) > 0:
		list := lists.Map(faults, func(f crs.Fault) string { return fmt.Sprintf("%s: %s", f.Path, f.Message) })
		return faults[0].Path, &extension.Refusal{Text: apiServerRefuses + strings.Join(slices.Compact(list), "; ")}
	}
	return "", nil
}
