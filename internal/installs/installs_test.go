package installs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/tree"
)

const (
	modeOwn    = v1alpha1.InstallModeTypeOwnNamespace
	modeSingle = v1alpha1.InstallModeTypeSingleNamespace
	modeMulti  = v1alpha1.InstallModeTypeMultiNamespace
	modeAll    = v1alpha1.InstallModeTypeAllNamespaces
)

// csv supports the modes; a mode with "!" in front is there and unsupported.
func csv(modes ...v1alpha1.InstallModeType) *v1alpha1.ClusterServiceVersion {
	c := &v1alpha1.ClusterServiceVersion{}
	c.Name = "door-operator.v1.2.0"
	for _, m := range modes {
		name, not := strings.CutPrefix(string(m), "!")
		c.Spec.InstallModes = append(c.Spec.InstallModes, v1alpha1.InstallMode{Type: v1alpha1.InstallModeType(name), Supported: !not})
	}
	return c
}

func TestOf(t *testing.T) {
	for _, c := range []struct {
		csv    *v1alpha1.ClusterServiceVersion
		scope  bundle.OperatorScope
		reason string
	}{
		{csv(), bundle.Descoped, "spec.installModes is empty"},
		{csv(modeAll), bundle.AllUsers, "spec.installModes supports AllNamespaces only"},
		{csv("!"+modeOwn, "!"+modeSingle, "!"+modeMulti, modeAll), bundle.AllUsers, "spec.installModes supports AllNamespaces only"},
		{csv(modeOwn, modeAll), bundle.Scoped, "spec.installModes supports OwnNamespace, AllNamespaces"},
		{csv(modeOwn, "!"+modeOwn, modeAll), bundle.AllUsers, "spec.installModes supports AllNamespaces only"},
		{csv("!" + modeAll), bundle.Scoped, "spec.installModes supports none"},
	} {
		if scope, reason := bundle.ScopeOf(c.csv); scope != c.scope || reason != c.reason {
			t.Errorf("got %q, %q, want %q, %q", scope, reason, c.scope, c.reason)
		}
	}
}

// The plan's cases, each with what it says about it.
func TestAdvise(t *testing.T) {
	const v1, v2 = "door-operator.v1.1.0", "door-operator.v1.2.0"
	for _, c := range []struct {
		name     string
		csv      *v1alpha1.ClusterServiceVersion
		installs []Install
		want     []string // the beginning of the state, then of each step
	}{
		{"descoped", csv(), nil, []string{"", "bind it where it may work [Descoped.BindNamespaces Descoped.BindAll]"}},
		{"for all users", csv(modeAll), nil, []string{"", "it is bound in all namespaces by default: bind it only where it may work if that is too much [Descoped.BindNamespaces Descoped.BindNone]",
			"all users get its APIs: their roles are aggregated to admin, edit and view; choose other roles, or none, if that is too much [Descoped.AggregateTo]"}},
		{"for all users, installed", csv(modeAll), []Install{{v1, "a", []string{""}}}, []string{"installed for all namespaces, door-operator.v1.1.0 in a for all namespaces", "keep its bindings there, which it has by default [Descoped.BindAll]",
			"all users get its APIs: their roles are aggregated to admin, edit and view; choose other roles, or none, if that is too much [Descoped.AggregateTo]"}},
		{"not known", csv(modeOwn), nil, []string{"olmgen does not know where it is installed", "until a release is descoped, replace it with this output, bound where it works today [Descoped.BindNamespaces]"}},
		{"not installed", csv(modeOwn), []Install{}, []string{"it is not installed", "look for an alternative that is descoped, or bind it where it may work [Descoped.BindNamespaces]"}},
		{"single", csv(modeOwn), []Install{{v1, "a", []string{"a"}}}, []string{"installed once, door-operator.v1.1.0 in a for a", "until a release is descoped, replace it with this output in namespace a, bound in a [Namespace Descoped.BindNamespaces]"}},
		{"single, and could be multi", csv(modeOwn, modeMulti), []Install{{v1, "a", []string{"x", "y"}}}, []string{"installed once, door-operator.v1.1.0 in a for x,y", "until a release is descoped"}},
		{"all namespaces", csv(modeOwn, modeAll), []Install{{v1, "a", []string{""}}}, []string{"installed in a for all namespaces", "keep its bindings there [Descoped.BindAll]"}},
		{"several of a version", csv(modeOwn), []Install{{v1, "a", []string{"a"}}, {v1, "b", nil}}, []string{"installed 2 times in one version: door-operator.v1.1.0 in a for a; door-operator.v1.1.0 in b", "clean this up by hand: keep one"}},
		{"several of a version, and could be multi", csv(modeOwn, modeMulti), []Install{{v1, "a", []string{"a"}}, {v1, "b", []string{"b"}}}, []string{"installed 2 times in one version", "it supports MultiNamespace: move to a single instance for all their namespaces, a,b; then descope that one"}},
		{"several versions", csv(modeOwn, modeMulti), []Install{{v1, "a", []string{"a"}}, {v2, "b", []string{"b"}}}, []string{"installed 2 times in different versions: door-operator.v1.1.0 in a for a; door-operator.v1.2.0 in b for b", "clean this up by hand: only one version"}},
		{"one is global", csv(modeAll, modeMulti), []Install{{v1, "a", []string{""}}, {"", "b", []string{"b"}}}, []string{"installed 2 times in different versions: door-operator.v1.1.0 in a for all namespaces; an unknown version in b for b", "clean this up by hand"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			advice := Advise(c.csv, c.installs)
			got := []string{advice.State}
			for _, step := range advice.Steps {
				got = append(got, fmt.Sprint(step.Msg, " ", step.Options))
			}
			if len(got) != len(c.want) {
				t.Fatalf("got %q", got)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], c.want[i]) {
					t.Errorf("got  %s\nwant %s", got[i], c.want[i])
				}
			}
		})
	}
}

const group = `apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: g, namespace: NS}
spec: SPEC
`

func TestFind(t *testing.T) {
	b := &bundle.Bundle{Package: "doors", CSV: csv(modeOwn)}
	files := map[string]string{
		"a/csv.yaml":  "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: door-operator.v1.1.0, namespace: a, annotations: {olm.targetNamespaces: 'x,y'}}\n",
		"a/copy.yaml": "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: door-operator.v1.1.0, namespace: x, labels: {olm.copiedFrom: a}}\n",
		"b.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: b, labels: {olm.owner: door-operator.v1.2.0, olm.owner.namespace: b, olm.owner.kind: ClusterServiceVersion}}\n" +
			"spec: {template: {metadata: {annotations: {olm.targetNamespaces: ''}}}}\n",
		"c.yml": "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: s, namespace: c}, spec: {name: doors, source: x, sourceNamespace: olm, startingCSV: door-operator.v1.0.0}}\n---\n" +
			strings.NewReplacer("NS", "c", "SPEC", "{targetNamespaces: [q, p]}").Replace(group),
		"d.yaml": "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: s, namespace: d}\nspec: {name: doors, source: x, sourceNamespace: olm}\n",
		"e.yaml": strings.NewReplacer("NS", "d", "SPEC", "{}").Replace(group),
		"plain.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: p, labels: {app.kubernetes.io/part-of: doors}}\n" +
			"spec: {template: {metadata: {annotations: {olm.operatorNamespace: p, olm.targetNamespaces: 'r'}}}}\n",
		"descoped.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: q, labels: {app.kubernetes.io/part-of: doors}}\n" +
			"spec: {template: {metadata: {annotations: {olm.operatorNamespace: q, olm.targetNamespaces: ''}}}}\n",
		"tenant.yaml": "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: d, namespace: t, labels: {app.kubernetes.io/part-of: doors, " +
			"descoped.olmgen.dev/clusterrole: required}}\nroleRef: {kind: ClusterRole, name: d}\nsubjects: [{kind: ServiceAccount, name: d, namespace: q}]\n",
		"app.yaml":      "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: z, labels: {app.kubernetes.io/part-of: doors}}\n",
		"other.yaml":    "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: s, namespace: z}\nspec: {name: windows, source: x, sourceNamespace: olm}\n",
		"another.yaml":  "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: door-operator-pro.v1.1.0, namespace: z}\n",
		"helm.yaml":     "kind: {{ .Values.kind }}\n",
		"broken.yaml":   "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: [1]\n",
		"README.md":     "kind: [",
		".git/csv.yaml": "kind: [",
	}
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	read, err := tree.Read(t.Context(), []string{"."}, tree.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, unreadable := Find(read, b)
	want := []Install{
		{"door-operator.v1.1.0", "a", []string{"x", "y"}}, {"door-operator.v1.2.0", "b", []string{""}},
		{"door-operator.v1.0.0", "c", []string{"q", "p"}}, {"", "d", []string{""}}, {"", "p", []string{"r"}},
		{"", "q", []string{"t"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if len(unreadable) != 1 || !strings.HasPrefix(unreadable[0].Error(), "broken.yaml:4: spec: ") {
		t.Errorf("not readable: %v", unreadable)
	}
	if len(read.Skipped) != 1 || read.Skipped[0].Path != "helm.yaml" || len(read.Faults) > 0 {
		t.Errorf("skipped: %v, at fault: %v", read.Skipped, read.Faults)
	}
	if none, _ := Find(&tree.Tree{}, b); none == nil {
		t.Error("no installation is not the same as none that is known")
	}
}
