package olm

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/crds"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"

	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/manifest"
)

var update = flag.Bool("update", false, "write schemas.json anew")

// unread are the fields that Rejected does not check.
var unread = []string{"apiVersion", "metadata", "status"}

// meaningless are the keywords that reject no value, or that only the API server can evaluate.
var meaningless = []string{"description", "x-kubernetes-map-type", "format", "anyOf", "x-kubernetes-validations"}

// known are the keywords of type schema.
var known = []string{
	"type",
	"required",
	"properties",
	"additionalProperties",
	"items",
	"enum",
	"x-kubernetes-list-type",
	"x-kubernetes-list-map-keys",
	"x-kubernetes-int-or-string",
	"x-kubernetes-preserve-unknown-fields",
	"default",
	"maxLength",
	"minimum",
	"maximum",
	"pattern",
}

// TestSchemas compares schemas.json with OLM's CRDs.
func TestSchemas(t *testing.T) {
	all := map[string]map[string]any{}
	for _, crd := range olmCRDs() {
		versions := map[string]any{}
		for _, v := range crd.Spec.Versions {
			data, err := json.Marshal(v.Schema.OpenAPIV3Schema)
			if err != nil {
				t.Fatal(err)
			}
			var s map[string]any
			if err := json.Unmarshal(data, &s); err != nil {
				t.Fatal(err)
			}
			if v.Subresources == nil || v.Subresources.Status == nil {
				t.Errorf("%s %s has no subresource status", crd.Name, v.Name)
			}
			prune(t, s, crd.Name, true)
			s["required"] = slices.DeleteFunc(s["required"].([]any), func(name any) bool { return name == "metadata" })
			versions[v.Name] = s
		}
		all[crd.Spec.Names.Kind] = versions
	}
	var want bytes.Buffer
	encoder := json.NewEncoder(&want)
	if err := encoder.Encode(all); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("schemas.json", want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(want.String(), string(schemasJSON)); d != "" {
		t.Errorf("OLM's CRDs have changed; -update writes the file anew:\n%s", d)
	}
	kinds, err := schemas()
	if err != nil {
		t.Error(err)
	}
	for kind, versions := range kinds {
		for version, s := range versions {
			s.usable(t, kind+" "+version)
		}
	}
}

// usable fails if a schema has what the code does not expect of one.
func (s *schema) usable(t *testing.T, path string) {
	t.Helper()
	if types[s.Type] == "" && !s.IntOrString {
		t.Errorf("%s: unknown type %q", path, s.Type)
	}
	if _, err := regexp.Compile(s.Pattern); err != nil {
		t.Errorf("%s: %v", path, err)
	}
	for _, name := range s.Required {
		if s.Properties[name] == nil {
			t.Errorf("%s requires %s, which is no property", path, name)
		}
	}
	for _, key := range s.ListKeys {
		if s.Items.Properties[key] == nil {
			t.Errorf("%s: the key %s is no property", path, key)
		}
	}
	for name, of := range s.Properties {
		of.usable(t, path+"."+name)
	}
	for _, of := range []*schema{s.Items, s.Values} {
		if of != nil {
			of.usable(t, path+"[]")
		}
	}
}

func olmCRDs() []*apiextensionsv1.CustomResourceDefinition {
	return []*apiextensionsv1.CustomResourceDefinition{
		crds.OperatorGroup(),
		crds.Subscription(),
		crds.ClusterServiceVersion(),
		crds.CatalogSource(),
	}
}

// prune removes from a schema what type schema does not have.
func prune(t *testing.T, s map[string]any, path string, top bool) {
	t.Helper()
	for key := range s {
		switch {
		case slices.Contains(meaningless, key), key == "x-kubernetes-list-type" && s[key] == "atomic":
			delete(s, key)
		case !slices.Contains(known, key):
			t.Errorf("%s: keyword %s is not known", path, key)
		}
	}
	properties, _ := s["properties"].(map[string]any)
	for name, p := range properties {
		if top && slices.Contains(unread, name) {
			delete(properties, name)
			continue
		}
		prune(t, p.(map[string]any), path+"."+name, false)
	}
	for key, suffix := range map[string]string{"items": "[]", "additionalProperties": "{}"} {
		if sub, ok := s[key].(map[string]any); ok {
			prune(t, sub, path+suffix, false)
		}
	}
}

// TestRefused spoils objects in every place and compares what Rejected refuses with what the libraries of the API server
// refuse.
func TestRefused(t *testing.T) {
	fuzztest.Seconds(t)
	objects := []string{
		`{"apiVersion":"operators.coreos.com/v1","kind":"OperatorGroup","metadata":{"name":"a"},"spec":{"serviceAccountName":"s","staticProvidedAPIs":true,"upgradeStrategy":"Default",
		  "targetNamespaces":["a","b"],"selector":{"matchLabels":{"a":"b","c.d/e":"f"},"matchExpressions":[{"key":"a","operator":"In","values":["b","b"]}]}}}`,
		`{"apiVersion":"operators.coreos.com/v1alpha2","kind":"OperatorGroup","metadata":{"name":"a"},"spec":{"targetNamespaces":["a","b"],"serviceAccountName":"s"}}`,
		`{"apiVersion":"operators.coreos.com/v1alpha1","kind":"Subscription","metadata":{"name":"a"},"spec":{"name":"a","source":"b","sourceNamespace":"c","channel":"d","startingCSV":"e","installPlanApproval":"x"}}`,
		`{"apiVersion":"operators.coreos.com/v1alpha1","kind":"CatalogSource","metadata":{"name":"a"},"spec":{
		  "sourceType":"grpc","image":"a","displayName":"b","priority":5,"secrets":["a"],"icon":{"base64data":"a","mediatype":"b"},
		  "updateStrategy":{"registryPoll":{"interval":"5m"}},"grpcPodConfig":{"nodeSelector":{"a":"b"},
		  "tolerations":[{"key":"a","operator":"Exists","tolerationSeconds":5}],"securityContextConfig":"legacy"}}}`,
		`{"apiVersion":"operators.coreos.com/v1alpha1","kind":"ClusterServiceVersion","metadata":{"name":"a"},"spec":{"displayName":"a","replaces":"b","version":"1.0.0",
		  "icon":[{"base64data":"a","mediatype":"b"}],"links":[{"name":"a","url":"b"}],"maintainers":[{"name":"a","email":"b"}],
		  "relatedImages":[{"name":"a","image":"b"}],"cleanup":{"enabled":true},"nativeAPIs":[{"group":"a","version":"b","kind":"c"}],
		  "labels":{"a":"b"},"selector":{"matchLabels":{"a":"b"}},"minKubeVersion":"1.2.3","skips":["c"],
		  "installModes":[{"type":"OwnNamespace","supported":true}],
		  "customresourcedefinitions":{"owned":[{"name":"a.b","version":"v1","kind":"C","displayName":"d"}],"required":[{"name":"a.b","version":"v1","kind":"C"}]},
		  "apiservicedefinitions":{"owned":[{"name":"a","group":"g","version":"v1","kind":"C","deploymentName":"d"}],"required":[{"name":"a","group":"g","version":"v1","kind":"C"}]},
		  "webhookdefinitions":[{"type":"ValidatingAdmissionWebhook","generateName":"a","sideEffects":"None","admissionReviewVersions":["v1"],"rules":[{"apiGroups":["a"],"apiVersions":["v1"],"operations":["*"],"resources":["b"],"scope":"*"}]}],
		  "install":{"strategy":"deployment","spec":{"deployments":[{"name":"d","label":{"a":"b"},"spec":{"replicas":1,
		      "strategy":{"rollingUpdate":{"maxSurge":"10%"}},"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
		      "spec":{"containers":[{"name":"c","image":"i","env":[{"name":"n","value":"v"}],"ports":[{"containerPort":80}],
		      "resources":{"limits":{"cpu":"1"}},"livenessProbe":{"httpGet":{"path":"/","port":80}},
		      "securityContext":{"runAsNonRoot":true,"runAsUser":5}}],"terminationGracePeriodSeconds":10}}}}],
		    "permissions":[{"serviceAccountName":"s","rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"],"resourceNames":["a"]}]}],
		    "clusterPermissions":[{"serviceAccountName":"s","rules":[{"nonResourceURLs":["/a"],"verbs":["get"]}]}]}}}}`,
	}
	refused, judge := 0, newServer(t)
	for _, c := range rejectedRows {
		value, err := rowObject(t, c.kind, c.spec).Value()
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if want := judge.refuses(t, string(text)); (want == "") != (len(c.want) == 0) {
			t.Errorf("%s: the API server says %q", c.name, want)
		}
	}
	for _, text := range objects {
		var object map[string]any
		if err := json.Unmarshal([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		all := append([]string{text}, spoiled(t, object, object["spec"])...)
		for i, text := range all {
			want := judge.refuses(t, text)
			if i == 0 && want != "" {
				t.Fatalf("not good: %s", want)
			}
			if want != "" {
				refused++
			}
			if got := Rejected(objectOf(t, text), ""); (got == nil) != (want == "") {
				t.Errorf("%s\nthe API server: %q\nRejected: %v", text, want, got)
			}
		}
	}
	if refused < 100 {
		t.Errorf("only %d objects were refused", refused)
	}
}

func objectOf(t *testing.T, text string) *manifest.Object {
	t.Helper()
	docs, err := manifest.ReadFile("f.yaml", []byte(text), manifest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	o, err := docs[0].Object()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// spoiled returns copies of the object, each with one value below the given one replaced or removed.
func spoiled(t *testing.T, object map[string]any, value any) (out []string) {
	t.Helper()
	try := func(set func(any), old any, others ...any) {
		for _, other := range others {
			set(other)
			data, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, string(data))
		}
		set(old)
	}
	others := []any{
		nil,
		5,
		1.5,
		"other",
		"",
		true,
		[]any{},
		[]any{nil},
		[]any{"a", "a"},
		[]any{map[string]any{}},
		map[string]any{},
		map[string]any{"a": 5},
		map[string]any{"a": nil},
	}
	switch value := value.(type) {
	case map[string]any:
		for key, old := range value {
			try(func(v any) { value[key] = v }, old, others...)
			delete(value, key)
			try(func(any) {}, nil, nil)
			value[key] = old
			out = append(out, spoiled(t, object, old)...)
		}
	case []any:
		for i, old := range value {
			try(func(v any) { value[i] = v }, old, others...)
			out = append(out, spoiled(t, object, old)...)
		}
	}
	return out
}

// server does what the API server does with a custom resource that is created.
type server map[string]validator

type validator struct {
	structural *structural.Structural
	schema     validation.SchemaCreateValidator
}

func newServer(t *testing.T) server {
	t.Helper()
	s := server{}
	for _, crd := range olmCRDs() {
		for _, v := range crd.Spec.Versions {
			var in apiextensions.JSONSchemaProps
			if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, &in, nil); err != nil {
				t.Fatal(err)
			}
			of, err := structural.NewStructural(&in)
			if err != nil {
				t.Fatal(err)
			}
			create, _, err := validation.NewSchemaValidator(&in)
			if err != nil {
				t.Fatal(err)
			}
			s[crd.Spec.Names.Kind+"/"+crd.Spec.Group+"/"+v.Name] = validator{of, create}
		}
	}
	return s
}

// refuses returns the API server's errors.
func (s server) refuses(t *testing.T, text string) string {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	v := s[fmt.Sprint(object["kind"], "/", object["apiVersion"])]
	defaulting.PruneNonNullableNullsWithoutDefaults(object, v.structural)
	defaulting.Default(object, v.structural)
	errs := append(
		validation.ValidateCustomResource(nil, object, v.schema),
		listtype.ValidateListSetsAndMaps(nil, v.structural, object)...)
	if len(errs) == 0 {
		return ""
	}
	return errs.ToAggregate().Error()
}
