package generate

import (
	"maps"
	"reflect"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/manifest"
)

// ReadConfig takes a Subscription's spec.config from a YAML file that holds a Subscription or that config itself.
// Fields it does not know are an error.
func ReadConfig(name string, data []byte) (*v1alpha1.SubscriptionConfig, error) {
	docs, err := manifest.ReadFile(name, data, manifest.Limits{})
	if err != nil {
		return nil, err
	}
	docs = slices.DeleteFunc(docs, func(d *manifest.Document) bool { return d.Root == nil })
	if len(docs) != 1 {
		return nil, &manifest.Error{File: name, Msg: "must hold one Subscription, or the config of one"}
	}
	o, err := docs[0].Object()
	if err != nil {
		return nil, err
	}
	config := &v1alpha1.SubscriptionConfig{}
	var unknown []string
	if o.Kind != "" {
		if o.Kind != v1alpha1.SubscriptionKind {
			return nil, o.Errorf("kind", "%s is not a Subscription", o.Kind)
		}
		sub := &v1alpha1.Subscription{}
		if unknown, err = o.Into(sub); err == nil && sub.Spec != nil && sub.Spec.Config != nil {
			config = sub.Spec.Config
		}
	} else {
		unknown, err = o.Into(config)
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
		for _, e := range lastByName(c.Env) {
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

// lastByName returns the variables in order. Of several with one name, the last one counts.
func lastByName(env []corev1.EnvVar) []corev1.EnvVar {
	last := lists.By(env, func(e corev1.EnvVar) string { return e.Name })
	var out []corev1.EnvVar
	for _, e := range env {
		if v, ok := last[e.Name]; ok {
			out = append(out, v)
			delete(last, e.Name)
		}
	}
	return out
}

// appendNew appends what the list did not have from the start.
func appendNew[T any](list, add []T) []T {
	out := slices.Clone(list)
	for _, x := range add {
		if !slices.ContainsFunc(list, func(y T) bool { return reflect.DeepEqual(x, y) }) {
			out = append(out, x)
		}
	}
	return out
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
