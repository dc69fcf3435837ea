package predict

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// Operator is an operator in a cluster, and what it means for the upgrade of the cluster.
type Operator struct {
	Namespace    string   `json:"namespace"`
	Name         string   `json:"name"`
	File         string   `json:"file"`
	Line         int      `json:"line"`
	Form         fit.Form `json:"by"`
	MaxOpenShift string   `json:"maxOpenShiftVersion,omitempty"` // empty if there is none
	Condition    bool     `json:"operatorCondition"`             // the tree has it; without it nothing is known of Held
	Held         string   `json:"notUpgradeable,omitempty"`      // why it holds back its own upgrade
	Unknown      string   `json:"unknown,omitempty"`             // why nothing is known of it
	Partly       bool     `json:"catalogOnly,omitempty"`         // only what its catalog says of it is known
	Blocks       []string `json:"blocks"`                        // the rules of the findings that are errors; sorted
}

// judgeTarget reports what keeps the operators of the tree, and those that OLM installs for it, from working in the
// cluster, and objects that it does not serve or take. It asks only if something is known of the cluster.
func (c *prediction) judgeTarget(ctx context.Context) error {
	o := c.options
	if !o.Target.Known() {
		return nil
	}
	t := &target{prediction: c, form: fit.OLMv0, crds: olm.CRDs(c.objects)}
	if !o.Target.HasOLMv0() {
		t.form = fit.OLMv1
	}
	for _, v := range c.csvs {
		if v.sub == nil {
			t.installed(v)
		}
	}
	for _, i := range c.installs { // without its bundle, what the catalog says of it is judged
		row := Operator{Namespace: i.Namespace, Name: i.Name, Form: t.form}
		operator, partial, err := openedOr(ctx, i.Choice, o)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			t.unknown(i.Subscription, row, err.Error(), "")
		default:
			t.place(i.Subscription, row, operator, partial)
		}
	}
	for _, e := range c.extensions {
		t.extension(e)
	}
	for _, u := range c.unknown {
		t.unknown(u.Object, Operator{Namespace: u.Object.Namespace, Name: u.Object.Name, Form: t.form}, u.Why,
			passCatalog)
	}
	c.findings = append(c.findings, fit.Objects(c.objects, o.Target)...)
	return nil
}

// target judges operators for a cluster.
type target struct {
	*prediction
	form fit.Form                    // who installs what the tree has for OLM v0
	crds map[string]*manifest.Object // of the tree
}

func (t *target) installed(v *csv) {
	var typed v1alpha1.ClusterServiceVersion
	condition := t.Conditions[v.Namespace+"/"+v.Name]
	row := Operator{Namespace: v.Namespace, Name: v.Name, Form: t.form, Condition: condition != nil,
		Held: t.notUpgradeable(v)}
	if row.Held != "" {
		t.note(ruleHeld, findings.Note, condition, "", fmt.Sprintf("OLM does not update %s: %s", v.Name,
			text.OneLine(row.Held)), "an update that the cluster needs first has to wait for it")
	}
	if _, err := v.Into(&typed); err != nil {
		t.unknown(v.Object, row, err.Error(), "")
		return
	}
	t.judge(v.Object, row, fit.Installed(&typed, v.Object), false)
}

const notFetched = "its objects are not in the catalog, and its image is not fetched"

// onlyCatalog returns that the objects of a release are not known, and why.
func onlyCatalog(release, why string) string {
	return fmt.Sprintf("of %s, only what the catalog says is judged: %s", release, why)
}

// place judges an operator that is not in the tree. partial is why only what its catalog says is known.
func (t *target) place(at *manifest.Object, row Operator, operator fit.Operator, partial string) {
	if row.Partly = partial != ""; row.Partly {
		t.note(ruleFitUnknown, findings.Warning, at, "", onlyCatalog(row.Name, text.OneLine(partial)), "")
	}
	t.judge(at, row, operator, true)
}

// extension judges what OLM v1 installs for a ClusterExtension.
func (t *target) extension(e *PlayedExtension) {
	row := Operator{Name: cmp.Or(e.Bundle, e.Name), Form: fit.OLMv1, File: e.File, Line: e.Line}
	if e.extension != nil {
		row.Namespace = e.extension.Namespace
	}
	if e.Refused != "" && !e.unfit {
		row.Blocks = []string{ruleExtension.ID}
	}
	switch {
	case e.operator != nil:
		t.place(e.object, row, *e.operator, e.partial)
	case e.Refused != "":
		t.operators = append(t.operators, row)
	default:
		t.unknown(e.object, row, e.Unknown, e.hint())
	}
}

// opened returns what a catalog has of an operator, and why that is not all.
func opened(ctx context.Context, choice catalog.Choice, o catalog.Options) (operator fit.Operator, partial string,
	err error) {
	b, metadata, err := readBundle(ctx, choice, o, bundle.ReadOptions{AllowUnsupported: true})
	if err != nil {
		return operator, "", err
	}
	if metadata {
		partial = notFetched
	}
	operator = fit.OfBundle(b).With(choice.Bundle.Properties)
	documents, err := choice.Package.DocumentsOf(ctx, fit.SchemaLifecycle)
	if err == nil {
		operator.Lifecycle = fit.ReadLifecycle(documents)
	}
	return operator, partial, err
}

// judge adds an operator and its findings, which stand at what asks for it if it is not in the tree (elsewhere).
func (t *target) judge(at *manifest.Object, row Operator, operator fit.Operator, elsewhere bool) {
	row.File, row.Line = at.File, at.Line
	row.MaxOpenShift, _ = operator.MaxOpenShift()
	found := fit.Findings(operator, row.Form, t.options.Target)
	if elsewhere && row.Form == fit.OLMv1 { // an InstallPlan of OLM v0 is played
		operator.Namespace = cmp.Or(operator.Namespace, row.Namespace)
		found = append(found, fit.Unready(operator)...)
	}
	for _, f := range found {
		if f.Level == findings.Error {
			row.Blocks = lists.Add(row.Blocks, f.Rule)
		}
		if f.Rule == fit.RuleMinKube.ID && !elsewhere {
			continue // it is one of the requirements that the tree does not meet
		}
		if elsewhere {
			about := row.Name
			if f.Object != "" && !strings.HasPrefix(f.Object, v1alpha1.ClusterServiceVersionKind+" ") {
				about += ", " + f.Object
			}
			f.File, f.Line, f.Object, f.Field, f.Message = at.File, at.Line, at.Identity(), "", about+": "+f.Message
		}
		t.findings = append(t.findings, f)
	}
	// where the cluster does not serve the API of a CRD of the tree, the finding is about the CRD
	gone := func(d v1alpha1.CRDDescription) bool {
		crd := t.crds[d.Name]
		return crd != nil && len(fit.Removed([]*manifest.Object{crd}, t.options.Target)) > 0
	}
	if !elsewhere && slices.ContainsFunc(operator.CSV.Spec.CustomResourceDefinitions.Owned, gone) {
		row.Blocks = lists.Add(row.Blocks, fit.RuleRemoved.ID)
	}
	slices.Sort(row.Blocks)
	t.operators = append(t.operators, row)
}

func (t *target) unknown(at *manifest.Object, row Operator, why, hint string) {
	row.File, row.Line, row.Unknown = at.File, at.Line, text.OneLine(why)
	t.operators = append(t.operators, row)
	t.note(ruleFitUnknown, findings.Warning, at, "", fmt.Sprintf("nobody can say whether the operator works with "+
		"%s: %s", t.options.Target, row.Unknown), hint)
}
