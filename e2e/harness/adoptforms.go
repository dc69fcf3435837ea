package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/cmd/internal/adopt"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/equal"
)

// resync is how often OLM looks at everything here. It adds up to a fifth.
const resync, jitter = time.Minute, 12 * time.Second

// threes are clusters with three operators of which one stays with OLM: with a conversion webhook, an APIService and
// copied CSVs in all namespaces, or with webhooks, APIServices and copied Roles in the target namespaces.
var threes = []equal.Case{
	{Name: "three-in-one-group", Bundle: "live-bundles/gates",
		With: []string{"live-bundles/meters", "live-bundles/porter"}, InstallMode: "MultiNamespace",
		Namespace: "operator-ns", OperatorGroup: "my-og",
		TargetNamespaces: []string{"target-a", "target-b"}},
	{Name: "three-in-a-global-group", Bundle: "webhooks/bundle",
		With: []string{"live-bundles/regatta", "../examples/memcached-operator/bundle"}, InstallMode: "AllNamespaces",
		Namespace: "operator-ns", OperatorGroup: "my-og"},
}

// rounds are the forms that each of them goes to, one after the other, each time coming back.
var rounds = map[string][]form{
	"three-in-one-group": { // to, what stays
		{generate.ProfilePlain, "porter-operator"},
		{generate.ProfilePlain, "gatekeeping-operator"},
		{generate.ProfileDescoped, "gauge-operator"},
		{generate.ProfileSubscription, "porter-operator"},
		// OLM v1 refuses the one that leaves, which has no certificates: there is no cert-manager here
		{generate.ProfileClusterExtension, "gatekeeping-operator,gauge-operator"},
	},
	"three-in-a-global-group": {
		{generate.ProfilePlain, "memcached-operator"},
		{generate.ProfilePlain, "rule-operator"},
		{generate.ProfileDescoped, "rule-operator"},
		// OLM v1 takes neither APIServices nor several target namespaces, and webhooks need cert-manager there
		{generate.ProfileOLMv1, "rule-operator,regatta-operator"},
		{generate.ProfilePlain, ""},
	},
}

// rounds goes to each form and back, with foreign objects in place.
func (a *adoption) rounds(ctx context.Context) error {
	if path, _ := exec.LookPath("kubectl"); path == "" {
		a.say("there is no kubectl for the plans")
		return nil
	}
	if err := a.prepare(ctx); err != nil {
		return err
	}
	for _, f := range rounds[a.Name] {
		if !a.forms.MatchString(f.String()) {
			continue
		}
		if err := a.round(ctx, f); err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
	}
	return nil
}

// round follows the plan to one form: each step is undone and done again, all are undone from the last to the first,
// and then it is followed to its end, and back.
func (a *adoption) round(ctx context.Context, f form) error {
	strangers, err := a.createStrangers(ctx, f)
	if err != nil {
		return err
	}
	if _, err := a.quiet(ctx); err != nil {
		return err
	}
	if err := a.undoEach(ctx, f); err != nil {
		return err
	}
	if f.to == generate.ProfileSubscription {
		return errors.Join(strangers.kept(ctx), strangers.remove(ctx))
	}
	if err := a.interrupted(ctx, f); err != nil {
		return err
	}
	p, err := a.plan(ctx, f)
	if err == nil {
		err = a.leaveBy(ctx, p)
	}
	if err == nil {
		err = strangers.kept(ctx)
	}
	if err == nil && f.to == generate.ProfilePlain {
		err = a.resyncs(ctx, p)
	}
	if err == nil {
		err = a.comeBack(ctx)
	}
	return errors.Join(err, strangers.kept(ctx), strangers.remove(ctx))
}

// undoEach follows a plan up to its point. Each step is undone, with the same result as if nothing had been done, and
// done again. Then all are undone. Each command is killed once and runs again.
func (a *adoption) undoEach(ctx context.Context, f form) error {
	p, err := a.plan(ctx, f)
	if err != nil {
		return err
	}
	a.kills = true
	defer func() { a.kills = false }()
	point := slices.IndexFunc(p.steps, func(s adopt.Step) bool { return s.Irreversible })
	if point < 0 {
		point = len(p.steps)
	}
	ran := 0
	for _, s := range p.steps[:point] {
		here, _, err := a.dump(ctx)
		if err != nil {
			return err
		}
		n, err := a.run(ctx, p, []adopt.Step{s})
		if err == nil && len(s.Undo) > 0 {
			_, err = a.follow(ctx, p, "undo "+s.Title, s.Undo)
			if err == nil {
				err = a.sameAgain(ctx, p, here)
			}
			if err == nil {
				_, err = a.run(ctx, p, []adopt.Step{s})
			}
		}
		if err != nil {
			return fmt.Errorf("step %q, undone and done again: %w", s.Title, err)
		}
		ran += n
	}
	for _, s := range slices.Backward(p.steps[:point]) {
		if _, err := a.follow(ctx, p, "undo "+s.Title, s.Undo); err != nil {
			return err
		}
	}
	if _, err := a.quiet(ctx); err != nil {
		return err
	}
	if err := a.sameAgain(ctx, p, p.before); err != nil {
		return fmt.Errorf("all steps undone: %w", err)
	}
	a.say("each of %d steps before the point undone and done again, and all undone (%s): %d commands, each killed once",
		point, f, ran)
	return a.sameAnswers(ctx, "after undo")
}

// interrupted follows a plan up to its point, lets OLM run for a while, and stops it. What OLM has changed, the
// guard must
// refuse. Then all steps are undone.
func (a *adoption) interrupted(ctx context.Context, f form) error {
	p, err := a.plan(ctx, f)
	if err != nil {
		return err
	}
	point := slices.IndexFunc(p.steps, func(s adopt.Step) bool { return s.Irreversible })
	if _, err := a.run(ctx, p, p.steps[:point]); err != nil {
		return err
	}
	err = a.cluster.RunOLM(ctx)
	if err == nil {
		err = sleep(ctx, resync+jitter)
	}
	if err != nil {
		return err
	}
	a.cluster.StopOLM()
	after, _, err := a.dump(ctx)
	if err != nil {
		return err
	}
	marked := func(s *adopt.State) (n int) {
		for _, o := range s.Dump.Objects {
			for _, row := range p.csvs {
				csv := strings.Fields(row)
				ours := o.Labels["olm.owner"] == csv[0] && o.Labels["olm.owner.namespace"] == csv[1]
				if ours && o.Kind != "ClusterServiceVersion" && o.Kind != "OperatorCondition" {
					n++
				}
			}
		}
		return n
	}
	moved := len(after.Since(p.before, p.after)) > 0 || marked(after) > 0
	_, refused := a.follow(ctx, p, "guard", p.steps[point].Guard)
	if moved != (refused != nil) {
		return fmt.Errorf("OLM ran before the point, and changed something: %t, and the guard says: %w", moved, refused)
	}
	for _, s := range slices.Backward(p.steps[:point]) {
		if _, err := a.follow(ctx, p, "undo "+s.Title, s.Undo); err != nil {
			return err
		}
	}
	again, err := a.quiet(ctx)
	if err == nil {
		err = a.withoutCopies(ctx, p.before, again)
	}
	if err != nil {
		return err
	}
	a.say("OLM ran before the point and put %d labels back: the guard refuses: %t (%s)", marked(after),
		refused != nil, f)
	return a.sameAgain(ctx, p, p.before)
}

// withoutCopies deletes the webhook configurations that OLM has made a second time, because it did not find its
// labels on
// the first ones. A person has to do that, too.
func (a *adoption) withoutCopies(ctx context.Context, before, after *adopt.State) error {
	hooks := a.cluster.Client.AdmissionregistrationV1()
	for _, o := range after.Dump.Objects {
		var err error
		switch {
		case before.Dump.Get(o.Kind, o.Namespace, o.Name) != nil:
		case o.Kind == "MutatingWebhookConfiguration":
			err = hooks.MutatingWebhookConfigurations().Delete(ctx, o.Name, metav1.DeleteOptions{})
		case o.Kind == "ValidatingWebhookConfiguration":
			err = hooks.ValidatingWebhookConfigurations().Delete(ctx, o.Name, metav1.DeleteOptions{})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sameAgain waits until the cluster is as it was.
func (a *adoption) sameAgain(ctx context.Context, p *departure, before *adopt.State) error {
	const patience = 2 * resync
	for started := time.Now(); ; {
		now, _, err := a.dump(ctx)
		if err != nil {
			return err
		}
		_, err = tolerance{labelled: true, kinds: []string{"Subscription"}, restarted: p.restarts,
			marks: a.returned && before != p.before}.restored(before, now)
		if err == nil || time.Since(started) > patience {
			return err
		}
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// resyncs lets OLM look at everything three times. All must stay as it was.
func (a *adoption) resyncs(ctx context.Context, p *departure) error {
	if err := sleep(ctx, 3*(resync+jitter)); err != nil {
		return err
	}
	after, err := a.quiet(ctx)
	if err != nil {
		return err
	}
	err = errors.Join(a.free(p, after), a.resourcesKept(ctx))
	// such as the Operator, which comes back as long as something has its label
	_, checked := a.follow(ctx, p, "what is gone", []string{`echo "$deleted" | while read -r kind name ns; do ` +
		`left=$(kubectl get "$kind" "$name" ${ns:+-n "$ns"} --ignore-not-found -o name); test -z "$left"; done`})
	err = errors.Join(err, checked)
	if err != nil {
		return fmt.Errorf("after three resyncs: %w", err)
	}
	a.say("after three resyncs of the OLM that runs the others, all is as before (%s)", p.form)
	return a.lost(ctx, p)
}
