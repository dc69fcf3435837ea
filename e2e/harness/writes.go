package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/blang/semver/v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/olmgen/olmgen/cmd/e2e/harness/apply"
	"github.com/olmgen/olmgen/cmd/e2e/harness/refusal"
	"github.com/olmgen/olmgen/cmd/internal/beside"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
	"github.com/olmgen/olmgen/internal/writes"
)

// judging are the admission plugins that are not asked. They judge by what else is in a cluster (namespaces, accounts,
// classes, quotas, policies), which the program does not know.
var judging = []string{"NamespaceLifecycle", "LimitRanger", "ServiceAccount", "TaintNodesByCondition", "PodSecurity",
	"Priority", "DefaultTolerationSeconds", "DefaultStorageClass", "StorageObjectInUseProtection",
	"PersistentVolumeClaimResize", "RuntimeClass", "DefaultIngressClass", "PodTopologyLabels", "ResourceQuota"}

const (
	// pairs is how many objects with two wrong fields are made of each object that is right.
	pairs = 20
	// asking is how many requests are made at a time, and how many questions are put to the program together.
	asking, batch = 8, 500
)

// writes asks the API server and olmgen-validate about the same objects: their answers must be equal.
func (o options) writes(ctx context.Context, m material) error {
	started := time.Now()
	program := &beside.Program{Name: beside.Validate, Path: filepath.Join(o.bin(), beside.Validate)}
	ctx, end := context.WithCancel(ctx)
	defer func() { // the program ends with the context
		end()
		beside.Wait()
	}()
	c, err := cluster.Start(ctx, o.bin(), o.files(), cluster.Without(judging...), cluster.WithDualStack)
	if err != nil {
		return err
	}
	defer c.Stop()
	fmt.Println("writes: not asked are the admission plugins", strings.Join(judging, ", "))
	w := &writer{options: o, program: beside.Kubernetes{Program: program}, seen: map[string]bool{},
		counts: map[string]int{}}
	if err := w.connect(ctx, c); err != nil {
		return err
	}
	created, err := w.creations(m)
	if err != nil {
		return err
	}
	if err := w.compare(ctx, created); err != nil {
		return err
	}
	updated, err := w.updates(ctx, c)
	if err != nil {
		return err
	}
	if err := w.compare(ctx, updated); err != nil {
		return err
	}
	for _, line := range slices.Sorted(maps.Keys(w.counts)) {
		fmt.Printf("writes: %d %s\n", w.counts[line], line)
	}
	if w.asked == 0 {
		return o.looked("writes", w.asked)
	}
	if o.only.String() == "" && (w.asked < 300 || w.refused < 100 || w.asked-w.refused < 100) {
		return fmt.Errorf("writes: too few objects: the API server refuses %d of %d", w.refused, w.asked)
	}
	if len(w.failed) > 0 {
		slices.Sort(w.failed)
		return fmt.Errorf("writes: %d of %d answers differ:\n%s", len(w.failed), w.asked, strings.Join(w.failed, "\n"))
	}
	fmt.Printf("writes: %d answers are equal, %d of them refusals, %.0fs\n", w.asked, w.refused,
		time.Since(started).Seconds())
	return nil
}

// writer asks both.
type writer struct {
	options
	server  refusal.Server
	program writes.Checker
	seen    map[string]bool // texts of questions

	asked, refused int
	counts         map[string]int // by what makes answers incomparable
	failed         []string
}

// connect finds the resources of the API server, which must be of the version whose code the program has.
func (w *writer) connect(ctx context.Context, c *cluster.Cluster) error {
	version, err := c.Discovery.ServerVersion()
	if err != nil {
		return err
	}
	release, err := semver.ParseTolerant(version.GitVersion)
	if err != nil {
		return err
	}
	if writes.Who(&release) != writes.Who(nil) {
		return fmt.Errorf("writes: the API server is %s, the program has the code of %s", version, writes.Who(nil))
	}
	w.server = refusal.Server{Client: c.Client.CoreV1().RESTClient(),
		Resources: map[schema.GroupVersionKind]refusal.Resource{}}
	_, all, err := c.Discovery.ServerGroupsAndResources()
	if err != nil {
		return err
	}
	for _, list := range all {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return err
		}
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") {
				w.server.Resources[gv.WithKind(r.Kind)] = refusal.Resource{
					GroupVersionResource: gv.WithResource(r.Name), Namespaced: r.Namespaced}
			}
		}
	}
	return c.Namespace(ctx, "default", nil)
}

// bases are objects that the API server takes.
func (w *writer) bases() ([]*unstructured.Unstructured, error) {
	return apply.ReadStream(filepath.Join(w.root, "e2e", "harness", "refusal", "testdata", "objects.yaml"))
}

// creations are the objects of bundles and trees, and the mutants of the bases.
func (w *writer) creations(m material) (all []refusal.Question, err error) {
	bases, err := w.bases()
	if err != nil {
		return nil, err
	}
	for _, b := range bases {
		all = append(all, refusal.Question{Name: b.GetName(), Object: b.Object})
		for _, m := range every(w.sample, refusal.Mutants(b.Object, pairs)) {
			all = append(all, refusal.Question{Name: b.GetName() + ": " + m.Name, Object: m.Object})
		}
	}
	dirs, err := refusable(m.own)
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		objects, err := refusal.Of(dir)
		if err != nil {
			w.counts["bundle that olmgen does not read: "+short(dir)]++
			continue
		}
		for _, o := range objects {
			u := unstructured.Unstructured{Object: o}
			all = append(all, refusal.Question{Name: u.GetName() + " of " + short(dir), Object: o})
		}
	}
	trees, err := apply.GoldenTrees(w.golden())
	if err != nil {
		return nil, err
	}
	for _, t := range trees {
		for _, u := range t.Objects {
			all = append(all, refusal.Question{Name: u.GetName() + " of " + t.Name, Object: u.Object})
		}
	}
	return all, nil
}

// refusable adds to the repository's own bundles those of $OLMGEN_CASES that an API server may refuse.
func refusable(own []string) ([]string, error) {
	cases := os.Getenv("OLMGEN_CASES")
	if cases == "" {
		fmt.Println("OLMGEN_CASES is not set: no bundles that an API server refuses")
		return own, nil
	}
	more, err := filepath.Glob(filepath.Join(cases, "deciders", "*", "op", "manifests"))
	dirs := slices.Clone(own)
	for _, dir := range more {
		dirs = append(dirs, filepath.Dir(dir))
	}
	return dirs, err
}

// updates makes the bases, and then mutants of what the API server has made of them.
func (w *writer) updates(ctx context.Context, c *cluster.Cluster) (all []refusal.Question, err error) {
	bases, err := w.bases()
	if err != nil {
		return nil, err
	}
	client := func(u *unstructured.Unstructured) dynamic.ResourceInterface {
		r := w.server.Resources[u.GroupVersionKind()]
		if !r.Namespaced {
			return c.Dynamic.Resource(r.GroupVersionResource)
		}
		return c.Dynamic.Resource(r.GroupVersionResource).Namespace("default")
	}
	for _, b := range bases {
		if _, err := client(b).Create(ctx, b, metav1.CreateOptions{}); err != nil {
			return nil, fmt.Errorf("writes: %s: %w", apply.Name(b), err)
		}
	}
	if err := sleep(ctx, 5*time.Second); err != nil { // controllers write the status of some
		return nil, err
	}
	for _, b := range bases {
		is, err := client(b).Get(ctx, b.GetName(), metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		is.SetManagedFields(nil)
		for _, m := range every(w.sample, refusal.Mutants(is.Object, pairs, "name")) {
			all = append(all, refusal.Question{Name: b.GetName() + ": " + m.Name, Object: m.Object,
				Existing: runtime.DeepCopyJSON(is.Object)})
		}
	}
	return all, nil
}

// compare asks both about what was not asked before.
func (w *writer) compare(ctx context.Context, questions []refusal.Question) error {
	var asked []refusal.Question
	var batches []writes.Write
	for _, q := range questions {
		if !w.only.MatchString(q.String()) {
			continue
		}
		text, err := q.Write()
		if err != nil {
			return err
		}
		if key := string(text.Object) + string(text.Existing); !w.seen[key] {
			w.seen[key] = true
			asked, batches = append(asked, q), append(batches, text)
		}
	}
	said, err := w.requests(ctx, asked)
	if err != nil {
		return err
	}
	var answers []writes.Answer
	for some := range slices.Chunk(batches, batch) {
		more, err := w.program.Check(ctx, some)
		if err != nil {
			return err
		}
		answers = append(answers, more...)
	}
	for i, q := range asked {
		w.judge(q, said[i], answers[i])
	}
	return nil
}

// requests asks the API server.
func (w *writer) requests(ctx context.Context, asked []refusal.Question) ([]refusal.Said, error) {
	said, errs := make([]refusal.Said, len(asked)), make([]error, len(asked))
	next := make(chan int)
	var wg sync.WaitGroup
	for range asking {
		wg.Go(func() {
			for i := range next {
				said[i], errs[i] = w.server.Ask(ctx, asked[i])
				if errs[i] != nil {
					errs[i] = fmt.Errorf("writes: %s: %w", asked[i], errs[i])
				}
			}
		})
	}
	for i := range asked {
		next <- i
	}
	close(next)
	wg.Wait()
	return said, errors.Join(errs...)
}

// judge compares the answers to a question.
func (w *writer) judge(q refusal.Question, s refusal.Said, a writes.Answer) {
	switch {
	case !a.Known:
		w.counts["objects of kinds or versions that the program does not judge: "+q.Kind().String()]++
		return
	case s.Unserved:
		w.counts["objects of versions that the API server does not serve: "+q.Kind().String()]++
		return
	}
	w.asked++
	if len(s.Causes) > 0 {
		w.refused++
	}
	switch d := refusal.Differences(s, a); {
	case len(d) == 0:
	case refusal.OwnerUIDs(d):
		w.counts["objects with an owner without UID, which the program takes: "+q.Kind().String()]++
	default:
		w.failed = append(w.failed, fmt.Sprintf("  %s:\n    %s", q, strings.Join(d, "\n    ")))
	}
}
