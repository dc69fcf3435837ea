package adopt_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/cmd/internal/adopt"
	"github.com/olmgen/olmgen/generate"
	words "github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
)

// planOf returns the plan to a form of what is declared for it.
func planOf(t testing.TB, s *adopt.State, file []byte, o adopt.Options) *adopt.Plan {
	t.Helper()
	o.File, o.Directory = "olmgen.yaml", "operators"
	var asOLM []object
	if leaving := s.Leaving(o.To); len(leaving) > 0 {
		asOLM = asMaps(t, declared(t, s.Only(leaving), adopt.Options{Sources: o.Sources}))
	}
	p, err := adopt.NewPlan(t.Context(), s, asMaps(t, file), asOLM, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// In every form, what is declared can be rendered and has a plan in which nothing goes before what depends on it.
func TestForms(t *testing.T) {
	for _, name := range dumps(t) {
		for _, to := range generate.Profiles {
			t.Run(strings.TrimSuffix(name, ".yaml")+"/"+string(to), func(t *testing.T) {
				o := adopt.Options{To: to}
				s, out := adopted(t, name, o)
				plan, objects := planOf(t, s, out, o), asMaps(t, out)
				checkPlan(t, plan)
				checkLabels(t, s, plan)
				checkKept(t, plan, objects)
				v := s.Verify(objects)
				if missing := notInFile(v); len(missing) > 0 {
					t.Errorf("not in the file: %q", missing)
				}
				for _, c := range v.Objects { // the installed CSV owns all that is there
					if strings.Contains(c.Reason, "orphan") {
						t.Errorf("%s: %s", c.Object, c.Reason)
					}
				}
				if to != generate.ProfilePlain && to != generate.ProfileClusterExtension {
					return
				}
				// What OLM v1 refuses is in form plain: the same Deployments, and APIServices that no OLM deletes.
				if restarts := plan.Restarts(); len(restarts) > 0 {
					t.Errorf("it restarts %v", restarts)
				}
				for _, o := range objects {
					for label := range in(o, "metadata", "labels") {
						if strings.HasPrefix(label, "olm.owner") || label == "olm.copiedFrom" {
							t.Errorf("%v %v has %s: OLM would delete it", o["kind"], in(o, "metadata")["name"], label)
						}
					}
				}
			})
		}
	}
}

// checkKept holds that a plan deletes nothing that its own file renders.
func checkKept(t *testing.T, p *adopt.Plan, objects []object) {
	t.Helper()
	for _, row := range rowsOf(p, "deleted") {
		words := append(strings.Fields(row), "")
		for _, x := range objects {
			meta := in(x, "metadata")
			namespace, _ := meta["namespace"].(string)
			if strings.HasPrefix(words[0], strings.ToLower(fmt.Sprint(x["kind"]))) && words[1] == meta["name"] && words[2] == namespace {
				t.Errorf("it deletes %s, which it renders", row)
			}
		}
	}
}

// notInFile returns the operators of a cluster of which a file has nothing.
func notInFile(v *adopt.Verification) (names []string) {
	for _, f := range v.Findings() {
		if f.Rule == "not-in-file" {
			names = append(names, f.Object)
		}
	}
	return names
}

// checkLabels holds that the selectors of a plan find each object that has the labels by which OLM deletes it with what
// leaves. A ClusterRole that a bundle ships may have olm.owner alone, by which OLM finds nothing.
func checkLabels(t *testing.T, s *adopt.State, p *adopt.Plan) {
	t.Helper()
	for _, o := range s.Dump.Objects {
		found := slices.ContainsFunc(rowsOf(p, "selectors"), func(selector string) bool {
			wanted := strings.Split(selector, ",")
			return !slices.ContainsFunc(wanted, func(w string) bool {
				key, value, _ := strings.Cut(w, "=")
				return o.Labels[key] != value
			})
		})
		if o.Labels["olm.owner.kind"] != "" && !found && len(s.Leaving(p.To)) == len(s.All()) {
			t.Errorf("no selector finds %s: %v", o.Identity(), o.Labels)
		}
	}
}

// imaged gives the CatalogSources an image, without which OLM v1 takes no operator.
var imaged = change("CatalogSource", func(o object) {
	delete(in(o, "spec"), "address")
	in(o, "spec")["image"] = "quay.io/example/catalog:v1"
})

// One of two operators goes to OLM v1, the other one to profile plain. The backup has both.
func TestPlanOfMigration(t *testing.T) {
	s := edited(t, "two-operators-in-a-global-group.yaml", imaged)
	o := adopt.Options{To: generate.ProfileClusterExtension}
	out := declared(t, s, o)
	plan := planOf(t, s, out, o)
	checkPlan(t, plan)
	if rows := strings.Join(slices.Concat(rowsOf(plan, "operators"), rowsOf(plan, "deleted")), "\n"); strings.Contains(rows, "memcached") || strings.Contains(rows, "my-og") {
		t.Errorf("what OLM v1 runs is deleted: %s", rows)
	}
	if rows := rowsOf(plan, "moved"); len(rows) != 1 || rows[0] != "operator operator-ns" {
		t.Errorf("%q", rows)
	}
	if !strings.Contains(string(plan.WayBack("plan.md")), "that OLM v1 runs now") {
		t.Error("the way back says nothing of what OLM v1 runs")
	}
}

// What OLM v1 takes over watches all namespaces then: the file asks for nothing that OLM v1 refuses.
func TestExtensionOfSeveralNamespaces(t *testing.T) {
	s := edited(t, twoOperators, func(items []object) []object {
		change("ClusterServiceVersion", func(o object) {
			in(o, "spec")["installModes"] = []any{object{"type": "AllNamespaces", "supported": true}, object{"type": "MultiNamespace", "supported": true}}
		})(items)
		return imaged(items)
	})
	out := declared(t, s, adopt.Options{To: generate.ProfileClusterExtension})
	possible := 0
	for _, m := range s.Migrations() {
		if m.Possible() {
			possible++
		}
	}
	extensions := 0
	for _, o := range asMaps(t, out) {
		if o["kind"] == "ClusterExtension" {
			extensions++
		}
	}
	if possible != 2 || extensions != possible {
		t.Errorf("the table has %d, the file %d:\n%s", possible, extensions, out)
	}
}

// rowsOf returns the rows of a list of a plan.
func rowsOf(p *adopt.Plan, name string) []string {
	for _, l := range p.Lists {
		if l.Name == name {
			return l.Rows
		}
	}
	return nil
}

// On OpenShift the cluster version operator is told to leave OLM alone, and that ends. What else it leaves alone stays
// so, and without the ClusterVersion nobody knows what that is.
func TestOverrides(t *testing.T) {
	const other = `{"group":"apps","kind":"Deployment","name":"other","namespace":"x","unmanaged":true}`
	plan := func(namespace string, more ...object) (string, error) {
		s := edited(t, twoOperators, func(items []object) []object {
			return append(append(items, object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": "olm-operator", "namespace": namespace}, "spec": object{"replicas": 2.0}}), more...)
		})
		file := asMaps(t, declared(t, s, adopt.Options{}))
		p, err := adopt.NewPlan(t.Context(), s, file, file, adopt.Options{To: generate.ProfilePlain})
		if err != nil {
			return "", err
		}
		return string(p.Script("plan.md")) + string(p.WayBack("plan.md")), nil
	}
	version := func(overrides ...any) object {
		return object{"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": object{"name": "version"}, "spec": object{"overrides": overrides}}
	}
	var decoded any
	if err := json.Unmarshal([]byte(other), &decoded); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		namespace string
		more      []object
		set, end  string
		n         int
	}{
		{"olm", nil, "clusterversion", "clusterversion", 0},
		{"openshift-operator-lifecycle-manager", []object{version([]any{}...)}, `{"overrides":[{"group":"apps","kind":"Deployment","name":"olm-operator"`, `{"overrides":null}`, 2},
		{"openshift-operator-lifecycle-manager", []object{version(decoded)}, `{"overrides":[` + other + `,{"group":"apps","kind":"Deployment","name":"olm-operator"`, `{"overrides":[` + other + `]}`, 2},
	} {
		script, err := plan(c.namespace, c.more...)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(script, c.set); n != c.n {
			t.Errorf("%s: %d times %s", c.namespace, n, c.set)
		}
		if n := strings.Count(script, c.end); n != c.n+c.n/2 { // the end, the undo, and the way back
			t.Errorf("%s: %d times %s in:\n%s", c.namespace, n, c.end, script)
		}
		if !strings.Contains(script, "kubectl -n "+c.namespace+" scale deployment olm-operator --replicas=2\n") {
			t.Errorf("%s: OLM gets other replicas", c.namespace)
		}
	}
	if _, err := plan("openshift-operator-lifecycle-manager"); err == nil || !strings.Contains(manifest.HintOf(err), "kubectl get clusterversions.config.openshift.io -A -o yaml") {
		t.Errorf("without the ClusterVersion: %v", err)
	}
}

// script returns what a shell is to run: the lists, and commands.
func script(p *adopt.Plan, commands ...string) string {
	out := "set -eu\n"
	for _, l := range p.Lists {
		out += l.Name + "=" + words.Shell(strings.Join(l.Rows, "\n")) + "\n"
	}
	return out + strings.Join(commands, "\n")
}

func checkPlan(t *testing.T, p *adopt.Plan) {
	t.Helper()
	point := slices.IndexFunc(p.Steps, func(s adopt.Step) bool { return s.Irreversible })
	leaves := rowsOf(p, "operators") != nil
	if leaves != (len(p.Back) > 0) || leaves && point < 0 {
		t.Errorf("operators leave: %t, the point is step %d, the way back has %d commands", leaves, point, len(p.Back))
	}
	for i, s := range p.Steps {
		for _, c := range s.Run {
			changes := regexp.MustCompile(`kubectl (-n \S+ )?(scale|patch|label|delete|apply)`).MatchString(c) && !strings.Contains(c, "--dry-run")
			if changes && i < point && len(s.Undo) == 0 {
				t.Errorf("step %q has no undo", s.Title)
			}
			if strings.Contains(c, "kubectl delete") && !strings.Contains(c, "--cascade=orphan") || strings.Contains(c, "--all ") {
				t.Errorf("step %q: %s", s.Title, c)
			}
			if deletes := strings.Contains(c, "kubectl delete clusterserviceversions"); deletes && !s.Irreversible {
				t.Errorf("step %q: %s", s.Title, c)
			}
		}
	}
	for _, row := range rowsOf(p, "deleted") {
		for _, kept := range []string{"deployments.", "customresourcedefinitions.", "serviceaccounts ", "namespaces ", "secrets "} {
			if strings.HasPrefix(row, kept) {
				t.Errorf("the plan deletes what is to stay: %s", row)
			}
		}
	}
	for _, data := range [][]byte{p.Script("plan.md"), p.WayBack("plan.md")} {
		if len(data) > 0 && !strings.Contains(string(data), "\nexit 1\n") {
			t.Error("the script can be run")
		}
		sh := exec.Command("sh", "-n")
		sh.Stdin = bytes.NewReader(data)
		if out, err := sh.CombinedOutput(); err != nil {
			t.Errorf("%v: %s\n%s", err, out, data)
		}
	}
	page, commands := string(p.Markdown("plan.sh", "plan.back.sh")), 0
	for _, s := range p.Steps {
		commands += len(s.Guard) + len(s.Run)
	}
	mostLines, mostCommands := 90, 100
	if len(rowsOf(p, "operators"))+len(rowsOf(p, "moved")) == 1 {
		mostLines, mostCommands = 70, 24
	}
	if lines := strings.Count(page, "\n"); lines > mostLines || commands > mostCommands {
		t.Errorf("the plan has %d lines and %d commands:\n%s", lines, commands, page)
	}
	for _, s := range p.Steps {
		if !strings.Contains(page, s.Title) {
			t.Errorf("no step %q", s.Title)
		}
	}
}

// fakeKubectl is a kubectl of a cluster that has what $have says, line by line. It prints the commands that change
// something, and what a get is asked for.
const fakeKubectl = `kubectl() {
  case "$*" in
  *finalizers*) case "$*" in "get "*) printf %s "$FINALIZER";; *) echo "kubectl $*";; esac;;
  *"get pods"*) printf %s "$PODS";;
  *"jsonpath={.status.reason}"*) printf %s "$REASON";;
  *"jsonpath={.metadata.uid}"*) echo "of-$3";;
  "get "*) printf %s "$LABELLED";;
  *" -f -"*) cat;;
  *) echo "kubectl $*";;
  esac
}
sleep() { echo "sleep $*"; }
`

// run runs commands of a plan with fakeKubectl.
func run(t *testing.T, p *adopt.Plan, env string, commands ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("sh", "-c", fakeKubectl+"FINALIZER= PODS= LABELLED= REASON=\n"+env+"\n"+script(p, commands...))
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// The point of no return is passed only if OLM is down and has put no label back. OLM's finalizer goes before the CSV
// and no other one does; then go the copies and the original, and nothing with them.
func TestPoint(t *testing.T) {
	for _, name := range dumps(t) {
		o := adopt.Options{To: generate.ProfilePlain}
		s, out := adopted(t, name, o)
		p := planOf(t, s, out, o)
		if group := "operatorgroups.operators.coreos.com my-og operator-ns"; !slices.Contains(rowsOf(p, "deleted"), group) || !strings.Contains(strings.Join(rowsOf(p, "selectors"), " "), "olm.owner=my-og,") {
			t.Errorf("%s: the group stays, or its labels: %q %q", name, rowsOf(p, "deleted"), rowsOf(p, "selectors"))
		}
		point := p.Steps[slices.IndexFunc(p.Steps, func(s adopt.Step) bool { return s.Irreversible })]
		for _, stopped := range []string{"PODS=pod/olm-operator", "LABELLED=role/x"} {
			said, err := run(t, p, "FINALIZER=0 "+stopped, slices.Concat(point.Guard, point.Run)...)
			if err == nil || strings.Contains(said, "kubectl ") {
				t.Errorf("%s, %s: %v %s", name, stopped, err, said)
			}
		}
		said, err := run(t, p, "FINALIZER=1", slices.Concat(point.Guard, point.Run)...)
		if err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		for _, op := range s.All() {
			csv := "clusterserviceversions.operators.coreos.com " + op.CSV.Name + " -n " + op.Group.Namespace
			finalizer := strings.Index(said, "kubectl patch "+csv+` --type=json -p [{"op":"test","path":"/metadata/finalizers/1","value":"operators.coreos.com/csv-cleanup"},{"op":"remove","path":"/metadata/finalizers/1"}]`)
			copies := strings.Index(said, "kubectl delete clusterserviceversions.operators.coreos.com -A -l olm.copiedFrom="+op.Group.Namespace+" --field-selector metadata.name="+op.CSV.Name+" --cascade=orphan")
			original := strings.Index(said, "kubectl delete "+csv+" --ignore-not-found --cascade=orphan")
			if finalizer < 0 || copies < finalizer || original < copies {
				t.Errorf("%s: %s", name, said)
			}
		}
	}
}

// The way back can be run by a shell. It gives the objects that stay to the new owners, and tells OLM what is
// installed.
func TestWayBack(t *testing.T) {
	for _, name := range dumps(t) {
		o := adopt.Options{To: generate.ProfilePlain}
		s, out := adopted(t, name, o)
		p := planOf(t, s, out, o)
		b := s.Backup(asMaps(t, declared(t, s, adopt.Options{})))
		files := "mkdir before; printf %s " + words.Shell(string(b.Owned)) + " > before/owners.yaml; printf %s " + words.Shell(string(b.Owners)) + " > before/owners.txt"
		said, err := run(t, p, files, p.Back...)
		if err != nil {
			t.Fatalf("%s: %v: %s", name, err, said)
		}
		owners := regexp.MustCompile(`(?m)^    name: (\S+)\n    uid: "?of-([^"\n]+)"?$`).FindAllStringSubmatch(said, -1)
		for _, m := range owners {
			if m[1] != m[2] {
				t.Errorf("%s: an object of %s goes to %s", name, m[1], m[2])
			}
		}
		if n := strings.Count(string(b.Owned), "apiVersion: operators.coreos.com/"); len(owners) != n || n == 0 {
			t.Errorf("%s: %d of %d owners:\n%s", name, len(owners), n, said)
		}
		for _, op := range s.All() {
			if want := `"currentCSV":"` + op.CSV.Name + `","installedCSV":"` + op.CSV.Name + `","lastUpdated":"20`; strings.Count(said, want) != 1 {
				t.Errorf("%s: %s is not installed:\n%s", name, op.CSV.Name, said)
			}
		}
	}
}

// Without OLM, webhooks select namespaces by name, and the comparison says that applying replaces the whole selector.
func TestSelectors(t *testing.T) {
	s, out := adopted(t, "gates-multi.yaml", adopt.Options{To: generate.ProfilePlain})
	replaced := 0
	for _, c := range s.Verify(asMaps(t, out)).Objects {
		for _, x := range c.Changes {
			if strings.Contains(x.Field, "namespaceSelector") {
				if !x.Applied || strings.Contains(x.Field+x.Cluster, "MASKED") {
					t.Errorf("%s: %+v", c.Object, x)
				}
				replaced++
			}
		}
	}
	if replaced != 4 {
		t.Errorf("%d changes of selectors", replaced)
	}
}
