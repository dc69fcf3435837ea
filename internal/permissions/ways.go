package permissions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/rbac/danger"
)

// Way is the shortest chain from what a subject may do to the worst that it reaches.
type Way struct {
	Subject Subject `json:"subject"`
	Steps   []Step  `json:"steps"`
	Reaches string  `json:"reaches"` // such as: every right

	left int // accounts that one step stands for
}

// mostSteps is how many steps a way has: one of more has a step that stands for the accounts behind the first.
const mostSteps = 16

// after returns the way that begins with a step to the subject of this one.
func (w *Way) after(step Step) *Way {
	out := &Way{Subject: step.Subject, Reaches: w.Reaches, left: w.left}
	switch {
	case len(w.Steps) == 0:
		out.Steps = []Step{step, {Subject: w.Subject, Text: w.Reaches}}
	case len(w.Steps) < mostSteps:
		out.Steps = append([]Step{step}, w.Steps...)
	default:
		out.left = max(2, w.left+1)
		between := Step{Subject: w.Subject, Text: fmt.Sprintf("leads on over %d accounts", out.left)}
		out.Steps = append([]Step{step, between}, w.Steps[2:]...)
	}
	return out
}

// Step is what one subject of a way does to act as the next one.
type Step struct {
	Subject Subject `json:"subject"`
	Text    string  `json:"text"`
	Source  Source  `json:"source"` // the rule that allows it; empty for what clusters have by default

	rule string
}

// What a way reaches. Rights of an operator are those of an account that runs one: "anyone with the ability to create
// workloads in that namespace could escalate to the permissions of the operator" (descoping plan, History).
const (
	EveryRight      = "every right" // those of cluster-admin
	operatorsRights = "the rights of an operator"
)

// aggregationController is an account of kube-system that may give a role any right (Kubernetes:
// plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go). Nobody needs a pod to act as it.
var aggregationController = Step{Text: "changes every ClusterRole, by escalate",
	Subject: Subject{rbacv1.ServiceAccountKind, danger.KubeSystem, "clusterrole-aggregation-controller"}}

// String returns the steps in one line, without the subject that it begins with.
func (w Way) String() string {
	var b strings.Builder
	for i, s := range w.Steps {
		if i > 0 {
			b.WriteString(" -> " + text.Brief(s.Subject.String()) + ": ")
		}
		b.WriteString(s.Text)
	}
	if w.Steps[len(w.Steps)-1].Text != w.Reaches {
		b.WriteString(" -> " + w.Reaches)
	}
	return b.String()
}

// Worst returns the shortest way to every right or, without one, to what else is the worst. It is nil without ways.
func (r *Report) Worst() *Way {
	if len(r.Ways) == 0 {
		return nil
	}
	order := map[string]int{EveryRight: -1, operatorsRights: 1}
	worst := slices.MinFunc(r.Ways, func(a, b Way) int {
		return cmp.Or(order[a.Reaches]-order[b.Reaches], len(a.Steps)-len(b.Steps))
	})
	return &worst
}

// OfOperators returns the ways that lead first to an account of an operator, such as by pods in its namespace.
func (r *Report) OfOperators() []Way {
	accounts := lists.Set(lists.Filter(r.Permissions, Item.ofOperator), subjectOfItem)
	return lists.Filter(r.Ways, func(w Way) bool {
		return len(w.Steps) > 1 && accounts[w.Steps[1].Subject] && !accounts[w.Subject]
	})
}

// reach is the search for ways: from what is reached, backwards to who reaches it.
type reach struct {
	scopes  danger.Scopes
	ways    map[Subject]*Way
	worst   []*Way            // what is an error in the cluster, short of every right
	last    []*Way            // accounts of operators
	into    map[string][]Step // by the namespace whose accounts a step gives; Everywhere for the pods of all
	reached []Subject         // whose edges are to be followed backwards
}

func (x *reach) subject(s Subject, list []danger.Follows, held danger.Held, sources map[string][]Source) {
	isError := false
	for _, f := range list {
		in := " in " + placeText([]string{cmp.Or(f.Place, Everywhere)})
		step := Step{Subject: s, Text: cmp.Or(f.By, f.Text) + in, Source: sources[f.From()][f.First], rule: f.ID}
		x.add(f, held, step)
		if f.Place == "" && f.Cluster == findings.Error && !isError {
			isError = true
			x.worst = append(x.worst, &Way{Subject: s, Reaches: f.Text + in})
		}
	}
}

// search finds the ways of all subjects that were added. Of two of the same length the first counts.
func (x *reach) search() {
	slices.SortStableFunc(x.reached, func(a, b Subject) int { return len(x.ways[a].Steps) - len(x.ways[b].Steps) })
	for _, list := range [][]*Way{nil, x.worst, x.last} {
		for _, w := range list {
			if x.ways[w.Subject] == nil {
				x.ways[w.Subject] = w
				x.reached = append(x.reached, w.Subject)
			}
		}
		x.follow()
	}
	for s, w := range x.ways {
		said := len(w.Steps) == 0 || len(w.Steps) == 1 && w.Steps[0].rule == "everything"
		if said || s.IsRole() { // nobody is bound to a role of its own
			delete(x.ways, s)
		}
	}
}

// add adds what one consequence gives a subject.
func (x *reach) add(f danger.Follows, held danger.Held, step Step) {
	yield, places := x.scopes.Yields(f, held)
	for _, place := range places {
		direct, every, steps := x.ways[step.Subject], yield == danger.Every && place == "", []Step{step}
		switch {
		case yield == danger.Nothing:
		case every, yield != danger.Pods && (place == "" || place == danger.KubeSystem):
			if direct == nil {
				x.reached = append(x.reached, step.Subject)
			}
			if !every {
				steps = append(steps, aggregationController)
			}
			if direct == nil || every && len(direct.Steps) > 1 {
				x.ways[step.Subject] = &Way{Subject: step.Subject, Steps: steps, Reaches: EveryRight}
			}
		default:
			where := cmp.Or(place, Everywhere)
			x.into[where] = append(x.into[where], step)
		}
	}
}

// follow goes backwards from what is reached. Each edge is looked at once.
func (x *reach) follow() {
	for len(x.reached) > 0 {
		to := x.reached[0]
		x.reached = x.reached[1:]
		if to.Kind != rbacv1.ServiceAccountKind {
			continue
		}
		for _, place := range []string{to.Namespace, Everywhere} {
			for _, step := range x.into[place] {
				if from := step.Subject; x.ways[from] == nil {
					x.ways[from] = x.ways[to].after(step)
					x.reached = append(x.reached, from)
				}
			}
			delete(x.into, place)
		}
	}
}
