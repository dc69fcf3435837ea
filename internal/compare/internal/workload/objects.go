package workload

import (
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/compare/change"
	"github.com/olmgen/olmgen/internal/compare/internal/fields"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/manifest"
)

var serviceRules = []Rule{
	{field(`^spec\.type$`), change.Service, gains(findings.Warning, "it can be reached from outside of the cluster",
		"LoadBalancer", "NodePort")},
	{field(`^spec\.externalName$`), change.Service, given(findings.Warning,
		"whoever asks for this Service reaches a name outside of the cluster")},
	{field(`^spec\.externalIPs\[`), change.Service, given(findings.Warning, "nodes take packets for this address")},
	{field(`^spec\.`), change.Service, nil},
}

// namespaceRules are about the labels by which the cluster treats the pods of a namespace.
var namespaceRules = []Rule{{field(`^metadata\.labels\["pod-security\.kubernetes\.io/enforce"\]$`), change.Security,
	when(func(c *change.Change) bool {
		return c.New == "privileged" || c.New == "baseline" && c.Old == "restricted"
	}, findings.Warning, "Pod Security allows more in this namespace")}}

var priorityRules = []Rule{{field(`^globalDefault$`), change.Object,
	gains(findings.Warning, "every pod without a class has this priority", "true")}}

// secretRules are about Secrets that Kubernetes fills in.
var secretRules = []Rule{{field(`^type$`), change.Account, gains(findings.Warning,
	"it gets a token of a ServiceAccount that never expires", "kubernetes.io/service-account-token")}}

// budgetRules are about PodDisruptionBudgets (Kubernetes: pkg/controller/disruption).
var budgetRules = []Rule{
	{field(`^spec\.selector\b`), change.Object, loses("it may hold for more pods, and for all if nothing is left")},
	{field(`^spec\.maxUnavailable$`), change.Object, gains(findings.Warning, noEviction, "0", "0%")},
	{field(`^spec\.minAvailable$`), change.Object, gains(findings.Warning, noEviction, "100%")},
}

const noEviction = "no pod of it can be evicted: nodes cannot be drained"

// constraintRules are about SecurityContextConstraints of OpenShift (openshift/api: security/v1, types.go).
var constraintRules = []Rule{
	{field(`^groups\[system:(authenticated|unauthenticated|serviceaccounts)`), change.Security, given(findings.Error,
		"pods of everybody may do this")},
	{field(`^(users|groups)\[`), change.Security, given(findings.Warning, "more pods may do this")},
	{field(`^(allowPrivilegedContainer|allowHost[A-Za-z]+)$`), change.Security, gains(findings.Error,
		"pods reach their node", "true")},
	{field(`^allowPrivilegeEscalation$`), change.Security, gains(findings.Warning,
		"a process may get more rights than its parent", "true")},
	{field(`^volumes\[(\*|hostPath)\]$`), change.Security, given(findings.Error, "pods reach the files of their node")},
	{field(`^(allowedCapabilities|seccompProfiles|allowedUnsafeSysctls)\[`), change.Security, given(findings.Warning,
		"pods may ask for more")},
	{field(`^(runAsUser|seLinuxContext|fsGroup|supplementalGroups)\.type$`), change.Security, gains(findings.Warning,
		"pods choose it", "RunAsAny")},
	{field(`^priority$`), change.Security, always(findings.Warning,
		"the highest priority is tried first: pods may run by other constraints")},
	{field(`.`), change.Security, nil},
}

// configRules are about ConfigMaps, which can have images.
var configRules = []Rule{{field(`^data\b`), change.Object, ifImage}}

// ifImage judges a value that is an image in both releases as that of a container.
func ifImage(c *change.Change) {
	if images.Qualified(c.Old) && images.Qualified(c.New) {
		c.Part = change.Image
		Moved(c)
	}
}

// rulesOf has the rules of kinds, those of the core group with a slash.
var rulesOf = map[string][]Rule{"/Service": serviceRules, "/Namespace": namespaceRules, "/ConfigMap": configRules,
	"/Secret": secretRules, "PriorityClass": priorityRules, "PodDisruptionBudget": budgetRules,
	"SecurityContextConstraints": constraintRules}

const notWatched = "namespaces are no longer watched: nothing controls custom resources there"

// fewer returns the namespaces that operators watch no longer; "" stands for all.
func fewer(old, now []string) []string {
	return lists.Filter(old, func(n string) bool { return !slices.Contains(now, "") && !slices.Contains(now, n) })
}

// unwatched returns the OperatorGroups that no longer have a target namespace which they had, and these namespaces; and
// those that go to all namespaces, with the targets that they had.
func unwatched(pairs []Pair) map[key]string {
	namespaces := [2]map[string]labels.Set{{}, {}}
	for _, p := range pairs {
		for i, o := range []*manifest.Object{p.Old, p.New} {
			if o != nil && o.Kind == "Namespace" && o.Group() == "" {
				set := labels.Set{}
				_ = o.Field(&set, "metadata", "labels") // labels of another type select nothing
				set[corev1.LabelMetadataName], namespaces[i][o.Name] = o.Name, set
			}
		}
	}
	out := map[key]string{}
	for _, p := range pairs {
		if p.Old == nil || p.New == nil || p.New.Group() != olm.Group || p.New.Kind != "OperatorGroup" {
			continue
		}
		var targets [2][]string
		for i, o := range []*manifest.Object{p.Old, p.New} {
			var spec operatorsv1.OperatorGroupSpec
			_ = o.Field(&spec, "spec") // else it names none
			targets[i], _ = olm.TargetsOf(&spec).Resolve(namespaces[i])
		}
		for _, name := range fewer(targets[0], targets[1]) {
			out[keyOf(p.New)], out[key{"", "Namespace", "", name}] = "", ""
		}
		if slices.Contains(targets[1], "") && len(targets[0]) > 0 && !slices.Contains(targets[0], "") {
			out[keyOf(p.New)] = strings.Join(targets[0], ", ")
		}
	}
	return out
}

// judgeTargets judges the first change of an OperatorGroup or a Namespace that takes the namespace from operators, or
// gives them all where they had some.
func judgeTargets(list []change.Change, had string) {
	for i := range list {
		c := &list[i]
		if strings.HasPrefix(c.Field, "spec.") || strings.HasPrefix(c.Field, "metadata.labels") {
			c.Severity, c.Message = findings.Warning, notWatched
			if had != "" {
				c.Field, c.Change, c.Old, c.New = "spec.targetNamespaces", change.Changed, had, "all namespaces"
				c.Message = "its operators watch all namespaces now"
			}
			return
		}
	}
}

// removed says what it means that an object is gone.
func removed(o *manifest.Object, part change.Part) (findings.Severity, string) {
	switch {
	case images.HasPods(o.Group(), o.Kind):
		return findings.Warning, "no pod of it runs any more"
	case part == change.NetworkPolicy:
		return findings.Warning, "it restricts no pods any more"
	case part == change.Webhook:
		return findings.Warning, "nothing checks or changes these objects any more"
	case o.Group() == "" && o.Kind == "Namespace":
		return findings.Error, "where it is pruned, everything in it is deleted"
	}
	return findings.Info, ""
}

// calledServices returns the Services that the API server calls, as namespace/name.
func calledServices(list []*manifest.Object) (map[string]bool, error) {
	out := map[string]bool{}
	for _, o := range list {
		clients, err := clientsOf(o)
		if err != nil {
			return nil, err
		}
		for _, c := range clients {
			if s, ok := c.(map[string]any); ok {
				out[fields.Text(s["namespace"])+"/"+fields.Text(s["name"])] = true
			}
		}
	}
	return out, nil
}

// clientsOf returns the Services that an object makes the API server call.
func clientsOf(o *manifest.Object) ([]any, error) {
	switch {
	case o.Kind == "APIService":
		service, err := o.Get("spec", "service")
		return []any{service}, err
	case o.Kind == "CustomResourceDefinition":
		service, err := o.Get("spec", "conversion", "webhook", "clientConfig", "service")
		return []any{service}, err
	case partOf(o) != change.Webhook:
		return nil, nil
	}
	value, err := o.Value()
	if err != nil {
		return nil, err
	}
	return lists.Map(normalize.List(value, "webhooks"), func(w map[string]any) any {
		return olm.Mapping(w["clientConfig"])["service"]
	}), nil
}
