package access

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
)

// workers ask at the same time.
const workers = 16

// Asker asks one cluster.
type Asker struct {
	client   kubernetes.Interface
	canaries int
}

// New returns an Asker for a cluster.
func New(c *cluster.Cluster) (*Asker, error) {
	config := rest.CopyConfig(c.Config)
	config.ContentType = "application/vnd.kubernetes.protobuf" // several times as fast as JSON
	client, err := kubernetes.NewForConfig(config)
	return &Asker{client: client}, err
}

// Answers tell for each subject which questions were answered with yes.
type Answers map[string]map[Question]bool

// Count is how many questions were asked, and how many of them were answered with yes.
func (a Answers) Count() (asked, yes int) {
	for _, answers := range a {
		asked += len(answers)
		for _, allowed := range answers {
			if allowed {
				yes++
			}
		}
	}
	return asked, yes
}

// Ask asks all questions about all subjects, once aggregation has settled and the API server's authorizer has seen all
// that was written.
func (a *Asker) Ask(ctx context.Context, subjects []Subject, questions []Question) (Answers, error) {
	if err := a.settle(ctx); err != nil {
		return nil, err
	}
	if err := a.canary(ctx); err != nil {
		return nil, err
	}
	answers := Answers{}
	for _, s := range subjects {
		about := slices.DeleteFunc(slices.Clone(questions), func(q Question) bool { return !s.concerned(q) })
		allowed, err := a.about(ctx, s, about)
		if err != nil {
			return nil, err
		}
		answers[s.Name] = allowed
	}
	return answers, nil
}

// Again asks those questions that were answered with yes: all that can change when a right is taken away.
func (a *Asker) Again(ctx context.Context, subjects []Subject, before Answers) (Answers, error) {
	answers := Answers{}
	if err := errors.Join(a.settle(ctx), a.canary(ctx)); err != nil {
		return nil, err
	}
	for _, s := range subjects {
		var questions []Question
		for q, allowed := range before[s.Name] {
			if allowed {
				questions = append(questions, q)
			}
		}
		allowed, err := a.about(ctx, s, questions)
		if err != nil {
			return nil, err
		}
		answers[s.Name] = allowed
	}
	return answers, nil
}

func (a *Asker) about(ctx context.Context, s Subject, questions []Question) (map[Question]bool, error) {
	allowed, errs := make([]bool, len(questions)), make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for n := w; n < len(questions) && errs[w] == nil; n += workers {
				allowed[n], errs[w] = a.allowed(ctx, s, questions[n])
			}
		})
	}
	wg.Wait()
	answers := map[Question]bool{}
	for n, q := range questions {
		answers[q] = allowed[n]
	}
	return answers, errors.Join(errs...)
}

func (a *Asker) allowed(ctx context.Context, s Subject, q Question) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: q.review()}
	review.Spec.User, review.Spec.Groups = s.user, s.groups
	got, err := a.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("%s: %s: %w", s.Name, q, err)
	}
	return got.Status.Allowed, nil
}

// Canary begins the names of the objects that an Asker writes.
const Canary = "canary-"

// canary writes one object of each kind of RBAC and waits until they count: the authorizer has seen everything that was
// written before then, as it watches each kind in order.
func (a *Asker) canary(ctx context.Context) error {
	a.canaries++
	meta := metav1.ObjectMeta{Name: fmt.Sprintf("%s%d-%d", Canary, time.Now().UnixNano(), a.canaries)}
	rules := []rbacv1.PolicyRule{{APIGroups: []string{"canary"}, Resources: []string{"canaries"},
		Verbs: []string{"sing"}}}
	subject := func(scope string) []rbacv1.Subject {
		return []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: meta.Name + scope}}
	}
	rbac, ref := a.client.RbacV1(), rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name}
	_, err1 := rbac.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules},
		metav1.CreateOptions{})
	_, err2 := rbac.ClusterRoleBindings().Create(ctx,
		&rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subject("-everywhere")},
		metav1.CreateOptions{})
	ref.Kind = "Role"
	_, err3 := rbac.Roles("default").Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
	_, err4 := rbac.RoleBindings("default").Create(ctx,
		&rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subject("-here")}, metav1.CreateOptions{})
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	for _, scope := range []string{"-everywhere", "-here"} {
		for {
			ok, err := a.allowed(ctx, Subject{user: meta.Name + scope},
				Question{Namespace: "default", Group: "canary", Resource: "canaries", Verb: "sing"})
			if err != nil {
				return err
			}
			if ok {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	return nil
}

// Differences compares what two clusters answered, in a fixed order.
func Differences(olm, olmgen Answers) (out []string) {
	say := map[bool]string{true: "yes", false: "no"}
	for _, subject := range slices.Sorted(maps.Keys(olm)) {
		var lines []string
		for q, want := range olm[subject] {
			if got, asked := olmgen[subject][q]; !asked || got != want {
				lines = append(lines,
					fmt.Sprintf("%s: %s: with OLM %s, with olmgen %s", subject, q, say[want], say[got]))
			}
		}
		slices.Sort(lines)
		out = append(out, lines...)
		if len(olm[subject]) != len(olmgen[subject]) {
			out = append(out, fmt.Sprintf("%s: %d and %d questions", subject, len(olm[subject]), len(olmgen[subject])))
		}
	}
	if len(olm) != len(olmgen) {
		out = append(out, fmt.Sprintf("%d and %d subjects", len(olm), len(olmgen)))
	}
	return out
}

func ruleSet(rules []rbacv1.PolicyRule) map[string]bool {
	set := map[string]bool{}
	for _, r := range rules {
		set[r.String()] = true
	}
	return set
}
