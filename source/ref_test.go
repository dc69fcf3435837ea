package source

import (
	"bytes"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// refFiles is one of each thing that a reference may name.
var refFiles = map[string]string{
	"bundle/manifests/csv.yaml":         "kind: ClusterServiceVersion\n",
	"repo/bundle/manifests/csv.yaml":    "kind: ClusterServiceVersion\n",
	"repo/README.md":                    "",
	"flat/csv.yaml":                     "kind: ClusterServiceVersion\n",
	"legacy/etcd.package.yaml":          "packageName: etcd\nchannels: [{name: alpha, currentCSV: etcd.v1}]\n",
	"legacy/1.0.0/csv.yaml":             "kind: ClusterServiceVersion\nmetadata: {name: etcd.v1}\n",
	"both/etcd.package.yaml":            "packageName: etcd\n",
	"both/manifests/csv.yaml":           "kind: ClusterServiceVersion\n",
	"catalog/catalog.yaml":              "---\nname: etcd\nschema: olm.package\n",
	"catalogs/etcd/catalog.json":        `{"schema": "olm.package", "name": "etcd"}`,
	"layout/oci-layout":                 `{"imageLayoutVersion": "1.0.0"}`,
	"catalog.yaml":                      "schema: olm.package\nname: etcd\n",
	"notes.txt":                         "",
	"quay.io/example/bundle/manifests/": "",
}

func writeRefFiles(t *testing.T) {
	t.Helper()
	inDir(t, nil)
	for name, content := range refFiles {
		dir, _, _ := cutLast(name, "/")
		must(t, os.MkdirAll("./"+dir, 0o755))
		if !strings.HasSuffix(name, "/") {
			must(t, os.WriteFile(name, []byte(content), 0o644))
		}
	}
	must(t, os.WriteFile("b.tar", tarOf(t, goodBundle...), 0o644))
	must(t, os.WriteFile("b.tgz", gzipOf(t, tarOf(t, goodBundle...)), 0o644))
	must(t, os.WriteFile("b.zip", zipOf(t, goodBundle...), 0o644))
	must(t, os.WriteFile("download", tarOf(t, goodBundle...), 0o644))
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return "", s, false
}

func TestReferences(t *testing.T) {
	writeRefFiles(t)
	tests := []struct{ ref, force, kind string }{
		{"bundle", "", "dir"},
		{"./bundle/", "", "dir"},
		{"dir:bundle", "", "dir"},
		{"bundle", "dir", "dir"},
		{"dir:bundle", "dir", "dir"},
		{"repo", "", "dir"},
		{"flat", "", "dir"},
		{"both", "", "dir"},
		{"dir:legacy", "", "dir"},
		{"dir:catalog", "", "dir"},
		{"quay.io/example/bundle", "", "dir"}, // a path that exists wins over an image
		{"legacy", "", "packagemanifest"},
		{"packagemanifest:legacy", "", "packagemanifest"},
		{"b.tar", "", "tar"},
		{"b.tgz", "", "tar"},
		{"tar:b.tgz", "", "tar"},
		{"tar:download", "", "tar"},
		{"download", "tar", "tar"},
		{"-", "", "tar"},
		{"tar:-", "", "tar"},
		{"b.zip", "", "zip"},
		{"zip:b.zip", "", "zip"},
	}
	for _, test := range tests {
		t.Run(test.ref+" "+test.force, func(t *testing.T) {
			s := open(t, test.ref, Options{Force: test.force, Stdin: bytes.NewReader(tarOf(t, goodBundle...))})
			same(t, "kind", s.Kind, test.kind)
			same(t, "ref", s.Ref, test.ref)
			if _, err := fs.ReadDir(s.FS, "."); err != nil {
				t.Error(err)
			}
			must(t, s.Close())
		})
	}
}

func TestReferencesThatAreRefused(t *testing.T) {
	writeRefFiles(t)
	const known = "DIR, FILE.tar, FILE.tar.gz, FILE.tgz, FILE.zip, - (a tar on standard input), oci://IMAGE, docker://IMAGE, " +
		"or one of dir:, tar:, zip:, oci-layout:, docker-archive:, catalog:, packagemanifest: with a path"
	tests := []struct{ ref, force, want string }{
		{"", "", `"": not a form of a source; the forms are ` + known},
		{"https://example.com/bundle.tar", "", `"https://example.com/bundle.tar": not a form of a source; the forms are ` + known},
		{"notes.txt", "", `notes.txt: not a form of a source; the forms are ` + known},
		{"nowhere", "", "nowhere: no such file or directory\nhint: a source is a directory, an archive, oci://IMAGE or catalog:DIR"},
		{"./nowhere/bundle", "", "./nowhere/bundle: no such file or directory\nhint: a source is a directory, an archive, oci://IMAGE or catalog:DIR"},
		{"quay.io/example/etcd:v1", "", "quay.io/example/etcd:v1: no such file or directory\nhint: for an image in a registry write oci://quay.io/example/etcd:v1"},
		{"quay.io/example/etcd", "", "quay.io/example/etcd: no such file or directory\nhint: for an image in a registry write oci://quay.io/example/etcd"},
		{"localhost:5000/etcd", "", "localhost:5000/etcd: no such file or directory\nhint: for an image in a registry write oci://localhost:5000/etcd"},
		{"etcd:v1", "", "etcd:v1: no such file or directory\nhint: for an image in a registry write oci://etcd:v1"},
		{"oci:quay.io/example/etcd", "", "oci:quay.io/example/etcd: no such file or directory\n" +
			"hint: for an image in a registry write oci://quay.io/example/etcd, for an image layout write oci-layout:quay.io/example/etcd"},
		{"catalog.yaml", "", "catalog.yaml: this is a file-based catalog, not a bundle\nhint: write catalog:catalog.yaml"},
		{"catalog", "", "catalog: this is a file-based catalog, not a bundle directory\nhint: write catalog:catalog"},
		{"catalogs", "", "catalogs: this is a file-based catalog, not a bundle directory\nhint: write catalog:catalogs"},
		{"layout", "", "layout: this is an image layout, not a bundle directory\nhint: write oci-layout:layout"},
		{"bundle", "helm", "unknown kind of source \"helm\"\nhint: the kinds are dir, tar, zip, oci, oci-layout, docker-archive, catalog, packagemanifest"},
		{"tar:b.tar", "zip", "tar:b.tar: the prefix is of kind tar, but kind zip was asked for"},
		{"dir:", "", `"dir:": nothing follows the prefix`},
		{"dir:nowhere", "", "dir:nowhere: no such file or directory"},
		{"dir:b.tar", "", "dir:b.tar: not a directory"},
		{"tar:bundle", "", "tar:bundle: is a directory"},
		{"tar:nowhere", "", "tar:nowhere: no such file or directory"},
		{"zip:-", "", "standard input: a zip archive must be a file, because it is read from its end\nhint: save it to a file, or use a tar archive"},
		{"-", "", "standard input: there is none"},
		{"catalog:-", "", "standard input: there is none"},
		{"oci://quay.io/example/etcd:v1", "", "quay.io/example/etcd:v1: images are not fetched offline\n" +
			"hint: fetch it with network access (skopeo copy docker://quay.io/example/etcd:v1 oci:DIR) and use oci-layout:DIR"},
		{"oci://NOT AN IMAGE", "oci", "NOT AN IMAGE: images are not fetched offline\nhint: fetch it with network access (skopeo copy docker://NOT AN IMAGE oci:DIR) and use oci-layout:DIR"},
	}
	for _, test := range tests {
		t.Run(test.ref+" "+test.force, func(t *testing.T) {
			same(t, "error", openError(t, test.ref, Options{Force: test.force, Offline: true}), test.want)
		})
	}
}
