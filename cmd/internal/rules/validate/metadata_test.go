package validate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/cmd/internal/rules/validate"
)

func TestMetadata(t *testing.T) {
	const channels, defaultChannel = "  operators.operatorframework.io.bundle.channels.v1: stable\n",
		"  operators.operatorframework.io.bundle.channel.default.v1: "
	const at = `metadata/annotations.yaml:1: warning: annotations["operators.operatorframework.io.bundle.channels.v1"]: `
	dependencies := func(text string) []change {
		return []change{{"metadata/dependencies.yaml", "", "dependencies:\n" + text}}
	}
	for name, c := range map[string]struct {
		changes []change
		want    []string
	}{
		"no channel": {[]change{{annotationsFile, channels, ""}}, []string{at + "missing: the bundle is in no channel [channels]"}},
		"an empty annotation": {[]change{{annotationsFile, ": stable", `: ""`}},
			[]string{strings.Replace(at, ":1:", ":3:", 1) + "empty: the bundle is in no channel [channels]"}},
		"an empty channel": {[]change{{annotationsFile, ": stable", `: "stable,,fast"`}},
			[]string{strings.Replace(at, ":1:", ":3:", 1) + `"stable,,fast" has an empty channel name [channels]`}},
		"a default channel that is none": {[]change{{annotationsFile, channels, channels + defaultChannel + "fast\n"}},
			[]string{`metadata/annotations.yaml:4: warning: annotations["operators.operatorframework.io.bundle.channel.default.v1"]: ` +
				`the default channel "fast" is not among the channels stable [channels]`}},
		"a default channel": {[]change{{annotationsFile, channels, channels + defaultChannel + "stable\n"}}, nil},
		"good dependencies": {dependencies("- {type: olm.package, value: {packageName: a, version: '>=1.0.0 <2.0.0'}}\n" +
			"- {type: olm.gvk, value: {group: a.b, kind: A, version: v1}}\n"), nil},
		"an unknown type": {dependencies("- {type: olm.packages, value: {packageName: a, version: 1.0.0}}\n- {type: x, value: {}}\n"),
			[]string{`metadata/dependencies.yaml:2: error: dependencies[0].type: unknown type "olm.packages" (did you mean olm.package? choose one of olm.constraint, olm.gvk, olm.label, olm.package) ` +
				`[dependencies]`,
				`metadata/dependencies.yaml:3: error: dependencies[1].type: unknown type "x" (choose one of olm.constraint, olm.gvk, ` +
					`olm.label, olm.package) [dependencies]`}},
		"a bad range": {dependencies("- {type: olm.package, value: {packageName: a, version: 'at least 1'}}\n"),
			[]string{`metadata/dependencies.yaml:2: error: dependencies[0].value.version: "at least 1" is not a range of versions: ` +
				`Could not get version from string: "at" (write a version or a range such as >=1.2.0 <2.0.0) [dependencies]`}},
		"a missing field": {dependencies("- {type: olm.gvk, value: {group: a.b, kind: A}}\n"),
			[]string{`metadata/dependencies.yaml:2: error: dependencies[0].value: version is missing or not text [dependencies]`}},
		"a bad skipRange": {[]change{{csvFile, "    categories:", "    olm.skipRange: '<1'\n    categories:"}},
			[]string{`manifests/op.csv.yaml:7: error: metadata.annotations["olm.skipRange"]: "<1" is not a range of versions: ` +
				`Could not parse Range "<1": Could not parse version "1" in "<1": No Major.Minor.Patch elements found [skip-range]`}},
		"a version that is not raised": {[]change{{csvFile, "version: 1.0.0", "version: 0.9.0"}},
			[]string{`manifests/op.csv.yaml:11: warning: spec.version: the version is 0.9.0, and metadata.name says 1.0.0: catalogs go by the former [name-version]`}},
		"a version with a plus sign": {[]change{{csvFile, "version: 1.0.0", "version: 1.0.0+0.p"}, {csvFile, "op.v1.0.0", "op.v1.0.0-0.p"}}, nil},
		"a value that the schema rejects": {[]change{{csvFile, "      - name: op\n", "      - name: op\n        label: {a: b}\n"},
			{csvFile, "spec:\n  displayName", "spec:\n  webhookdefinitions:\n  - {type: ValidatingAdmissionWebhook, generateName: a.b.c, " +
				"sideEffects: None, admissionReviewVersions: [v1], containerPort: 70000, deploymentName: op}\n  displayName"}},
			[]string{`manifests/op.csv.yaml:11: error: spec.webhookdefinitions[0].containerPort: 70000 is greater than 65535; ` +
				`the API server rejects the object [csv-schema]`}},
	} {
		t.Run(name, func(t *testing.T) {
			src := sourceOf(t, c.changes...)
			list, err := validate.Bundle(t.Context(), src, validate.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, lines(t, src, list)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// All versions of a legacy package are read, with findings about what the versions lack.
func TestPackage(t *testing.T) {
	dir := t.TempDir()
	good := goodFiles()
	write := func(name, text string) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("op.package.yaml", "packageName: op\nchannels:\n- {name: stable, currentCSV: op.v1.1.0}\n")
	write("1.0.0/csv.yaml", good[csvFile])
	write("1.0.0/crd.yaml", good[crdFile])
	newer := strings.NewReplacer("op.v1.0.0", "op.v1.1.0", "  version: 1.0.0\n", "  version: 1.1.0\n  replaces: op.v1.0.0\n")
	write("1.1.0/csv.yaml", newer.Replace(good[csvFile]))
	list, n, err := validate.Package(t.Context(), dir, catalog.Options{}, validate.Options{})
	if err != nil || n != 2 {
		t.Fatal(n, err)
	}
	var got []string
	for _, f := range list {
		got = append(got, f.File+": "+string(f.Level)+": "+f.Field+": "+f.Message+" ["+f.Rule+"]")
	}
	want := []string{
		"1.1.0/csv.yaml: error: spec.customresourcedefinitions.owned[0].name: " +
			"the bundle has no CustomResourceDefinition things.example.com [refused]",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
