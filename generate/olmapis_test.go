package generate_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
)

// TestOLMAPIs counts the package heads that ask for rights on the APIs of OLM v0, as their files say, and renders each
// of them without OLM v0: it carries the warning. No other head does.
func TestOLMAPIs(t *testing.T) {
	heads, asking, said := 0, 0, map[generate.Profile]int{}
	all := packageHeads(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		files := all[name]
		b, err := bundle.Read(files, bundle.ReadOptions{AllowUnsupported: true})
		if err != nil {
			continue // others say why
		}
		heads++
		v0, v1 := asksForOLM(t, files)
		if v0 {
			asking++
			t.Log(name)
		}
		for _, profile := range []generate.Profile{generate.ProfilePlain, generate.ProfileOLMv1} {
			rendered, err := generate.Render(b, generate.Options{Profile: profile, Namespace: "own", Certs: generate.CertsManager,
				TargetNamespaces: targetsOf(b)})
			if err != nil {
				continue // of another reason: other tests have it
			}
			warned := slices.ContainsFunc(rendered.Warnings, func(w bundle.Warning) bool { return w.Class == bundle.WarnOLMAPIs })
			if want := v0 && (profile == generate.ProfilePlain || !v1); warned != want {
				t.Errorf("%s, %s: warned %t, want %t", name, profile, warned, want)
			}
			if warned {
				said[profile]++
			}
		}
	}
	t.Logf("%d of %d package heads ask for rights on the APIs of OLM v0; warned: %v", asking, heads, said)
	if asking < corpustest.Least(t, 1) || len(said) < corpustest.Least(t, 2) {
		t.Error("the test compares nothing")
	}
}

func targetsOf(b *bundle.Bundle) []string {
	if modes := bundle.SupportedModes(b.CSV); slices.Contains(modes, "AllNamespaces") {
		return nil
	} else if slices.Contains(modes, "OwnNamespace") {
		return []string{"own"}
	}
	return []string{"other"}
}

// packageHeads returns the newest bundle of each package of the corpus, and the head of the default channel of each legacy
// package, by name.
func packageHeads(t *testing.T) map[string]fs.FS {
	t.Helper()
	all, newest := map[string]fs.FS{}, map[string]string{}
	for _, dir := range corpustest.Bundles(t) {
		name := filepath.Base(filepath.Dir(dir))
		if old := newest[name]; old == "" || newer(filepath.Base(dir), filepath.Base(old)) {
			newest[name] = dir
			all[name] = os.DirFS(dir)
		}
	}
	for _, dir := range corpustest.Glob(t, corpustest.Root(t), "packagemanifests", "*") {
		opened, err := catalog.Open(t.Context(), dir, catalog.Options{})
		if err != nil {
			t.Log(err)
			continue
		}
		t.Cleanup(func() { opened.Close() })
		all["packagemanifests/"+filepath.Base(dir)] = opened.FS
	}
	return all
}

func newer(a, b string) bool {
	x, errX := semver.NewVersion(a)
	y, errY := semver.NewVersion(b)
	return errX == nil && errY == nil && x.GreaterThan(y)
}

// asksForOLM reads the files without olmgen: does a rule of the CSV, or of a role that they bind to a ServiceAccount, name
// an API group of OLM v0, and does one of the whole cluster name that of OLM v1?
func asksForOLM(t *testing.T, files fs.FS) (v0, v1 bool) {
	t.Helper()
	type rules struct {
		Rules []struct {
			APIGroups []string `json:"apiGroups"`
			Resources []string `json:"resources"`
		} `json:"rules"`
	}
	look := func(r rules, cluster bool) {
		for _, rule := range r.Rules {
			v0 = v0 || len(rule.Resources) > 0 && (slices.Contains(rule.APIGroups, "operators.coreos.com") ||
				slices.Contains(rule.APIGroups, "packages.operators.coreos.com"))
			v1 = v1 || cluster && slices.Contains(rule.APIGroups, "olm.operatorframework.io")
		}
	}
	type object struct {
		Kind     string
		Metadata struct{ Name string }
		rules
		RoleRef  struct{ Kind, Name string }
		Subjects []struct{ Kind string }
		Spec     struct {
			Install struct {
				Spec struct{ Permissions, ClusterPermissions []rules }
			}
		}
	}
	roles, bindings := map[string]rules{}, []object{}
	paths, err := fs.Glob(files, "manifests/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		data, err := fs.ReadFile(files, path)
		if err != nil {
			t.Fatal(err)
		}
		for text := range strings.SplitSeq("\n"+string(data), "\n---") {
			var o object
			if yaml.Unmarshal([]byte(text), &o) != nil {
				continue
			}
			switch o.Kind {
			case "ClusterServiceVersion":
				for _, p := range o.Spec.Install.Spec.Permissions {
					look(p, false)
				}
				for _, p := range o.Spec.Install.Spec.ClusterPermissions {
					look(p, true)
				}
			case "Role", "ClusterRole":
				roles[o.Kind+o.Metadata.Name] = o.rules
			case "RoleBinding", "ClusterRoleBinding":
				bindings = append(bindings, o)
			}
		}
	}
	for _, b := range bindings {
		if slices.ContainsFunc(b.Subjects, func(s struct{ Kind string }) bool { return s.Kind == "ServiceAccount" }) {
			look(roles[b.RoleRef.Kind+b.RoleRef.Name], b.Kind == "ClusterRoleBinding")
		}
	}
	return v0, v1
}
