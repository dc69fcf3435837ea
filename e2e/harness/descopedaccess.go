package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/component-helpers/auth/rbac/validation"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/cmd/e2e/harness/access"
	"github.com/olmgen/olmgen/cmd/e2e/harness/apply"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/equal"
	"github.com/olmgen/olmgen/internal/rbac/danger"
)

const operatorNS, boundNS, unboundNS = "operator-ns", "target-a", "unrelated"

// descopedCases are bundles whose accounts are asked about, one of each kind.
var descopedCases = []equal.Case{
	{Name: "descoped-webhooks", Bundle: "webhooks/bundle"},
	{Name: "descoped-wildcards", Bundle: "live-bundles/regatta"},
	{Name: "descoped-many-crds", Bundle: "descoped/bundle"},
	{Name: "descoped-namespaced-only", Bundle: "live-bundles/gates"},
	{Name: "descoped-cluster-api", Bundle: "../e2e/harness/testdata/cluster-api"},
	{Name: "descoped-plain", Bundle: "../examples/memcached-operator/bundle"},
}

// descopedOf asks what the accounts of a descoped operator may do in a namespace where it is bound, in another one and
// in the cluster, and once more when it is bound to what is cluster-scoped.
func (o options) descopedOf(ctx context.Context, c equal.Case) (string, error) {
	c.Namespace = operatorNS
	i, err := newInterview(o.golden(), c)
	if err != nil {
		return "", err
	}
	cl, err := o.withNamespaces(ctx, []string{operatorNS, boundNS, unboundNS})
	if err != nil {
		return "", err
	}
	defer cl.Stop()
	asker, err := access.New(cl)
	if err != nil {
		return "", err
	}
	i.questions = slices.DeleteFunc(i.questions, func(q access.Question) bool {
		return !slices.Contains([]string{"", boundNS, unboundNS}, q.Namespace)
	})
	var found [2]map[string]int
	form := apply.Form{Name: "descoped", Names: generate.NamesStable, Profile: generate.ProfileDescoped}
	for n, bindCluster := range []bool{false, true} {
		t, err := form.Render(i.dir, generate.Options{Namespace: operatorNS,
			Descoped: generate.Descoped{BindNamespaces: []string{boundNS}, BindCluster: bindCluster}})
		if err != nil {
			return "", err
		}
		if _, errs := apply.New(cl).Apply(ctx, t); len(errs) > 0 {
			return "", errors.Join(errs...)
		}
		answers, err := asker.Ask(ctx, i.subjects, i.questions)
		if err != nil {
			return "", err
		}
		if found[n], err = (expectation{i.bundle, bindCluster}).check(answers); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d questions, yes to %d where it is bound, %d elsewhere, %d in the cluster, %d with "+
		"--bind-cluster", len(i.questions), found[0][boundNS], found[0][unboundNS], found[0][""], found[1][""]), nil
}

// expectation is what a CSV asks for, and where it is bound.
type expectation struct {
	*bundle.Bundle
	bindCluster bool
}

// check returns how many rights the accounts have in each namespace, and in the cluster, that not everybody has.
func (e expectation) check(answers access.Answers) (map[string]int, error) {
	n, errs := map[string]int{}, []error(nil)
	for subject, list := range answers {
		account, ok := strings.CutPrefix(subject, access.OfAccount)
		for q, yes := range list {
			if !ok || answers[access.Anybody][q] {
				continue
			}
			if must, may := e.expects(account, q); must && !yes || yes && !may {
				errs = append(errs, fmt.Errorf("%s: %s: answered with %t", account, q, yes))
			}
			if yes {
				n[q.Namespace]++
			}
		}
	}
	return n, errors.Join(errs[:min(len(errs), 40)]...)
}

// expects reports whether an account must or may have a right. With --bind-cluster it has what no RoleBinding grants,
// and the whole of a rule with wildcards.
func (e expectation) expects(account string, q access.Question) (must, may bool) {
	var rules, wild []rbacv1.PolicyRule
	spec := e.CSV.Spec.InstallStrategy.StrategySpec
	for _, p := range slices.Concat(spec.Permissions, spec.ClusterPermissions) {
		if p.ServiceAccountName == account {
			rules = append(rules, p.Rules...)
		}
	}
	for _, r := range rules {
		if strings.Contains(fmt.Sprint(r.APIGroups, r.Resources), "*") {
			wild = append(wild, r)
		}
	}
	asked, _ := validation.Covers(rules, []rbacv1.PolicyRule{q.Rule()})
	askedWild, _ := validation.Covers(wild, []rbacv1.PolicyRule{q.Rule()})
	scope := e.ResourceScope(q.Group, q.Resource)
	switch {
	case q.Path != "":
		scope = bundle.ClusterScoped
	case q.Group == "" && q.Resource == "namespaces", danger.AskedInNamespace(q.Group, q.Resource, q.Verb):
		scope = bundle.ScopeUnknown // a RoleBinding grants some of it
	}
	switch {
	case q.Namespace == boundNS && asked:
		return scope == bundle.Namespaced, true
	case e.bindCluster && asked && (askedWild || scope != bundle.Namespaced):
		return q.Namespace == "" && scope == bundle.ClusterScoped, true
	}
	return false, e.unbound(q)
}

// unbound reports whether it is about the status of an own API, or what an API server needs to know its users.
func (e expectation) unbound(q access.Question) bool {
	owned := slices.ContainsFunc(e.CSV.Spec.CustomResourceDefinitions.Owned,
		func(d v1alpha1.CRDDescription) bool { return d.Name == q.Resource+"."+q.Group })
	for _, d := range e.CSV.Spec.APIServiceDefinitions.Owned {
		owned = owned || d.Name == q.Resource && d.Group == q.Group
		if q.Verb == "create" && (q.Resource == "tokenreviews" || q.Resource == "subjectaccessreviews") {
			return true
		}
	}
	return owned && q.Subresource == "status" && slices.Contains([]string{"get", "update", "patch"}, q.Verb)
}
