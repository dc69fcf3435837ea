package tree_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
)

// Roots of equal files wait, and are built where another root of their cluster differs, or where they are asked for.
func TestSettle(t *testing.T) {
	files := map[string]string{}
	for _, cluster := range []string{"a", "b"} {
		for _, app := range []string{"x", "y"} {
			dir := "clusters/" + cluster + "/" + app
			files[dir+"/kustomization.yaml"] = "resources: [../../../base]\nnamePrefix: " + cluster + app + "-\n"
		}
	}
	files["base/kustomization.yaml"] = "resources: [cm.yaml]\n"
	files["base/cm.yaml"] = configMap("base", "0")
	old := writeTree(t, files)
	files["clusters/a/x/kustomization.yaml"] += "nameSuffix: -now\n"
	now := writeTree(t, files)
	a, b := readPair(t, old, now)
	for _, side := range []*tree.Tree{a, b} {
		if got := lists.Map(side.Objects, func(o *manifest.Object) string { return o.Name }); len(got) > 1 {
			t.Errorf("before it is known what differs there is %s", got)
		}
	}
	tree.Settle(a, b)
	if got := named(b.Objects); got != "ax-base-now ay-base" {
		t.Errorf("cluster a differs, and these are built: %s", got)
	}
	tree.Settle(a, b, "nothing")
	if got := named(a.Objects); got != "ax-base ay-base" {
		t.Errorf("what nobody has is asked for: %s", got)
	}
	tree.Settle(a, b, "bx-")
	if got := named(a.Objects) + ", " + named(b.Objects); got != "ax-base ay-base bx-base, "+
		"ax-base-now ay-base bx-base" {
		t.Errorf("one root is asked for: %s", got)
	}
}

// What is built of two trees that are compared is what is built of each alone, but for clusters that are equal.
func TestSettleOfRandomTrees(t *testing.T) {
	for seed := range int64(30) {
		r := rand.New(rand.NewSource(seed))
		files := randomTree(r)
		old := writeTree(t, files)
		for range r.Intn(4) {
			edit(r, files)
		}
		now := writeTree(t, files)
		a, b := readPair(t, old, now)
		tree.Settle(a, b)
		wantOld, wantNow := readAlone(t, old), readAlone(t, now)
		tree.Settle(wantOld, wantNow) // none waits, but one says what is applied in the other
		was, is := clusters(a, b), clusters(b, a)
		wantWas, wantIs := clusters(wantOld, wantNow), clusters(wantNow, wantOld)
		if got, want := slices.Sorted(maps.Keys(is)), slices.Sorted(maps.Keys(wantIs)); !slices.Equal(got, want) {
			t.Errorf("seed %d: clusters %s, and alone %s", seed, got, want)
		}
		for name := range wantIs {
			switch equal := wantWas[name] == wantIs[name]; {
			case equal && was[name] != is[name]:
				t.Errorf("seed %d, %s is equal, and differs:\n%s\n%s", seed, name, was[name], is[name])
			case !equal && (was[name] != wantWas[name] || is[name] != wantIs[name]):
				t.Errorf("seed %d, %s:\n%s\n%s\nand alone it has\n%s\n%s", seed, name, was[name], is[name], wantWas[name],
					wantIs[name])
			}
		}
	}
}

// What a kustomization or an engine applies in one tree, and nothing in the other one, is not applied there, whatever it
// looks like. What leaves nothing to say who applied it before is as it was.
func TestDropped(t *testing.T) {
	kustomization := func(resources string) string { return "resources: [" + resources + "]\n" }
	set := func(more string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: set}\n" +
			"spec:\n  goTemplate: true\n" + more + "  generators: [{git: {repoURL: r, files: [{path: 'config/*.json'}]}}]\n  template:\n" +
			"    metadata: {name: 'app-{{.name}}'}\n    spec: {destination: {name: '{{.name}}'}, " +
			"source: {repoURL: r, path: 'overlays/{{.name}}'}}\n"
	}
	strict := "  goTemplateOptions: [missingkey=error]\n"
	applications := func() map[string]string {
		return map[string]string{"base/kustomization.yaml": kustomization("cm.yaml"),
			"base/cm.yaml":                  configMap("x", "0"),
			"overlays/a/kustomization.yaml": kustomization("../../base"), "config/a.json": `{"name": "a"}`,
			"overlays/b/kustomization.yaml": kustomization("../../base"), "config/b.json": `{"name": "b"}`,
			"sets/set.yaml": set(strict)}
	}
	flux := func() map[string]string {
		files := map[string]string{"infra/kustomization.yaml": kustomization("cm.yaml"),
			"infra/cm.yaml": strings.Replace(configMap(`"${name}"`, "0"), "{name", "{namespace: f, name", 1)}
		for _, c := range []string{"a", "b"} {
			files["clusters/"+c+"/kustomization.yaml"] = kustomization("ks.yaml, vars.yaml, sync.yaml")
			files["clusters/"+c+"/ks.yaml"] = fluxKustomization("infra", "infra",
				"  postBuild: {substituteFrom: [{kind: ConfigMap, name: vars}]}\n")
			files["clusters/"+c+"/vars.yaml"] = strings.NewReplacer("{name", "{namespace: f, name", "x:", "name: "+c+", x:").Replace(configMap("vars", "0"))
			files["clusters/"+c+"/sync.yaml"] = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\n" +
				"metadata: {name: source, namespace: f}\nspec: {url: https://example.com/repo}\n---\n" +
				fluxKustomization("flux-system", "clusters/"+c, "")
		}
		return files
	}
	with := func(files func() map[string]string, name, text string) func() map[string]string {
		return func() map[string]string {
			all := files()
			if all[name] = text; text == "" {
				delete(all, name)
			}
			return all
		}
	}
	part := func(resources ...string) func() map[string]string {
		files := map[string]string{"ops/x.yaml": configMap("x", "0"), "ops/z.yaml": configMap("z", "0")}
		if len(resources) > 0 {
			files["ops/kustomization.yaml"] = kustomization(strings.Join(resources, ", "))
		}
		return func() map[string]string { return files }
	}
	catalog := func(prod string, more ...string) func() map[string]string {
		return func() map[string]string {
			files := map[string]string{"clusters/prod/kustomization.yaml": kustomization("m.yaml, " + prod),
				"clusters/prod/m.yaml":                  configMap("m", "0"),
				"clusters/prod/team/kustomization.yaml": kustomization("cm.yaml"),
				"clusters/prod/team/cm.yaml":            configMap("team", "0"),
				"cat/base/kustomization.yaml":           kustomization("cm.yaml"),
				"cat/base/cm.yaml":                      configMap("op", "0"),
				"cat/fast/kustomization.yaml":           kustomization("../base"),
				"cat/slow/kustomization.yaml":           kustomization("../base") + "nameSuffix: -s\n"}
			for i := 0; i < len(more); i += 2 {
				files[more[i]] = more[i+1]
			}
			return files
		}
	}
	unread := strings.Replace(set(""), "git", "scm", 1)
	dev := []string{"clusters/dev/kustomization.yaml", kustomization("../../cat/fast")}
	cluster, without := "clusters/b/kustomization.yaml", kustomization("vars.yaml, sync.yaml")
	for name, c := range map[string]struct {
		old, now   func() map[string]string
		gone, made string
	}{
		"nothing":                     {applications, applications, "", ""},
		"a cluster leaves":            {applications, with(applications, "config/b.json", ""), "b: x", ""},
		"a cluster joins":             {with(applications, "config/b.json", ""), applications, "", "b: x"},
		"the set is deleted":          {applications, with(applications, "sets/set.yaml", ""), ".: set; a: x; b: x", ""},
		"nobody knows who was before": {with(applications, "sets/set.yaml", ""), applications, "", ".: set"},
		"the set finds nothing": {applications,
			with(applications, "sets/set.yaml", strings.Replace(set(strict), "*", "no", 1)),
			"a: x; b: x", ""},
		"two of one name":    {applications, with(applications, "config/b.json", `{"name": "a"}`), "b: x", ""},
		"the set is refused": {applications, with(applications, "config/b.json", `{"nam": "b"}`), "", ""},
		"the set is not read": {applications,
			with(applications, "sets/set.yaml", strings.Replace(set(""), "git", "scm", 1)), "", ""},
		"an object leaves": {flux, with(flux, cluster, without), "clusters/b: b infra", ""},
		"an object comes":  {with(flux, cluster, without), flux, "", "clusters/b: b infra"},
		"a list lacks an object": {with(flux, cluster, ""), with(flux, cluster, without),
			"clusters/b: b infra", ""},
		"variables leave": {flux, with(flux, cluster, kustomization("ks.yaml, sync.yaml")),
			"clusters/b: b vars", "clusters/b: ${name}"},
		"a plain list":         {part("x.yaml", "z.yaml"), part("x.yaml"), "ops: z", ""},
		"a plain list is new":  {part("x.yaml"), part("x.yaml", "z.yaml"), "", "ops: z"},
		"a list is not needed": {part("x.yaml", "z.yaml"), part(), "ops: x z", ".: x z"},

		"a directory of the cluster leaves": {catalog("team"), catalog(""), "clusters/prod: team", ""},
		"a directory of the cluster comes":  {catalog(""), catalog("team"), "", "clusters/prod: team"},
		"a list of lists leaves": {catalog("apps", "clusters/prod/apps/kustomization.yaml", kustomization("../team")),
			catalog("apps", "clusters/prod/apps/kustomization.yaml", kustomization("../../../cat/base")),
			"clusters/prod: team", "clusters/prod: op"},
		"an overlay of a catalog leaves": {catalog("../../cat/fast"), catalog(""), "clusters/prod: op", ""},
		"an overlay of a catalog comes":  {catalog(""), catalog("../../cat/fast"), "", "clusters/prod: op"},
		"another overlay comes": {catalog("../../cat/slow"), catalog("../../cat/fast"),
			"clusters/prod: op-s", "clusters/prod: op"},
		"a base is a root": {catalog("../../cat/fast"), catalog("../../cat/fast",
			"cat/fast/kustomization.yaml", kustomization("cm.yaml"), "cat/fast/cm.yaml", configMap("op", "0"),
			"cat/slow/kustomization.yaml", kustomization("cm.yaml"), "cat/slow/cm.yaml", configMap("op-s", "0")), "", ""},
		"an Application takes it": {catalog("team"), catalog("app.yaml",
			"clusters/prod/app.yaml", application("clusters/prod/team", "x")), "", "clusters/prod: app"},
		"nobody knows what takes it": {catalog("team"), catalog("set.yaml", "clusters/prod/set.yaml", unread),
			"", "clusters/prod: set"},
		"a new cluster lists an overlay": {catalog("team"), catalog("team", dev...), "", "clusters/dev: op"},
		"a cluster with an overlay ends": {catalog("team", dev...), catalog("team"), "clusters/dev: op", ""},
		"one more list of the cluster": {catalog("team"), catalog("team",
			"clusters/prod/op/kustomization.yaml", kustomization("../../../cat/fast")), "", "clusters/prod: op"},
		"a list of what was there": {with(catalog(""), "clusters/prod/kustomization.yaml", ""), catalog("team"), "", ""},
	} {
		a, b := readPair(t, writeTree(t, c.old()), writeTree(t, c.now()))
		tree.Settle(a, b)
		if gone, made := only(a, b), only(b, a); gone != c.gone || made != c.made {
			t.Errorf("%s: gone %q, made %q; want %q, %q", name, gone, made, c.gone, c.made)
		}
	}
}

// only returns the names of the objects that a tree has, and another one has not in the same cluster.
func only(t, other *tree.Tree) string {
	in := map[string][]string{}
	for _, c := range other.Clusters(t) {
		in[c.Rel] = lists.Map(c.Objects, func(o *manifest.Object) string { return o.Name })
	}
	var out []string
	for _, c := range t.Clusters(other) {
		objects := lists.Filter(c.Objects, func(o *manifest.Object) bool { return !slices.Contains(in[c.Rel], o.Name) })
		if len(objects) > 0 {
			out = append(out, c.Rel+": "+named(objects))
		}
	}
	return strings.Join(lists.SortedUnique(out), "; ")
}

func fluxKustomization(name, dir, more string) string {
	return "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n" +
		"metadata: {name: " + name + ", namespace: f}\n" +
		"spec:\n  path: " + dir + "\n  sourceRef: {kind: GitRepository, name: source}\n" + more
}

func clusters(t, like *tree.Tree) map[string]string {
	out := map[string]string{}
	for _, c := range t.Clusters(like) {
		texts := lists.Map(c.Objects, func(o *manifest.Object) string {
			v, err := o.Value()
			file, _ := t.Rel(o.File)
			by, line := o.PlaceOf("metadata.name")
			by, _ = t.Rel(by)
			return fmt.Sprint(file, o.Line, v, err, by, line)
		})
		out[c.Rel] = strings.Join(texts, "\n")
	}
	return out
}

// randomTree has kustomizations of clusters and of none, bases of several, a component, Applications and manifests.
func randomTree(r *rand.Rand) map[string]string {
	files := map[string]string{"component/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\n" +
		"kind: Component\ncommonAnnotations: {by: component}\n"}
	for i := range 3 {
		dir := fmt.Sprintf("base%d", i)
		files[dir+"/kustomization.yaml"] = "resources: [cm.yaml]\nconfigMapGenerator: [{name: made, files: [data.txt]}]\n"
		files[dir+"/cm.yaml"] = configMap(dir, fmt.Sprint(r.Intn(3)))
		files[dir+"/data.txt"] = fmt.Sprint(r.Intn(3))
	}
	for i := range 6 {
		dir := []string{"clusters/one/", "clusters/two/", "apps/", "app/overlays/"}[r.Intn(4)] + fmt.Sprintf("dir%d", i)
		up := strings.Repeat("../", strings.Count(dir, "/")+1)
		text := fmt.Sprintf("resources: [%sbase%d]\nnamePrefix: p%d-\n", up, r.Intn(3), i)
		if r.Intn(3) == 0 {
			text += "components: [" + up + "component]\n"
		}
		files[dir+"/kustomization.yaml"] = text
		if r.Intn(3) == 0 {
			files[fmt.Sprintf("clusters/one/engine%d.yaml", i)] = application(dir, "ns"+fmt.Sprint(r.Intn(2)))
		}
		if r.Intn(3) == 0 {
			files[fmt.Sprintf("clusters/two/plain%d.yaml", i)] = configMap(fmt.Sprintf("plain%d", i), "0")
		}
	}
	return files
}

func edit(r *rand.Rand, files map[string]string) {
	names := slices.Sorted(maps.Keys(files))
	switch name := names[r.Intn(len(names))]; {
	case r.Intn(6) == 0 && !strings.Contains(name, "base"):
		delete(files, name)
	case strings.HasSuffix(name, "kustomization.yaml"):
		files[name] += []string{"# a comment\n", "commonLabels: {a: b}\n", "nameSuffix: -s\n"}[r.Intn(3)]
	case strings.Contains(name, "engine"):
		files[name] = strings.Replace(files[name], "namespace: ns0", "namespace: ns1", 1)
	case strings.HasSuffix(name, ".txt"):
		files[name] += "1"
	default:
		files[name] = strings.Replace(files[name], "x: \"0\"", "x: \"9\"", 1)
	}
}

func configMap(name, x string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {x: \"" + x + "\"}\n"
}

func application(dir, namespace string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: app, namespace: argocd}\nspec:\n" +
		"  source: {repoURL: https://example.com/repo, path: " + dir + "}\n  destination: {namespace: " + namespace + "}\n"
}

func writeTree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func readPair(t *testing.T, old, now string) (a, b *tree.Tree) {
	t.Helper()
	sides := [2]*tree.Tree{}
	for i, dir := range []string{old, now} {
		read, err := tree.Read(context.Background(), []string{dir}, tree.Options{Plain: true,
			Other: []string{now, old}[i], Like: sides[0]})
		if err != nil {
			t.Fatal(err)
		}
		sides[i] = read
	}
	return sides[0], sides[1]
}

func readAlone(t *testing.T, dir string) *tree.Tree {
	t.Helper()
	read, err := tree.Read(context.Background(), []string{dir}, tree.Options{Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func named(objects []*manifest.Object) string {
	return strings.Join(lists.SortedUnique(lists.Map(objects, func(o *manifest.Object) string { return o.Name })), " ")
}
