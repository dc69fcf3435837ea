package access

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olmgen/olmgen/bundle"
)

// Subject is someone who may do something.
type Subject struct {
	Name       string
	user       string
	groups     []string
	namespaces []string // that are asked about; nil: all
}

// Identities returns the names under which bindings know the subject, which asks from a namespace.
func (s Subject) Identities(namespace string) []string {
	names := []string{"User " + s.user}
	if account, ok := strings.CutPrefix(s.user, "system:serviceaccount:"+namespace+":"); ok {
		names = append(names, "ServiceAccount "+namespace+"/"+account)
	}
	for _, g := range s.groups {
		names = append(names, "Group "+g)
	}
	return names
}

// Anybody is the subject that is bound to nothing. OfAccount begins the names of ServiceAccounts.
const (
	Anybody   = "anybody"
	OfAccount = "ServiceAccount "
)

const everyone = "system:authenticated"

// bound are the ClusterRoles that users are bound to: Kubernetes' own and the OperatorGroup's.
var bound = []string{"admin", "edit", "view", "group's admin", "group's edit", "group's view"}

// Subjects are a bundle's ServiceAccounts in its namespace, whoever else it binds to its Roles, a user for each role
// that users are bound to in some namespaces, and one who is bound to nothing. All namespaces are asked about for
// ServiceAccounts only.
func Subjects(b *bundle.Bundle, namespace string, users []string) ([]Subject, error) {
	here := []string{namespace}
	subjects := []Subject{{Anybody, "anybody", []string{everyone}, here}}
	for _, name := range accounts(b) {
		subjects = append(subjects,
			Subject{OfAccount + name, fmt.Sprintf("system:serviceaccount:%s:%s", namespace, name),
				[]string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, everyone}, nil})
	}
	for _, role := range bound {
		subjects = append(subjects, Subject{"a user with the role " + role, userOf(role), []string{everyone}, users})
	}
	for _, o := range b.Others {
		if o.Kind != "RoleBinding" && o.Kind != "ClusterRoleBinding" {
			continue
		}
		var binding rbacv1.RoleBinding
		if _, err := o.Into(&binding); err != nil {
			return nil, err
		}
		for _, s := range binding.Subjects {
			switch s.Kind {
			case rbacv1.UserKind:
				subjects = append(subjects, Subject{"User " + s.Name, s.Name, []string{everyone}, here})
			case rbacv1.GroupKind:
				subjects = append(subjects, Subject{"Group " + s.Name, "somebody", []string{s.Name, everyone}, here})
			}
		}
	}
	return subjects, nil
}

// concerned reports whether a question is asked about the subject.
func (s Subject) concerned(q Question) bool {
	return s.namespaces == nil || q.Namespace == "" || slices.Contains(s.namespaces, q.Namespace)
}

func userOf(role string) string {
	return "user-" + regexp.MustCompile(`\W+`).ReplaceAllString(role, "-")
}

// OLMGroup is the OperatorGroup of packageserver.
const OLMGroup = "olm-operators"

// groupRole matches the names that OLM and olmgen give to the ClusterRoles of an OperatorGroup. It does not match the
// default roles of the cluster.
var groupRole = regexp.MustCompile(`[.-](admin|edit|view)(-[0-9A-Za-z]+)?$`)

// BindUsers binds each user to its role in some namespaces and removes its other bindings.
func (a *Asker) BindUsers(ctx context.Context, namespaces []string) error {
	// Olmgen's profile plain writes no owner labels, so the roles are found by name and by their aggregation rule.
	roles, err := a.client.RbacV1().ClusterRoles().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	names := map[string]string{"admin": "admin", "edit": "edit", "view": "view"}
	found := 0
	for _, r := range roles.Items {
		if strings.HasPrefix(r.Name, "olm.og."+OLMGroup+".") {
			continue // OLM's own
		}
		if m := groupRole.FindStringSubmatch(r.Name); m != nil && r.AggregationRule != nil {
			names["group's "+m[1]] = r.Name
			found++
		}
	}
	if len(names) != len(bound) || found != 3 {
		return fmt.Errorf("the OperatorGroup's ClusterRoles are not three: %v", names)
	}
	for _, role := range bound {
		for _, ns := range namespaces {
			bindings := a.client.RbacV1().RoleBindings(ns)
			b := &rbacv1.RoleBinding{RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole",
				Name: names[role]},
				Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: userOf(role)}}}
			b.Name = userOf(role)
			if err := bindings.Delete(ctx, b.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
			if _, err := bindings.Create(ctx, b, metav1.CreateOptions{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// settle waits until every aggregated ClusterRole has the rules that it selects.
func (a *Asker) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		list, err := a.client.RbacV1().ClusterRoles().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		behind, err := unaggregated(list.Items)
		if err != nil || behind == "" {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("ClusterRole %s does not get the rules that it aggregates: %w", behind, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// unaggregated names a ClusterRole that the aggregation controller has not seen to yet.
func unaggregated(roles []rbacv1.ClusterRole) (string, error) {
	for _, r := range roles {
		if r.AggregationRule == nil {
			continue
		}
		has, wants := ruleSet(r.Rules), map[string]bool{}
		for _, s := range r.AggregationRule.ClusterRoleSelectors {
			selector, err := metav1.LabelSelectorAsSelector(&s)
			if err != nil {
				return "", err
			}
			for _, other := range roles {
				if other.Name != r.Name && selector.Matches(labels.Set(other.Labels)) {
					maps.Copy(wants, ruleSet(other.Rules))
				}
			}
		}
		if !maps.Equal(has, wants) {
			return r.Name, nil
		}
	}
	return "", nil
}
