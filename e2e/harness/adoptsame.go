package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olmgen/olmgen/cmd/internal/adopt"
	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
)

// tolerance is what may differ after a way back.
type tolerance struct {
	kinds   []string                  // of objects that were made anew
	deleted func(o *dump.Object) bool // reports objects that were deleted, and that OLM made anew; may be nil
	// OLM labels everything when it starts and something lacks its labels, and what has a CSV as owner as a component
	// of the operator, foreign objects too (OLM: pkg/controller/operators/labeller and adoption_controller.go)
	labelled bool
	// reports Deployments that were changed and changed back; may be nil
	restarted func(o *dump.Object) bool
	// After a way back, the labels are those of the backup, and the next take-over takes them with it: the field
	// manager is the same.
	marks        bool
	certificates bool // OLM has made them anew
	group        bool // OperatorGroups have other UIDs, and OLM labels and selects namespaces by them
}

// restored compares a cluster with what it was before, and counts what is equal. InstallPlans are history, and are not
// compared.
func (t tolerance) restored(before, after *adopt.State) (n int, err error) {
	for _, o := range before.Dump.Objects {
		if o.Kind == "InstallPlan" {
			continue
		}
		now := after.Dump.Get(o.Kind, o.Namespace, o.Name)
		if now == nil {
			err = errors.Join(err, fmt.Errorf("%s is gone", o.Identity()))
			continue
		}
		was, is := t.kept(o), t.kept(now)
		if !reflect.DeepEqual(was, is) {
			err = errors.Join(err, fmt.Errorf("%s differs: %s", o.Identity(), strings.Join(fields("", was, is), "; ")))
			continue
		}
		n++
	}
	for _, o := range after.Dump.Objects {
		if o.Kind != "InstallPlan" && before.Dump.Get(o.Kind, o.Namespace, o.Name) == nil {
			err = errors.Join(err, fmt.Errorf("%s is new", o.Identity()))
		}
	}
	return n, err
}

// content returns what the objects of a cluster say, without status.
func content(s *adopt.State) string {
	var b strings.Builder
	for _, o := range s.Dump.Objects {
		fmt.Fprintln(&b, tolerance{}.kept(o))
	}
	return b.String()
}

var groupUID = regexp.MustCompile(`olm\.operatorgroup\.uid/[-0-9a-f]+`)

// kept returns what must stay as it is of an object.
func (t tolerance) kept(o *dump.Object) map[string]any {
	v := o.Value()
	delete(v, "status")
	meta, _ := v["metadata"].(map[string]any)
	delete(meta, "resourceVersion")
	if slices.Contains(t.kinds, o.Kind) || t.deleted != nil && t.deleted(o) {
		for _, field := range []string{"uid", "creationTimestamp", "generation", "generateName"} {
			delete(meta, field)
		}
	}
	if t.labelled && o.Kind == "ClusterServiceVersion" {
		delete(meta, "generation") // a plan may empty fields that an undo fills again
	}
	if labels, ok := meta["labels"].(map[string]any); ok && t.marks {
		maps.DeleteFunc(labels, func(k string, _ any) bool { return strings.HasPrefix(k, "olm.owner") })
	}
	if labels, ok := meta["labels"].(map[string]any); ok && t.labelled {
		delete(labels, "olm.managed")
		delete(labels, "olm.permissions.hash")
		maps.DeleteFunc(labels, func(k string, _ any) bool { return strings.HasPrefix(k, "operators.coreos.com/") })
	}
	if labels, ok := meta["labels"].(map[string]any); ok && len(labels) == 0 {
		delete(meta, "labels")
	}
	if t.restarted != nil && o.Kind == "Deployment" && t.restarted(o) {
		delete(meta, "generation")
	}
	if spec, ok := v["spec"].(map[string]any); ok && o.Kind == "Subscription" {
		delete(spec, "startingCSV") // OLM reads it only as long as nothing is installed
	}
	owners, _ := meta["ownerReferences"].([]any)
	for _, x := range owners {
		if owner, _ := x.(map[string]any); slices.Contains(t.kinds, fmt.Sprint(owner["kind"])) {
			delete(owner, "uid")
		}
	}
	slices.SortFunc(owners, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	if strings.HasSuffix(o.Kind, "WebhookConfiguration") {
		delete(meta, "generation") // without OLM they select namespaces by name, and then by label again
	}
	if t.certificates {
		anew(o, v)
	}
	if !t.group {
		return v
	}
	data, _ := json.Marshal(v) // it was JSON
	data = groupUID.ReplaceAll(data, []byte("olm.operatorgroup.uid/the-group"))
	out := map[string]any{}
	_ = json.Unmarshal(data, &out)
	return out
}

// sameWebhooks compares webhooks before and after. Without OLM they may select namespaces by name, but the same ones.
func sameWebhooks(before, after *adopt.State, was, is *dump.Object) error {
	if is == nil || is.UID != was.UID {
		return fmt.Errorf("%s is gone, or another", was.Identity())
	}
	hooks := func(s *adopt.State, o *dump.Object) ([]any, []string) {
		list, _ := o.Value()["webhooks"].([]any)
		var all []string
		for _, x := range list {
			hook, _ := x.(map[string]any)
			data, err := json.Marshal(hook["namespaceSelector"])
			var selector metav1.LabelSelector
			if err == nil {
				err = json.Unmarshal(data, &selector)
			}
			parsed, wrong := metav1.LabelSelectorAsSelector(&selector)
			if errors.Join(err, wrong) != nil {
				return nil, nil
			}
			delete(hook, "namespaceSelector")
			for _, ns := range s.Dump.OfKind("Namespace") {
				if parsed.Matches(labels.Set(ns.Labels)) {
					all = append(all, fmt.Sprint(hook["name"], " in ", ns.Name))
				}
			}
		}
		return list, all
	}
	a, selectedBefore := hooks(before, was)
	b, selectedAfter := hooks(after, is)
	switch {
	case !reflect.DeepEqual(a, b):
		return fmt.Errorf("%s: its webhooks have changed", was.Identity())
	case len(selectedBefore) == 0 || !slices.Equal(selectedBefore, selectedAfter):
		return fmt.Errorf("%s: it selected %q, and selects %q", was.Identity(), selectedBefore, selectedAfter)
	}
	return nil
}

// fields names the fields in which two values differ.
func fields(path string, a, b any) (out []string) {
	x, okA := a.(map[string]any)
	y, okB := b.(map[string]any)
	if !okA || !okB {
		if !reflect.DeepEqual(a, b) {
			out = append(out, fmt.Sprintf("%s was %v, is %v", path, a, b))
		}
		return out
	}
	for k := range x {
		out = append(out, fields(path+"."+k, x[k], y[k])...)
	}
	for k := range y {
		if _, ok := x[k]; !ok {
			out = append(out, fmt.Sprintf("%s.%s is new: %v", path, k, y[k]))
		}
	}
	slices.Sort(out)
	return out
}

// same compares an object before and after: the same UID, and the same generation.
func same(before, after *dump.Object) error {
	if after == nil || after.UID != before.UID {
		return fmt.Errorf("%s is gone, or another", before.Identity())
	}
	a, b := before.Value(), after.Value()
	x, _, _ := unstructured.NestedFieldNoCopy(a, "metadata", "generation")
	y, _, _ := unstructured.NestedFieldNoCopy(b, "metadata", "generation")
	// An annotation of a Deployment raises its generation too (Kubernetes: pkg/registry/apps/deployment/strategy.go)
	annotated := before.Kind == "Deployment" && reflect.DeepEqual(a["spec"], b["spec"]) &&
		!maps.Equal(before.Annotations, after.Annotations)
	if x != y && !annotated {
		return fmt.Errorf("%s had generation %v, and has %v: %s", before.Identity(), x, y,
			strings.Join(fields("", tolerance{}.kept(before), tolerance{}.kept(after)), "; "))
	}
	for _, field := range []string{"rules", "subjects", "roleRef", "webhooks", "data"} {
		if fmt.Sprint(a[field]) != fmt.Sprint(b[field]) {
			return fmt.Errorf("%s: %s has changed", before.Identity(), field)
		}
	}
	return nil
}
