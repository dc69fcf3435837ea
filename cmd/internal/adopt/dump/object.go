package dump

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/manifest"
)

// Object is an object of a cluster. Equal ones share their fields beside metadata: each copied CSV has the whole spec.
type Object struct {
	APIVersion, Kind                      string `json:"-"`
	Namespace, Name, UID, ResourceVersion string
	Labels, Annotations                   map[string]string
	Owners                                []Owner `json:"ownerReferences"`
	File                                  string  `json:"-"`
	Line                                  int     `json:"-"` // 0 if it is unknown

	original   string // of a copied ClusterServiceVersion: the namespace of the original, if it is known
	copied     bool
	meta, body json.RawMessage
	own        int64 // bytes of body, if no object before has an equal one
}

// Copied reports whether the object is a copied CSV, and returns the namespace of the original if the copy names it.
func (o *Object) Copied() (original string, copied bool) { return o.original, o.copied }

// Owner is an ownerReference.
type Owner struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
}

// ByOLM reports whether the reference is to an object of OLM.
func (r Owner) ByOLM() bool { return strings.HasPrefix(r.APIVersion, olm.Group+"/") }

// Key identifies the object in a cluster: kind, namespace, name. It is that of golden/equal.
func (o *Object) Key() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s/%s", o.Kind, o.Namespace, o.Name))
}

// Identity names the object for a person: kind namespace/name.
func (o *Object) Identity() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// Value decodes the object, its numbers float64. The map is the caller's own.
func (o *Object) Value() map[string]any {
	var v, meta map[string]any
	// Both were decoded before they were kept.
	_ = json.Unmarshal(o.body, &v)
	_ = json.Unmarshal(o.meta, &meta)
	v["metadata"] = meta
	return v
}

// Decode decodes the object into a Go type. The error, a *manifest.Error, names its place.
func (o *Object) Decode(into any) error {
	data, err := json.Marshal(o.Value())
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return &manifest.Error{File: o.File, Line: o.Line, Field: o.Identity(), Msg: "is not one that the API server " +
			"would print: " + err.Error()}
	}
	return nil
}

// Managed is a manager of fields, if the dump has them (kubectl get --show-managed-fields).
type Managed struct {
	Manager string         `json:"manager"`
	Time    string         `json:"time"`
	Fields  map[string]any `json:"fieldsV1"`
}

// ManagedFields returns the managers of the object's fields; none if the dump leaves them out.
func (o *Object) ManagedFields() []Managed {
	var meta struct {
		ManagedFields []Managed `json:"managedFields"`
	}
	_ = json.Unmarshal(o.meta, &meta) // one of another form has none
	return meta.ManagedFields
}

// store keeps equal bodies once.
type store map[[sha256.Size]byte]json.RawMessage

// object makes an Object of a decoded value. It reports false for one that is not kept.
func (s store) object(value map[string]any, kind Kind, file string, line int) (*Object, bool, error) {
	raw, _ := value["metadata"].(map[string]any)
	meta, err := json.Marshal(raw)
	if err != nil {
		return nil, false, err
	}
	o := &Object{Kind: kind.Kind, File: file, Line: line, meta: meta}
	if err := json.Unmarshal(meta, o); err != nil {
		return nil, false, fmt.Errorf("metadata: %w", err)
	}
	o.APIVersion, _ = value["apiVersion"].(string)
	switch {
	case o.Name == "":
		return nil, false, fmt.Errorf("%s without metadata.name", kind.Kind)
	case kind.marked && !o.marked():
		return nil, false, nil
	}
	body := maps.Clone(value)
	delete(body, "metadata")
	if o.Kind == v1alpha1.ClusterServiceVersionKind {
		status, _ := value["status"].(map[string]any)
		reason, _ := status["reason"].(string)
		o.original, o.copied = olm.Copied(metav1.ObjectMeta{Namespace: o.Namespace, Labels: o.Labels,
			Annotations: o.Annotations}, v1alpha1.ConditionReason(reason))
	}
	if o.copied {
		delete(body, "status") // it is the original's, with times of its own
	}
	if o.Kind == "InstallPlan" { // Secrets of bundles are among the manifests of its steps
		for _, step := range normalize.List(normalize.At(body, "status"), "plan") {
			delete(normalize.At(step, "resource"), "manifest")
		}
	}
	if o.body, err = json.Marshal(body); err != nil {
		return nil, false, err
	}
	sum := sha256.Sum256(o.body)
	if known, ok := s[sum]; ok {
		o.body = known
	} else {
		s[sum], o.own = o.body, int64(len(o.body))
	}
	return o, true, nil
}

// marked reports whether an object shows that OLM made it, or that it is a part of OLM.
func (o *Object) marked() bool {
	own := func(k string) bool { return olm.OwnKey(k) || strings.HasPrefix(k, "operatorframework.io/") }
	return lists.Any(maps.Keys(o.Labels), own) || lists.Any(maps.Keys(o.Annotations), own) ||
		slices.ContainsFunc(o.Owners, Owner.ByOLM) || o.Kind == "Deployment" &&
		slices.Contains([]string{"olm-operator", "catalog-operator", "packageserver"}, o.Name)
}
