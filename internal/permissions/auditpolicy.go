package permissions

import (
	_ "embed"
	"errors"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/manifest"
)

//go:embed auditpolicy.yaml
var auditPolicy []byte

// AuditPolicy returns the smallest audit policy that records what Use needs of the accounts of the report. OpenShift
// takes the profile of a group instead (openshift/api: config/v1/types_apiserver.go).
func (r *Report) AuditPolicy(openshift bool) ([]byte, error) {
	var users, groups []string
	for _, items := range r.ownRights() {
		a := items[0].Subject.account()
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
	var policy map[string]any
	if err := yaml.Unmarshal(auditPolicy, &policy); err != nil {
		return nil, err
	}
	for _, rule := range normalize.List(policy, "rules") {
		rule["users"] = text.Values(users)
	}
	return manifest.Encode(policy), nil
}
