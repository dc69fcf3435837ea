package bundle

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What OLM takes although it is probably not meant is rendered, with a warning.
func TestWarned(t *testing.T) {
	const csv = csvFile + ":"
	for _, c := range []struct {
		name   string
		change change
		want   []string // class: text
	}{
		{"nothing", func(*testing.T, files) {}, nil},
		{"CSV of another apiVersion", replace(csvFile, "operators.coreos.com/v1alpha1", "operators.coreos.com/v1"), []string{WarnAPIVersion + ": " + csv + "1: apiVersion: operators.coreos.com/v1: OLM takes the CSV for operators.coreos.com/v1alpha1"}},
		{"no apiVersion", replace(serviceFile, "apiVersion: v1\n", ""), []string{WarnAPIVersion + ": " + serviceFile + ":1: apiVersion: missing: taken for v1"}},
		{"ClusterRole of another API", replace(roleFile, "apiVersion: rbac.authorization.k8s.io/v1\n", "apiVersion: iam.services.k8s.aws/v1alpha1\n"), []string{WarnAPIVersion + ": " + roleFile + ":1: apiVersion: OLM v0 goes by the kind alone: it makes a ClusterRole of rbac.authorization.k8s.io/v1 of it, without the fields that this does not have"}},
		{"role without apiVersion", replace(roleFile, "apiVersion: rbac.authorization.k8s.io/v1\n", ""), []string{WarnAPIVersion + ": " + roleFile + ":1: apiVersion: missing: taken for rbac.authorization.k8s.io/v1"}},
		{"old role", replace(roleFile, "k8s.io/v1", "k8s.io/v1beta1"), []string{WarnOldAPI + ": " + roleFile + ":1: apiVersion: rbac.authorization.k8s.io/v1beta1 is not served any more: rendered as rbac.authorization.k8s.io/v1, as OLM does"}},
		{"old CRD", replace(crdFile, "apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"), []string{WarnOldCRD + ": " + crdFile + ":1: apiVersion: apiextensions.k8s.io/v1beta1 is not served by Kubernetes 1.22 and later, unless it is converted to v1"}},
		{"duplicate key of the metadata", put("metadata/z.yaml", "a: 1\na: 2\n"), []string{WarnDuplicateKey + ": metadata/z.yaml:2: a: the key occurs twice, the last one counts"}},
		{"duplicate key", replace(serviceFile, "  name: metrics\n", "  name: metric\n  name: metrics\n"), []string{WarnDuplicateKey + ": " + serviceFile + ":5: name: the key occurs twice, the last one counts"}},
		{"unknown install mode", replace(csvFile, "type: AllNamespaces", "type: EveryNamespace"), []string{WarnInstallMode + ": " + csv + `11: spec.installModes[1].type: "EveryNamespace" is not an install mode that OLM knows, so it supports nothing`}},
		{"no annotations", drop(annotationsFile), []string{
			WarnLayout + ": metadata/annotations.yaml: no annotations: package and channels are unknown, manifests/ is taken for the manifests",
			WarnLayout + `: metadata/annotations.yaml: operators.operatorframework.io.bundle.package.v1: missing: the package is taken to be "memcached-operator", after the CSV's name`}},
		{"no package", replace(annotationsFile, "  operators.operatorframework.io.bundle.package.v1: memcached-operator\n", ""), []string{
			WarnLayout + `: metadata/annotations.yaml: operators.operatorframework.io.bundle.package.v1: missing: the package is taken to be "memcached-operator", after the CSV's name`}},
		{"prose", put("manifests/README.md", "hello"), []string{WarnLayout + ": manifests/README.md: left out: not a Kubernetes object"}},
		{"property without a type", put("metadata/properties.yaml", "properties:\n- type: a\n  value: b\n- value: c\n- type: d\n"), []string{
			WarnProperty + ": metadata/properties.yaml:4: properties[1]: needs a type and a value: left out",
			WarnProperty + ": metadata/properties.yaml:5: properties[2]: needs a type and a value: left out"}},
		{"numbers without quotes", all(
			put("metadata/properties.yaml", "properties:\n- {type: a, value: 4.20}\n- {type: b, value: 4.5}\n- {type: c, value: yes}\n- {type: d, value: '4.20'}\n"),
			replace(annotationsFile, "annotations:\n", "annotations:\n  a: 1.10\n  b: 1.5\n  c: 'on'\n  d: 010\n  e: on\n")), []string{
			WarnProperty + `: metadata/annotations.yaml:2: annotations["a"]: 1.10 without quotes is read as 1.1`,
			WarnProperty + ": metadata/properties.yaml:2: properties[0].value: 4.20 without quotes is read as 4.2"}},
		{"misspelled dependencies", put("metadata/dependencies.yaml", "dependancies:\n- type: a\n  value: b\n"), []string{
			WarnUnknownField + ": metadata/dependencies.yaml:1: dependancies: no key of a bundle's metadata (did you mean dependencies?): left out, as OLM does"}},
		{"dependencies that are not YAML", put("metadata/dependencies.yaml", "dependencies:\n- type: a\n type: b\n"), []string{
			WarnUnreadMetadata + ": metadata/dependencies.yaml:3: left out: not YAML: did not find expected key"}},
		{"one object twice", put("manifests/z.yaml", strings.Replace(goodService, "name: metrics", "name: metrics\n  namespace: x", 1)), []string{
			WarnReplacedObject + ": " + serviceFile + ":4: metadata.name: left out: manifests/z.yaml:1 has a Service of the same name with other content, and the last one counts"}},
		{"equal objects", put("manifests/z.yaml", "# again\n"+goodService), nil},
		{"broken text", put("manifests/notes.txt", "a: ["), []string{WarnLayout + ": manifests/notes.txt: left out: not YAML"}},
		{"binary", put("manifests/icon.png", "\x89PNG\x00"), []string{WarnLayout + ": manifests/icon.png: left out: not YAML"}},
		{"object with another extension", put("manifests/x.crd", goodService2), nil},
		{"object without extension", put("manifests/x", goodService2), nil},
		{"dot-file", put("manifests/.gitkeep", ""), nil},
		{"dot-file with an ending", put("manifests/.x.yaml", "a: ["), nil},
		{"empty file", put("manifests/empty.yaml", ""), nil},
		{"not an object", put("manifests/values.yaml", "# mine\na: b\n"), []string{WarnNotAnObject + ": manifests/values.yaml:1: not a Kubernetes object (it has no kind): left out"}},
		{"two documents", put("manifests/z.yaml", "---\n"+strings.Replace(goodService, "metrics", "two", 1)+"---\n"+strings.Replace(goodService, "metrics", "three", 1)),
			[]string{WarnSeveralDocuments + ": manifests/z.yaml:9: OLM v0 reads only the first document of a file and loses this one"}},
		{"three documents", put("manifests/z.yaml", "a: b\n---\nc: d\n---\ne: f\n"), []string{
			WarnNotAnObject + ": manifests/z.yaml:1: not a Kubernetes object (it has no kind): left out",
			WarnSeveralDocuments + ": manifests/z.yaml:2: OLM v0 reads only the first document of a file and loses this one",
			WarnNotAnObject + ": manifests/z.yaml:2: not a Kubernetes object (it has no kind): left out",
			WarnNotAnObject + ": manifests/z.yaml:4: not a Kubernetes object (it has no kind): left out"}},
		{"license as a document", replace(serviceFile, "apiVersion: v1\n", "# license\n---\napiVersion: v1\n"), []string{
			WarnSeveralDocuments + ": " + serviceFile + ":1: the first document is empty or a comment: OLM fails to unpack such a file",
			WarnSeveralDocuments + ": " + serviceFile + ":2: OLM v0 reads only the first document of a file and loses this one"}},
		{"only comments", put("manifests/z.yaml", "# nothing\n"), []string{WarnSeveralDocuments + ": manifests/z.yaml:1: the first document is empty or a comment: OLM fails to unpack such a file"}},
		{"a List", put("manifests/z.yaml", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n"), []string{WarnSeveralDocuments + ": manifests/z.yaml:1: OLM does not install a List; its items are taken one by one"}},
		{"unknown field", replace(csvFile, "  version: 0.0.1\n", "  version: 0.0.1\n  icons: []\n"), []string{WarnUnknownField + ": " + csv + "8: spec.icons: not a field of a ClusterServiceVersion (did you mean icon?): OLM drops it"}},
		{"field of v1beta1 in a v1 CRD", replace(crdFile, "  scope: ", "  version: v1alpha1\n  scope: "), []string{WarnUnknownField + ": " + crdFile + ":10: spec.version: a field of v1beta1, which a v1 CRD does not have: left out, as OLM does"}},
		{"misspelled field of a CRD", replace(crdFile, "    plural: ", "    shortNamez: [mc]\n    plural: "), []string{
			WarnUnknownField + ": " + crdFile + ":9: spec.names.shortNamez: not a field of a CustomResourceDefinition (did you mean shortNames?): left out, as OLM does"}},
		{"misspelled field of a schema", replace(crdFile, "        type: object\n", "        type: object\n        properties: {a.b: {items: {minLenght: 1}}}\n"), []string{
			WarnUnknownField + ": " + crdFile + `:18: spec.versions[0].schema.openAPIV3Schema.properties["a.b"].items.minLenght: not a field of a CustomResourceDefinition (did you mean minLength?): left out, as OLM does`}},
		{"undeclared fields of a schema", replace(crdFile, "        type: object\n", "        type: object\n        x-descriptors: [a]\n"),
			[]string{WarnUnknownField + ": " + crdFile + ":18: spec.versions[0].schema.openAPIV3Schema.x-descriptors: not a field of a CustomResourceDefinition: left out, as OLM does"}},
		{"aggregated rules", put("manifests/z.yaml", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: z}\naggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}\nrules: []\n"), []string{
			WarnAggregatedRules + ": manifests/z.yaml:5: rules: the cluster fills in the rules of a ClusterRole with an aggregationRule: after that, server-side apply conflicts with it unless it is forced"}},
		{"aggregation only", put("manifests/z.yaml", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: z}\naggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}\nrules: null\n"), nil},
		{"unknown account", replace(csvFile, "              serviceAccountName: memcached-operator\n", "              serviceAccountName: nobody\n"), []string{
			WarnUnknownAccount + ": " + csv + `42: spec.install.spec.deployments[0].spec.template.spec.serviceAccountName: the Deployment memcached-operator runs as "nobody", an account that neither the CSV's permissions nor the bundle create`}},
		{"unknown account by its old field", replace(csvFile, "              serviceAccountName: memcached-operator\n", "              serviceAccount: nobody\n"), []string{
			WarnUnknownAccount + ": " + csv + `41: spec.install.spec.deployments[0].spec.template.spec.serviceAccountName: the Deployment memcached-operator runs as "nobody", an account that neither the CSV's permissions nor the bundle create`}},
		{"account of the bundle", all(replace(csvFile, "              serviceAccountName: memcached-operator\n", "              serviceAccountName: own\n"), put("manifests/sa.yaml", "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: own}\n")), nil},
		{"default account", replace(csvFile, "              serviceAccountName: memcached-operator\n", ""), nil},
		{"object in metadata", put("metadata/z.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"), []string{WarnMetadataObject + ": metadata/z.yaml:2: kind: a Kubernetes object in metadata/: OLM installs it, and so does olmgen"}},
		{"in the order of the files", all(put("manifests/a.yaml", "a: b\na: c\n"), replace(csvFile, "  version: 0.0.1\n", "  version: 0.0.1\n  icons: []\n"), replace(serviceFile, "apiVersion: v1\n", ""), put("manifests/z.yaml", "d: e\n")), []string{
			WarnNotAnObject + ": manifests/a.yaml:1: not a Kubernetes object (it has no kind): left out",
			WarnDuplicateKey + ": manifests/a.yaml:2: a: the key occurs twice, the last one counts",
			WarnUnknownField + ": " + csv + "8: spec.icons: not a field of a ClusterServiceVersion (did you mean icon?): OLM drops it",
			WarnAPIVersion + ": " + serviceFile + ":1: apiVersion: missing: taken for v1",
			WarnNotAnObject + ": manifests/z.yaml:1: not a Kubernetes object (it has no kind): left out"}},
	} {
		f := good()
		c.change(t, f)
		b, err := Read(f.fs(), ReadOptions{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.want, warnings(b)); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.name, diff)
		}
	}
}

// Of two objects of one name the last one stays. Where they are equal, that is only a note.
func TestReplacedObject(t *testing.T) {
	for _, c := range []struct {
		text, note string
		labelled   bool
	}{
		{goodService, serviceFile + ":4: metadata.name: Service metrics is in manifests/z.yaml:1 again, with equal content", false},
		{strings.Replace(goodService, "  name: metrics", "  labels: {a: b}\n  name: metrics", 1), "", true},
	} {
		f := good()
		f["manifests/z.yaml"] = c.text
		b, err := Read(f.fs(), ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var kept []string
		for _, o := range b.Others {
			if o.Kind == "Service" {
				kept = append(kept, fmt.Sprint(o.File, " ", o.Has("metadata", "labels")))
			}
		}
		note := ""
		for _, n := range b.Notes {
			note += n.Error()
		}
		if want := []string{fmt.Sprint("manifests/z.yaml ", c.labelled)}; !slices.Equal(kept, want) || note != c.note {
			t.Errorf("got %q with the note %q, want %q with %q", kept, note, want, c.note)
		}
	}
}

const goodService2 = "apiVersion: v1\nkind: Service\nmetadata: {name: second}\n"

// OLM reads every file of manifests/ that is not hidden; OLM v1 reads the hidden ones, too.
func TestFilesOfAnyExtension(t *testing.T) {
	for _, c := range []struct {
		name   string
		hidden bool
		want   bool
	}{
		{"manifests/a.crd", false, true},
		{"manifests/a", false, true},
		{"manifests/.a.yaml", false, false},
		{"manifests/.a.yaml", true, true},
		{"manifests/.a", true, true},
	} {
		f := good()
		f[c.name] = goodService2
		f["manifests/README.md"] = "hello"
		b, err := Read(f.fs(), ReadOptions{Hidden: c.hidden})
		if err != nil {
			t.Fatal(err)
		}
		without := good()
		without["manifests/README.md"] = "another"
		other, err := Read(without.fs(), ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(b.Others) > len(other.Others); got != c.want {
			t.Errorf("%s, hidden %v: read %v, want %v", c.name, c.hidden, got, c.want)
		}
		if same := b.Digest() == other.Digest(); same == c.want {
			t.Errorf("%s, hidden %v: the digest is that of a bundle without it: %v", c.name, c.hidden, same)
		}
	}
}

// A file that was left out can be why a bundle is refused.
func TestWarningsOfARefusedBundle(t *testing.T) {
	f := good()
	f["manifests/crd.txt"] = f[crdFile] + "\tbroken"
	delete(f, crdFile)
	_, err := Read(f.fs(), ReadOptions{})
	var e *WarnedError
	if !errors.As(err, &e) || len(e.Warnings) != 1 || e.Warnings[0].File != "manifests/crd.txt" {
		t.Errorf("%v: no warning of the file that was left out", err)
	}
}

func warnings(b *Bundle) []string {
	var out []string
	for _, w := range b.Warnings {
		out = append(out, w.Class+": "+w.Error.Error())
	}
	return out
}

// AllowUnsupported turns a refusal into a warning.
func TestAllowUnsupported(t *testing.T) {
	f := good()
	f["manifests/z.yaml"] = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: a}\n"
	b, err := Read(f.fs(), ReadOptions{AllowUnsupported: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{WarnUnsupportedKind + ": manifests/z.yaml:2: kind: OLM does not install DaemonSet of apps/v1 from a bundle"}, warnings(b)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
