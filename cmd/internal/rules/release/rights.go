// Package release judges the directory of an operator's repository before a release.
package release

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/charts"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/repos"
	"github.com/olmgen/olmgen/internal/tree/kustomization"
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
		Help: "The operator that OLM installs is refused what the other one may do."},
	{ID: ruleMore, Text: "the bundle grants the operator what a chart, a kustomization or a role does not"},
	{ID: ruleUnknown, Text: "a chart, a kustomization or a role is not compared with the bundle"},
}

// own is the namespace of what is granted in namespaces: which ones is a matter of the installation.
const own = "its namespaces"

// installed is where things are that name no namespace.
const installed = "operators"

// proxy is an image that many operators have beside their own.
const proxy = "kube-rbac-proxy"

// repository reads what is beside the bundle in the directory of an operator.
type repository struct {
	root, real string // as it was given, and absolute without symbolic links
	charts     *charts.Reader
	builder    *kustomization.Builder
}

func openRepository(ctx context.Context, root string, helm charts.Renderer) (*repository, error) {
	abs, err := filepath.Abs(root)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return nil, err
	}
	r := &repository{root: root, real: abs}
	r.charts = &charts.Reader{Top: abs, Repos: repos.New(nil), Named: r.named, Renderer: helm, KubeVersion: writes.Version}
	r.builder = kustomization.New(abs, abs, r.named)
	r.builder.Render = func(dir string, of charts.Release, build bool) ([]*manifest.Object, error) {
		return r.charts.Render(ctx, dir, of, build)
	}
	return r, nil
}

// named returns the name of a file in messages.
func (r *repository) named(abs string) string {
	rel, err := filepath.Rel(r.real, abs)
	if err != nil {
		return filepath.ToSlash(abs)
	}
	return filepath.ToSlash(filepath.Join(r.root, rel))
}

// rights compares what a bundle grants its operator with what others do, by covering: it says what one has and the
// other has not. The bundle is called ref in messages. The paths of others are relative to the repository. The texts say
// what was looked at.
func (r *repository) rights(ctx context.Context, b *bundle.Bundle, ref string, others []string) (
	list []findings.Finding, looked []string, err error) {
	mine, err := ofBundle(b, ref)
	if err != nil {
		return nil, nil, err
	}
	files, left := map[string]bool{}, map[string][]string{} // of kustomizations; what is not compared, by the reason
	var roles []*granted                                    // of files: all of them together may be what the bundle is made of
	whole := false                                          // something that has all rights is compared
	for _, other := range slices.SortedStableFunc(slices.Values(others), func(a, b string) int {
		return lists.TrueFirst(path.Base(a) != roleFile, path.Base(b) != roleFile)
	}) {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		abs := filepath.Join(r.real, filepath.FromSlash(other))
		if files[abs] {
			continue // its kustomization is compared
		}
		their, why, err := r.ofOther(ctx, mine, b, abs, files)
		switch {
		case err != nil:
			list = append(list, notCompared(r.named(abs), why, err))
		case their == nil:
			left[why] = append(left[why], r.named(abs))
		default:
			looked = append(looked, "its rights are compared with those of "+their.what)
			list = append(list, missing(mine, their)...)
			if path.Base(abs) == roleFile {
				roles = append(roles, their)
				continue
			}
			whole = true
			list = append(list, more(mine, their)...)
		}
	}
	if len(roles) > 0 && !whole {
		list = append(list, more(mine, together(roles))...)
	}
	for _, why := range lists.Keys(left) {
		looked = append(looked, fmt.Sprintf("its rights are not compared with %s: %s", text.FirstOf(3, left[why]), why))
	}
	if len(others) == 0 {
		looked = append(looked, "its rights are compared with nothing: no chart, kustomization or "+roleFile+" is there")
	}
	findings.Sort(list)
	return list, looked, nil
}

// notCompared is the finding about what cannot be rendered: nobody knows what it grants.
func notCompared(name, remedy string, err error) findings.Finding {
	f := findings.Finding{Rule: ruleUnknown, Level: findings.Error, File: name, Message: text.OneLine(err.Error())}
	if e, ok := errors.AsType[*manifest.Error](err); ok {
		f.File, f.Line, f.Field, f.Message = cmp.Or(e.File, name), e.Line, e.Field, e.Msg
	}
	f.Message, f.Hint = "the rights of "+name+" are not compared with the bundle: "+f.Message,
		cmp.Or(manifest.HintOf(err), remedy)
	return f
}

// missing returns what the bundle lacks.
func missing(mine, their *granted) []findings.Finding {
	list := lost(their.wants(mine), mine, "add it to the bundle%s, or take it away here")
	for i := range list {
		list[i].Rule = ruleMissing
	}
	return list
}

// more returns what only the bundle has.
func more(mine, their *granted) []findings.Finding {
	list := lost(mine.wants(their), their, "add it there%s, or take it out of the bundle")
	for i := range list {
		list[i].Rule, list[i].Level = ruleMore, findings.Warning
	}
	return list
}

// together returns what some sides hold together.
func together(list []*granted) *granted {
	out, holds := *list[0], *list[0].holds
	for _, g := range list[1:] {
		holds.Permissions = slices.Concat(holds.Permissions, g.holds.Permissions)
		out.items = slices.Concat(out.items, g.items)
	}
	out.holds, out.what = &holds, text.FirstOf(3, lists.Map(list, func(g *granted) string { return g.what }))
	return &out
}

// lost returns a finding for each place that grants what another side does not: an error if that has nothing of it.
func lost(has *permissions.Report, other *granted, hint string) (list []findings.Finding) {
	near := nearest(slices.Concat(other.items, other.holds.Permissions))
	for _, scope := range []struct{ namespace, where string }{{permissions.Everywhere, "in the cluster"}, {own, "in " + own}} {
		a, b := *has, *other.holds
		a.Permissions = lists.Filter(a.Permissions, func(i permissions.Item) bool { return i.Namespaces[0] == scope.namespace })
		if b.Permissions = slices.Clone(b.Permissions); scope.namespace == own { // as is what the cluster has there
			for i := range b.Permissions {
				b.Permissions[i].Namespaces = []string{own}
			}
		}
		type place struct {
			file, object string
			line         int
			partly       bool
		}
		for _, same := range lists.Groups(permissions.Compare(&a, &b, nil).Lost(), func(i permissions.Item) place {
			return place{i.Source.File, i.Source.Object, i.Source.Line, len(i.Kept) > 0 || isProtection(i)}
		}) {
			i := same[0]
			f := findings.Finding{Level: findings.Error, File: i.Source.File, Line: i.Source.Line, Object: i.Source.Object,
				Hint: fmt.Sprintf(hint, near(i))}
			what := "nothing"
			if len(i.Kept) > 0 {
				what = "only a part"
			}
			if len(i.Kept) > 0 || isProtection(i) {
				f.Level = findings.Warning
			}
			whats := lists.Unique(lists.Map(permissions.Lines(same), func(l permissions.Line) string { return l.What }))
			f.Message = fmt.Sprintf("%s grants %s of this %s: %s", other.what, what, scope.where, strings.Join(whats, "; "))
			list = append(list, f)
		}
	}
	return list
}

// isProtection reports whether an item is what asks for the rights of those who read metrics: an operator needs it only
// if it does (kubernetes-sigs/kubebuilder: pkg/plugins/common/kustomize/v2/scaffolds/internal/templates/config/rbac,
// metrics_auth_role.go).
func isProtection(i permissions.Item) bool {
	return slices.Equal(i.Verbs, []string{"create"}) &&
		(slices.Equal(i.Resources, []string{"tokenreviews"}) || slices.Equal(i.Resources, []string{"subjectaccessreviews"}))
}

// nearest returns what names the grant that is most like an item: of its resource, of its API group, or any.
func nearest(items []permissions.Item) func(permissions.Item) string {
	keys := func(i permissions.Item) (list []string) {
		for _, group := range i.APIGroups {
			for _, resource := range i.Resources {
				list = append(list, group+"/"+resource)
			}
		}
		return append(append(list, i.APIGroups...), "/")
	}
	at := map[string]string{}
	for _, i := range items {
		for _, key := range keys(i) {
			if at[key] == "" && i.Source.File != "" {
				at[key] = fmt.Sprintf(", near %s:%d", i.Source.File, i.Source.Line)
			}
		}
	}
	return func(i permissions.Item) string {
		return at[lists.Find(keys(i), func(key string) bool { return at[key] != "" })]
	}
}
