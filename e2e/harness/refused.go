package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/e2e/harness/catalog"
	"github.com/olmgen/olmgen/e2e/harness/cluster"
	"github.com/olmgen/olmgen/e2e/harness/live"
	"github.com/olmgen/olmgen/golden/equal"
	"github.com/olmgen/olmgen/golden/refused"
)

// settled is how long nothing may change before what OLM says is taken for its last word.
const settled = 10 * time.Second

// silence is how long OLM may say nothing at all. It makes an InstallPlan within seconds.
const silence = time.Minute

// refusals has OLM do the upgrades of golden/refused. What it says must be what is recorded there; TestRefused compares
// that with what olmgen says.
func (o options) refusals(ctx context.Context, _ material) error {
	cases, err := refused.Cases(o.golden())
	if err != nil {
		return err
	}
	recorded, err := refused.Answers(o.golden())
	if err != nil && !o.update {
		return err
	}
	cases = slices.DeleteFunc(cases, func(c refused.Case) bool { return !o.only.MatchString(c.Name) })
	var mu sync.Mutex
	answers := map[string]string{}
	failed := o.each(len(cases), func(n int) error {
		c, started := cases[n], time.Now()
		said, err := o.refusal(ctx, c)
		if err == nil && !o.update && said != recorded[c.Name] {
			err = fmt.Errorf("OLM says something else now: %s (was: %s)", said, recorded[c.Name])
		}
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			fmt.Printf("refused: %s FAILED after %.0fs: %v\n", c.Name, time.Since(started).Seconds(), err)
			return err
		}
		answers[c.Name] = said
		fmt.Printf("refused: %s, %.0fs: %s\n", c.Name, time.Since(started).Seconds(), said)
		return nil
	})
	if failed > 0 {
		return fmt.Errorf("refused: %d of %d cases failed", failed, len(cases))
	}
	if o.update {
		if recorded, err = refused.Answers(o.golden()); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		for name, said := range recorded {
			if answers[name] == "" && !o.only.MatchString(name) {
				answers[name] = said
			}
		}
		return refused.WriteAnswers(o.golden(), answers)
	}
	return ctx.Err()
}

// refusal does one upgrade in a cluster of its own, and returns what OLM says to it.
func (o options) refusal(ctx context.Context, what refused.Case) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	c, err := cluster.StartWithOLM(ctx, o.bin(), o.files())
	if err != nil {
		return "", err
	}
	defer c.Stop()
	from, to := refused.Bundle(o.golden(), what.From), refused.Bundle(o.golden(), what.To)
	bundle, err := filepath.Rel(o.golden(), from)
	if err != nil {
		return "", err
	}
	const namespace = "operator-ns"
	installed, served, err := live.Install(ctx, c, o.golden(), equal.Case{
		Name:             what.Name,
		Bundle:           bundle,
		InstallMode:      "OwnNamespace",
		Namespace:        namespace,
		OperatorGroup:    "my-og",
		TargetNamespaces: []string{namespace},
	})
	if served != nil {
		defer func() { served.Stop() }()
	}
	if err != nil {
		return "", err
	}
	if installed.Case.Options().Incomplete {
		return "", fmt.Errorf("OLM did not install the first version: %s", installed.Case.Message)
	}
	w := &watcher{cluster: c, namespace: namespace}
	if err := w.put(ctx, what.ClusterFile(o.golden())); err != nil {
		return "", err
	}
	if _, err := w.until(ctx, w.ready); err != nil {
		return "", err
	}
	newer, err := catalog.Read(to)
	if err != nil {
		return "", err
	}
	w.next, w.started = newer.CsvName, time.Now()
	served.Stop()
	if served, err = moveCatalog(ctx, c, namespace, from, to); err != nil {
		return "", err
	}
	return w.until(ctx, w.look)
}

// moveCatalog serves other bundles as the catalog of a namespace.
func moveCatalog(ctx context.Context, c *cluster.Cluster, namespace string, dirs ...string) (*catalog.Catalog, error) {
	served, err := catalog.Serve(dirs...)
	if err != nil {
		return nil, err
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"address": served.Address}})
	if err != nil {
		return served, err
	}
	sources := v1alpha1.SchemeGroupVersion.WithResource("catalogsources")
	_, err = c.Dynamic.Resource(sources).Namespace(namespace).Patch(ctx, "catalog", types.MergePatchType, patch,
		metav1.PatchOptions{})
	return served, err
}

// watcher looks at an upgrade.
type watcher struct {
	cluster   *cluster.Cluster
	namespace string
	next      string // the name of the newer ClusterServiceVersion
	failed    string // what the newer one said when it failed last
	started   time.Time
}

// put creates the objects of a file, with their status.
func (w *watcher) put(ctx context.Context, file string) error {
	if file == "" {
		return nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for doc := range strings.SplitSeq(string(data), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(doc), object); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		client := w.cluster.ClientOf(object)
		if object.GetKind() == "Namespace" {
			err = w.cluster.Namespace(ctx, object.GetName(), nil)
		} else if _, err = client.Create(ctx, object, metav1.CreateOptions{}); cluster.Exists(err) == nil {
			err = nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if status := object.Object["status"]; status != nil {
			patch, err := json.Marshal(map[string]any{"status": status})
			if err != nil {
				return err
			}
			if _, err := client.Patch(ctx, object.GetName(), types.MergePatchType, patch, metav1.PatchOptions{},
				"status"); err != nil {
				return fmt.Errorf("%s: status: %w", file, err)
			}
		}
	}
	return nil
}

// until looks until nothing changes any more. An empty answer is none.
func (w *watcher) until(ctx context.Context, look func(context.Context) (string, error)) (string, error) {
	last, since := "", time.Now()
	for {
		if err := w.cluster.Check(); err != nil {
			return "", err
		}
		said, err := look(ctx)
		if err != nil {
			return "", err
		}
		if said != last {
			last, since = said, time.Now()
		}
		if said != "" && time.Since(since) > settled {
			return said, nil
		}
		select {
		case <-ctx.Done():
			list, _ := w.csvs(context.WithoutCancel(ctx))
			for _, csv := range list {
				last += fmt.Sprintf("\n%s %s %s: %s", csv.Name, csv.Status.Phase, csv.Status.Reason, csv.Status.Message)
			}
			return "", errors.Join(ctx.Err(), fmt.Errorf("last: %s", last))
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// csvs returns the ClusterServiceVersions of the cluster that are no copies.
func (w *watcher) csvs(ctx context.Context) ([]v1alpha1.ClusterServiceVersion, error) {
	list, err := w.cluster.Dynamic.Resource(cluster.CSVs).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var out []v1alpha1.ClusterServiceVersion
	for _, u := range list.Items {
		csv := v1alpha1.ClusterServiceVersion{}
		data, err := u.MarshalJSON()
		if err == nil {
			err = json.Unmarshal(data, &csv)
		}
		if err != nil {
			return nil, err
		}
		if !csv.IsCopied() {
			out = append(out, csv)
		}
	}
	return out, nil
}

// ready reports whether every operator of the cluster has succeeded.
func (w *watcher) ready(ctx context.Context) (string, error) {
	list, err := w.csvs(ctx)
	for _, csv := range list {
		if csv.Status.Phase != v1alpha1.CSVPhaseSucceeded {
			return "", err
		}
	}
	return "ready", err
}

// look returns what OLM says: why it makes no InstallPlan, why the plan fails, why the newer operator fails, which
// other operator fails, or that it has upgraded.
func (w *watcher) look(ctx context.Context) (string, error) {
	list, err := w.csvs(ctx)
	if err != nil {
		return "", err
	}
	var phase v1alpha1.ClusterServiceVersionPhase
	others := ""
	for _, csv := range list {
		switch s := csv.Status; {
		case csv.Name == w.next:
			if phase = s.Phase; s.Reason == v1alpha1.CSVReasonComponentFailed ||
				s.Reason == v1alpha1.CSVReasonRequirementsNotMet {
				w.failed = fmt.Sprintf("%s fails with %s: %s", csv.Name, s.Reason, s.Message)
			}
		case s.Phase == v1alpha1.CSVPhaseFailed, s.Reason == v1alpha1.CSVReasonRequirementsNotMet:
			others = fmt.Sprintf("%s fails with %s", csv.Name, s.Reason)
		}
	}
	executes, said, err := w.plan(ctx)
	switch {
	case err != nil || said != "" || executes: // what the newer operator says meanwhile is no last word
		return said, err
	case phase == v1alpha1.CSVPhaseSucceeded && others == "":
		return refused.Upgraded, w.touch(ctx, list)
	case phase == v1alpha1.CSVPhaseSucceeded:
		return refused.Upgraded + ", and " + others, nil
	case phase != v1alpha1.CSVPhaseNone:
		return w.failed, nil
	}
	return w.unresolved(ctx)
}

// touch has OLM look again at the operators that the upgrade is not about, which it does now and then.
func (w *watcher) touch(ctx context.Context, list []v1alpha1.ClusterServiceVersion) error {
	for _, csv := range list {
		if csv.Name == w.next || csv.Annotations["touched"] != "" {
			continue
		}
		patch := []byte(`{"metadata": {"annotations": {"touched": "yes"}}}`)
		if _, err := w.cluster.Dynamic.Resource(cluster.CSVs).Namespace(csv.Namespace).Patch(ctx, csv.Name,
			types.MergePatchType, patch, metav1.PatchOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// olm lists a resource of OLM in the namespace of the operator.
func (w *watcher) olm(ctx context.Context, resource string) ([]unstructured.Unstructured, error) {
	list, err := w.cluster.Dynamic.Resource(v1alpha1.SchemeGroupVersion.WithResource(resource)).
		Namespace(w.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// plan returns why an InstallPlan fails, and whether OLM executes one.
func (w *watcher) plan(ctx context.Context) (executes bool, said string, err error) {
	plans, err := w.olm(ctx, "installplans")
	for _, p := range plans {
		phase, _, _ := unstructured.NestedString(p.Object, "status", "phase")
		message, _, _ := unstructured.NestedString(p.Object, "status", "message")
		executes = executes || phase == string(v1alpha1.InstallPlanPhaseInstalling)
		if phase == string(v1alpha1.InstallPlanPhaseFailed) {
			return false, "the InstallPlan fails: " + message, nil
		}
	}
	return executes, "", err
}

// unresolved returns why there is no InstallPlan.
func (w *watcher) unresolved(ctx context.Context) (string, error) {
	subscriptions, err := w.olm(ctx, "subscriptions")
	for _, s := range subscriptions {
		conditions, _, _ := unstructured.NestedSlice(s.Object, "status", "conditions")
		for _, c := range conditions {
			if m, ok := c.(map[string]any); ok && m["type"] == "ResolutionFailed" && m["status"] == "True" {
				return fmt.Sprint("no InstallPlan: ", m["message"]), nil
			}
		}
	}
	if time.Since(w.started) > silence {
		return "no InstallPlan, and no reason", err
	}
	return "", err
}
