package adopt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/cmd/internal/adopt"
	"github.com/olmgen/olmgen/generate"
)

// A plan beside a running OLM has it skip the operators before it changes anything of theirs, deletes what OLM would
// make again in an order in which it does not, and never stops it before the way back.
func TestOLMRuns(t *testing.T) {
	const csv = " clusterserviceversion.operators.coreos.com "
	for _, name := range dumps(t) {
		for _, to := range []generate.Profile{generate.ProfilePlain, generate.ProfileDescoped, generate.ProfileOLMv1} {
			o := adopt.Options{To: to, OLM: adopt.OLMRuns}
			s, out := adopted(t, name, o)
			plan := planOf(t, s, out, o)
			checkPlan(t, plan)
			var run []string
			for _, step := range plan.Steps {
				for _, c := range step.Run {
					if strings.Contains(c, " scale ") || strings.Contains(c, `"finalizers"`) {
						t.Errorf("%s to %s: %s: %s", name, to, step.Title, c)
					}
					run = append(run, c)
				}
			}
			at := func(what string, parts ...string) int {
				i := slices.IndexFunc(run, func(c string) bool {
					return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(c, p) })
				})
				if i < 0 {
					t.Errorf("%s to %s: no command %s", name, to, what)
				}
				return i
			}
			skip := at("has OLM skip the CSV", csv, `"reason":"InstallComponentFailedNoRetry"`)
			order := []int{at("deletes the Subscription", "kubectl delete", " subscriptions."), skip,
				at("takes the objects over", "kubectl apply", " -k operators"), at("deletes the OperatorGroup", "kubectl delete", " operatorgroup."),
				at("deletes the CSV", "kubectl delete -n operator-ns"+csv), at("deletes the OperatorCondition", "kubectl delete", " operatorcondition.")}
			if !slices.IsSorted(order) {
				t.Errorf("%s to %s: the order is %v in:\n%s", name, to, order, strings.Join(run, "\n"))
			}
			for i, c := range run {
				if i < skip && (strings.HasPrefix(c, "kubectl label") || strings.Contains(c, "webhookdefinitions")) {
					t.Errorf("%s to %s: before OLM skips the CSV: %s", name, to, c)
				}
				if strings.HasPrefix(c, "kubectl delete -n target-") && strings.Contains(c, csv) && i < order[4] {
					t.Errorf("%s to %s: OLM would copy the CSV again: %s", name, to, c)
				}
				if strings.HasPrefix(c, "kubectl delete") && strings.Contains(c, " role.") && i < order[5] {
					t.Errorf("%s to %s: OLM would make the role of the OperatorCondition again: %s", name, to, c)
				}
			}
		}
	}
}

// A CSV loses what OLM would remove with it, and gets it back by the undo.
func TestOLMSkips(t *testing.T) {
	for name, want := range map[string]string{"gates-multi.yaml": "webhookdefinitions", "meters-own.yaml": "apiservicedefinitions"} {
		o := adopt.Options{To: generate.ProfilePlain, OLM: adopt.OLMRuns}
		s, out := adopted(t, name, o)
		plan := planOf(t, s, out, o)
		step := plan.Steps[slices.IndexFunc(plan.Steps, func(s adopt.Step) bool { return s.Title == "Have OLM skip the operators" })]
		empty := map[string]string{"webhookdefinitions": `'{"spec":{"webhookdefinitions":null}}'`,
			"apiservicedefinitions": `'{"spec":{"apiservicedefinitions":{"owned":null}}}'`}[want]
		if len(step.Run) != 2 || !strings.Contains(step.Run[0], "NoRetry") || !strings.HasSuffix(step.Run[1], empty) {
			t.Errorf("%s: %q", name, step.Run)
		}
		over := plan.Steps[slices.IndexFunc(plan.Steps, func(s adopt.Step) bool { return s.Title == "Take the objects over" })]
		if last := over.Undo[len(over.Undo)-1]; !strings.HasSuffix(last, empty) {
			t.Errorf("%s: the undo of the take-over gives the CSV back what OLM would undo with it: %q", name, over.Undo)
		}
		if len(step.Undo) != 2 || !strings.Contains(step.Undo[0], `"`+want+`":`) || !strings.Contains(step.Undo[0], "deploymentName") ||
			!strings.Contains(step.Undo[1], `"reason":"InstallSucceeded"`) || len(step.Check) != 2 {
			t.Errorf("%s: %q %q", name, step.Undo, step.Check)
		}
		said := strings.Contains(strings.Join(step.Text, "\n"), "takes the APIs of the APIServices of")
		if said != (want == "apiservicedefinitions") {
			t.Errorf("%s: %q", name, step.Text)
		}
	}
}

// A running OLM resets the reason of a CSV whose OperatorGroup has a ServiceAccount, so that way is refused there.
func TestOLMRunsNotWithServiceAccount(t *testing.T) {
	for _, account := range []bool{false, true} {
		s := edited(t, twoOperators, change("OperatorGroup", func(o object) {
			if account {
				in(o, "spec")["serviceAccountName"] = "installer"
			}
		}))
		leaving := asMaps(t, declared(t, s, adopt.Options{}))
		for _, way := range adopt.Meanwhiles {
			_, err := adopt.NewPlan(s, leaving, leaving, adopt.Options{To: generate.ProfilePlain, OLM: way})
			refused := err != nil && strings.Contains(err.Error(), "OperatorGroup operator-ns/my-og has spec.serviceAccountName")
			if want := account && way == adopt.OLMRuns; refused != want || err != nil && !want {
				t.Errorf("account %t, OLM %s: %v", account, way, fmt.Sprint(err))
			}
		}
	}
}
