package permissions

import (
	"errors"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/manifest"
)

// AuditPolicy returns the smallest audit policy that records what Use needs of the accounts of the report: metadata,
// and the bodies of changes, which have owner references and the rules of roles. Bodies with credentials are left out.
// OpenShift takes the profile of a group instead (openshift/api: config/v1/types_apiserver.go).
func (r *Report) AuditPolicy(openshift bool) ([]byte, error) {
	var users, groups []string
	for _, items := range r.ownRights() {
		a := items[0].Subject.account(nil)
		users = append(users, a.User())
		groups = lists.Add(groups, rbac.Account{Namespace: a.Namespace}.Groups()[2])
	}
	if len(users) == 0 {
		return nil, manifest.WithHint(errors.New("no ServiceAccount has rights of its own"),
			"leave it out: there is nothing to record")
	}
	if openshift {
		rules := lists.Map(lists.SortedUnique(groups), func(g string) any {
			return map[string]any{"group": g, "profile": "WriteRequestBodies"}
		})
		return manifest.Encode(map[string]any{"apiVersion": "config.openshift.io/v1", "kind": "APIServer",
			"metadata": map[string]any{"name": "cluster"},
			"spec":     map[string]any{"audit": map[string]any{"customRules": rules}}}), nil
	}
	rule := func(level string, verbs []string, resources ...any) any {
		out := map[string]any{"level": level, "users": text.Values(users)}
		if len(verbs) > 0 {
			out["verbs"] = text.Values(verbs)
		}
		if len(resources) > 0 {
			out["resources"] = resources
		}
		return out
	}
	of := func(group string, resources ...string) any {
		return map[string]any{"group": group, "resources": text.Values(resources)}
	}
	secret := rule("Metadata", nil, of("", "secrets", "configmaps", "serviceaccounts/token"),
		of("authentication.k8s.io", "tokenreviews"))
	roles := rule("Request", []string{"create"},
		of(rbacv1.GroupName, "roles", "clusterroles", "rolebindings", "clusterrolebindings"))
	return manifest.Encode(map[string]any{"apiVersion": "audit.k8s.io/v1", "kind": "Policy",
		"omitManagedFields": true, "omitStages": []any{"RequestReceived"},
		"rules": []any{secret, roles, rule("Request", []string{"update", "patch"}), rule("Metadata", nil)}}), nil
}
