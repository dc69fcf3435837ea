package predict

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/internal/predict/plan"
	"github.com/olmgen/olmgen/internal/predict/upgrade"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/internal/writes"
	"github.com/olmgen/olmgen/manifest"
)

// Refusals returns what the API server refuses of objects that a person or an engine applies to a cluster: one error for
// each field at fault, and for the first policy. existing returns what an object takes the place of, or nil; what is
// read from a cluster is not asked about. place returns where a field stands. The release of the cluster may be nil.
// The error is that of the API.
func Refusals(ctx context.Context, api writes.Checker, release *semver.Version, objects []*manifest.Object,
	w *world.World, existing func(*manifest.Object) *manifest.Object,
	place func(o *manifest.Object, field string) (string, int)) (list []findings.Finding, err error) {
	var asked []writes.Write
	var answers []writes.Answer
	var of []*manifest.Object
	for _, o := range objects {
		if api == nil || !olm.BuiltinGroup(o.Group()) || o.Has("metadata", "uid") || o.Name == "" {
			continue
		}
		w, err := writes.Of(existing(o), o)
		if err != nil { // it is reported where it is read
			continue
		}
		w.Strict = true
		asked, of = append(asked, w), append(of, o)
	}
	if len(asked) > 0 {
		if answers, err = api.Check(ctx, asked); err != nil {
			return nil, err
		}
	}
	for _, o := range ofOLMv1(objects, olm.KindClusterExtension) {
		if old := existing(o); old != nil {
			answers, of = append(answers, writes.Answer{Causes: plan.Fixed(old, o)}), append(of, o)
		}
	}
	for i, a := range answers {
		if len(a.Causes) == 0 {
			continue
		}
		severity, unless := level(of[i], a.Causes)
		for _, cause := range a.Causes {
			file, line := place(of[i], cause.Field)
			list = append(list, findings.Finding{Rule: upgrade.RuleRefused.ID, Level: severity, File: file,
				Line: line, Object: of[i].Identity(),
				Message: writes.Who(release) + " refuses " + cause.String(), Hint: cmp.Or(cause.Hint, unless)})
		}
	}
	return append(list, denials(objects, w, existing, place)...), nil
}

// denials returns what the ValidatingAdmissionPolicies of a cluster refuse of objects that are applied to it.
func denials(objects []*manifest.Object, w *world.World, existing func(*manifest.Object) *manifest.Object,
	place func(o *manifest.Object, field string) (string, int)) (list []findings.Finding) {
	admission := plan.AdmissionOf(w)
	var unknown []string
	for _, o := range objects {
		if o.Has("metadata", "uid") || o.Name == "" {
			continue
		}
		refusal, why := admission.Denies(existing(o), o)
		if unknown = append(unknown, why...); refusal != nil {
			severity, unless := level(o, nil)
			file, line := place(o, "")
			list = append(list, findings.Finding{Rule: upgrade.RuleRefused.ID, Level: severity, File: file, Line: line,
				Object: o.Identity(), Message: apiServerRefuses + refusal.Text, Hint: unless})
		}
	}
	if len(unknown) > 0 {
		list = append(list, findings.Finding{Rule: ruleNotLookedAt.ID, Level: findings.Note,
			Message: "not known: " + text.FirstOf(3, unknown)})
	}
	return list
}

// judgeApplied reports what the API server refuses of the objects of the tree, if they are asked about.
func (c *prediction) judgeApplied(ctx context.Context) error {
	if !c.options.Applied {
		return nil
	}
	none := func(*manifest.Object) *manifest.Object { return nil }
	refused, err := Refusals(ctx, c.options.API, c.options.Target.Kube, c.objects, c.World, none,
		(*manifest.Object).PlaceOf)
	c.findings = append(c.findings, refused...)
	c.findings = append(c.findings, fit.NamesTaken(c.applied())...)
	return err
}

// applied returns what of the tree a person or an engine applies. A dump says itself what the API server serves.
func (c *prediction) applied() []*manifest.Object {
	return lists.Filter(c.objects, func(o *manifest.Object) bool { return !o.Has("metadata", "uid") })
}

// level returns how bad it is that the API server refuses an object as it stands, and when it does not refuse it:
// another program may write into the text, and the cluster may have the rest of the object.
func level(o *manifest.Object, causes []writes.Cause) (findings.Severity, string) {
	if field := olm.Placeholder(o); field != "" {
		return findings.Note, "another program may replace what " + field + " has before it is applied"
	}
	if slices.ContainsFunc(causes, func(c writes.Cause) bool { return c.Missing }) {
		return findings.Warning, "it is taken if the cluster has the object already: an apply merges the two"
	}
	return findings.Error, ""
}

// preflight asks what OLM v1 asks before it changes a CRD of the cluster, and what the API server says to what it
// applies then. Before that, Helm refuses what is in the way of a ClusterExtension that has nothing installed
// (operator-controller: internal/operator-controller/applier/helm.go, Apply).
func (c *prediction) preflight(ctx context.Context, e *PlayedExtension) error {
	o, q, release := c.options, e.asked, c.options.Target.Controllers()[0]
	if len(e.made) == 0 || q.Installed == nil || q.Installed.Name == e.Bundle {
		return nil
	}
	was := &PlayedExtension{object: e.object, extension: q.kept(o.Catalogs)}
	if was.extension == nil {
		was.Unknown = "no catalog has " + q.Installed.Name
	} else if err := was.open(ctx, o); err != nil {
		return err
	}
	shipped, unseen := world.Index(was.made, o.Namespace), cmp.Or(was.Unknown, was.Refused, was.partial)
	_, asks := release.Does(versions.AsksCrdify)
	safety := upgrade.AsksCRDSafety(e.object)
	var refused []string
	for _, now := range e.made {
		live := cmp.Or(c.Find(now), shipped.Find(now))
		if now.Kind != kindCRD || live == nil && unseen == "" || !safety { // or it is new
			continue
		}
		words, err := []string(nil), errors.New(unseen)
		if live != nil {
			words, err = upgrade.CRDSafety(live, now)
		}
		if err != nil {
			e.differs = fmt.Sprintf("whether OLM v1 changes CRD %s is not known: %s", now.Name,
				text.OneLine(err.Error()))
		} else if !asks && !world.Same(live, now) {
			e.differs = fmt.Sprintf("its CRDs are checked by crdify v0.6: what %s says may differ", release)
		}
		if len(words) > 0 {
			refused, e.by = append(refused, words...), upgrade.ByCRDSafety
		}
	}
	for _, now := range e.made {
		live := cmp.Or(c.Find(now), shipped.Find(now))
		if live == nil || len(refused) > 0 {
			continue
		}
		refusal, err := plan.Refused(ctx, o.API, live, now)
		if err != nil {
			return err
		}
		if refusal != nil { // Helm stops at the first one (helm: pkg/kube/client.go, Update)
			e.ours, refused = true, append(refused, fmt.Sprintf("cannot patch %q with kind %s: %s", now.Name, now.Kind,
				refusal.Text))
		}
	}
	e.Refused = strings.Join(refused, "\n")
	return nil
}
