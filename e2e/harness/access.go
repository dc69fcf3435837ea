package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/cmd/e2e/harness/access"
	"github.com/olmgen/olmgen/cmd/e2e/harness/apply"
	"github.com/olmgen/olmgen/cmd/e2e/harness/live"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/equal"
	recordings "github.com/olmgen/olmgen/golden/live"
)

// asked are the bundles that access is asked about, in every install mode.
var asked = []string{"live-bundles/regatta", "live-bundles/gates"}

// mutated is the case in which right after right is taken away, and each time it must show.
const mutated = "regatta-multi"

// access compares who may do what in a cluster where OLM installed a bundle and in one where olmgen's tree was applied.
func (o options) access(ctx context.Context, _ material) error {
	cases, err := recordings.Cases(o.golden())
	if err != nil {
		return err
	}
	cases = slices.DeleteFunc(cases, func(c equal.Case) bool {
		standard := strings.HasPrefix(c.Name, filepath.Base(c.Bundle)+"-")
		return !standard || !slices.Contains(asked, c.Bundle) || !o.only.MatchString(c.Name)
	})
	descoped := slices.DeleteFunc(slices.Clone(descopedCases),
		func(c equal.Case) bool { return !o.only.MatchString(c.Name) })
	return errors.Join(o.report(ctx, "access", cases, o.accessOf), o.report(ctx, "access", descoped, o.descopedOf))
}

// interview is what is asked in both clusters.
type interview struct {
	equal.Case
	dir        string
	bundle     *bundle.Bundle // that is read last
	subjects   []access.Subject
	questions  []access.Question
	boundUsers []string // namespaces in which users have roles
}

// newInterview returns what is asked about the bundles of a case.
func newInterview(golden string, c equal.Case) (interview, error) {
	i := interview{Case: c, dir: filepath.Join(golden, c.Bundle),
		boundUsers: []string{c.Namespace, recordings.Targets[0], "unrelated"}}
	var rules []rbacv1.PolicyRule
	for _, dir := range append([]string{c.Bundle}, c.With...) {
		b, err := bundle.Read(os.DirFS(filepath.Join(golden, dir)), bundle.ReadOptions{})
		if err != nil {
			return i, err
		}
		more, err := access.Rules(b)
		if err != nil {
			return i, err
		}
		rules, i.bundle = append(rules, more...), b
		subjects, err := access.Subjects(b, c.Namespace, i.boundUsers)
		if err != nil {
			return i, err
		}
		for _, s := range subjects {
			if !slices.ContainsFunc(i.subjects, func(x access.Subject) bool { return x.Name == s.Name }) {
				i.subjects = append(i.subjects, s)
			}
		}
	}
	i.questions = access.Questions(rules,
		append([]string{c.Namespace, "unrelated", "kube-system"}, recordings.Targets...))
	return i, nil
}

func (o options) accessOf(ctx context.Context, c equal.Case) (string, error) {
	i, err := newInterview(o.golden(), c)
	if err != nil {
		return "", err
	}
	withOLM, err := o.withOLM(ctx, i)
	if err != nil {
		return "", err
	}
	return o.withOlmgen(ctx, i, withOLM)
}

func (o options) withOLM(ctx context.Context, i interview) (access.Answers, error) {
	c, err := startWithOLM(ctx, o.bin(), o.files())
	if err != nil {
		return nil, err
	}
	defer c.Stop()
	recording, err := live.Record(ctx, c, o.golden(), i.Case)
	if err != nil {
		return nil, err
	}
	if recording.Case.Options().Incomplete {
		return nil, fmt.Errorf("OLM did not install it: %s", recording.Case.Message)
	}
	a, err := access.New(c)
	if err != nil {
		return nil, err
	}
	if err := a.BindUsers(ctx, i.boundUsers); err != nil {
		return nil, err
	}
	return a.Ask(ctx, i.subjects, i.questions)
}

// withOlmgen applies the bundle in every form, one after the other, and asks the same.
func (o options) withOlmgen(ctx context.Context, i interview, withOLM access.Answers) (string, error) {
	c, err := o.withNamespaces(ctx, append([]string{i.Namespace, "unrelated"}, recordings.Targets...))
	if err != nil {
		return "", err
	}
	defer c.Stop()
	a := apply.New(c)
	asker, err := access.New(c)
	if err != nil {
		return "", err
	}
	options := generate.Options{Namespace: i.Namespace, OperatorGroup: i.OperatorGroup,
		InstallMode: v1alpha1.InstallModeType(i.InstallMode), TargetNamespaces: i.TargetNamespaces}
	var last apply.Tree
	var answers access.Answers
	for _, form := range slices.Backward(apply.Forms) { // first those without OLM's CRDs
		expected, questions := withOLM, i.questions
		if form.Profile == generate.ProfileOLM {
			err = c.InstallOLMCRDs(ctx)
		} else { // such a cluster has no OperatorConditions
			ofOLM := func(q access.Question) bool { return q.Group == "operators.coreos.com" }
			expected, questions = withOLM.Without(ofOLM), slices.DeleteFunc(slices.Clone(questions), ofOLM)
		}
		if err != nil {
			return "", err
		}
		if err := a.Remove(ctx, last); err != nil {
			return "", err
		}
		if last, err = form.Render(i.dir, options); err != nil {
			return "", err
		}
		if _, errs := a.Apply(ctx, last); len(errs) > 0 {
			return "", errors.Join(errs...)
		}
		if err := asker.BindUsers(ctx, i.boundUsers); err != nil {
			return "", err
		}
		if answers, err = asker.Ask(ctx, i.subjects, questions); err != nil {
			return "", err
		}
		if d := access.Differences(expected, answers); len(d) > 0 {
			return "",
				fmt.Errorf("%s: %d answers differ:\n%s", form.Name, len(d), strings.Join(d[:min(len(d), 40)], "\n"))
		}
	}
	n, yes := answers.Count()
	found := fmt.Sprintf("%d questions about %d subjects, %d answered with yes, equal in %d forms", n, len(i.subjects),
		yes, len(apply.Forms))
	if i.Name != mutated {
		return found, nil
	}
	mutations, err := o.mutate(ctx, a, asker, i, last, answers)
	return fmt.Sprintf("%s; %d lost rights noticed", found, mutations), err
}

// withNamespaces starts a cluster with namespaces.
func (o options) withNamespaces(ctx context.Context, names []string) (*cluster.Cluster, error) {
	c, err := cluster.Start(ctx, o.bin(), o.files())
	if err != nil {
		return nil, err
	}
	for _, ns := range names {
		err = errors.Join(err, c.Namespace(ctx, ns, nil))
	}
	if err != nil {
		c.Stop()
	}
	return c, err
}

// mutate takes every rule, every binding and every aggregation away, one at a time: each must change an answer, or the
// questions are too few.
func (o options) mutate(ctx context.Context, a *apply.Applier, asker *access.Asker, i interview, t apply.Tree,
	before access.Answers) (int, error) {
	mutations := access.Mutations(t.Objects)
	for _, m := range mutations {
		if err := a.Replace(ctx, m.Object, m.Mutant); err != nil {
			return 0, fmt.Errorf("without %s: %w", m.Lost, err)
		}
		after, err := asker.Again(ctx, i.subjects, before)
		if err != nil {
			return 0, err
		}
		if len(access.Differences(before.Yes(), after)) == 0 {
			return 0, fmt.Errorf("nobody notices that %s is missing", m.Lost)
		}
		if err := a.Replace(ctx, m.Mutant, m.Object); err != nil {
			return 0, fmt.Errorf("with %s again: %w", m.Lost, err)
		}
	}
	after, err := asker.Again(ctx, i.subjects, before)
	if err == nil && len(access.Differences(before.Yes(), after)) > 0 {
		err = errors.New("the answers are not the same again after the mutations")
	}
	return len(mutations), err
}
