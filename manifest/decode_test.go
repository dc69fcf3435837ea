package manifest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
)

const decodeHead = "kind: ClusterServiceVersion\nmetadata:\n  name: a\nspec:\n"

// A value of the wrong type is an error with line, field and what is wanted; of several the first by name.
func TestWrongTypes(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"number for text", "  displayName: 5\n", "f.yaml:5: spec.displayName: has the wrong type: a number, want text (quote it)"},
		{"boolean for text", "  displayName: yes\n", "f.yaml:5: spec.displayName: has the wrong type: true or false, want text (quote it)"},
		{"list for text", "  displayName: [a]\n", "f.yaml:5: spec.displayName: has the wrong type: a list, want text"},
		{"text for a list", "  keywords: a\n", "f.yaml:5: spec.keywords: has the wrong type: text, want a list"},
		{"list for a mapping", "  provider: [a]\n", "f.yaml:5: spec.provider: has the wrong type: a list, want a mapping"},
		{"mapping for a list", "  installModes: {a: b}\n", "f.yaml:5: spec.installModes: has the wrong type: a mapping, want a list"},
		{"text for a boolean", "  installModes:\n  - type: OwnNamespace\n    supported: true\n  - type: AllNamespaces\n    supported: \"true\"\n", "f.yaml:9: spec.installModes[1].supported: has the wrong type: text, want true or false"},
		{"text for a number", deploy("replicas: \"1\"", ""), "f.yaml:10: spec.install.spec.deployments[0].spec.replicas: has the wrong type: text, want a whole number"},
		{"fraction for a whole number", deploy("replicas: 1.5", ""), "f.yaml:10: spec.install.spec.deployments[0].spec.replicas: has the wrong type: the number 1.5, want a whole number"},
		{"too large a number", deploy("replicas: 3000000000", ""), "f.yaml:10: spec.install.spec.deployments[0].spec.replicas: has the wrong type: the number 3000000000, want a whole number"},
		{"number in env", deploy("replicas: 1", "env: [{name: A, value: a}, {name: B, value: 8080}]"), "f.yaml:14: spec.install.spec.deployments[0].spec.template.spec.containers[0].env[1].value: has the wrong type: a number, want text (quote it)"},
		{"bad quantity", deploy("replicas: 1", "resources: {limits: {cpu: 100m, memory: lots}}"), "f.yaml:14: spec.install.spec.deployments[0].spec.template.spec.containers[0].resources.limits.memory: is no quantity, such as 100m, 0.5 or 1Gi"},
		{"bad version", "  maturity: x\n  version: one\n", "f.yaml:6: spec.version: has a wrong value: Invalid character(s) found in major number \"0one\""},
		{"annotation", "", "f.yaml:7: metadata.annotations[\"a.b/c\"]: has the wrong type: a number, want text (quote it)"},
		{"two faults", "  version: one\n  keywords: a\n", "f.yaml:6: spec.keywords: has the wrong type: text, want a list"},
		{"two faults in a list", deploy("replicas: 1", "env: [{name: 1}, {value: 2}]"), "f.yaml:14: spec.install.spec.deployments[0].spec.template.spec.containers[0].env[0].name: has the wrong type: a number, want text (quote it)"},
		{"faults far apart", "  keywords: [1]\nstatus: 5\n", "f.yaml:5: spec.keywords[0]: has the wrong type: a number, want text (quote it)"},
	} {
		text := decodeHead + c.text
		if c.name == "annotation" {
			text = "kind: ClusterServiceVersion\nmetadata:\n  name: a\n  annotations:\n    # quote it\n    a.b/d: e\n    a.b/c: 5\n"
		}
		_, err := oneObject(t, text).Into(&v1alpha1.ClusterServiceVersion{})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v\nwant %s", c.name, err, c.want)
		}
	}
}

func deploy(spec, container string) string {
	return "  install:\n    spec:\n      deployments:\n      - name: d\n        spec:\n          " + spec + "\n          template:\n            spec:\n              containers:\n              - " + container + "\n"
}

// The search for a wrong value takes little time in a large object too.
func TestWrongTypeInALargeObject(t *testing.T) {
	text := decodeHead + "  relatedImages:\n" + strings.Repeat("  - {name: a, image: quay.io/a/a@sha256:0000000000000000000000000000000000000000000000000000000000000000}\n", 5000) +
		"  - {name: a, image: 5}\n"
	_, err := oneObject(t, text).Into(&v1alpha1.ClusterServiceVersion{})
	if want := "f.yaml:5006: spec.relatedImages[5000].image: has the wrong type: a number, want text (quote it)"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Fields that a type does not know are listed; the rest is decoded.
func TestUnknownFields(t *testing.T) {
	o := oneObject(t, decodeHead+"  displayName: A\n  icons: []\n  installModes:\n  - {type: OwnNamespace, supported: true, why: x}\nextra: 1\n")
	var csv v1alpha1.ClusterServiceVersion
	unknown, err := o.Into(&csv)
	if err != nil || csv.Spec.DisplayName != "A" || !csv.Spec.InstallModes[0].Supported {
		t.Errorf("%v: %+v", err, csv.Spec)
	}
	if diff := cmp.Diff([]string{"extra", "spec.icons", "spec.installModes[0].why"}, unknown); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
