package golden

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"testing"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// apiType returns an empty Go object of the API type that a rendered object claims to be, and nil for kinds that only
// bundles have.
func apiType(apiVersion, kind string) any {
	if t := olm.TypeOf(apiVersion, kind); t != nil {
		return reflect.New(t).Interface()
	}
	switch apiVersion + " " + kind {
	case "v1 Namespace":
		return &corev1.Namespace{}
	case "admissionregistration.k8s.io/v1 MutatingWebhookConfiguration":
		return &admissionv1.MutatingWebhookConfiguration{}
	case "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration":
		return &admissionv1.ValidatingWebhookConfiguration{}
	case "apiregistration.k8s.io/v1 APIService":
		return &apiService{}
	case "apps/v1 Deployment":
		return &appsv1.Deployment{}
	case "cert-manager.io/v1 Certificate":
		return &certificate{}
	case "cert-manager.io/v1 Issuer":
		return &issuer{}
	case "olm.operatorframework.io/v1 ClusterExtension":
		return &clusterExtension{}
	case "operators.coreos.com/v1 OperatorGroup":
		return &operatorsv1.OperatorGroup{}
	case "operators.coreos.com/v1alpha1 CatalogSource":
		return &v1alpha1.CatalogSource{}
	case "operators.coreos.com/v1alpha1 ClusterServiceVersion":
		return &v1alpha1.ClusterServiceVersion{}
	case "operators.coreos.com/v1alpha1 Subscription":
		return &v1alpha1.Subscription{}
	case "operators.coreos.com/v2 OperatorCondition":
		return &operatorsv2.OperatorCondition{}
	}
	return nil
}

// checkTypes decodes every object strictly into its API type, and prints those that olmgen authored again: the text of a template is
// exactly what the one encoder makes of it.
func checkTypes(t *testing.T, r *rendered) {
	t.Helper()
	for _, o := range r.result.Objects {
		id := o.Kind + " " + o.Namespace + "/" + o.Name
		typed, authored := apiType(o.APIVersion, o.Kind), !carried(r, o)
		switch {
		case typed != nil:
			if err := strict(o.Data, typed); err != nil {
				t.Errorf("%s is no %s %s: %v\n%s", id, o.APIVersion, o.Kind, err, o.Data)
			}
		case authored:
			t.Errorf("%s: add %s %s to the API types of this test", id, o.APIVersion, o.Kind)
		}
		if authored {
			checkPrinted(t, id, o.Data)
		}
	}
	checkPrinted(t, "kustomization.yaml", r.tree["kustomization.yaml"])
}

// strict decodes as the API server does with strict field validation: neither unknown nor double fields, names in their exact case.
func strict(data []byte, typed any) error {
	text, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return err
	}
	problems, err := kjson.UnmarshalStrict(text, typed)
	return errors.Join(append(problems, err)...)
}

func checkPrinted(t *testing.T, id string, data []byte) {
	t.Helper()
	var m map[string]any
	if err := yaml.UnmarshalStrict(data, &m); err != nil {
		t.Errorf("%s: %v\n%s", id, err, data)
		return
	}
	if again := manifest.Encode(m); !bytes.Equal(again, data) {
		t.Errorf("%s: the encoder prints it differently:\n%s", id, Diff("", Tree{id: data}, Tree{id: again}))
	}
}

// carried reports whether an object is the bundle's own. Where olmgen rendered another in its place it has said so.
func carried(r *rendered, o generate.Object) bool {
	shipped := func(m *manifest.Object) bool {
		if m.Kind != o.Kind || m.Name != o.Name || m.APIVersion != "" && m.Group() != o.Group() {
			return false
		}
		for _, w := range r.result.Warnings {
			if w.Class == bundle.WarnShadowed && w.File == m.File && w.Line == m.LineOf("metadata.name") {
				return false
			}
		}
		return true
	}
	for _, c := range r.bundle.CRDs {
		if shipped(c.Object) {
			return true
		}
	}
	return slices.ContainsFunc(r.bundle.Others, shipped)
}

// The Go modules of cert-manager, of OLM v1 (operator-controller: api/v1) and of Kubernetes' aggregator are not among olmgen's dependencies, so these types say what olmgen may
// write of their APIs.
type (
	issuer struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			SelfSigned struct{} `json:"selfSigned"`
		} `json:"spec"`
	}
	certificate struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			CommonName string          `json:"commonName"`
			DNSNames   []string        `json:"dnsNames"`
			Duration   metav1.Duration `json:"duration"`
			IssuerRef  struct {
				Group string `json:"group"`
				Kind  string `json:"kind"`
				Name  string `json:"name"`
			} `json:"issuerRef"`
			RenewBefore metav1.Duration `json:"renewBefore"`
			SecretName  string          `json:"secretName"`
			Usages      []string        `json:"usages"`
		} `json:"spec"`
	}
	clusterExtension struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Config struct {
				ConfigType string   `json:"configType"`
				Inline     struct { // of a bundle in the registry+v1 format (internal/operator-controller/rukpak/bundle/registryv1bundleconfig.json)
					DeploymentConfig v1alpha1.SubscriptionConfig `json:"deploymentConfig"`
					WatchNamespace   string                      `json:"watchNamespace"`
				} `json:"inline"`
			} `json:"config"`
			Namespace      string `json:"namespace"`
			ServiceAccount struct {
				Name string `json:"name"`
			} `json:"serviceAccount"`
			Source struct {
				Catalog struct {
					Channels                []string `json:"channels"`
					PackageName             string   `json:"packageName"`
					UpgradeConstraintPolicy string   `json:"upgradeConstraintPolicy"`
					Version                 string   `json:"version"`
				} `json:"catalog"`
				SourceType string `json:"sourceType"`
			} `json:"source"`
		} `json:"spec"`
	}
	apiService struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			CABundle             []byte `json:"caBundle"`
			Group                string `json:"group"`
			GroupPriorityMinimum int32  `json:"groupPriorityMinimum"`
			Service              struct {
				Name      string `json:"name"`
				Namespace string `json:"namespace"`
				Port      int32  `json:"port"`
			} `json:"service"`
			Version         string `json:"version"`
			VersionPriority int32  `json:"versionPriority"`
		} `json:"spec"`
	}
)
