package cluster

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// Deny is an annotation by which an object asks a webhook to refuse it: the webhook's host and path.
const Deny = "e2e.olmgen.dev/deny"

// Call is a request that a server in the place of pods has answered: an AdmissionReview, a ConversionReview, or
// discovery.
type Call struct{ Kind, Host, Path string }

// Calls is how often something was called.
func (c *Cluster) Calls(of Call) int {
	n, _ := c.network.calls.Load(of)
	count, _ := n.(int)
	return count
}

// certificate is the one that a pod behind the Service finds in the Secret that its Deployment mounts for it, or else
// one that Trust has the API server accept.
func (n *network) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	c := n.cluster.Load()
	if c == nil {
		return nil, fmt.Errorf("no such service: %s", hello.ServerName)
	}
	cert, err := c.mountedCertificate(hello.Context(), hello.ServerName)
	if _, trusted := c.trusted.Load(hello.ServerName); err != nil && trusted {
		made, err := c.ca.host(hello.ServerName)
		return &made, err
	}
	return cert, err
}

func (c *Cluster) mountedCertificate(ctx context.Context, host string) (*tls.Certificate, error) {
	parts := strings.Split(host, ".")
	if len(parts) < 2 {
		return nil, fmt.Errorf("no such service: %s", host)
	}
	service, err := c.Client.CoreV1().Services(parts[1]).Get(ctx, parts[0], metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	deployments, err := c.Client.AppsV1().Deployments(parts[1]).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	name, err := mounted(service, deployments.Items)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", host, err)
	}
	secret, err := c.Client.CoreV1().Secrets(parts[1]).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	cert, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	return &cert, err
}

// mounted names the Secret in the volume that OLM adds for serving certificates to the pods that a Service selects.
// Operators that use controller-runtime look there: the volume webhook-cert, which is mounted where it expects them.
func mounted(service *corev1.Service, deployments []appsv1.Deployment) (string, error) {
	for _, d := range deployments {
		pod := d.Spec.Template
		if len(service.Spec.Selector) == 0 ||
			!labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels)) {
			continue
		}
		i := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
			return v.Name == "webhook-cert" && v.Secret != nil
		})
		if i >= 0 && slices.ContainsFunc(pod.Spec.Containers, mountsCertificate) {
			return pod.Spec.Volumes[i].Secret.SecretName, nil
		}
	}
	return "", errors.New("no Deployment behind the Service mounts a certificate")
}

func mountsCertificate(c corev1.Container) bool {
	return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool {
		return m.Name == "webhook-cert" && m.MountPath == "/tmp/k8s-webhook-server/serving-certs"
	})
}

// answer is what all pods serve: admission, conversion, and discovery of APIs.
func (n *network) answer(w http.ResponseWriter, r *http.Request) {
	var review struct {
		metav1.TypeMeta
		Request json.RawMessage
	}
	if r.Method == http.MethodPost {
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	answer, err := any(nil), error(nil)
	switch review.Kind {
	case "AdmissionReview":
		answer, err = admit(review.TypeMeta, review.Request, r.TLS.ServerName+r.URL.Path)
	case "ConversionReview":
		answer, err = convert(review.TypeMeta, review.Request)
	default:
		n.discovery(w, r)
	}
	n.count(Call{review.Kind, r.TLS.ServerName, r.URL.Path})
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	} else if answer != nil {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer) // nobody is there to be told
	}
}

func (n *network) count(c Call) {
	for {
		old, loaded := n.calls.LoadOrStore(c, 1)
		if !loaded || n.calls.CompareAndSwap(c, old, old.(int)+1) {
			return
		}
	}
}

// admit lets everything pass but an object that asks to be refused here.
func admit(kind metav1.TypeMeta, data []byte, here string) (any, error) {
	var request admissionv1.AdmissionRequest
	if err := json.Unmarshal(data, &request); err != nil {
		return nil, err
	}
	var object metav1.PartialObjectMetadata
	if len(request.Object.Raw) > 0 {
		if err := json.Unmarshal(request.Object.Raw, &object); err != nil {
			return nil, err
		}
	}
	response := &admissionv1.AdmissionResponse{UID: request.UID, Allowed: true}
	if object.Annotations[Deny] == here {
		response.Allowed, response.Result = false, &metav1.Status{Message: "refused by " + here}
	}
	return admissionv1.AdmissionReview{TypeMeta: kind, Response: response}, nil
}

// convert changes the version of objects and nothing else.
func convert(kind metav1.TypeMeta, data []byte) (any, error) {
	var request apiextensionsv1.ConversionRequest
	if err := json.Unmarshal(data, &request); err != nil {
		return nil, err
	}
	response := &apiextensionsv1.ConversionResponse{UID: request.UID,
		Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, o := range request.Objects {
		var u unstructured.Unstructured
		if err := json.Unmarshal(o.Raw, &u.Object); err != nil {
			return nil, err
		}
		u.SetAPIVersion(request.DesiredAPIVersion)
		response.ConvertedObjects = append(response.ConvertedObjects, runtime.RawExtension{Object: &u})
	}
	return apiextensionsv1.ConversionReview{TypeMeta: kind, Response: response}, nil
}

// discovery answers /apis/<group>/<version>.
func (n *network) discovery(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) != 3 || parts[0] != "apis" {
		http.NotFound(w, r)
		return
	}
	list := metav1.APIResourceList{GroupVersion: parts[1] + "/" + parts[2], APIResources: []metav1.APIResource{}}
	list.Kind, list.APIVersion = "APIResourceList", "v1"
	csvs, err := n.cluster.Load().Dynamic.Resource(CSVs).List(r.Context(), metav1.ListOptions{})
	if apierrors.IsNotFound(err) { // a cluster without OLM
		csvs, err = &unstructured.UnstructuredList{}, nil
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	for _, csv := range csvs.Items {
		owned, _, _ := unstructured.NestedSlice(csv.Object, "spec", "apiservicedefinitions", "owned")
		for _, api := range owned {
			api := api.(map[string]any)
			name, _ := api["name"].(string)
			kind, _ := api["kind"].(string)
			known := slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == name })
			if api["group"] == parts[1] && api["version"] == parts[2] && !known {
				list.APIResources = append(list.APIResources,
					metav1.APIResource{Name: name, Kind: kind, Namespaced: true, Verbs: metav1.Verbs{"get"}})
			}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(list) // nobody is there to be told
}
