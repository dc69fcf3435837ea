package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	csvFile = "manifests/memcached-operator.clusterserviceversion.yaml"
	crdFile = "manifests/cache.example.com_memcacheds.yaml"
)

// change edits one file of the example's bundle.
type change func(t *testing.T, dir string)

func replace(file, old, new string) change {
	return func(t *testing.T, dir string) {
		t.Helper()
		path := filepath.Join(dir, file)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(data), old) {
			t.Fatalf("%s does not contain %q", file, old)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(data), old, new, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func add(file, text string) change {
	return func(t *testing.T, dir string) {
		t.Helper()
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func remove(file string) change {
	return func(t *testing.T, dir string) {
		t.Helper()
		if err := os.RemoveAll(filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
}

func link(file, target string) change {
	return func(t *testing.T, dir string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
}

const (
	role      = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: extra\n"
	configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: "
)

// Every kind of broken input gives one clear error with file, line and field, exit code 1, and an output directory that is as it was.
func TestBrokenInput(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change change
		args   []string
		want   string // the error, without "olmgen: DIR: "
	}{
		{"no CSV", remove(csvFile), nil, "manifests: no ClusterServiceVersion"},
		{"two CSVs", add("manifests/z.yaml", "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata:\n  name: other.v1.0.0\n"), nil,
			"manifests/z.yaml:2: kind: a second ClusterServiceVersion, the first is in " + csvFile + ":1"},
		{"owned CRD missing", remove(crdFile), nil, "the bundle has no CustomResourceDefinition memcacheds.cache.example.com"},
		{"owned CRD without dot", replace(csvFile, "name: memcacheds.cache.example.com", "name: memcacheds"), nil, `owned[0].name: error parsing crd name: "memcacheds" has no dot`},
		{"owned version missing", replace(crdFile, "- name: v1alpha1", "- name: v1"), nil, `has no version "v1alpha1"`},
		{"bad name", add("manifests/z.yaml", configMap+"Big_Name\n"), nil, `manifests/z.yaml:4: metadata.name: "Big_Name" is not a valid name: `},
		{"no name", add("manifests/z.yaml", "apiVersion: v1\nkind: ConfigMap\n"), nil, "manifests/z.yaml:1: metadata.name: missing"},
		{"rule without verbs", add("manifests/z.yaml", role+"rules:\n- apiGroups: [\"\"]\n  resources: [pods]\n"), nil, "manifests/z.yaml:6: rules[0].verbs: verbs must contain at least one value"},
		{"empty account", replace(csvFile, "serviceAccountName: memcached-operator-controller-manager", `serviceAccountName: ""`), nil, "serviceAccountName: "},
		{"unsupported kind", add("manifests/z.yaml", "apiVersion: apps/v1\nkind: DaemonSet\nmetadata:\n  name: a\n"), nil, "manifests/z.yaml:2: kind: OLM does not install DaemonSet of apps/v1 from a bundle"},
		{"wrong type", replace(csvFile, "replicas: 1", "replicas: one"), nil, "spec.install.spec.deployments[0].spec.replicas: has the wrong type: text, want a whole number"},
		{"bad quantity", replace(csvFile, "cpu: 500m", "cpu: much"), nil, "resources.limits.cpu: is no quantity"},
		{"bad version", replace(csvFile, "version: 0.0.1", "version: latest"), nil, "spec.version: has a wrong value: "},
		{"not YAML", add("manifests/z.yaml", "a: [1\nb: 2\n"), nil, "manifests/z.yaml:"},
		{"tab", add("manifests/z.yaml", "a:\n\tb: 1\n"), nil, "manifests/z.yaml:2: not YAML: "},
		{"not text", add("manifests/z.yaml", "a: \xff\n"), nil, "manifests/z.yaml:1: not UTF-8 text"},
		{"a list", add("manifests/z.yaml", "- a\n"), nil, "manifests/z.yaml:1: a Kubernetes object must be a mapping"},
		{"sub-directory", add("manifests/more/z.yaml", configMap+"a\n"), nil, "manifests/more: a directory inside the manifests"},
		{"no manifests", remove("manifests"), nil, "manifests: no such directory"},
		{"another media type", replace("metadata/annotations.yaml", "registry+v1", "helm"), nil, `"helm" bundles can't be rendered`},
		{"manifests outside", replace("metadata/annotations.yaml", "manifests/", "../other/"), nil, `"../other/" is not a directory inside the bundle`},
		{"alias bomb", add("manifests/z.yaml", bomb()), nil, "values once its aliases are written out"},
		{"deep nesting", add("manifests/z.yaml", "a: "+strings.Repeat("[", 9000)+strings.Repeat("]", 9000)+"\n"), nil, "manifests/z.yaml:1: nested deeper than 200 levels"},
		{"large file", add("manifests/z.yaml", "a: "+strings.Repeat("x", 17<<20)+"\n"), nil, "manifests/z.yaml: larger than 16 MiB"},
		{"link out of the tree", link("manifests/z.yaml", "/etc/hostname"), nil, "manifests/z.yaml"},
		{"unsupported install mode", replace(csvFile, "  - supported: true\n    type: MultiNamespace", "  - supported: false\n    type: MultiNamespace"),
			[]string{"--target-namespaces", "a,b"}, "UnsupportedOperatorGroup: MultiNamespace InstallModeType not supported, cannot configure to watch 2 namespaces"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			dir, out := filepath.Join(root, "bundle"), filepath.Join(root, "out")
			if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "examples", "memcached-operator", "bundle"))); err != nil {
				t.Fatal(err)
			}
			if code, _, stderr := olmgen("render", dir, "-o", out); code != exitDone {
				t.Fatalf("the good bundle: %s", stderr)
			}
			before := treeOf(t, out)
			tt.change(t, dir)
			code, stdout, stderr := olmgen(append([]string{"render", dir, "-o", out}, tt.args...)...)
			if code != exitFailed || stdout != "" {
				t.Errorf("exit code %d, stdout %q", code, stdout)
			}
			if n := strings.Count(stderr, "olmgen: ") - strings.Count(stderr, "olmgen: warning: "); n != 1 || !strings.Contains(stderr, tt.want) {
				t.Errorf("want one error with %q, got:\n%s", tt.want, stderr)
			}
			if after := treeOf(t, out); after != before {
				t.Errorf("the output directory is not as it was:\n%s\n%s", before, after)
			}
		})
	}
}

func bomb() string {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: bomb\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for _, n := range []string{"1", "2", "3", "4", "5", "6", "7", "8"} {
		prev := "*a" + string(n[0]-1)
		b.WriteString("a" + n + ": &a" + n + " [" + strings.TrimSuffix(strings.Repeat(prev+", ", 10), ", ") + "]\n")
	}
	return b.String()
}

func olmgen(args ...string) (code int, stdout, stderr string) {
	var o, e bytes.Buffer
	code = run(args, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

// treeOf returns names, times and contents of all files below a directory.
func treeOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b.WriteString(path + " " + info.ModTime().String() + "\n")
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			b.Write(data)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
