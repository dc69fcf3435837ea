package tree_test

import (
	"strings"
	"testing"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/manifest"
)

// On a new cluster Argo CD comes to no Namespace of a later wave or phase than what is in it.
func TestUnsynced(t *testing.T) {
	const late = "x.yaml:1: Namespace ns: on a new cluster Argo CD does not come to it: it first " +
		"applies OperatorGroup ns/g, which is in it, and fails"
	const left = "x.yaml:5: OperatorGroup ns/g: Argo CD never applies it, because of " +
		"argocd.argoproj.io/hook: Skip"
	for name, c := range map[string]struct{ namespace, group, options, want string }{
		"one wave":          {"", "", "", ""},
		"before":            {`argocd.argoproj.io/sync-wave: "-2"`, `argocd.argoproj.io/sync-wave: "-1"`, "", ""},
		"after":             {`argocd.argoproj.io/sync-wave: "5"`, `argocd.argoproj.io/sync-wave: "-1"`, "", late},
		"after nothing":     {`argocd.argoproj.io/sync-wave: "1"`, "", "", late},
		"a later phase":     {"", "argocd.argoproj.io/hook: PreSync", "", late},
		"an earlier phase":  {"argocd.argoproj.io/hook: PreSync", `argocd.argoproj.io/sync-wave: "-1"`, "", ""},
		"Argo CD makes it":  {`argocd.argoproj.io/sync-wave: "5"`, "", "CreateNamespace=true", ""},
		"after a left one":  {`argocd.argoproj.io/sync-wave: "5"`, "argocd.argoproj.io/hook: Skip", "", left},
		"a wave is no wave": {"argocd.argoproj.io/sync-wave: x", "", "", ""},
	} {
		objects := "apiVersion: v1\nkind: Namespace\nmetadata: {name: ns, annotations: {" + c.namespace + "}}\n---\n" +
			"apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\n" +
			"metadata: {name: g, namespace: ns, annotations: {" + c.group + "}}\n"
		app := "  syncPolicy: {syncOptions: [" + c.options + "]}\n"
		for _, by := range []string{"app.yaml", "ks.yaml"} {
			engine := application("ops", "ns") + app
			want := c.want
			if by == "ks.yaml" {
				engine, want = fluxKustomization("ops", "ops", ""), ""
			}
			dir := writeTree(t, map[string]string{by: engine, "ops/kustomization.yaml": "resources: [x.yaml]\n",
				"ops/x.yaml": objects})
			read := readAlone(t, dir)
			var got []string
			for _, c := range read.Clusters(nil) {
				for _, r := range read.Of(c, true).Engines {
					got = append(got, lists.Map(r.Unsynced(), func(e *manifest.Error) string {
						rel, _ := read.Rel(e.File)
						return strings.TrimPrefix(strings.Replace(e.Error(), e.File, rel, 1), "ops/")
					})...)
				}
			}
			if said := strings.Join(got, "\n"); said != want {
				t.Errorf("%s, %s: %q, want %q", name, by, said, want)
			}
		}
	}
}
