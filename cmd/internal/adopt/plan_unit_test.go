package adopt

import (
	"bytes"
	"encoding/base64"
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
)

// port is a cluster with one object of each sort that a plan treats in its own way: ferry leaves with its whole group
// in harbour; in bay, tug can leave alone, and barge stays.
func port() []map[string]any {
	const csv = `olm.owner: ferry.v1.0.0, olm.owner.kind: ClusterServiceVersion, olm.owner.namespace: harbour`
	const owner = `ownerReferences: [{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, name: ferry.v1.0.0, uid: u-ferry}]`
	const pods = `rules: [{apiGroups: [""], resources: [pods], verbs: [get, list]}]`
	list := with(ferry(), "ClusterServiceVersion", `{metadata: {finalizers: [operators.coreos.com/csv-cleanup, example.com/mine]}, spec: {webhookdefinitions: [{generateName: vferry}]}}`)
	list = with(list, "Subscription", `{metadata: {labels: {operators.coreos.com/ferry.harbour: ""}}, status: {lastUpdated: "2026-01-01T00:00:00Z"}}`)
	tugs := dropped(tug("bay"), "Subscription", "tug-sub")
	return append(append(list, tugs...),
		item("OperatorGroup", "bay/og", `{metadata: {uid: u-bay}}`),
		item("ClusterServiceVersion", "bay/barge.v1.0.0", `{metadata: {uid: u-barge}, spec: {install: {spec: {deployments: [{name: barge}]}}}, status: {phase: Succeeded}}`),
		item("ClusterServiceVersion", "pier/ferry.v1.0.0", `metadata: {labels: {olm.copiedFrom: harbour, olm.owner: ferry.v1.0.0}}`),
		item("ClusterServiceVersion", "pier/other.v1", `metadata: {labels: {olm.copiedFrom: harbour}}`),
		item("ClusterServiceVersion", "dock/ferry.v1.0.0", `metadata: {labels: {olm.copiedFrom: elsewhere}}`),
		item("InstallPlan", "harbour/install-ferry", `metadata: {labels: {operators.coreos.com/ferry.harbour: ""}, `+owner+`}`),
		item("InstallPlan", "bay/install-tug", `metadata: {labels: {operators.coreos.com/tug.bay: ""}}`),
		item("OperatorCondition", "harbour/ferry.v1.0.0", `metadata: {`+owner+`}`),
		item("CatalogSource", "olm/cat", `spec: {sourceType: grpc, image: quay.io/cat}`),
		item("Deployment", "olm/olm-operator", `spec: {replicas: 3}`),
		item("ClusterServiceVersion", "olm/packageserver", `{spec: {apiservicedefinitions: {owned: [{group: packages.operators.coreos.com, version: v1}]}}, status: {phase: Succeeded}}`),
		item("OperatorGroup", "olm/olm-operators", `{spec: {targetNamespaces: [olm]}}`), item("OperatorCondition", "olm/packageserver", `{}`),
		item("Deployment", "harbour/ferry", `{metadata: {labels: {`+csv+`, olm.managed: "true"}, `+owner+`}, spec: {selector: {a: b}, template: {spec: {containers: [{name: a, image: x, args: [a]}]}}}}`),
		item("ServiceAccount", "harbour/it's", `{metadata: {labels: {operators.coreos.com/ferry.harbour: ""}, `+owner+`}}`),
		item("ConfigMap", "harbour/mine", `{metadata: {`+strings.ReplaceAll(owner, "ownerReferences: [", `ownerReferences: [{apiVersion: v1, kind: Secret, name: s, uid: u-s}, `)+`}}`),
		map[string]any{"apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor", "metadata": fromYAML(`{name: watch, namespace: harbour, ` +
			strings.ReplaceAll(owner, "ownerReferences: [", `ownerReferences: [{apiVersion: v1, kind: Secret, name: s, uid: u-s}, `) + `}`)},
		item("ConfigMap", "harbour/of-the-condition", `{metadata: {ownerReferences: [{apiVersion: operators.coreos.com/v2, kind: OperatorCondition, name: ferry.v1.0.0, uid: u-c}]}}`),
		item("ConfigMap", "harbour/of-the-group", `{metadata: {ownerReferences: [{apiVersion: operators.coreos.com/v1, kind: OperatorGroup, name: og, uid: u-og}]}}`),
		item("ConfigMap", "harbour/of-the-subscription", `{metadata: {ownerReferences: [{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, name: ferry-sub, uid: u-sub}]}}`),
		item("ConfigMap", "elsewhere/of-the-csv", `{metadata: {`+owner+`}}`),
		item("Role", "harbour/ferry", `{metadata: {labels: {`+csv+`, operators.coreos.com/ferry.harbour: ""}, `+owner+`}, `+pods+`}`),
		item("Role", "harbour/gone", `{metadata: {labels: {`+csv+`, operators.coreos.com/ferry.harbour: ""}, `+owner+`}, `+pods+`}`),
		item("ClusterRole", "odd", `metadata: {labels: {olm.owner: og, olm.owner.namespace: harbour}, `+owner+`}`),
		item("Role", "harbour/og", `{}`), item("Subscription", "dock/later", `{spec: {name: later}}`),
		item("Role", "harbour/old", `{metadata: {labels: {`+strings.ReplaceAll(csv, "v1.0.0", "v0.9.0")+`}}}`),
		item("ClusterRole", "group", `{metadata: {labels: {olm.owner: og, olm.owner.kind: OperatorGroup, olm.owner.namespace: harbour}}}`),
		item("ClusterRole", "group-kept", `{metadata: {labels: {olm.owner: og, olm.owner.kind: OperatorGroup, olm.owner.namespace: harbour}}}`),
		item("ClusterRole", "group-of-bay", `{metadata: {labels: {olm.owner: og, olm.owner.kind: OperatorGroup, olm.owner.namespace: bay}}}`),
		item("ClusterRole", "former-group", `{metadata: {labels: {olm.owner: former, olm.owner.kind: OperatorGroup, olm.owner.namespace: harbour}}}`),
		item("CustomResourceDefinition", "old.example.com", `{metadata: {annotations: {operatorframework.io/installed-alongside-1: harbour/ferry.v0.9.0}}}`),
		item("RoleBinding", "harbour/ferry", `{metadata: {labels: {`+csv+`}}, roleRef: {kind: Role, name: ferry, apiGroup: rbac.authorization.k8s.io}, subjects: [{kind: User, name: eve, apiGroup: rbac.authorization.k8s.io}]}`),
		item("Service", "harbour/known", `{metadata: {labels: {a.b: c, olm.managed: "true"}}}`),
		item("Namespace", "harbour", `{}`))
}

// rendered is what a new form has of port.
func renderedPort() []map[string]any {
	return []map[string]any{
		item("Deployment", "harbour/ferry", `spec: {selector: {a: c}, template: {spec: {containers: [{name: a, image: z}]}}}`),
		item("Role", "harbour/ferry", `rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]`),
		item("RoleBinding", "harbour/ferry", `{roleRef: {kind: Role, name: ferry, apiGroup: rbac.authorization.k8s.io}, subjects: [{kind: User, name: eve, apiGroup: rbac.authorization.k8s.io}]}`),
		item("ServiceAccount", "harbour/it's", `{}`), item("Service", "harbour/new", `{}`), item("Namespace", "new", `{}`),
		item("CustomResourceDefinition", "new.example.com", `{}`), item("Secret", "harbour/new", `{}`), item("ClusterRole", "group-kept", `{}`)}
}

// The plans of a small cluster, from the backup to what is done later. Read them when they change: each command of them
// is one that somebody runs.
func TestPlans(t *testing.T) {
	list := port()
	var asOLM []map[string]any
	for _, o := range list {
		name := o["metadata"].(map[string]any)["name"]
		if slices.Contains([]any{"ferry", "gone", "group", "group-kept"}, name) && o["kind"] != "Deployment" {
			asOLM = append(asOLM, o)
		}
	}
	ready := append(migrating(), with(tug("bay"), "ClusterServiceVersion", `metadata: {annotations: {operatorframework.io/properties: '{"properties":[{"type":"olm.gvk.required","value":1}]}'}}`)...)
	ready = append(ready, item("OperatorGroup", "bay/og", `{}`))
	shift := func(list []map[string]any, namespace string) []map[string]any {
		for _, o := range list {
			if o["kind"] == "Deployment" && o["metadata"].(map[string]any)["namespace"] == "olm" {
				o["metadata"].(map[string]any)["namespace"] = namespace
			}
		}
		return append(list, map[string]any{"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": fromYAML(`name: version`)})
	}
	for _, c := range []struct {
		name     string
		list     []map[string]any
		choice   []string
		options  Options
		rendered []map[string]any
	}{
		{"stopped", list, []string{"ferry", "tug"}, Options{To: generate.ProfilePlain}, renderedPort()},
		{"all", list, []string{"ferry", "tug", "barge"}, Options{To: generate.ProfilePlain}, renderedPort()[:2]},
		{"one-of-a-group", list, []string{"tug"}, Options{To: generate.ProfilePlain}, nil},
		{"openshift", shift(port(), openShift), []string{"barge"}, Options{To: generate.ProfileOLMv1}, nil},
		{"stays", ferry(), []string{"ferry"}, Options{}, ferry()},
		{"subscription", ferry(), []string{"ferry"}, Options{To: generate.ProfileSubscription}, ferry()},
		{"restarts", list, []string{"ferry", "tug"}, Options{To: generate.ProfileDescoped, Parts: []string{"tenants/pier"}}, with(renderedPort(), "Deployment", `spec: {selector: {a: b}}`)},
		{"migration", migrating(), []string{"ferry"}, Options{To: generate.ProfileClusterExtension}, nil},
		{"part-of-a-migration", ready, []string{"ferry", "tug"}, Options{To: generate.ProfileClusterExtension}, nil},
		{"no-migration", ready, []string{"tug"}, Options{To: generate.ProfileClusterExtension}, nil},
	} {
		c.options.Directory = "out"
		c.options.Commands = Commands{Since: "SINCE", Backup: "BACKUP", Render: "RENDER", Part: []string{"PART"}, Verify: "VERIFY", Again: "AGAIN", Known: "KNOWN", VerifyKnown: "VERIFY BUT KNOWN"}
		c.options.Dumps = []string{"dump.yaml"}
		p, err := NewPlan(t.Context(), mustSelect(t, cluster(t, c.list), c.choice...), c.rendered, asOLM, c.options)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		update := flag.Lookup("update").Value.String() == "true"
		golden.CheckFile(t, filepath.Join("testdata", "plans", c.name+".md"), p.Markdown("plan.sh", "plan.back.sh"), update)
		if part := strings.HasPrefix(c.name, "part-of-a-migration"); strings.Contains(string(p.WayBack("plan.md")), "have the operators too that OLM v1 runs now") != part {
			t.Errorf("%s: that OLM v1 runs operators of the backup is said: %t", c.name, !part)
		}
		shellcheck(t, p.Script("plan.md"))
		shellcheck(t, p.WayBack("plan.md"))
		if c.name == "stopped" {
			golden.CheckFile(t, filepath.Join("testdata", "plans", c.name+".sh"), slices.Concat(p.Script("plan.md"), p.WayBack("plan.md")), update)
		}
	}
}

// shellcheck asks the program of that name, if it is there, and else the shell, what is wrong with a script.
func shellcheck(t *testing.T, script []byte) {
	t.Helper()
	args := []string{"shellcheck", "-s", "sh", "-"}
	if _, err := exec.LookPath(args[0]); err != nil {
		args = []string{"sh", "-n"}
	}
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Stdin = bytes.NewReader(script)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", args[0], err, out)
	}
}

// The report of the plan "stopped", and of one that changes nothing. Read them when they change: a person decides by
// them.
func TestShortReport(t *testing.T) {
	var grown []map[string]any // more differences than a report lists
	for i := range 12 {
		grown = append(grown, item("ConfigMap", fmt.Sprintf("harbour/c%02d", i), fmt.Sprintf(`{metadata: {labels: {olm.managed: "true"}}, data: {k%02d: a}}`, i)))
	}
	edited := func() (list []map[string]any) {
		for i := range grown {
			list = append(list, item("ConfigMap", fmt.Sprintf("harbour/c%02d", i), fmt.Sprintf(`{metadata: {labels: {olm.managed: "true"}}, data: {k%02d: b}}`, i)))
		}
		return list
	}
	for _, c := range []struct {
		name     string
		list     []map[string]any
		choice   []string
		rendered []map[string]any
	}{
		{"leaves", port(), []string{"ferry"}, renderedPort()}, {"equal", ferry(), nil, ferry()}, {"many", append(ferry(), grown...), nil, append(ferry(), edited()...)},
		{"refused", append(ferry(), with(tug("harbour"), "ClusterServiceVersion", `status: {phase: Failed, reason: NoOperatorGroup}`)...), nil, ferry()},
	} {
		s := mustSelect(t, cluster(t, c.list), c.choice...)
		v, err := s.VerifyLeaving(c.rendered, s.Left(c.rendered), nil)
		var out bytes.Buffer
		if err == nil {
			err = v.Print(&out, findings.Text, v.Findings(), false)
		}
		if err != nil {
			t.Fatal(err)
		}
		golden.CheckFile(t, filepath.Join("testdata", "reports", c.name+".txt"), out.Bytes(), flag.Lookup("update").Value.String() == "true")
	}
}

// A plan is refused while OLM has something to do, and if one that stays needs one that leaves.
func TestPlanRefused(t *testing.T) {
	needed := append(ferry(), with(tug("harbour"), "ClusterServiceVersion", `spec: {customresourcedefinitions: {required: [{name: ferries.example.com, version: v1, kind: Ferry}]}}`)...)
	account := with(ferry(), "OperatorGroup", `spec: {serviceAccountName: a}`)
	for _, c := range []struct {
		what string
		list []map[string]any
		o    Options
		want string
	}{
		{"one that another one needs", needed, Options{To: generate.ProfilePlain}, "tug.v1.0.0 stays with OLM and needs ferries.example.com of ferry.v1.0.0"},
		{"one that another one needs, and OLM goes on", needed, Options{}, ""},
		{"nothing", ferry(), Options{To: generate.ProfilePlain}, ""},
		{"a pending CSV", with(ferry(), "ClusterServiceVersion", `status: {phase: Pending}`), Options{}, "OLM has not settled"},
		{"a pending CSV that leaves", with(ferry(), "ClusterServiceVersion", `status: {phase: Pending}`), Options{To: generate.ProfilePlain}, "OLM has not settled"},
		{"an account, and OLM is stopped", account, Options{To: generate.ProfilePlain}, ""},
	} {
		_, err := NewPlan(t.Context(), mustSelect(t, cluster(t, c.list), "ferry"), nil, nil, c.o)
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

// A name that an API server would not take is not in a list, because a shell or kubectl would read it as something
// else.
func TestListCheck(t *testing.T) {
	for _, c := range []struct {
		list, row string
		taken     bool
	}{
		{"deleted", "roles.rbac.authorization.k8s.io a:b.c_d harbour", true}, {"operators", `a.v1 b c.b {"spec":{}}`, true}, {"deleted", "roles $(rm) x", false},
		{"deleted", "roles -A x", false}, {"deleted", "roles a'b x", false}, {"moved", "ferry harbour --acknowledge-x", true}, {"directories", "my`dir", true},
	} {
		if err := (List{Name: c.list, Rows: []string{"a b", c.row}}).check(); (err == nil) != c.taken {
			t.Errorf("%s: %s: %v", c.list, c.row, err)
		}
	}
}

// The directories of a file with parts are itself and each of them.
func TestDirectories(t *testing.T) {
	for want, parts := range map[string][]string{"": nil, "out out/a": {"a"}, "out out/a out/b": {"a", "b"}} {
		p := planner{Options: Options{Directory: "out", Parts: parts}}
		if got := strings.Join(p.directories(), " "); got != want {
			t.Errorf("%q: %q, want %q", parts, got, want)
		}
	}
}

// The label of the components of an Operator has at most 63 characters after the slash.
func TestComponentLabel(t *testing.T) {
	long := strings.Repeat("a", 62)
	for name, want := range map[string]string{"a.b": "a.b", long + "b": long + "b", long + ".b": long, long + ".": long + "."} {
		if got := olm.ComponentLabel(name); got != "operators.coreos.com/"+want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// Operators leave OLM v0 for the forms without it. OLM v1 takes over those that it does not refuse.
func TestLeaving(t *testing.T) {
	list := append(migrating(), with(tug("bay"), "ClusterServiceVersion", `spec: {installModes: []}`)...)
	s := cluster(t, append(list, item("OperatorGroup", "bay/og", `{}`)))
	for to, want := range map[generate.Profile][]string{"": nil, generate.ProfileOLM: nil, generate.ProfileSubscription: nil, generate.ProfilePlain: {"bay/tug", "harbour/ferry"},
		generate.ProfileDescoped: {"bay/tug", "harbour/ferry"}, generate.ProfileOLMv1: {"bay/tug", "harbour/ferry"}, generate.ProfileClusterExtension: {"bay/tug"}} {
		if got := packages(s.Leaving(to)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", to, got, want)
		}
	}
}

// The restarts of a plan are the objects of its known findings that restart pods, each once.
func TestRestarts(t *testing.T) {
	p := Plan{}
	for _, f := range [][2]string{{restartRule, "Deployment a"}, {rightRule, "Role b"}, {restartRule, "Deployment c"}, {restartRule, "Deployment a"}} {
		p.Known = append(p.Known, findings.Finding{Rule: f[0], Object: f[1]})
	}
	if got, want := p.Restarts(), []string{"Deployment a", "Deployment c"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The first step says what a plan restarts, and how much it takes away, if it does.
func TestHarm(t *testing.T) {
	restart, right := findings.Finding{Rule: restartRule, Object: "Deployment a"}, findings.Finding{Rule: rightRule, Object: "Role b"}
	for want, known := range map[string][]findings.Finding{"the pods of Deployment a restart": {restart}, "the comparison has 2 findings about lost rights": {right, right},
		"the pods of Deployment a restart and the comparison has 2 findings about lost rights": {restart, right, right}} {
		if got := (&planner{plan: &Plan{Known: known}}).harm(); got != "If this plan is followed, "+want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A plan names restarts and lost rights, about the dump that it makes first. What is refused is nothing that it names.
func TestKnown(t *testing.T) {
	image := Change{Field: "spec.image", Applied: true}
	v := Verification{Objects: []Compared{
		{Object: "Deployment a", Verdict: Differs, Changes: []Change{image}, Restarts: []string{image.Field}, object: &dump.Object{File: "dump.yaml", Line: 7}},
		{Object: "Deployment b", Verdict: Differs, Changes: []Change{image}, Immutable: []string{image.Field}, object: &dump.Object{}},
		{Object: "Role c", Verdict: Differs, Changes: []Change{image}, Loses: []string{"get pods"}, object: &dump.Object{}},
	}}
	var got []string
	for _, f := range v.known() {
		got = append(got, f.Rule+" "+f.Object)
		if f.Line != 0 {
			t.Errorf("line %d", f.Line)
		}
	}
	if want := []string{"restart Deployment a", "right Role c"}; !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The wait for an authority ends when each webhook has it, whatever else is beside it.
func TestTrusted(t *testing.T) {
	encoded := func(certificates string) string { return base64.StdEncoding.EncodeToString([]byte(certificates)) }
	for _, c := range []struct {
		name, ca string
		bundles  []string
		want     bool
	}{
		{"its own", "NEW\nCA\n", []string{"NEW\nCA\n"}, true},
		{"beside that of OLM", "NEW\nCA\n", []string{"OLM\nNEW\nCA\n", "NEW\nCA\nOLM\n"}, true},
		{"that of OLM", "NEW\nCA\n", []string{"OLM\n"}, false},
		{"one webhook has that of OLM", "NEW\nCA\n", []string{"OLM\n", "NEW\nCA\n"}, false},
		{"the last webhook has that of OLM", "NEW\nCA\n", []string{"NEW\nCA\n", "OLM\n"}, false},
		{"none", "NEW\nCA\n", nil, false},
		{"no certificate yet", "", []string{"OLM\n"}, false},
	} {
		var bundles []string
		for _, b := range c.bundles {
			bundles = append(bundles, encoded(b))
		}
		definition := regexp.MustCompile(`\[\[define "trusted"\]\](.*)\[\[end\]\]`)
		trusted := definition.FindStringSubmatch(strings.ReplaceAll(planText, "\\\n", ""))[1]
		script := "kubectl() { case \"$*\" in (get\\ secrets*) printf %s " + text.Shell(c.ca) + ";; (*) echo " +
			text.Shell(strings.Join(bundles, " ")) + ";; esac; }\nkind=k name=n secret=s ns=x\n" + trusted
		out, err := exec.Command("sh", "-c", script).CombinedOutput()
		if (err == nil) != c.want || len(out) > 0 {
			t.Errorf("%s: %v: %s", c.name, err, out)
		}
	}
}

// OLM gets the replicas of the dump, none too. Deployments of one number are scaled together.
func TestStart(t *testing.T) {
	for want, replicas := range map[string][2]int{"olm-operator catalog-operator --replicas=0": {0, 0}, "olm-operator catalog-operator --replicas=2": {2, 2},
		"olm-operator --replicas=0; catalog-operator --replicas=1": {0, 1}} {
		s := cluster(t, ferry(), []map[string]any{item("Deployment", "olm/olm-operator", fmt.Sprintf("spec: {replicas: %d}", replicas[0])),
			item("Deployment", "olm/catalog-operator", fmt.Sprintf("spec: {replicas: %d}", replicas[1]))})
		got := strings.ReplaceAll(strings.Join((&planner{state: s}).start(), "; "), "kubectl -n olm scale deployment ", "")
		if got != want {
			t.Errorf("%v: %q, want %q", replicas, got, want)
		}
	}
}
