package adopt

import (
	"context"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/compare/crds"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// specOfCRD begins the fields of a CRD that its custom resources depend on.
const specOfCRD = "spec."

// CheckCustomResources judges the custom resources of the dump by the CRDs that applying changes. What the API server
// drops or refuses is an error among the findings. The error is that of ctx, of the dump, which is read once more, or
// about a CRD that cannot be read.
func (v *Verification) CheckCustomResources(ctx context.Context) error {
	var old, now []*manifest.Object
	changed, kinds := map[string]*Compared{}, []dump.Kind{}
	for i := range v.Objects {
		c := &v.Objects[i]
		if c.object.Kind != crdKind || !slices.ContainsFunc(c.Changes, func(x Change) bool {
			return x.Applied && strings.HasPrefix(x.Field, specOfCRD)
		}) {
			continue
		}
		live := manifest.New(c.object.Value())
		k, _ := olm.DefinedKind(live)
		old, now = append(old, live), append(now, manifest.New(c.rendered))
		changed[c.object.Name], kinds = c, append(kinds, dump.Kind{Group: k.Group, Kind: k.Name})
		c.look = "add the output of: kubectl get " + c.object.Name + " -A -o yaml"
	}
	if len(old) == 0 {
		return nil
	}
	if !v.state.Dump.Rereadable() {
		for _, c := range changed {
			c.lookedAt, c.look = "custom resources of a dump in standard input are not compared with it", "write the "+
				"dump to a file"
		}
		return nil
	}
	found, err := v.state.Dump.CustomResources(ctx, kinds)
	if err != nil {
		return err
	}
	objects := lists.Map(found, func(o *dump.Object) *manifest.Object { return manifest.New(o.Value()) })
	list, err := crds.Compare(ctx, old, now, crds.Options{Objects: objects})
	for _, f := range list {
		c := changed[f.CRD]
		if f.Object == "" || c == nil {
			continue
		}
		level := f.Severity
		if f.Rule == crds.ObjectPruned { // the cluster has the value
			level = findings.Error
		}
		c.misfits = append(c.misfits, c.finding(misfitRule, level, "", "applying changes its schema: "+
			strings.TrimPrefix(f.Path+" of ", " of ")+f.Message,
			"render the field, for example with a patch, or make sure that nobody needs the value"))
	}
	for i, crd := range old {
		c, kind := changed[crd.Name], kinds[i]
		n := lists.Count(found, func(o *dump.Object) bool { return kind.Is(o.APIVersion, o.Kind) })
		switch {
		case n == 0:
			c.lookedAt = "the dump has no " + kind.Kind + " that could lose a value"
			continue
		case len(c.misfits) > 0:
			c.lookedAt = "what custom resources lose is listed"
		default:
			c.lookedAt = "of " + text.Count(n, "custom resource") + " of the dump, none loses a value"
		}
		c.look = ""
	}
	return err
}
