package templates

import (
	"maps"

	"github.com/olmgen/olmgen/internal/views"
	"github.com/olmgen/olmgen/manifest"
)

const (
	rbacV1 = "rbac.authorization.k8s.io/v1"
	alpha1 = "operators.coreos.com/v1alpha1"
)

// of returns an object as it is decoded.
func of(apiVersion, kind string, meta, rest object) object {
	o := object{"apiVersion": apiVersion, "kind": kind, "metadata": meta}
	maps.Copy(o, rest)
	return o
}

// texts are the texts of an example's view: x, y, a and b those of single fields and list items, b as a key too; inA and inB those
// inside what is the bundle's own.
type texts struct{ x, y, a, b, inA, inB string }

// meta is the metadata of an object; without fields that are empty.
func (s texts) meta(namespace bool, labels, annotations object) object {
	m := object{"name": s.x}
	if namespace {
		m["namespace"] = s.y
	}
	if len(labels) > 0 {
		m["labels"] = labels
	}
	if len(annotations) > 0 {
		m["annotations"] = annotations
	}
	return m
}

// own are a mapping of the bundle, and how it is decoded.
func (s texts) own() (map[string]string, object) {
	return map[string]string{"label": s.inA, s.inB: "x" + s.inB}, object{"label": s.inA, s.inB: "x" + s.inB}
}

func (s texts) rules() list {
	return list{object{"verbs": list{s.inA, s.inB}, "apiGroups": list{""}}, object{"verbs": list{},
		"resourceNames": list{s.inB, s.inA}}}
}

func (s texts) spec(number any) object {
	a, b := s.inA, s.inB
	return object{"text": a, b: list{a, b, object{"in": b, b: object{}}, list{a, list{b}}}, "map": object{"deep": object{b: a}},
		"empty": object{}, "none": list{}, "number": number, "yes": true}
}

// owned are the labels of what belongs to an operator; those of OLM's names if managed.
func (s texts) owned(managed bool) (views.Ownership, object) {
	o, want := views.Ownership{Owner: &views.Owner{Name: s.a, Namespace: s.b}}, object{"olm.owner": s.a,
		"olm.owner.kind": "ClusterServiceVersion", "olm.owner.namespace": s.b}
	if managed {
		o.Managed, want["olm.managed"] = true, "true"
	}
	return o, want
}

// examples returns views of every template, with their objects.
func examples(x, y, a, b string) []example { return texts{x, y, a, b, a, b}.examples() }

func (s texts) examples() []example {
	var out []example
	for _, f := range []func() []example{s.clusterRoles, s.roles, s.bindings, s.operator, s.olm, s.services,
		s.certificates, s.webhooks,
		s.apiServices, s.handOver, s.admission, s.tools} {
		out = append(out, f()...)
	}
	return out
}

func (s texts) clusterRoles() []example {
	owned, wantOwned := s.owned(false)
	owned.Descoped = s.a + "!"
	maps.Copy(wantOwned, object{"descoped.olmgen.dev/clusterrole": s.a + "!",
		"rbac.authorization.k8s.io/aggregate-to-" + s.b: "true",
		"olm.opgroup.permissions/aggregate-to-" + s.b:   s.a})
	group := object{"olm.owner": s.a, "olm.owner.kind": "OperatorGroup", "olm.owner.namespace": s.b}
	managed := object{"olm.managed": "true"}
	maps.Copy(managed, group)
	selector := object{"matchLabels": object{"olm.opgroup.permissions/aggregate-to-" + s.b: s.a}}
	part := views.Ownership{Olmgen: true, PartOf: s.b + "!"}
	wantPart := object{"app.kubernetes.io/managed-by": "olmgen", "app.kubernetes.io/part-of": s.b + "!"}
	return []example{
		{"aggregated-clusterrole.yaml", views.GroupRole{Ownership: views.Ownership{Owner: &views.Owner{Name: s.a,
			Namespace: s.b}}, Name: s.x, Selectors: []views.Aggregate{{To: s.b, Value: s.a}, {To: s.b, Value: s.a}}},
			of(rbacV1, "ClusterRole", s.meta(false, group, nil),
				object{"aggregationRule": object{"clusterRoleSelectors": list{selector, selector}}})},
		{"aggregated-clusterrole.yaml", views.GroupRole{Ownership: views.Ownership{Managed: true,
			Owner: &views.Owner{Name: s.a, Namespace: s.b}}, Name: s.x},
			of(rbacV1, "ClusterRole", s.meta(false, managed, nil), nil)},
		{"aggregated-clusterrole.yaml", views.GroupRole{Ownership: part, Name: s.x}, of(rbacV1, "ClusterRole",
			s.meta(false, wantPart, nil), nil)},
		{"clusterrole.yaml", views.Role{Ownership: part, Name: s.x, NoRules: true}, of(rbacV1, "ClusterRole",
			s.meta(false, wantPart, nil), nil)},
		{"api-clusterrole.yaml", views.APIRole{Ownership: owned, Name: s.x, Aggregate: &views.Aggregate{To: s.b,
			Value: s.a}, DefaultRoles: []string{s.b},
			Group: s.a, Resource: s.b, Verbs: []string{s.b, s.a}},
			of(rbacV1, "ClusterRole", s.meta(false, wantOwned, nil),
				object{"rules": list{object{"apiGroups": list{s.a}, "resources": list{s.b},
					"verbs": list{s.b, s.a}}}})},
		{"api-clusterrole.yaml", views.APIRole{Ownership: views.Ownership{Managed: true}, Name: s.x,
			Operator: s.a + "!", Description: s.b,
			Group: s.a, Resource: s.b, Verbs: []string{s.a}},
			of(rbacV1, "ClusterRole", s.meta(false, object{"olm.managed": "true"},
				object{"descoped.olmgen.dev/operator": s.a + "!",
					"kubernetes.io/description": s.b}), object{"rules": list{object{"apiGroups": list{s.a}, "resources": list{s.b},
				"verbs": list{s.a}}}})},
		{"api-clusterrole.yaml", views.APIRole{Ownership: views.Ownership{Managed: true}, Name: s.x, CRD: s.a + "!"},
			of(rbacV1, "ClusterRole", s.meta(false, object{"olm.managed": "true"}, nil), object{"rules": list{object{
				"apiGroups": list{"apiextensions.k8s.io"}, "resourceNames": list{s.a + "!"},
				"resources": list{"customresourcedefinitions"},
				"verbs":     list{"get"}}}})},
	}
}

func (s texts) roles() []example {
	owned, want := s.owned(true)
	owned.Hash, want["olm.permissions.hash"] = s.a+"!", s.a+"!"
	copied, wantCopied := owned, maps.Clone(want)
	copied.CopiedFrom, wantCopied["olm.copiedFrom"] = s.b+"!", s.b+"!"
	descoped, wantDescoped := owned, maps.Clone(want)
	descoped.Descoped, wantDescoped["descoped.olmgen.dev/clusterrole"] = s.b+"!", s.b+"!"
	installer := object{"app.kubernetes.io/managed-by": "olmgen"}
	rules := object{"rules": s.rules()}
	return []example{
		{"clusterrole.yaml", views.Role{Ownership: descoped, Name: s.x, Rules: s.rules()}, of(rbacV1, "ClusterRole",
			s.meta(false, wantDescoped, nil), rules)},
		{"clusterrole.yaml", views.Role{Ownership: views.Ownership{Olmgen: true}, Name: s.x, Rules: s.rules()},
			of(rbacV1, "ClusterRole", s.meta(false, installer, nil), rules)},
		{"clusterrole.yaml", views.Role{Name: s.x, NoRules: true}, of(rbacV1, "ClusterRole", s.meta(false, nil, nil), nil)},
		{"role.yaml", views.Role{Ownership: copied, Name: s.x, Namespace: s.y, Rules: s.rules()}, of(rbacV1, "Role",
			s.meta(true, wantCopied, nil), rules)},
		{"role.yaml", views.Role{Ownership: views.Ownership{Olmgen: true}, Name: s.x, Namespace: s.y}, of(rbacV1,
			"Role", s.meta(true, installer, nil),
			object{"rules": list{}})},
		{"role.yaml", views.Role{Name: s.x, Namespace: s.y, NoRules: true}, of(rbacV1, "Role", s.meta(true, nil, nil), nil)},
	}
}

func (s texts) bindings() []example {
	owned, want := s.owned(false)
	descoped, wantDescoped := owned, maps.Clone(want)
	descoped.Descoped, wantDescoped["descoped.olmgen.dev/clusterrole"] = s.b+"!", s.b+"!"
	rest := func(kind string) object {
		return object{"roleRef": object{"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": s.y},
			"subjects": list{object{"kind": "ServiceAccount", "name": s.a, "namespace": s.b + "!"},
				object{"kind": "ServiceAccount", "name": s.b}}}
	}
	subjects := []views.Subject{{Name: s.a, Namespace: s.b + "!"}, {Name: s.b, Namespace: ""}}
	return []example{
		{"clusterrolebinding.yaml", views.Binding{Ownership: descoped, Name: s.x, Role: s.y, Subjects: subjects},
			of(rbacV1, "ClusterRoleBinding", s.meta(false, wantDescoped, nil), rest("ClusterRole"))},
		{"rolebinding.yaml", views.Binding{Ownership: owned, Name: s.x, Namespace: s.y, Role: s.y, Subjects: subjects},
			of(rbacV1, "RoleBinding", s.meta(true, want, nil), rest("Role"))},
		{"rolebinding.yaml", views.Binding{Name: s.x, Namespace: s.y, Role: s.y, Subjects: subjects},
			of(rbacV1, "RoleBinding", s.meta(true, nil, nil), rest("Role"))},
		{"tenant-rolebinding.yaml", views.Binding{Ownership: descoped, Name: s.x, Namespace: s.y, Role: s.y, Subjects: subjects},
			of(rbacV1, "RoleBinding", s.meta(true, wantDescoped, nil), rest("ClusterRole"))},
	}
}

// operator are the objects in which most is the bundle's own.
func (s texts) operator() []example {
	own, want := s.own()
	spec := object{"spec": s.spec(3.0)}
	printed := manifest.Text(manifest.Block(s.spec(3), 2))
	return []example{
		{"clusterserviceversion.yaml", views.ClusterServiceVersion{Name: s.x, Namespace: s.y, Labels: own,
			Annotations: own, Spec: printed}, of(alpha1, "ClusterServiceVersion", s.meta(true, want, want), spec)},
		{"clusterserviceversion.yaml", views.ClusterServiceVersion{Name: s.x, Namespace: s.y, Spec: s.spec(3)},
			of(alpha1, "ClusterServiceVersion", s.meta(true, nil, nil), spec)},
		{"copied-clusterserviceversion-stub.yaml", views.CopiedClusterServiceVersion{Name: s.x, Namespace: s.y,
			Labels: own, OperatorGroup: s.a + "!", OperatorNamespace: s.b, Spec: printed},
			of(alpha1, "ClusterServiceVersion", s.meta(true, want, object{"olm.operatorGroup": s.a + "!",
				"olm.operatorNamespace": s.b}), spec)},
		{"deployment.yaml", views.Deployment{Name: s.x, Namespace: s.y, Labels: own, Annotations: own,
			Spec: s.spec(3)}, of("apps/v1", "Deployment", s.meta(true, want, want), spec)},
		{"namespace.yaml", views.Namespace{Name: s.x, Labels: own, Annotations: own}, of("v1", "Namespace",
			s.meta(false, want, want), nil)},
		{"namespace.yaml", views.Namespace{Name: s.x, Labels: nil, Annotations: map[string]string{}}, of("v1",
			"Namespace", s.meta(false, nil, nil), nil)},
		{"serviceaccount.yaml", views.ServiceAccount{Ownership: views.Ownership{Managed: true}, Name: s.x,
			Namespace: s.y, Annotations: own, Secrets: list{object{"name": s.a}}},
			of("v1", "ServiceAccount", s.meta(true, object{"olm.managed": "true"}, want),
				object{"secrets": list{object{"name": s.a}}})},
		{"serviceaccount.yaml", views.ServiceAccount{Name: s.x, Namespace: s.y}, of("v1", "ServiceAccount",
			s.meta(true, nil, nil), nil)},
	}
}

func (s texts) olm() []example {
	return []example{
		{"operatorcondition.yaml", views.OperatorCondition{Name: s.x, Namespace: s.y, Deployments: []string{s.a, s.b},
			ServiceAccounts: []string{s.b, s.a}},
			of("operators.coreos.com/v2", "OperatorCondition", s.meta(true, nil, nil),
				object{"spec": object{"deployments": list{s.a, s.b}, "serviceAccounts": list{s.b, s.a}}})},
		{"operatorgroup.yaml", views.OperatorGroup{Name: s.x, Namespace: s.y},
			of("operators.coreos.com/v1", "OperatorGroup", s.meta(true, nil, nil),
				object{"spec": object{"upgradeStrategy": "Default"}})},
		{"operatorgroup.yaml", views.OperatorGroup{Name: s.x, Namespace: s.y, ProvidedAPIs: s.x + "!",
			ServiceAccount: s.y + "!", Static: true, Selector: object{"matchLabels": object{s.b: s.a}},
			TargetNamespaces: []string{s.a, s.b}},
			of("operators.coreos.com/v1", "OperatorGroup", s.meta(true, nil, object{"olm.providedAPIs": s.x + "!"}),
				object{"spec": object{
					"selector": object{"matchLabels": object{s.b: s.a}}, "serviceAccountName": s.y + "!", "staticProvidedAPIs": true,
					"targetNamespaces": list{s.a, s.b}, "upgradeStrategy": "Default"}})},
	}
}

func (s texts) services() []example {
	own, want := s.own()
	owned, wantOwned := s.owned(true)
	ports := []views.ServicePort{{Name: s.a, Port: 443, TargetPort: int32(9443)}, {Name: s.b, Port: 8443, TargetPort: s.b}}
	wantPorts := list{object{"name": s.a, "port": 443.0, "targetPort": 9443.0}, object{"name": s.b, "port": 8443.0,
		"targetPort": s.b}}
	const cert = "service.beta.openshift.io/serving-cert-secret-name"
	return []example{
		{"service.yaml", views.Service{Ownership: owned, Name: s.x, Namespace: s.y, ServingCert: s.a + "!",
			Ports: ports, Selector: own},
			of("v1", "Service", s.meta(true, wantOwned, object{cert: s.a + "!"}),
				object{"spec": object{"ports": wantPorts, "selector": want}})},
		{"service.yaml", views.Service{Name: s.x, Namespace: s.y, Ports: ports},
			of("v1", "Service", s.meta(true, nil, nil), object{"spec": object{"ports": wantPorts}})},
		{"service.yaml", views.Service{Ownership: owned, Name: s.x, Namespace: s.y, Ports: ports,
			Shipped: &views.ShippedService{Labels: own, Annotations: own, Spec: s.spec(3)}},
			of("v1", "Service", s.meta(true, want, want), object{"spec": s.spec(3.0)})},
		{"networkpolicy.yaml", views.NetworkPolicy{Ownership: owned, Name: s.x, Namespace: s.y, Selector: s.spec(3),
			Ports: []views.NetworkPort{{Protocol: s.b, Port: int32(9443)}, {Protocol: s.a, Port: s.b}}},
			s.policy(wantOwned, list{object{"ports": list{object{"port": 9443.0, "protocol": s.b}, object{"port": s.b,
				"protocol": s.a}}}})},
		{"networkpolicy.yaml", views.NetworkPolicy{Name: s.x, Namespace: s.y, Selector: s.spec(3)}, s.policy(nil, nil)},
	}
}

func (s texts) policy(labels object, ingress list) object {
	port := func(number float64, protocol string) object { return object{"port": number, "protocol": protocol} }
	spec := object{"podSelector": s.spec(3.0), "policyTypes": list{"Ingress", "Egress"}, "egress": list{
		object{"ports": list{port(443, "TCP"), port(6443, "TCP")}},
		object{"ports": list{port(53, "UDP"), port(53, "TCP"), port(5353, "UDP"), port(5353, "TCP")}}}}
	if ingress != nil {
		spec["ingress"] = ingress
	}
	return of("networking.k8s.io/v1", "NetworkPolicy", s.meta(true, labels, object{
		"kubernetes.io/description": "Denies by default. What else pods call, and who else calls them, is not known."}),
		object{"spec": spec})
}

func (s texts) certificates() []example {
	owned, want := s.owned(false)
	spec := func(issuer, more object) object {
		out := object{"dnsNames": list{s.a, s.b}, "duration": "17520h0m0s", "renewBefore": "24h0m0s",
			"secretName": s.y, "usages": list{"server auth"},
			"issuerRef": issuer}
		maps.Copy(out, more)
		return object{"spec": out}
	}
	return []example{
		{"certificate.yaml", views.Certificate{Ownership: owned, Name: s.x, Namespace: s.y, Hosts: []string{s.a, s.b},
			IssuerKind: s.x + "!",
			IssuerName: s.y, Secret: s.y}, of("cert-manager.io/v1", "Certificate", s.meta(true, want, nil),
			spec(object{"group": "cert-manager.io", "kind": s.x + "!", "name": s.y}, nil))},
		{"certificate.yaml", views.Certificate{Name: s.x, Namespace: s.y, CommonName: s.a + "!", Hosts: []string{s.a,
			s.b}, IssuerName: s.y, Secret: s.y},
			of("cert-manager.io/v1", "Certificate", s.meta(true, nil, nil), spec(object{"name": s.y},
				object{"commonName": s.a + "!"}))},
		{"issuer.yaml", views.Issuer{Ownership: owned, Name: s.x, Namespace: s.y}, of("cert-manager.io/v1", "Issuer",
			s.meta(true, want, nil), object{"spec": object{"selfSigned": object{}}})},
	}
}

func (s texts) webhooks() []example {
	owned, want := s.owned(true)
	want["olm.webhook-description-generate-name"], want["olm.webhook-description-hash"] = s.a+"!", s.b
	full := object{"name": s.x, "admissionReviewVersions": list{s.a, s.b}, "failurePolicy": s.y, "matchPolicy": s.x,
		"namespaceSelector": object{s.b: s.a},
		"objectSelector":    object{}, "reinvocationPolicy": s.y, "rules": s.rules(), "sideEffects": s.x, "timeoutSeconds": 5.0,
		"clientConfig": object{"caBundle": s.x + "!", "service": object{"name": s.x, "namespace": s.y, "path": s.x,
			"port": 443.0}}}
	small := object{"name": s.x, "admissionReviewVersions": list{s.a},
		"clientConfig": object{"service": object{"name": s.x, "namespace": s.y, "port": 443.0}}}
	const v1 = "admissionregistration.k8s.io/v1"
	return []example{
		// the kind is one of two that the code chooses, never a bundle's text
		{"webhookconfiguration.yaml", views.WebhookConfiguration{Ownership: owned,
			CA: views.CA{InjectCAFrom: s.b + "!"}, Kind: "ValidatingWebhookConfiguration",
			Name: s.x, GenerateName: s.a + "!", WebhookHash: s.b, Webhook: views.WebhookOf(full)},
			of(v1, "ValidatingWebhookConfiguration", s.meta(false, want,
				object{"cert-manager.io/inject-ca-from": s.b + "!"}), object{"webhooks": list{full}})},
		{"webhookconfiguration.yaml", views.WebhookConfiguration{CA: views.CA{InjectCABundle: true},
			Kind: "MutatingWebhookConfiguration", Name: s.x, Webhook: views.WebhookOf(small)},
			of(v1, "MutatingWebhookConfiguration", s.meta(false, nil,
				object{"service.beta.openshift.io/inject-cabundle": "true"}), object{"webhooks": list{small}})},
	}
}

func (s texts) apiServices() []example {
	own, want := s.own()
	owned, wantOwned := s.owned(false)
	return []example{{"apiservice.yaml", views.APIService{Ownership: owned, Name: s.x, Annotations: own,
		CABundle: s.x, Group: s.x, Version: s.y, Service: s.y, Namespace: s.y, Port: 443},
		of("apiregistration.k8s.io/v1", "APIService", s.meta(false, wantOwned, want),
			object{"spec": withText(object{"group": s.x, "version": s.y,
				"groupPriorityMinimum": 2000.0, "versionPriority": 15.0, "service": object{"name": s.y, "namespace": s.y,
					"port": 443.0}}, "caBundle", s.x)})}}
}

// handOver are the objects that let OLM install the operator.
func (s texts) handOver() []example {
	x, y, a, b := s.x, s.y, s.a, s.b
	source := object{"displayName": x, "image": y, "sourceType": "grpc",
		"grpcPodConfig": object{"securityContextConfig": "restricted"}}
	polled := maps.Clone(source)
	polled["publisher"], polled["updateStrategy"] = y+"!", object{"registryPoll": object{"interval": "60m"}}
	polled["priority"] = -7.0
	const v1 = "olm.operatorframework.io/v1"
	return []example{
		{"catalogsource.yaml", views.CatalogSource{Name: x, Namespace: y, Image: y, Publisher: y + "!", Priority: -7,
			Poll: true}, of(alpha1, "CatalogSource", s.meta(true, nil, nil), object{"spec": polled})},
		{"catalogsource.yaml", views.CatalogSource{Name: x, Namespace: y, Image: y}, of(alpha1, "CatalogSource",
			s.meta(true, nil, nil), object{"spec": source})},
		{"clustercatalog.yaml", views.ClusterCatalog{Name: x, Image: y, Priority: 7}, of(v1, "ClusterCatalog",
			s.meta(false, nil, nil), object{"spec": object{
				"priority": 7.0, "source": object{"type": "Image", "image": object{"ref": y}}}})},
		{"clustercatalog.yaml", views.ClusterCatalog{Name: x, Image: y}, of(v1, "ClusterCatalog", s.meta(false, nil,
			nil), object{"spec": object{
			"source": object{"type": "Image", "image": object{"ref": y}}}})},
		{"clusterextension.yaml", views.ClusterExtension{Name: x, Namespace: y, Package: y, Version: y + "!",
			Channels: []string{a, b}, UpgradeConstraintPolicy: x + "!", ServiceAccount: x + "!", Config: object{b: a,
				"deploymentConfig": s.spec(3)}},
			of(v1, "ClusterExtension", s.meta(false, nil, nil), object{"spec": object{
				"config":    object{"configType": "Inline", "inline": object{b: a, "deploymentConfig": s.spec(3.0)}},
				"namespace": y, "serviceAccount": object{"name": x + "!"}, "source": object{"sourceType": "Catalog",
					"catalog": object{
						"channels": list{a, b}, "packageName": y, "upgradeConstraintPolicy": x + "!", "version": y + "!"}}}})},
		{"clusterextension.yaml", views.ClusterExtension{Name: x, Namespace: y, Package: y}, of(v1,
			"ClusterExtension", s.meta(false, nil, nil),
			object{"spec": object{"namespace": y, "source": object{"sourceType": "Catalog",
				"catalog": object{"packageName": y}}}})},
		{"subscription.yaml", views.Subscription{Name: x, Namespace: y, Package: x, Channel: x + "!", Approval: y,
			StartingCSV: y + "!", Source: y, SourceNamespace: x, Config: s.spec(3)}, of(alpha1, "Subscription",
			s.meta(true, nil, nil),
			object{"spec": object{"channel": x + "!", "config": s.spec(3.0), "installPlanApproval": y, "name": x, "source": y,
				"sourceNamespace": x, "startingCSV": y + "!"}})},
		{"subscription.yaml", views.Subscription{Name: x, Namespace: y, Package: x, Approval: y, Source: y, SourceNamespace: x},
			of(alpha1, "Subscription", s.meta(true, nil, nil), object{"spec": object{"installPlanApproval": y,
				"name": x, "source": y, "sourceNamespace": x}})},
	}
}

// admission are the objects that say what a cluster takes.
func (s texts) admission() []example {
	const v1 = "admissionregistration.k8s.io/v1"
	x, y, a, b := s.x, s.y, s.inA, s.inB
	constraints := object{"resourceRules": list{object{"apiGroups": list{x}, "apiVersions": list{y},
		"operations": list{"CREATE", "UPDATE"},
		"resources":  list{x}}}}
	named := func(name, expression string) object { return object{"name": name, "expression": expression} }
	in := func(operator string, values ...any) object {
		return object{"key": "kubernetes.io/metadata.name", "operator": operator, "values": values}
	}
	selector := func(expressions ...any) object {
		return object{"namespaceSelector": object{"matchExpressions": expressions}}
	}
	deny := list{"Deny"}
	return []example{
		{"validatingadmissionpolicy.yaml", views.AdmissionPolicy{Name: x, Description: y + "!", Group: x, Version: y, Resource: x,
			MatchConditions: []views.NamedExpression{{Name: a, Expression: b}, {Name: b, Expression: a}},
			Variables:       []views.NamedExpression{{Name: a, Expression: b}},
			Validations:     []views.Validation{{Expression: a, Message: b, MessageExpression: a + "!", Reason: b + "!"}}},
			of(v1, "ValidatingAdmissionPolicy", s.meta(false, nil, object{"kubernetes.io/description": y + "!"}),
				object{"spec": object{
					"failurePolicy": "Fail", "matchConditions": list{named(a, b), named(b, a)}, "matchConstraints": constraints,
					"validations": list{object{"expression": a, "message": b, "messageExpression": a + "!", "reason": b + "!"}},
					"variables":   list{named(a, b)}}})},
		{"validatingadmissionpolicy.yaml", views.AdmissionPolicy{Name: x, Group: x, Version: y, Resource: x,
			Validations: []views.Validation{{Expression: a, Message: b}}},
			of(v1, "ValidatingAdmissionPolicy", s.meta(false, nil, nil), object{"spec": object{"failurePolicy": "Fail",
				"matchConstraints": constraints, "validations": list{object{"expression": a, "message": b}}}})},
		{"validatingadmissionpolicybinding.yaml", views.AdmissionBinding{Name: x, Policy: y, Namespaces: []string{s.a,
			s.b}, ExemptNamespaces: []string{s.b}},
			of(v1, "ValidatingAdmissionPolicyBinding", s.meta(false, nil, nil), object{"spec": object{
				"matchResources": selector(in("In", s.a, s.b), in("NotIn", s.b)), "policyName": y, "validationActions": deny}})},
		{"validatingadmissionpolicybinding.yaml", views.AdmissionBinding{Name: x, Policy: y, ExemptNamespaces: []string{s.a}},
			of(v1, "ValidatingAdmissionPolicyBinding", s.meta(false, nil, nil), object{"spec": object{
				"matchResources": selector(in("NotIn", s.a)), "policyName": y, "validationActions": deny}})},
		{"validatingadmissionpolicybinding.yaml", views.AdmissionBinding{Name: x, Policy: y},
			of(v1, "ValidatingAdmissionPolicyBinding", s.meta(false, nil, nil), object{"spec": object{"policyName": y,
				"validationActions": deny}})},
	}
}

// tools are files for tools, and OpenShift's mirror sets.
func (s texts) tools() []example {
	x, y, a, b := s.x, s.y, s.a, s.b
	const config, kustomize = "config.openshift.io/v1", "kustomize.config.k8s.io/v1beta1"
	mirrors := list{object{"source": a, "mirrors": list{b}}, object{"source": b, "mirrors": list{a}}}
	sets := views.MirrorSet{Name: x, Mirrors: []views.Mirror{{Source: a, Mirror: b}, {Source: b, Mirror: a}}}
	return []example{
		{"chart.yaml", views.Chart{Name: x, Version: y, AppVersion: y, Description: x}, object{"apiVersion": "v2",
			"type": "application",
			"name": x, "version": y, "appVersion": y, "description": x}},
		{"chart.yaml", views.Chart{Name: x, Version: y, AppVersion: y, Description: x, Home: x + "!", Icon: y + "!",
			Keywords: []string{x, y}, KubeVersion: y + "!", Maintainers: []views.Maintainer{{Name: x, Email: y + "!"},
				{Name: y}}},
			object{"apiVersion": "v2", "type": "application", "name": x, "version": y, "appVersion": y, "description": x,
				"home": x + "!", "icon": y + "!", "keywords": list{x, y}, "kubeVersion": y + "!",
				"maintainers": list{object{"name": x, "email": y + "!"}, object{"name": y}}}},
		{"imagedigestmirrorset.yaml", sets, of(config, "ImageDigestMirrorSet", object{"name": x},
			object{"spec": object{"imageDigestMirrors": mirrors}})},
		{"imagetagmirrorset.yaml", sets, of(config, "ImageTagMirrorSet", object{"name": x},
			object{"spec": object{"imageTagMirrors": mirrors}})},
		{"kustomization.yaml", views.Kustomization{Resources: []string{a, b}}, object{"apiVersion": kustomize,
			"kind": "Kustomization", "resources": list{a, b}}},
		{"kustomization.yaml", views.Kustomization{}, object{"apiVersion": kustomize, "kind": "Kustomization"}},
		{"kustomization-channel.yaml", views.ChannelKustomization{Resources: []string{a, b}},
			object{"apiVersion": kustomize, "kind": "Kustomization", "resources": list{a, b}}},
		{"kustomization-channel.yaml", views.ChannelKustomization{Resources: []string{a}, Channel: x, Name: x + "!",
			Namespace: y}, object{"apiVersion": kustomize, "kind": "Kustomization",
			"resources": list{a}, "patches": list{object{"path": "patch-channel.yaml",
				"target": object{"group": "operators.coreos.com",
					"kind": "Subscription", "name": x + "!", "namespace": y, "version": "v1alpha1"}}}}},
		{"patch-channel.yaml", views.ChannelKustomization{Channel: x}, list{object{"op": "replace",
			"path": "/spec/channel", "value": x}}},
	}
}

// withText adds a field that a template leaves out where it is empty.
func withText(m object, key, text string) object {
	if text != "" {
		m[key] = text
	}
	return m
}
