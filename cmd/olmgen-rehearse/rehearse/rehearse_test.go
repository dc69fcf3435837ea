package rehearse_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/catalog"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/rehearse"
	"github.com/olmgen/olmgen/source"
)

// programs fills a directory with what a cluster needs. Without it, nothing can be played.
func programs(t *testing.T, v1 bool) (bin string) {
	t.Helper()
	bin = t.TempDir()
	if _, err := rehearse.Bin(bin, rehearse.Find("", "", v1)); err != nil {
		t.Skipf("%v: make rehearse-tools builds the programs", err)
	}
	return bin
}

// play plays trees one after another, each a list of paths.
func play(t *testing.T, r *rehearse.Request, trees ...[]string) *rehearse.Report {
	t.Helper()
	report, err := run(t, r, trees...)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func run(t *testing.T, r *rehearse.Request, trees ...[]string) (*rehearse.Report, error) {
	t.Helper()
	bin := programs(t, r.OLMv1)
	if r.Source.Warn == nil {
		r.Source = source.Options{Offline: true, Warn: t.Logf}
	}
	if err := r.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	o := rehearse.Options{Bin: bin, Patience: 4 * time.Minute, Compare: true, Progress: func(what string) { t.Log(what) }}
	var states []*rehearse.State
	for _, paths := range trees {
		s, err := r.State(t.Context(), paths...)
		if err != nil {
			t.Fatal(err)
		}
		states, o.Names = append(states, s), append(o.Names, strings.Join(paths, " "))
	}
	var err error
	if o.Dir, err = os.MkdirTemp("", "rehearse-"); err != nil { // t.TempDir is too long for a socket
		t.Fatal(err)
	}
	defer os.RemoveAll(o.Dir)
	return rehearse.Run(t.Context(), o, states...)
}

// ends returns the final lines of the last state.
func ends(r *rehearse.Report) (lines []string) {
	for _, s := range r.Played[len(r.Played)-1].Final {
		lines = append(lines, plain(s.String()))
	}
	return lines
}

// An operator is installed from a directory of bundles, and its custom resource is applied once its API is there. Two
// rehearsals run at a time.
func TestExample(t *testing.T) {
	t.Parallel()
	example := "../../../examples/subscriptions"
	report := play(t, &rehearse.Request{Catalogs: []string{"olm/community=" + example + "/catalog"}},
		[]string{example + "/clusters/production"})
	want := []string{
		"CSV backup/backup-operator.v1.0.0: Succeeded: InstallSucceeded: install strategy completed with no errors",
		"InstallPlan [backup-operator.v1.0.0]: Complete:  | Installed=True <nil> <nil>;",
		"Subscription backup/backup-operator: AtLatestKnown installed=backup-operator.v1.0.0 " +
			"current=backup-operator.v1.0.0",
	}
	if got := ends(report); !slices.Equal(got, want) || report.Meets(false) {
		t.Errorf("%q\n%+v", got, report.Findings)
	}
	for _, o := range []string{"Backup backup/nightly", "CustomResourceDefinition backups.backup.example.com"} {
		if !slices.Contains(report.Created, o) {
			t.Errorf("%s is not among %q", o, report.Created)
		}
	}
}

// The state before a change is played first. What only that has is deleted, and the change is what differs.
func TestChange(t *testing.T) {
	t.Parallel()
	example := "../../../examples/subscriptions"
	next := t.TempDir()
	if err := os.CopyFS(next, os.DirFS(example)); err != nil {
		t.Fatal(err)
	}
	production := filepath.Join(next, "clusters", "production")
	edit := func(name, old, now string) {
		data, err := os.ReadFile(filepath.Join(production, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(production, name), []byte(strings.ReplaceAll(string(data), old, now)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	edit("channel.yaml", "stable-v1", "stable-v2")
	edit("kustomization.yaml", "- nightly.yaml\n", "")
	if err := os.Remove(filepath.Join(production, "nightly.yaml")); err != nil {
		t.Fatal(err)
	}
	report := play(t, &rehearse.Request{Catalogs: []string{"olm/community=" + example + "/catalog"}},
		[]string{example + "/clusters/production"}, []string{production})
	want := "CSV backup/backup-operator.v2.0.0: Succeeded: InstallSucceeded: install strategy completed with no errors"
	if got := ends(report); !slices.Contains(got, want) {
		t.Errorf("%q", got)
	}
	if !slices.Contains(report.Deleted, "Backup backup/nightly") || slices.Contains(report.Created, "Namespace backup") {
		t.Errorf("created %q, deleted %q", report.Created, report.Deleted)
	}
}

// A catalog and a bundle are images of a registry, and the tree names the catalog only.
func TestImages(t *testing.T) {
	t.Parallel()
	registry, err := catalog.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Stop()
	image, err := registry.PushBundle("backup", "../../../examples/subscriptions/catalog/1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	image, err = registry.PushCatalog("catalog", fmt.Appendf(nil, `{"schema": "olm.package", "name": "backup-operator",
"defaultChannel": "a"}{"schema": "olm.channel", "package": "backup-operator", "name": "a", "entries":
[{"name": "backup-operator.v1.0.0"}]}{"schema": "olm.bundle", "package": "backup-operator", "name": "backup-operator.v1.0.0",
"image": %q, "properties": [{"type": "olm.package", "value": {"packageName": "backup-operator", "version": "1.0.0"}}]}`,
		image))
	if err != nil {
		t.Fatal(err)
	}
	report := play(t, &rehearse.Request{Source: source.Options{InsecureRegistries: []string{registry.Address}, Warn: t.Logf}},
		[]string{tree(t, `{apiVersion: operators.coreos.com/v1, kind: OperatorGroup, metadata: {name: g, namespace: backup}, spec: {targetNamespaces: [backup]}}
---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: c, namespace: olm}
spec: {sourceType: grpc, image: `+image+`}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: s, namespace: backup}
spec: {name: backup-operator, channel: a, source: c, sourceNamespace: olm}
`)})
	want := "CSV backup/backup-operator.v1.0.0: Succeeded: InstallSucceeded: install strategy completed with no errors"
	if got := ends(report); !slices.Contains(got, want) || report.Meets(false) {
		t.Errorf("%q\n%+v", got, report.Findings)
	}
}

// OLM v1 installs a bundle, updates it, and refuses a version whose CustomResourceDefinition drops what there is.
func TestOLMv1(t *testing.T) {
	t.Parallel()
	bundles := t.TempDir()
	for _, dir := range []string{"catalog/1.0.0", "next/1.1.0", "catalog/2.0.0"} {
		from := filepath.Join("../../../examples/subscriptions", dir)
		if err := os.CopyFS(filepath.Join(bundles, filepath.Base(dir)), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	extension := func(version string) []string {
		return []string{tree(t, `{apiVersion: v1, kind: Namespace, metadata: {name: backup}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: installer, namespace: backup}}
---
apiVersion: olm.operatorframework.io/v1
kind: ClusterExtension
metadata: {name: backup}
spec:
  namespace: backup
  serviceAccount: {name: installer}
  source: {sourceType: Catalog, catalog: {packageName: backup-operator, version: `+version+`}}
`)}
	}
	report := play(t, &rehearse.Request{OLMv1: true, Catalogs: []string{"community=" + bundles}},
		extension("1.0.0"), extension("1.1.0"), extension("2.0.0"))
	var got []string
	for _, p := range report.Played {
		got = append(got, p.Final[0].InstalledCSV+" "+p.Final[0].Phase)
	}
	want := []string{"backup-operator.v1.0.0 Succeeded", "backup-operator.v1.1.0 Succeeded", "backup-operator.v1.1.0 Retrying"}
	if !slices.Equal(got, want) || !report.Meets(false) || len(report.Prediction) > 0 {
		t.Errorf("%q %+v %+v", got, report.Findings, report.Prediction)
	}
}

// A dump's webhooks let everything pass, and its conversions change the version; neither a Secret nor a Service of them
// is in the dump.
func TestDumpIsAnswered(t *testing.T) {
	t.Parallel()
	dump := tree(t, `{apiVersion: v1, kind: Namespace, metadata: {name: shop, uid: n}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: carts.shop.example.com, uid: d}
spec:
  group: shop.example.com
  names: {kind: Cart, plural: carts}
  scope: Namespaced
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: convert, namespace: shop}}}
  versions:
  - &v {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
  - {<<: *v, name: v2, storage: false}
---
{apiVersion: shop.example.com/v2, kind: Cart, metadata: {name: mine, namespace: shop, uid: c}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: ask, uid: w}
webhooks:
- name: ask.shop.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {caBundle: Z29uZQ==, service: {name: ask, namespace: shop}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [configmaps]}]
`)
	report := play(t, &rehearse.Request{Dumps: []string{dump}},
		[]string{tree(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: new, namespace: shop}}\n")})
	if report.Meets(false) || report.Findings.Notes > 0 || !slices.Contains(report.Created, "ConfigMap shop/new") {
		t.Errorf("created %q, %+v", report.Created, report.Findings)
	}
}

// Programs that use more memory than they may end the rehearsal.
func TestMemory(t *testing.T) {
	t.Parallel()
	namespace := tree(t, "{apiVersion: v1, kind: Namespace, metadata: {name: a}}\n")
	_, err := run(t, &rehearse.Request{Memory: 1 << 20}, []string{namespace})
	if err == nil || !strings.Contains(err.Error(), "MiB of memory, and may use 1 MiB") {
		t.Error(err)
	}
}

// tree writes a file.
func tree(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tree.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// recording is a play.yaml: what was asked, and the ends of what a real OLM said.
type recording struct {
	Ask  [][]string
	Said []struct {
		Settle string
		Final  []string
		States []struct{ Line string }
	}
}

// varies has what is chance in a line: names of InstallPlans, identities, a namespace that older recordings leave out,
// and conditions that end by themselves.
var varies = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`InstallPlan [a-z0-9-]+/\[`), "InstallPlan ["},
	{regexp.MustCompile(` (InstallPlanPending|InstallPlanMissing|CatalogSourcesUnhealthy)=True [^;]*;`), ""},
	// the README of the plays: a dump of the moment after an update has it
	{regexp.MustCompile(` ResolutionFailed=True ConstraintsNotSatisfiable constraints not satisfiable: @existing/\S+ and @existing/[^;]*;`), ""},
}

func plain(line string) string {
	for _, v := range varies {
		line = v.pattern.ReplaceAllString(line, v.with)
	}
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), "|"))
}

// TestPlays plays what a real OLM was recorded with: it comes to the recorded ends.
func TestPlays(t *testing.T) {
	oracle := os.Getenv("OLMGEN_ORACLE")
	files, _ := filepath.Glob(filepath.Join(oracle, "plays", "*", "play.yaml"))
	if oracle == "" || len(files) == 0 {
		t.Skip("set OLMGEN_ORACLE to a directory with plays/*/play.yaml, the recordings of a real OLM")
	}
	programs(t, false)
	for _, file := range files {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var recorded recording
			if err := yaml.Unmarshal(data, &recorded); err != nil {
				t.Fatal(err)
			}
			r, paths, end := asked(dir, recorded)
			report := play(t, r, paths)
			compare(t, recorded, end, report.Played[0].Course)
		})
	}
}

// asked returns what is played again, and which of the recorded ends it must come to.
func asked(dir string, recorded recording) (r *rehearse.Request, paths []string, end string) {
	r, end = &rehearse.Request{}, "installation"
	if len(recorded.Ask) > 0 {
		for i, arg := range recorded.Ask[0] {
			switch name, content, named := strings.Cut(arg, "="); {
			case named:
				r.Catalogs = append(r.Catalogs, name+"="+filepath.Join(dir, content))
			case i > 0 && !strings.HasPrefix(arg, "-"):
				paths = append(paths, filepath.Join(dir, arg))
			}
		}
		return r, paths, end
	}
	catalog, dump := "catalog-1", "dump-before.json"
	if _, err := os.Stat(filepath.Join(dir, "dump-old.json")); err == nil { // an update
		catalog, dump, end = "catalog-2", "dump-old.json", "new release"
	} else if slices.ContainsFunc(recorded.Said, func(s struct {
		Settle string
		Final  []string
		States []struct{ Line string }
	}) bool {
		return s.Settle == "Subscription made again"
	}) {
		end = "Subscription made again"
	}
	r.Catalogs = []string{"olm/cat=" + filepath.Join(dir, catalog)}
	return r, []string{filepath.Join(dir, dump), filepath.Join(dir, "subscription.yaml")}, end
}

// compare compares the final lines. A CSV that OLM tries to install again and again agrees with each recorded state.
func compare(t *testing.T, recorded recording, end string, c *rehearse.Course) {
	t.Helper()
	var want, seen, got []string
	for _, s := range recorded.Said {
		if s.Settle != end {
			continue
		}
		for _, line := range s.Final {
			if !strings.HasPrefix(line, "ServiceAccount ") {
				want = append(want, plain(line))
			}
		}
		for _, state := range s.States {
			seen = append(seen, plain(state.Line))
		}
	}
	for _, s := range c.Final {
		got = append(got, plain(s.String()))
	}
	played := map[string]bool{}
	for _, m := range c.Course {
		played[plain(m.Line)] = true
	}
	for _, line := range want {
		i := slices.Index(got, line)
		if i < 0 { // one of those that it comes to again and again, which the course has
			csv, _, _ := strings.Cut(line, ": ")
			i = slices.IndexFunc(got, func(l string) bool {
				again := slices.Contains(seen, l) || played[line]
				return strings.HasPrefix(l, csv+": ") && again && !strings.Contains(l+line, ": Succeeded:")
			})
		}
		if i < 0 {
			t.Errorf("missing %q", line)
			continue
		}
		got = slices.Delete(got, i, i+1)
	}
	for _, line := range got {
		t.Errorf("not recorded %q", line)
	}
	if t.Failed() {
		for _, m := range c.Course {
			t.Logf("%5.1f %s", m.Seconds, m.Line)
		}
	}
}
