package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olmgen/olmgen/e2e/harness/access"
	"github.com/olmgen/olmgen/e2e/harness/cluster"
	"github.com/olmgen/olmgen/internal/config/adopt"
	"github.com/olmgen/olmgen/internal/config/adopt/dump"
)

// prepare asks who may do what while OLM runs the operators, and creates custom resources of theirs.
func (a *adoption) prepare(ctx context.Context) error {
	var err error
	if a.interview, err = newInterview(a.golden(), a.Case); err != nil {
		return err
	}
	if a.Name == shortest {
		a.interview.questions = every(3, a.interview.questions)
	}
	if a.asker, err = access.New(a.cluster); err != nil {
		return err
	}
	if err := a.asker.BindUsers(ctx, a.interview.boundUsers); err != nil {
		return err
	}
	if err := a.createResources(ctx); err != nil {
		return err
	}
	a.answers, err = a.asker.Ask(ctx, a.interview.subjects, a.interview.questions)
	return err
}

// sameAnswers asks again. Nobody may have gained or lost a right.
func (a *adoption) sameAnswers(ctx context.Context, when string) error {
	answers, err := a.asker.Ask(ctx, a.interview.subjects, a.interview.questions)
	if err != nil {
		return err
	}
	if d := access.Differences(a.answers, answers); len(d) > 0 {
		return fmt.Errorf("%d answers differ %s:\n%s", len(d), when, strings.Join(d[:min(len(d), 40)], "\n"))
	}
	n, yes := answers.Count()
	a.say("%s, %d questions about %d subjects have the same answers, %d of them yes", when, n,
		len(a.interview.subjects),
		yes)
	return nil
}

// resource is a custom resource of an operator.
type resource struct {
	schema.GroupVersionResource
	*unstructured.Unstructured
}

// createResources creates an object of each CRD that an operator brought.
func (a *adoption) createResources(ctx context.Context) error {
	crds, err := a.cluster.Dynamic.Resource(cluster.CRDs).List(ctx, metav1.ListOptions{LabelSelector: "olm.managed"})
	if err != nil {
		return err
	}
	for _, crd := range crds.Items {
		group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		if group == "operators.coreos.com" || len(versions) == 0 {
			continue
		}
		version, _ := versions[0].(map[string]any)
		openAPI, _, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema")
		value, _ := instance(openAPI).(map[string]any)
		gvr := schema.GroupVersionResource{Group: group, Version: fmt.Sprint(version["name"]), Resource: plural}
		u := &unstructured.Unstructured{Object: value}
		u.SetGroupVersionKind(gvr.GroupVersion().WithKind(kind))
		u.SetName("kept")
		client := a.cluster.Dynamic.Resource(gvr).Namespace(a.Namespace)
		if scope, _, _ := unstructured.NestedString(crd.Object, "spec", "scope"); scope == "Cluster" {
			client = a.cluster.Dynamic.Resource(gvr)
		} else {
			u.SetNamespace(a.Namespace)
		}
		made, err := client.Create(ctx, u, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		a.resources = append(a.resources, resource{gvr, made})
	}
	return nil
}

// instance returns the smallest value of a schema that has what is required.
func instance(openAPI map[string]any) any {
	if list, _ := openAPI["enum"].([]any); len(list) > 0 {
		return list[0]
	}
	switch openAPI["type"] {
	case "string":
		return "x"
	case "integer", "number":
		return int64(1)
	case "boolean":
		return true
	case "array":
		return []any{}
	}
	out := map[string]any{}
	required, _ := openAPI["required"].([]any)
	properties, _ := openAPI["properties"].(map[string]any)
	if properties["spec"] != nil && !slices.Contains(required, any("spec")) {
		required = append(slices.Clone(required), "spec")
	}
	for _, name := range required {
		property, _ := properties[fmt.Sprint(name)].(map[string]any)
		out[fmt.Sprint(name)] = instance(property)
	}
	return out
}

// resourcesKept holds that nobody has written or deleted a custom resource.
func (a *adoption) resourcesKept(ctx context.Context) error {
	for _, r := range a.resources {
		now, err := a.cluster.Dynamic.Resource(r.GroupVersionResource).Namespace(r.GetNamespace()).Get(ctx, r.GetName(),
			metav1.GetOptions{})
		if err != nil {
			return err
		}
		if now.GetUID() != r.GetUID() || now.GetResourceVersion() != r.GetResourceVersion() {
			return fmt.Errorf("%s %s is another, or was written", r.GetKind(), r.GetName())
		}
	}
	return nil
}

// lost asks again. Only the rights may be gone that a Role grants which the plan deletes.
func (a *adoption) lost(ctx context.Context, p *departure) error {
	answers, err := a.asker.Ask(ctx, a.interview.subjects, a.interview.questions)
	if err != nil {
		return err
	}
	var deleted []rbacv1.PolicyRule
	for _, o := range p.before.Dump.Objects {
		if (o.Kind == "Role" || o.Kind == "ClusterRole") && p.deletes(o) {
			var role rbacv1.ClusterRole
			if err := o.Decode(&role); err != nil {
				return err
			}
			deleted = append(deleted, role.Rules...)
		}
	}
	named, unexplained := 0, []string(nil)
	for subject, before := range a.answers {
		for q, allowed := range before {
			now := answers[subject][q]
			switch {
			case now == allowed:
			case allowed && slices.ContainsFunc(deleted, func(r rbacv1.PolicyRule) bool {
				return slices.Contains(r.APIGroups, q.Group) && slices.Contains(r.Resources, q.Resource)
			}):
				named++
			default:
				unexplained = append(unexplained, fmt.Sprintf("%s: %s: was %v, is %v", subject, q, allowed, now))
			}
		}
	}
	if len(unexplained) > 0 {
		return fmt.Errorf("%d answers differ without OLM, and the plan does not say so:\n%s", len(unexplained),
			strings.Join(unexplained[:min(len(unexplained), 40)], "\n"))
	}
	n, _ := answers.Count()
	a.say("without OLM, %d of %d questions have the same answers; the other %d are about rights of the %d rules that "+
		"the plan deletes", n-named, n, named, len(deleted))
	return nil
}

// deletes reports whether the plan deletes an object.
func (p *departure) deletes(o *dump.Object) bool {
	name := " " + adopt.Quote(o.Name) + " --ignore-not-found"
	return slices.ContainsFunc(p.steps, func(s adopt.Step) bool {
		return slices.ContainsFunc(s.Run, func(line string) bool {
			return strings.HasPrefix(line, "kubectl delete ") && strings.Contains(line, name) &&
				strings.Contains(line, strings.ToLower(o.Kind)+".rbac.authorization.k8s.io ") &&
				(o.Namespace == "" || strings.Contains(line, "-n "+adopt.Quote(o.Namespace)+" "))
		})
	})
}
