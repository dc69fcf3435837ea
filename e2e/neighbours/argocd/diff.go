package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/diff"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/hook"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/ignore"
)

// withoutStatus is Argo CD's default ignoreResourceStatusField: all.
type withoutStatus struct{}

func (withoutStatus) Normalize(o *unstructured.Unstructured) error {
	delete(o.Object, "status")
	return nil
}

// diff lists the objects that make the Application OutOfSync (argo-cd: controller/state.go, CompareAppState).
func (e *engine) diff(r request, target []*unstructured.Unstructured, a *answer) error {
	pairs, err := e.reconcile(r, target)
	if err != nil {
		return err
	}
	opts := []diff.Option{
		diff.WithLogr(logr.Discard()), diff.WithNormalizer(withoutStatus{}), diff.WithGVKParser(e.cache.GetGVKParser()),
		diff.WithManager(manager), diff.WithStructuredMergeDiff(r.ServerSideApply),
		diff.WithServerSideDiff(r.ServerSideDiff), diff.WithIgnoreMutationWebhook(true),
	}
	if r.ServerSideDiff {
		applier, cleanup, err := e.kubectl.ManageServerSideDiffDryRuns(e.config)
		if err != nil {
			return err
		}
		defer cleanup()
		opts = append(opts, diff.WithServerSideDryRunner(diff.NewK8sServerSideDryRunner(applier)))
	}
	for i, want := range pairs.Target {
		live := pairs.Live[i]
		o := live
		if o == nil {
			o = want
		}
		if hook.IsHook(o) || ignore.Ignore(o) || want != nil && hook.Skip(want) {
			continue
		}
		x := resource{Group: o.GroupVersionKind().Group, Kind: o.GetKind(), Namespace: o.GetNamespace(),
			Name: o.GetName()}
		switch {
		case live == nil:
			x.Status = "missing"
		case want == nil:
			x.Status = "extra"
		default:
			result, err := diff.Diff(want, live, opts...)
			if err != nil {
				x.Status, x.Message = "unknown", err.Error() // the Application is Unknown: nothing is compared
				break
			}
			if !result.Modified {
				continue
			}
			x.Status = "modified"
			if x.Fields, err = fields(result.NormalizedLive, result.PredictedLive); err != nil {
				return err
			}
		}
		a.OutOfSync = append(a.OutOfSync, x)
	}
	return nil
}

// fields are the paths in which two objects differ.
func fields(live, predicted []byte) (paths []string, err error) {
	var x, y any
	if err := json.Unmarshal(live, &x); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(predicted, &y); err != nil {
		return nil, err
	}
	differing("", x, y, &paths)
	return paths[:min(len(paths), 20)], nil
}

func differing(path string, x, y any, paths *[]string) {
	if reflect.DeepEqual(x, y) {
		return
	}
	a, isMap := x.(map[string]any)
	b, alsoMap := y.(map[string]any)
	if isMap && alsoMap {
		keys := maps.Clone(a)
		maps.Copy(keys, b)
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			differing(path+"."+k, a[k], b[k], paths)
		}
		return
	}
	l, isList := x.([]any)
	m, alsoList := y.([]any)
	if isList && alsoList && len(l) == len(m) {
		for i := range l {
			differing(fmt.Sprintf("%s[%d]", path, i), l[i], m[i], paths)
		}
		return
	}
	*paths = append(*paths, fmt.Sprintf("%s: %s -> %s", path, short(x), short(y)))
}

func short(v any) string {
	data, _ := json.Marshal(v)
	if len(data) > 60 {
		data = append(data[:60], "..."...)
	}
	return string(data)
}
