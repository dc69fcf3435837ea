package upgrade

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/internal/predict/plan"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

const ownedField = "spec.customresourcedefinitions.owned"

func describe(a olm.API) string { return fmt.Sprintf("%s (%s/%s)", a.Kind, a.Group, a.Version) }

// lost finds the operators that need an API that the newer release does not provide any more.
func (j *judge) lost(p Pair) {
	if p.Old == nil {
		return
	}
	by := cmp.Or(p.New, p.Old)
	for _, a := range olm.ServedAPIs(&p.Old.Spec, j.before) {
		if slices.ContainsFunc(j.operators, func(o Release) bool {
			return slices.Contains(olm.ServedAPIs(&o.Spec, j.after), a)
		}) {
			continue
		}
		for i := range j.operators {
			o := &j.operators[i]
			if slices.Contains(olm.RequiredAPIs(&o.Spec), a) {
				j.add(o, RuleAPIRequired, findings.Error, "spec.customresourcedefinitions.required",
					"requires %s, which %s does not provide any more: OLM refuses the upgrade, or the "+
						"ClusterServiceVersion fails with RequirementsNotMet", describe(a), by.Name)
			}
		}
	}
}

// owners finds the operators that own a CRD of the newer release, too. OLM installs no two of them in one set of
// namespaces (docs/reference/spec/olm-v0-installs.md, section 9). Elsewhere they have to live with the newer CRD.
func (j *judge) owners(p Pair) {
	for _, name := range owned(p.New) {
		for i := range j.operators {
			o := &j.operators[i]
			if o.Name == p.New.Name || o.base() == p.New.base() || !slices.Contains(owned(o), name) {
				continue
			}
			if p.Old == nil || !slices.Contains(owned(p.Old), name) {
				j.add(p.New, RuleCRDOwner, findings.Error, ownedField,
					"owns CRD %s, and so does %s: OLM refuses to install both in one set of namespaces", name, o.Name)
				continue
			}
			now, before := j.after[name], j.inCluster(name)
			if now == nil || before == nil || same(before, now) {
				continue
			}
			if v := unserved(o, now); v != "" && slices.Contains(olm.ServedVersions(before), v) {
				j.add(o, RuleCRDOwner, findings.Error, ownedField, "owns CRD %s, too, and %s does not serve %s any "+
					"more: it fails with RequirementsNotMet", name, p.New.Name, v)
			} else { // OLM writes the newer one for all
				j.add(o, RuleCRDOwner, findings.Warning, ownedField, "owns CRD %s, too, and gets the one of %s", name,
					p.New.Name)
			}
		}
	}
}

func owned(o *Release) []string {
	return lists.Keys(lists.Set(o.Spec.CustomResourceDefinitions.Owned,
		func(d v1alpha1.CRDDescription) string { return d.Name }))
}

// unserved returns the version of a CRD that an operator owns or requires and that the CRD does not serve; empty if
// there is none. Of two descriptions of a CRD OLM takes the last (OLM: pkg/controller/operators/olm/requirements.go,
// requirementStatus; api: GetAllCRDDescriptions).
func unserved(o *Release, crd *manifest.Object) (version string) {
	for _, a := range slices.Concat(olm.OwnedAPIs(&o.Spec), olm.RequiredAPIs(&o.Spec)) {
		if a.CRD == crd.Name {
			version = a.Version
		}
	}
	if slices.Contains(olm.ServedVersions(crd), version) {
		return ""
	}
	return version
}

// notServed finds a version that the newer release owns and that its CRD does not serve.
func (j *judge) notServed(p Pair) {
	for _, a := range olm.OwnedAPIs(&p.New.Spec) {
		now, before := j.after[a.CRD], j.before[a.CRD]
		if now == nil || unserved(p.New, now) != a.Version ||
			p.Old != nil && before != nil && unserved(p.Old, before) != "" {
			continue
		}
		j.add(p.New, RuleNotServed, findings.Error, ownedField,
			"owns %s, which its CRD does not serve: it stays Pending with RequirementsNotMet", describe(a))
	}
}

// path finds that OLM does not upgrade from the older release to the newer one.
func (j *judge) path(p Pair) {
	if p.Old != nil && p.Old.Name == p.New.Name && len(p.Old.Bundle)*len(p.New.Bundle) > 0 &&
		!equality.Semantic.DeepEqual(p.Old.Spec, p.New.Spec) {
		j.add(p.New, RuleSameName, findings.Warning, "metadata.name",
			"has the name of the older release, and is another one: OLM installs nothing of it where that is installed")
	}
	if p.Old == nil || p.Old.Name == p.New.Name {
		return
	}
	if csv := j.unowned()[p.Old.Name]; csv != nil {
		j.addAt(p.New, RulePath, findings.Error, csv.Object, "", "follows %s, which no Subscription in the cluster "+
			"has installed (%s): OLM does not upgrade it", p.Old.Name, csv.Identity())
		return
	}
	if j.PathKnown {
		return
	}
	old, entry := p.Old.Name, p.New.Entry
	if entry.Updates(old, &p.Old.Spec.Version.Version) != catalog.NoEdge {
		before, now := p.Old.Channels, p.New.Channels
		shared := slices.ContainsFunc(now, func(name string) bool { return slices.Contains(before, name) })
		if len(before)*len(now) > 0 && !shared {
			j.add(p.New, RulePath, findings.Info, "", "is in channel %s, and %s is in %s: OLM upgrades only where a "+
				"Subscription changes its channel", text.Or(now), old, text.Or(before))
		}
		return
	}
	severity := findings.Warning
	why := "has no replaces, skips or skipRange: its catalog has to say that it follows " + old
	if p.Old.base() != p.New.base() {
		severity = findings.Error // nothing but its own fields could say that it follows
	}
	switch {
	case entry.Replaces == p.New.Name: // OLM up to v0.46.0 asks for it again and again
		severity, why = findings.Error, "replaces itself: OLM has no way from "+old+" to it"
	case entry.Replaces != "":
		why = "replaces " + entry.Replaces + " and not " + old + ": OLM does not upgrade in one step"
	case entry.SkipRange != "" || len(entry.Skips) > 0:
		why = "does not skip " + old + ": OLM does not upgrade in one step"
	case severity == findings.Error:
		why = "has another name and no replaces, skips or skipRange: OLM does not upgrade " + old + " to it"
	default:
		severity = findings.Info
	}
	j.add(p.New, RulePath, severity, "spec.replaces", "%s", why)
}

// unowned returns, by name, the ClusterServiceVersions of a cluster that no Subscription has installed, in any
// namespace. OLM goes by the status of Subscriptions (OLM: pkg/controller/registry/resolver/source_csvs.go). A cluster
// without any Subscription does not say that there is none.
func unowned(w *world.World) map[string]*world.CSV {
	installed := lists.Set(w.Subscriptions, func(s *world.Subscription) string {
		return s.Namespace + "/" + s.InstalledCSV
	})
	out, owned := map[string]*world.CSV{}, map[string]bool{}
	for _, v := range w.CSVs {
		switch {
		case v.Copied, v.Phase == v1alpha1.CSVPhaseNone, len(installed) == 0:
		case installed[v.Namespace+"/"+v.Name]:
			owned[v.Name] = true
		default:
			out[v.Name] = v
		}
	}
	maps.DeleteFunc(out, func(name string, _ *world.CSV) bool { return owned[name] })
	return out
}

// unfit finds objects that do not fit the newer CRD. OLM lists them in each version that both CRDs serve, and checks
// the schema only (OLM: pkg/controller/operators/catalog/operator.go, validateV1CRDCompatibility, validateExistingCRs).
// A CRD of apiextensions.k8s.io/v1 that converts by a webhook is written all the same (step.go, NewCRDV1Step). Of a
// version that only the newer CRD serves OLM asks at the next InstallPlan.
func (j *judge) unfit(ctx context.Context, p Pair) error {
	for _, now := range ownedCRDs(p.New, j.rendered[1]) {
		before := j.inCluster(now.Name)
		if before == nil || p.Old.Name == p.New.Name && same(before, now) {
			continue // OLM installs no release twice
		}
		faults, err := plan.Unfit(ctx, j.Checker, before, now, j.cluster())
		severity, end, later := findings.Error, "the InstallPlan fails", false
		if plan.TrustsWebhook(now) {
			severity, end = findings.Warning, "OLM trusts its conversion webhook, and only warns"
		}
		if len(faults) == 0 && j.Played { // package compare/crds says it of two releases
			faults, err = plan.Unconverted(ctx, j.Checker, before, now, j.cluster())
			later, end = true, "nothing converts them, and OLM's next InstallPlan with this CRD fails"
		}
		if err != nil {
			return err
		}
		if len(faults) == 0 {
			continue
		}
		f := faults[0]
		name := f.Object.Kind + " " + strings.TrimPrefix(f.Object.Namespace+"/"+f.Object.Name, "/")
		why := fmt.Sprintf("%s (%s: %s)", name, f.Version, strings.TrimPrefix(f.Path+": "+f.Message, ": "))
		if n := len(faults) - 1; n > 0 {
			why += fmt.Sprintf(", and %s", text.Count(n, "other object"))
		}
		j.addAt(p.New, RuleObjectsUnfit, severity, f.Object, f.Path,
			"has a CRD %s that existing objects do not fit: %s: %s", now.Name, why, end)
		j.found[len(j.found)-1].Later = later
	}
	return nil
}

// stored finds CRDs that drop a version in which objects are stored. OLM asks status.storedVersions before it writes
// the CRD (OLM: pkg/controller/operators/catalog/step.go; pkg/lib/crd/storage.go, SafeStorageVersionUpgrade). Without a
// CRD of the cluster, the storage version of the older release is known to be there.
func (j *judge) stored(p Pair) {
	for _, name := range owned(p.New) {
		now, before := j.after[name], j.inCluster(name)
		if now == nil || before == nil {
			continue
		}
		stored, inStatus := olm.StoredVersions(before)
		dropped := olm.DroppedVersions(stored, now)
		if len(dropped) == 0 {
			continue
		}
		why := "in which the older release stores objects"
		if inStatus {
			why = "which status.storedVersions has"
		}
		j.addAt(p.New, RuleStored, findings.Error, now, "spec.versions",
			"drops %s of CRD %s, %s: the InstallPlan fails (risk of data loss)", strings.Join(dropped, ", "), name, why)
	}
}

// plays lets OLM install both releases, one after the other. It finds what the API server refuses of the
// newer one, and the objects that the newer one ships and that go with the older one, which is their only owner.
// Package predict does so for a whole cluster.
func (j *judge) plays(ctx context.Context, p Pair) error {
	if j.Played || p.Old != nil && (p.Old.Namespace != p.New.Namespace || p.Old.same(p.New)) {
		return nil
	}
	namespace := cmp.Or(p.New.Namespace, "default")
	c := world.Read(nil, namespace)
	var before, now played
	var err error
	if p.Old != nil {
		if before, err = j.play(ctx, c, p.Old, namespace); err != nil {
			return err
		}
	}
	if now, err = j.play(ctx, c, p.New, namespace); err != nil {
		return err
	}
	known := func(c Consequence) bool {
		return (c.Rule == RuleStored.ID || c.Rule == RuleCRDSafety.ID) && c.Operator == p.New.Name
	}
	asked := j.API != nil || now.result.Message == v1alpha1.ErrInvalidInstallPlan.Error()
	if asked && now.refused != "" && !slices.ContainsFunc(j.found[j.ofPair:], known) {
		level := findings.Error
		if before.refused == now.refused {
			level = findings.Warning
		}
		j.addAt(p.New, RuleRefused, level, cmp.Or(now.result.At, p.New.Object), "", "%s", now.refused)
	}
	if p.Old == nil || len(p.Old.Bundle)*len(p.New.Bundle) == 0 ||
		p.New.ByOLMv1 || now.result.Phase == v1alpha1.InstallPlanPhaseFailed { // the older release stays
		return nil
	}
	old := c.Get(olm.Group, v1alpha1.ClusterServiceVersionKind, namespace, p.Old.Name)
	if old == nil || p.Old.Name == p.New.Name {
		return nil
	}
	for _, x := range c.Delete(old) {
		if says, level := now.result.Without(x); says != "" {
			same := func(s *manifest.Object) bool { return s.Kind == x.Kind && s.Name == x.Name }
			at := cmp.Or(lists.Find(p.New.Bundle, same), p.New.Object)
			j.addAt(p.New, RuleLost, level, at, "", "needs %s %s, which is deleted with %s, its only owner; %s", x.Kind,
				x.Name, p.Old.Name, says)
		}
	}
	return nil
}

// same reports whether two releases are one CSV of a tree: nothing becomes of it.
func (r *Release) same(o *Release) bool {
	return len(r.Bundle)+len(o.Bundle) == 0 && reflect.DeepEqual(r.ClusterServiceVersion, o.ClusterServiceVersion)
}

// played is what became of a release.
type played struct {
	result  *plan.Result
	refused string // why it fails
}

// play plays the InstallPlan and the installation of a release. What only the cluster knows whether it serves it is
// left out.
func (j *judge) play(ctx context.Context, w *world.World, o *Release, namespace string) (played, error) {
	release := plan.Release{CSV: o.ClusterServiceVersion, Object: o.Object,
		Shipped: lists.Filter(o.Bundle, func(x *manifest.Object) bool {
			k, ok := install.KindOf(x.Kind)
			return !ok || (k.Typed || olm.BuiltinGroup(k.Group)) &&
				versions.Unserved(install.APIVersionOf(x), x.Kind, math.MaxInt32) == ""
		})}
	result, err := plan.Plan{Namespace: namespace, Releases: []plan.Release{release}, API: j.API}.Run(ctx, w)
	if err != nil {
		return played{}, err
	}
	plans, fails := "the InstallPlan fails: ", "it fails with "+string(v1alpha1.CSVReasonComponentFailed)+": "
	if o.ByOLMv1 {
		plans, fails = "OLM v1 cannot apply it: ", "OLM v1 cannot apply it: "
	}
	if result.Phase == v1alpha1.InstallPlanPhaseFailed {
		refused := plans + result.Message
		if at := result.At; !strings.Contains(result.Message, at.Name) {
			refused += ": " + at.Kind + " " + at.Name
		}
		return played{result, refused}, nil
	}
	if j.API == nil {
		return played{result: result}, nil
	}
	made, err := plan.Strategy{CSV: o.ClusterServiceVersion, Namespace: namespace, API: j.API}.Install(ctx, w)
	if err == nil && made.Refusal != nil && made.Problem.Field == "" { // refused says the others
		return played{result, fails + made.Refusal.Text}, nil
	}
	return played{result: result}, err
}

// refused finds what OLM or the API server refuses of the newer ClusterServiceVersion, and not of the older one. A play
// that comes to the phases of the ClusterServiceVersions finds it, too.
func (j *judge) refused(p Pair) {
	if j.Played || j.Phases {
		return
	}
	before := map[string]bool{}
	if p.Old != nil {
		before = lists.Set(j.refusals(p.Old, j.Old, j.before), func(r install.Problem) string { return r.Message })
	}
	for _, r := range j.refusals(p.New, j.New, j.after) {
		switch {
		case before[r.Message]:
		case r.Reason == v1alpha1.CSVReasonWaiting:
			j.add(p.New, RuleAccount, findings.Warning, r.Field, "%s: %s", r.Message, install.NoPods)
		case r.Field == "":
			j.add(p.New, RuleDefinition, findings.Error, "", "%s", r.Message)
		case r.Reason == "":
			j.add(p.New, RuleDefinition, findings.Warning, r.Field, "%s: %s", r.Message, install.NotAsked)
		default:
			j.add(p.New, RuleDefinition, findings.Error, r.Field, "%s: %s: the ClusterServiceVersion gets %s", r.Field,
				r.Message, r.Reason)
		}
	}
}

func (j *judge) refusals(o *Release, rendered []*manifest.Object, crds map[string]*manifest.Object) []install.Problem {
	list := append(install.Refused(o.ClusterServiceVersion, crds),
		install.Taken(o.Spec.APIServiceDefinitions.Owned, crds)...)
	if _, err := (fit.Cluster{}).MinKube(o.Spec.MinKubeVersion); err != nil {
		list = append(list, install.Problem{Field: "spec.minKubeVersion", Message: err.Error(),
			Reason: v1alpha1.CSVReasonRequirementsNotMet})
	}
	if len(o.Bundle) > 0 && !j.PathKnown { // a catalog may have the objects themselves
		if why := install.NotUnpacked(o.Object, o.Bundle); why != "" {
			list = append(list, install.Problem{Message: why, Reason: "BundleUnpackFailed"})
		}
	}
	objects := slices.Concat(o.Bundle, rendered, j.Cluster)
	return append(list, install.Accounts(o.ClusterServiceVersion, install.HasAccount(objects))...)
}

// conversions finds CRDs of the newer release whose objects nothing converts. OLM writes a CRD as the bundle has it,
// and sets its conversion later, when it installs the Deployments (OLM: pkg/controller/install/webhook.go,
// createOrUpdateConversionWebhook).
func (j *judge) conversions(p Pair) {
	before := map[string]bool{}
	if p.Old != nil {
		objects := shipped(p.Old, j.Old)
		for _, crd := range ownedCRDs(p.Old, j.rendered[0]) {
			before[crd.Name] = unconverted(p.Old, crd, objects) != nil
		}
	}
	objects := shipped(p.New, j.New)
	for _, crd := range ownedCRDs(p.New, j.rendered[1]) {
		if gap := unconverted(p.New, crd, objects); gap != nil && !before[crd.Name] {
			level := gap.Level()
			if gap.Set { // again and again, which installs it once and fails when it is to be updated
				level = findings.Error
			}
			j.addAt(p.New, RuleConversion, level, crd, "spec.conversion", "%s", gap.Why)
		}
	}
}

// shipped finds CRDs of the newer release that no API server serves, and ClusterRoles that it writes over those of the
// cluster. A play of the whole cluster finds the former, too.
func (j *judge) shipped(p Pair) {
	crds := olm.CRDs(p.New.Bundle)
	if len(p.New.Bundle) == 0 {
		crds = olm.CRDs(ownedCRDs(p.New, j.rendered[1]))
	}
	var before []*manifest.Object // those of a group share their names
	for _, group := range lists.SortedUnique(lists.Map(lists.Keys(crds), groupOf)) {
		before = append(before, j.ofGroup()[group]...)
	}
	key := func(f findings.Finding) string { return f.Rule + f.Object }
	was, now := fit.NamesTaken(before), fit.NamesTaken(append(before, byName(crds)...))
	if now = append(now, fit.DefaultRoles(p.New.Bundle)...); p.Old != nil {
		was = append(was, fit.DefaultRoles(p.Old.Bundle)...)
	}
	known := lists.Set(was, key)
	for _, f := range now {
		if !known[key(f)] && (f.Rule != fit.RuleNames.ID || !j.Played && !j.Phases) {
			j.found = append(j.found, Consequence{Rule: f.Rule, Operator: p.New.Name, Severity: f.Level, File: f.File,
				Line: f.Line, Message: "ships " + f.Object + ": " + f.Message})
		}
	}
}

// groupOf returns the API group of a CRD, by its name.
func groupOf(crd string) string {
	_, group, _ := strings.Cut(crd, ".")
	return group
}

// byName returns the objects of maps, those of the first map first.
func byName(maps ...map[string]*manifest.Object) (list []*manifest.Object) {
	for _, of := range maps {
		list = append(list, lists.Map(lists.Keys(of), func(name string) *manifest.Object { return of[name] })...)
	}
	return list
}

// unconverted returns why nothing converts a CRD; nil too if nobody asks yet.
func unconverted(o *Release, crd *manifest.Object, objects []*manifest.Object) *fit.Gap {
	operator := fit.Operator{CSV: o.ClusterServiceVersion, Shipped: objects}
	if len(o.Bundle) > 0 {
		operator.Namespace = o.Namespace
	}
	gap := fit.Unconverted(operator, crd)
	if gap != nil && gap.Idle() {
		return nil
	}
	return gap
}

// shipped returns what an operator ships: what its bundle has, else what is rendered.
func shipped(o *Release, rendered []*manifest.Object) []*manifest.Object {
	if len(o.Bundle) > 0 {
		return o.Bundle
	}
	return rendered
}

// ownedCRDs returns the CRDs that an operator owns and ships: those of its bundle, or else of what is rendered.
func ownedCRDs(o *Release, rendered map[string]*manifest.Object) []*manifest.Object {
	crds := rendered
	if len(o.Bundle) > 0 {
		crds = olm.CRDs(o.Bundle)
	}
	return lists.Map(lists.Filter(owned(o), func(name string) bool { return crds[name] != nil }),
		func(name string) *manifest.Object { return crds[name] })
}
