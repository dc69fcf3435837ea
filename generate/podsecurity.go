package generate

import (
	"fmt"
	"maps"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	psa "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/templates"
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

// wider reports whether a standard allows more than another; that of a namespace without pods allows least.
func (p PodSecurity) wider(q PodSecurity) bool {
	return q.Level == "" || p.Level != "" && psa.CompareLevels(p.Level, q.Level) < 0
}

// podSecurityOf returns the strictest standard that all Deployments of an operator fit.
func podSecurityOf(b *bundle.Bundle, o Options) (PodSecurity, error) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
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
		o, err := groups[i].Options.complete(groups[i].Bundle)
		if err != nil {
			return nil //nolint:nilerr // Render says so
		}
		p, err := podSecurityOf(groups[i].Bundle, o)
		if err != nil {
			return err
		}
		if p.wider(together[o.Namespace]) {
			together[o.Namespace] = p
		}
		groups[i].Options.podSecurity = together
	}
	return nil
}

// withPodSecurity labels a Namespace with the standard that the pods in it need, unless the bundle chose one. With the
// names of OLM all is as in a cluster of OLM, which sets no such label.
func (r *rendering) withPodSecurity(view templates.Namespace) (templates.Namespace, error) {
	if r.options.Names == NamesOLM || view.Labels[psa.EnforceLevelLabel] != "" {
		return view, nil
	}
	p, known := r.options.podSecurity[view.Name]
	if !known && view.Name == r.options.Namespace {
		var err error
		if p, err = podSecurityOf(r.bundle, r.options); err != nil {
			return view, err
		}
	}
	if p.Level == "" {
		return view, nil
	}
	labels := map[string]string{psa.EnforceLevelLabel: string(p.Level)}
	maps.Copy(labels, view.Labels)
	view.Labels = labels
	return view, nil
}
