package bundle

import (
	"errors"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/manifest"
)

// Each broken bundle is refused with the file, the line and the field at fault.
func TestRefused(t *testing.T) {
	const (
		dnsSubdomain = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com')"
		dnsLabel     = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name' or 'abc-123')"
		csv          = csvFile + ":"
	)
	bomb := "a0: &a0 [x]\n"
	for i := range 9 {
		a, b := string(rune('0'+i)), string(rune('1'+i))
		bomb += "a" + b + ": &a" + b + " [" + strings.Repeat("*a"+a+", ", 9) + "]\n"
	}
	for _, c := range []struct {
		name   string
		change change
		want   string
	}{
		// the layout
		{"no manifests", all(drop(csvFile), drop(crdFile), drop(roleFile), drop(serviceFile)), "manifests: no such directory, but the bundle's annotations say that its manifests are there"},
		{"nothing at all", func(_ *testing.T, f files) { clear(f) }, "manifests: no such directory: this is not a bundle"},
		{"a helm bundle", replace(annotationsFile, "registry+v1", "helm"),
			`metadata/annotations.yaml:2: annotations["operators.operatorframework.io.bundle.mediatype.v1"]: "helm" bundles can't be rendered, only registry+v1`},
		{"manifests outside", replace(annotationsFile, ": manifests/", ": ../manifests/"),
			`metadata/annotations.yaml:3: annotations["operators.operatorframework.io.bundle.manifests.v1"]: "../manifests/" is not a directory inside the bundle`},
		{"manifests at the root of the system", replace(annotationsFile, ": manifests/", ": /manifests/"),
			`metadata/annotations.yaml:3: annotations["operators.operatorframework.io.bundle.manifests.v1"]: "/manifests/" is not a directory inside the bundle`},
		{"annotation that is no text", replace(annotationsFile, ": memcached-operator", ": [a]"),
			`metadata/annotations.yaml:5: annotations["operators.operatorframework.io.bundle.package.v1"]: must be text`},
		{"a directory in the manifests", put("manifests/crds/a.yaml", goodCRD), "manifests/crds: a directory inside the manifests: OLM can't unpack such a bundle"},
		{"properties that are no list", put("metadata/properties.yaml", "properties: {type: a, value: b}\n"),
			"metadata/properties.yaml:1: properties: has the wrong type: want a list of type and value"},
		{"dependencies that are no list", put("metadata/dependencies.yaml", "# mine\ndependencies: olm.gvk\n"),
			"metadata/dependencies.yaml:2: dependencies: has the wrong type: want a list of type and value"},
		{"annotations that are a number", put(annotationsFile, "annotations: 7\n"),
			"metadata/annotations.yaml:1: annotations: has the wrong type: want a mapping of keys to text"},
		{"annotations that are a list", put(annotationsFile, "annotations:\n- a: b\n"),
			"metadata/annotations.yaml:1: annotations: has the wrong type: want a mapping of keys to text"},
		{"dependency without a value", put("metadata/dependencies.yaml", "dependencies:\n- type: olm.gvk\n"), "metadata/dependencies.yaml:2: dependencies[0]: needs a type and a value"},

		// the text
		{"not YAML", replace(serviceFile, "kind: Service", "kind: Service: x"), serviceFile + ":2: not YAML: mapping values are not allowed in this context"},
		{"tab", replace(serviceFile, "  name: metrics", "\tname: metrics"), serviceFile + ":4: not YAML: found character that cannot start any token"},
		{"not UTF-8", replace(serviceFile, "metrics", "metric\xff"), serviceFile + ":4: not UTF-8 text"},
		{"NUL", replace(serviceFile, "metrics", "metrics\x00"), serviceFile + ":4: has a NUL byte: not text"},
		{"annotations that are not YAML", replace(annotationsFile, "annotations:", "annotations"), "metadata/annotations.yaml:2: not YAML: mapping values are not allowed in this context"},
		{"a conflict", replace(serviceFile, "  name: metrics\n", "<<<<<<< HEAD\n  name: a\n=======\n  name: b\n>>>>>>> other\n"), serviceFile + ":4: a Git conflict that is not resolved"},
		{"large file", put("manifests/large.yaml", "a: "+strings.Repeat("x", 17<<20)), "manifests/large.yaml: the file is larger than 16 MiB"},
		{"alias bomb in metadata", put("metadata/bomb.yaml", bomb), "metadata/bomb.yaml:2: the document has more than 300000 values once its aliases are written out"},
		{"alias bomb in the CSV", replace(csvFile, "spec:\n  displayName", bomb+"spec:\n  displayName"), csv + "5: the document has more than 300000 values once its aliases are written out"},
		{"deep", put("manifests/deep.yaml", strings.Repeat("[", 300)+strings.Repeat("]", 300)), "manifests/deep.yaml:1: nested deeper than 200 levels"},
		{"a list", put("manifests/list.yaml", "# c\n- a\n"), "manifests/list.yaml:2: a Kubernetes object must be a mapping"},

		// the objects
		{"no CSV", drop(csvFile), "manifests: no ClusterServiceVersion"},
		{"two CSVs", put("manifests/z.yaml", goodCSV), "manifests/z.yaml:2: kind: a second ClusterServiceVersion, the first is in " + csvFile + ":1"},
		{"no name", replace(serviceFile, "  name: metrics\n", "  labels: {}\n"), serviceFile + ":3: metadata.name: missing"},
		{"generated name", replace(serviceFile, "  name: metrics\n", "  generateName: metrics-\n"), serviceFile + ":3: metadata.name: missing"},
		{"bad name", replace(crdFile, "name: memcacheds.cache.example.com", "name: Memcacheds.cache.example.com"), crdFile + `:4: metadata.name: "Memcacheds.cache.example.com" is not a valid name: ` + dnsSubdomain},
		{"bad name of a Service", replace(serviceFile, "name: metrics", "name: 1metrics"), serviceFile + `:4: metadata.name: "1metrics" is not a valid name: ` + dnsLabel},
		{"bad name of a role", replace(roleFile, "name: metrics-reader", "name: metrics/reader"), roleFile + `:4: metadata.name: "metrics/reader" is not a valid name: may not contain '/'`},
		{"name that is a number", replace(serviceFile, "name: metrics", "name: 15"), serviceFile + `:4: metadata.name: must be text, not "15" (quote it)`},
		{"unsupported kind", put("manifests/z.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"), "manifests/z.yaml:2: kind: OLM does not install Namespace of v1 from a bundle"},
		{"unsupported object without apiVersion", put("manifests/z.yaml", "kind: Pod\nmetadata: {name: a}\n"), "manifests/z.yaml:1: apiVersion: missing"},
		{"List in a List", put("manifests/z.yaml", "apiVersion: v1\nkind: List\nitems:\n- kind: List\n  items: []\n"), "manifests/z.yaml:4: items[0]: a List inside a List"},
		{"CRD of another version", replace(crdFile, "apiextensions.k8s.io/v1", "apiextensions.k8s.io/v2"), crdFile + `:1: apiVersion: "apiextensions.k8s.io/v2" is not a version of CustomResourceDefinition, want apiextensions.k8s.io/v1`},
		{"CRD without apiVersion", replace(crdFile, "apiVersion: apiextensions.k8s.io/v1\n", ""), crdFile + `:1: apiVersion: "" is not a version of CustomResourceDefinition, want apiextensions.k8s.io/v1`},
		{"CRD with a number for a version", replace(crdFile, "- name: v1", "- name: 1"), crdFile + ":12: spec.versions[0].name: has the wrong type: want text"},
		{"CRD with a text for a boolean", replace(crdFile, "served: true", "served: 'true'"), crdFile + ":13: spec.versions[0].served: has the wrong type: want true or false"},

		{"CRD with a text for a number", replace(crdFile, "        type: object\n", "        type: object\n        maximum: \"10\"\n"),
			crdFile + ":18: spec.versions[0].schema.openAPIV3Schema.maximum: has the wrong type: text, want a number"},
		{"CRD with a text for a list", replace(crdFile, "        type: object\n", "        type: object\n        required: size\n"),
			crdFile + ":18: spec.versions[0].schema.openAPIV3Schema.required: has the wrong type: text, want a list"},
		{"CRD with a number for a name", replace(crdFile, "plural: memcacheds", "plural: memcacheds\n    shortNames: mc"),
			crdFile + ":10: spec.names.shortNames: has the wrong type: text, want a list"},

		// the CSV's fields
		{"CSV without apiVersion", replace(csvFile, "apiVersion: operators.coreos.com/v1alpha1\n", ""), csv + "1: apiVersion: missing"},
		{"long CSV name", replace(csvFile, "name: memcached-operator.v0.0.1", "name: "+strings.Repeat("m", 64)), csv + "4: metadata.name: longer than 63 characters: OLM writes it into labels, and the API server refuses those"},
		{"another strategy", replace(csvFile, "strategy: deployment", "strategy: helm"), csv + `19: spec.install.strategy: unrecognized install strategy "helm", want "deployment"`},
		{"install mode twice", replace(csvFile, "type: AllNamespaces", "type: OwnNamespace"), csv + "11: spec.installModes[1].type: InstallMode list contains duplicates, cannot make set: OwnNamespace occurs twice"},
		{"number in env", replace(csvFile, `"8080"`, "8080"), csv + "48: spec.install.spec.deployments[0].spec.template.spec.containers[0].env[0].value: has the wrong type: a number, want text (quote it)"},
		{"text for replicas", replace(csvFile, "replicas: 1", "replicas: one"), csv + "35: spec.install.spec.deployments[0].spec.replicas: has the wrong type: text, want a whole number"},
		{"bad quantity", replace(csvFile, "64Mi", "64 MB"), csv + "51: spec.install.spec.deployments[0].spec.template.spec.containers[0].resources.limits.memory: is no quantity, such as 100m, 0.5 or 1Gi"},
		{"bad version", replace(csvFile, "version: 0.0.1", "version: v0.0.1-"), csv + `7: spec.version: has a wrong value: Prerelease is empty`},
		{"version that is a number", replace(csvFile, "version: 0.0.1", "version: 1.0"), csv + "7: spec.version: has the wrong type: a number, want text (quote it)"},

		// what the CSV owns
		{"owned CRD missing", drop(crdFile), csv + "15: spec.customresourcedefinitions.owned[0].name: the bundle has no CustomResourceDefinition memcacheds.cache.example.com"},
		{"owned version missing", replace(csvFile, "version: v1\n", "version: v2\n"), csv + `16: spec.customresourcedefinitions.owned[0].version: the CustomResourceDefinition memcacheds.cache.example.com (` + crdFile + `) has no version "v2"`},
		{"owned kind differs", replace(csvFile, "kind: Memcached\n", "kind: Memcache\n"), csv + `17: spec.customresourcedefinitions.owned[0].kind: the CustomResourceDefinition memcacheds.cache.example.com (` + crdFile + `) is for the kind "Memcached", not "Memcache"`},
		{"owned name without a dot", replace(csvFile, "name: memcacheds.cache.example.com", "name: memcacheds"), csv + `15: spec.customresourcedefinitions.owned[0].name: error parsing crd name: "memcacheds" has no dot, want <plural>.<group>`},

		// permissions
		{"rule without verbs", replace(csvFile, "          resources: [configmaps]\n          verbs: [get]", "          resources: [configmaps]"), csv + "24: spec.install.spec.permissions[0].rules[0]: rule invalid: policy rule must have at least one verb"},
		{"URLs in permissions", replace(csvFile, "- apiGroups: [\"\"]\n          resources: [configmaps]", "- nonResourceURLs: [/healthz]"),
			csv + "24: spec.install.spec.permissions[0].rules[0]: nonResourceURLs: namespaced rules cannot apply to non-resource URLs"},
		{"URLs and resources", replace(csvFile, "nonResourceURLs: [/metrics]", "nonResourceURLs: [/metrics]\n          resources: [pods]"),
			csv + "30: spec.install.spec.clusterPermissions[0].rules[0]: rule invalid: rule cannot apply to both regular resources and non-resource URLs"},
		{"rule without groups", replace(csvFile, "- apiGroups: [\"\"]\n          resources: [configmaps]", "- resources: [configmaps]"), csv + "24: spec.install.spec.permissions[0].rules[0]: resource rules must supply at least one api group"},
		{"rule without resources", replace(csvFile, "\n          resources: [configmaps]", ""), csv + "24: spec.install.spec.permissions[0].rules[0]: resource rules must supply at least one resource"},
		{"account without a name", replace(csvFile, "permissions:\n      - serviceAccountName: memcached-operator", "permissions:\n      - serviceAccountName: \"\""),
			csv + "22: spec.install.spec.permissions[0].serviceAccountName: empty: OLM can't make an account without a name"},
		{"account with a bad name", replace(csvFile, "clusterPermissions:\n      - serviceAccountName: memcached-operator", "clusterPermissions:\n      - serviceAccountName: system:x"),
			csv + `28: spec.install.spec.clusterPermissions[0].serviceAccountName: "system:x" is not a valid name: ` + dnsSubdomain},
		{"shipped rule without verbs", replace(roleFile, "\n  verbs: [get]", ""), roleFile + ":6: rules[0].verbs: verbs must contain at least one value"},
		{"shipped rule for URLs and resources", replace(roleFile, "verbs: [get]", "verbs: [get]\n  apiGroups: [\"\"]\n  resources: [pods]"), roleFile + ":6: rules[0]: rule invalid: rule cannot apply to both regular resources and non-resource URLs"},
		{"shipped Role for URLs", replace(roleFile, "kind: ClusterRole", "kind: Role"), roleFile + ":6: rules[0]: nonResourceURLs: namespaced rules cannot apply to non-resource URLs"},
		{"shipped rules of a wrong type", replace(roleFile, "[get]", "get"), roleFile + ":7: rules[0].verbs: has the wrong type: text, want a list"},

		// Deployments
		{"Deployment twice", replace(csvFile, "      deployments:\n", "      deployments:\n      - name: memcached-operator\n"), csv + "34: spec.install.spec.deployments[1].name: a second Deployment memcached-operator"},
		{"Deployment with a bad name", replace(csvFile, "- name: memcached-operator", "- name: Memcached"), csv + `33: spec.install.spec.deployments[0].name: "Memcached" is not a valid name: ` + dnsSubdomain},
		{"Deployment without a name", replace(csvFile, "- name: memcached-operator", "- label: {}"), csv + `33: spec.install.spec.deployments[0].name: "" is not a valid name: ` + dnsSubdomain},

		// files that are cut off
		{"CSV cut before its strategy", put(csvFile, strings.TrimSpace(cut(goodCSV, "    strategy"))), csv + "18: the file is truncated: its last line has no end, and spec.install.strategy is missing"},
		{"CRD cut before its versions", put(crdFile, strings.TrimSpace(cut(goodCRD, "  versions"))), crdFile + ":10: the file is truncated: its last line has no end, and spec.version is missing"},
		{"CRD cut in its last version", put(crdFile, strings.TrimSpace(cut(goodCRD, "    storage"))), crdFile + ":13: the file is truncated: its last line has no end, and spec.versions[0].storage is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := good()
			c.change(t, f)
			_, err := Read(f.fs(), ReadOptions{})
			if err == nil || err.Error() != c.want {
				t.Fatalf("got  %v\nwant %s", err, c.want)
			}
			if _, ok := errors.AsType[*manifest.Error](err); !ok {
				t.Errorf("a %T, want a *manifest.Error", err)
			}
		})
	}
}

// cut returns a text up to a part of it.
func cut(text, at string) string {
	before, _, _ := strings.Cut(text, at)
	return before
}

// A whole file whose last line has no end is read.
func TestUnended(t *testing.T) {
	f := good()
	for name, text := range f {
		f[name] = strings.TrimSuffix(text, "\n")
	}
	if _, err := Read(f.fs(), ReadOptions{}); err != nil {
		t.Error(err)
	}
}

// What a person can do about an error is said in a hint.
func TestHints(t *testing.T) {
	for _, c := range []struct {
		name   string
		change change
		want   string
	}{
		{"nothing at all", func(_ *testing.T, f files) { clear(f) }, "give the directory that holds manifests/ and metadata/"},
		{"a directory in the manifests", put("manifests/crds/a.yaml", goodCRD), "move its files up into manifests"},
		{"no CSV", drop(csvFile), "a bundle needs exactly one object of kind ClusterServiceVersion"},
		{"unsupported kind", put("manifests/z.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"), "remove it from the bundle, or allow it"},
		{"URLs in permissions", replace(csvFile, "- apiGroups: [\"\"]\n          resources: [configmaps]", "- nonResourceURLs: [/healthz]"), "rules for URLs belong in clusterPermissions, separate from rules for resources"},
		{"a conflict", replace(serviceFile, "  name: metrics\n", "<<<<<<< HEAD\n  name: a\n=======\n  name: b\n>>>>>>> other\n"), "edit the file so that it has one of the two sides, or take either side of a file that olmgen writes and render again"},
		{"tab", replace(serviceFile, "  name: metrics", "\tname: metrics"), "look for a tab in the indentation, a missing quote or a missing colon near that line"},
	} {
		f := good()
		c.change(t, f)
		_, err := Read(f.fs(), ReadOptions{})
		var e *manifest.Error
		if !errors.As(err, &e) || e.Hint() != c.want {
			t.Errorf("%s: %v: hint %q, want %q", c.name, err, e.Hint(), c.want)
		}
	}
}
