package generate

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/bundle"
)

const richCSV = allModes + ownsMemcached + `
version: 0.0.1
description: Caches.
icon: [{base64data: aWNvbg==, mediatype: image/png}]
keywords: [cache]
links: [{name: site, url: "https://example.com"}]
maintainers: [{name: M, email: m@example.com}]
maturity: alpha
provider: {name: Example}
minKubeVersion: 1.20.0
replaces: memcached-operator.v0.0.0
relatedImages: [{name: a, image: b}]
`

func TestStub(t *testing.T) {
	long := fromYAML[map[string]any](t, `
displayName: Memcached
description: Caches.
icon: [{base64data: aWNvbg==, mediatype: image/png}]
keywords: [cache]
links: [{name: site}]
maintainers: [{name: M}]
maturity: alpha
provider: {name: Example}
version: 0.0.1
install: {strategy: deployment, spec: {deployments: [{name: d}]}}
installModes: [{type: OwnNamespace, supported: true}]
minKubeVersion: 1.20.0
replaces: x.v0.0.0
relatedImages: [{name: a}]
webhookdefinitions: [{generateName: w}]
customresourcedefinitions:
  owned:
  - {name: a.b, version: v1, kind: A, displayName: An A, description: It is, resources: [{kind: Pod}], specDescriptors: [{path: size}]}
  required:
  - {name: c.d, version: v1, kind: C}
apiservicedefinitions:
  owned:
  - {name: n, group: g, version: v1, kind: N, deploymentName: d, containerPort: 443}
`)
	checkYAML(t, "stub", stub(long), `
displayName: Memcached
description: Caches.
icon: [{base64data: aWNvbg==, mediatype: image/png}]
keywords: [cache]
links: [{name: site}]
maintainers: [{name: M}]
maturity: alpha
provider: {name: Example}
version: 0.0.1
install: {strategy: deployment}
customresourcedefinitions:
  owned:
  - {name: a.b, version: v1, kind: A, displayName: An A, description: It is}
apiservicedefinitions:
  owned:
  - {name: n, group: g, version: v1, kind: N}
`)
	// the CSV's schema requires these two
	checkYAML(t, "stub of nothing", stub(map[string]any{}), `{displayName: "", install: {strategy: deployment}}`)
}

// Copies lose the targets and what kubectl and the Operator API left; a stub keeps two annotations only.
func TestCopiedCSV(t *testing.T) {
	const annotations = `{alm-examples: "[]", olm.targetNamespaces: wrong, kubectl.kubernetes.io/last-applied-configuration: "{}"}`
	for _, c := range []struct {
		name        string
		o           Options
		csv         bool
		annotations string
		labels      string
		replaces    bool
	}{
		{name: "stub", csv: true, annotations: `{olm.operatorGroup: memcached, olm.operatorNamespace: operators}`, labels: `{olm.copiedFrom: operators}`},
		{name: "full", o: Options{CopiedCSVs: CopiedFull}, csv: true, replaces: true, labels: `{olm.copiedFrom: operators}`,
			annotations: `{alm-examples: "[]", olm.operatorGroup: memcached, olm.operatorNamespace: operators}`},
		{name: "stub with OLM's names", o: Options{Names: NamesOLM}, csv: true,
			annotations: `{olm.operatorGroup: memcached, olm.operatorNamespace: operators}`, labels: `{olm.copiedFrom: operators, olm.managed: "true"}`},
		{name: "none", o: Options{CopiedCSVs: CopiedNone}},
		{name: "plain", o: Options{Profile: ProfilePlain}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.TargetNamespaces = []string{"a", "operators", "b"}
			got := rendered(t, annotatedBundle(t, annotations, richCSV, memcachedCRD), c.o)
			for _, ns := range []string{"a", "b"} {
				o := got["ClusterServiceVersion "+ns+"/memcached-operator.v0.0.1"]
				if (o != nil) != c.csv {
					t.Fatalf("a copy in %s: %v", ns, o != nil)
				}
				if o == nil {
					continue
				}
				checkYAML(t, "annotations", at(t, o, "metadata", "annotations"), c.annotations)
				checkYAML(t, "labels", at(t, o, "metadata", "labels"), c.labels)
				if _, ok := at(t, o, "spec").(map[string]any)["replaces"]; ok != c.replaces {
					t.Errorf("spec.replaces: %v", ok)
				}
			}
			installed := got["ClusterServiceVersion operators/memcached-operator.v0.0.1"]
			if c.o.Profile == ProfilePlain {
				if installed != nil {
					t.Error("a CSV for a cluster without OLM")
				}
				return
			}
			if targets := at(t, installed, "metadata", "annotations", "olm.targetNamespaces"); targets != "a,b,operators" {
				t.Errorf("%s: %v", "olm.targetNamespaces", targets)
			}
			if labels, _ := at(t, installed, "metadata").(map[string]any)["labels"].(map[string]any); labels["olm.copiedFrom"] != nil {
				t.Error("the CSV itself is marked as a copy")
			}
		})
	}
}

func TestCopiedCSVsInAllNamespaces(t *testing.T) {
	b := testBundle(t, richCSV, memcachedCRD)
	none := rendered(t, b, Options{})
	some := rendered(t, b, Options{CopiedCSVNamespaces: []string{"a"}})
	if none["ClusterServiceVersion a/memcached-operator.v0.0.1"] != nil || some["ClusterServiceVersion a/memcached-operator.v0.0.1"] == nil {
		t.Error("copies are made exactly in the namespaces that are named")
	}
}

func TestPropertiesAnnotation(t *testing.T) {
	property := func(kind, value string) bundle.Property {
		return bundle.Property{Type: kind, Value: json.RawMessage(value)}
	}
	const requires = allModes + `
version: 0.0.1
customresourcedefinitions:
  owned:
  - {name: memcacheds.cache.example.com, version: v1alpha1, kind: Memcached}
  required:
  - {name: etcdclusters.etcd.example.com, version: v1, kind: EtcdCluster}
apiservicedefinitions:
  required:
  - {name: nodes, group: metrics.example.com, version: v1, kind: NodeMetrics}
`
	const etcd = `{"type":"olm.gvk.required","value":{"group":"etcd.example.com","kind":"EtcdCluster","version":"v1"}}`
	const nodes = `{"type":"olm.gvk.required","value":{"group":"metrics.example.com","kind":"NodeMetrics","version":"v1"}}`
	const ownedAPI = `{"type":"olm.gvk","value":{"group":"cache.example.com","kind":"Memcached","version":"v1alpha1"}}`
	const ownPackage = `{"type":"olm.package","value":{"packageName":"memcached","version":"0.0.1"}}`
	const dependency = `{"type":"olm.package.required","value":{"packageName":"etcd","versionRange":"\u003e=1.0.0 \u003c2.0.0 \u0026"}}`

	minimal := testBundle(t, allModes+"version: 0.0.1\n")
	full := annotatedBundle(t, `{olm.properties: '[{"type": "z.annotated", "value": {"a":  1}}, {"type": "a.annotated", "value": "x"}]'}`, requires, memcachedCRD)
	full.Dependencies = []bundle.Property{property("olm.package", `{"packageName":"etcd","version":">=1.0.0 <2.0.0 &"}`), property("olm.constraint", `{"all":1}`)}
	full.Properties = []bundle.Property{property("m.own", `true`), property("m.own", `false`), property("m.own", `true`)}

	for _, c := range []struct {
		name    string
		b       *bundle.Bundle
		catalog []bundle.Property
		want    string
	}{
		{"the package alone", minimal, nil, `{"properties":[` + ownPackage + `]}`},
		{"sorted by type and value, once each; requirements once more at the end", full, nil, `{"properties":[` +
			`{"type":"a.annotated","value":"x"},{"type":"m.own","value":false},{"type":"m.own","value":true},` +
			`{"type":"olm.constraint","value":{"all":1}},` + ownedAPI + `,` + etcd + `,` + nodes + `,` + ownPackage + `,` + dependency +
			`,{"type":"z.annotated","value":{"a":1}},` + etcd + `,` + nodes + `,` + dependency + `]}`},
		{"a catalog's as they are", full, []bundle.Property{property("z", `1`), property("olm.package.required", `{"packageName":"x","versionRange":">1"}`), property("a", `1`)},
			`{"properties":[{"type":"z","value":1},{"type":"olm.package.required","value":{"packageName":"x","versionRange":"\u003e1"}},{"type":"a","value":1}]}`},
		{"a catalog without any", full, []bundle.Property{}, `{}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, propertiesAnnotation(c.b, c.catalog)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if len(full.Properties) != 3 {
		t.Error("the bundle's own list was changed")
	}
}

// The Go type writes structures that the CSV does not have; they are left out, and what the CSV says stays. Lists that the CSV's schema
// requires are there even if they are empty.
func TestCSVSpec(t *testing.T) {
	const empty = "{type: OwnNamespace, supported: true}"
	const noInstall = "\ninstall: {strategy: deployment, spec: {deployments: []}}"
	for _, c := range []struct{ name, spec, want string }{
		{"the least", "installModes: [" + empty + "]" + noInstall, `
displayName: Memcached
install: {strategy: deployment, spec: {deployments: []}}
installModes: [` + empty + `]
`},
		{"everything given empty", "installModes: [" + empty + "]\nversion: 0.0.0\nprovider: {}\ncleanup: {enabled: false}\ncustomresourcedefinitions: {}\napiservicedefinitions: {}" + noInstall, `
displayName: Memcached
version: 0.0.0
install: {strategy: deployment, spec: {deployments: []}}
installModes: [` + empty + `]
`},
		{"no strategy at all", "installModes: [" + empty + "]\ninstall: {strategy: deployment}", `
displayName: Memcached
install: {strategy: deployment, spec: {deployments: []}}
installModes: [` + empty + `]
`},
		{"nulls in what is the author's own", "customresourcedefinitions:\n  required:\n  - {name: a.b, version: v1, kind: A, specDescriptors: [{path: p, value: {x: null}}]}\ninstallModes: [" + empty + "]" + noInstall, `
displayName: Memcached
customresourcedefinitions: {required: [{name: a.b, version: v1, kind: A, specDescriptors: [{path: p, value: {x: null}}]}]}
install: {strategy: deployment, spec: {deployments: []}}
installModes: [` + empty + `]
`},
		{"everything given", `
installModes: [` + empty + `]
version: 1.2.3
provider: {name: P}
cleanup: {enabled: true}
install:
  strategy: deployment
  spec:
    permissions: [{serviceAccountName: a}]
    deployments:
    - name: d
      spec:
        selector: {matchLabels: {a: b}}
        strategy: {type: Recreate}
        template:
          spec:
            initContainers: [{name: i, image: i, resources: {}}]
            containers:
            - {name: c, image: c}
            - {name: e, image: e, resources: {limits: {cpu: 1}}}
            volumes: [{name: v, emptyDir: {}}]
`, `
displayName: Memcached
version: 1.2.3
provider: {name: P}
cleanup: {enabled: true}
installModes: [` + empty + `]
install:
  strategy: deployment
  spec:
    permissions: [{serviceAccountName: a, rules: []}]
    deployments:
    - name: d
      spec:
        selector: {matchLabels: {a: b}}
        strategy: {type: Recreate}
        template:
          spec:
            initContainers: [{name: i, image: i}]
            containers:
            - {name: c, image: c}
            - {name: e, image: e, resources: {limits: {cpu: "1"}}}
            volumes: [{name: v, emptyDir: {}}]
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := rendered(t, testBundle(t, c.spec), Options{InstallMode: own})["ClusterServiceVersion operators/memcached-operator.v0.0.1"]
			checkYAML(t, "spec", at(t, got, "spec"), c.want)
		})
	}
}

// What the catalog says the CSV replaces is written with either names, "" too.
func TestReplaces(t *testing.T) {
	b := testBundle(t, richCSV, memcachedCRD)
	for _, c := range []struct {
		replaces *string
		want     any
	}{{nil, "memcached-operator.v0.0.0"}, {new("other.v1"), "other.v1"}, {new(""), nil}} {
		got := rendered(t, b, Options{Replaces: c.replaces})["ClusterServiceVersion operators/memcached-operator.v0.0.1"]
		if x := at(t, got, "spec").(map[string]any)["replaces"]; x != c.want {
			t.Errorf("replaces %v, want %v", x, c.want)
		}
	}
}

func TestInstalledCSVLeavesTheBundleAlone(t *testing.T) {
	b := testBundle(t, richCSV, memcachedCRD)
	before := b.CSV.DeepCopy()
	rendered(t, b, Options{Names: NamesOLM, Replaces: new("x.v1")})
	if diff := cmp.Diff(before, b.CSV); diff != "" {
		t.Errorf("rendering changed the bundle:\n%s", diff)
	}
}
