package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olmgen/olmgen/cmd/e2e/harness/apply"
	"github.com/olmgen/olmgen/cmd/e2e/harness/olmv1"
	"github.com/olmgen/olmgen/generate"
)

// Before the names of cases whose installer loses its rights: where OLM v1 does not ask for all of them before it
// installs, and where it does.
const (
	rightsOfCase      = "rights for "
	rightsAskedOfCase = "rights asked for "
)

// installers is how many bundles are installed without a right.
const installers = 3

// rolesSettle is how long OLM v1's cache of roles may lag behind.
const rolesSettle = time.Second

// right is a verb for a resource in a rule of an object of a tree, and for one name if the rule has names.
type right struct {
	object               *unstructured.Unstructured
	rule                 int
	verb, resource, name string
}

func (r right) String() string {
	s := r.verb + " " + r.resource
	if r.name != "" {
		s += " " + r.name
	}
	return fmt.Sprintf("%s (rule %d of %s)", s, r.rule+1, olmv1.Key(r.object))
}

// forLater reports whether a right is not for the installation: OLM v1 changes and deletes objects when it updates,
// it never sends "update", which PreflightPermissions asks for, and the finalizers of the ClusterExtension matter where
// the API server has the admission plugin OwnerReferencesPermissionEnforcement. Its informers list where the API server
// does not stream (Kubernetes' feature gate WatchList); the one here does.
func (r right) forLater() bool {
	return r.verb == "list" || r.name != "" && slices.Contains([]string{"update", "patch", "delete"}, r.verb)
}

// named reports whether OLM v1 names the right. Who may neither bind nor escalate a role needs what it grants, and
// OLM v1 asks for that.
func (r right) named(said string) bool {
	kind, _, _ := strings.Cut(r.resource, "/")
	if r.verb == "bind" || r.verb == "escalate" {
		return strings.Contains(said, "pre-authorization failed") ||
			strings.Contains(said, "attempting to grant RBAC permissions")
	}
	return strings.Contains(said, kind) && strings.Contains(said, r.verb)
}

// rights has OLM v1 install cases with an installer that lacks a right, by turns. Each time the installation must fail
// for it. Where OLM v1 does not ask for all rights before, those for later may be missing.
func (r *v1Run) rights(ctx context.Context, cases []v1Case, asked bool) error {
	return r.each(ctx, cases[:min(len(cases), installers)],
		func(c v1Case) (string, error) { return r.lose(ctx, c, asked) })
}

// each does something with cases, one after the other, and prints what is said of each.
func (r *v1Run) each(ctx context.Context, cases []v1Case, do func(v1Case) (string, error)) (err error) {
	for _, c := range cases {
		if ctx.Err() != nil {
			break
		}
		started := time.Now()
		said, failed := do(c)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", c.name, failed))
			said = "FAILED: " + failed.Error()
		}
		fmt.Printf("olmv1: %s: %s: %s, %.0fs\n", r.release, c.name, said, time.Since(started).Seconds())
	}
	return err
}

func hasWebhooks(c v1Case) bool { return len(c.bundle.CSV.Spec.WebhookDefinitions) > 0 }

// offer renders a case and serves it. A class says that it cannot be installed.
func (r *v1Run) offer(ctx context.Context, c v1Case) (extension apply.Tree, result *generate.Result, class string,
	err error) {
	extension, result, err = r.render(c, generate.ProfileClusterExtension, "")
	if err != nil {
		return extension, nil, err.Error(), nil //nolint:nilerr // that OLM v1 refuses it as well is another check
	}
	if why := fails(result); why != "" {
		return extension, result, why, nil
	}
	want, _, err := r.render(c, generate.ProfileOLMv1, result.Namespace)
	if err == nil {
		err = r.provide(ctx, extension, want)
	}
	if err != nil {
		return extension, result, "", err
	}
	return extension, result, "", r.serve(ctx, c.dir)
}

func (r *v1Run) lose(ctx context.Context, c v1Case, asked bool) (string, error) {
	extension, result, class, err := r.offer(ctx, c)
	if class != "" || err != nil {
		return "left out: " + class, err
	}
	before, err := r.Look(ctx)
	if err != nil {
		return "", err
	}
	all := rightsOf(extension)
	var later, superfluous []string
	for _, lost := range all {
		needed, failed := r.needs(ctx, extension, result.Package, lost, before.With(extension.Objects))
		switch {
		case failed != nil:
			return "", fmt.Errorf("without %s: %w", lost, failed)
		case !needed && lost.forLater() && !asked:
			later = append(later, lost.String())
		case !needed:
			superfluous = append(superfluous, lost.String())
		}
	}
	err = r.applier.Remove(ctx, extension)
	if len(superfluous) > 0 {
		err = errors.Join(err, fmt.Errorf("OLM v1 installs it without %s", strings.Join(superfluous, "; ")))
	}
	return fmt.Sprintf("%d rights removed by turns: %d are needed to install, %d later", len(all),
		len(all)-len(later), len(later)), err
}

// needs reports whether an installation fails for the lack of a right. With it, all is then removed again.
func (r *v1Run) needs(ctx context.Context, extension apply.Tree, name string, lost right, before olmv1.Objects) (bool,
	error) {
	less := apply.Tree{Name: extension.Name, Objects: slices.Clone(extension.Objects)}
	less.Objects[slices.Index(less.Objects, lost.object)] = without(lost)
	last := len(less.Objects) - 1 // the ClusterExtension
	for _, objects := range [][]*unstructured.Unstructured{less.Objects[:last], less.Objects[last:]} {
		if _, errs := r.applier.Apply(ctx, apply.Tree{Name: less.Name, Objects: objects}); len(errs) > 0 {
			return false, errors.Join(errs...)
		}
		time.Sleep(rolesSettle)
	}
	said, err := r.Complaint(ctx, name)
	if err != nil {
		return false, err
	}
	if said != "" && !lost.named(said) {
		return false, fmt.Errorf("OLM v1 says something else: %s", said)
	}
	if _, errs := r.applier.Apply(ctx, extension); len(errs) > 0 {
		return false, errors.Join(errs...)
	}
	if err := r.Uninstall(ctx, name); err != nil {
		return false, err
	}
	left, err := r.Left(ctx, before)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("after its removal there is %s", strings.Join(left, ", "))
	}
	return said != "", err
}

// ofInstaller reports whether an object is the ServiceAccount of the installer, or gives it rights.
func ofInstaller(o *unstructured.Unstructured) bool {
	return strings.HasSuffix(o.GetName(), "-installer")
}

// rightsOf are the rights of a tree's installer, one by one.
func rightsOf(t apply.Tree) (all []right) {
	for _, o := range t.Objects {
		if !ofInstaller(o) {
			continue // a role of users
		}
		rules, _, _ := unstructured.NestedSlice(o.Object, "rules")
		for i, x := range rules {
			rule, _ := x.(map[string]any)
			verbs, resources, names := values(rule, "verbs"), values(rule, "resources"), values(rule, "resourceNames")
			if len(names) == 0 {
				names = []string{""}
			}
			for _, v := range verbs {
				for _, res := range resources {
					for _, n := range names {
						all = append(all, right{o, i, v, res, n})
					}
				}
			}
		}
	}
	return all
}

func values(rule map[string]any, field string) []string {
	s, _, _ := unstructured.NestedStringSlice(rule, field)
	return s
}

// without is the object of a right without it. The rule is split: one without the verb, one with it but without the
// resource, and one with both but without the name.
func without(lost right) *unstructured.Unstructured {
	o := lost.object.DeepCopy()
	rules, _, _ := unstructured.NestedSlice(o.Object, "rules")
	whole, _ := rules[lost.rule].(map[string]any)
	rules = slices.Delete(rules, lost.rule, lost.rule+1)
	for _, x := range []struct{ field, value string }{
		{"verbs", lost.verb}, {"resources", lost.resource}, {"resourceNames", lost.name}} {
		others := slices.DeleteFunc(values(whole, x.field), func(v string) bool { return v == x.value })
		if len(others) > 0 {
			rules = append(rules, with(whole, x.field, others...))
		}
		if x.value != "" {
			whole = with(whole, x.field, x.value)
		}
	}
	_ = unstructured.SetNestedSlice(o.Object, rules, "rules") // it was there
	return o
}

// with is a rule with other values of a field.
func with(rule map[string]any, field string, of ...string) map[string]any {
	c := (&unstructured.Unstructured{Object: rule}).DeepCopy().Object
	_ = unstructured.SetNestedStringSlice(c, of, field) // a map takes it
	return c
}
