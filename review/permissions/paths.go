package permissions

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/review/findings"
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
	{id: "everything", text: "everything", message: "may do everything in %s", cluster: findings.Error, namespace: findings.Warning,
		needs:    [][]pattern{{resources(all, []string{all}, all)}},
		help:     "A wildcard also holds for every kind of object that is added later.",
		practice: "least-privilege", police: "cluster_admin", attack: "T1078"},
	{id: "secrets-read", text: "reads every Secret", message: "reads every Secret of %s: the credentials and tokens of all that runs there",
		cluster: findings.Error, namespace: findings.Warning, needs: [][]pattern{{secretsRead}},
		help:     "get, list and watch all return the content.",
		practice: "listing-secrets", police: "retrieve_secrets", attack: "T1552.007"},
	{id: "secrets-write", text: "writes Secrets", message: "writes Secrets of %s: replaces credentials, and makes a token Secret of every ServiceAccount there",
		cluster: findings.Warning, namespace: findings.Note, needs: [][]pattern{{resources("", []string{"secrets"}, writing...)}},
		help:   "A Secret of type kubernetes.io/service-account-token gets a token of the ServiceAccount that it names. Reading it takes get.",
		police: "issue_token_secrets", attack: "T1528"},
	{id: "pods-create", text: "starts pods", message: "starts pods in %s: as every ServiceAccount there, with every Secret and ConfigMap, and on the host " +
		"where Pod Security admission allows it", cluster: findings.Error, namespace: findings.Warning,
		needs:    [][]pattern{{podWrite, appsWrite, batchWrite, dcWrite}},
		help:     "Writing a workload, such as a Deployment or a Job, is enough.",
		practice: "workload-creation", police: "assign_sa", attack: "T1610"},
	{id: "pods-exec", text: "runs commands in pods", message: "runs commands in every pod of %s, as the ServiceAccount of that pod",
		cluster: findings.Error, namespace: findings.Warning, needs: [][]pattern{{podExec}},
		help: "get is enough: a WebSocket request to pods/exec is a get.", police: "pods_exec", attack: "T1609"},
	{id: "pods-debug", text: "adds debug containers to pods", message: "adds a container to every running pod of %s",
		cluster: findings.Error, namespace: findings.Warning, needs: [][]pattern{{podDebug}},
		help: "An ephemeral container has its own image and security context.", police: "pods_ephemeral_ctrs", attack: "T1609"},
	{id: "nodes-proxy", text: "uses the kubelet's API", message: "runs commands in every pod of %s by the kubelet, past admission and audit",
		cluster: findings.Error, namespace: findings.None, needs: [][]pattern{{nodesProxy}},
		help:     "get is enough: the kubelet takes a WebSocket request to exec as a get.",
		practice: "access-to-proxy-subresource-of-nodes", police: "nodes_proxy", attack: "T1609"},
	{id: "rbac-escalate", text: "writes roles with rights that it does not have", message: "gives itself every right in %s, by escalate",
		cluster: findings.Error, namespace: findings.Warning,
		needs: [][]pattern{{resources(groupRBAC, []string{"roles", "clusterroles"}, "escalate")},
			{resources(groupRBAC, []string{"roles", "clusterroles"}, writing...)}},
		help: "escalate lifts the check that a role has no more than its writer.", practice: "escalate-verb", police: "escalate_roles", attack: "T1098.006"},
	{id: "rbac-bind", text: "binds roles that it does not have", message: "binds itself to every role in %s, cluster-admin among them, by bind",
		cluster: findings.Error, namespace: findings.Warning,
		needs: [][]pattern{{resources(groupRBAC, []string{"roles", "clusterroles"}, "bind")},
			{resources(groupRBAC, []string{"rolebindings", "clusterrolebindings"}, writing...)}},
		help: "bind lifts the check that a binding gives no more than its writer has.", practice: "bind-verb", police: "bind_roles", attack: "T1098.006"},
	{id: "rbac-write", text: "writes roles and bindings", message: "grants its own rights to others in %s, and changes those of others",
		unless:  []string{"rbac-escalate", "rbac-bind"},
		cluster: findings.Warning, namespace: findings.Note,
		needs: [][]pattern{{resources(groupRBAC, []string{"rolebindings", "clusterrolebindings"}, writing...),
			resources(groupRBAC, []string{"roles", "clusterroles"}, writing...)}},
		help:   "Without escalate and bind nobody gets more than the writer has. Whoever changes a role that others are bound to changes their rights.",
		attack: "T1098.006"},
	{id: "impersonate", text: "acts as other users", message: "acts as every user or group in %s", cluster: findings.Error, namespace: findings.None,
		needs: [][]pattern{{impersonateUsers}},
		help:  "The group system:masters passes every check.", practice: "impersonate-verb", police: "impersonate", attack: "T1078"},
	{id: "impersonate-accounts", text: "acts as other accounts", message: "acts as every ServiceAccount of %s",
		cluster: findings.Error, namespace: findings.Warning, needs: [][]pattern{{impersonateAccounts}},
		help: "All verbs on serviceaccounts include impersonate.", practice: "impersonate-verb", police: "impersonate", attack: "T1078"},
	{id: "token-create", text: "makes tokens of accounts", message: "makes a token of every ServiceAccount of %s",
		cluster: findings.Error, namespace: findings.Warning, needs: [][]pattern{{tokenCreate}},
		practice: "token-request", police: "token_request", attack: "T1528"},
	{id: "csr-approve", text: "approves certificates of users", message: "issues certificates for every user of %s",
		cluster: findings.Error, namespace: findings.None, needs: [][]pattern{{csrApprove}, {with(csrSigner, "approve")}},
		help:     "A client certificate is a user and groups. It takes somebody who may request one.",
		practice: "csrs-and-certificate-issuing", police: "approve_csrs", attack: "T1078"},
	{id: "webhooks-write", text: "writes admission webhooks", message: "reads every object that is written in %s, Secrets among them, and changes it, by a webhook of its own",
		cluster: findings.Error, namespace: findings.None, needs: [][]pattern{{pattern{[]string{groupAdmission}, webhookWrite.resources, writing}}},
		practice: "control-admission-webhooks", police: "control_webhooks"},
	{id: "policies-write", text: "writes admission policies", message: "refuses or changes every object that is written in %s, by a policy of its own",
		cluster: findings.Warning, namespace: findings.None, needs: [][]pattern{{pattern{[]string{groupAdmission}, policyWrite.resources, writing}}},
		help: "It also switches off the policies of others."},
	{id: "crds-write", text: "changes CRDs of others", message: "changes and removes every kind of custom resource of %s, with all objects of it",
		cluster: findings.Warning, namespace: findings.None,
		needs: [][]pattern{{resources(groupExtensions, crdWrite.resources, "update", "patch", "delete", "deletecollection")}},
		help:  "Removing a CRD removes its objects. A conversion webhook sees every object of the kind."},
	{id: "apiservices-write", text: "serves APIs in place of others", message: "answers requests of other API groups of %s in their place",
		cluster: findings.Warning, namespace: findings.None, needs: [][]pattern{{pattern{[]string{groupRegistration}, apiServiceWrite.resources, writing}}},
		help: "The API server sends every request of a group to the service that an APIService names."},
	{id: "namespaces-write", text: "changes namespaces", message: "relabels namespaces (%s): their Pod Security level, and which network policies and webhooks hold there",
		cluster: findings.Warning, namespace: findings.Note, needs: [][]pattern{{resources("", []string{"namespaces"}, "update", "patch")}},
		practice: "namespace-modification"},
	{id: "volumes-create", text: "makes PersistentVolumes", message: "reaches the files of every node of %s, by a PersistentVolume with a hostPath",
		cluster: findings.Warning, namespace: findings.None, needs: [][]pattern{{resources("", []string{"persistentvolumes"}, "create")}},
		help: "A pod has to claim the volume.", practice: "persistent-volume-creation", attack: "T1611"},
	{id: "nodes-write", text: "changes nodes", message: "moves pods to nodes of its choice in %s, by labels, taints or removal of nodes",
		cluster: findings.Warning, namespace: findings.None,
		needs:  [][]pattern{{resources("", []string{"nodes", "nodes/status"}, "update", "patch", "delete", "deletecollection")}},
		police: "steal_pods"},
	{id: "operators-install", text: "installs operators", message: "installs operators in %s, with the rights that they ask for",
		cluster: findings.Error, namespace: findings.Warning,
		needs: [][]pattern{{resources(groupOLM, []string{"subscriptions", "clusterserviceversions", "installplans"}, "create"),
			resources(groupOLMv1, []string{"clusterextensions"}, "create")}},
		help: "OLM grants what a ClusterServiceVersion asks for. Approving an InstallPlan of others is not counted.", attack: "T1098.006"},
	{id: "scc-use", text: "runs privileged pods on OpenShift", message: "runs pods in %s that leave the restricted security context",
		cluster: findings.Warning, namespace: findings.Warning, needs: [][]pattern{{resources(groupSCC, []string{"securitycontextconstraints"}, "use")}},
		names: []string{"privileged", "hostaccess", "hostmount-anyuid", "hostnetwork", "hostnetwork-v2", "hostpath-provisioner", "node-exporter"},
		help:  "The SecurityContextConstraints privileged gives root on the node.", attack: "T1611"},
	{id: "configmaps-write", text: "writes ConfigMaps of kube-system", message: "writes every ConfigMap of %s, on Amazon EKS also aws-auth, which makes cluster administrators",
		cluster: findings.Warning, namespace: findings.None, needs: [][]pattern{{resources("", []string{"configmaps"}, writing...)}},
		police: "eks_modify_aws_auth"},
	{id: "services-status", text: "takes over addresses", message: "takes over external addresses of %s (CVE-2020-8554)",
		cluster: findings.Note, namespace: findings.None, needs: [][]pattern{{resources("", []string{"services/status"}, "update", "patch")}},
		police: "modify_service_status_cve_2020_8554"},
}

const (
	ruleUnknown = "role-unknown"
	ruleAccount = "account-missing"
	ruleUsers   = "users-gain"
	ruleEvery   = "everyone-gains"
)

const (
	practices = "https://kubernetes.io/docs/concepts/security/rbac-good-practices/#"
	policeURL = "https://github.com/PaloAltoNetworks/rbac-police/blob/main/lib/"
	attackURL = "https://attack.mitre.org/techniques/"
)

// Rules explains the findings of a report.
func Rules() []findings.Rule {
	out := make([]findings.Rule, 0, len(consequences)+4)
	for _, p := range consequences {
		out = append(out, findings.Rule{ID: p.id, Text: p.text, Help: p.sources()})
	}
	out = append(out, findings.Rule{ID: ruleUnknown, Text: "is bound to a role that is not among the objects",
		Help: "What the role allows is in the cluster, not in what was read."},
		findings.Rule{ID: ruleAccount, Text: "is bound and not among the objects",
			Help: "Whoever creates the ServiceAccount, or its namespace, has its permissions. Often the namespace is not the operator's."},
		findings.Rule{ID: ruleEvery, Text: "every user or every account gains permissions",
			Help: "The groups system:authenticated, system:unauthenticated and system:serviceaccounts have everybody in them."},
		findings.Rule{ID: ruleUsers, Text: "users gain more than the operator's own APIs",
			Help: "A ClusterRole with a label aggregate-to adds its rules to a role that users have."})
	slices.SortFunc(out, func(a, b findings.Rule) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// sources returns the help with the addresses of those who say so.
func (c consequence) sources() string {
	text := c.help
	add := func(s string) {
		if text != "" {
			text += " "
		}
		text += s
	}
	if c.practice != "" {
		add("Kubernetes: " + practices + c.practice + ".")
	}
	if c.police != "" {
		add("rbac-police: " + policeURL + c.police + ".rego.")
	}
	if c.attack != "" {
		add("MITRE ATT&CK: " + attackURL + strings.Replace(c.attack, ".", "/", 1) + "/.")
	}
	return text
}

// paths finds what follows, for each subject the worst place only.
func (r *Report) paths(s scopes) []findings.Finding {
	out := []findings.Finding{}
	for i := 0; i < len(r.Permissions); {
		j := i
		for j < len(r.Permissions) && r.Permissions[j].Subject == r.Permissions[i].Subject {
			j++
		}
		out = append(out, follow(r.Permissions[i:j], s)...)
		i = j
	}
	for i, item := range r.Permissions {
		if s := item.Subject; r.missing[s] && (i == 0 || r.Permissions[i-1].Subject != s) {
			out = append(out, item.Source.finding(ruleAccount, findings.Warning, s, "is bound and not among the objects: whoever creates it has its permissions"))
		}
	}
	out = append(out, r.everyone()...)
	for _, u := range r.Unknown {
		out = append(out, u.Source.finding(ruleUnknown, findings.Warning, u.Subject,
			fmt.Sprintf("is bound in %s to %s, which is not among the objects", placeText(u.Namespaces), short(u.Role))))
	}
	for _, item := range r.Users {
		if item.Risk != Other && item.Risk != NoEffect {
			out = append(out, item.Source.finding(ruleUsers, findings.Warning, item.Subject,
				fmt.Sprintf("users who are bound to this role gain: %s", item.text())))
		}
	}
	slices.SortStableFunc(out, func(a, b findings.Finding) int {
		return slices.Index(findings.Levels, a.Level) - slices.Index(findings.Levels, b.Level)
	})
	return out
}

// everyone says what groups gain that everybody is in: an error where it is dangerous.
func (r *Report) everyone() []findings.Finding {
	var out []findings.Finding
	noted := map[Subject]bool{}
	for _, i := range r.Permissions {
		isEveryone := slices.ContainsFunc(everyone, func(e struct{ group, who string }) bool { return e.group == i.Subject.Name })
		if i.Subject.Kind != rbacv1.GroupKind || !isEveryone || i.Risk == NoEffect {
			continue
		}
		level := findings.Error
		if i.Risk == Other {
			if level = findings.Note; noted[i.Subject] {
				continue // one is enough to look at the list
			}
			noted[i.Subject] = true
		}
		out = append(out, i.Source.finding(ruleEvery, level, i.Subject, fmt.Sprintf("gives everybody in it in %s: %s", placeText(i.Namespaces), i.text())))
	}
	return out
}

// placed are the items of one subject by place.
type placed map[string][]Item

// follow finds what follows from the items of one subject.
func follow(items []Item, s scopes) []findings.Finding {
	here := placed{"": nil}
	for _, i := range items {
		for _, place := range i.places() {
			if i.Risk != NoEffect {
				here[place] = append(here[place], i)
			}
		}
	}
	var out []findings.Finding
	said := map[string]bool{} // id and place; without a place, in the cluster
	for _, p := range consequences {
		sources := map[string]Source{}
		for place := range here {
			worse := func(id string) bool { return said[id+place] || said[id] }
			if source, ok := p.source(here, place, s); ok && !worse("everything") && !slices.ContainsFunc(p.unless, worse) {
				sources[place] = source
			}
		}
		for place := range sources {
			said[p.id+place] = true
		}
		if f, ok := p.finding(items[0].Subject, sources); ok {
			out = append(out, f)
		}
	}
	return out
}

// finding says what follows in the cluster or, if not there, in namespaces.
func (c consequence) finding(subject Subject, sources map[string]Source) (findings.Finding, bool) {
	if source, ok := sources[""]; ok && c.cluster != findings.None {
		return source.finding(c.id, c.cluster, subject, fmt.Sprintf(c.message, placeText([]string{Everywhere}))), true
	}
	delete(sources, "")
	if len(sources) == 0 || c.namespace == findings.None {
		return findings.Finding{}, false
	}
	namespaces := slices.Sorted(maps.Keys(sources))
	return sources[namespaces[0]].finding(c.id, c.namespace, subject, fmt.Sprintf(c.message, placeText(namespaces))), true
}

// source returns the source of the first need if all needs are met at a place, at least one of them by what is granted there.
func (c consequence) source(here placed, place string, s scopes) (first Source, ok bool) {
	own := false
	for n, need := range c.needs {
		source, ok := c.meet(need, here[place], place, s)
		if ok {
			own = true
		} else if source, ok = c.meet(need, here[""], place, s); !ok {
			return Source{}, false
		}
		if n == 0 {
			first = source
		}
	}
	return first, own
}

// meet finds the item that allows one of the patterns at a place.
func (c consequence) meet(need []pattern, items []Item, place string, s scopes) (Source, bool) {
	for _, i := range items {
		if len(i.ResourceNames) > 0 && !c.forNames(i) {
			continue
		}
		if slices.ContainsFunc(need, func(n pattern) bool { return n.allowedBy(i, place, s) }) {
			return i.Source, true
		}
	}
	return Source{}, false
}

func (c consequence) forNames(i Item) bool {
	return slices.ContainsFunc(i.ResourceNames, func(name string) bool { return slices.Contains(c.names, name) })
}

func (s Source) finding(rule string, level findings.Level, subject Subject, message string) findings.Finding {
	f := findings.Finding{Rule: rule, Level: level, File: s.File, Line: s.Line, Object: short(subject.String()), Message: message}
	if s.File == "" {
		f.Message += " (" + short(s.Object) + ", which OLM makes)"
	}
	return f
}
