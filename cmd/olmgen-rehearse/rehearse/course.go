package rehearse

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

const (
	// atRest is how long nothing may change once everything is at rest: it is longer than what OLM waits for.
	atRest = 6 * time.Second
	// restless is how long nothing new may be said while something is not at rest. OLM retries an InstallPlan for 15.
	restless = 30 * time.Second
)

// Status is that of an object that OLM works on, in OLM's words.
type Status struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// CSVs of an InstallPlan; its name is random.
	CSVs         []string    `json:"clusterServiceVersionNames,omitempty"`
	Phase        string      `json:"phase,omitempty"` // of a Subscription: its state
	Reason       string      `json:"reason,omitempty"`
	Message      string      `json:"message,omitempty"`
	InstalledCSV string      `json:"installedCSV,omitempty"`
	CurrentCSV   string      `json:"currentCSV,omitempty"`
	Conditions   []Condition `json:"conditions,omitempty"`
}

// Condition is a condition that says what is wrong or not over.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Key names what the status is of, in the course and in predictions.
func (s Status) Key() string {
	o := manifest.Object{Kind: strings.Replace(s.Kind, v1alpha1.ClusterServiceVersionKind, "CSV", 1),
		Namespace: s.Namespace, Name: s.Name}
	if s.Kind == v1alpha1.InstallPlanKind {
		o.Name = fmt.Sprint(s.CSVs)
	}
	return o.Identity()
}

// String returns the status as a line.
func (s Status) String() string {
	var line string
	switch s.Kind {
	case v1alpha1.ClusterServiceVersionKind:
		return fmt.Sprintf("%s: %s: %s: %s", s.Key(), s.Phase, s.Reason, s.Message)
	case v1alpha1.InstallPlanKind:
		line = fmt.Sprintf("%s: %s: %s |", s.Key(), s.Phase, s.Message)
	case olm.KindClusterExtension:
		line = fmt.Sprintf("%s: installed=%s |", s.Key(), s.InstalledCSV)
	default:
		line = fmt.Sprintf("%s: %s installed=%s current=%s |", s.Key(), s.Phase, s.InstalledCSV, s.CurrentCSV)
	}
	for _, c := range s.Conditions {
		line += fmt.Sprintf(" %s=%s %s %s;", c.Type, c.Status, cmp.Or(c.Reason, "<nil>"), cmp.Or(c.Message, "<nil>"))
	}
	return line
}

// Condition returns a condition that is true, or nil.
func (s Status) Condition(kind v1alpha1.SubscriptionConditionType) *Condition {
	i := slices.IndexFunc(s.Conditions, func(c Condition) bool { return c.Type == string(kind) && c.Status == "True" })
	if i < 0 {
		return nil
	}
	return &s.Conditions[i]
}

// succeededV1 and blocked are reasons of the condition Progressing of a ClusterExtension: its Phase.
const succeededV1, blocked = "Succeeded", "Blocked"

// rests reports whether OLM does nothing more with the object by itself.
func (s Status) rests() bool {
	switch s.Kind {
	case v1alpha1.ClusterServiceVersionKind:
		return s.Phase == string(v1alpha1.CSVPhaseSucceeded)
	case v1alpha1.InstallPlanKind:
		return slices.Contains([]string{"Complete", "Failed", "RequiresApproval"}, s.Phase)
	case olm.KindClusterExtension:
		return s.Phase == succeededV1 || s.Phase == blocked
	}
	if s.Condition(v1alpha1.SubscriptionResolutionFailed) != nil {
		return s.InstalledCSV == "" // else it may be that of an update, which ends by itself
	}
	return s.Phase == v1alpha1.SubscriptionStateAtLatest || s.Phase == v1alpha1.SubscriptionStateUpgradePending
}

// Moment is when something was said for the first time.
type Moment struct {
	Seconds float64 `json:"seconds"`
	Line    string  `json:"line"`
}

// Course is what OLM did, and what it came to.
type Course struct {
	Seconds  float64  `json:"seconds"`
	Course   []Moment `json:"course"`
	Final    []Status `json:"final"`
	Restless []string `json:"restless,omitempty"` // what is not at rest in the end
	TimeIsUp bool     `json:"timeIsUp,omitempty"` // it had no time to come to rest

	seen map[string][]Status // by key
}

// Settle waits until OLM is at rest, or says nothing new for long, or the time is up.
func (p *Player) Settle(ctx context.Context) (*Course, error) {
	started := time.Now()
	c := &Course{seen: map[string][]Status{}}
	said, changed, tried := map[string]bool{}, started, started
	var last string
	for news := started; ; {
		now, err := Statuses(ctx, p.cluster)
		if err == nil {
			err = p.cluster.Check()
		}
		if ctx.Err() != nil && len(c.Final) > 0 {
			c.TimeIsUp = true
			break
		}
		if err != nil {
			return nil, err
		}
		c.Final, c.Restless = now, nil
		for _, s := range now {
			if line := s.String(); !said[line] {
				said[line], news = true, time.Now()
				c.Course = append(c.Course, Moment{time.Since(started).Round(100 * time.Millisecond).Seconds(), line})
				c.seen[s.Key()] = append(c.seen[s.Key()], s)
			}
			if !s.rests() {
				c.Restless = append(c.Restless, s.Key())
			}
		}
		if all := fmt.Sprint(now); all != last {
			last, changed = all, time.Now()
		}
		if len(c.Restless) == 0 && time.Since(changed) > atRest || time.Since(news) > restless {
			break
		}
		if len(p.waiting) > 0 && time.Since(tried) > 3*time.Second {
			before := len(p.waiting)
			if p.again(ctx); len(p.waiting) < before {
				changed, news = time.Now(), time.Now()
			}
			tried = time.Now()
		}
		select {
		case <-ctx.Done():
		case <-time.After(300 * time.Millisecond):
		}
	}
	c.Seconds = time.Since(started).Round(100 * time.Millisecond).Seconds()
	return c, nil
}

// Statuses returns those of CSVs, without copies, InstallPlans, Subscriptions and ClusterExtensions.
func Statuses(ctx context.Context, c *cluster.Cluster) (list []Status, err error) {
	v0, v1 := v1alpha1.SchemeGroupVersion, schema.GroupVersion{Group: olm.GroupV1, Version: "v1"}
	for _, resource := range []schema.GroupVersionResource{v0.WithResource("clusterserviceversions"),
		v0.WithResource("installplans"), v0.WithResource("subscriptions"), v1.WithResource("clusterextensions")} {
		all, err := c.Dynamic.Resource(resource).List(ctx,
			metav1.ListOptions{LabelSelector: "!" + v1alpha1.CopiedLabelKey})
		if resource.Group == olm.GroupV1 && apierrors.IsNotFound(err) {
			break // OLM v1 does not run
		}
		if err != nil {
			return nil, err
		}
		for _, o := range all.Items {
			var read struct { // the fields of all four
				Spec struct {
					CSVs []string `json:"clusterServiceVersionNames"`
				} `json:"spec"`
				Status struct {
					Status
					State   string `json:"state"`
					Install struct {
						Bundle struct {
							Name string `json:"name"`
						} `json:"bundle"`
					} `json:"install"`
				} `json:"status"`
			}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &read); err != nil {
				return nil, err
			}
			s := read.Status.Status
			s.Kind, s.Namespace, s.Name = o.GetKind(), o.GetNamespace(), o.GetName()
			s.CSVs, s.Phase = slices.Sorted(slices.Values(read.Spec.CSVs)), s.Phase+read.Status.State
			if s.Kind == olm.KindClusterExtension {
				s.InstalledCSV = read.Status.Install.Bundle.Name
				progress := lists.Find(s.Conditions, func(c Condition) bool { return c.Type == "Progressing" })
				s.Phase, s.Message = progress.Reason, progress.Message
			}
			s.Conditions = lists.Filter(s.Conditions, func(c Condition) bool {
				always := s.Kind == v1alpha1.InstallPlanKind || c.Type == "Progressing" || c.Type == "Installed"
				return s.Kind != v1alpha1.ClusterServiceVersionKind && (always || c.Status == "True")
			})
			list = append(list, s)
		}
	}
	return list, nil
}
