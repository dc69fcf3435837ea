package predict

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// judgeNothing reports a tree in which there is nothing to predict, and what nothing reads any more.
func (c *prediction) judgeNothing(objects []*manifest.Object) {
	for _, o := range objects {
		if o.Group() == olm.Group && o.Kind == "OperatorSource" {
			c.note(ruleOperatorSource, findings.Warning, o, "", "nothing reads OperatorSources since OpenShift 4.6",
				"write a CatalogSource")
		}
	}
	relevant := func(o *manifest.Object) bool {
		return o.Group() == olm.Group || o.Group() == olm.GroupV1 || o.Group() == "apiextensions.k8s.io" ||
			len(olm.OperatorPolicies([]*manifest.Object{o})) > 0
	}
	if len(objects) > 0 && !slices.ContainsFunc(objects, relevant) {
		c.report(ruleNothing, findings.Warning,
			&manifest.Error{Msg: "the tree has no objects of OLM", Tip: "check the paths"}, "")
	}
}

// judgeTargets reports a second group of a namespace, and targets that OLM ignores or plans to remove.
func (o *simulation) judgeTargets(g *group) {
	if first := o.groupsIn[g.Namespace][0]; first != g {
		o.note(ruleSeveralGroups, findings.Error, g.Object, "metadata.name",
			fmt.Sprintf("namespace %s also has OperatorGroup %s: OLM installs nothing there", g.Namespace, first.Name),
			"keep one of them")
	}
	t := olm.TargetsOf(&g.Spec)
	if len(t.Names) > 0 && t.Selector != nil && len(t.Selector.MatchLabels)+len(t.Selector.MatchExpressions) > 0 {
		o.note(ruleSelectorIgnored, findings.Warning, g.Object, "spec.selector",
			"OLM ignores the selector because of targetNamespaces", "remove one of them")
	}
	field := "spec.targetNamespaces"
	if t.BySelector() {
		field = "spec.selector"
	}
	if t.BySelector() || len(t.Names) > 1 {
		o.note(ruleSeveralTargets, findings.Note, g.Object, field,
			"several target namespaces are not recommended: OLM may drop the support for them", "")
	}
}

// judgeSubscriptions reports Subscriptions that OLM installs nothing for.
func (o *simulation) judgeSubscriptions() {
	for _, s := range o.Subscriptions {
		// a CSV without group is an error of its own
		if len(o.groupsIn[s.Namespace])+len(o.csvsIn[s.Namespace]) == 0 {
			o.note(ruleNoGroup, findings.Warning, s.Object, "metadata.namespace",
				"namespace "+s.Namespace+" has no OperatorGroup: OLM installs nothing there",
				"add one, or check its path too")
		}
		if s.InstalledCSV != "" && s.CurrentCSV != "" && s.CurrentCSV != s.InstalledCSV {
			o.note(ruleNewer, findings.Note, s.Object, "status.currentCSV",
				"a newer version waits: "+s.CurrentCSV+" is to follow "+s.InstalledCSV,
				"approve its InstallPlan, or see why it fails")
		}
	}
}

// judgeDeployments reports Deployments that OLM deletes for a conflict of groups (operator.go, cleanupCSVDeployments).
func (o *simulation) judgeDeployments(v *csv) {
	if v.reason != v1alpha1.CSVReasonInterOperatorGroupOwnerConflict &&
		v.reason != v1alpha1.CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs {
		return
	}
	for _, name := range v.deployments() {
		if d := o.Deployments[v.Namespace+"/"+name]; d != nil {
			o.note(ruleDeployment, findings.Warning, d, "",
				"OLM deletes this Deployment, because ClusterServiceVersion "+v.Name+" has failed: "+string(v.reason),
				"")
		}
	}
}

// definition is what a CRD of the tree says about its API.
type definition struct {
	*manifest.Object
	of olm.Kind
}

// definitions returns the CRDs by group/kind of the objects that they define.
func (c *prediction) definitions() map[string]definition {
	list := map[string]definition{}
	for _, crd := range c.CRDs {
		k, _ := olm.DefinedKind(crd) // of another type than the API server takes: judgeFields says so
		list[k.Group+"/"+k.Name] = definition{crd, k}
	}
	return list
}

// judgeFit reports custom resources that the API server refuses, or drops a field of, by their CRD in the tree. OLM's
// own are left out: see judgeObjects. Where they cannot be judged, a finding says so. The error is that of ctx.
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
	if err != nil && ctx.Err() == nil {
		c.report(ruleUnfit, findings.Warning, &manifest.Error{Msg: "custom resources are not judged: " + err.Error(),
			Tip: manifest.HintOf(err)}, "")
	}
	for _, r := range results {
		if !r.Served { // judgeResources says so
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
	return ctx.Err()
}
