package main

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type object = map[string]any

// handEdit is an edit by hand of one object.
type handEdit struct {
	what, kind, name string // name begins the object's name
	edit             func(o object)
	want             string // what applying the rendered object does
	says             string // what the page says, if that is something else
}

// is reports whether an object is the one to edit: not a copy of OLM's.
func (e handEdit) is(o object) bool {
	u := unstructured.Unstructured{Object: o}
	ns := u.GetNamespace()
	return u.GetKind() == e.kind && strings.HasPrefix(u.GetName(), e.name) && (ns == "" || ns == "operator-ns")
}

// in returns a field of an object, made if it is not there.
func in(o object, path ...string) object {
	for _, f := range path {
		next, ok := o[f].(object)
		if !ok {
			next = object{}
			o[f] = next
		}
		o = next
	}
	return o
}

func pod(o object) object       { return in(o, "spec", "template", "spec") }
func container(o object) object { return pod(o)["containers"].([]any)[0].(object) }
func rule(o object) object      { return o["rules"].([]any)[0].(object) }
func webhook(o object) object   { return o["webhooks"].([]any)[0].(object) }
func version(o object) object   { return in(o, "spec")["versions"].([]any)[0].(object) }
func copied(o object) object    { return (&unstructured.Unstructured{Object: o}).DeepCopy().Object }

// term returns the first term of the affinity that the Subscription gives the pods.
func term(o object) object {
	terms := in(pod(o), "affinity", "podAffinity")["requiredDuringSchedulingIgnoredDuringExecution"]
	return terms.([]any)[0].(object)
}

// item returns the item of a list that has a name.
func item(list any, name string) object {
	for _, x := range list.([]any) {
		if m := x.(object); m["name"] == name {
			return m
		}
	}
	panic("no item " + name)
}

// add adds an item to a list.
func add(o object, field string, item object) {
	list, _ := o[field].([]any)
	o[field] = append(slices.Clone(list), item)
}

// handEdits are tried one by one.
var handEdits = []handEdit{
	{"image", "Deployment", "gatekeeping-operator", func(o object) {
		container(o)["image"] = "x:2"
	}, "restart, written", ""},
	{"args added", "Deployment", "gatekeeping-operator", func(o object) {
		container(o)["args"] = []any{"-v"}
	}, "left", ""},
	{"command added", "Deployment", "gatekeeping-operator", func(o object) {
		container(o)["command"] = []any{"/x"}
	}, "left", ""},
	{"env removed", "Deployment", "gatekeeping-operator", func(o object) {
		delete(container(o), "env")
	}, "restart, written", ""},
	{"env changed", "Deployment", "gatekeeping-operator", func(o object) {
		item(container(o)["env"], "BAND")["value"] = "am"
	}, "restart, written", ""},
	{"env added", "Deployment", "gatekeeping-operator", func(o object) {
		add(container(o), "env", object{"name": "DEBUG", "value": "1"})
	}, "left", ""},
	{"value from elsewhere", "Deployment", "gatekeeping-operator", func(o object) {
		e := item(container(o)["env"], "BAND")
		delete(e, "value")
		e["valueFrom"] = object{"secretKeyRef": object{"name": "x", "key": "y"}}
	}, "refused", ""},
	{"envFrom removed", "Deployment", "gatekeeping-operator", func(o object) {
		delete(container(o), "envFrom")
	}, "restart, written", ""},
	{"envFrom added", "Deployment", "gatekeeping-operator", func(o object) {
		add(container(o), "envFrom", object{"configMapRef": object{"name": "mine"}})
	}, "restart, written", ""},
	{"limit changed", "Deployment", "gatekeeping-operator", func(o object) {
		in(container(o), "resources", "limits")["memory"] = "2Gi"
	}, "restart, written", ""},
	{"limit added", "Deployment", "gatekeeping-operator", func(o object) {
		in(container(o), "resources", "limits")["cpu"] = "1"
	}, "left", ""},
	{"request added", "Deployment", "gatekeeping-operator", func(o object) {
		in(container(o), "resources", "requests")["cpu"] = "100m"
	}, "left", ""},
	{"replicas", "Deployment", "gatekeeping-operator", func(o object) {
		in(o, "spec")["replicas"] = int64(3)
	}, "left", ""},
	{"replicas of zero", "Deployment", "gatekeeping-operator", func(o object) {
		in(o, "spec")["replicas"] = int64(0)
	}, "left", ""},
	{"strategy", "Deployment", "gatekeeping-operator", func(o object) {
		in(o, "spec")["strategy"] = object{"type": "Recreate"}
	}, "left", ""},
	{"revision history", "Deployment", "gatekeeping-operator", func(o object) {
		in(o, "spec")["revisionHistoryLimit"] = int64(5)
	}, "written", ""},
	{"paused", "Deployment", "gatekeeping-operator", func(o object) {
		in(o, "spec")["paused"] = true
	}, "left", ""},
	{"minimum of seconds", "Deployment", "gatekeeping-operator", func(o object) {
		in(o, "spec")["minReadySeconds"] = int64(5)
	}, "left", ""},
	{"node selector added", "Deployment", "gatekeeping-operator", func(o object) {
		in(pod(o), "nodeSelector")["disk"] = "ssd"
	}, "restart, written", ""},
	{"node selector changed", "Deployment", "gatekeeping-operator", func(o object) {
		in(pod(o), "nodeSelector")["antenna"] = "false"
	}, "restart, written", ""},
	{"toleration added", "Deployment", "gatekeeping-operator", func(o object) {
		add(pod(o), "tolerations", object{"key": "mine", "operator": "Exists"})
	}, "restart, written", ""},
	{"tolerations removed", "Deployment", "gatekeeping-operator", func(o object) {
		delete(pod(o), "tolerations")
	}, "restart, written", ""},
	{"affinity added", "Deployment", "gatekeeping-operator", func(o object) {
		in(pod(o), "affinity", "podAntiAffinity")["preferredDuringSchedulingIgnoredDuringExecution"] = []any{object{
			"weight": int64(1), "podAffinityTerm": object{"topologyKey": "x", "labelSelector": object{}}}}
	}, "left", ""},
	{"affinity changed", "Deployment", "gatekeeping-operator", func(o object) {
		term(o)["topologyKey"] = "floor"
	}, "restart, written", ""},
	{"account", "Deployment", "gatekeeping-operator", func(o object) {
		pod(o)["serviceAccountName"], pod(o)["serviceAccount"] = "admin", "admin"
	}, "restart, written", ""},
	{"rollout restart", "Deployment", "gatekeeping-operator", func(o object) {
		in(o, "spec", "template", "metadata", "annotations")["kubectl.kubernetes.io/restartedAt"] = "2026"
	}, "left", ""},
	{"pod annotation removed", "Deployment", "gatekeeping-operator", func(o object) {
		delete(in(o, "spec", "template", "metadata", "annotations"), "olm.targetNamespaces")
	}, "restart, written", ""},
	{"pod label added", "Deployment", "gatekeeping-operator", func(o object) {
		in(o, "spec", "template", "metadata", "labels")["mine"] = "x"
	}, "left", ""},
	{"volume added", "Deployment", "gatekeeping-operator", func(o object) {
		add(pod(o), "volumes", object{"name": "mine", "emptyDir": object{}})
	}, "left", ""},
	{"volume of another type", "Deployment", "gatekeeping-operator", func(o object) {
		v := item(pod(o)["volumes"], "tapes")
		delete(v, "emptyDir")
		v["configMap"] = object{"name": "x"}
	}, "refused", ""},
	{"volume changed", "Deployment", "gatekeeping-operator", func(o object) {
		in(item(pod(o)["volumes"], "trusted-ca"), "configMap")["name"] = "other"
	}, "restart, written", ""},
	{"mount added", "Deployment", "gatekeeping-operator", func(o object) {
		add(container(o), "volumeMounts", object{"name": "tapes", "mountPath": "/mine"})
	}, "left", ""},
	{"mount removed", "Deployment", "gatekeeping-operator", func(o object) {
		delete(container(o), "volumeMounts")
	}, "restart, written", ""},
	{"container added", "Deployment", "gatekeeping-operator", func(o object) {
		add(pod(o), "containers", object{"name": "mine", "image": "x"})
	}, "left", ""},
	{"init container added", "Deployment", "gatekeeping-operator", func(o object) {
		pod(o)["initContainers"] = []any{object{"name": "mine", "image": "x"}}
	}, "left", ""},
	{"probe added", "Deployment", "gatekeeping-operator", func(o object) {
		container(o)["livenessProbe"] = object{"httpGet": object{"path": "/x", "port": int64(80)}}
	}, "left", ""},
	{"security context of the pod", "Deployment", "gatekeeping-operator", func(o object) {
		pod(o)["securityContext"] = object{"runAsUser": int64(1)}
	}, "left", ""},
	{"pull secret added", "Deployment", "gatekeeping-operator", func(o object) {
		pod(o)["imagePullSecrets"] = []any{object{"name": "mine"}}
	}, "left", ""},
	{"priority", "Deployment", "gatekeeping-operator", func(o object) {
		pod(o)["priorityClassName"] = "system-cluster-critical"
	}, "left", ""},
	{"selector", "Deployment", "gatekeeping-operator", func(o object) {
		in(o, "spec", "selector", "matchLabels")["mine"] = "x"
		in(o, "spec", "template", "metadata", "labels")["mine"] = "x"
	}, "refused", ""},
	{"label added", "Deployment", "gatekeeping-operator", func(o object) {
		in(o, "metadata", "labels")["mine"] = "x"
	}, "left", ""},
	{"label of OLM changed", "Deployment", "gatekeeping-operator", func(o object) {
		in(o, "metadata", "labels")["olm.managed"] = "false"
	}, "written", ""},
	{"verbs added to a Role", "Role", "gatekeeping-operator.v1.-", func(o object) {
		rule(o)["verbs"] = append(rule(o)["verbs"].([]any), "delete")
	}, "written", ""},
	{"verbs taken from a Role", "Role", "gatekeeping-operator.v1.-", func(o object) {
		rule(o)["verbs"] = []any{"watch"}
	}, "written", ""},
	{"rules in another order", "ClusterRole", "memcached-operator.v0.0.1-", func(o object) {
		slices.Reverse(o["rules"].([]any))
	}, "written", "nothing"},
	{"rule added to a ClusterRole", "ClusterRole", "gates.gate.example.com-v1-view", func(o object) {
		add(o, "rules", object{"apiGroups": []any{""}, "resources": []any{"pods"}, "verbs": []any{"get"}})
	}, "written", ""},
	{"aggregation label removed", "ClusterRole", "gates.gate.example.com-v1-edit", func(o object) {
		delete(in(o, "metadata", "labels"), "rbac.authorization.k8s.io/aggregate-to-edit")
	}, "written", ""},
	{"aggregation label added", "ClusterRole", "gates.gate.example.com-v1-view", func(o object) {
		in(o, "metadata", "labels")["rbac.authorization.k8s.io/aggregate-to-mine"] = "true"
	}, "left", ""},
	{"subject added", "ClusterRoleBinding", "gatekeeping-operator-service", func(o object) {
		add(o, "subjects", object{"kind": "User", "name": "eve", "apiGroup": "rbac.authorization.k8s.io"})
	}, "written", ""},
	{"subject replaced", "RoleBinding", "gatekeeping-operator.v1.-", func(o object) {
		o["subjects"] = []any{object{"kind": "User", "name": "eve", "apiGroup": "rbac.authorization.k8s.io"}}
	}, "written", ""},
	{"role of a binding", "RoleBinding", "gatekeeping-operator.v1.-", func(o object) {
		in(o, "roleRef")["name"] = "other"
	}, "refused", ""},
	{"failure policy", "ValidatingWebhookConfiguration", "vgate", func(o object) {
		webhook(o)["failurePolicy"] = "Ignore"
	}, "left", ""},
	{"seconds of a webhook", "ValidatingWebhookConfiguration", "vgate", func(o object) {
		webhook(o)["timeoutSeconds"] = int64(3)
	}, "left", ""},
	{"rules of a webhook", "MutatingWebhookConfiguration", "mgate", func(o object) {
		webhook(o)["rules"].([]any)[0].(object)["operations"] = []any{"DELETE"}
	}, "written", ""},
	{"selector of a webhook", "ValidatingWebhookConfiguration", "vgate", func(o object) {
		webhook(o)["namespaceSelector"] = object{"matchLabels": object{"team": "a"}}
	}, "written", ""},
	{"selector of objects", "ValidatingWebhookConfiguration", "vgate", func(o object) {
		webhook(o)["objectSelector"] = object{"matchLabels": object{"team": "a"}}
	}, "left", ""},
	{"webhook from a URL", "ValidatingWebhookConfiguration", "vgate", func(o object) {
		c := in(webhook(o), "clientConfig")
		delete(c, "service")
		c["url"] = "https://example.com"
	}, "refused", ""},
	{"path of a webhook", "MutatingWebhookConfiguration", "mgate", func(o object) {
		in(webhook(o), "clientConfig", "service")["path"] = "/mine"
	}, "written", ""},
	{"webhook added", "ValidatingWebhookConfiguration", "vgate", func(o object) {
		w := webhook(copied(o))
		w["name"] = "mine.example.com"
		add(o, "webhooks", w)
	}, "left", ""},
	{"port of a Service changed", "Service", "gatekeeping-operator-service", func(o object) {
		o["spec"].(object)["ports"].([]any)[0].(object)["targetPort"] = int64(1)
	}, "written", ""},
	{"port added to a Service", "Service", "gatekeeping-operator-service", func(o object) {
		add(in(o, "spec"), "ports", object{"name": "mine", "port": int64(99), "protocol": "TCP",
			"targetPort": int64(99)})
	}, "left", ""},
	{"selector of a Service", "Service", "gatekeeping-operator-service", func(o object) {
		in(o, "spec", "selector")["mine"] = "x"
	}, "written", ""},
	{"affinity of a Service", "Service", "gatekeeping-operator-service", func(o object) {
		in(o, "spec")["sessionAffinity"] = "ClientIP"
	}, "left", ""},
	{"annotation of a Service", "Service", "gatekeeping-operator-service", func(o object) {
		in(o, "metadata", "annotations")["mine"] = "x"
	}, "left", ""},
	{"pull secret of an account", "ServiceAccount", "gatekeeper", func(o object) {
		o["imagePullSecrets"] = []any{object{"name": "mine"}}
	}, "left", ""},
	{"label of an account", "ServiceAccount", "gatekeeper", func(o object) {
		in(o, "metadata", "labels")["olm.managed"] = "false"
	}, "written", ""},
	{"description in a schema", "CustomResourceDefinition", "memcacheds.cache.example.com", func(o object) {
		in(version(o), "schema", "openAPIV3Schema", "properties", "spec")["description"] = "mine"
	}, "written", ""},
	{"field added to a schema", "CustomResourceDefinition", "memcacheds.cache.example.com", func(o object) {
		fields := in(version(o), "schema", "openAPIV3Schema", "properties", "spec", "properties")
		fields["mine"] = object{"type": "string"}
	}, "written", ""},
	{"column added", "CustomResourceDefinition", "memcacheds.cache.example.com", func(o object) {
		add(version(o), "additionalPrinterColumns", object{"name": "Mine", "type": "string", "jsonPath": ".x"})
	}, "written", ""},
	{"scope of a CRD", "CustomResourceDefinition", "memcacheds.cache.example.com", func(o object) {
		in(o, "spec")["scope"] = "Cluster"
	}, "refused", ""},
	{"short name of a CRD", "CustomResourceDefinition", "memcacheds.cache.example.com", func(o object) {
		in(o, "spec", "names")["shortNames"] = []any{"mine"}
	}, "left", ""},
	{"stored version of a CRD", "CustomResourceDefinition", "memcacheds.cache.example.com", func(o object) {
		v := version(copied(o))
		v["name"], v["storage"] = "v0", false
		add(in(o, "spec"), "versions", v)
		o["status"] = object{"storedVersions": []any{"v0", "v1alpha1"}}
	}, "refused", ""},
	{"priority of an APIService", "APIService", "v1.gauge", func(o object) {
		in(o, "spec")["versionPriority"] = int64(99)
	}, "written", ""},
	{"targets of a group", "OperatorGroup", "my-og", func(o object) {
		in(o, "spec")["targetNamespaces"] = []any{"target-a"}
	}, "written", ""},
	{"APIs of a group", "OperatorGroup", "my-og", func(o object) {
		in(o, "metadata", "annotations")["olm.providedAPIs"] = ""
	}, "written", ""},
	{"accounts of a condition", "OperatorCondition", "gatekeeping-operator", func(o object) {
		in(o, "spec")["serviceAccounts"] = []any{"x"}
	}, "written", ""},
	{"icon of a CSV", "ClusterServiceVersion", "gatekeeping-operator", func(o object) {
		in(o, "spec")["icon"] = []any{object{"base64data": "", "mediatype": "x"}}
	}, "left", ""},
	{"name of a CSV to people", "ClusterServiceVersion", "gatekeeping-operator", func(o object) {
		in(o, "spec")["displayName"] = "mine"
	}, "written", ""},
}
