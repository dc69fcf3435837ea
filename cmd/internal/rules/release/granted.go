package release

import (
	"cmp"
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/regular"
	"github.com/olmgen/olmgen/internal/charts"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/repos"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/manifest"
)

// granted is what one side grants an operator.
type granted struct {
	what     string                       // in messages
	items    []permissions.Item           // what subjects may do
	holds    *permissions.Report          // what any account may do
	works    []workload                   // that the operator may be
	own      map[permissions.Subject]bool // who is the operator; nil: every subject
	accounts map[string]bool              // by name
}

// wants returns what the operator may do, with its accounts that the other side has too, such as those of operands.
func (g *granted) wants(other *granted) *permissions.Report {
	return only(*g.holds, g.items, func(i permissions.Item) bool {
		return g.own == nil || g.own[i.Subject] || isAccount(i) && g.accounts[i.Subject.Name] && other.accounts[i.Subject.Name]
	})
}

// accountsOf returns the names of the accounts in the namespaces of workloads.
func accountsOf(r *permissions.Report, works []workload) map[string]bool {
	namespaces := lists.Set(works, func(w workload) string { return w.account.Namespace })
	return lists.Set(lists.Filter(r.Accounts, func(s permissions.Subject) bool { return namespaces[s.Namespace] }),
		func(s permissions.Subject) string { return s.Name })
}

// only returns a report with what some subjects may do, as one subject, whose name is a matter of the installation, in
// the cluster or in own.
func only(r permissions.Report, items []permissions.Item, of func(permissions.Item) bool) *permissions.Report {
	r.Permissions, r.Users, r.Ways = nil, nil, nil
	for _, i := range items {
		if i.Risk == permissions.NoEffect || !of(i) {
			continue
		}
		i.Subject = permissions.Subject{Kind: rbacv1.ServiceAccountKind, Name: "operator"}
		if !slices.Contains(i.Namespaces, permissions.Everywhere) {
			i.Namespaces = []string{own}
		}
		r.Permissions = append(r.Permissions, i)
	}
	return &r
}

func isAccount(i permissions.Item) bool { return i.Subject.Kind == rbacv1.ServiceAccountKind }

// ofBundle returns what a bundle grants, in the first mode that it supports.
func ofBundle(b *bundle.Bundle, ref string) (*granted, error) {
	o, supports := generate.Options{Certs: generate.CertsManager}, func(m v1alpha1.InstallModeType) bool {
		return olm.Supports(b.CSV.Spec.InstallModes, m)
	}
	if !supports(v1alpha1.InstallModeTypeAllNamespaces) && !supports(v1alpha1.InstallModeTypeOwnNamespace) {
		o.TargetNamespaces = []string{"target"}
		if !supports(v1alpha1.InstallModeTypeSingleNamespace) {
			o.TargetNamespaces = append(o.TargetNamespaces, "target-2")
		}
	}
	result, err := generate.Render(b, o)
	if err != nil {
		return nil, err
	}
	in := permissions.Input{Shipped: b.Others, Namespace: result.Namespace, CSVs: []permissions.CSV{
		{ClusterServiceVersion: b.CSV, Object: b.CSVObject, Namespace: result.Namespace}}}
	var all []*manifest.Object
	for _, o := range result.Objects {
		m, err := o.Manifest()
		if err != nil {
			return nil, err
		}
		all = append(all, in.AddRendered(m, o.Namespace))
	}
	report, err := permissions.Evaluate(in)
	if err != nil {
		return nil, err
	}
	for i := range report.Permissions {
		if s := &report.Permissions[i].Source; s.File != "" {
			s.File = path.Join(ref, s.File)
		}
	}
	g := &granted{what: "the bundle", holds: only(*report, report.Permissions, isAccount)}
	for _, i := range report.Permissions {
		switch i.Source.Why {
		case permissions.WhyOLM:
			continue
		case permissions.WhyPromoted: // in other modes, it is granted in namespaces
			i.Namespaces = []string{own}
		}
		g.items = append(g.items, i)
	}
	if g.works, err = workloads(all); err != nil {
		return nil, err
	}
	g.own = lists.Set(g.works, func(w workload) permissions.Subject { return w.account })
	g.accounts = accountsOf(report, g.works)
	return g, nil
}

// ofOther returns what is granted by something beside the bundle, or why that is not to be compared. It notes the files
// of a kustomization. The error says why nobody knows what it grants, then the text is the remedy.
func (r *repository) ofOther(ctx context.Context, mine *granted, b *bundle.Bundle, abs string, files map[string]bool) (
	*granted, string, error) {
	var parts []string
	chart, k := has(abs, chartFile), r.builder.Load(abs)
	switch {
	case path.Base(abs) == roleFile:
		parts = []string{abs}
	case chart:
		parts = regular.Files(abs)
	case k == nil:
		return nil, "it has no kustomization", nil
	default:
		parts = r.builder.Closure(k)
	}
	groups := lists.Unique(lists.Map(b.CRDs, func(c *bundle.CRD) string { return c.Group }))
	if len(groups) > 0 && !mention(parts, groups) {
		return nil, "it names none of the APIs of the bundle", nil
	}
	var objects []*manifest.Object
	var err error
	what, remedy := r.named(abs), ""
	switch {
	case path.Base(abs) == roleFile:
		return r.ofRoles(abs)
	case chart:
		remedy = "have helm template render it without values; helm dependency build fetches what it depends on"
		what += " with its default values and the dependencies that are there"
		objects, err = r.charts.Render(ctx, abs, charts.Release{Name: path.Base(abs), Namespace: installed, CRDs: true,
			Hooks: charts.None, Incomplete: true}, true)
	default:
		remedy = "have kustomize build it from what is in the repository"
		objects, err = r.builder.Build(k)
	}
	if err != nil {
		return nil, remedy, err
	}
	for _, file := range parts {
		files[file] = !chart
	}
	return ofObjects(what, objects, mine, !chart)
}

// ofObjects returns what objects grant the accounts of those workloads that the bundle has too. single: if there is one
// workload, it is the operator whatever it is called, as the one that Kubebuilder makes.
func ofObjects(what string, objects []*manifest.Object, mine *granted, single bool) (*granted, string, error) {
	report, err := permissions.Evaluate(permissions.Input{Objects: objects, Namespace: installed})
	if err != nil {
		return nil, "", err
	}
	works, err := workloads(objects)
	if err != nil {
		return nil, "", err
	}
	alike := lists.Filter(works, func(w workload) bool { return slices.ContainsFunc(mine.works, w.like) })
	if len(alike) == 0 && single && len(works) == 1 {
		alike = works
	}
	g := &granted{what: what, items: report.Permissions, holds: only(*report, report.Permissions, isAccount),
		accounts: accountsOf(report, alike), own: lists.Set(alike, func(w workload) permissions.Subject { return w.account })}
	switch {
	case len(alike) == 0:
		return nil, "no workload of it is one of the bundle, by name or image", nil
	case len(g.wants(mine).Permissions) == 0:
		return nil, "it grants no rights to the operator", nil
	}
	return g, "", nil
}

// ofRoles returns what the roles of a file grant whoever is bound to them. Rights that its markers do not ask for may
// stand in the files beside it, such as those of leader election.
func (r *repository) ofRoles(abs string) (*granted, string, error) {
	read := func(files ...string) (*permissions.Report, error) {
		var roles []*manifest.Object
		for _, file := range files {
			data, err := repos.Read(r.real, file)
			if err != nil {
				return nil, &manifest.Error{File: r.named(file), Msg: regular.Reason(err)}
			}
			docs, err := manifest.ReadFile(r.named(file), data, whole.Limits(budget.File))
			for _, d := range docs {
				objects, bad := d.Objects()
				err = cmp.Or(err, bad)
				roles = append(roles, lists.Filter(objects, func(o *manifest.Object) bool {
					return o.Group() == rbacv1.GroupName && (o.Kind == rbac.KindRole || o.Kind == rbac.KindClusterRole)
				})...)
			}
			if err != nil && file == abs {
				return nil, err
			}
		}
		report, found, err := permissions.EvaluateWithRoles(permissions.Input{Objects: roles, Namespace: installed})
		if err != nil {
			return nil, err
		}
		return only(*report, found.Items, func(permissions.Item) bool { return true }), nil
	}
	wants, err := read(abs)
	if err != nil || len(wants.Permissions) == 0 {
		return nil, "it has no rules of roles", err
	}
	beside, _ := filepath.Glob(filepath.Join(filepath.Dir(abs), "*.yaml"))
	holds, err := read(beside...)
	return &granted{what: r.named(abs), items: wants.Permissions, holds: holds}, "", err
}

// workload is a workload with the images of its containers, by the last part of their repositories.
type workload struct {
	name    string
	account permissions.Subject
	images  []string
}

func workloads(objects []*manifest.Object) (list []workload, err error) {
	for _, o := range objects {
		if !images.HasPods(o.Group(), o.Kind) {
			continue
		}
		v, err := o.Value()
		if err != nil {
			return nil, err
		}
		w := workload{name: o.Name, account: compare.PodUser(o)}
		w.account.Namespace = cmp.Or(w.account.Namespace, installed)
		images.InObject(o.Group(), o.Kind, v, func(p images.Place, ref string) string {
			repository, _ := images.Repository(ref)
			if name := path.Base(repository); p.Kind == images.KindContainer && name != proxy {
				w.images = append(w.images, name)
			}
			return ref
		})
		list = append(list, w)
	}
	return list, nil
}

// like reports whether two workloads are the same one: by their images, or by their names, one with a prefix.
func (w workload) like(o workload) bool {
	return w.name == o.name || strings.HasSuffix(w.name, "-"+o.name) || strings.HasSuffix(o.name, "-"+w.name) ||
		slices.ContainsFunc(w.images, func(image string) bool { return slices.Contains(o.images, image) })
}
