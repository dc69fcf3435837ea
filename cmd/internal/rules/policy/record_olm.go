package policy

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
)

func (v *view) olm(kind string) []*entry { return v.kinds[olm.Group+"/"+kind] }

// operators returns the ClusterServiceVersions of the tree, and those of what OLM installs for it.
func (v *view) operators() []*entry {
	return slices.Concat(v.olm("ClusterServiceVersion"), v.installed)
}

// notDeployed returns the check of a kind that nobody deploys by hand.
func notDeployed(kind, msg, hint string) func(*view) {
	return func(v *view) {
		for _, o := range v.olm(kind) {
			v.hit(o.Object, "", msg, hint)
		}
	}
}

// inClusterScope returns the check of a kind that belongs into cluster-scope.
func inClusterScope(kind, hint string) func(*view) {
	return func(v *view) {
		for _, o := range v.olm(kind) {
			if o.area == application {
				v.hit(o.Object, "", "outside of the cluster-scope application", hint)
			}
		}
	}
}

func defaultCatalog(v *view) {
	declared := lists.Set(v.olm("CatalogSource"), func(c *entry) string { return c.Namespace + "/" + c.Name })
	for _, s := range v.subscriptions {
		isDefault := olm.IsDefaultCatalogSource(s.sourceNamespace, s.source)
		if s.source == "" || isDefault || declared[s.sourceNamespace+"/"+s.source] {
			continue
		}
		v.hit(s.Object, "spec.source",
			fmt.Sprintf("%s/%s is neither a default catalog nor a CatalogSource of the tree", s.sourceNamespace,
				s.source),
			"use "+strings.Join(olm.DefaultCatalogSources, ", ")+" in "+marketplace)
	}
}

func catalogNamespace(v *view) {
	for _, o := range v.olm("CatalogSource") {
		switch o.Namespace {
		case marketplace:
		case "":
			v.hit(o.Object, "metadata.namespace", "missing, must be "+marketplace, hintNamespace)
		default:
			v.hit(o.Object, "metadata.namespace", "must be "+marketplace, "")
		}
	}
}

const hintNamespace = "set it in the object or in the kustomization beside it, or check the output of kustomize build"

func subscriptionWithApplication(v *view) {
	namespaces := map[string][]string{} // of the other objects of each application
	for _, o := range v.objects {
		if o.area == application && o.Group() != olm.Group && o.Group() != olm.GroupPolicy && o.Namespace != "" {
			namespaces[o.app] = lists.Add(namespaces[o.app], o.Namespace)
		}
	}
	for _, s := range v.subscriptions {
		known := namespaces[s.app]
		if s.area != application || s.Namespace == "" || len(known) == 0 || slices.Contains(known, s.Namespace) {
			continue
		}
		v.hit(s.Object, "metadata.namespace",
			fmt.Sprintf("the application %s is in %s", s.app, strings.Join(slices.Sorted(slices.Values(known)), ", ")),
			"deploy the operator and its application to one namespace")
	}
}

func globalSubscriptionPlace(v *view) {
	for _, s := range v.subscriptions {
		if s.area == application && v.globalIn(s.Namespace) {
			v.hit(s.Object, "", "outside of the cluster-scope application, though the operator sees all namespaces",
				"move it to cluster-scope, or give the operator one target namespace")
		}
	}
}

func globalSubscriptionNamespace(v *view) {
	for _, s := range v.subscriptions {
		if s.Namespace != globalOperators && v.globalIn(s.Namespace) {
			v.hit(s.Object, "metadata.namespace",
				"operators that see all namespaces are usually in "+globalOperators, "")
		}
	}
}

func subscriptionWithGroup(v *view) {
	for _, s := range v.subscriptions {
		switch {
		case s.Namespace == "":
			v.hit(s.Object, "metadata.namespace", "missing, must be that of an OperatorGroup", hintNamespace)
		case len(v.groupsIn[s.Namespace]) == 0 && s.Namespace != globalOperators:
			v.hit(s.Object, "metadata.namespace", "there is no OperatorGroup in "+s.Namespace,
				"add one to cluster-scope; if there is one, pass the path of cluster-scope too")
		}
	}
}

func noSecondInstance(v *view) {
	global := map[string]*subscription{}
	for _, s := range v.subscriptions {
		if s.pkg != "" && global[s.pkg] == nil && v.globalIn(s.Namespace) {
			global[s.pkg] = s
		}
	}
	for _, s := range v.subscriptions {
		if g := global[s.pkg]; g != nil && s.Namespace != g.Namespace {
			v.hit(s.Object, "spec.name", fmt.Sprintf("%s is installed for all namespaces by "+
				"Subscription %s in %s", s.pkg, g.Name, g.Namespace), "remove one of them")
		}
	}
}

func clusterResources(v *view) {
	for _, o := range v.objects {
		if o.area == application && v.scopeOf(o) == bundle.ClusterScoped {
			v.hit(o.Object, "", "a cluster-scoped object outside of the cluster-scope application",
				"move it to cluster-scope")
		}
	}
}

// workloadGroups and workloadKinds are the API groups and kinds of workloads.
var (
	workloadGroups = []string{"apps", "batch", "apps.openshift.io", "route.openshift.io"}
	workloadKinds  = []string{"/Pod", "/Service", "/ReplicationController", "networking.k8s.io/Ingress"}
)

func workloads(v *view) {
	for _, o := range v.objects {
		if !slices.Contains(workloadGroups, o.Group()) && !slices.Contains(workloadKinds, o.Group()+"/"+o.Kind) {
			continue
		}
		switch {
		case o.area == clusterScope:
			v.hit(o.Object, "", "a workload in the cluster-scope application",
				"move it to a separate folder below the root")
		case o.area == application && v.repositories[o.app] && !strings.Contains(o.rel, "/"):
			v.hit(o.Object, "", "a workload outside of an application's folder",
				"move it to a folder below the root")
		}
	}
}

func groupAccess(v *view) {
	for _, role := range v.permissions().open() {
		i := slices.IndexFunc(role.PolicyRules(), func(r rbacv1.PolicyRule) bool {
			return grants(r, olm.Group, "operatorgroups", changes...)
		})
		if i >= 0 {
			v.hit(role.Object, fmt.Sprintf("rules[%d]", i), "lets users of projects change OperatorGroups",
				"remove operatorgroups from the rule, or do not aggregate the role")
		}
	}
}

func oneGroup(v *view) {
	for _, namespace := range lists.Keys(v.groupsIn) {
		groups := v.groupsIn[namespace]
		for _, g := range groups[1:] {
			if g.Name != groups[0].Name {
				v.hit(g.Object, "metadata.name",
					fmt.Sprintf("a second OperatorGroup in %s, besides %s", namespace, groups[0].Name),
					"OLM installs nothing in a namespace with two, keep one")
			}
		}
	}
}

func groupTargets(v *view) {
	for _, g := range v.groups {
		switch {
		case len(g.targets.Names) == 1:
		case len(g.targets.Names) > 1:
			v.hit(g.Object, "spec.targetNamespaces",
				fmt.Sprintf("%d target namespaces, only one is allowed", len(g.targets.Names)),
				"write one OperatorGroup per target, each in its own namespace, or a global one")
		case g.targets.BySelector():
			v.hit(g.Object, "spec.selector", "a label selector sets the targets",
				"list the one namespace in targetNamespaces")
		default:
			for _, field := range lists.Keys(g.spec) {
				value := g.spec[field]
				empty := value == nil || field == "selector" || field == "targetNamespaces" ||
					field == "upgradeStrategy" && value == "Default"
				if !empty {
					v.hit(g.Object, "spec."+field, "the spec of a global OperatorGroup must be blank",
						"remove the field")
				}
			}
		}
	}
}

func targetDeclared(v *view) {
	declared := map[string]area{}
	for _, kind := range []string{"/Namespace", "project.openshift.io/Project", "project.openshift.io/ProjectRequest"} {
		for _, o := range v.kinds[kind] {
			if p, ok := declared[o.Name]; !ok || p == application {
				declared[o.Name] = o.area
			}
		}
	}
	for _, g := range v.groups {
		for i, target := range g.targets.Names {
			field := fmt.Sprintf("spec.targetNamespaces[%d]", i)
			if where, ok := declared[target]; !ok {
				v.hit(g.Object, field, "there is no Namespace "+target, "add it to cluster-scope")
			} else if where == application {
				v.hit(g.Object, field, "the Namespace "+target+
					" is outside of the cluster-scope application", "move it to cluster-scope")
			}
		}
	}
}

func groupWithSubscription(v *view) {
	subscribed := lists.Set(v.subscriptions, func(s *subscription) string { return s.Namespace })
	for _, g := range v.groups {
		switch {
		case g.Namespace == "":
			v.hit(g.Object, "metadata.namespace", "missing, must be that of a Subscription", hintNamespace)
		case !subscribed[g.Namespace]:
			v.hit(g.Object, "metadata.namespace", "there is no Subscription in "+g.Namespace,
				"remove the group, or pass the path of the application too")
		}
	}
}
