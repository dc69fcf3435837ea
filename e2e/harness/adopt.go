package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/config/adopt"
	"github.com/olmgen/olmgen/e2e/harness/apply"
	"github.com/olmgen/olmgen/e2e/harness/cluster"
	"github.com/olmgen/olmgen/e2e/harness/live"
	"github.com/olmgen/olmgen/generate"
	recordings "github.com/olmgen/olmgen/golden/live"
	"github.com/olmgen/olmgen/internal/compare"
	state "github.com/olmgen/olmgen/review/adopt"
	"github.com/olmgen/olmgen/review/dump"
	"github.com/olmgen/olmgen/review/findings"
)

// adoptCases are the recordings that are adopted: several operators, webhooks, an APIService, a selector, a
// Subscription with config, a static group.
var adoptCases = []string{"gates-multi", "group-with-selector", "group-with-static-apis", "meters-own",
	"subscription-config-own", "two-operators-in-a-global-group", "two-operators-in-one-group"}

// leave are the cases that leave OLM by the plan to profile plain. The others need cert-manager for that.
var leave = []string{"group-with-selector", "two-operators-in-one-group"}

// adopt installs cases with OLM, takes them over, and has some leave OLM.
func (o options) adopt(ctx context.Context, _ material) error {
	cases, err := recordings.Cases(o.golden())
	if err != nil {
		return err
	}
	cases = slices.DeleteFunc(cases, func(c compare.Case) bool {
		return !slices.Contains(adoptCases, c.Name) || !o.only.MatchString(c.Name)
	})
	return o.report(ctx, "adopt", cases, o.adoptOne)
}

// adoption is a cluster that is taken over.
type adoption struct {
	options
	compare.Case
	cluster *cluster.Cluster
}

func (o options) adoptOne(ctx context.Context, what compare.Case) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 6*time.Minute)
	defer cancel()
	c, err := cluster.Start(ctx, o.bin(), o.files())
	if err != nil {
		return "", err
	}
	defer c.Stop()
	if err := c.StartOLM(ctx); err != nil {
		return "", err
	}
	if _, err := live.Record(ctx, c, o.golden(), what); err != nil {
		return "", err
	}
	a := &adoption{o, what, c}
	before, data, err := a.dump(ctx)
	if err != nil {
		return "", err
	}
	if o.update {
		file := filepath.Join(o.root, "config", "adopt", "testdata", what.Name+".yaml")
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return "", err
		}
	}
	found, err := a.takeOver(ctx, before)
	if err != nil || !slices.Contains(leave, what.Name) {
		return found, err
	}
	if path, _ := exec.LookPath("kubectl"); path == "" {
		return found + "; there is no kubectl for the plan", nil
	}
	left, err := a.leave(ctx)
	return found + "; " + left, err
}

// dump returns what kubectl would print, read and as text.
func (a *adoption) dump(ctx context.Context) (*state.State, []byte, error) {
	data, err := clusterDump(ctx, a.cluster)
	if err != nil {
		return nil, nil, err
	}
	d, err := dump.Read(ctx, []string{"-"}, bytes.NewReader(data))
	if err != nil {
		return nil, nil, err
	}
	s, err := state.Read(d)
	return s, data, err
}

// render declares the operators in a form, and renders what is declared.
func (a *adoption) render(ctx context.Context, s *state.State, o adopt.Options) (values []map[string]any,
	tree apply.Tree, err error) {
	o.File, o.Directory, o.Sources = "olmgen.yaml", "operators", map[string]string{}
	for _, dir := range append([]string{a.Bundle}, a.With...) {
		for _, g := range s.Groups {
			for _, op := range g.Operators {
				csv, err := os.ReadDir(filepath.Join(a.golden(), dir, "manifests"))
				if err != nil {
					return nil, tree, err
				}
				for _, f := range csv {
					text, err := os.ReadFile(filepath.Join(a.golden(), dir, "manifests", f.Name()))
					if err != nil {
						return nil, tree, err
					}
					if strings.Contains(string(text), "kind: ClusterServiceVersion") &&
						strings.Contains(string(text), "name: "+op.CSV.Name+"\n") {
						o.Sources[op.CSV.Name] = filepath.Join(a.golden(), dir)
					}
				}
			}
		}
	}
	file, err := adopt.Declare(s, o)
	if err != nil {
		return nil, tree, err
	}
	c, err := config.Read(o.File, file)
	if err != nil {
		return nil, tree, err
	}
	r, err := c.Render(ctx, config.Options{})
	if err != nil {
		return nil, tree, err
	}
	for _, x := range r.Objects {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(x.Data, &object.Object); err != nil {
			return nil, tree, err
		}
		tree.Objects = append(tree.Objects, object)
		values = append(values, object.Object)
	}
	return values, tree, nil
}

// takeOver applies what is rendered over what OLM made, by another field manager. Nothing may change, not even after
// OLM has looked at it.
func (a *adoption) takeOver(ctx context.Context, before *state.State) (string, error) {
	values, tree, err := a.render(ctx, before, adopt.Options{})
	if err != nil {
		return "", err
	}
	v := before.Verify(values)
	for _, f := range v.Findings() {
		if f.Level != findings.Note {
			err = errors.Join(err, fmt.Errorf("%s: %s: %s", f.Object, f.Field, f.Message))
		}
	}
	if err != nil {
		return "", err
	}
	applier := apply.New(a.cluster)
	applier.Force = true
	_, errs := applier.Apply(ctx, tree)
	if len(errs) > 0 {
		return "", errors.Join(errs...)
	}
	const settle = 6 * time.Second
	time.Sleep(settle)
	after, _, err := a.dump(ctx)
	if err != nil {
		return "", err
	}
	n := 0
	for _, o := range before.Dump.Objects {
		if err := same(o, after.Dump.Get(o.Kind, o.Namespace, o.Name)); err != nil {
			return "", err
		}
		n++
	}
	if len(after.Dump.Objects) != n {
		return "", fmt.Errorf("the cluster had %d objects, and has %d", n, len(after.Dump.Objects))
	}
	return fmt.Sprintf("%d objects applied, none of %d changed", len(tree.Objects), n), nil
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

// leave follows the plan to profile plain.
func (a *adoption) leave(ctx context.Context) (string, error) {
	before, _, err := a.dump(ctx)
	if err != nil {
		return "", err
	}
	o := adopt.Options{To: generate.ProfilePlain, File: "olmgen.yaml", Directory: "operators"}
	values, tree, err := a.render(ctx, before, o)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "olmgen-adopt-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if err := os.Mkdir(filepath.Join(dir, "operators"), 0o755); err != nil {
		return "", err
	}
	for i, object := range tree.Objects {
		data, err := yaml.Marshal(object.Object)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, "operators", fmt.Sprintf("%03d.yaml", i)), data, 0o644); err != nil {
			return "", err
		}
	}
	a.cluster.StopOLM()
	ran := 0
	for _, s := range adopt.NewPlan(before, before.Verify(values), o).Steps {
		for _, line := range s.Run {
			if !strings.HasPrefix(line, "kubectl ") || strings.HasPrefix(line, "kubectl get") ||
				strings.HasPrefix(line, "kubectl diff") || strings.Contains(line, "scale deployment") {
				continue // OLM has no Deployments here
			}
			if out, err := a.cluster.Shell(ctx, dir, line); err != nil {
				return "", fmt.Errorf("step %q: %s: %w: %s", s.Title, line, err, out)
			}
			ran++
		}
	}
	const garbage = 5 * time.Second // for the garbage collector to do what it must not
	time.Sleep(garbage)
	return fmt.Sprintf("left OLM by %d commands", ran), a.free(ctx, before, values)
}

// free holds that what is rendered is as it was, and that nothing of OLM's is left.
func (a *adoption) free(ctx context.Context, before *state.State, rendered []map[string]any) error {
	after, _, err := a.dump(ctx)
	if err != nil {
		return err
	}
	for _, value := range rendered {
		u := unstructured.Unstructured{Object: value}
		o := before.Dump.Get(u.GetKind(), u.GetNamespace(), u.GetName())
		if o == nil {
			return fmt.Errorf("%s %s was not there", u.GetKind(), u.GetName())
		}
		if err := same(o, after.Dump.Get(u.GetKind(), u.GetNamespace(), u.GetName())); err != nil {
			return err
		}
	}
	for _, kind := range []string{"ClusterServiceVersion", "Subscription", "InstallPlan", "OperatorGroup",
		"OperatorCondition"} {
		for _, o := range after.Dump.Of(kind) {
			return fmt.Errorf("%s is still there", o.Identity())
		}
	}
	return nil
}

// dumpKinds are what "olmgen adopt --print-kubectl" asks for.
func dumpKinds() (kinds []string) {
	for _, k := range dump.Kinds {
		kinds = append(kinds, k.Kind)
	}
	return kinds
}

// clusterDump returns what kubectl prints of these kinds. It leaves out what the API server and OLM themselves bring.
func clusterDump(ctx context.Context, c *cluster.Cluster) ([]byte, error) {
	all, err := c.Objects(ctx, []string{"Event", "Secret"})
	if err != nil {
		return nil, err
	}
	kinds := dumpKinds()
	var items []any
	for _, u := range all {
		system := strings.HasPrefix(u.GetName(), "system:") ||
			strings.HasSuffix(u.GetName(), ".operators.coreos.com") ||
			u.GetName() == "kube-root-ca.crt" || strings.HasPrefix(u.GetName(), "extension-apiserver-")
		if system || !slices.Contains(kinds, u.GetKind()) {
			continue
		}
		unstructured.RemoveNestedField(u.Object, "metadata", "managedFields") // kubectl hides it
		items = append(items, u.Object)
	}
	return yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items,
		"metadata": map[string]any{"resourceVersion": ""}})
}
