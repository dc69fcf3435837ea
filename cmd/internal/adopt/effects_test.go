package adopt

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/internal/olm/normalize"
)

// compared returns how an object of the cluster compares with a rendered one, while the cluster's CSV is rendered too.
func compared(t *testing.T, live, rendered map[string]any) Compared {
	t.Helper()
	s := cluster(t, ferry(), []map[string]any{live})
	for _, c := range s.Verify([]map[string]any{ferry()[1], rendered}).Objects {
		if c.object.Kind == live["kind"] && c.Verdict != RenderedOnly && c.object.Name == field(live, "name") {
			return c
		}
	}
	t.Fatalf("%v is not compared", live)
	return Compared{}
}

// Applying restarts pods only if it changes a pod template, or what OLM writes into one; the API server refuses to
// change some fields.
func TestEffects(t *testing.T) {
	const managed = `metadata: {labels: {olm.managed: "true"}}, `
	deployment := func(fields string) string { return managed + `spec: {selector: {app: a}, ` + fields + `}` }
	csv := func(fields string) string {
		return `metadata: {annotations: {b: c}}, status: {phase: Succeeded}, spec: {` + fields + `}`
	}
	copied := func(fields string) string {
		return `metadata: {labels: {olm.copiedFrom: elsewhere}}, spec: {` + fields + `}`
	}
	image := func(image string) string {
		return `template: {spec: {containers: [{name: a, image: ` + image + `}]}}`
	}
	pods := func(fields string) string {
		return `install: {spec: {deployments: [{name: a, spec: {` + fields + `}}]}}`
	}
	crd := func(fields string) string {
		return managed + `spec: {group: example.com, names: {plural: as}, ` + fields + `}, status: {storedVersions: [v1, v0]}`
	}
	for _, c := range []struct {
		what, kind, cluster, rendered string
		restarts, immutable           []string
	}{
		{"an image", "Deployment", deployment(image("x")), deployment(image("y")), []string{"spec.template.spec.containers[a].image"}, nil},
		{"an image that is not rendered", "Deployment", deployment(image("x")), deployment(`template: {spec: {containers: [{name: a}]}}`), nil, nil},
		{"replicas", "Deployment", deployment(`replicas: 2`), deployment(`replicas: 3`), nil, nil},
		{"a Deployment that somebody stopped", "Deployment", deployment(`replicas: 0`), deployment(`replicas: 3`), []string{"spec.replicas"}, nil},
		{"a history that nobody kept", "Deployment", deployment(`revisionHistoryLimit: 0`), deployment(`revisionHistoryLimit: 3`), nil, nil},
		{"a Service that is to be headless", "Service", managed + `spec: {clusterIP: 10.0.0.1, ports: []}`, managed + `spec: {clusterIP: None, ports: []}`, nil, []string{"spec.clusterIP"}},
		{"a strategy without rolling updates", "Deployment", deployment(`strategy: {type: RollingUpdate}`), deployment(`strategy: {type: Recreate}`),
			nil, []string{"spec.strategy"}},
		{"a strategy without rolling updates, and replicas", "Deployment", deployment(`replicas: 2`), deployment(`replicas: 3, strategy: {type: Recreate}`),
			nil, []string{"spec.strategy"}},
		{"a strategy with its own rolling updates", "Deployment", deployment(`strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 3}}`),
			deployment(`strategy: {type: Recreate}`), nil, []string{"spec.strategy.type"}},
		{"a strategy that has none", "Deployment", deployment(`strategy: {type: Recreate, a: 1}`), deployment(`strategy: {type: Recreate, a: 2}`), nil, nil},
		{"other rolling updates", "Deployment", deployment(`strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 2}}`),
			deployment(`strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}`), nil, nil},
		{"a strategy with rolling updates", "Deployment", deployment(`strategy: {type: Recreate}`),
			deployment(`strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}`), nil, nil},
		{"a selector", "Deployment", managed + `spec: {selector: {app: a}}`, managed + `spec: {selector: {app: b}}`, nil, []string{"spec.selector.app"}},
		{"a selector that is not rendered", "Deployment", managed + `spec: {selector: {app: a}}`, managed + `spec: {}`, nil, []string{"spec.selector"}},
		{"a role of a binding", "RoleBinding", managed + `roleRef: {kind: Role, name: a}`, managed + `roleRef: {kind: Role, name: b}`, nil, []string{"roleRef.name"}},
		{"a role of a binding that is not rendered", "RoleBinding", managed + `roleRef: {kind: Role, name: a}`, managed + `subjects: []`, nil, []string{"roleRef"}},
		{"a value that only the cluster has", "PriorityClass", managed + `value: 1, preemptionPolicy: Never`, managed + `value: 1`, nil, nil},
		{"a value", "PriorityClass", managed + `value: 1`, managed + `value: 2`, nil, []string{"value"}},
		{"pods of a CSV", "ClusterServiceVersion", csv(pods(`a: 1`)), csv(pods(`a: 2`)), []string{"spec.install.spec.deployments[0].spec.a"}, nil},
		{"replicas of a CSV", "ClusterServiceVersion", csv(pods(`replicas: 1`)), csv(pods(`replicas: 2`)), nil, nil},
		{"a description of a CSV", "ClusterServiceVersion", csv(`description: a`), csv(`description: b`), nil, nil},
		{"an annotation of a CSV", "ClusterServiceVersion", csv(``), `metadata: {annotations: {b: d}}, spec: {}`, []string{"metadata.annotations.b"}, nil},
		{"an annotation of a CSV that is not rendered", "ClusterServiceVersion", csv(``), `spec: {}`, nil, nil},
		{"a copied CSV", "ClusterServiceVersion", copied(pods(`a: 1`)), copied(pods(`a: 2`)), nil, nil},
		{"versions of a CRD that are there", "CustomResourceDefinition", crd(`scope: Namespaced, versions: [{name: v1}, {name: v0}]`),
			crd(`scope: Namespaced, versions: [{name: v1, served: true}, {name: v0}]`), nil, nil},
		{"a stored version that goes", "CustomResourceDefinition", crd(`scope: Namespaced, versions: [{name: v1}, {name: v0}]`),
			crd(`scope: Namespaced, versions: [{name: v1}]`), nil, []string{"spec.versions"}},
		{"the scope of a CRD", "CustomResourceDefinition", crd(`scope: Namespaced, versions: [{name: v1}, {name: v0}]`),
			crd(`scope: Cluster, versions: [{name: v1}, {name: v0}]`), nil, []string{"spec.scope"}},
	} {
		got := compared(t, item(c.kind, "harbour/a", "{"+c.cluster+"}"), item(c.kind, "harbour/a", "{"+c.rendered+"}"))
		if !slices.Equal(got.Restarts, c.restarts) || !slices.Equal(got.Immutable, c.immutable) || got.Verdict != Differs {
			t.Errorf("%s: %s, restarts by %q, cannot change %q: %+v", c.what, got.Verdict, got.Restarts, got.Immutable, got.Changes)
		}
	}
}

// Of some fields the API server takes one only. Server-side apply adds the rendered one and leaves the other one of the
// cluster, so it is refused.
func TestUnions(t *testing.T) {
	live, rendered, both := "cluster", "rendered", "both"
	for _, c := range []struct {
		what   string
		fields [][2]string // a field, and which side has it
		want   []string
	}{
		{"a URL instead of a Service", [][2]string{{"w.clientConfig.service", live}, {"w.clientConfig.url", rendered}}, []string{"w.clientConfig.url"}},
		{"a value in another order", [][2]string{{"env[a].value", rendered}, {"env[a].valueFrom", live}}, []string{"env[a].value"}},
		{"at the top", [][2]string{{"value", rendered}, {"valueFrom", live}}, []string{"value"}},
		{"a value of another source", [][2]string{{"env[a].valueFrom.fieldRef", rendered}, {"env[a].valueFrom.secretKeyRef", live}},
			[]string{"env[a].valueFrom.fieldRef"}},
		{"another probe", [][2]string{{"livenessProbe.httpGet", live}, {"livenessProbe.grpc", rendered}}, []string{"livenessProbe.grpc"}},
		{"another handler", [][2]string{{"lifecycle.preStop.exec", live}, {"lifecycle.preStop.sleep", rendered}}, []string{"lifecycle.preStop.sleep"}},
		{"another volume", [][2]string{{"volumes[a].iscsi", live}, {"volumes[a].image", rendered}}, []string{"volumes[a].image"}},
		{"a value alone", [][2]string{{"env[a].value", rendered}}, nil},
		{"of another item", [][2]string{{"env[a].value", rendered}, {"env[b].valueFrom", live}}, nil},
		{"members of two unions", [][2]string{{"a.value", rendered}, {"a.service", live}}, nil},
		{"what belongs to no union", [][2]string{{"a.name", rendered}, {"a.valueFrom", live}}, nil},
		{"a value that both have", [][2]string{{"a.value", both}, {"a.valueFrom", live}}, nil},
		{"both are rendered", [][2]string{{"a.value", rendered}, {"a.valueFrom", both}}, nil},
	} {
		var changes []Change
		for _, f := range c.fields {
			change := Change{Field: f[0]}
			if f[1] != rendered {
				change.Cluster = "1"
			}
			if f[1] != live {
				change.Rendered = "2"
			}
			changes = append(changes, change)
		}
		if got := unions(changes); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// Applying a role takes away what the rendered one does not grant. Server-side apply leaves labels that are not
// rendered, so only a label with another value takes a role out of an aggregated one.
func TestLostRules(t *testing.T) {
	const aggregate = "rbac.authorization.k8s.io/aggregate-to-edit"
	for _, c := range []struct {
		what, cluster, rendered string
		want                    []string
	}{
		{"the same", `rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]`, `rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]`, nil},
		{"a verb", `rules: [{apiGroups: [""], resources: [pods], verbs: [get, list]}]`, `rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]`,
			[]string{"list pods"}},
		{"one right in two rules", `rules: [{apiGroups: [""], resources: [pods], verbs: [get]}, {apiGroups: [""], resources: [pods], verbs: [get]}]`, `{}`,
			[]string{"get pods"}},
		{"a group and a name", `rules: [{apiGroups: [apps], resources: [deployments], resourceNames: [a, b], verbs: [get]}]`, `rules: []`,
			[]string{"get deployments.apps named a,b"}},
		{"a path", `rules: [{nonResourceURLs: [/metrics], verbs: [get]}]`, `{}`, []string{"get /metrics"}},
		{"what Kubernetes aggregates", `{aggregationRule: {}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`, `{}`, nil},
		{"no rules", `rules: x`, `{}`, nil},
		{"a label", `metadata: {labels: {` + aggregate + `: "true"}}`, `metadata: {labels: {` + aggregate + `: "false"}}`,
			[]string{"its place in the roles that select label " + aggregate}},
		{"a label that stays", `metadata: {labels: {` + aggregate + `: "true"}}`, `metadata: {labels: {` + aggregate + `: "true"}}`, nil},
		{"a label that is not rendered", `metadata: {labels: {` + aggregate + `: "true"}}`, `metadata: {labels: {}}`, nil},
		{"a label that aggregated nothing", `metadata: {labels: {` + aggregate + `: "false"}}`, `metadata: {labels: {` + aggregate + `: "true"}}`, nil},
		{"another label", `metadata: {labels: {a: "true"}}`, `metadata: {labels: {a: "false"}}`, nil},
	} {
		if got := lostRules(fromYAML(c.cluster), fromYAML(c.rendered)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// Applying a binding takes the rights of the subjects away that it does not have.
func TestLostSubjects(t *testing.T) {
	const live = `subjects: [{kind: User, name: eve}, {kind: ServiceAccount, namespace: a, name: x}, {kind: ServiceAccount, namespace: b, name: x}]`
	got := lostSubjects(fromYAML(live), fromYAML(`subjects: [{kind: ServiceAccount, namespace: b, name: x}, {kind: User, name: new}]`))
	if want := []string{"the rights of User eve", "the rights of ServiceAccount a/x"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The last one who wrote a field is named, unless that is OLM or the API server.
func TestWriter(t *testing.T) {
	container := func(fields string) string {
		return `{"f:spec": {"f:containers": {'k:{"name":"manager"}': ` + fields + `}}}`
	}
	const image = "spec.containers[manager].image"
	for _, c := range []struct {
		what, field string
		managed     []string // manager, time, fields
		want        string
	}{
		{"nobody", image, nil, ""},
		{"the field", image, []string{"kubectl-edit", "1", container(`{"f:image": {}}`)}, "kubectl-edit 1"},
		{"a field below", "spec.containers", []string{"kubectl-edit", "1", container(`{"f:image": {}}`)}, "kubectl-edit 1"},
		{"an item", "spec.containers[manager]", []string{"kubectl-edit", "1", container(`{"f:image": {}}`)}, "kubectl-edit 1"},
		{"a field as a whole", "spec.containers[manager].resources.limits", []string{"kubectl-edit", "1", container(`{"f:resources": {}}`)}, "kubectl-edit 1"},
		{"another field", image, []string{"kubectl-edit", "1", container(`{"f:args": {}}`)}, ""},
		{"another field below", "spec.containers[manager].resources.limits", []string{"kubectl-edit", "1", container(`{"f:resources": {"f:requests": {}}}`)}, ""},
		{"another item", "spec.containers[proxy].image", []string{"kubectl-edit", "1", container(`{"f:image": {}}`)}, ""},
		{"a value of that name", "spec.finalizers[a].x", []string{"kubectl-edit", "1", `{"f:spec": {"f:finalizers": {'v:"a"': {"f:x": {}}}}}`}, ""},
		{"no fields", image, []string{"kubectl-edit", "1", `{}`}, ""},
		{"a newer one of another field", image, []string{"kubectl-edit", "1", container(`{"f:image": {}}`), "other", "2", `{"f:metadata": {}}`}, "kubectl-edit 1"},
		{"a newer one", image, []string{"b", "2", container(`{"f:image": {}}`), "a", "1", container(`{"f:image": {}}`)}, "b 2"},
		{"without a time", image, []string{"kubectl-edit", "", container(`{"f:image": {}}`)}, "kubectl-edit"},
		{"OLM before", image, []string{"olm", "1", container(`{"f:image": {}}`), "a", "2", container(`{"f:image": {}}`)}, "a 2"},
		{"OLM after", image, []string{"a", "1", container(`{"f:image": {}}`), "olm", "2", container(`{"f:image": {}}`)}, ""},
	} {
		var managed []dump.Managed
		for m := range slices.Chunk(c.managed, 3) {
			managed = append(managed, dump.Managed{Manager: m[0], Time: m[1], Fields: fromYAML(m[2])})
		}
		if got, _ := writer(managed, c.field); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// The reason of a difference is the first one that the dump gives.
func TestReason(t *testing.T) {
	hash, managed := `metadata.labels["olm.deployment-spec-hash"]`, `metadata.labels["olm.managed"]`
	label := func(labels string) string { return `metadata: {labels: {` + labels + `}}` }
	for _, c := range []struct {
		what, kind, fields, rendered string
		csv                          string // that is rendered
		changes                      []string
		want                         string
	}{
		{"somebody", "Deployment", label(`olm.owner: ferry.v1.0.0`), `{}`, "same", []string{"spec.a", "spec.b by eve"}, "edited by eve"},
		{"another form", "Deployment", label(`olm.owner: ferry.v1.0.0`), `{}`, "", []string{"spec.a"}, "the new form differs"},
		{"a hash", "Deployment", label(`olm.owner: ferry.v1.0.0`), `{}`, "same", []string{hash}, "older OLM: it hashed"},
		{"a hash and a field", "Deployment", label(`olm.owner: ferry.v1.0.0`), `{}`, "same", []string{hash, "spec.a"}, "edited by hand, or"},
		{"a label that OLM sets now", "Role", label(`a: b`), label(`olm.managed: "true"`), "same", []string{managed}, "older OLM, which"},
		{"that label with another value", "Role", label(`olm.managed: "false"`), label(`olm.managed: "true"`), "same", []string{managed}, "edited by hand, or"},
		{"that label that is not rendered", "Role", label(`a: b`), label(`a: b`), "same", []string{managed}, "edited by hand, or"},
		{"that label and a field", "Role", label(`a: b`), label(`olm.managed: "true"`), "same", []string{managed, "rules"}, "edited by hand, or"},
		{"a field with the hash of what is rendered", "Deployment", label(`olm.deployment-spec-hash: x`), label(`olm.deployment-spec-hash: x`), "same",
			[]string{"spec.a"}, "edited by hand: the hash"},
		{"a field with another hash", "Deployment", label(`olm.deployment-spec-hash: x, olm.owner: ferry.v1.0.0`), label(`olm.deployment-spec-hash: y`), "same",
			[]string{"spec.a"}, "edited by hand, or"},
		{"a config that has not rolled out", "Deployment", label(`olm.deployment-spec-hash: x, olm.owner: ferry.v1.0.0`), label(`olm.deployment-spec-hash: y`), "configured",
			[]string{"spec.a"}, "OLM has not rolled out the config"},
		{"a Role beside a config", "Role", label(`olm.owner: ferry.v1.0.0`), `{}`, "configured", []string{"rules"}, "edited by hand, or"},
		{"a Deployment without a Subscription", "Deployment", label(`olm.owner: ferry.v1.0.0`), `{}`, "unsubscribed", []string{"spec.a"}, "edited by hand, or"},
		{"an empty hash", "Deployment", label(`olm.owner: ferry.v1.0.0, olm.deployment-spec-hash: ""`), label(`olm.deployment-spec-hash: ""`), "same",
			[]string{"spec.a"}, "edited by hand, or"},
		{"a Deployment of another CSV", "Deployment", label(`olm.owner: ferry.v1.0.0`), `{}`, "differs", []string{"spec.a"}, "the ClusterServiceVersion differs too"},
		{"a Deployment of a CSV that is not rendered", "Deployment", label(`olm.owner: ferry.v1.0.0`), `{}`, "other", []string{"spec.a"}, "the ClusterServiceVersion differs too"},
		{"a Deployment of no CSV", "Deployment", label(`olm.owner: gone`), `{}`, "same", []string{"spec.a"}, "the ClusterServiceVersion differs too"},
		{"a Role of another CSV", "Role", label(`olm.owner: ferry.v1.0.0`), `{}`, "differs", []string{"rules"}, "edited by hand, or"},
		{"versions of a CRD", "CustomResourceDefinition", label(`olm.managed: "true"`), `{}`, "same", []string{"spec.versions[v1].schema", "spec.versions[v1].x"}, "another version of the operator"},
		{"versions and the scope of a CRD", "CustomResourceDefinition", label(`olm.managed: "true"`), `{}`, "same", []string{"spec.versions[v1].schema", "spec.scope"}, "edited by hand, or"},
		{"an earlier version", "Role", label(`olm.managed: "true"`), `{}`, "same", []string{`metadata.annotations["operatorframework.io/installed-alongside-1"]`}, "OLM keeps that an earlier"},
		{"versions of something else", "Role", label(`olm.managed: "true"`), `{}`, "same", []string{"spec.versions"}, "edited by hand, or"},
	} {
		list := ferry()
		switch c.csv {
		case "configured":
			list = with(list, "Subscription", `spec: {config: {env: []}}`)
		case "unsubscribed":
			list = dropped(list, "Subscription", "ferry-sub")
		}
		s := cluster(t, list, []map[string]any{item(c.kind, "harbour/a", c.fields)})
		v := &verifier{State: s, withoutCSV: c.csv == "", rendered: map[string]normalize.Object{}}
		for kind, csv := range map[string]map[string]any{"same": ferry()[1], "configured": ferry()[1], "unsubscribed": ferry()[1],
			"differs": item("ClusterServiceVersion", "harbour/ferry.v1.0.0", `spec: {description: x}`)} {
			if kind == c.csv {
				v.rendered["ClusterServiceVersion harbour/ferry.v1.0.0"] = asJSON(csv)
			}
		}
		o := get(t, s, c.kind, "harbour/a")
		compared := &Compared{object: o}
		for _, change := range c.changes {
			name, by, _ := strings.Cut(change, " by ")
			compared.Changes = append(compared.Changes, Change{Field: name, By: by})
		}
		compared.because(v.reason(compared, o.Value(), fromYAML(c.rendered)), true)
		if got := compared.Reason; !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// In another form, what differs from OLM's too was edited; the rest is the form. A hash is of the form, and replicas
// that were written through scale are no edit. Without managedFields, the reason says where a name would come from.
func TestReasonsByForm(t *testing.T) {
	c := Compared{Changes: []Change{{Field: "spec.a"}, {Field: "spec.image"}, {Field: hashLabel}, {Field: "spec.replicas", By: "hpa 1", scaled: true}}}
	c.because(newForm, true)
	c.byForm(&Compared{Changes: []Change{{Field: "spec.image", Reason: byHand}}})
	for i, want := range []string{newForm, byHand, "it is a hash of the spec in that form", "scaled by hpa 1"} {
		if got := c.Changes[i].Reason; got != want {
			t.Errorf("%s: %q, want %q", c.Changes[i].Field, got, want)
		}
	}
	unmanaged := Compared{Changes: []Change{{Field: "a"}}}
	if unmanaged.because(byHand, false); unmanaged.Reason != byHand+": a dump with --show-managed-fields names who" {
		t.Errorf("without managedFields: %s", unmanaged.Reason)
	}
}

// The comparison names who edited a field, and a certificate that OLM has made anew.
func TestReasonsInComparison(t *testing.T) {
	const written = `managedFields: [{manager: kubectl-edit, time: "2026-01-02T03:04:05Z", fieldsV1: {"f:spec": {"f:replicas": {}}}}]`
	live := item("Deployment", "harbour/a", `{metadata: {labels: {olm.managed: "true"}, `+written+`}, spec: {replicas: 2}}`)
	if got := compared(t, live, item("Deployment", "harbour/a", `{metadata: {labels: {olm.managed: "true"}}, spec: {replicas: 3}}`)); got.Reason != "edited by kubectl-edit 2026-01-02T03:04:05Z" {
		t.Errorf("%+v", got)
	}
	hook := func(bundle string) map[string]any {
		return item("ValidatingWebhookConfiguration", "a", `{metadata: {labels: {olm.managed: "true"}}, webhooks: [{name: a.example.com, clientConfig: {service: {namespace: harbour, name: ferry-service}`+bundle+`}}]}`)
	}
	s := cluster(t, ferry(), []map[string]any{hook(`, caBundle: bmV3`), item("CustomResourceDefinition", "a", `metadata: {annotations: {operatorframework.io/installed-alongside-1: harbour/ferry.v0.9.0}}`), item("Deployment", "harbour/ferry",
		`{metadata: {labels: {olm.owner: ferry.v1.0.0}}, spec: {template: {metadata: {annotations: {olmcahash: old}}}}}`)})
	var found []string
	for _, f := range s.Verify([]map[string]any{hook(""), item("CustomResourceDefinition", "a", "{}")}).Findings() {
		found = append(found, f.Rule+" "+string(f.Level)+" "+f.Object)
	}
	for _, want := range []string{"certificate note ValidatingWebhookConfiguration a", "left-in-cluster note CustomResourceDefinition a"} {
		if !slices.Contains(found, want) {
			t.Errorf("%q is not in %q", want, found)
		}
	}
}

// OLM makes certificates anew: the CA of a webhook, an APIService or a CRD may not be the one that the pods were
// started with.
func TestCertificate(t *testing.T) {
	const ca = "certificate"
	sum := sha256.Sum256([]byte(ca))
	started := hex.EncodeToString(sum[:])
	client := func(name, bundle string) string {
		return fmt.Sprintf("{service: {namespace: harbour, name: %s}, caBundle: %q}", name, bundle)
	}
	webhook := func(name, bundle string) string {
		return "metadata: {labels: {olm.managed: 'true'}}, webhooks: [{clientConfig: " + client(name, bundle) + "}]"
	}
	const hook = "ValidatingWebhookConfiguration"
	good, other := base64.StdEncoding.EncodeToString([]byte(ca)), base64.StdEncoding.EncodeToString([]byte("other"))
	const anew, renewed = "rotated certificate: its caBundle is not of the CA that the pods of Deployment harbour/ferry were started with",
		"rotated certificate: OLM made the CA anew, and restarted the pods of Deployment harbour/ferry, at 2026-01-01T00:00:00Z"
	for _, c := range []struct {
		what, kind, fields, hash, reason, want string
	}{
		{"the same CA", hook, webhook("ferry-service", good), started, "", ""},
		{"another CA", hook, webhook("ferry-service", other), started, "", anew},
		{"another CA of an APIService", "APIService", "metadata: {labels: {olm.managed: 'true'}}, spec: " + client("ferry-service", other), started, "", anew},
		{"another CA of a CRD", "CustomResourceDefinition",
			"metadata: {labels: {olm.managed: 'true'}}, spec: {conversion: {webhook: {clientConfig: " + client("ferry-service", other) + "}}}", started, "", anew},
		{"a CA that was made anew", hook, webhook("ferry-service", good), started, "NeedsCertRotation", renewed},
		{"another reason", hook, webhook("ferry-service", good), started, "InstallSucceeded", ""},
		{"no CA", hook, webhook("ferry-service", ""), started, "", ""},
		{"a CA that cannot be read", hook, webhook("ferry-service", "!"), started, "", ""},
		{"a Service that OLM did not make", hook, webhook("ferry", other), started, "", ""},
		{"a Service of no Deployment", hook, webhook("gone-service", other), started, "", ""},
		{"pods without a hash", hook, webhook("ferry-service", other), "", "", ""},
	} {
		annotations := "{}"
		if c.hash != "" {
			annotations = "{olmcahash: " + c.hash + "}"
		}
		list := []map[string]any{item("Namespace", "harbour", "metadata: {uid: u1}"), item(c.kind, "a", "{"+c.fields+"}"), item("Deployment", "harbour/ferry",
			"{metadata: {labels: {olm.owner: ferry.v1.0.0}}, spec: {template: {metadata: {annotations: "+annotations+"}}}}")}
		if c.reason != "" {
			csv := ferry()[1]
			status := csv["status"].(map[string]any)
			status["conditions"], status["certsLastUpdated"] = []any{map[string]any{"reason": c.reason}}, "2026-01-01T00:00:00Z"
			list = append(list, csv)
		}
		s := cluster(t, list)
		o := get(t, s, c.kind, "a")
		if got := (&verifier{State: s}).certificate(o, o.Value()); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}
