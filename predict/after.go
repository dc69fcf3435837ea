package predict

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/cluster"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// SubscriptionState is the status of a Subscription after OLM has processed it.
type SubscriptionState struct {
	Cluster      string `json:"cluster,omitempty"`
	Namespace    string `json:"namespace"`
	Name         string `json:"name"`
	State        string `json:"state,omitempty"`
	InstalledCSV string `json:"installedCSV,omitempty"`
	CurrentCSV   string `json:"currentCSV,omitempty"`

	Condition *Condition `json:"condition,omitempty"` // that says what is wrong
}

// leave completes a report by what OLM leaves: the cluster, its InstallPlans, the Subscriptions.
func (o *simulation) leave(r *Report) {
	r.Plans = o.played
	for _, v := range o.csvs {
		if v.deleted {
			o.lose(v)
			continue
		}
		made := cmp.Or(o.live.Get(olm.Group, v1alpha1.ClusterServiceVersionKind, v.Namespace, v.Name),
			cluster.InNamespace(v.Object, v.Namespace))
		o.live.Put(cluster.WithStatus(made, map[string]any{"phase": string(v.phase), "reason": string(v.reason),
			"message": v.message}))
	}
	for _, s := range o.Subscriptions {
		o.subscribed(r, s.Object, o.asked[s])
	}
	for _, s := range o.added {
		name, _ := s.Get("spec", "startingCSV")
		csv, _ := name.(string)
		o.subscribed(r, s, csv)
	}
	for i, p := range o.played {
		o.live.Put(p.object(i))
	}
	r.After = o.live.Objects()
}

// lose deletes a CSV that another has replaced, and what only it owns. An object that the newer release ships as well
// is one that it needs.
func (o *simulation) lose(v *csv) {
	old := o.live.Get(olm.Group, v1alpha1.ClusterServiceVersionKind, v.Namespace, v.Name)
	if old == nil {
		return
	}
	next := o.replacing(v)
	for _, x := range o.live.Delete(old) {
		if next == nil || !next.whole() || !next.plan.result.Ships(x) {
			continue
		}
		o.note(ruleLost, findings.Warning, next.where(), "spec", fmt.Sprintf("%s: %s %s is deleted with %s, its only "+
			"owner; by chance OLM makes it again, and its tokens die", next.Name, x.Kind, x.Name, v.Name),
			"let the ServiceAccount stay in the permissions of the ClusterServiceVersion")
	}
}

// subscribed sets the status of a Subscription (OLM: pkg/controller/operators/catalog/operator.go,
// ensureSubscriptionCSVState; subscription/state.go).
func (o *simulation) subscribed(r *Report, s *manifest.Object, csv string) {
	state := SubscriptionState{Cluster: o.clusterName, Namespace: s.Namespace, Name: s.Name}
	texts := map[string]*string{"state": &state.State, "installedCSV": &state.InstalledCSV,
		"currentCSV": &state.CurrentCSV}
	for at, to := range texts {
		value, _ := s.Get("status", at)
		*to, _ = value.(string)
	}
	switch failure := o.failures[s.Namespace]; {
	case csv != "":
		state.CurrentCSV, state.State = csv, string(v1alpha1.SubscriptionStateUpgradePending)
		if o.inNamespace(s.Namespace, csv) != nil {
			state.InstalledCSV, state.State = csv, string(v1alpha1.SubscriptionStateAtLatest)
		}
		for _, p := range o.played {
			if p.Namespace == s.Namespace && p.Phase == string(v1alpha1.InstallPlanPhaseFailed) &&
				slices.Contains(p.CSVs, csv) {
				state.Condition = &Condition{string(v1alpha1.SubscriptionInstallPlanFailed), "True", p.Reason, p.Message}
			}
		}
	case failure != nil:
		state.Condition = &Condition{string(v1alpha1.SubscriptionResolutionFailed), "True", failure.Reason, failure.Text}
	}
	status := map[string]any{}
	for at, value := range texts {
		if *value != "" {
			status[at] = *value
		}
	}
	r.Subscriptions = append(r.Subscriptions, state)
	if c := state.Condition; c != nil {
		status["conditions"] = []any{map[string]any{"type": c.Type, "status": c.Status, "reason": c.Reason,
			"message": c.Message}}
	}
	o.live.Put(cluster.WithStatus(s, status))
}

// object returns the InstallPlan. OLM gives it a random name.
func (p *InstallPlan) object(i int) *manifest.Object {
	status := map[string]any{"phase": p.Phase}
	if p.Message != "" {
		status["message"] = p.Message
	}
	return manifest.New(map[string]any{"apiVersion": v1alpha1.SchemeGroupVersion.String(),
		"kind": v1alpha1.InstallPlanKind, "metadata": map[string]any{"namespace": p.Namespace,
			"name": fmt.Sprintf("install-%05d", i+1)},
		"spec": map[string]any{"approval": string(v1alpha1.ApprovalAutomatic), "approved": true,
			"clusterServiceVersionNames": text.Values(p.CSVs)},
		"status": status})
}
