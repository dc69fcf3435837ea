package catalog

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/source"
)

const nested, flat, deeper = "testdata/packages/nested", "testdata/packages/flat", "testdata/packages/deeper"

func TestPackageManifest(t *testing.T) {
	tests := []struct {
		dir                      string
		channel, version, chosen string
		files                    []string
	}{
		{nested, "", "", "etcd.v0.10.0", []string{"manifests/account.json", "manifests/etcd.csv.yaml", "manifests/etcdclusters.crd.yaml", "metadata/annotations.yaml"}},
		{nested, "stable", "", "etcd.v0.9.0", []string{"manifests/etcd.csv.yaml", "manifests/etcdclusters.crd.yaml", "metadata/annotations.yaml"}},
		{nested, "", "0.6.1", "etcd.v0.6.1", []string{"manifests/etcd.csv.yaml", "metadata/annotations.yaml"}},
		{nested, "", "v0.9.1", "etcd.v0.9.1", []string{"manifests/etcd.csv.yaml", "metadata/annotations.yaml"}},
		{nested, "alpha", "etcd.v0.9.1", "etcd.v0.9.1", []string{"manifests/etcd.csv.yaml", "metadata/annotations.yaml"}},
		{flat, "", "", "etcd.v2.0.0", []string{"manifests/config.yaml", "manifests/etcd.v2.csv.yaml", "manifests/etcdclusters.v1.crd.yaml", "metadata/annotations.yaml"}},
		{flat, "", "1.0.0", "etcd.v1.0.0", []string{"manifests/config.yaml", "manifests/etcd.v1.csv.yaml", "manifests/etcdclusters.v1alpha1.crd.yaml", "metadata/annotations.yaml"}},
		{deeper, "", "", "etcd.v1.0.0", []string{"manifests/crds-etcd-clusters.yaml", "manifests/etcd.csv.yaml", "metadata/annotations.yaml"}},
		{deeper, "", "releases/1.0.0", "etcd.v1.0.0", []string{"manifests/crds-etcd-clusters.yaml", "manifests/etcd.csv.yaml", "metadata/annotations.yaml"}},
	}
	for _, test := range tests {
		t.Run(test.dir+" "+test.channel+" "+test.version, func(t *testing.T) {
			s := open(t, test.dir, choose("", test.channel, test.version))
			same(t, "kind", s.Kind, "packagemanifest")
			files := contents(t, s.FS)
			same(t, "files", slices.Sorted(maps.Keys(files)), test.files)
			found := false
			for _, content := range files {
				found = found || strings.Contains(content, "kind: ClusterServiceVersion\nmetadata:\n  name: "+test.chosen+"\n")
			}
			if !found {
				t.Errorf("the CSV is not %s", test.chosen)
			}
		})
	}
}

func TestPackageManifestAnnotations(t *testing.T) {
	s := open(t, nested, choose("", "", "0.9.0"))
	same(t, "annotations", contents(t, s.FS)["metadata/annotations.yaml"], `annotations:
  operators.operatorframework.io.bundle.channel.default.v1: alpha
  operators.operatorframework.io.bundle.channels.v1: alpha,stable
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: etcd
`)
	if got := contents(t, open(t, nested, choose("", "", "0.6.1")).FS)["metadata/annotations.yaml"]; strings.Contains(got, "channels.v1") {
		t.Errorf("a version in no channel has one: %s", got)
	}
}

func TestPackageManifestWarnings(t *testing.T) {
	for _, test := range []struct {
		dir  string
		want []string
	}{
		{nested, []string{nested + `/0.6.1: "etcd.v0.6.1" is in no channel`}},
		{flat, []string{flat + `/config.yaml: used for every version in the directory`}},
		{deeper, nil},
	} {
		o := Options{}
		list := warnings(&o)
		open(t, test.dir, o)
		same(t, test.dir, *list, test.want)
	}
}

// The rules for loading a package that the OpenShift documentation gives, and what else cannot be read.
func TestPackageManifestRules(t *testing.T) {
	const manifest = "packageName: etcd\nchannels: [{name: alpha, currentCSV: a}]\n"
	const csvA = "kind: ClusterServiceVersion\nmetadata: {name: a}\nspec: {version: 1.0.0}\n"
	tests := []struct {
		name     string
		files    map[string]string
		options  Options
		want     string // error
		warnings []string
	}{
		{"a package without channel", map[string]string{"p.package.yaml": "packageName: etcd\n", "1/a.yaml": csvA}, Options{}, `p: package "etcd" has no channel`, nil},
		{"a channel whose CSV is missing", map[string]string{"p.package.yaml": manifest, "1/a.yaml": strings.Replace(csvA, "name: a", "name: b", 1)}, Options{},
			`p: channel "alpha" points to the ClusterServiceVersion "a", which is not in the package`, nil},
		{"a version with two CSVs", map[string]string{"p.package.yaml": manifest, "1/a.yaml": csvA, "1/b.yaml": csvA}, Options{}, `p/1: the directory has more than one ClusterServiceVersion`, nil},
		{"a version without CSV", map[string]string{"p.package.yaml": manifest, "1/a.yaml": csvA, "2/a.yaml": "kind: ConfigMap\n"}, Options{}, `p: directory 2 has no ClusterServiceVersion`, nil},
		{"a CSV in two versions", map[string]string{"p.package.yaml": manifest, "1/a.yaml": csvA, "2/a.yaml": csvA}, Options{}, `p: ClusterServiceVersion "a" is in 1 and in 2`, nil},
		{"an owned CRD that is missing", map[string]string{"p.package.yaml": manifest, "1/a.yaml": csvA + "  # owned\n", "1/b.yaml": "kind: CustomResourceDefinition\nmetadata: {name: x.y}\nspec: {version: v1}\n",
			"2/a.yaml": "kind: ClusterServiceVersion\nmetadata: {name: b}\nspec: {replaces: a, customresourcedefinitions: {owned: [{name: x.y, version: v1}]}}\n"}, Options{}, "",
			[]string{`p/2: "b" owns x.y v1, which is not in the directory`, `p/2: "b" is in no channel`}},
		{"an owned CRD without the version", map[string]string{"p.package.yaml": manifest, "1/a.yaml": "kind: ClusterServiceVersion\nmetadata: {name: a}\nspec: {customresourcedefinitions: {owned: [{name: x.y, version: v2}]}}\n",
			"1/b.yaml": "kind: CustomResourceDefinition\nmetadata: {name: x.y}\nspec: {version: v1}\n"}, Options{}, "", []string{`p/1: "a" owns x.y v2, which is not in the directory`}},
		{"a replacement of what is missing", map[string]string{"p.package.yaml": manifest, "1/a.yaml": "kind: ClusterServiceVersion\nmetadata: {name: a}\nspec: {replaces: z}\n"}, Options{}, "",
			[]string{`p/1: "a" replaces "z", which is not in the package`}},
		{"replacements in a circle", map[string]string{"p.package.yaml": manifest, "1/a.yaml": "kind: ClusterServiceVersion\nmetadata: {name: a}\nspec: {replaces: a, skips: [a]}\n"}, Options{}, "", nil},

		{"no name", map[string]string{"p.package.yaml": "channels: []\n"}, Options{}, `p/p.package.yaml: packageName is missing`, nil},
		{"no package manifest", map[string]string{"1/a.yaml": csvA}, Options{}, "p: there is no package manifest (*.package.yaml with packageName and channels)\nhint: name the directory of one package", nil},
		{"a package manifest of another name", map[string]string{"etcd.yaml": manifest, "1/a.yaml": csvA}, Options{}, "", nil},
		{"two package manifests", map[string]string{"p.package.yaml": manifest, "q.package.yaml": strings.Replace(manifest, "etcd", "other", 1), "1/a.yaml": csvA}, Options{}, "p: the directory has 2 package manifests: etcd, other\nhint: choose a package", nil},
		{"two package manifests, and one is chosen", map[string]string{"p.package.yaml": manifest, "q.package.yaml": strings.Replace(manifest, "etcd", "other", 1), "1/a.yaml": csvA}, choose("etcd", "", ""), "", nil},
		{"another package", map[string]string{"p.package.yaml": manifest, "1/a.yaml": csvA}, choose("other", "", ""), `p: no package "other"; there are etcd`, nil},
		{"a channel without name", map[string]string{"p.package.yaml": "packageName: etcd\nchannels: [{currentCSV: a}]", "1/a.yaml": csvA}, Options{}, `p: package "etcd" has a channel without a name`, nil},
		{"a channel twice", map[string]string{"p.package.yaml": "packageName: etcd\nchannels: [{name: x, currentCSV: a}, {name: x, currentCSV: a}]", "1/a.yaml": csvA}, Options{}, `p: package "etcd" has the channel "x" twice`, nil},
		{"a default channel that is none", map[string]string{"p.package.yaml": manifest + "defaultChannel: beta\n", "1/a.yaml": csvA}, Options{}, `p: the default channel "beta" is not one of the package's channels`, nil},
		{"no default channel", map[string]string{"p.package.yaml": "packageName: etcd\nchannels: [{name: a, currentCSV: a}, {name: b, currentCSV: a}]", "1/a.yaml": csvA}, Options{}, "p: package \"etcd\" has no default channel\nhint: choose a channel: a, b", nil},
		{"no such channel", map[string]string{"p.package.yaml": manifest, "1/a.yaml": csvA}, choose("", "beta", ""), `p: package "etcd" has no channel "beta"; there are alpha`, nil},
		{"no such version", map[string]string{"p.package.yaml": manifest, "1/a.yaml": csvA}, choose("", "", "2.0.0"), `p: package "etcd" has no version "2.0.0"; there are 1.0.0` + "\nhint: did you mean 1.0.0?", nil},
		{"a CSV without name", map[string]string{"p.package.yaml": manifest, "1/a.yaml": "kind: ClusterServiceVersion\n"}, Options{}, `p/1/a.yaml: the ClusterServiceVersion has no name`, nil},
		{"a CSV with a wrong type", map[string]string{"p.package.yaml": manifest, "1/a.yaml": "kind: ClusterServiceVersion\nspec: {version: 1.0}\n"}, Options{}, `p/1/a.yaml: spec.version: has the wrong type (number)`, nil},
		{"bad YAML", map[string]string{"p.package.yaml": manifest, "1/a.yaml": csvA, "1/b.yaml": "a: b: c"}, Options{}, `p/1/b.yaml:1: document that starts in line 1: yaml: mapping values are not allowed in this context`, nil},
		{"bad YAML beside the package manifest", map[string]string{"p.package.yaml": manifest, "1/a.yaml": csvA, "ci.yaml": "a: b: c"}, Options{}, "", []string{`p/ci.yaml:1: document that starts in line 1: yaml: mapping values are not allowed in this context (the file is ignored)`}},
		{"other files", map[string]string{"p.package.yaml": manifest, "README.md": "", "1/a.yaml": csvA, "1/README.md": "", "1/.hidden.yaml": "a: b: c", ".git/x.yaml": "a: b: c"}, Options{}, "", []string{"p/1/README.md: left out: not a Kubernetes object"}},
		{"another extension", map[string]string{"p.package.yaml": manifest, "1/a.clusterserviceversion": csvA, "1/b.txt": "a: b: c", "LICENSE": "a: b: c", "1/big.png": "#" + strings.Repeat("x", 1000)}, Options{Source: source.Options{Limits: small}}, "",
			[]string{"p/1/b.txt: left out: not YAML", "p/1/big.png: left out: too large for a Kubernetes object"}},
		{"two files of one name", map[string]string{"p.package.yaml": manifest, "1/a.yaml": csvA, "1/b-c.yaml": "kind: X", "1/b/c.yaml": "kind: X"}, Options{}, `p/1: two files of the bundle would have the name b-c.yaml`, nil},
		{"a large file", map[string]string{"p.package.yaml": manifest, "1/a.yaml": csvA + "#" + strings.Repeat("x", 1000)}, Options{Source: source.Options{Limits: small}}, "p: open 1/a.yaml: larger than 1000 bytes" + raise, nil},
		{"large files", map[string]string{"p.package.yaml": manifest, "1/a.yaml": csvA, "2.yaml": "#" + strings.Repeat("x", 990), "3.yaml": "#" + strings.Repeat("x", 990)}, Options{Source: source.Options{Limits: small}}, "p: the package is larger than 2000 bytes or has more than 20 files" + raise, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			files := map[string]string{}
			for name, content := range test.files {
				files["p/"+name] = content
			}
			inDir(t, files)
			list := warnings(&test.options)
			s, err := Open(context.Background(), "packagemanifest:p", test.options)
			got := ""
			if err != nil {
				got = withHint(err)
			} else {
				must(t, s.Close())
			}
			same(t, "error", got, test.want)
			same(t, "warnings", *list, test.warnings)
		})
	}
}

func TestConvert(t *testing.T) {
	list, err := Convert(context.Background(), nested, Options{})
	must(t, err)
	got := map[string][]string{}
	var order []string
	for _, b := range list {
		order = append(order, b.Dir)
		got[b.Dir] = slices.Sorted(maps.Keys(b.Files))
	}
	same(t, "order", order, []string{"etcd/0.6.1", "etcd/0.9.0", "etcd/0.9.1", "etcd/0.10.0"})
	same(t, "files", got, map[string][]string{
		"etcd/0.6.1":  {"manifests/etcd.csv.yaml", "metadata/annotations.yaml"},
		"etcd/0.9.0":  {"manifests/etcd.csv.yaml", "manifests/etcdclusters.crd.yaml", "metadata/annotations.yaml"},
		"etcd/0.9.1":  {"manifests/etcd.csv.yaml", "metadata/annotations.yaml"},
		"etcd/0.10.0": {"manifests/account.json", "manifests/etcd.csv.yaml", "manifests/etcdclusters.crd.yaml", "metadata/annotations.yaml"},
	})
	original, err := os.ReadFile(nested + "/0.10.0/etcd.csv.yaml")
	must(t, err)
	same(t, "a manifest", string(list[3].Files["manifests/etcd.csv.yaml"]), string(original))
	for _, b := range list {
		s := open(t, "packagemanifest:"+nested, choose("", "", strings.TrimPrefix(b.Dir, "etcd/")))
		for name, content := range contents(t, s.FS) {
			same(t, b.Dir+" "+name, string(b.Files[name]), content)
		}
	}
}

func TestConvertThatFails(t *testing.T) {
	const manifest = "packageName: etcd\nchannels: [{name: alpha, currentCSV: a}]\n"
	for _, test := range []struct{ name, manifest, csv, want string }{
		{"a version that is a path", manifest, "kind: ClusterServiceVersion\nmetadata: {name: a}\nspec: {version: ../../etc}\n", `p/1: "../../etc" cannot be the name of a directory`},
		{"a package that is a path", strings.Replace(manifest, "etcd", "../bundle", 1), "kind: ClusterServiceVersion\nmetadata: {name: a}\n", `p/1: "../bundle" cannot be the name of a directory`},
	} {
		inDir(t, map[string]string{"p/p.package.yaml": test.manifest, "p/1/a.yaml": test.csv})
		_, err := Convert(context.Background(), "packagemanifest:p", Options{})
		if err == nil {
			t.Fatalf("%s: no error", test.name)
		}
		same(t, test.name, err.Error(), test.want)
	}
	inDir(t, map[string]string{"p/p.package.yaml": manifest,
		"p/1/a.yaml": "kind: ClusterServiceVersion\nmetadata: {name: a}\nspec: {version: 1.0.0}\n", "p/2/a.yaml": "kind: ClusterServiceVersion\nmetadata: {name: b}\nspec: {version: 1.0.0}\n"})
	_, err := Convert(context.Background(), "p", Options{})
	if err == nil {
		t.Fatal("no error")
	}
	same(t, "one version twice", err.Error(), "p: two ClusterServiceVersions have the version 1.0.0")
}
