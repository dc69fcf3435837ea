package live

import (
	"os"
	"path/filepath"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// UserRoles are the ClusterRoles for users: those of Kubernetes, and OpenShift's cluster-reader.
var UserRoles = []string{"admin", "edit", "view", "cluster-reader"}

// Users are the rules that the roles for users gain by aggregation when an operator is installed, in the order in which
// the controller of Kubernetes writes them. A role that gains nothing is left out.
type Users map[string][]rbacv1.PolicyRule

const usersFile = "users.yaml"

// ReadUsers reads what users gain in a case.
func ReadUsers(dir string) (Users, error) {
	data, err := os.ReadFile(filepath.Join(dir, usersFile))
	if err != nil {
		return nil, err
	}
	users := Users{}
	return users, yaml.UnmarshalStrict(data, &users)
}

// WriteUsers writes what ReadUsers reads.
func WriteUsers(dir string, users Users) error {
	data, err := yaml.Marshal(users)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, usersFile), data, 0o644)
}
