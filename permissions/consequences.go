package permissions

import (
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/olm"
)

// consequence is what follows from permissions that do not look like it.
type consequence struct {
	id                 string
	text               string         // what a subject can do, for the list of rules
	message            string         // the same of one subject; %s is the place
	cluster, namespace findings.Level // how bad it is there; None: it does not hold there
	needs              [][]pattern    // a subject needs one of each list at the place
	names              []string       // a rule for one of these names is enough
	unless             []string       // not said where one of these worse ones holds
	help               string
	practice           string // the heading of Kubernetes' RBAC good practices; may be empty
	police             string // the policy of rbac-police; may be empty
	attack             string // the technique of MITRE ATT&CK; may be empty
}

func resources(group string, resources []string, verbs ...string) pattern {
	return pattern{[]string{group}, resources, verbs}
}

var consequences = []consequence{
	{
		id: "everything", text: "everything", cluster: findings.Error, namespace: findings.Warning,
		message:  "may do everything in %s",
		needs:    [][]pattern{{resources(all, []string{all}, all)}},
		help:     "A wildcard also holds for every kind of object that is added later.",
		practice: "least-privilege", police: "cluster_admin", attack: "T1078",
	},
	{
		id: "secrets-read", text: "reads every Secret", cluster: findings.Error, namespace: findings.Warning,
		message:  "reads every Secret of %s: the credentials and tokens of all that runs there",
		needs:    [][]pattern{{secretsRead}},
		help:     "get, list and watch all return the content.",
		practice: "listing-secrets", police: "retrieve_secrets", attack: "T1552.007",
	},
	{
		id: "secrets-write", text: "writes Secrets", cluster: findings.Warning, namespace: findings.Note,
		message: "writes Secrets of %s: replaces credentials, and makes a token Secret of every ServiceAccount there",
		needs:   [][]pattern{{resources("", []string{"secrets"}, writing...)}},
		help: "A Secret of type kubernetes.io/service-account-token gets a token of the ServiceAccount that it " +
			"names. Reading it takes get.",
		police: "issue_token_secrets", attack: "T1528",
	},
	{
		id: "pods-create", text: "starts pods", cluster: findings.Error, namespace: findings.Warning,
		message: "starts pods in %s: as every ServiceAccount there, with every Secret and ConfigMap, and on the " +
			"host where Pod Security admission allows it",
		needs:    [][]pattern{{podWrite, appsWrite, batchWrite, dcWrite}},
		help:     "Writing a workload, such as a Deployment or a Job, is enough.",
		practice: "workload-creation", police: "assign_sa", attack: "T1610",
	},
	{
		id: "pods-exec", text: "runs commands in pods", cluster: findings.Error, namespace: findings.Warning,
		message: "runs commands in every pod of %s, as the ServiceAccount of that pod",
		needs:   [][]pattern{{podExec}},
		help:    "Before Kubernetes 1.35 get is enough, by a WebSocket request.",
		police:  "pods_exec", attack: "T1609",
	},
	{
		id: "pods-debug", text: "adds debug containers to pods", cluster: findings.Error, namespace: findings.Warning,
		message: "adds a container to every running pod of %s",
		needs:   [][]pattern{{podDebug}},
		help:    "An ephemeral container has its own image and security context.",
		police:  "pods_ephemeral_ctrs", attack: "T1609",
	},
	{
		id: "nodes-proxy", text: "uses the kubelet's API", cluster: findings.Error, namespace: findings.None,
		message:  "runs commands in every pod of %s by the kubelet, past admission and audit",
		needs:    [][]pattern{{nodesProxy}},
		help:     "get is enough: the kubelet takes a WebSocket request to exec as a get.",
		practice: "access-to-proxy-subresource-of-nodes", police: "nodes_proxy", attack: "T1609",
	},
	{
		id: "rbac-escalate", text: "writes roles with rights that it does not have",
		cluster: findings.Error, namespace: findings.Warning,
		message: "gives itself every right in %s, by escalate",
		needs: [][]pattern{{resources(groupRBAC, []string{"roles", "clusterroles"}, "escalate")},
			{resources(groupRBAC, []string{"roles", "clusterroles"}, writing...)}},
		help:     "escalate lifts the check that a role has no more than its writer.",
		practice: "escalate-verb", police: "escalate_roles", attack: "T1098.006",
	},
	{
		id: "rbac-bind", text: "binds roles that it does not have",
		cluster: findings.Error, namespace: findings.Warning,
		message: "binds itself to every role in %s, cluster-admin among them, by bind",
		needs: [][]pattern{{resources(groupRBAC, []string{"roles", "clusterroles"}, "bind")},
			{resources(groupRBAC, []string{"rolebindings", "clusterrolebindings"}, writing...)}},
		help:     "bind lifts the check that a binding gives no more than its writer has.",
		practice: "bind-verb", police: "bind_roles", attack: "T1098.006",
	},
	{
		id: "rbac-write", text: "writes roles and bindings", cluster: findings.Warning, namespace: findings.Note,
		message: "grants its own rights to others in %s, and changes those of others",
		unless:  []string{"rbac-escalate", "rbac-bind"},
		needs: [][]pattern{{resources(groupRBAC, []string{"rolebindings", "clusterrolebindings"}, writing...),
			resources(groupRBAC, []string{"roles", "clusterroles"}, writing...)}},
		help: "Without escalate and bind nobody gets more than the writer has. " +
			"Whoever changes a role that others are bound to changes their rights.",
		attack: "T1098.006",
	},
	{
		id: "impersonate", text: "acts as other users", cluster: findings.Error, namespace: findings.None,
		message:  "acts as every user or group in %s",
		needs:    [][]pattern{{impersonateUsers}},
		help:     "The group system:masters passes every check.",
		practice: "impersonate-verb", police: "impersonate", attack: "T1078",
	},
	{
		id: "impersonate-accounts", text: "acts as other accounts",
		cluster: findings.Error, namespace: findings.Warning,
		message:  "acts as every ServiceAccount of %s",
		needs:    [][]pattern{{impersonateAccounts}},
		help:     "All verbs on serviceaccounts include impersonate.",
		practice: "impersonate-verb", police: "impersonate", attack: "T1078",
	},
	{
		id: "token-create", text: "makes tokens of accounts", cluster: findings.Error, namespace: findings.Warning,
		message:  "makes a token of every ServiceAccount of %s",
		needs:    [][]pattern{{tokenCreate}},
		practice: "token-request", police: "token_request", attack: "T1528",
	},
	{
		id: "csr-approve", text: "approves certificates of users", cluster: findings.Error, namespace: findings.None,
		message:  "issues certificates for every user of %s",
		needs:    [][]pattern{{csrApprove}, {with(csrSigner, "approve")}},
		help:     "A client certificate is a user and groups. It takes somebody who may request one.",
		practice: "csrs-and-certificate-issuing", police: "approve_csrs", attack: "T1078",
	},
	{
		id: "webhooks-write", text: "writes admission webhooks", cluster: findings.Error, namespace: findings.None,
		message: "reads every object that is written in %s, Secrets among them, and changes it, by a webhook of " +
			"its own",
		needs:    [][]pattern{{pattern{[]string{groupAdmission}, webhookWrite.resources, writing}}},
		practice: "control-admission-webhooks", police: "control_webhooks",
	},
	{
		id: "policies-write", text: "writes admission policies", cluster: findings.Warning, namespace: findings.None,
		message: "refuses or changes every object that is written in %s, by a policy of its own",
		needs:   [][]pattern{{pattern{[]string{groupAdmission}, policyWrite.resources, writing}}},
		help:    "It also switches off the policies of others.",
	},
	{
		id: "crds-write", text: "changes CRDs of others", cluster: findings.Warning, namespace: findings.None,
		message: "changes and removes every kind of custom resource of %s, with all objects of it",
		needs: [][]pattern{{
			resources(groupExtensions, crdWrite.resources, "update", "patch", "delete", "deletecollection"),
		}},
		help: "Removing a CRD removes its objects. A conversion webhook sees every object of the kind.",
	},
	{
		id: "apiservices-write", text: "serves APIs in place of others",
		cluster: findings.Warning, namespace: findings.None,
		message: "answers requests of other API groups of %s in their place",
		needs:   [][]pattern{{pattern{[]string{groupRegistration}, apiServiceWrite.resources, writing}}},
		help:    "The API server sends every request of a group to the service that an APIService names.",
	},
	{
		id: "namespaces-write", text: "changes namespaces", cluster: findings.Warning, namespace: findings.Note,
		message: "relabels namespaces (%s): their Pod Security level, and which network policies and webhooks hold " +
			"there",
		needs:    [][]pattern{{resources("", []string{"namespaces"}, "update", "patch")}},
		practice: "namespace-modification",
	},
	{
		id: "volumes-create", text: "makes PersistentVolumes", cluster: findings.Warning, namespace: findings.None,
		message:  "reaches the files of every node of %s, by a PersistentVolume with a hostPath",
		needs:    [][]pattern{{resources("", []string{"persistentvolumes"}, "create")}},
		help:     "A pod has to claim the volume.",
		practice: "persistent-volume-creation", attack: "T1611",
	},
	{
		id: "nodes-write", text: "changes nodes", cluster: findings.Warning, namespace: findings.None,
		message: "moves pods to nodes of its choice in %s, by labels, taints or removal of nodes",
		needs: [][]pattern{{resources("", []string{"nodes", "nodes/status"},
			"update", "patch", "delete", "deletecollection")}},
		police: "steal_pods",
	},
	{
		id: "operators-install", text: "installs operators", cluster: findings.Error, namespace: findings.Warning,
		message: "installs operators in %s, with the rights that they ask for",
		needs: [][]pattern{{
			resources(olm.Group, []string{"subscriptions", "clusterserviceversions", "installplans"}, "create"),
			resources(olm.GroupV1, []string{"clusterextensions"}, "create"),
		}},
		help:   "OLM grants what a ClusterServiceVersion asks for. Approving an InstallPlan of others is not counted.",
		attack: "T1098.006",
	},
	{
		id: "scc-use", text: "runs privileged pods on OpenShift",
		cluster: findings.Warning, namespace: findings.Warning,
		message: "runs pods in %s that leave the restricted security context",
		needs:   [][]pattern{{resources(groupSCC, []string{"securitycontextconstraints"}, "use")}},
		names: []string{"privileged", "hostaccess", "hostmount-anyuid", "hostnetwork", "hostnetwork-v2",
			"hostpath-provisioner", "node-exporter"},
		help:   "The SecurityContextConstraints privileged gives root on the node.",
		attack: "T1611",
	},
	{
		id: "configmaps-write", text: "writes ConfigMaps of kube-system",
		cluster: findings.Warning, namespace: findings.None,
		message: "writes every ConfigMap of %s, on Amazon EKS also aws-auth, which makes cluster administrators",
		needs:   [][]pattern{{resources("", []string{"configmaps"}, writing...)}},
		police:  "eks_modify_aws_auth",
	},
	{
		id: "services-status", text: "takes over addresses", cluster: findings.Note, namespace: findings.None,
		message: "takes over external addresses of %s (CVE-2020-8554)",
		needs:   [][]pattern{{resources("", []string{"services/status"}, "update", "patch")}},
		police:  "modify_service_status_cve_2020_8554",
	},
}
