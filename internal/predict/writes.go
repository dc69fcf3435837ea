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

// Apply is how a person or an engine applies objects to a cluster.
type Apply struct {
	API     writes.Checker  // nil: nobody is asked
	Release *semver.Version // of the cluster; may be nil
	// Cluster is what is applied, all of it, with the ValidatingAdmissionPolicies that are asked.
	Cluster   []*manifest.Object
	Namespace string // of objects without one
	// Existing returns what an object takes the place of, or nil.
	Existing func(*manifest.Object) *manifest.Object
	// Place returns where a field stands.
	Place func(o *manifest.Object, field string) (string, int)
	Whole bool // no object has but a part of what it is in the cluster
}

// Refused returns what the API server refuses of objects: one error for each field at fault, and for the first policy.
// What is read from a cluster is not asked about. The error is that of the API.
func (a Apply) Refused(ctx context.Context, objects []*manifest.Object) (list []findings.Finding, err error) {
	var asked []writes.Write
	var of []*manifest.Object
	for _, o := range objects {
		if a.API == nil || !olm.BuiltinGroup(o.Group()) || o.Has("metadata", "uid") || o.Name == "" {
			continue
		}
		w, err := writes.Of(a.Existing(o), o)
		if err != nil { // it is reported where it is read
			continue
		}
		w.Strict = true
		asked, of = append(asked, w), append(of, o)
	}
	answers, err := a.ask(ctx, asked)
	if err != nil {
		return nil, err
	}
	for _, o := range ofOLMv1(objects, olm.KindClusterExtension) {
		if old := a.Existing(o); old != nil {
			answers, of = append(answers, writes.Answer{Causes: plan.Fixed(old, o)}), append(of, o)
		}
	}
	for i, answer := range answers {
		for _, cause := range answer.Causes {
			list = append(list, a.refusal(of[i], answer.Causes, cause.Field,
				writes.Who(a.Release)+" refuses "+cause.String(), cause.Hint))
		}
	}
	return append(list, a.denied(objects)...), nil
}

// ask asks the API. An object that takes the place of a whole one lacks what it lacks; of others the cluster may have
// the rest.
func (a Apply) ask(ctx context.Context, asked []writes.Write) (answers []writes.Answer, err error) {
	if len(asked) == 0 {
		return nil, nil
	}
	if answers, err = a.API.Check(ctx, asked); err != nil {
		return nil, err
	}
	var before []writes.Write
	var of []int
	for i, w := range asked {
		if missing(answers[i].Causes) && w.Existing != nil {
			before, of = append(before, writes.Write{Object: w.Existing}), append(of, i)
		}
	}
	if len(before) == 0 {
		return answers, nil
	}
	was, err := a.API.Check(ctx, before)
	for i := range was {
		for n := range answers[of[i]].Causes {
			answers[of[i]].Causes[n].Missing = missing(was[i].Causes)
		}
	}
	return answers, err
}

func missing(causes []writes.Cause) bool {
	return slices.ContainsFunc(causes, func(c writes.Cause) bool { return c.Missing })
}

// denied returns what the ValidatingAdmissionPolicies of the cluster refuse.
func (a Apply) denied(objects []*manifest.Object) (list []findings.Finding) {
	if !slices.ContainsFunc(a.Cluster, plan.BindsPolicy) {
		return nil
	}
	admission := plan.AdmissionOf(world.Read(a.Cluster, a.Namespace))
	var unknown []string
	for _, o := range objects {
		if o.Has("metadata", "uid") || o.Name == "" {
			continue
		}
		denied, why := admission.Denies(a.Existing(o), o)
		if unknown = append(unknown, why...); denied != nil {
			list = append(list, a.refusal(o, nil, "", apiServerRefuses+denied.Text, ""))
		}
	}
	if len(unknown) > 0 {
		list = append(list, findings.Finding{Rule: ruleNotLookedAt.ID, Level: findings.Note,
			Message: "not known: " + text.FirstOf(3, unknown)})
	}
	return list
}

// refusal returns the finding about a field that the API server refuses, with how bad it is as the object stands, and
// when it is not: another program may write into the text, and the cluster may have the rest of the object.
func (a Apply) refusal(o *manifest.Object, causes []writes.Cause, field, message, hint string) findings.Finding {
	level, unless := findings.Error, ""
	if at := olm.Placeholder(o); at != "" {
		level, unless = findings.Note, "another program may replace what "+at+" has before it is applied"
	} else if missing(causes) && !a.Whole {
		level, unless = findings.Warning, "it is taken if the cluster has the object already: an apply merges the two"
	}
	file, line := a.Place(o, field)
	return findings.Finding{Rule: upgrade.RuleRefused.ID, Level: level, File: file, Line: line, Object: o.Identity(),
		Message: message, Hint: cmp.Or(hint, unless)}
}

// judgeApplied reports what the API server refuses of the objects of the tree, if they are asked about.
func (c *prediction) judgeApplied(ctx context.Context) error {
	if !c.options.Applied {
		return nil
	}
	refused, err := Apply{API: c.options.API, Release: c.options.Target.Kube, Cluster: c.objects,
		Namespace: c.options.Namespace,
		Existing:  func(*manifest.Object) *manifest.Object { return nil }, Place: (*manifest.Object).PlaceOf}.
		Refused(ctx, c.objects)
	c.findings = append(c.findings, refused...)
	c.findings = append(c.findings, fit.NamesTaken(c.applied())...)
	return err
}

// applied returns what of the tree a person or an engine applies. A dump says itself what the API server serves.
func (c *prediction) applied() []*manifest.Object {
	return lists.Filter(c.objects, func(o *manifest.Object) bool { return !o.Has("metadata", "uid") })
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
