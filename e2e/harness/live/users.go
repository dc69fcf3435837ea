package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
	recordings "github.com/olmgen/olmgen/golden/live"
)

// makeClusterReader creates the ClusterRole cluster-reader with the selectors that OpenShift gives it
// (openshift-apiserver, pkg/bootstrappolicy/policy.go), and waits until the controller has filled it.
func makeClusterReader(ctx context.Context, c *cluster.Cluster) error {
	r := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "cluster-reader"},
		AggregationRule: &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{
			{MatchLabels: map[string]string{"rbac.authorization.k8s.io/aggregate-to-cluster-reader": "true"}},
			{MatchLabels: map[string]string{"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
		}}}
	if _, err := c.Client.RbacV1().ClusterRoles().Create(ctx, r, metav1.CreateOptions{}); err != nil {
		return err
	}
	// The roles of Kubernetes are aggregated too: a rule that comes late would be taken for one that users gain.
	var last recordings.Users
	since := time.Now()
	return c.Wait(ctx, "aggregation of ClusterRoles", func() error {
		now, err := usersRules(ctx, c)
		if err != nil {
			return err
		}
		empty := slices.ContainsFunc(recordings.UserRoles, func(role string) bool { return len(now[role]) == 0 })
		if empty || !equality.Semantic.DeepEqual(now, last) {
			last, since = now, time.Now()
		}
		if time.Since(since) <= time.Second {
			return errors.New("they change")
		}
		return nil
	})
}

// usersRules returns all rules of the roles for users.
func usersRules(ctx context.Context, c *cluster.Cluster) (recordings.Users, error) {
	rules := recordings.Users{}
	for _, name := range recordings.UserRoles {
		r, err := c.Client.RbacV1().ClusterRoles().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		rules[name] = r.Rules
	}
	return rules, nil
}

// gained returns the rules that the roles for users have and had not before.
func (i *installation) gained(ctx context.Context) (recordings.Users, error) {
	now, err := usersRules(ctx, i.cluster)
	if err != nil {
		return nil, err
	}
	for role, rules := range now {
		now[role] = slices.DeleteFunc(rules, func(r rbacv1.PolicyRule) bool {
			return slices.ContainsFunc(i.usersBefore[role], func(b rbacv1.PolicyRule) bool {
				return equality.Semantic.DeepEqual(r, b)
			})
		})
		if len(now[role]) == 0 {
			delete(now, role)
		}
	}
	return now, nil
}

// DiffUsers prints how two recordings differ. It is empty for equal ones.
func DiffUsers(recorded, now recordings.Users) string {
	var b strings.Builder
	for _, role := range recordings.UserRoles {
		if !equality.Semantic.DeepEqual(recorded[role], now[role]) {
			fmt.Fprintf(&b, "- users of %s gain %v\n+ users of %[1]s gain %v\n", role, recorded[role], now[role])
		}
	}
	return b.String()
}
