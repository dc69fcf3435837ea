package rehearse

import (
	"fmt"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/predict"
)

// Deviation is an object that a real OLM brought to another end than olmgen check predicts.
type Deviation struct {
	State     string `json:"state"`
	Object    string `json:"object"`
	Played    string `json:"played"`
	Predicted string `json:"predicted"`
}

func (d Deviation) finding() findings.Finding {
	return findings.Finding{Level: findings.Warning, Rule: "prediction", Object: d.Object,
		Message: fmt.Sprintf("%s: OLM came to %q, and olmgen check predicts %q", d.State, d.Played, d.Predicted)}
}

// predictedOf returns what is predicted, as OLM would say it. unknown has the keys of what nobody can know, or of what
// is left out.
func predictedOf(r *predict.Report, left []predict.Unknown) (list []Status, unknown map[string]bool) {
	unknown = map[string]bool{}
	for _, v := range r.CSVs {
		s := Status{Kind: v1alpha1.ClusterServiceVersionKind, Namespace: v.Namespace, Name: v.Name, Phase: v.Phase,
			Reason: v.Reason, Message: v.Message}
		list, unknown[s.Key()] = append(list, s), v.Unknown != ""
	}
	for _, p := range r.Plans {
		list = append(list, Status{Kind: v1alpha1.InstallPlanKind, Namespace: p.Namespace,
			CSVs: slices.Sorted(slices.Values(p.CSVs)), Phase: p.Phase, Message: p.Message})
	}
	for _, x := range r.Subscriptions {
		s := Status{Kind: v1alpha1.SubscriptionKind, Namespace: x.Namespace, Name: x.Name, Phase: x.State,
			InstalledCSV: x.InstalledCSV, CurrentCSV: x.CurrentCSV}
		if c := x.Condition; c != nil {
			s.Conditions = []Condition{{c.Type, c.Status, c.Reason, c.Message}}
		}
		list = append(list, s)
	}
	for _, e := range r.Extensions {
		s := Status{Kind: olm.KindClusterExtension, Name: e.Name, Phase: succeededV1, InstalledCSV: e.Bundle}
		for _, c := range e.Conditions {
			if c.Type == "Progressing" {
				s.Phase = c.Reason
			}
		}
		list, unknown[s.Key()] = append(list, s), e.Unknown != ""
	}
	for _, u := range slices.Concat(r.Unknown, left) {
		unknown[u.Object.Identity()] = true
	}
	return list, unknown
}

// short returns the part of a status that is predicted: the message of what OLM tries again and again varies.
func (s Status) short() string {
	switch s.Kind {
	case v1alpha1.ClusterServiceVersionKind:
		return s.Phase + ": " + s.Reason
	case v1alpha1.InstallPlanKind:
		return s.Phase
	case olm.KindClusterExtension:
		if s.Phase != succeededV1 { // what is installed stays
			return s.Phase
		}
		return s.Phase + " installed=" + s.InstalledCSV
	}
	line := fmt.Sprintf("%s installed=%s current=%s", s.Phase, s.InstalledCSV, s.CurrentCSV)
	if c := s.Condition(v1alpha1.SubscriptionResolutionFailed); c != nil {
		line += " " + c.Type + ": " + c.Reason
	}
	return line
}

// deviations compares the end of a course with a prediction. A CSV that OLM tries to install again and again agrees
// with each state that it was in. InstallPlans of before are not predicted, and what waits for approval is predicted as
// approved.
func deviations(state string, c Course, r *predict.Report, left []predict.Unknown) (list []Deviation) {
	predicted, unknown := predictedOf(r, left)
	// during an update, and for a while after it, OLM says ResolutionFailed of what is at rest
	updated, waits := map[string]bool{}, map[string]bool{}
	for _, list := range c.seen {
		for _, s := range list {
			updated[s.Namespace] = updated[s.Namespace] || s.Phase == string(v1alpha1.CSVPhaseReplacing)
			waits[s.Namespace] = waits[s.Namespace] || s.Phase == string(v1alpha1.InstallPlanPhaseRequiresApproval)
		}
	}
	c.Final = lists.Map(c.Final, func(s Status) Status {
		if updated[s.Namespace] && s.InstalledCSV != "" {
			s.Conditions = slices.DeleteFunc(slices.Clone(s.Conditions), func(c Condition) bool {
				return c.Type == string(v1alpha1.SubscriptionResolutionFailed)
			})
		}
		return s
	})
	played := lists.By(c.Final, Status.Key)
	known := map[string]bool{}
	for _, want := range predicted {
		key := want.Key()
		got, there := played[key]
		if known[key] = true; unknown[key] || waits[want.Namespace] {
			continue
		}
		seen := slices.ContainsFunc(c.seen[key], func(s Status) bool { return s.short() == want.short() })
		flaps := want.Kind == v1alpha1.ClusterServiceVersionKind && want.Phase != string(v1alpha1.CSVPhaseSucceeded)
		if !there || got.short() != want.short() && (!flaps || !seen) {
			d := Deviation{state, key, "", want.short()}
			if there {
				d.Played = got.short()
			}
			list = append(list, d)
		}
	}
	for _, s := range c.Final {
		if key := s.Key(); !known[key] && s.Kind != v1alpha1.InstallPlanKind && !unknown[key] {
			list = append(list, Deviation{state, key, s.short(), ""})
		}
	}
	return list
}
