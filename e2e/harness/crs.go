package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olmgen/olmgen/cmd/e2e/harness/apply"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
)

// customResources creates objects in a cluster, upgrades their CRDs and asks what the API server says to each object
// then. The answers must be those of internal/compare/crds/testdata/objects/verdicts.txt, which the tests beside it
// compare with the findings of olmgen.
func (o options) customResources(ctx context.Context, _ material) error {
	started := time.Now()
	dir := filepath.Join(o.root, "internal", "compare", "crds", "testdata", "objects")
	c, err := cluster.Start(ctx, o.bin(), o.files())
	if err != nil {
		return err
	}
	defer c.Stop()
	q := &questioner{c}
	got, n, err := q.ask(ctx, dir)
	if err != nil {
		return fmt.Errorf("crs: %w", err)
	}
	file := filepath.Join(dir, "verdicts.txt")
	if o.update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			return err
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("crs: the API server answers otherwise than %s:\n%s", file, got)
	}
	fmt.Printf("crs: %d objects as recorded, %.0fs\n", n, time.Since(started).Seconds())
	return nil
}

var dryRun = []string{metav1.DryRunAll}

// questioner asks about objects of the CRDs that it has created.
type questioner struct {
	*cluster.Cluster
}

func (q *questioner) ask(ctx context.Context, dir string) (answers []byte, n int, err error) {
	old, err := apply.ReadStream(filepath.Join(dir, "old.yaml"))
	if err != nil {
		return nil, 0, err
	}
	now, err := apply.ReadStream(filepath.Join(dir, "new.yaml"))
	if err != nil {
		return nil, 0, err
	}
	objects, err := apply.ReadStream(filepath.Join(dir, "objects.yaml"))
	if err != nil {
		return nil, 0, err
	}
	for _, crd := range old {
		if _, err := q.Dynamic.Resource(cluster.CRDs).Create(ctx, crd, metav1.CreateOptions{}); err != nil {
			return nil, 0, err
		}
	}
	for _, o := range objects {
		err := q.Wait(ctx, o.GetName()+" before the upgrade", func() error {
			_, err := q.ClientOf(o).Create(ctx, o, metav1.CreateOptions{})
			return err
		})
		if err != nil {
			return nil, 0, err
		}
	}
	for _, crd := range now {
		if err := q.upgradeCRD(ctx, crd, objects); err != nil {
			return nil, 0, err
		}
	}
	var out bytes.Buffer
	out.WriteString("# What a real API server says to objects.yaml after the upgrade (make e2e CHECK=crs UPDATE=1).\n")
	for _, o := range objects {
		lines, err := q.verdict(ctx, o)
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", o.GetName(), err)
		}
		slices.Sort(lines)
		name := strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/")
		for _, line := range slices.Compact(lines) {
			fmt.Fprintf(&out, "%s %s: %s\n", o.GetKind(), name, strings.TrimSpace(line))
		}
		if len(lines) == 0 {
			fmt.Fprintf(&out, "%s %s: valid\n", o.GetKind(), name)
		}
	}
	return out.Bytes(), len(objects), nil
}

// upgradeCRD replaces the spec and waits until the server uses it: a field that no schema knows is unknown then.
func (q *questioner) upgradeCRD(ctx context.Context, crd *unstructured.Unstructured,
	objects []*unstructured.Unstructured,
) error {
	client := q.Dynamic.Resource(cluster.CRDs)
	current, err := client.Get(ctx, crd.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	current.Object["spec"] = crd.Object["spec"]
	if _, err := client.Update(ctx, current, metav1.UpdateOptions{}); err != nil {
		return err
	}
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind })
	probe := objects[i].DeepCopy()
	probe.Object["probe"] = true
	return q.Wait(ctx, "the new "+crd.GetName(), func() error {
		unknown, err := q.unknown(ctx, probe)
		if err == nil && !slices.Contains(unknown, "probe") {
			err = errors.New("the API server uses the old one")
		}
		return err
	})
}

// verdict asks about an object that exists: may it be created anew, may it be changed, and which fields are unknown.
// The answers have the names of olmgen's rules.
func (q *questioner) verdict(ctx context.Context, o *unstructured.Unstructured) (lines []string, err error) {
	current, err := q.ClientOf(o).Get(ctx, o.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return []string{"objectVersion apiVersion"}, nil
	}
	if err != nil {
		return nil, err
	}
	unknown, err := q.unknown(ctx, o)
	if err != nil {
		return nil, err
	}
	_, err = q.ClientOf(o).Create(ctx, o, metav1.CreateOptions{DryRun: dryRun, FieldValidation: "Ignore"})
	create, err := faults(err)
	if err != nil {
		return nil, err
	}
	current.SetAnnotations(map[string]string{"olmgen.dev/touched": "true"})
	_, err = q.ClientOf(o).Update(ctx, current, metav1.UpdateOptions{DryRun: dryRun})
	update, err := faults(err)
	if err != nil {
		return nil, err
	}
	for _, path := range update {
		lines = append(lines, "objectInvalid "+path)
	}
	for _, path := range create {
		if !slices.Contains(update, path) {
			lines = append(lines, "objectRatcheted "+path)
		}
	}
	for _, path := range unknown {
		lines = append(lines, "objectPruned "+path)
	}
	return lines, nil
}

var unknownField = regexp.MustCompile(`unknown field "([^"]+)"`)

// unknown returns the fields that the API server refuses with strict validation.
func (q *questioner) unknown(ctx context.Context, o *unstructured.Unstructured) (paths []string, err error) {
	_, err = q.ClientOf(o).Create(ctx, o, metav1.CreateOptions{DryRun: dryRun, FieldValidation: "Strict"})
	if !apierrors.IsBadRequest(err) {
		if _, err := faults(err); err != nil {
			return nil, err
		}
		return nil, nil
	}
	for _, m := range unknownField.FindAllStringSubmatch(err.Error(), -1) {
		paths = append(paths, m[1])
	}
	if len(paths) == 0 {
		return nil, err
	}
	return paths, nil
}

// faults returns the paths that the API server names in a refusal. It validates an object before it finds that there is
// one of that name.
func faults(err error) (paths []string, other error) {
	if err == nil || apierrors.IsAlreadyExists(err) {
		return nil, nil
	}
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return nil, err
	}
	for _, cause := range status.Status().Details.Causes {
		if strings.Contains(cause.Message, "some validation rules were not checked") {
			continue
		}
		path := strings.TrimPrefix(cause.Field, ".")
		if path == "<nil>" {
			path = ""
		}
		if !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths, nil
}
