package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olmgen/olmgen/cmd/e2e/harness/access"
	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/olm"
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

// lost asks again. Only the rights may be gone that the page says somebody loses.
func (a *adoption) lost(ctx context.Context, p *departure) error {
	answers, err := a.asker.Ask(ctx, a.interview.subjects, a.interview.questions)
	if err != nil {
		return err
	}
	named, unexplained := 0, []string(nil)
	for _, subject := range a.interview.subjects {
		for q, allowed := range a.answers[subject.Name] {
			now := answers[subject.Name][q]
			switch {
			case now == allowed:
			case allowed && q.Verb == "*":
				named++ // no request has it: each verb is asked, too
			case allowed && p.says(subject, a.Namespace, q):
				named++
			case !allowed && p.to != generate.ProfilePlain:
				named++ // another form may give more
			default:
				unexplained = append(unexplained, fmt.Sprintf("%s: %s: was %v, is %v", subject.Name, q, allowed, now))
			}
		}
	}
	if len(unexplained) > 0 {
		slices.Sort(unexplained)
		return fmt.Errorf("%d answers differ without OLM, and the plan does not say so:\n%s\nit says:\n%s",
			len(unexplained), strings.Join(unexplained[:min(len(unexplained), 40)], "\n"), strings.Join(p.lost, "\n"))
	}
	n, _ := answers.Count()
	a.say("without OLM (%s), %d of %d questions have the same answers; the page's %d lines name the other %d", p.form,
		n-named, n, len(p.lost), named)
	return nil
}

// says reports whether the page says that somebody loses a right.
func (p *departure) says(subject access.Subject, namespace string, q access.Question) bool {
	if q.Resource == "operatorconditions" {
		return true // OLM's own bookkeeping: nobody has these rights without OLM
	}
	return slices.ContainsFunc(p.lost, func(line string) bool { return says(line, subject, namespace, q) })
}

// says reports whether a line of the page is about a right: its subject, place, verb and resource.
func says(line string, subject access.Subject, namespace string, q access.Question) bool {
	who, what, _ := strings.Cut(line, " loses, in ")
	where, what, _ := strings.Cut(what, ": ")
	if !slices.Contains(subject.Identities(namespace), who) {
		return false
	}
	if where != "cluster" && !strings.Contains(where, "namespaces") &&
		!slices.Contains(strings.Split(where, ", "), q.Namespace) {
		return false
	}
	words := strings.FieldsFunc(what, func(r rune) bool { return strings.ContainsRune(" ,:()", r) })
	has := func(s string, all ...string) bool {
		in := func(x string) bool { return strings.Contains(what, x) }
		return slices.Contains(words, s) || slices.ContainsFunc(all, in)
	}
	resource := q.Resource
	if q.Subresource != "" {
		resource += "/" + q.Subresource
	}
	if q.Path != "" {
		return has(q.Verb, "all verbs") && has(q.Path, "*", " more")
	}
	return has(q.Verb, "all verbs", " more") && has(resource, "all resources", " more", "*")
}

// deletes reports whether the plan deletes an object.
func (p *departure) deletes(o *dump.Object) bool {
	if o.Kind == "ClusterServiceVersion" {
		namespace := o.Namespace
		if original, copied := o.Copied(); copied {
			namespace = original
		}
		return slices.ContainsFunc(p.csvs, func(row string) bool {
			return strings.HasPrefix(row, o.Name+" "+
				""+namespace+" ")
		})
	}
	group, _, found := strings.Cut(o.APIVersion, "/")
	if !found {
		group = ""
	}
	kind, _ := olm.KindOf(group, o.Kind)
	return slices.Contains(p.gone, strings.TrimSpace(kind.Resource()+" "+o.Name+" "+o.Namespace))
}
