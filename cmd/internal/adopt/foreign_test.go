package adopt_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/cmd/internal/adopt"
	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
)

// foreign returns ten objects that somebody else made: they refer to a CSV or to its OperatorCondition, in its
// namespace or in another one, or have OLM's labels.
func foreign(csv, condition object) (list []object) {
	ns, name := in(csv, "metadata")["namespace"], in(csv, "metadata")["name"]
	owner := func(of object) []any {
		return []any{object{"apiVersion": of["apiVersion"], "kind": of["kind"], "name": in(of, "metadata")["name"], "uid": in(of, "metadata")["uid"]}}
	}
	labels := object{"olm.owner": name, "olm.owner.kind": "ClusterServiceVersion", "olm.owner.namespace": ns}
	add := func(apiVersion, kind, namespace string, meta object) {
		meta["name"], meta["uid"] = "mine-"+strings.ToLower(kind), "uid-mine-"+kind+namespace
		if namespace != "" {
			meta["namespace"] = namespace
		}
		list = append(list, object{"apiVersion": apiVersion, "kind": kind, "metadata": meta})
	}
	here := fmt.Sprint(ns)
	add("apps/v1", "Deployment", here, object{"ownerReferences": owner(csv)})
	add("v1", "Service", here, object{"ownerReferences": owner(csv)})
	add("apps/v1", "StatefulSet", here, object{"ownerReferences": owner(condition)})
	add("v1", "PersistentVolumeClaim", here, object{"ownerReferences": owner(condition)})
	add("v1", "ConfigMap", "elsewhere", object{"ownerReferences": owner(csv)})
	add("rbac.authorization.k8s.io/v1", "Role", "elsewhere", object{"ownerReferences": owner(condition), "labels": labels})
	add("rbac.authorization.k8s.io/v1", "RoleBinding", here, object{"ownerReferences": owner(csv), "labels": labels})
	add("rbac.authorization.k8s.io/v1", "ClusterRole", "", object{"labels": labels})
	add("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", object{"labels": labels})
	add("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", object{"ownerReferences": owner(csv)})
	return list
}

// No plan deletes what OLM did not make, whatever it refers to, and the plan says that it stays.
func TestForeignObjectsStay(t *testing.T) {
	for _, name := range dumps(t) {
		var added []object
		s := edited(t, name, func(items []object) []object {
			first := func(kind string) object {
				at := slices.IndexFunc(items, func(o object) bool {
					return o["kind"] == kind && in(o, "metadata", "labels")["olm.copiedFrom"] == nil
				})
				return items[at]
			}
			csv, condition := first("ClusterServiceVersion"), first("OperatorCondition")
			added = foreign(csv, condition)
			return append(items, added...)
		})
		for _, to := range generate.Profiles {
			o := adopt.Options{To: to}
			checkStrangers(t, name+" to "+string(to), planOf(t, s, declared(t, s, o), o), added, len(s.Leaving(to)) > 0)
		}
	}
}

// checkStrangers holds that a plan deletes none of the objects, and counts all of them if an operator leaves.
func checkStrangers(t *testing.T, what string, plan *adopt.Plan, added []object, leaves bool) {
	t.Helper()
	for _, row := range rowsOf(plan, "deleted") {
		if strings.Contains(row, " mine-") {
			t.Errorf("%s deletes %s", what, row)
		}
	}
	page := string(plan.Markdown("plan.sh", "plan.back.sh"))
	var stay int
	if _, after, ok := strings.Cut(page, "no object of another operator has them. "); ok {
		_, _ = fmt.Sscanf(after, "%d objects", &stay)
	}
	if leaves && stay < len(added) {
		t.Errorf("%s: %d of %d objects stay", what, stay, len(added))
	}
}

// No plan deletes what OLM did not make, in what a real OLM made of public bundles.
func TestForeignObjectsInOracle(t *testing.T) {
	corpus, oracle := corpustest.Oracle(t)
	files := corpustest.Glob(t, oracle, "olm-v0", "*", "*", "case.yaml")
	plans := 0
	for _, file := range files {
		var c installedCase
		data, err := os.ReadFile(file)
		if err == nil {
			err = yaml.Unmarshal(data, &c)
		}
		if err != nil {
			t.Fatal(err)
		}
		if data, err = os.ReadFile(filepath.Join(filepath.Dir(file), "expected.yaml")); err != nil {
			t.Fatal(err)
		}
		items, csv, condition := c.asDump(t, data)
		added := foreign(csv, condition)
		data, err = json.Marshal(object{"apiVersion": "v1", "kind": "List", "items": append(items, added...)})
		if err != nil {
			t.Fatal(err)
		}
		d, err := dump.Read(t.Context(), []string{"-"}, bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		s, err := adopt.Read(d)
		if err != nil {
			t.Fatal(err)
		}
		sources := map[string]string{c.Package: filepath.Join(corpus, "bundles", c.Bundle)}
		for _, to := range generate.Profiles {
			o := adopt.Options{To: to, Sources: sources}
			if likeOLMv1 := to == generate.ProfileOLMv1 || to == generate.ProfileClusterExtension; likeOLMv1 && !renders(t, declared(t, s, o)) {
				continue
			}
			checkStrangers(t, file+" to "+string(to), planOf(t, s, declared(t, s, o), o), added, len(s.Leaving(to)) > 0)
			plans++
		}
	}
	t.Logf("%d plans for %d cases", plans, len(files))
}

// installedCase is case.yaml of an installation by a real OLM.
type installedCase struct {
	Bundle, Package, CSV, Namespace string
}

// asDump returns what a real OLM made as a dump has it, with what the oracle leaves out: UIDs, owners, the status of
// the CSV and of the OperatorGroup, and the Subscription.
func (c installedCase) asDump(t testing.TB, data []byte) (items []object, csv, condition object) {
	t.Helper()
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		var o object
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			t.Fatal(err)
		}
		meta := in(o, "metadata")
		meta["uid"] = fmt.Sprint("uid ", o["kind"], meta["namespace"], meta["name"])
		items = append(items, o)
		own := meta["namespace"] == c.Namespace
		switch o["kind"] {
		case "ClusterServiceVersion":
			if own {
				csv, o["status"] = o, object{"phase": "Succeeded", "reason": "InstallSucceeded"}
			} else {
				o["status"] = object{"phase": "Succeeded", "reason": "Copied"}
			}
		case "OperatorCondition":
			condition = o
		case "OperatorGroup":
			targets, _ := in(o, "spec")["targetNamespaces"].([]any)
			if targets == nil {
				targets = []any{""}
			}
			o["status"] = object{"namespaces": targets}
		}
	}
	owner := []any{object{"apiVersion": csv["apiVersion"], "kind": csv["kind"], "name": c.CSV, "uid": in(csv, "metadata")["uid"]}}
	for _, o := range items {
		kinds := []string{"Deployment", "Role", "RoleBinding", "ServiceAccount", "OperatorCondition"}
		if slices.Contains(kinds, fmt.Sprint(o["kind"])) && in(o, "metadata")["namespace"] == c.Namespace {
			in(o, "metadata")["ownerReferences"] = owner
		}
	}
	return append(items, object{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
		"metadata": object{"namespace": c.Namespace, "name": c.Package, "uid": "uid subscription"},
		"spec":     object{"name": c.Package, "source": "catalog", "sourceNamespace": "olm"},
		"status":   object{"installedCSV": c.CSV, "currentCSV": c.CSV, "state": "AtLatestKnown"}}), csv, condition
}

// renders reports whether a RenderConfig can be rendered.
func renders(t testing.TB, file []byte) bool {
	t.Helper()
	c, err := config.Read("olmgen.yaml", file)
	if err == nil {
		_, err = c.Render(t.Context(), config.Options{})
	}
	return err == nil
}
