// Package release judges the directory of an operator's repository before a release.
package release

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/regular"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/charts"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/repos"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/internal/writes"
	"github.com/olmgen/olmgen/manifest"
)

const (
	ruleMissing = "release/rights-missing"
	ruleMore    = "release/rights-more"
	ruleUnknown = "release/rights-unknown"
)

// rightsRules explains the findings of rights.
var rightsRules = []findings.Rule{
	{ID: ruleMissing, Text: "a chart, a kustomization or a role grants the operator what its bundle does not",
		Help: "The API server refuses to the operator that OLM installs what it takes from the other one."},
	{ID: ruleMore, Text: "the bundle grants the operator what a chart or a kustomization does not"},
	{ID: ruleUnknown, Text: "what a chart or a kustomization grants is not known"},
}

const (
	own       = "its namespaces" // stands for those of an installation
	installed = "operators"      // the namespace of what names none
	proxy     = "kube-rbac-proxy"
)

// side is what one source grants.
type side struct {
	what         string // in messages
	wants, holds []permissions.Item
	report       permissions.Report // without items
	pods         []pod
}

// pod is the account of a pod, and the name of its workload or of an image of it.
type pod struct{ name, account string }

// rights compares what a bundle grants with what others in the repository do: all accounts of an operator together, in
// the cluster and in namespaces. What grants rights on APIs of another bundle that is released, and on none of this
// one, is not compared. The texts say what was looked at.
func rights(ctx context.Context, x *opened, released []*opened, r *repository, helm charts.Renderer) (
	list []findings.Finding, looked []string, err error) {
	mine, err := ofBundle(x.bundle, x.dir)
	if err != nil { // the bundle is refused
		return nil, []string{fmt.Sprintf("the rights of %s are compared with nothing: %v", x.dir, err)}, ctx.Err()
	}
	if len(mine.pods) == 0 { // as of a bundle that only requires others
		return nil, []string{x.bundle.CSV.Name + " runs nothing: its rights are compared with nothing"}, nil
	}
	apis, wanted := apisOf(x, released)
	others := slices.Concat(r.granting, r.roles)
	files, left := map[string]bool{}, map[string][]string{} // what is not compared, by the reason
	for _, other := range others {
		name := filepath.ToSlash(other)
		if ctx.Err() != nil || files[name] {
			continue
		}
		their, why, err := ofOther(ctx, apis, wanted, mine, r.root, other, helm)
		if below := instead(other); err != nil && below != "" {
			looked = append(looked, fmt.Sprintf("%s counts instead of %s: %v", filepath.ToSlash(below), name, err))
			name = filepath.ToSlash(below)
			their, why, err = ofOther(ctx, apis, wanted, mine, r.root, below, helm)
		}
		switch {
		case err != nil:
			list = append(list, notCompared(name, why, err))
			continue
		case why != "":
			left[why] = append(left[why], name)
			continue
		}
		for _, i := range their.holds {
			files[i.Source.File] = true
		}
		looked = append(looked, "compared with the rights of "+their.what)
		for _, u := range their.report.Unknown {
			looked = append(looked, fmt.Sprintf("what only the bundle grants is not known: %s binds %s to %s, whose "+
				"rules are not there", their.what, u.Subject, u.Role))
		}
		list = append(list, lost(their, mine, ruleMissing, "add it to the bundle%s, or take it away here")...)
		if !isRole(other) && len(their.report.Unknown) == 0 {
			list = append(list, lost(mine, their, ruleMore, "add it there%s, or take it out of the bundle")...)
		}
	}
	for _, why := range lists.Keys(left) {
		looked = append(looked, fmt.Sprintf("not compared with %s: %s", text.FirstOf(3, left[why]), why))
	}
	if len(others) == 0 {
		looked = append(looked, "its rights are compared with nothing: the bundle stands beside no chart, "+
			"kustomization or "+roleFile)
	}
	findings.Sort(list)
	return list, looked, ctx.Err()
}

// apisOf returns the APIs that tell what is of a bundle: a right on one is wanted; or, for a bundle without an API, a
// right on one of another bundle is not.
func apisOf(x *opened, released []*opened) (apis []*bundle.CRD, wanted bool) {
	if len(x.bundle.CRDs) > 0 {
		return x.bundle.CRDs, true
	}
	for _, other := range released {
		apis = append(apis, other.bundle.CRDs...)
	}
	return apis, false
}

func isRole(file string) bool { return filepath.Base(file) == roleFile }

// notCompared is the finding about what cannot be rendered.
func notCompared(name, remedy string, err error) findings.Finding {
	f := findings.Finding{Rule: ruleUnknown, Level: findings.Error, File: name, Message: text.OneLine(err.Error())}
	if e, ok := errors.AsType[*manifest.Error](err); ok {
		f.File, f.Line, f.Field, f.Message = cmp.Or(e.File, name), e.Line, e.Field, e.Msg
	}
	f.Message, f.Hint = "the rights of "+name+" are not compared with the bundle: "+f.Message, remedy
	return f
}

// sideOf returns what a state grants to any account.
func sideOf(what string, s compare.State) (*side, error) {
	x := &side{what: what, report: *s.Permissions}
	x.report.Users, x.report.Ways = nil, nil
	x.holds = lists.Filter(s.Permissions.Permissions, func(i permissions.Item) bool {
		return i.Subject.Kind == rbacv1.ServiceAccountKind
	})
	for _, o := range s.Objects {
		if !images.HasPods(o.Group(), o.Kind) {
			continue
		}
		v, err := o.Value()
		if err != nil {
			return nil, err
		}
		account := compare.PodUser(o).Name
		x.pods = append(x.pods, pod{o.Name, account})
		images.InObject(o.Group(), o.Kind, v, func(p images.Place, ref string) string {
			repository, _ := images.Repository(ref)
			if name := path.Base(repository); p.Kind == images.KindContainer && name != proxy {
				x.pods = append(x.pods, pod{name, account})
			}
			return ref
		})
	}
	return x, nil
}

func ofBundle(b *bundle.Bundle, ref string) (*side, error) {
	result, err := compare.Render(b)
	if err != nil {
		return nil, err
	}
	state, err := compare.StateOf(b, result)
	if err != nil {
		return nil, err
	}
	x, err := sideOf("the bundle", state)
	if err != nil {
		return nil, err
	}
	x.holds = lists.Filter(x.holds, func(i permissions.Item) bool { return i.Subject.Namespace == result.Namespace })
	for n := range x.holds {
		i := &x.holds[n]
		i.Source.File = path.Join(ref, i.Source.File)
		wanted := *i
		switch i.Source.Why {
		case permissions.WhyOLM:
			continue
		case permissions.WhyPromoted: // in other modes, it is granted in namespaces
			wanted.Namespaces = []string{own}
		}
		x.wants = append(x.wants, wanted)
	}
	return x, nil
}

// ofOther returns what something beside the bundle grants, or why that is not compared: it has to grant a right on one
// of some APIs if that is wanted, else on none. With an error, which says why nobody knows what it grants, the text is
// the remedy.
func ofOther(ctx context.Context, apis []*bundle.CRD, wanted bool, mine *side, root, other string,
	helm charts.Renderer) (x *side, why string, err error) {
	var groups []string
	if wanted {
		groups = lists.Unique(lists.Map(apis, func(c *bundle.CRD) string { return c.Group }))
	}
	s := compare.State{Name: filepath.ToSlash(other)}
	chart := first(other, chartFile) != ""
	switch {
	case isRole(other) && mentions(other, []string{"{{"}):
		return nil, "it is a template", nil
	case chart && !mentions(other, groups):
		return nil, foreign, nil
	case chart:
		s.Objects, err = render(ctx, root, other, helm)
		why = cmp.Or(manifest.HintOf(err), "helm template has to render it without values")
		s.Name += " with its default values and the dependencies that are there"
	default:
		why = "olmgen has to read it, or kustomize to build it, from what is in the repository"
		s.Objects, err = build(ctx, root, other, helm)
	}
	if err == nil {
		s.Permissions, s.Roles, err = permissions.EvaluateWithRoles(
			permissions.Input{Objects: s.Objects, Namespace: installed})
	}
	if err == nil {
		x, err = sideOf(s.Name, s)
	}
	if err != nil {
		return nil, why, err
	}
	if isRole(other) { // nothing binds it
		x.wants = s.Roles.Items
	} else {
		operators := x.operators(mine, !chart)
		x.wants = lists.Filter(x.holds, func(i permissions.Item) bool { return operators[i.Subject.Name] })
	}
	onAPI := func(i permissions.Item) bool { return onAny(apis, i) }
	if slices.ContainsFunc(x.wants, onAPI) == wanted {
		return x, "", nil
	}
	for _, i := range x.holds {
		if names := podNames(x.pods, i.Subject.Name); wanted && onAPI(i) && names != "" {
			return nil, fmt.Sprintf("its account %s has a right on an API of the bundle, and its workload and images "+
				"(%s) have no name of those of the bundle (%s): give one of them the same name", i.Subject.Name, names,
				podNames(mine.pods, "")), nil
		}
	}
	return nil, foreign, nil
}

// podNames returns the names of the workloads and images of an account, or of all.
func podNames(pods []pod, account string) string {
	pods = lists.Filter(pods, func(p pod) bool { return account == "" || p.account == account })
	return text.FirstOf(6, lists.SortedUnique(lists.Map(pods, func(p pod) string { return p.name })))
}

// onAny reports whether an item is a right on one of some APIs, or on a subresource of one.
func onAny(apis []*bundle.CRD, i permissions.Item) bool {
	return slices.ContainsFunc(apis, func(c *bundle.CRD) bool {
		return rbac.Has(i.APIGroups, c.Group) && slices.ContainsFunc(i.Resources, func(resource string) bool {
			plural, _, _ := strings.Cut(resource, "/")
			return plural == rbac.All || plural == c.Plural
		})
	})
}

// operators returns the names of the accounts that the operator has: those of the bundle, and those of pods whose
// workload or image the bundle has, or else with all those of every pod: Kubebuilder calls each operator controller.
func (x *side) operators(mine *side, all bool) map[string]bool {
	names := lists.Set(mine.pods, func(p pod) string { return p.name })
	pods := lists.Filter(x.pods, func(p pod) bool { return names[p.name] })
	if len(pods) == 0 && all {
		pods = x.pods
	}
	out := lists.Set(mine.wants, func(i permissions.Item) string { return i.Subject.Name })
	for _, p := range pods {
		out[p.account] = true
	}
	return out
}

// foreign is why something is not compared.
const foreign = "it grants no account of the operator a right on an API of the bundle"

// mentions reports whether a file, or one of a chart, has one of some words in it, if there are any.
func mentions(at string, words []string) bool {
	return len(words) == 0 || slices.ContainsFunc(regular.Files(at), func(file string) bool {
		data, err := repos.Read(at, file)
		return err == nil && slices.ContainsFunc(words, func(w string) bool { return bytes.Contains(data, []byte(w)) })
	})
}

// render renders a chart. What it depends on has accounts of its own, and may be fetched later.
func render(ctx context.Context, root, dir string, helm charts.Renderer) ([]*manifest.Object, error) {
	r := charts.Reader{Top: root, Repos: repos.New(nil), Named: filepath.ToSlash, Renderer: helm,
		KubeVersion: writes.Version}
	return r.Render(ctx, dir, charts.Release{Name: filepath.Base(dir), Namespace: installed, CRDs: true,
		Hooks: charts.None, Incomplete: true}, true)
}

// build returns the objects of a kustomization, or the roles of a file.
func build(ctx context.Context, root, file string, helm charts.Renderer) ([]*manifest.Object, error) {
	real, bad := filepath.EvalSymlinks(root)
	top, worse := filepath.Abs(real)
	if err := cmp.Or(bad, worse); err != nil {
		return nil, err
	}
	t, err := tree.Read(ctx, []string{file}, tree.Options{Top: top, All: true, Charts: helm,
		KubeVersion: writes.Version})
	if err != nil {
		return nil, err
	}
	if unknown := t.Unknown(); len(unknown) > 0 {
		return nil, unknown[0]
	}
	if !isRole(file) {
		return t.Objects, nil
	}
	return lists.Filter(t.Objects, func(o *manifest.Object) bool {
		return o.Group() == rbacv1.GroupName && (o.Kind == rbac.KindRole || o.Kind == rbac.KindClusterRole)
	}), nil
}

// at returns a report with items as of one subject at one place. What another side is asked for stands by itself for
// each resource: what that has of one is not a part of another. Otherwise, what holds in the cluster holds there, too.
func (x *side) at(place string, items []permissions.Item, asked bool) *permissions.Report {
	r := x.report
	r.Permissions = nil
	for _, i := range items {
		cluster := slices.Contains(i.Namespaces, permissions.Everywhere)
		if i.Risk == permissions.NoEffect || asked && cluster != (place == permissions.Everywhere) {
			continue
		}
		i.Subject = permissions.Subject{Kind: rbacv1.ServiceAccountKind, Name: "operator"}
		if i.Namespaces = []string{own}; cluster {
			i.Namespaces = []string{place}
		}
		if !asked || len(i.NonResourceURLs) > 0 {
			r.Permissions = append(r.Permissions, i)
			continue
		}
		for _, group := range i.APIGroups {
			for _, resource := range i.Resources {
				one := i
				one.APIGroups, one.Resources = []string{group}, []string{resource}
				r.Permissions = append(r.Permissions, one)
			}
		}
	}
	return &r
}

// lost returns a finding for each place that grants what another side does not: an error if that has nothing of it.
func lost(has, other *side, rule, hint string) (list []findings.Finding) {
	type place struct {
		file, object string
		line         int
		partly       bool
	}
	near := nearest(other.holds)
	for _, at := range []string{permissions.Everywhere, own} {
		where := "in " + strings.Replace(at, permissions.Everywhere, "the cluster", 1)
		gone := permissions.Compare(has.at(at, has.wants, true), other.at(at, other.holds, false), nil).Lost()
		for _, same := range lists.Groups(gone, func(i permissions.Item) place {
			return place{i.Source.File, i.Source.Object, i.Source.Line, len(i.Kept) > 0}
		}) {
			i, level, what := same[0], findings.Error, "nothing"
			if len(i.Kept) > 0 {
				what = "only a part"
			}
			// What asks about those who read metrics is for operators that do (Kubebuilder: metrics_auth_role.yaml).
			reviews := slices.Equal(i.Verbs, []string{"create"}) &&
				strings.HasSuffix(strings.Join(i.Resources, ""), "reviews")
			if rule == ruleMore || len(i.Kept) > 0 || reviews {
				level = findings.Warning
			}
			texts := lists.Unique(lists.Map(permissions.Lines(same), func(l permissions.Line) string { return l.What }))
			list = append(list, findings.Finding{Rule: rule, Level: level, File: i.Source.File, Line: i.Source.Line,
				Object: i.Source.Object, Hint: fmt.Sprintf(hint, near(i)),
				Message: fmt.Sprintf("%s grants %s of this %s: ", other.what, what, where) + strings.Join(texts, "; ")})
		}
	}
	return list
}

// nearest returns what names the grant that is most like an item: of its resource, of its API group, or any.
func nearest(items []permissions.Item) func(permissions.Item) string {
	keys := func(i permissions.Item) []string { return append(slices.Concat(i.Resources, i.APIGroups), "any") }
	at := map[string]string{}
	for _, i := range items {
		for _, key := range keys(i) {
			if at[key] == "" && i.Source.Line > 0 {
				at[key] = fmt.Sprintf(", near %s:%d", i.Source.File, i.Source.Line)
			}
		}
	}
	return func(i permissions.Item) string {
		return at[lists.Find(keys(i), func(key string) bool { return at[key] != "" })]
	}
}
