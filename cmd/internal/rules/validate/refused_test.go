package validate_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/cmd/internal/rules/validate"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/kubernetes"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/source"
)

// What render refuses of a bundle, validate says, with the same field and words, and check has the CSV not succeed.
func TestRefusedByRender(t *testing.T) {
	hook := func(name, more string) string {
		return "  - {type: ValidatingAdmissionWebhook, generateName: " + name + ", sideEffects: None, " +
			"admissionReviewVersions: [v1], deploymentName: op" + more + "}\n"
	}
	with := func(spec string) change {
		return change{csvFile, "spec:\n  displayName", "spec:\n" + spec + "  displayName"}
	}
	hooks := func(list ...string) change { return with("  webhookdefinitions:\n" + strings.Join(list, "")) }
	apis := func(what, fields string) change {
		return with("  apiservicedefinitions: {" + what + ": [{name: x, " + fields + ", deploymentName: op}]}\n")
	}
	for name, c := range map[string]change{
		"a name twice":         hooks(hook("a.b.c", ""), hook("a.b.c", "")),
		"an unknown mode":      {csvFile, "type: AllNamespaces", "type: AllNamespace"},
		"no mode":              {csvFile, "supported: true", "supported: false"},
		"an empty name":        hooks(hook("''", "")),
		"a name of 64":         hooks(hook(strings.Repeat("a", 60)+".b.c", "")),
		"a name of two parts":  hooks(hook("b.c", "")),
		"all groups":           hooks(hook("a.b.c", ", rules: [{apiGroups: ['*']}]")),
		"a timeout":            hooks(hook("a.b.c", ", timeoutSeconds: 31")),
		"a missing Deployment": hooks(strings.Replace(hook("a.b.c", ""), "deploymentName: op", "deploymentName: ghost", 1)),
		"a port twice":         hooks(hook("a.b.c", ", targetPort: 1"), hook("d.b.c", ", targetPort: 2")),
		"a conversion of nothing": hooks(strings.Replace(hook("a.b.c", ""), "ValidatingAdmissionWebhook",
			"ConversionWebhook", 1)),
		"an owned API without kind":      apis("owned", "group: g.io, version: v1, kind: ''"),
		"an owned API without version":   apis("owned", "group: g.io, version: '', kind: K"),
		"an owned API without group":     apis("owned", "group: '', version: v1, kind: K"),
		"a required API without kind":    apis("required", "group: g.io, version: v1, kind: ''"),
		"an API of a missing Deployment": {csvFile, "spec:\n  displayName", "spec:\n  apiservicedefinitions: {owned: [{name: x, group: g.io, version: v1, kind: K, deploymentName: ghost}]}\n  displayName"},
	} {
		t.Run(name, func(t *testing.T) {
			src := sourceOf(t, c)
			b, err := bundle.Read(src.FS, bundle.ReadOptions{})
			if err == nil {
				_, err = generate.Render(b, generate.Options{Certs: generate.CertsManager})
			}
			if err == nil {
				t.Fatal("render takes it")
			}
			list, failed := validate.Bundle(t.Context(), src, validate.Options{})
			if failed != nil {
				t.Fatal(failed)
			}
			if !slices.ContainsFunc(list, func(f findings.Finding) bool {
				return f.Rule == "refused" && strings.Contains(err.Error(), f.Field+": "+f.Message)
			}) {
				t.Errorf("render says %v, and validate %v", err, list)
			}
			if report := checked(t, src); findings.Count(report.Findings, findings.Note) == len(report.Findings) {
				t.Errorf("render says %v, and check %v", err, report.Findings)
			}
		})
	}
}

// checked returns what becomes of a Subscription to a bundle.
func checked(t *testing.T, src *source.Source) *predict.Report {
	t.Helper()
	dir := t.TempDir()
	for to, from := range map[string]fs.FS{"cat/op/1.0.0": src.FS, "tree": fstest.MapFS{"all.yaml": {Data: []byte(asking)}}} {
		if err := os.CopyFS(filepath.Join(dir, to), from); err != nil {
			t.Fatal(err)
		}
	}
	o := catalog.Options{Source: source.Options{Offline: true}}
	c, err := catalog.Read(t.Context(), filepath.Join(dir, "cat"), o)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := tree.Read(t.Context(), []string{filepath.Join(dir, "tree")}, tree.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := predict.Check(t.Context(), objects, predict.Options{Bundles: &o, API: kubernetes.Checker{},
		Catalogs: predict.Catalogs{Sources: []resolve.Source{{Name: "cat", Namespace: "olm", Catalog: c}}}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const asking = `apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: all, namespace: op}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: op, namespace: op}
spec: {name: op, source: cat, sourceNamespace: olm}
`
