package installer_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/installer"
	"github.com/olmgen/olmgen/templates"
)

// The objects are valid RBAC that binds the account; what needs nothing is not there.
func TestObjects(t *testing.T) {
	set, err := templates.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := installer.Read(t.Context(), "-", strings.NewReader("{apiVersion: v1, kind: Namespace, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: b}}\n---\n{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: a}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := installer.Derive(objects, installer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	roles, err := generate.Grants{Namespace: "tenant", ServiceAccount: "deployer", Name: "app", Cluster: p.Cluster, Namespaces: p.Namespaces}.Objects(set)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range roles {
		got = append(got, o.Kind+" "+o.Namespace+"/"+o.Name)
		if !strings.HasSuffix(o.Kind, "Binding") {
			continue
		}
		var b rbacv1.RoleBinding
		if err := yaml.UnmarshalStrict(o.Data, &b); err != nil {
			t.Fatal(err)
		}
		if b.RoleRef.Kind+"Binding" != o.Kind || b.RoleRef.Name != o.Name || cmp.Diff(b.Subjects, []rbacv1.Subject{{Kind: "ServiceAccount", Name: "deployer", Namespace: "tenant"}}) != "" {
			t.Errorf("%s", o.Data)
		}
	}
	if diff := cmp.Diff([]string{"ClusterRole /tenant.app", "ClusterRoleBinding /tenant.app", "Role a/app", "RoleBinding a/app", "Role b/app", "RoleBinding b/app"}, got); diff != "" {
		t.Error(diff)
	}
}
