package fit

import (
	"slices"
	"strings"
	"sync"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/olm/install"
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
	ofRelease    bool   // releases of OLM v1 differ, and a remedy is to do without one
	remedy       string // where the finding has none
	known        bool   // a warning counts only where the release of Kubernetes is known
}

var verdicts = sync.OnceValue(func() map[string]judged {
	return map[string]judged{
		RuleServices.ID:            {fails: Refused, ofRelease: true},
		RuleDependencies.ID:        {fails: Refused, ofRelease: true},
		RuleModes.ID:               {fails: Refused, warns: Needs, ofRelease: true},
		RuleWebhooks.ID:            {fails: Refused, warns: Needs, ofRelease: true},
		RuleKinds.ID:               {fails: Refused, ofRelease: true},
		RuleRenderer.ID:            {fails: Refused, warns: Needs, ofRelease: true},
		RuleRemoved.ID:             {fails: Refused},
		RuleSize.ID:                {fails: Refused},
		RuleMinKube.ID:             {fails: Refused, warns: Needs, known: true},
		RuleNotServed.ID:           {fails: Stays, remedy: "serve that version, or own one that is served"},
		RuleOpenShift.ID:           {fails: Needs},
		bundle.WarnSelector:        {warns: Refused},
		bundle.WarnUnsupportedKind: {fails: Refused},
		RuleNames.ID:               {fails: Stays, remedy: "give each CRD of a group names of its own"},
		RuleConversion.ID: {fails: Needs, warns: NotKnown,
			remedy: "ship what serves the conversion with the operator, or a CRD with one served version"},
		RuleAnnotations.ID:        {warns: NotKnown, ofRelease: true},
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
	q := answered(o, form, c)
	list := slices.Concat(q.list, Unready(o), o.besides(form))
	best := judge(list, c)
	rule := verdicts()[best.Rule]
	switch {
	case best.Answer == Needs && len(q.off) > 1 && rule.ofRelease:
		best.Reason += "; it needs all of " + strings.Join(q.off, ", ")
		best.Remedy = q.enabling(q.Controllers()[0])
	case best.Remedy == "" && rule.ofRelease:
		best.Remedy = o.without()
	case best.Remedy == "":
		best.Remedy = rule.remedy
	}
	if form == OLMv1 && rule.ofRelease {
		best.Changes = o.otherwise(list, best.Answer)
	}
	best.Rule = strings.TrimPrefix(best.Rule, Prefix)
	return best, q.list
}

// besides returns what counts for a verdict and is no finding of its own.
func (o Operator) besides(form Form) (list []findings.Finding) {
	if o.Bundle != nil {
		for _, w := range o.Bundle.Warnings {
			if w.Class == bundle.WarnSelector {
				list = append(list, findings.Finding{Rule: w.Class, Level: findings.Warning, Message: w.Msg})
			}
		}
	}
	if form == Plain {
		for _, p := range Required(o.Properties) {
			list = append(list, findings.Finding{Rule: ruleRequired, Level: findings.Warning,
				Message: "another operator: " + p.Type + " " + unescaped(p.Value), Hint: "install that one first"})
		}
	}
	if form == OLMv0 {
		list = append(list, NotServed(o)...)
		for _, x := range o.Shipped {
			if _, known := install.KindOf(x.Kind); !known {
				list = append(list, of(x, findings.Rule{ID: bundle.WarnUnsupportedKind}, findings.Error, "kind",
					"OLM installs no "+x.Kind+" from a bundle: the InstallPlan fails"))
			}
		}
	}
	if form != OLMv1 && len(bundle.SupportedModes(o.CSV)) == 0 {
		list = append(list, findings.Finding{Rule: RuleModes.ID, Level: findings.Error,
			Message: "the operator supports no install mode", Hint: "ask the operator's vendor for one that does"})
	}
	if o.Bundle == nil && len(o.Shipped) == 0 || o.Bundle != nil && o.Bundle.Partial {
		list = append(list, findings.Finding{Rule: ruleObjects, Level: findings.Warning, Message: unseen})
	}
	return list
}

// judge returns the answer that counts among findings, with the first of its reasons.
func judge(list []findings.Finding, c Cluster) Verdict {
	rules, best := verdicts(), Verdict{Answer: Runs}
	for _, f := range list {
		rule := rules[f.Rule]
		answer := rule.fails
		if f.Level != findings.Error {
			answer = rule.warns
		}
		if rule.known && f.Level != findings.Error && c.Kubernetes() == nil {
			continue
		}
		if f.Level == findings.Note || answer == "" || !answer.before(best.Answer) {
			continue
		}
		best = Verdict{answer, f.Rule, f.Message, f.Hint, ""}
	}
	return best
}

// before reports whether an answer counts and not another one.
func (a Answer) before(b Answer) bool { return slices.Index(answers, a) < slices.Index(answers, b) }

// otherwise returns the releases of OLM v1 in which the answer is a better one: what they do not differ in is among the
// findings.
func (o Operator) otherwise(list []findings.Finding, than Answer) string {
	rules := verdicts()
	same := slices.DeleteFunc(slices.Clone(list), func(f findings.Finding) bool { return rules[f.Rule].ofRelease })
	who := versions.Where(func(r versions.Release) bool {
		q := question{Operator: o, Cluster: Cluster{Controller: &r}, form: OLMv1}
		for _, x := range questions {
			if !x.ofRelease {
				continue
			}
			if x.ask(&q); !than.before(judge(slices.Concat(q.list, same), q.Cluster).Answer) {
				return false
			}
		}
		return true
	}, versions.OperatorController, versions.OpenShift)
	if who == "" {
		return "in no known release"
	}
	return "otherwise in " + who
}
