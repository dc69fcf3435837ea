package fit

import (
	"slices"
	"strings"
	"sync"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/olm/versions"
)

// Answer is whether an operator works.
type Answer string

// The answers, the one that counts first. Refused is an operator that the installer, or the API server, does not take.
const (
	Refused  Answer = "refused"
	Stays    Answer = "does not start"
	Needs    Answer = "needs"
	NotKnown Answer = "unknown"
	Runs     Answer = "runs"
)

var answers = []Answer{Refused, Stays, Needs, NotKnown, Runs}

// Verdict is the one answer to whether an operator works in a cluster.
type Verdict struct {
	Answer  Answer `json:"answer"`
	Rule    string `json:"rule,omitempty"` // without its prefix
	Reason  string `json:"reason,omitempty"`
	Remedy  string `json:"remedy,omitempty"`  // to paste: a command, or what to write where
	Changes string `json:"changes,omitempty"` // the releases in which it is otherwise
}

// String returns the answer with its reason.
func (v Verdict) String() string {
	return strings.TrimSuffix(string(v.Answer)+": "+v.Reason, ": ")
}

// Finding returns the verdict as a note about a form and a cluster.
func (v Verdict) Finding(form Form, c Cluster) findings.Finding {
	where := string(form)
	if form == OLMv1 || c.Known() {
		where += " (" + c.String() + ")"
	}
	message := where + ": " + v.String()
	if v.Changes != "" {
		message += "; " + v.Changes
	}
	return findings.Finding{Rule: RuleVerdict.ID, Level: findings.Note, Message: message, Hint: v.Remedy}
}

// judged is what the findings of a rule mean: of errors, and of warnings.
type judged struct {
	fails, warns Answer
	remedy       string
	ask          func(*question) // by which releases of OLM v1 differ
}

var verdicts = sync.OnceValue(func() map[string]judged {
	return map[string]judged{
		RuleServices.ID:           {fails: Refused, remedy: without, ask: (*question).services},
		RuleDependencies.ID:       {fails: Refused, remedy: without, ask: (*question).dependencies},
		RuleModes.ID:              {fails: Refused, warns: Needs, remedy: without, ask: (*question).modes},
		RuleWebhooks.ID:           {fails: Refused, warns: Needs, remedy: without, ask: (*question).webhooks},
		RuleKinds.ID:              {fails: Refused, remedy: without, ask: (*question).kinds},
		RuleRenderer.ID:           {fails: Refused, remedy: without, ask: (*question).renderer},
		RuleRemoved.ID:            {fails: Refused},
		RuleSize.ID:               {fails: Refused},
		RuleMinKube.ID:            {fails: Refused, warns: Needs},
		RuleOpenShift.ID:          {fails: Needs},
		bundle.WarnSelector:       {warns: Refused},
		RuleConversion.ID:         {fails: Needs, warns: NotKnown},
		RuleConditions.ID:         {warns: NotKnown},
		RuleAPIs.ID:               {warns: NotKnown},
		bundle.WarnUnknownAccount: {warns: Stays, remedy: "write a ServiceAccount of that name into the bundle"},
		ruleObjects:               {warns: NotKnown, remedy: "name the bundle, or its image, in place of the catalog"},
		ruleRequired:              {warns: Needs},
	}
})

// What is no finding elsewhere.
const (
	ruleObjects  = "objects-unknown"
	ruleRequired = "required"
	unseen       = "the objects of its bundle are not known"
)

// Unseen returns the verdict on an operator of which nothing is known.
func Unseen() Verdict {
	return Verdict{Answer: NotKnown, Rule: ruleObjects, Reason: unseen, Remedy: verdicts()[ruleObjects].remedy}
}

// Judge returns whether an operator works in a cluster, and what Findings says. The former looks at Conversions too,
// and at what keeps pods from being made. What nothing speaks against runs: the code of the operator is not looked at.
func Judge(o Operator, form Form, c Cluster) (Verdict, []findings.Finding) {
	found := Findings(o, form, c)
	list := slices.Concat(found, Conversions(o))
	rules, best := verdicts(), Verdict{Answer: Runs}
	if o.Bundle != nil {
		for _, w := range o.Bundle.Warnings {
			list = append(list, findings.Finding{Rule: w.Class, Level: findings.Warning, Message: w.Msg, Hint: w.Tip})
		}
	}
	if form == Plain {
		for _, p := range Required(o.Properties) {
			list = append(list, findings.Finding{Rule: ruleRequired, Level: findings.Warning,
				Message: "another operator: " + p.Type + " " + unescaped(p.Value), Hint: "install that one first"})
		}
	}
	if o.Bundle == nil && len(o.Shipped) == 0 || o.Bundle != nil && o.Bundle.Partial {
		list = append(list, findings.Finding{Rule: ruleObjects, Level: findings.Warning, Message: unseen})
	}
	for _, f := range list {
		rule := rules[f.Rule]
		answer := rule.fails
		if f.Level != findings.Error {
			answer = rule.warns
		}
		if f.Level == findings.Note || answer == "" ||
			slices.Index(answers, answer) >= slices.Index(answers, best.Answer) {
			continue
		}
		best = Verdict{answer, strings.TrimPrefix(f.Rule, Prefix), f.Message, f.Hint, ""}
		if best.Remedy == "" {
			best.Remedy = rule.remedy
		}
		if form == OLMv1 && rule.ask != nil {
			best.Changes = o.taken(rule.ask, answer)
		}
	}
	return best, found
}

// taken returns the releases of OLM v1 in which a rule finds less than it does for an answer.
func (o Operator) taken(ask func(*question), than Answer) string {
	who := versions.Where(func(r versions.Release) bool {
		q := question{Operator: o, Cluster: Cluster{Controller: &r}, form: OLMv1}
		ask(&q)
		return len(q.list) == 0 || than == Refused && !q.refused()
	}, versions.OperatorController, versions.OpenShift)
	if who == "" {
		return "in no known release"
	}
	return "otherwise in " + who
}
