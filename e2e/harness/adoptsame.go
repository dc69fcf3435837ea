package main

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	state "github.com/olmgen/olmgen/review/adopt"
	"github.com/olmgen/olmgen/review/dump"
)

// restored compares a cluster with what it was before, and counts what is equal. Objects of some kinds were made anew.
// InstallPlans are history, and are not compared.
func restored(before, after *state.State, anew func(kind string) bool) (n int, err error) {
	for _, o := range before.Dump.Objects {
		if o.Kind == "InstallPlan" {
			continue
		}
		now := after.Dump.Get(o.Kind, o.Namespace, o.Name)
		if now == nil {
			err = errors.Join(err, fmt.Errorf("%s is gone", o.Identity()))
			continue
		}
		was, is := kept(o, anew), kept(now, anew)
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
func content(s *state.State) string {
	var b strings.Builder
	for _, o := range s.Dump.Objects {
		fmt.Fprintln(&b, kept(o, func(string) bool { return false }))
	}
	return b.String()
}

// kept returns what must stay as it is of an object.
func kept(o *dump.Object, anew func(kind string) bool) map[string]any {
	v := o.Value()
	delete(v, "status")
	meta, _ := v["metadata"].(map[string]any)
	delete(meta, "resourceVersion")
	if anew(o.Kind) {
		for _, field := range []string{"uid", "creationTimestamp", "generation"} {
			delete(meta, field)
		}
	}
	if spec, ok := v["spec"].(map[string]any); ok && o.Kind == "Subscription" {
		delete(spec, "startingCSV") // OLM reads it only as long as nothing is installed
	}
	owners, _ := meta["ownerReferences"].([]any)
	for _, x := range owners {
		if owner, _ := x.(map[string]any); anew(fmt.Sprint(owner["kind"])) {
			delete(owner, "uid")
		}
	}
	slices.SortFunc(owners, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return v
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
	if x != y {
		return fmt.Errorf("%s had generation %v, and has %v", before.Identity(), x, y)
	}
	for _, field := range []string{"rules", "subjects", "roleRef", "webhooks", "data"} {
		if fmt.Sprint(a[field]) != fmt.Sprint(b[field]) {
			return fmt.Errorf("%s: %s has changed", before.Identity(), field)
		}
	}
	return nil
}
