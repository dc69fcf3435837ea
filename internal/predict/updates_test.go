package predict_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/internal/crs/apiserver"
	"github.com/olmgen/olmgen/internal/kubernetes"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/source"
)

// release is a bundle of the operator boats.
type release struct {
	version, replaces string
	selector          string // of its Deployment
	mode              string // that it supports
	more              string // of the spec
	crd               string // versions of its CRD, "name type-of-spec.size"; the last one is stored
	conversion        string // a Service
	shipped           string // another object
}

func (r release) csv(namespace string) string {
	if r.mode == "" {
		r.mode = "OwnNamespace"
	}
	if r.replaces != "" {
		r.more += "  replaces: boats.v" + r.replaces + "\n"
	}
	if namespace != "" {
		namespace = ", namespace: " + namespace
	}
	api, _, _ := strings.Cut(r.crd[strings.LastIndex(r.crd, ",")+1:], " ")
	return fmt.Sprintf(`---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: boats.v%[1]s%[2]s}
spec:
  displayName: Boats
  version: %[1]s
%[3]s  installModes: [{type: %[4]s, supported: true}]
  customresourcedefinitions: {owned: [{name: boats.x.io, kind: Boat, version: %[5]s}]}
  install:
    strategy: deployment
    spec:
      deployments:
      - name: boats
        spec:
          selector: {matchLabels: {app: %[6]s}}
          template:
            metadata: {labels: {app: %[6]s}}
            spec: {containers: [{name: boats, image: registry.example.com/boats}]}
`, r.version, namespace, r.more, r.mode, api, r.selector)
}

func (r release) definition() string {
	var b strings.Builder
	b.WriteString(`---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.x.io}
spec:
  group: x.io
  scope: Namespaced
  names: {kind: Boat, plural: boats, singular: boat, listKind: BoatList}
`)
	if r.conversion != "" {
		fmt.Fprintf(&b, "  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], "+
			"clientConfig: {service: {name: %s, namespace: ops}}}}\n", r.conversion)
	}
	b.WriteString("  versions:\n")
	versions := strings.Split(r.crd, ",")
	for i, v := range versions {
		name, size, _ := strings.Cut(v, " ")
		fmt.Fprintf(&b, "  - {name: %s, served: true, storage: %t, schema: {openAPIV3Schema: {type: object, properties: "+
			"{spec: {type: object, properties: {size: {type: %s}}}}}}}\n", name, i == len(versions)-1, size)
	}
	return b.String()
}

// bundlesOf returns a directory of bundles as a catalog.
func bundlesOf(t *testing.T, releases []release) *catalog.Catalog {
	t.Helper()
	dir := t.TempDir()
	for _, r := range releases {
		for name, text := range map[string]string{
			"manifests/csv.yaml": r.csv(""), "manifests/crd.yaml": r.definition(), "manifests/other.yaml": r.shipped,
			"metadata/annotations.yaml": "annotations:\n" +
				"  operators.operatorframework.io.bundle.mediatype.v1: registry+v1\n" +
				"  operators.operatorframework.io.bundle.package.v1: boats\n" +
				"  operators.operatorframework.io.bundle.channels.v1: stable\n" +
				"  operators.operatorframework.io.bundle.channel.default.v1: stable\n"} {
			if text == "" {
				continue
			}
			file := filepath.Join(dir, r.version, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	c, err := catalog.Read(t.Context(), dir, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The updates that a catalog offers over what the tree has are judged as compare judges two releases.
func TestUpdates(t *testing.T) {
	const (
		group = "---\napiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: og, namespace: ops}\n" +
			"spec: {targetNamespaces: [ops]}\n"
		subscription = "---\napiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\n" +
			"metadata: {name: boats, namespace: ops}\n" +
			"spec: {name: boats, channel: stable, source: cat, sourceNamespace: olm}\n"
		boat   = "---\napiVersion: x.io/v1\nkind: Boat\nmetadata: {name: b, namespace: ops}\nspec: {size: 3}\n"
		locked = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\nimmutable: true\ndata: {k: %q}\n"
		other  = "---\napiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\n" +
			"metadata: {name: pier.v1.0.0, namespace: piers}\nspec:\n  displayName: Pier\n" +
			"  customresourcedefinitions: {%s: [{name: boats.x.io, kind: Boat, version: v1}]}\n" +
			"  install: {strategy: deployment, spec: {deployments: []}}\n" +
			"  installModes: [{type: AllNamespaces, supported: true}]\n"
	)
	one := release{version: "1.0.0", selector: "red", crd: "v1 integer"}
	two := release{version: "2.0.0", replaces: "1.0.0", selector: "red", crd: "v1 integer"}
	with := func(r release, change func(*release)) release {
		change(&r)
		return r
	}
	base := group + subscription + one.csv("ops")
	live := func(r release, stored string) string {
		return base + r.definition() + "status: {storedVersions: [" + stored + "]}\n"
	}
	strict := with(two, func(r *release) { r.crd = "v1 string" })
	const unfit = "error objects-unfit boats.v2.0.0 has a CRD boats.x.io that existing objects do not fit: " +
		"Boat ops/b (v1: spec.size: invalid value: must be of type string: \"integer\"): the InstallPlan fails"
	for name, tc := range map[string]struct {
		tree     string
		catalog  []release
		nobody   bool // judges custom resources
		want     string
		wantHint string
	}{
		"nothing against it": {tree: base + one.definition() + boat, catalog: []release{one, two}},
		"no update":          {tree: base + one.definition() + boat, catalog: []release{one}},
		"an object that is old": {tree: base + one.definition() + boat, catalog: []release{one, strict}, want: unfit,
			wantHint: "OLM updates boats.v1.0.0 to boats.v2.0.0 of catalog olm/cat: set installPlanApproval: Manual to keep it"},
		"approved by hand": {tree: strings.Replace(base, "source: cat", "installPlanApproval: Manual, source: cat", 1) +
			one.definition() + boat, catalog: []release{one, strict}, want: unfit,
			wantHint: "catalog olm/cat offers the update from boats.v1.0.0 to boats.v2.0.0: do not approve it before that is mended"},
		"the CRD is that of the catalog": {tree: base + boat, catalog: []release{one, strict}, want: unfit},
		"the CRD is not known": {tree: base + boat, catalog: []release{strict},
			want: "note not-looked-at not looked at: whether objects fit the CRDs of boats.v2.0.0: neither the tree nor the " +
				"catalog has CRD boats.x.io of boats.v1.0.0"},
		"only the status names what is installed": {
			tree:    group + subscription + "status: {installedCSV: boats.v1.0.0, currentCSV: boats.v1.0.0}\n" + boat,
			catalog: []release{one, strict}, want: unfit},
		"startingCSV is updated at once": {
			tree:    group + strings.Replace(subscription, "channel", "startingCSV: boats.v1.0.0, channel", 1) + boat,
			catalog: []release{one, strict}, want: unfit},
		"nobody judges custom resources": {tree: base + one.definition() + boat, catalog: []release{one,
			with(strict, func(r *release) { r.selector = "blue" })}, nobody: true,
			want: "error api-server-refuses boats.v2.0.0: it would fail with InstallComponentFailed: Deployment.apps \"boats\" is " +
				"invalid: spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"blue\"}}: field is immutable\n" +
				"note not-looked-at not looked at: whether existing objects fit CRD boats.x.io: custom resources need a Checker"},
		"a stored version goes": {tree: live(with(one, func(r *release) { r.crd = "v0 integer,v1 integer" }), "v0, v1"),
			catalog: []release{one, two}, want: "error stored-version boats.v2.0.0 drops v0 of CRD boats.x.io, which " +
				"status.storedVersions has: the InstallPlan fails (risk of data loss)"},
		"one that the step before has stored": {tree: live(one, "v1"), catalog: []release{one,
			with(two, func(r *release) { r.crd = "v1 integer,v2 integer" }),
			{version: "3.0.0", replaces: "2.0.0", selector: "red", crd: "v1 integer,v3 integer"}},
			want: "error stored-version boats.v3.0.0 drops v2 of CRD boats.x.io, which status.storedVersions has: the " +
				"InstallPlan fails (risk of data loss)"},
		"nothing follows an InstallPlan that fails": {tree: base + one.definition() + boat, catalog: []release{one, strict,
			{version: "3.0.0", replaces: "2.0.0", selector: "blue", crd: "v1 string"}}, want: unfit},
		"the second step": {tree: base + one.definition() + boat, catalog: []release{one, two,
			{version: "3.0.0", replaces: "2.0.0", selector: "red", crd: "v1 string"}},
			want: strings.ReplaceAll(unfit, "2.0.0", "3.0.0")},
		"an install mode that goes": {tree: base + one.definition(),
			catalog: []release{one, with(two, func(r *release) { r.mode = "AllNamespaces" })},
			want: "error install-mode boats.v2.0.0 does not support OwnNamespace, which its OperatorGroup asks for: it " +
				"fails with UnsupportedOperatorGroup"},
		"an object that is locked": {tree: base + one.definition() + "---\n" + strings.Replace(fmt.Sprintf(locked, "x"),
			"name: c", "name: c, namespace: ops", 1),
			catalog: []release{one, with(two, func(r *release) { r.shipped = fmt.Sprintf(locked, "y") })},
			want: "error install-plan-fails boats.v2.0.0: the InstallPlan fails: error updating configmap: c: ConfigMap \"c\" is invalid: " +
				"data: Forbidden: field is immutable when `immutable` is set"},
		"one of that name elsewhere": {tree: base + one.definition() + "---\n" + strings.Replace(fmt.Sprintf(locked, "x"),
			"name: c", "name: c, namespace: team", 1),
			catalog: []release{one, with(two, func(r *release) { r.shipped = fmt.Sprintf(locked, "y") })}},
		"nobody converts": {tree: base + one.definition(), catalog: []release{one, with(two, func(r *release) {
			r.crd, r.conversion = "v1 integer,v2 integer", "w"
		})}, want: "error conversion-webhook boats.v2.0.0 does not serve the conversion webhook of its CRD boats.x.io, " +
			"Service ops/w: requests for a version other than the stored one fail, and so does the next InstallPlan of OLM v0"},
		"another operator requires it": {tree: base + one.definition() + fmt.Sprintf(other, "required"),
			catalog: []release{one, with(two, func(r *release) { r.crd = "v2 integer" })},
			want: "error stored-version boats.v2.0.0 drops v1 of CRD boats.x.io, in which the older release stores objects: " +
				"the InstallPlan fails (risk of data loss)\n" +
				"error api-required pier.v1.0.0 requires Boat (x.io/v1), which boats.v2.0.0 does not provide any more: " +
				"OLM refuses the upgrade, or the ClusterServiceVersion fails with RequirementsNotMet"},
		"another operator owns it": {tree: base + one.definition() + fmt.Sprintf(other, "owned"),
			catalog: []release{one, with(two, func(r *release) { r.crd = "v1 integer,v2 integer" })},
			want:    "warning crd-owner pier.v1.0.0 owns CRD boats.x.io, too, and gets the one of boats.v2.0.0"},
	} {
		t.Run(name, func(t *testing.T) {
			read, err := tree.Read(t.Context(), []string{"-"}, tree.Options{Stdin: strings.NewReader(tc.tree)})
			if err != nil {
				t.Fatal(err)
			}
			o := predict.Options{Bundles: &catalog.Options{Source: source.Options{Offline: true}}, Checker: apiserver.Checker{}, API: kubernetes.Checker{},
				Catalogs: predict.Catalogs{Others: bundlesOf(t, tc.catalog)}}
			if tc.nobody {
				o.Checker = nil
			}
			r, err := predict.Check(t.Context(), read, o)
			if err != nil {
				t.Fatal(err)
			}
			ofCSVs := map[string]bool{"requirements-unknown": true, "NoOperatorGroup": true, "crd-owners": true,
				"no-bound-operator": true, "status-differs": true, "approval-needed": true}
			var got []string
			for _, f := range r.Findings {
				if ofCSVs[f.Rule] {
					continue
				}
				got = append(got, fmt.Sprintf("%s %s %s", f.Level, f.Rule, f.Message))
				if tc.wantHint != "" && f.Hint != tc.wantHint {
					t.Errorf("hint %q, want %q", f.Hint, tc.wantHint)
				}
			}
			if got := strings.Join(got, "\n"); got != tc.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tc.want)
			}
		})
	}
}
