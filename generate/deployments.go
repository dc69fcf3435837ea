package generate

import (
	"maps"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/templates"
)

const envCondition = "OPERATOR_CONDITION_NAME"

// deployments makes the CSV's Deployments in the steps of OLM, so that the hash over the spec is OLM's too (spec 6.1;
// OLM: pkg/controller/install/deployment.go).
func deployments(r *rendering) {
	for _, d := range r.csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		r.deployment(d)
	}
}

func (r *rendering) deployment(d v1alpha1.StrategyDeploymentSpec) {
	deployment := appsv1.Deployment{Spec: *d.Spec.DeepCopy()}
	spec := &deployment.Spec
	i := slices.IndexFunc(r.serving, func(s *serving) bool { return s.deployment == d.Name })
	if i >= 0 {
		mountCertificates(&spec.Template.Spec, r.serving[i].account, r.certs.secret(r.serving[i]))
	}
	annotations := maps.Clone(spec.Template.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	maps.Copy(annotations, r.podAnnotations(deployment))
	spec.Template.Annotations = annotations
	configure(r.options.Config, &deployment)
	if r.olm() {
		for i := range spec.Template.Spec.Containers {
			setEnv(&spec.Template.Spec.Containers[i], corev1.EnvVar{Name: envCondition, Value: r.csv.Name})
		}
	}
	spec.RevisionHistoryLimit = new(int32(1)) // OLM does not roll back

	labels := map[string]string{}
	maps.Copy(labels, d.Label)
	if own := r.names.owned().Labels(); r.names.withoutOLM() {
		labels = underlay(own, labels)
	} else {
		maps.Copy(labels, own)
	}
	if r.names.olm() && i < 0 { // OLM's hash covers its random CA
		labels[olm.LabelSpecHash] = deepHash(spec)
	}
	value, err := olm.Value(spec)
	r.fail(err)
	olm.TrimDeployment(value)
	view := templates.Deployment{Name: d.Name, Namespace: r.options.Namespace, Labels: labels,
		Annotations: deployment.Annotations, Spec: value}
	r.author("deployment.yaml",
		Object{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment", Namespace: view.Namespace,
			Name: d.Name}, view)
}

// podAnnotations returns the CSV's annotations that a pod has. OLM copies all (OLM:
// pkg/controller/install/deployment.go). Without OLM, they are what OLM tells an operator about its group, and what the
// pod itself reads: the others are for people and catalogs, and each change of them would restart the operator.
func (r *rendering) podAnnotations(d appsv1.Deployment) map[string]string {
	if !r.names.withoutOLM() {
		return r.csv.Annotations
	}
	configured := *d.DeepCopy()
	configure(r.options.Config, &configured)
	read := annotationsRead(&configured.Spec.Template.Spec)
	if read[allAnnotations] {
		return r.csv.Annotations
	}
	out := map[string]string{}
	for key, value := range r.csv.Annotations {
		if read[key] || key == olm.AnnotationTargets || key == olm.AnnotationNamespace || key == olm.AnnotationGroup {
			out[key] = value
		}
	}
	return out
}

// allAnnotations stands for all annotations of a pod.
const allAnnotations = "*"

// annotationsRead returns the annotations that a pod reads of itself, by fieldRef in the environment or by downwardAPI
// volumes.
func annotationsRead(pod *corev1.PodSpec) map[string]bool {
	read := map[string]bool{}
	add := func(f *corev1.ObjectFieldSelector) {
		switch {
		case f == nil:
		case f.FieldPath == "metadata.annotations":
			read[allAnnotations] = true
		default:
			key, ok := strings.CutPrefix(f.FieldPath, "metadata.annotations['")
			if key, closed := strings.CutSuffix(key, "']"); ok && closed {
				read[key] = true
			}
		}
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		for _, e := range c.Env {
			if e.ValueFrom != nil {
				add(e.ValueFrom.FieldRef)
			}
		}
	}
	for _, v := range pod.Volumes {
		for _, item := range downward(v.VolumeSource) {
			add(item.FieldRef)
		}
	}
	return read
}

// setEnv replaces a variable in its place, and what else has its name, or appends it.
func setEnv(c *corev1.Container, env corev1.EnvVar) {
	i := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == env.Name })
	if i >= 0 {
		c.Env[i] = env
		later := slices.DeleteFunc(slices.Clone(c.Env[i+1:]), func(e corev1.EnvVar) bool { return e.Name == env.Name })
		c.Env = append(c.Env[:i+1], later...)
		return
	}
	c.Env = append(c.Env, env)
}

// operatorCondition makes the OperatorCondition and the rights of the operator's accounts on it (spec 6.3).
func operatorCondition(r *rendering) {
	if !r.olm() {
		return
	}
	spec := r.csv.Spec.InstallStrategy.StrategySpec
	accounts, deployed := []string{}, []string{}
	for _, p := range slices.Concat(spec.ClusterPermissions, spec.Permissions) {
		accounts = append(accounts, p.ServiceAccountName)
	}
	if len(accounts) == 0 {
		accounts = []string{"default"}
	}
	for _, d := range spec.DeploymentSpecs {
		deployed = append(deployed, d.Name)
	}
	ns := r.options.Namespace
	r.author("operatorcondition.yaml",
		Object{APIVersion: "operators.coreos.com/v2", Kind: "OperatorCondition", Namespace: ns, Name: r.csv.Name,
			Label: r.names.base},
		templates.OperatorCondition{Name: r.csv.Name, Namespace: ns, Deployments: deployed, ServiceAccounts: accounts})
	rules := rbac.Values([]rbacv1.PolicyRule{{Verbs: []string{"get", "update", "patch"}, APIGroups: []string{olm.Group},
		Resources: []string{"operatorconditions"}, ResourceNames: []string{r.csv.Name}}})
	subjects := lists.Map(accounts, func(a string) templates.Subject {
		if r.names.olm() {
			return templates.Subject{Name: a}
		}
		return templates.Subject{Name: a, Namespace: ns}
	})
	labels := r.names.managed()
	r.roleAndBinding(ns, r.names.condition(), rules, labels, labels, subjects)
}
