package generate

import (
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
)

// mirrored returns a Subscription's config with the images in its environment variables replaced by their mirrors.
func mirrored(c *v1alpha1.SubscriptionConfig, mirrors *images.Rewriter) *v1alpha1.SubscriptionConfig {
	if c == nil {
		return nil
	}
	c = c.DeepCopy()
	images.InEnv(c.Env, "env", mirrors.Rewrite)
	return c
}

// mirroredTexts returns the images of a shipped workload that a mirror replaces, by field.
func mirroredTexts(o *manifest.Object, mirrors *images.Rewriter) (map[string]string, error) {
	if !images.HasPods(bundle.GroupOf(o), o.Kind) {
		return nil, nil
	}
	v, err := o.Value()
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	images.InObject(bundle.GroupOf(o), o.Kind, v, func(p images.Place, old string) string {
		ref := mirrors.Rewrite(p, old)
		if ref != old {
			texts[p.Field] = p.Before + ref
		}
		return ref
	})
	return texts, nil
}

// mirrorWarnings returns a warning for each entry of the map that was not used and one for images without a mirror.
func mirrorWarnings(mirrors *images.Rewriter) []bundle.Warning {
	if mirrors == nil { // a profile that renders no images
		return nil
	}
	var out []bundle.Warning
	if stay := mirrors.Unmapped(); len(stay) > 0 {
		out = append(out, bundle.Warning{Class: bundle.WarnUnmirrored,
			Error: &manifest.Error{Msg: "the mirror map has no mirror for " + text.FirstOf(10, stay)}})
	}
	for _, e := range mirrors.Unused() {
		out = append(out, bundle.Warning{Class: bundle.WarnMirrorMap, Error: e})
	}
	return out
}
