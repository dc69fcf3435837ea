package adopt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/config/adopt"
)

// foreign returns ten objects that somebody else made: they refer to a CSV or to its OperatorCondition, in its namespace
// or in another one, or have OLM's labels.
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

// No plan deletes what OLM did not make, whatever it refers to: it is named, and cut loose before the CSV goes.
func TestForeignObjectsStay(t *testing.T) {
	for _, dump := range dumps(t) {
		var added []object
		s := edited(t, dump, func(items []object) []object {
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
			plan := planOf(t, s, declared(t, s, o), o)
			leaves := len(s.Leaving(to)) > 0
			for _, x := range added {
				meta, kind := in(x, "metadata"), fmt.Sprint(x["kind"])
				identity := kind + " " + fmt.Sprint(meta["name"])
				if meta["namespace"] != nil {
					identity = fmt.Sprintf("%s %s/%s", kind, meta["namespace"], meta["name"])
				}
				named, loose := false, false
				for _, step := range plan.Steps {
					named = named || step.Title == "Cut the objects loose" && strings.Contains(strings.Join(step.Text, " "), identity)
					for _, c := range step.Run {
						mine := strings.Contains(c, fmt.Sprint(meta["name"])) && strings.Contains(strings.ToLower(c), strings.ToLower(kind)+".") ||
							strings.Contains(c, strings.ToLower(kind)+" mine-")
						if mine && strings.HasPrefix(c, "kubectl delete") {
							t.Errorf("%s to %s: step %q: %s", dump, to, step.Title, c)
						}
						loose = loose || mine && step.Title == "Cut the objects loose"
					}
				}
				if leaves && (!named || !loose) {
					t.Errorf("%s to %s: %s is named: %t, cut loose: %t", dump, to, identity, named, loose)
				}
			}
		}
	}
}
