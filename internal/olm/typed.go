package olm

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"math/big"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/olmgen/olmgen/manifest"
)

// Value returns the JSON-like value of a Go type, without what the type writes for a list or map that is not there.
func Value(typed any) (map[string]any, error) {
	v, err := manifest.Typed(typed)
	DropNulls(v)
	return v, err
}

// DropNulls removes the fields without a value at any depth.
func DropNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if x == nil {
				delete(v, k)
			}
			if k != "value" { // a descriptor's value is the author's own
				DropNulls(x)
			}
		}
	case []any:
		for _, x := range v {
			DropNulls(x)
		}
	}
}

// Text returns a value that is a text, or "".
func Text(v any) string {
	s, _ := v.(string)
	return s
}

// Get returns a field of an object, nil if it is not there. One that cannot be read counts as absent.
func Get(o *manifest.Object, path ...string) any {
	v, err := o.Get(path...)
	if err != nil {
		return nil
	}
	return v
}

// Mapping returns a value that is a mapping, or nil.
func Mapping(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// Items returns a value that is a list, or nil.
func Items(v any) []any {
	list, _ := v.([]any)
	return list
}

// Texts returns the texts in a mapping.
func Texts(v any) map[string]string {
	out := map[string]string{}
	for key, x := range Mapping(v) {
		if s, ok := x.(string); ok {
			out[key] = s
		}
	}
	return out
}

// DropEmpty removes a field that is an empty mapping.
func DropEmpty(m map[string]any, field string) {
	if x, ok := m[field].(map[string]any); ok && len(x) == 0 {
		delete(m, field)
	}
}

// TrimDeployment removes the empty mappings that Go's types write in the spec of a Deployment.
func TrimDeployment(spec any) {
	DropEmpty(Mapping(spec), "strategy")
	template := Mapping(Mapping(spec)["template"])
	DropEmpty(template, "metadata")
	for _, field := range []string{"containers", "initContainers", "ephemeralContainers"} {
		for _, c := range Items(Mapping(template["spec"])[field]) {
			DropEmpty(Mapping(c), "resources")
		}
	}
}

// Hash is Digits of the JSON of a value and a newline. Only values of Kubernetes' own types are hashed.
func Hash(v any, base int) string {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(v); err != nil {
		panic(err)
	}
	return Digits(b.Bytes(), base)
}

// Digits writes the SHA-224 of a text as one big number.
func Digits(text []byte, base int) string {
	sum := sha256.Sum224(text)
	return new(big.Int).SetBytes(sum[:]).Text(base)
}

// OwnKey reports whether a label or annotation is one that OLM writes on what it makes.
func OwnKey(key string) bool {
	prefix, _, _ := strings.Cut(key, "/")
	return strings.HasPrefix(key, "olm.") || strings.HasSuffix("."+prefix, "."+Group)
}

// ServedPort returns the port of the Service for a containerPort of a CSV, which is 443 by default.
func ServedPort(containerPort int32) int32 {
	if containerPort > 0 {
		return containerPort
	}
	return 443
}

// ServedTarget returns the port of the pods behind ServedPort, where a CSV may name another one.
func ServedTarget(target *intstr.IntOrString, containerPort int32) intstr.IntOrString {
	return *cmp.Or(target, new(intstr.FromInt32(ServedPort(containerPort))))
}

// NamedPorts returns the ports of a pod that a port of a Service means by a name (Kubernetes:
// staging/src/k8s.io/endpointslice/utils.go, FindPort).
func NamedPorts(pod *corev1.PodSpec, name string, protocol corev1.Protocol) (ports []int32) {
	for _, p := range DeclaredPorts(pod) {
		if p.Name == name && cmp.Or(p.Protocol, corev1.ProtocolTCP) == protocol {
			ports = append(ports, p.ContainerPort)
		}
	}
	return ports
}

// DeclaredPorts returns the ports of the containers of a pod that run as long as it does.
func DeclaredPorts(pod *corev1.PodSpec) (ports []corev1.ContainerPort) {
	for _, c := range pod.Containers {
		ports = append(ports, c.Ports...)
	}
	for _, c := range pod.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			ports = append(ports, c.Ports...)
		}
	}
	return ports
}

// ServiceName returns the name of the Service that OLM makes for a Deployment. It replaces dots, which a Service's name
// can't have, as OLM does where webhooks point to it.
func ServiceName(deployment string) string {
	return strings.ReplaceAll(deployment, ".", "-") + "-service"
}

// AllAnnotations stands for all annotations of a pod.
const AllAnnotations = "*"

// AnnotationsRead returns the annotations that a pod reads of itself, by fieldRef in the environment or by downwardAPI
// volumes.
func AnnotationsRead(pod *corev1.PodSpec) map[string]bool {
	read := map[string]bool{}
	add := func(f *corev1.ObjectFieldSelector) {
		switch {
		case f == nil:
		case f.FieldPath == "metadata.annotations":
			read[AllAnnotations] = true
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
		for _, item := range DownwardFiles(v.VolumeSource) {
			add(item.FieldRef)
		}
	}
	return read
}

// DownwardFiles returns the files of a volume that hold fields of its pod.
func DownwardFiles(v corev1.VolumeSource) []corev1.DownwardAPIVolumeFile {
	var out []corev1.DownwardAPIVolumeFile
	if v.DownwardAPI != nil {
		out = append(out, v.DownwardAPI.Items...)
	}
	if v.Projected != nil {
		for _, s := range v.Projected.Sources {
			if s.DownwardAPI != nil {
				out = append(out, s.DownwardAPI.Items...)
			}
		}
	}
	return out
}
