package generate

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/views"
	"github.com/olmgen/olmgen/manifest"
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
	annotations := map[string]string{}
	maps.Copy(annotations, spec.Template.Annotations)
	maps.Copy(annotations, r.podAnnotations(deployment))
	spec.Template.Annotations = annotations
	configure(r.options.Config, &deployment)
	if r.olm() {
		for i := range spec.Template.Spec.Containers {
			setEnv(&spec.Template.Spec.Containers[i], corev1.EnvVar{Name: envCondition, Value: r.csv.Name})
		}
	}
	spec.RevisionHistoryLimit = new(int32(1)) // OLM does not roll back

	labels := r.names.owned().Labels()
	if r.names.withoutOLM() {
		maps.Copy(labels, d.Label)
	} else {
		labels = underlay(d.Label, labels)
	}
	if r.names.olm() && i < 0 { // OLM's hash covers its random CA
		labels[olm.LabelSpecHash] = deepHash(spec)
	}
	value, err := olm.Value(spec)
	r.fail(err)
	olm.TrimDeployment(value)
	view := views.Deployment{Name: d.Name, Namespace: r.options.Namespace, Labels: labels,
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
	read := olm.AnnotationsRead(&configured.Spec.Template.Spec)
	if read[olm.AllAnnotations] {
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

// setEnv replaces a variable in its place, and what else has its name, or appends it.
func setEnv(c *corev1.Container, env corev1.EnvVar) {
	named := func(e corev1.EnvVar) bool { return e.Name == env.Name }
	i := slices.IndexFunc(c.Env, named)
	if i < 0 {
		c.Env = append(c.Env, env)
		return
	}
	c.Env[i] = env
	c.Env = append(c.Env[:i+1], slices.DeleteFunc(slices.Clone(c.Env[i+1:]), named)...)
}

// operatorCondition makes the OperatorCondition and the rights of the operator's accounts on it (spec 6.3).
func operatorCondition(r *rendering) {
	if !r.olm() {
		return
	}
	spec := r.csv.Spec.InstallStrategy.StrategySpec
	accounts := lists.Map(slices.Concat(spec.ClusterPermissions, spec.Permissions),
		func(p v1alpha1.StrategyDeploymentPermissions) string { return p.ServiceAccountName })
	if len(accounts) == 0 {
		accounts = []string{"default"}
	}
	deployed := lists.Map(spec.DeploymentSpecs, func(d v1alpha1.StrategyDeploymentSpec) string { return d.Name })
	ns := r.options.Namespace
	r.author("operatorcondition.yaml",
		Object{APIVersion: "operators.coreos.com/v2", Kind: "OperatorCondition", Namespace: ns, Name: r.csv.Name,
			Label: r.names.base},
		views.OperatorCondition{Name: r.csv.Name, Namespace: ns, Deployments: deployed, ServiceAccounts: accounts})
	rules := rbac.Values([]rbacv1.PolicyRule{{Verbs: []string{"get", "update", "patch"}, APIGroups: []string{olm.Group},
		Resources: []string{"operatorconditions"}, ResourceNames: []string{r.csv.Name}}})
	subjects := lists.Map(accounts, func(a string) views.Subject {
		if r.names.olm() {
			return views.Subject{Name: a}
		}
		return views.Subject{Name: a, Namespace: ns}
	})
	labels := r.names.managed()
	r.roleAndBinding(ns, r.names.condition(), rules, labels, labels, subjects)
}

// ReadConfig takes a Subscription's spec.config from a YAML file that holds a Subscription or that config itself.
// Fields it does not know are an error.
func ReadConfig(name string, data []byte) (*v1alpha1.SubscriptionConfig, error) {
	docs, err := manifest.ReadFile(name, data, manifest.Limits{})
	if err != nil {
		return nil, err
	}
	docs = manifest.Written(docs)
	if len(docs) != 1 {
		return nil, &manifest.Error{File: name, Msg: "must hold one Subscription, or the config of one"}
	}
	o, err := docs[0].Object()
	if err != nil {
		return nil, err
	}
	config, sub := &v1alpha1.SubscriptionConfig{}, &v1alpha1.Subscription{}
	var unknown []string
	switch o.Kind {
	case "":
		unknown, err = o.Into(config)
	case v1alpha1.SubscriptionKind:
		if unknown, err = o.Into(sub); err == nil && sub.Spec != nil && sub.Spec.Config != nil {
			config = sub.Spec.Config
		}
	default:
		err = o.Errorf("kind", "%s is not a Subscription", o.Kind)
	}
	if err != nil {
		return nil, err
	}
	if len(unknown) > 0 {
		return nil, o.Errorf(unknown[0], "no such field")
	}
	return config, nil
}

// configure applies a Subscription's config to a Deployment as OLM does: containers only, not init containers (spec
// 6.2; OLM: pkg/controller/operators/olm/overrides/inject). The selector is accepted and means nothing.
func configure(c *v1alpha1.SubscriptionConfig, d *appsv1.Deployment) {
	if c == nil {
		return
	}
	c = c.DeepCopy()
	pod := &d.Spec.Template.Spec
	for i := range pod.Containers {
		container := &pod.Containers[i]
		for _, e := range c.Env {
			setEnv(container, e)
		}
		container.EnvFrom = appendNew(container.EnvFrom, c.EnvFrom)
		container.VolumeMounts = replaceOrAppend(container.VolumeMounts, c.VolumeMounts,
			func(m corev1.VolumeMount) string { return m.Name })
		if c.Resources != nil {
			container.Resources = *c.Resources.DeepCopy()
		}
	}
	pod.Volumes = replaceOrAppend(pod.Volumes, c.Volumes, func(v corev1.Volume) string { return v.Name })
	pod.Tolerations = appendNew(pod.Tolerations, c.Tolerations)
	if c.NodeSelector != nil {
		pod.NodeSelector = c.NodeSelector
	}
	pod.Affinity = overrideAffinity(pod.Affinity, c.Affinity)
	d.Annotations = underlay(c.Annotations, d.Annotations)
	d.Spec.Template.Annotations = underlay(c.Annotations, d.Spec.Template.Annotations)
}

// appendNew appends what the list did not have from the start.
func appendNew[T any](list, add []T) []T {
	isNew := func(x T) bool { return !slices.ContainsFunc(list, func(y T) bool { return reflect.DeepEqual(x, y) }) }
	return slices.Concat(list, lists.Filter(add, isNew))
}

// replaceOrAppend replaces the first entry of a name that the list had from the start, and appends the others.
func replaceOrAppend[T any](list, add []T, name func(T) string) []T {
	out := slices.Clone(list)
	for _, x := range add {
		if i := slices.IndexFunc(out[:len(list)], func(y T) bool { return name(x) == name(y) }); i >= 0 {
			out[i] = x
		} else {
			out = append(out, x)
		}
	}
	return out
}

// overrideAffinity overrides each kind of affinity that is given and clears one that is given empty; an empty
// podAntiAffinity clears all, as in OLM.
func overrideAffinity(have, want *corev1.Affinity) *corev1.Affinity {
	switch {
	case want == nil:
		return have
	case empty(want):
		return nil
	case have == nil || empty(have):
		return want
	}
	if want.NodeAffinity != nil {
		have.NodeAffinity = unlessEmpty(want.NodeAffinity)
	}
	if want.PodAffinity != nil {
		have.PodAffinity = unlessEmpty(want.PodAffinity)
	}
	if want.PodAntiAffinity != nil {
		if empty(want.PodAntiAffinity) {
			return nil
		}
		have.PodAntiAffinity = want.PodAntiAffinity
	}
	return unlessEmpty(have)
}

func empty[T any](p *T) bool { return reflect.ValueOf(*p).IsZero() }

func unlessEmpty[T any](p *T) *T {
	if empty(p) {
		return nil
	}
	return p
}

// underlay adds annotations under those that are there.
func underlay(add, have map[string]string) map[string]string {
	if add == nil {
		return have
	}
	out := maps.Clone(add)
	maps.Copy(out, have)
	return out
}

// applyDefaults fills in what the API server does from the CSV's CRD, as far as it shows in JSON: Deployments and their
// hashes are made of that (spec 5.1; api: crds/operators.coreos.com_clusterserviceversions.yaml).
func applyDefaults(csv *v1alpha1.ClusterServiceVersion) {
	for i := range csv.Spec.WebhookDefinitions {
		if w := &csv.Spec.WebhookDefinitions[i]; w.ContainerPort == 0 {
			w.ContainerPort = 443
		}
	}
	deployments := csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
	for i := range deployments {
		pod := &deployments[i].Spec.Template.Spec
		for _, containers := range [][]corev1.Container{pod.Containers, pod.InitContainers} {
			for j := range containers {
				defaultContainer(&containers[j])
			}
		}
		for j := range pod.Volumes {
			defaultVolume(&pod.Volumes[j].VolumeSource)
		}
	}
}

func defaultContainer(c *corev1.Container) {
	for i := range c.Ports {
		setDefault(&c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if p != nil && p.GRPC != nil && p.GRPC.Service == nil {
			p.GRPC.Service = new(string)
		}
	}
	for i := range c.Env {
		if f := c.Env[i].ValueFrom; f != nil && f.FileKeyRef != nil && f.FileKeyRef.Optional == nil {
			f.FileKeyRef.Optional = new(bool)
		}
	}
}

func defaultVolume(v *corev1.VolumeSource) {
	if e := v.Ephemeral; e != nil && e.VolumeClaimTemplate != nil {
		e.VolumeClaimTemplate.ObjectMeta = metav1.ObjectMeta{} // the schema of a CSV knows no field of it
	}
	if d := v.AzureDisk; d != nil {
		d.FSType, d.ReadOnly = cmp.Or(d.FSType, new("ext4")), cmp.Or(d.ReadOnly, new(bool))
	}
	if d := v.ISCSI; d != nil {
		setDefault(&d.ISCSIInterface, "default")
	}
	if d := v.RBD; d != nil {
		setDefault(&d.Keyring, "/etc/ceph/keyring")
		setDefault(&d.RBDPool, "rbd")
		setDefault(&d.RadosUser, "admin")
	}
	if d := v.ScaleIO; d != nil {
		setDefault(&d.FSType, "xfs")
		setDefault(&d.StorageMode, "ThinProvisioned")
	}
}
