package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/golden/corpus/corpustest"
)

// otherwise are the edits of which olmgen says something else than the table, with what it says and why that is right.
var otherwise = map[string]struct{ says, why string }{
	"crd.crd-removed-owned-kept":          {"the bundle has no CustomResourceDefinition", "OLM never installs a CSV that owns a CRD which is nowhere (requirements.go)"},
	"crd.new-required-field":              {"has the wrong type: true or false, want text", "y is true in YAML 1.1, which OLM and kubectl read"},
	"crd.new-required-with-default-field": {"has the wrong type: true or false, want text", "y is true in YAML 1.1, which OLM and kubectl read"},
	"crd.default-on-nested-required":      {"the worst is E", "the API server validates a default as it stands, without the defaults within it (apiextensions-apiserver, structural defaulting/validation.go)"},
	"crd.conv-cabundle":                   {"the worst is E", "the API server refuses a caBundle that is no PEM (apiextensions-apiserver, validation.go, validateCustomResourceConversion)"},
	"crd.version-renamed":                 {`has no version "v1alpha1"`, "the CSV owns a version that the CRD does not have (requirements.go)"},
	"csv.apisvc-owned":                    {"a Service can't have both", "webhooks and API services of a Deployment share one Service, whose ports have their numbers as names (apiservices.go)"},
	"csv.mode-single-only":                {"supports neither AllNamespaces nor OwnNamespace", "nobody says which namespace it shall watch"},
	"csv.owned-version":                   {`has no version "v77"`, "the CSV owns a version that the CRD does not have (requirements.go)"},
	"rbac-bind.subject-removed":           {"does not trip permissions-lost", "the CSV asks for secrets in permissions, which the global OperatorGroup makes ClusterRoles of"},
	"rbac.secrets-patch-only":             {"does not trip permissions-gained, risk-gained", "the CSV has patch of secrets in permissions, which the global OperatorGroup makes a ClusterRole of"},
	"wh.deployment-other":                 {`the CSV has no Deployment "nope"`, "OLM fails the installation (certresources.go)"},
	"wh.mutating-secrets-added":           {"webhook rules cannot include all groups", "OLM fails a CSV with such a webhook (webhook.go)"},
	"wh.sideeffects-unknown":              {"must be None or NoneOnDryRun", "the API server refuses a webhook of admissionregistration.k8s.io/v1 with it"},
}

// TestReviewEdits asks olmgen diff about single edits of real bundles. The table says what a reviewer must be told; it is older than the code.
func TestReviewEdits(t *testing.T) {
	dir := filepath.Join(corpustest.Cases(t), "review")
	table, err := os.ReadFile(filepath.Join(dir, "edits.tsv"))
	must(t, err)
	rows := strings.Split(strings.TrimRight(string(table), "\n"), "\n")[1:]
	if len(rows) < 200 {
		t.Fatalf("%d edits", len(rows))
	}
	for _, row := range rows {
		columns := strings.Split(row, "\t")
		t.Run(columns[0], func(t *testing.T) {
			t.Parallel()
			got := strings.Join(reviewEdit(t, dir, columns), "; ")
			if want := otherwise[columns[0]].says; want != got && (want == "" || !strings.Contains(got, want)) {
				t.Errorf("%s\nwant: %s", got, want)
			}
		})
	}
}

// reviewEdit returns how the report of an edit differs from its row in the table.
func reviewEdit(t *testing.T, dir string, columns []string) (differs []string) {
	name, base, severities, words, trip, trips, flags := columns[0], columns[1], columns[2], columns[3], columns[4], columns[5], columns[6]
	old, now := t.TempDir(), t.TempDir()
	must(t, os.CopyFS(old, os.DirFS(filepath.Join(dir, "bases", base))))
	patch(t, old, filepath.Join(dir, "edits", name, "1-prepare.patch"))
	must(t, os.CopyFS(now, os.DirFS(old)))
	patch(t, now, filepath.Join(dir, "edits", name, "2-edit.patch"))

	args := append([]string{"diff", old, now, "-n", "op-ns", "--offline"}, strings.Fields(flags)...)
	for trigger := range strings.FieldsSeq(trip + " " + trips) {
		args = append(args, "--fail-on", trigger)
	}
	var out, stderr bytes.Buffer
	if code := run(append(args, "--format", "json"), nil, &out, &stderr); code == 1 {
		return []string{"refused: " + stderr.String()}
	}
	var report any
	must(t, json.Unmarshal(out.Bytes(), &report))
	if got := worstOf(report); !strings.Contains(severities, got) {
		differs = append(differs, "the worst is "+got+", want "+severities)
	}
	if !regexp.MustCompile("(?i)" + words).Match(out.Bytes()) {
		differs = append(differs, "does not mention "+words)
	}
	_, met, _ := strings.Cut(strings.TrimSpace(stderr.String()), " differ: ")
	if missing := without(strings.Fields(trip), strings.Split(met, ", ")); len(missing) > 0 {
		differs = append(differs, "does not trip "+strings.Join(missing, ", "))
	}
	if more := without(strings.Split(met, ", "), append(strings.Fields(trip), "")); len(more) > 0 {
		differs = append(differs, "trips "+strings.Join(more, ", "))
	}
	return differs
}

func without(list, others []string) (out []string) {
	for _, s := range list {
		if !strings.Contains(" "+strings.Join(others, " ")+" ", " "+s+" ") {
			out = append(out, s)
		}
	}
	return out
}

// patch changes the files below a directory as a patch says, if there is one.
func patch(t *testing.T, dir, file string) {
	t.Helper()
	if _, err := os.Stat(file); err != nil {
		return
	}
	apply := exec.Command("git", "apply", file)
	apply.Dir = dir
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", file, err, out)
	}
}

// worstOf returns the letter of the worst severity in a report: E, W, I, or N without any. That each edit keeps the name of its release is not
// what it is about.
func worstOf(report any) string {
	const letters = "EWIN"
	worst := "N"
	worse := func(letter string) {
		if strings.Index(letters, letter) < strings.Index(letters, worst) {
			worst = letter
		}
	}
	switch x := report.(type) {
	case []any:
		for _, item := range x {
			worse(worstOf(item))
		}
	case map[string]any:
		if x["rule"] == "same-name" {
			return "N"
		}
		if s, ok := x["severity"].(string); ok {
			worse(strings.ToUpper(s[:1]))
		}
		for key, item := range x {
			if key != "summary" {
				worse(worstOf(item))
			}
		}
	}
	return worst
}
