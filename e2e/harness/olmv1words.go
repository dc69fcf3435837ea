package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/cmd/e2e/harness/apply"
	"github.com/olmgen/olmgen/cmd/e2e/harness/olmv1"
)

// wordsOfCase is before the names of the cases whose conditions are compared.
const wordsOfCase = "words of "

// v1Words is a case of testdata/words: what is applied first, then what OLM v1 is asked when that has settled, and what
// the catalog deprecates. Its comment begins with the releases that it is for, if not for all, and with "single" if it
// needs the cluster for single namespaces.
type v1Words struct {
	name          string
	before, after []*unstructured.Unstructured
	deprecations  []byte
	single        bool
	release       string // empty: all
}

// v1Says are the cases of testdata/words.
func (o options) v1Says() (all []v1Words, err error) {
	files, err := filepath.Glob(filepath.Join(o.root, "e2e", "harness", "testdata", "words", "*.txtar"))
	if err == nil && len(files) == 0 {
		err = errors.New("no cases in e2e/harness/testdata/words")
	}
	for _, file := range files {
		archive, failed := txtar.ParseFile(file)
		if failed != nil {
			return nil, failed
		}
		w := v1Words{name: wordsOfCase + strings.TrimSuffix(filepath.Base(file), ".txtar")}
		head, _, _ := strings.Cut(string(archive.Comment), ":")
		for word := range strings.FieldsSeq(head) {
			if word == "single" {
				w.single = true
			} else if slices.Contains(olmv1Releases, word) {
				w.release = word
			}
		}
		for _, f := range archive.Files {
			switch f.Name {
			case "before.yaml":
				w.before, failed = documents(f.Data)
			case "after.yaml":
				w.after, failed = documents(f.Data)
			case "deprecations.json":
				w.deprecations = f.Data
			}
			err = errors.Join(err, failed)
		}
		all = append(all, w)
	}
	return all, err
}

func documents(data []byte) (list []*unstructured.Unstructured, err error) {
	for text := range strings.SplitSeq(string(data), "---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, nil
}

// words compares the conditions of ClusterExtensions with those that "olmgen check" foretells, word by word.
func (r *v1Run) words(ctx context.Context, all []v1Words) (err error) {
	for _, w := range all {
		if ctx.Err() != nil {
			break
		}
		started := time.Now()
		said, failed := r.says(ctx, w)
		if failed != nil {
			said, err = "FAILED: "+failed.Error(), errors.Join(err, fmt.Errorf("%s: %w", w.name, failed))
		}
		fmt.Printf("olmv1: %s: %s: %s, %.0fs\n", r.release, w.name, said, time.Since(started).Seconds())
	}
	return err
}

func (r *v1Run) says(ctx context.Context, w v1Words) (said string, err error) {
	dir := filepath.Join(r.root, "e2e", "harness", "testdata")
	dirs, err := filepath.Glob(filepath.Join(dir, "updates", "buoy", "*"))
	if err != nil {
		return "", err
	}
	c, err := olmv1.NewCatalog(r.Registry, nil, append(dirs, filepath.Join(dir, "words", "buoy-2.0.0"))...)
	if err != nil {
		return "", err
	}
	c.Content = append(c.Content, w.deprecations...)
	if err := r.Serve(ctx, c); err != nil {
		return "", err
	}
	if err := r.administrator(ctx, "words"); err != nil {
		return "", err
	}
	name, all := "", apply.Tree{Name: w.name}
	for _, o := range slices.Concat(w.before, w.after) {
		if ofExtension(o) {
			name = o.GetName()
		} else {
			all.Objects = append(all.Objects, o)
		}
	}
	defer func() {
		err = errors.Join(err, r.Uninstall(ctx, name), r.applier.Remove(ctx, all))
	}()
	var status any // of the ClusterExtension before it changes
	var live []metav1.Condition
	for i, list := range [][]*unstructured.Unstructured{w.before, w.after} {
		if i == 1 && len(list) == 0 {
			break
		}
		if _, errs := r.applier.Apply(ctx, apply.Tree{Name: w.name, Objects: list}); len(errs) > 0 {
			return "", errors.Join(errs...)
		}
		var now map[string]any
		if live, now, err = r.Settled(ctx, name); err != nil {
			return "", err
		}
		if i == 0 && len(w.after) > 0 {
			status = now
		}
	}
	foretold, err := r.foretold(ctx, w, c, status)
	if err != nil {
		return "", err
	}
	return differing(live, foretold)
}

// differing says how many conditions are equal, or is an error that has those that are not. A message that olmgen
// leaves empty is one that it does not foretell.
func differing(live, foretold []metav1.Condition) (string, error) {
	var wrong []string
	open, text := 0, func(c metav1.Condition) string {
		lines := strings.Split(c.Message, "\n") // OLM v1 has several errors in a random order
		slices.Sort(lines)
		return fmt.Sprintf("%s=%s %s: %q", c.Type, c.Status, c.Reason, lines)
	}
	for _, f := range foretold {
		i := slices.IndexFunc(live, func(c metav1.Condition) bool { return c.Type == f.Type })
		if i < 0 {
			wrong = append(wrong, "+ "+text(f))
			continue
		}
		is := live[i]
		if f.Message == "" && is.Message != "" {
			open++
			is.Message = ""
		}
		if text(is) != text(f) {
			wrong = append(wrong, "- "+text(live[i]), "+ "+text(f))
		}
	}
	for _, c := range live {
		said := func(f metav1.Condition) bool { return c.Type == f.Type }
		if !slices.ContainsFunc(foretold, said) {
			wrong = append(wrong, "- "+text(c))
		}
	}
	if len(foretold) == 0 || len(wrong) > 0 {
		return "", fmt.Errorf("other conditions (- OLM v1, + olmgen check):\n%s", strings.Join(wrong, "\n"))
	}
	return fmt.Sprintf("%d conditions are as olmgen check foretells, %d without the message", len(foretold), open), nil
}

// foretold are the conditions by "olmgen check" of the objects of a case, with the status that the ClusterExtension had
// before it changed.
func (r *v1Run) foretold(ctx context.Context, w v1Words, c *olmv1.Catalog, status any) ([]metav1.Condition, error) {
	dir, err := os.MkdirTemp(r.files(), "words-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	objects := []*unstructured.Unstructured{
		{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "words"}}},
		{Object: map[string]any{"apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterCatalog",
			"metadata": map[string]any{"name": "e2e"}, "spec": map[string]any{"source": map[string]any{"type": "Image",
				"image": map[string]any{"ref": "example.com/e2e"}}}}},
		{Object: map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
			"metadata": map[string]any{"name": "words"}, "roleRef": map[string]any{
				"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
			"subjects": []any{map[string]any{"kind": "ServiceAccount", "namespace": "words", "name": "default"}}}},
	}
	for _, o := range slices.Concat(w.before, w.after) {
		objects = slices.DeleteFunc(objects, func(old *unstructured.Unstructured) bool {
			return olmv1.Key(old) == olmv1.Key(o)
		})
		if ofExtension(o) && status != nil {
			o = o.DeepCopy()
			o.Object["status"] = status
		}
		objects = append(objects, o)
	}
	var tree bytes.Buffer
	for _, o := range objects {
		data, err := yaml.Marshal(o.Object)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&tree, "---\n%s", data)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "catalog"), 0o755), os.Mkdir(filepath.Join(dir, "tree"), 0o755),
		os.WriteFile(filepath.Join(dir, "catalog", "catalog.json"), c.Content, 0o644),
		os.WriteFile(filepath.Join(dir, "tree", "all.yaml"), tree.Bytes(), 0o644)); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(r.bin(), "olmgen"), "check", filepath.Join(dir, "tree"), "--catalog",
		"e2e="+filepath.Join(dir, "catalog"), "--insecure-registry", r.Address, "--olm-version", r.release,
		"--complete", "--format", "json")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, failed := cmd.Output()
	var said struct {
		ClusterExtensions []struct {
			Unknown    string
			Conditions []metav1.Condition
		}
	}
	if err := json.Unmarshal(out, &said); err != nil || len(said.ClusterExtensions) != 1 {
		return nil, fmt.Errorf("olmgen check: %w\n%s%s", errors.Join(failed, err), out, stderr.String())
	}
	if why := said.ClusterExtensions[0].Unknown; why != "" {
		return nil, fmt.Errorf("olmgen check does not know it: %s", why)
	}
	return said.ClusterExtensions[0].Conditions, nil
}
