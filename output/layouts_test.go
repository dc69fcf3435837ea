package output

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/templates"
)

const rbac, alpha1 = "rbac.authorization.k8s.io/v1", "operators.coreos.com/v1alpha1"

// object makes one, with a spec if it is given; where is [namespace/]name.
func object(apiVersion, kind, where string, spec map[string]any, owners ...int) generate.Shared {
	o := generate.Object{APIVersion: apiVersion, Kind: kind, Name: where}
	meta := map[string]any{}
	if ns, name, ok := strings.Cut(where, "|"); ok {
		o.Namespace, o.Name = ns, name
		meta["namespace"] = ns
	}
	meta["name"] = o.Name
	m := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": meta}
	if spec != nil {
		m["spec"] = spec
	}
	o.Data = manifest.Encode(m)
	if owners == nil {
		owners = []int{0}
	}
	return generate.Shared{Object: o, Operators: owners}
}

func operator(name, namespace string, mode v1alpha1.InstallModeType) Operator {
	return Operator{Name: name, Channel: "stable", Result: &generate.Result{Package: name, Namespace: namespace, InstallMode: mode}}
}

func testTree(t *testing.T, operators []Operator, objects ...generate.Shared) Tree {
	t.Helper()
	set, err := templates.Load(nil)
	must(t, err)
	tree := Tree{Operators: operators, Objects: objects, Templates: set}
	if len(operators) == 1 {
		tree.Namespace = operators[0].Namespace
	}
	return tree
}

func laidOut(t *testing.T, tree Tree, l Layout) map[string]string {
	t.Helper()
	files, err := tree.Files(l)
	must(t, err)
	must(t, files.check())
	out := map[string]string{}
	for _, f := range files {
		out[f.Path] = string(f.Data)
	}
	return out
}

// built returns "Kind namespace/name" of what kustomize builds of directories, in their order.
func built(t *testing.T, files map[string]string, roots ...string) []string {
	t.Helper()
	dir := t.TempDir()
	holds(files).put(t, dir)
	var objects []string
	for _, root := range roots {
		m, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(dir, root))
		if err != nil {
			t.Fatalf("%s: %v", root, err)
		}
		for _, o := range m.Resources() {
			objects = append(objects, o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName())
		}
	}
	return objects
}

// Names that a file system, git or kustomize could take for something else.
var hostileNames = []string{
	"system:foo", "system:Foo", "SYSTEM:foo", "..", ".", ".git", ".GIT", "con", "AUX.x", "nul", "com1", "a.", "x/y", "../x", `x\y`, "%2e", "a?ref=b", "foo.git", "github.com",
	"git@github.com:a", "https://example.com", "é", "a b", "kustomization", "kustomization.yaml", "base", "olmgen.lock", strings.Repeat("n", 253), strings.Repeat("N", 253),
	strings.Repeat("n", 254), strings.Repeat(":", 100), strings.Repeat(":", 101), "_3a", ":",
}

func TestHostileNames(t *testing.T) {
	objects := []generate.Shared{object("operators.coreos.com/v1", "OperatorGroup", "ns|group", nil)}
	var want []string
	for _, name := range hostileNames {
		objects = append(objects, object(rbac, "ClusterRole", name, nil), object(rbac, "Role", "ns|"+name, nil), object(rbac, "Role", "other|"+name, nil))
	}
	for _, x := range objects {
		want = append(want, x.Kind+" "+x.Namespace+"/"+x.Name)
	}
	slices.Sort(want)
	for l, roots := range map[Layout][]string{
		LayoutFlat: {"."}, LayoutByKind: {"."}, LayoutGitOpsCatalog: {"odd-operator/operator/overlays/stable"}, LayoutClusterScope: {"cluster-scope/overlays/prod/common", "odd/base"},
	} {
		tree := testTree(t, []Operator{operator("odd", "ns", "")}, objects...)
		got := built(t, laidOut(t, tree, l), roots...)
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +built):\n%s", l, d)
		}
	}
}

func TestHostileOperators(t *testing.T) {
	var operators []Operator
	var objects []generate.Shared
	seen := map[string]bool{}
	for _, name := range hostileNames {
		if name == LockName || seen[fold(name)] {
			continue // refused: by Write, by the layouts
		}
		seen[fold(name)] = true
		o := operator(name, "ns", "")
		o.Channel = name
		i := len(operators)
		operators = append(operators, o)
		objects = append(objects, object(rbac, "ClusterRole", fmt.Sprint("x", i), nil, i), object(rbac, "Role", fmt.Sprint("ns|x", i), nil, i))
	}
	tree := testTree(t, operators, objects...)
	for l, want := range map[Layout]int{LayoutGitOpsCatalog: 2 * len(operators), LayoutClusterScope: 2 * len(operators)} {
		files := laidOut(t, tree, l)
		var roots []string
		for p := range files {
			dir := path.Dir(p)
			overlay, _ := path.Match("*/operator/overlays/*", dir)
			base, _ := path.Match("*/base", dir)
			if path.Base(p) == kustomizationName && (overlay || base || dir == "cluster-scope/overlays/prod/common") {
				roots = append(roots, dir)
			}
		}
		if got := len(built(t, files, roots...)); got != want {
			t.Errorf("%s: %d objects, want %d", l, got, want)
		}
	}
}

func TestByKind(t *testing.T) {
	tree := testTree(t, []Operator{operator("a", "ns", "")},
		object("v1", "Service", "ns|x", nil), object("v1", "Service", "other|x", nil), object("serving.example.com/v1", "Service", "ns|x", nil),
		object(rbac, "ClusterRole", "x", nil), object(rbac, "ClusterRole", "X", nil))
	want := []string{"clusterrole/X_34e0e589.yaml", "clusterrole/x_6d9a595b.yaml", "kustomization.yaml", "service.serving.example.com/x.yaml", "service/other_x.yaml", "service/x.yaml"}
	got := laidOut(t, tree, LayoutByKind)
	if d := cmp.Diff(want, slices.Sorted(maps.Keys(got))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	order := "resources:\n- service/x.yaml\n- service/other_x.yaml\n- service.serving.example.com/x.yaml\n- clusterrole/"
	if !strings.Contains(got["kustomization.yaml"], order) {
		t.Errorf("not in the order of the tree:\n%s", got["kustomization.yaml"])
	}
}

// subscription is the spec of one to a package.
func subscription(pkg, channel string) map[string]any {
	return map[string]any{"name": pkg, "channel": channel, "source": "community", "sourceNamespace": "olm"}
}

func TestGitOpsCatalog(t *testing.T) {
	a, b := operator("tea", "drinks", ""), operator("cake-operator", "food", "")
	b.Channel = "4.18/fast"
	tree := testTree(t, []Operator{a, b},
		object("v1", "Namespace", "drinks", nil), object("v1", "Namespace", "tables", nil, 0, 1),
		object("operators.coreos.com/v1", "OperatorGroup", "drinks|any", nil),
		object(alpha1, "Subscription", "drinks|other", subscription("other", "old")), object(alpha1, "Subscription", "drinks|mine", subscription("tea", "1.0")),
		object(rbac, "Role", "food|x", nil, 1), object(rbac, "Role", "drinks|x", nil))
	got := laidOut(t, tree, LayoutGitOpsCatalog)
	want := []string{
		"cake-operator/operator/base/kustomization.yaml",
		"cake-operator/operator/base/namespace_tables.yaml",
		"cake-operator/operator/base/role_x.yaml",
		"cake-operator/operator/overlays/4.18_2ffast/kustomization.yaml",
		"tea-operator/operator/base/kustomization.yaml",
		"tea-operator/operator/base/namespace.yaml",
		"tea-operator/operator/base/namespace_tables.yaml",
		"tea-operator/operator/base/operator-group.yaml",
		"tea-operator/operator/base/role_x.yaml",
		"tea-operator/operator/base/subscription.yaml",
		"tea-operator/operator/base/subscription_other.yaml",
		"tea-operator/operator/overlays/1.0/kustomization.yaml",
		"tea-operator/operator/overlays/1.0/patch-channel.yaml",
	}
	if d := cmp.Diff(want, slices.Sorted(maps.Keys(got))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	dir := t.TempDir()
	holds(got).put(t, dir)
	m, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(dir, "tea-operator/operator/overlays/1.0"))
	must(t, err)
	text, err := m.AsYaml()
	must(t, err)
	for _, x := range tree.Objects[:5] {
		if !strings.Contains(string(text), strings.TrimPrefix(string(x.Data), "apiVersion: ")) {
			t.Errorf("not built as it was rendered:\n%s\nin\n%s", x.Data, text)
		}
	}
}

// The rules of the decision record, one by one.
func TestClusterScopePlaces(t *testing.T) {
	crd := map[string]any{"group": "tea.example.com", "names": map[string]any{"kind": "Kettle", "plural": "kettles"}}
	for _, c := range []struct {
		what string
		mode v1alpha1.InstallModeType
		x    generate.Shared
		want string // below which directory; "" for nowhere
	}{
		{"CSV", "AllNamespaces", object(alpha1, "ClusterServiceVersion", "ns|x", nil), ""},
		{"copied CSV", "AllNamespaces", object(alpha1, "ClusterServiceVersion", "other|x", nil), ""},
		{"InstallPlan", "AllNamespaces", object(alpha1, "InstallPlan", "ns|x", nil), ""},
		{"OperatorGroup", "OwnNamespace", object("operators.coreos.com/v1", "OperatorGroup", "ns|x", nil), "cluster-scope/base/operators.coreos.com/operatorgroups/x"},
		{"OperatorGroup elsewhere", "OwnNamespace", object("operators.coreos.com/v1", "OperatorGroup", "other|x", nil), "cluster-scope/base/operators.coreos.com/operatorgroups/other_x"},
		{"CatalogSource", "OwnNamespace", object(alpha1, "CatalogSource", "openshift-marketplace|x", nil), "cluster-scope/base/operators.coreos.com/catalogsources/openshift-marketplace_x"},
		{"CRD", "OwnNamespace", object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "x", crd), "cluster-scope/base/apiextensions.k8s.io/customresourcedefinitions/x"},
		{"ClusterRole", "OwnNamespace", object(rbac, "ClusterRole", "x", nil), "cluster-scope/base/rbac.authorization.k8s.io/clusterroles/x"},
		{"ClusterRoleBinding", "OwnNamespace", object(rbac, "ClusterRoleBinding", "x:y", nil), "cluster-scope/base/rbac.authorization.k8s.io/clusterrolebindings/x_3ay"},
		{"Namespace", "OwnNamespace", object("v1", "Namespace", "x", nil), "cluster-scope/base/core/namespaces/x"},
		{"Subscription to all namespaces", "AllNamespaces", object(alpha1, "Subscription", "ns|x", nil), "cluster-scope/base/operators.coreos.com/subscriptions/x"},
		{"Subscription to several", "MultiNamespace", object(alpha1, "Subscription", "ns|x", nil), "cluster-scope/base/operators.coreos.com/subscriptions/x"},
		{"Subscription to its own", "OwnNamespace", object(alpha1, "Subscription", "ns|x", nil), "tea/base"},
		{"Subscription to one", "SingleNamespace", object(alpha1, "Subscription", "ns|x", nil), "tea/base"},
		{"Deployment", "AllNamespaces", object("apps/v1", "Deployment", "ns|x", nil), "tea/base"},
		{"Role of a tenant", "MultiNamespace", object(rbac, "Role", "other|x", nil), "tea/base"},
		{"another group's InstallPlan", "AllNamespaces", object("plans.example.com/v1", "InstallPlan", "ns|x", nil), "tea/base"},
		{"kind that a CRD of the tree defines", "AllNamespaces", object("tea.example.com/v1", "Kettle", "x", nil), "cluster-scope/base/tea.example.com/kettles/x"},
	} {
		defines := object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "kettles.tea.example.com", crd)
		files := laidOut(t, testTree(t, []Operator{operator("tea", "ns", c.mode)}, c.x, defines), LayoutClusterScope)
		got := ""
		for p, text := range files {
			if text == string(c.x.Data) {
				got = path.Dir(p)
			}
		}
		if got != c.want {
			t.Errorf("%s: in %q, want %q", c.what, got, c.want)
		}
	}
}

// kustomize takes no object twice, so the overlay lists the objects of operators that share some, and bundles of the others.
func TestClusterScopeShared(t *testing.T) {
	operators := []Operator{operator("tea", "drinks", ""), operator("cake", "drinks", ""), operator("ale", "pub", "")}
	tree := testTree(t, operators,
		object("operators.coreos.com/v1", "OperatorGroup", "drinks|drinks", nil, 0, 1), object("operators.coreos.com/v1", "OperatorGroup", "pub|drinks", nil, 2),
		object(rbac, "ClusterRole", "tea", nil, 0), object(rbac, "ClusterRole", "cake", nil, 1), object(rbac, "ClusterRole", "ale", nil, 2))
	files := laidOut(t, tree, LayoutClusterScope)
	want := `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- ../../../base/operators.coreos.com/operatorgroups/drinks
- ../../../base/rbac.authorization.k8s.io/clusterroles/tea
- ../../../base/rbac.authorization.k8s.io/clusterroles/cake
- ../../../bundles/ale
`
	if d := cmp.Diff(want, files["cluster-scope/overlays/prod/common/kustomization.yaml"]); d != "" {
		t.Errorf("overlay (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"OperatorGroup drinks/drinks", "ClusterRole /tea"}, built(t, files, "cluster-scope/bundles/tea")); d != "" {
		t.Errorf("the bundle of tea is not whole (-want +got):\n%s", d)
	}
	all := []string{"OperatorGroup drinks/drinks", "ClusterRole /tea", "ClusterRole /cake", "OperatorGroup pub/drinks", "ClusterRole /ale"}
	if d := cmp.Diff(all, built(t, files, "cluster-scope/overlays/prod/common")); d != "" {
		t.Errorf("the overlay builds (-want +got):\n%s", d)
	}
}

func TestClusterScopeWarnings(t *testing.T) {
	single := map[string]any{"targetNamespaces": []any{"a"}}
	several := map[string]any{"targetNamespaces": []any{"a", "b"}}
	chosen := map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"a": "b"}}}
	meta := operator("meta", "m", "")
	meta.MetaOperator = "ServiceAccount x may create subscriptions of operators.coreos.com"
	const group = "operators.coreos.com/v1"
	tree := testTree(t, []Operator{operator("tea", "ns", ""), meta},
		object(group, "OperatorGroup", "ns|blank", nil), object(group, "OperatorGroup", "ns|single", single),
		object(group, "OperatorGroup", "ns|several", several, 0, 1), object(group, "OperatorGroup", "ns|chosen", chosen),
		object(alpha1, "ClusterServiceVersion", "ns|x", nil), object(alpha1, "ClusterServiceVersion", "a|x", nil),
		object(alpha1, "CatalogSource", "openshift-marketplace|x", nil), object(alpha1, "CatalogSource", "olm|y", nil))
	want := []string{
		"cluster-scope: tea: OperatorGroup ns/several is neither for all namespaces nor for a single one",
		"cluster-scope: tea: OperatorGroup ns/chosen is neither for all namespaces nor for a single one",
		"cluster-scope: tea: CatalogSource y is in namespace olm, and belongs into openshift-marketplace",
		"cluster-scope: tea: left out of kind ClusterServiceVersion: 2 (the layout's decision record has none deployed by hand)",
		"cluster-scope: meta: a meta-operator, because its ServiceAccount x may create subscriptions of operators.coreos.com: limit its permissions, or who may edit its APIs",
	}
	if d := cmp.Diff(want, tree.Warnings(LayoutClusterScope)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, l := range []Layout{LayoutFlat, LayoutByKind, LayoutGitOpsCatalog} {
		if got := tree.Warnings(l); got != nil {
			t.Errorf("%s warns of what it does not do: %q", l, got)
		}
	}
}

func TestLayoutRefuses(t *testing.T) {
	noChannel := operator("tea", "ns", "")
	noChannel.Channel = ""
	for _, c := range []struct {
		layout     Layout
		operators  []Operator
		objects    []generate.Shared
		want, hint string
	}{
		{"round", nil, nil, `unknown layout "round"`, ""},
		{LayoutGitOpsCatalog, []Operator{noChannel}, nil, "tea: the layout gitops-catalog has an overlay for the channel, and the bundle is in none", "name one"},
		{LayoutGitOpsCatalog, []Operator{operator("tea", "a", ""), operator("Tea-operator", "b", "")}, nil,
			"the operators tea and Tea-operator would both be in the directory Tea-operator", "give one of them another name"},
		{LayoutClusterScope, []Operator{operator("Cluster-Scope", "a", "")}, nil, "Cluster-Scope and the layout itself would both be in the directory Cluster-Scope", "give the operator another name"},
		{LayoutClusterScope, []Operator{operator("tea", "a", "")}, []generate.Shared{object("tea.example.com/v1", "Kettle", "x", nil)},
			"the layout cluster-scope does not know the plural of kind Kettle of tea.example.com/v1", "its CRD, which has it, is not among the objects: use another layout"},
	} {
		_, err := testTree(t, c.operators, c.objects...).Files(c.layout)
		if err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %s", err, c.want)
			continue
		}
		var h *manifest.HintError
		if errors.As(err, &h) && h.Hint() != c.hint || h == nil && c.hint != "" {
			t.Errorf("%v: hint %v, want %s", err, h, c.hint)
		}
	}
}
