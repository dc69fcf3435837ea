package admission

import (
	"fmt"
	"testing"

	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/olmgen/olmgen/golden/fuzztest"
)

// many are the facts of 300 operators with long names, each with ten releases on the way to the approved one.
func many(suffix string) (f Facts) {
	const operators, releases = 300, 10
	const digest = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
	for i := range operators {
		name := fmt.Sprintf("openshift-cluster-logging-operator-%03d", i)
		for k := range releases {
			f.CSVs = append(f.CSVs, fmt.Sprintf("%s.v4.16.%d-202607120934%s", name, k, suffix))
		}
		f.Subscriptions = append(f.Subscriptions, Subscription{"operators", name, "stable-4.16" + suffix, "redhat-operators-pinned",
			"openshift-marketplace", "clusters/prod/" + name + "/subscription.yaml"})
		f.Extensions = append(f.Extensions, Extension{Name: name, Package: name, Version: ">=4.16.0 <4.17.0" + suffix,
			Channels: []string{"stable-4.16", "stable-4.17", "candidate"}, Selector: map[string]string{"olm.operatorframework.io/metadata.name": "pinned"},
			File: "clusters/prod/" + name + "/extension.yaml"})
	}
	for i := range 20 {
		name := fmt.Sprintf("redhat-operators-pinned-%d%s", i, suffix)
		f.CatalogSources = append(f.CatalogSources, CatalogSource{"openshift-marketplace", name, "registry.example.com/pins/" + name + "@" + digest})
		f.ClusterCatalogs = append(f.ClusterCatalogs, ClusterCatalog{name, "registry.example.com/pins/" + name + "@" + digest})
	}
	return f
}

// Each request about 300 operators stays within the API server's budget, while two pins hold, with a margin of three:
// what passes, what is refused, and an InstallPlan with all operators.
func TestCosts(t *testing.T) {
	fuzztest.Seconds(t)
	before := many("-before")
	f := many("")
	users := make([]string, 50)
	for i := range users {
		users[i] = fmt.Sprintf("system:serviceaccount:namespace-%d:account", i)
	}
	s := newServer(t, &Policies{Exempt{nil, users, users}, f, &before}, "clusters/prod")
	var csvs, unknown []any
	var plan []any
	for i := range f.CSVs {
		if i%10 > 0 {
			continue
		}
		csvs, unknown = append(csvs, f.CSVs[i]), append(unknown, f.CSVs[i]+"-other")
		plan = append(plan, object{"resource": object{"kind": "ClusterServiceVersion", "name": f.CSVs[i]}})
		for range 30 {
			plan = append(plan, object{"resource": object{"kind": "ClusterRoleBinding", "name": "x"}})
		}
	}
	installPlan := func(names []any, approved bool) object {
		return object{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "InstallPlan", "metadata": object{"name": "install-x",
			"namespace": "operators"}, "spec": object{"approved": approved, "clusterServiceVersionNames": names},
			"status": object{"plan": plan}}
	}
	subscription := func(channel string) object {
		return object{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription", "metadata": object{"name": "x",
			"namespace": "operators"}, "spec": object{"name": f.Subscriptions[299].Package, "channel": channel,
			"source": "redhat-operators-pinned", "sourceNamespace": "openshift-marketplace"}}
	}
	extension := func(version string) object {
		return object{"apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterExtension", "metadata": object{"name": "x"},
			"spec": object{"source": object{"catalog": object{"packageName": f.Extensions[299].Package, "version": version,
				"channels": []any{"candidate", "stable-4.16", "stable-4.17"},
				"selector": object{"matchLabels": object{"olm.operatorframework.io/metadata.name": "pinned"}}}}}}
	}
	source := func(image string) object {
		return object{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource", "metadata": object{
			"name": f.CatalogSources[19].Name, "namespace": "openshift-marketplace"}, "spec": object{"sourceType": "grpc", "image": image}}
	}
	catalog := func(image string) object {
		return object{"apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterCatalog", "metadata": object{"name": f.ClusterCatalogs[19].Name},
			"spec": object{"source": object{"image": object{"ref": image}}}}
	}
	for _, c := range []struct {
		name        string
		object, old object
		refused     bool
	}{
		{"an InstallPlan", installPlan(csvs, true), nil, false},
		{"its approval", installPlan(csvs, true), installPlan(csvs, false), false},
		{"the approval of another", installPlan(unknown, true), installPlan(unknown, false), true},
		{"a Subscription", subscription("stable-4.16"), nil, false},
		{"the Subscription of before", subscription("stable-4.16-before"), nil, false},
		{"another Subscription", subscription("other"), nil, true},
		{"a ClusterExtension", extension(">=4.16.0 <4.17.0"), nil, false},
		{"another ClusterExtension", extension("4.18.0"), nil, true},
		{"a CatalogSource", source(f.CatalogSources[19].Image), nil, false},
		{"another CatalogSource", source("registry.example.com/other"), nil, true},
		{"a ClusterCatalog", catalog(f.ClusterCatalogs[19].Image), nil, false},
		{"another ClusterCatalog", catalog("registry.example.com/other"), nil, true},
	} {
		a := s.ask(t, &user.DefaultInfo{Name: "somebody", Groups: users[:1]}, c.object, c.old)
		if a.asked {
			t.Errorf("%s: a member of an exempt group is asked", c.name)
		}
		a = s.ask(t, &user.DefaultInfo{Name: "somebody", Groups: []string{"a", "b", "c"}}, c.object, c.old)
		if a.refused != c.refused || !a.asked {
			t.Errorf("%s: refused %v: %s", c.name, a.refused, a.message)
		}
		t.Logf("%s: %+v", c.name, a.cost)
		if a.cost.expression*3 > celconfig.PerCallLimit || a.cost.binding*3 > celconfig.RuntimeCELCostBudget ||
			a.cost.conditions*3 > celconfig.RuntimeCELCostBudgetMatchConditions {
			t.Errorf("%s costs too much: %+v", c.name, a.cost)
		}
	}
}
