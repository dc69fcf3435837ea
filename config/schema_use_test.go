package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/olmgen/olmgen/golden/schematest"
	"github.com/olmgen/olmgen/manifest"
)

// schema is schema.json for a validator.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	data, err := os.ReadFile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	s, err := schematest.Compile(data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// value reads YAML as an editor does; not ok is what is no YAML or not one document.
func value(text string) (v any, ok bool) {
	docs, err := manifest.ReadFile("olmgen.yaml", []byte(text), manifest.Limits{})
	if err != nil || len(docs) != 1 || docs[0].Root == nil {
		return nil, false
	}
	v, err = docs[0].Value()
	return v, err == nil
}

// The schema accepts what Read accepts.
func TestSchemaAcceptsGoodConfigs(t *testing.T) {
	s := schema(t)
	init, err := Init("olmgen.yaml", "out", []InitBundle{{Source: "memcached", Bundle: readBundle(t, filepath.Join(testDir(t), "memcached"))}})
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{
		"two bundles": both, "one": group(), "init": string(init),
		"much": group("certs: {provider: cert-manager, issuer: {kind: ClusterIssuer, name: x}}", "config: {nodeSelector: {a: b}, resources: {limits: {memory: 256Mi, cpu: 1}}, tolerations: [{operator: Exists}]}",
			"profile: plain", "convertCRDs: true", "patches: [{path: a, target: {name: b, labelSelector: a=b}}]") + "commonLabels: {a: b}\noutput: {directory: x, layout: flat}\nannotations: flux\n",
		"handed over": group("profile: subscription", "subscription: {approval: Manual, startingCSV: true, catalogSource: {name: a, namespace: b}}"),
		"a function":  strings.Replace(group(), "groups:", "metadata: {name: x, annotations: {config.kubernetes.io/function: y}}\ngroups:", 1),
	}
	for _, name := range []string{"gitops", "kustomize"} {
		data, err := os.ReadFile(filepath.Join("..", "examples", name, "olmgen.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(data)
	}
	for name, text := range texts {
		if _, err := Read("olmgen.yaml", []byte(text)); err != nil {
			t.Errorf("%s: not good: %v", name, err)
		}
		if v, ok := value(text); !ok {
			t.Errorf("%s: no YAML", name)
		} else if err := s.Validate(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The schema refuses what is wrong in structure: unknown fields, wrong types, unknown words, and fields that must be there.
func TestSchemaRefusesBadConfigs(t *testing.T) {
	s := schema(t)
	refused := 0
	for _, c := range badConfigs {
		structural := false
		for _, what := range []string{"no such field", "has the wrong type", "unknown value ", ": is missing", "the group has no operator", "must be a mapping", "not RenderConfig"} {
			structural = structural || strings.Contains(c.want, what)
		}
		v, ok := value(c.text)
		if !ok || !structural || strings.Contains(c.want, ": patch:") { // to the schema a patch is text
			continue
		}
		refused++
		if s.Validate(v) == nil {
			t.Errorf("%s: accepted", c.name)
		}
	}
	if refused < 20 {
		t.Errorf("only %d configs are wrong in structure", refused)
	}
}
