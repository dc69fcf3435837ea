package generate

import (
	"fmt"
	"maps"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	psa "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/views"
)

// PodSecurity is the strictest Pod Security Standard that the pods of an operator fit (Kubernetes: Pod Security
// Standards).
type PodSecurity struct {
	Level  psa.Level // empty without pods
	Reason string    // what the next stricter level does not allow; empty for restricted
}

// Need returns what the namespace of the operator must allow; empty if nothing but the strictest level.
func (p PodSecurity) Need(namespace string) string {
	if p.Reason == "" {
		return ""
	}
	return fmt.Sprintf("namespace %s needs Pod Security level %s: %s", namespace, p.Level, p.Reason)
}

// wider reports whether a standard allows more than another; a namespace without pods needs the one that allows least.
func (p PodSecurity) wider(q PodSecurity) bool {
	return q.Level == "" || p.Level != "" && psa.CompareLevels(p.Level, q.Level) < 0
}

// podEvaluator holds the checks of all versions of Kubernetes.
var podEvaluator = sync.OnceValues(func() (policy.Evaluator, error) {
	return policy.NewEvaluator(policy.DefaultChecks(), nil)
})

// podSecurityOf returns the strictest standard that all Deployments of an operator fit.
func podSecurityOf(b *bundle.Bundle, o Options) (PodSecurity, error) {
	if o.ownPods != nil {
		return *o.ownPods, nil
	}
	if b.Partial {
		return PodSecurity{}, nil
	}
	evaluator, err := podEvaluator()
	if err != nil {
		return PodSecurity{}, err
	}
	var found PodSecurity
	for _, d := range b.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		deployment := appsv1.Deployment{Spec: *d.Spec.DeepCopy()}
		configure(o.Config, &deployment)
		pod := deployment.Spec.Template
		fits := PodSecurity{Level: psa.LevelPrivileged}
		for _, level := range []psa.Level{psa.LevelRestricted, psa.LevelBaseline} {
			version := psa.LevelVersion{Level: level, Version: psa.LatestVersion()}
			result := policy.AggregateCheckResults(evaluator.EvaluatePod(version, &pod.ObjectMeta, &pod.Spec))
			if result.Allowed {
				fits.Level = level
				break
			}
			fits.Reason = fmt.Sprintf("Deployment %s: %s", d.Name, strings.Join(result.ForbiddenReasons, ", "))
		}
		if fits.wider(found) {
			found = fits
		}
	}
	return found, nil
}

// podSecurityTogether fills in what the namespaces of operators that are rendered together need: the widest of each.
func podSecurityTogether(groups []Operator) error {
	together := map[string]PodSecurity{}
	for i := range groups {
		o := &groups[i].Options
		namespace, err := o.namespace(groups[i].Bundle)
		if err != nil {
			return nil //nolint:nilerr // Render returns it
		}
		p, err := podSecurityOf(groups[i].Bundle, *o)
		if err != nil {
			return err
		}
		if p.wider(together[namespace]) {
			together[namespace] = p
		}
		o.ownPods, o.podSecurity = &p, together
	}
	return nil
}

// withPodSecurity labels a Namespace with the standard that the pods in it need, unless the bundle chose one. With the
// names of OLM all is as in a cluster of OLM, which sets no such label.
func (r *rendering) withPodSecurity(view views.Namespace) views.Namespace {
	if r.options.Names == NamesOLM || view.Labels[psa.EnforceLevelLabel] != "" {
		return view
	}
	p, known := r.options.podSecurity[view.Name]
	if !known && view.Name == r.options.Namespace {
		p = *r.options.ownPods
	}
	if p.Level == "" {
		return view
	}
	labels := map[string]string{psa.EnforceLevelLabel: string(p.Level)}
	maps.Copy(labels, view.Labels)
	view.Labels = labels
	return view
}
