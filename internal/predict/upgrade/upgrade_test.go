package upgrade_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/api/pkg/lib/version"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/golden/reviewtest"
	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/internal/crs/apiserver"
	"github.com/olmgen/olmgen/internal/kubernetes"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/predict/upgrade"
	"github.com/olmgen/olmgen/manifest"
)

// csv returns a ClusterServiceVersion; spec are more lines of the spec.
func csv(name, v, spec string) string {
	text := fmt.Sprintf(`---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: %s.v%s, namespace: ops}
spec:
  version: %s
%s`, name, v, v, spec)
	if strings.Contains(spec, "install:") {
		return text
	}
	return text + "  install: {strategy: deployment, spec: {deployments: []}}\n"
}

// crd returns the CRD of Boats. A version is "name flags schema of spec.size".
func crd(more string, versions ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.x.io}
%sspec:
  group: x.io
  scope: Namespaced
  names: {kind: Boat, plural: boats}
  versions:
`, more)
	for _, v := range versions {
		name, rest, _ := strings.Cut(v, " ")
		flags, size, _ := strings.Cut(rest, " ")
		fmt.Fprintf(&b, "  - name: %s\n    served: %t\n    storage: %t\n    schema: {openAPIV3Schema: {type: object, "+
			"properties: {spec: {type: object, properties: {size: %s}}}}}\n", name, strings.Contains(flags, "served"),
			strings.Contains(flags, "stored"), size)
	}
	return b.String()
}

const boat = `---
apiVersion: x.io/v1
kind: Boat
metadata: {name: b, namespace: team}
spec: {size: 3}
`

func owns(v string) string {
	return "  customresourcedefinitions: {owned: [{name: boats.x.io, kind: Boat, version: " + v + "}]}\n"
}

func requires(v string) string { return strings.Replace(owns(v), "owned", "required", 1) }

func deployment(label string) string {
	return "  install: {strategy: deployment, spec: {deployments: [{name: op, spec: {selector: {matchLabels: {app: " +
		label + "}}, template: {metadata: {labels: {app: " + label + "}}, spec: {containers: [{name: c, image: i}]}}}}]}}\n"
}

func converts(crd, deployment string) string {
	return "  webhookdefinitions: [{type: ConversionWebhook, generateName: c, deploymentName: " + deployment +
		", conversionCRDs: [" + crd + "], admissionReviewVersions: [v1], sideEffects: None}]\n"
}

func webhook(service string) string {
	return "  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: " +
		service + ", namespace: system}}}}\n"
}

// operators returns the operators among objects. The other objects are what their bundles ship.
func operators(t *testing.T, objects []*manifest.Object) (list []upgrade.Release) {
	t.Helper()
	var shipped []*manifest.Object
	for _, o := range objects {
		if o.Kind != "ClusterServiceVersion" {
			shipped = append(shipped, o)
		}
	}
	for _, o := range objects {
		if o.Kind != "ClusterServiceVersion" {
			continue
		}
		typed := &v1alpha1.ClusterServiceVersion{}
		if _, err := o.Into(typed); err != nil {
			t.Fatal(err)
		}
		_, v, _ := strings.Cut(o.Name, ".v")
		typed.Spec.Version = version.OperatorVersion{Version: semver.MustParse(v)}
		list = append(list, upgrade.Release{CSV: olm.CSV{ClusterServiceVersion: typed, Object: o,
			Namespace: o.Namespace}, Entry: catalog.EntryOf(typed), Bundle: shipped})
	}
	return list
}

// judge returns the findings as lines: severity, rule, operator, place and message.
func judge(t *testing.T, old, now, cluster string, checker crs.Checker) (string, error) {
	t.Helper()
	u := upgrade.Upgrade{Old: reviewtest.Objects(t, "old.yaml", old), New: reviewtest.Objects(t, "new.yaml", now),
		Cluster: reviewtest.Objects(t, "cluster.yaml", cluster), Checker: checker, API: kubernetes.Checker{}}
	before, after := operators(t, u.Old), operators(t, u.New)
	u.Others = operators(t, u.Cluster)
	for i := range after {
		u.Pairs = append(u.Pairs, upgrade.Pair{Old: &before[i], New: &after[i]})
	}
	found, err := u.Findings(t.Context())
	var b strings.Builder
	for _, f := range found {
		fmt.Fprintf(&b, "%s %s %s %s:%d: %s\n", f.Severity, f.Rule, f.Operator, f.File, f.Line, f.Message)
	}
	return b.String(), err
}

func TestFindings(t *testing.T) {
	const one, two = "1.0.0", "2.0.0"
	next := "  replaces: a.v1.0.0\n"
	v1 := csv("a", one, owns("v1")) + crd("", "v1 served,stored {type: integer}")
	strict := csv("a", two, next+owns("v1")) + crd("", "v1 served,stored {type: string}")
	unfit := "error objects-unfit a.v2.0.0 cluster.yaml:5: has a CRD boats.x.io that existing objects do not fit: " +
		"Boat team/b (v1: spec.size: invalid value: must be of type string: \"integer\"): the InstallPlan fails\n"
	for name, tc := range map[string]struct{ old, now, cluster, want string }{
		"the same": {v1, v1, boat, ""},
		"a kind that OLM does not install": {v1, csv("a", two, next+owns("v1")) + crd("", "v1 served,stored {type: integer}") +
			"---\napiVersion: v1\nkind: Namespace\nmetadata: {name: own}\n", "",
			"error api-server-refuses a.v2.0.0 new.yaml:24: the InstallPlan fails: the InstallPlan contains invalid data: Namespace own\n"},
		"an object does not fit":                          {v1, strict, boat, unfit},
		"of another version, which OLM lists in this one": {v1, strict, strings.Replace(boat, "x.io/v1", "x.io/v0", 1), unfit},
		"no object": {v1, strict, "", ""},
		"two objects": {v1, strict, boat + strings.Replace(boat, "name: b", "name: c", 1),
			strings.Replace(unfit, "\"integer\")", "\"integer\"), and 1 other object", 1)},
		"CEL is the API server's": {v1, csv("a", two, next+owns("v1")) + crd("",
			"v1 served,stored {type: integer, x-kubernetes-validations: [{rule: self > 5}]}"), boat, ""},
		"OLM sets no defaults of the newer schema": {v1, csv("a", two, next+owns("v1")) +
			strings.Replace(crd("", "v1 served,stored {type: integer}"), "properties: {size",
				"required: [color], properties: {color: {type: string, default: red}, size", 1), boat,
			"error objects-unfit a.v2.0.0 cluster.yaml:5: has a CRD boats.x.io that existing objects do not fit: " +
				"Boat team/b (v1: spec.color: required value): the InstallPlan fails\n"},
		"the API server has set those of the older one": {csv("a", one, owns("v1")) +
			strings.Replace(crd("", "v1 served,stored {type: integer}"), "properties: {size",
				"properties: {color: {type: string, default: red}, size", 1), csv("a", two, next+owns("v1")) +
			strings.Replace(crd("", "v1 served,stored {type: integer}"), "properties: {size",
				"required: [color], properties: {color: {type: string}, size", 1), boat, ""},
		"a version that only one of the CRDs serves": {v1, csv("a", two, next+owns("v2")) +
			crd("", "v1 stored {type: string}", "v2 served {type: string}"), boat, ""},
		"a conversion webhook": {v1, csv("a", two, next+owns("v1")+converts("boats.x.io", "op")+deployment("a")) +
			crd("", "v1 served,stored {type: string}", "v2 served {type: string}") + webhook("op-service"), boat,
			strings.Replace(strings.Replace(unfit, "error", "warning", 1), "the InstallPlan fails",
				"OLM trusts its conversion webhook, and only warns", 1)},
		"the storage version goes": {v1, csv("a", two, next+owns("v2")) + crd("", "v2 served,stored {type: integer}"), "",
			"error stored-version a.v2.0.0 new.yaml:18: drops v1 of CRD boats.x.io, in which the older release stores " +
				"objects: the InstallPlan fails (risk of data loss)\n"},
		"status.storedVersions has another one": {
			csv("a", one, owns("v2")) + crd("", "v1 served {type: integer}", "v2 served,stored {type: integer}"),
			csv("a", two, next+owns("v2")) + crd("", "v2 served,stored {type: integer}"),
			crd("status: {storedVersions: [v1, v2]}\n", "v1 served {type: integer}", "v2 served,stored {type: integer}"),
			"error stored-version a.v2.0.0 new.yaml:18: drops v1 of CRD boats.x.io, which status.storedVersions has: " +
				"the InstallPlan fails (risk of data loss)\n"},
		"status.storedVersions lacks it": {
			csv("a", one, owns("v2")) + crd("", "v1 served {type: integer}", "v2 served,stored {type: integer}"),
			csv("a", two, next+owns("v2")) + crd("", "v2 served,stored {type: integer}"),
			crd("status: {storedVersions: [v2]}\n", "v1 served {type: integer}", "v2 served,stored {type: integer}"), ""},
		"an owned version is not served": {v1, csv("a", two, next+owns("v1")) +
			crd("", "v1 stored {type: integer}", "v2 served {type: integer}"), "",
			"error api-not-served a.v2.0.0 new.yaml:8: owns Boat (x.io/v1), which its CRD does not serve: it stays " +
				"Pending with RequirementsNotMet\n"},
		"another operator requires it": {v1, csv("a", two, next+owns("v2")) +
			crd("", "v1 stored {type: integer}", "v2 served {type: integer}"), csv("b", one, requires("v1")),
			"error api-required b.v1.0.0 cluster.yaml:7: requires Boat (x.io/v1), which a.v2.0.0 does not provide any " +
				"more: OLM refuses the upgrade, or the ClusterServiceVersion fails with RequirementsNotMet\n"},
		"another operator owns it": {v1, csv("a", two, next+owns("v2")) +
			crd("", "v1 stored {type: integer}", "v2 served {type: integer}"), csv("b", one, owns("v1")),
			"error crd-owner b.v1.0.0 cluster.yaml:7: owns CRD boats.x.io, too, and a.v2.0.0 does not serve v1 any " +
				"more: it fails with RequirementsNotMet\n"},
		"another operator owns it and can go on": {v1, strict, csv("b", one, owns("v1")),
			"warning crd-owner b.v1.0.0 cluster.yaml:7: owns CRD boats.x.io, too, and gets the one of a.v2.0.0\n"},
		"the older release in the tree": {v1, strict, csv("a", one, owns("v1")), ""},
		"another selector": {csv("a", one, deployment("red")), csv("a", two, next+deployment("blue")), "",
			"error api-server-refuses a.v2.0.0 new.yaml:2: it fails with InstallComponentFailed: Deployment.apps \"op\" is " +
				"invalid: spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"blue\"}}: field is immutable\n"},
		"another Deployment": {csv("a", one, deployment("red")), csv("a", two, next+
			strings.Replace(deployment("blue"), "name: op", "name: other", 1)), "", ""},
		"a binding of another role": {csv("a", one, "") + binding("x"), csv("a", two, next) + binding("y"), "",
			"error api-server-refuses a.v2.0.0 new.yaml:10: the InstallPlan fails: error updating rolebinding r: " +
				"RoleBinding.rbac.authorization.k8s.io \"r\" is invalid: roleRef: Invalid value: " +
				"{\"APIGroup\":\"rbac.authorization.k8s.io\",\"Kind\":\"Role\",\"Name\":\"y\"}: cannot change roleRef\n"},
		"a locked ConfigMap": {csv("a", one, "") + locked("x"), csv("a", two, next) + locked("y"), "",
			"error api-server-refuses a.v2.0.0 new.yaml:10: the InstallPlan fails: error updating configmap: c: ConfigMap " +
				"\"c\" is invalid: data: Forbidden: field is immutable when `immutable` is set\n"},
		"a ConfigMap": {csv("a", one, "") + strings.Replace(locked("x"), "true", "false", 1),
			csv("a", two, next) + strings.Replace(locked("y"), "true", "false", 1), "", ""},
		"nobody converts": {v1, csv("a", two, next+owns("v1")) +
			crd("", "v1 served,stored {type: integer}", "v2 served {type: integer}") + webhook("w"), "",
			"error conversion-webhook a.v2.0.0 new.yaml:27: does not serve the conversion webhook of its CRD " +
				"boats.x.io, Service system/w: requests for a version other than the stored one fail, and so does the next " +
				"InstallPlan of OLM v0\n"},
		"another Service converts": {v1, csv("a", two, next+owns("v1")+converts("boats.x.io", "op")+deployment("a")) +
			crd("", "v1 served,stored {type: integer}", "v2 served {type: integer}") + webhook("w"), "",
			"error conversion-webhook a.v2.0.0 new.yaml:28: ships CRD boats.x.io with Service w for conversion, and " +
				"serves it at op-service: an InstallPlan that OLM runs twice cannot list the objects\n"},
		"its own Service converts": {v1, csv("a", two, next+owns("v1")) +
			crd("", "v1 served,stored {type: integer}", "v2 served {type: integer}") +
			strings.Replace(webhook("w"), "system", "ops", 1) +
			"---\napiVersion: v1\nkind: Service\nmetadata: {name: w}\nspec: {ports: [{port: 443}]}\n", "", ""},
		"its Service is elsewhere": {v1, csv("a", two, next+owns("v1")) +
			crd("", "v1 served,stored {type: integer}", "v2 served {type: integer}") + webhook("w") +
			"---\napiVersion: v1\nkind: Service\nmetadata: {name: w}\nspec: {ports: [{port: 443}]}\n", "",
			"error conversion-webhook a.v2.0.0 new.yaml:27: does not serve the conversion webhook of its CRD " +
				"boats.x.io, Service system/w, which is in ops: requests for a version other than the stored one fail, " +
				"and so does the next InstallPlan of OLM v0\n"},
		"one version needs no conversion": {v1, csv("a", two, next+owns("v1")) +
			crd("", "v1 served,stored {type: integer}") + webhook("w"), "", ""},
		"no step": {v1, csv("a", two, "  replaces: a.v1.5.0\n"+owns("v1")) + crd("", "v1 served,stored {type: integer}"), "",
			"warning no-upgrade a.v2.0.0 new.yaml:7: replaces a.v1.5.0 and not a.v1.0.0: OLM does not upgrade in one step\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := judge(t, tc.old, tc.now, tc.cluster, apiserver.Checker{})
			if err != nil || got != tc.want {
				t.Errorf("%v\ngot:\n%swant:\n%s", err, got, tc.want)
			}
		})
	}
}

func binding(role string) string {
	return "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: r}\n" +
		"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: " + strconv.Quote(role) + "}\n"
}

func locked(value string) string {
	return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\nimmutable: true\ndata: {k: " + strconv.Quote(value) + "}\n"
}

// What cannot be read or asked is an error.
func TestErrors(t *testing.T) {
	v1 := csv("a", "1.0.0", owns("v1")) + crd("", "v1 served,stored {type: integer}")
	strict := csv("a", "2.0.0", owns("v1")) + crd("", "v1 served,stored {type: string}")
	if _, err := judge(t, v1, strict, boat, nil); err == nil || !strings.Contains(err.Error(), "need a Checker") {
		t.Errorf("no Checker: %v", err)
	}
	broken := strings.Replace(strict, "type: string", "type: [a]", 1)
	_, err := judge(t, v1, broken, boat, apiserver.Checker{})
	if _, ok := errors.AsType[*manifest.Error](err); !ok || !strings.HasPrefix(err.Error(), "new.yaml:") {
		t.Errorf("a schema that is none: %v", err)
	}
}
