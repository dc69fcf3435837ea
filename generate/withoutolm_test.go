package generate

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
)

const annotated = `{alm-examples: "[]", createdAt: "2024-01-01", quay-version: v3, containerImage: "a:b", description: d, channel: c, env: e}`

const readsAnnotations = `
install:
  strategy: deployment
  spec:
    deployments:
    - name: dep
      label: {app.kubernetes.io/managed-by: somebody, tier: control}
      spec:
        selector: {matchLabels: {app: a}}
        template:
          metadata: {labels: {app: a}, annotations: {own: stays, createdAt: of the pod}}
          spec:
            initContainers:
            - {name: init, image: "a:b", env: [{name: V, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['quay-version']"}}}]}
            containers:
            - {name: manager, image: "a:b", env: [{name: ME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}
            volumes:
            - {name: info, downwardAPI: {items: [{path: x, fieldRef: {fieldPath: "metadata.annotations['containerImage']"}}]}}
            - name: all
              projected: {sources: [{downwardAPI: {items: [{path: x, fieldRef: {fieldPath: "metadata.annotations['channel']"}}]}}]}
`

func renderedDeployment(t *testing.T, annotations, spec string, o Options) *appsv1.Deployment {
	t.Helper()
	result, err := Render(annotatedBundle(t, annotations, spec), o)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(result.Objects, func(x Object) bool { return x.Kind == "Deployment" })
	var d appsv1.Deployment
	if err := yaml.UnmarshalStrict(result.Objects[i].Data, &d); err != nil {
		t.Fatal(err)
	}
	return &d
}

// A pod has of the CSV's annotations what it reads, and what OLM tells an operator.
func TestPodAnnotations(t *testing.T) {
	read := []string{"channel", "containerImage", "createdAt", "olm.operatorGroup", "olm.operatorNamespace", "olm.targetNamespaces", "own", "quay-version"}
	all := []string{"alm-examples", "channel", "containerImage", "createdAt", "description", "env", "olm.operatorGroup", "olm.operatorNamespace",
		"olm.targetNamespaces", "own", "quay-version"}
	fieldRef := func(path string) *v1alpha1.SubscriptionConfig {
		return &v1alpha1.SubscriptionConfig{Env: []corev1.EnvVar{{Name: "E", ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}}}
	}
	for _, c := range []struct {
		name    string
		options Options
		want    []string
		created string
	}{
		{"plain", Options{Profile: ProfilePlain}, read, "of the pod"},
		{"descoped", Options{Profile: ProfileDescoped, OperatorGroup: "g"}, read, "of the pod"},
		{"a Subscription's variable", Options{Profile: ProfilePlain, Config: fieldRef("metadata.annotations['env']")},
			slices.Sorted(slices.Values(append(slices.Clone(read), "env"))), "of the pod"},
		{"all annotations", Options{Profile: ProfilePlain, Config: fieldRef("metadata.annotations")}, all, "2024-01-01"},
		{"olm", Options{Profile: ProfileOLM}, all, "2024-01-01"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := renderedDeployment(t, annotated, allModes+readsAnnotations, c.options)
			got := d.Spec.Template.Annotations
			if diff := cmp.Diff(c.want, slices.Sorted(maps.Keys(got))); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
			if got["createdAt"] != c.created {
				t.Errorf("createdAt is %q", got["createdAt"])
			}
		})
	}
}

// Without OLM, nothing says which CSV an object belongs to. The bundle's own labels stay.
func TestLabelsWithoutOLM(t *testing.T) {
	for _, c := range []struct {
		options Options
		want    string
	}{
		{Options{Profile: ProfilePlain}, `{app.kubernetes.io/managed-by: somebody, app.kubernetes.io/part-of: memcached, tier: control}`},
		{Options{Profile: ProfileDescoped}, `{app.kubernetes.io/managed-by: somebody, app.kubernetes.io/part-of: memcached, tier: control}`},
		{Options{Profile: ProfileOLM, Namespace: "ns"}, `{app.kubernetes.io/managed-by: somebody, tier: control, olm.owner: memcached-operator.v0.0.1,
			olm.owner.kind: ClusterServiceVersion, olm.owner.namespace: ns}`},
	} {
		d := renderedDeployment(t, "{}", allModes+readsAnnotations, c.options)
		if diff := cmp.Diff(fromYAML[map[string]string](t, c.want), d.Labels); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.options.Profile, diff)
		}
	}
}

// A package whose name cannot be a label value gives no labels.
func TestNoLabelOfALongName(t *testing.T) {
	long := "a-package-whose-name-has-more-characters-than-a-label-may-have.x"
	if got := (names{profile: ProfilePlain, mode: NamesStable}).recommended(long).Labels(); len(got) != 0 {
		t.Errorf("labels: %v", got)
	}
}
