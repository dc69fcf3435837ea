package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
)

// usersOfCase is before the names of cases whose users are asked about.
const usersOfCase = "users of "

// usersByOLMv1 is how many bundles have users.
const usersByOLMv1 = 3

// Where users are bound to Kubernetes' own roles, and where not.
const (
	usersNamespace = "users"
	otherNamespace = "strangers"
)

// readers and writers are the verbs of Kubernetes' role "view", and those that "edit" has besides. "admin" has all.
var (
	readers = []string{"get", "list", "watch"}
	writers = []string{"create", "update", "patch", "delete"}
	rulers  = []string{"deletecollection"}
)

func hasNoAPIs(c v1Case) bool { return len(c.bundle.CSV.Spec.CustomResourceDefinitions.Owned) == 0 }

// users asks what users of "view", "edit" and "admin" in a namespace may do with the APIs of a bundle that OLM v1 has
// installed: what docs/profiles.md says of the ClusterRoles that olmgen writes, and no more.
func (r *v1Run) users(ctx context.Context, cases []v1Case) error {
	return r.each(ctx, cases[:min(len(cases), usersByOLMv1)],
		func(c v1Case) (string, error) { return r.askUsers(ctx, c) })
}

func (r *v1Run) askUsers(ctx context.Context, c v1Case) (string, error) {
	extension, result, class, err := r.offer(ctx, c)
	if class != "" || err != nil {
		return "left out: " + class, err
	}
	if err := r.bindUsers(ctx); err != nil {
		return "", err
	}
	before, err := r.Look(ctx)
	if err != nil {
		return "", err
	}
	if _, errs := r.applier.Apply(ctx, extension); len(errs) > 0 {
		return "", errors.Join(errs...)
	}
	said, err := r.Complaint(ctx, result.Package)
	if said != "" {
		err = fmt.Errorf("OLM v1 does not install it: %s", said)
	}
	asked := 0
	if err == nil {
		asked, err = r.answers(ctx, c)
	}
	err = errors.Join(err, r.Uninstall(ctx, result.Package))
	_, lookErr := r.Left(ctx, before.With(extension.Objects))
	return fmt.Sprintf("%d questions", asked), errors.Join(err, lookErr, r.applier.Remove(ctx, extension))
}

// bindUsers makes both namespaces, and a user for each role who is called like it.
func (r *v1Run) bindUsers(ctx context.Context) error {
	for _, ns := range []string{usersNamespace, otherNamespace} {
		if err := r.Namespace(ctx, ns, nil); err != nil {
			return err
		}
	}
	for _, role := range []string{"view", "edit", "admin"} {
		_, err := r.Client.RbacV1().RoleBindings(usersNamespace).Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: role}},
		}, metav1.CreateOptions{})
		if err := cluster.Exists(err); err != nil {
			return err
		}
	}
	return nil
}

// answers asks until the answers are right, because Kubernetes aggregates the roles on its own, and says what is wrong.
func (r *v1Run) answers(ctx context.Context, c v1Case) (asked int, err error) {
	for started := time.Now(); time.Since(started) < 10*time.Second; time.Sleep(200 * time.Millisecond) {
		if asked, err = r.ask(ctx, c); err == nil {
			return asked, nil
		}
	}
	return asked, err
}

func (r *v1Run) ask(ctx context.Context, c v1Case) (asked int, err error) {
	may := map[string][]string{"nobody": nil, "view": readers, "edit": slices.Concat(readers, writers),
		"admin": slices.Concat(readers, writers, rulers)}
	for _, api := range c.bundle.CSV.Spec.CustomResourceDefinitions.Owned {
		resource, group, _ := strings.Cut(api.Name, ".")
		for user, verbs := range may {
			for _, verb := range slices.Concat(readers, writers, rulers) {
				for _, q := range []authorizationv1.ResourceAttributes{
					{Namespace: usersNamespace, Resource: resource},
					{Namespace: usersNamespace, Resource: resource, Subresource: "status"},
					{Namespace: otherNamespace, Resource: resource},
					{Resource: resource},
				} {
					q.Group, q.Version, q.Verb = group, api.Version, verb
					want := q.Namespace == usersNamespace && q.Subresource == "" && slices.Contains(verbs, verb)
					asked++
					err = errors.Join(err, r.expect(ctx, user, q, want))
				}
			}
		}
	}
	return asked, err
}

// expect is an error if a question has another answer.
func (r *v1Run) expect(ctx context.Context, user string, q authorizationv1.ResourceAttributes, want bool) error {
	got, err := r.Client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: user, Groups: []string{"system:authenticated"},
			ResourceAttributes: &q}}, metav1.CreateOptions{})
	if err == nil && got.Status.Allowed != want {
		err = fmt.Errorf("user %s: %s %s/%s in %q: %t, want %t", user, q.Verb, q.Resource, q.Subresource, q.Namespace,
			got.Status.Allowed, want)
	}
	return err
}
