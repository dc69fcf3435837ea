package adopt_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/cmd/internal/adopt"
	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/generate"
)

// planOf returns the plan to a form of what is declared for it.
func planOf(t testing.TB, s *adopt.State, file []byte, o adopt.Options) *adopt.Plan {
	t.Helper()
	o.File, o.Directory = "olmgen.yaml", "operators"
	var asOLM []object
	if leaving := s.Leaving(o.To); len(leaving) > 0 {
		asOLM = asMaps(t, declared(t, s.Only(leaving), adopt.Options{Sources: o.Sources}))
	}
	p, err := adopt.NewPlan(s, asMaps(t, file), asOLM, o)
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
				plan := planOf(t, s, out, o)
				checkPlan(t, plan)
				if to == generate.ProfilePlain && len(plan.Steps) < 10 {
					t.Errorf("%d steps", len(plan.Steps))
				}
				if to != generate.ProfilePlain && to != generate.ProfileClusterExtension {
					return
				}
				// What OLM v1 refuses is in form plain: the same Deployments, and APIServices that no OLM deletes.
				if restarts := plan.Restarts(); len(restarts) > 0 {
					t.Errorf("it restarts %v", restarts)
				}
				for _, o := range asMaps(t, out) {
					if o["kind"] == "APIService" && in(o, "metadata", "labels")["olm.owner"] != nil {
						t.Errorf("%v: OLM would delete it when the CSV is gone", in(o, "metadata")["name"])
					}
				}
			})
		}
	}
}

// One of two operators goes to OLM v1, the other one to profile plain. The backup has both.
func TestPlanOfMigration(t *testing.T) {
	data, err := os.ReadFile("testdata/two-operators-in-a-global-group.yaml")
	if err != nil {
		t.Fatal(err)
	}
	data = regexp.MustCompile(`(?m)^    address: .*`).ReplaceAll(data, []byte("    image: quay.io/example/catalog:v1"))
	d, err := dump.Read(t.Context(), []string{"-"}, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	o := adopt.Options{To: generate.ProfileClusterExtension}
	s, out := adoptedDump(t, d, o)
	plan := planOf(t, s, out, o)
	checkPlan(t, plan)
	found := map[string]int{}
	for _, s := range plan.Steps {
		found[s.Title]++
		undo, text := strings.Join(s.Undo, "\n"), strings.Join(s.Text, "\n")
		if slices.ContainsFunc(s.Run, func(c string) bool {
			return strings.Contains(c, "kubectl delete") && (strings.Contains(c, "memcached") || strings.Contains(c, "my-og"))
		}) {
			t.Errorf("%s: what OLM v1 runs is deleted: %s", s.Title, strings.Join(s.Run, "\n"))
		}
		switch s.Title {
		case "Migrate what OLM v1 takes":
			want := "migrate-operators-v0-to-v1 convert operator -n operator-ns"
			if len(s.Run) != 1 || s.Run[0] != want {
				t.Errorf("%q, want %q", s.Run, want)
			}
		case "Take the objects over":
			if !strings.HasPrefix(undo, "# before/") {
				t.Errorf("the undo says nothing of what OLM v1 runs: %s", undo)
			}
		case "Delete the ClusterServiceVersions":
			if !strings.Contains(text, "that OLM v1 runs now") || strings.Contains(strings.Join(s.Run, "\n"), "memcached") {
				t.Errorf("%s\n%s", text, s.Run)
			}
		}
	}
	if found["Migrate what OLM v1 takes"] != 1 || found["Take the objects over"] != 2 || found["Delete the ClusterServiceVersions"] != 1 {
		t.Errorf("%v", found)
	}
}

// A plan waits until OLM has settled, and says what for.
func TestPlanWaits(t *testing.T) {
	installing := func(items []object) []object {
		change("Subscription", func(o object) { in(o, "status")["currentCSV"] = "gatekeeping-operator.v2.0.0" })(items)
		return append(items, object{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "InstallPlan", "metadata": object{"name": "install-y", "namespace": "operator-ns"},
			"spec": object{"clusterServiceVersionNames": []any{"gatekeeping-operator.v2.0.0"}}, "status": object{"phase": "Installing"}})
	}
	approval := func(items []object) []object {
		items = installing(items)
		in(items[len(items)-1], "status")["phase"] = "RequiresApproval"
		return items
	}
	for _, c := range []struct {
		change func([]object) []object
		waits  string
	}{
		{same, ""},
		{change("ClusterServiceVersion", func(o object) { in(o, "status")["phase"], in(o, "status")["reason"] = "Failed", "ComponentUnhealthy" }),
			"ClusterServiceVersion operator-ns/gatekeeping-operator.v1.0.0 is Failed (ComponentUnhealthy)"},
		{replacing("Replacing", "gatekeeping-operator.v1.0.0"), "ClusterServiceVersion operator-ns/gatekeeping-operator.v1.0.0 is about to be replaced"},
		{installing, "InstallPlan operator-ns/install-y is Installing"},
		{approval, ""},
	} {
		s := edited(t, "gates-multi.yaml", c.change)
		leaving := asMaps(t, declared(t, s, adopt.Options{}))
		for _, to := range generate.Profiles {
			_, err := adopt.NewPlan(s, leaving, leaving, adopt.Options{To: to})
			if c.waits == "" && err != nil || c.waits != "" && (err == nil || !strings.Contains(err.Error(), c.waits)) {
				t.Errorf("%s: want %q: %v", to, c.waits, err)
			}
		}
	}
}

// The backup is of the dump: an edit by hand is in it, and what a bundle ships without a mark.
func TestBackup(t *testing.T) {
	s := edited(t, twoOperators, change("Deployment", func(o object) { container(o)["image"] = "edited.io/x" }))
	objects, subscriptions := s.Backup(asMaps(t, declared(t, s, adopt.Options{})))
	for text, want := range map[string]int{"\nkind: Deployment\n": 2, "image: edited.io/x": 2, "\nkind: OperatorGroup\n": 1, "\nkind: OperatorCondition\n": 2,
		"name: memcached-operator-memcached-viewer-role\n": 1, "\nkind: ClusterServiceVersion\n": 6, "kind: InstallPlan": 0, "kind: Subscription": 0,
		"\nstatus:": 0, "uid:": 0, "resourceVersion": 0, "managedFields": 0} {
		if n := strings.Count(string(objects), text); n != want {
			t.Errorf("%q: %d times, want %d", text, n, want)
		}
	}
	if n := strings.Count(string(subscriptions), "kind: Subscription\n"); n != 2 {
		t.Errorf("%d Subscriptions:\n%s", n, subscriptions)
	}
	one := chosen(t, s, adopt.Selection{Packages: []string{"porter-operator"}})
	objects, subscriptions = one.Backup(asMaps(t, declared(t, one, adopt.Options{})))
	if all := string(objects) + string(subscriptions); strings.Contains(all, "memcached") || strings.Contains(all, "kind: OperatorGroup") || !strings.Contains(all, "kind: Subscription") {
		t.Errorf("the backup has what is not chosen:\n%s", all)
	}
}

// On OpenShift the cluster version operator is told to leave OLM alone, and that ends.
func TestOverrides(t *testing.T) {
	for namespace, want := range map[string]int{"olm": 0, "openshift-operator-lifecycle-manager": 1} {
		s := edited(t, twoOperators, func(items []object) []object {
			return append(items, object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": "olm-operator", "namespace": namespace}, "spec": object{"replicas": 2.0}})
		})
		o := adopt.Options{To: generate.ProfilePlain}
		script := string(planOf(t, s, declared(t, s, o), o).Script("plan.md"))
		for line, n := range map[string]int{`\nkubectl patch clusterversion version .*"unmanaged":true`: want, `\nkubectl patch clusterversion version .*"overrides":null`: want,
			`\n# undo: kubectl patch clusterversion version .*"overrides":null`: want, `\nkubectl -n ` + namespace + ` scale deployment olm-operator --replicas=2`: 1} {
			if found := len(regexp.MustCompile(line).FindAllString(script, -1)); found != n {
				t.Errorf("%s: %d times %s, want %d", namespace, found, line, n)
			}
		}
	}
}

func checkPlan(t *testing.T, p *adopt.Plan) {
	t.Helper()
	step := func(title string) int {
		return slices.IndexFunc(p.Steps, func(s adopt.Step) bool { return s.Title == title })
	}
	order := []string{"Check what is needed, and make a backup", "Render, review and commit", "Scale OLM down", "Take the objects over",
		"Cut the objects loose", "Remove InstallPlans and Subscriptions", "Remove the finalizers",
		"Delete the ClusterServiceVersions", "Delete what only OLM used", "Start OLM again, or remove it",
		"Later: drop what only the cluster has"}
	if step("Have OLM skip the operators") >= 0 { // OLM runs on
		order[2], order[5] = order[5], "Have OLM skip the operators"
		order[3], order[4], order[5] = order[5], order[3], order[4]
	}
	last, point := -1, len(p.Steps)
	for i, s := range p.Steps {
		if s.Irreversible {
			point = min(point, i)
		}
	}
	for _, title := range order {
		if at := step(title); at >= 0 {
			if at < last && p.To != generate.ProfileClusterExtension {
				t.Errorf("%q is step %d, after step %d", title, at, last)
			}
			last = at
		}
	}
	for i, s := range p.Steps {
		changes := slices.ContainsFunc(s.Run, func(c string) bool { return strings.HasPrefix(c, "kubectl") && !strings.HasPrefix(c, "kubectl get") })
		if changes && (len(s.Check) == 0 || s.Retry == "") {
			t.Errorf("step %q has %d checks, and says %q of a second time", s.Title, len(s.Check), s.Retry)
		}
		if i > 0 && i < point && changes && len(s.Undo) == 0 {
			t.Errorf("step %q has no undo", s.Title)
		}
		for _, c := range s.Run {
			deletes := strings.HasPrefix(c, "kubectl delete")
			csv := strings.Contains(c, "clusterserviceversion.")
			if deletes && csv && (!s.Irreversible || !strings.HasSuffix(c, "--cascade=orphan")) {
				t.Errorf("step %q: %s", s.Title, c)
			}
			for _, kept := range []string{" deployment", " customresourcedefinition", " serviceaccount ", " namespace "} {
				if deletes && strings.Contains(c, kept) {
					t.Errorf("step %q deletes what is to stay: %s", s.Title, c)
				}
			}
		}
	}
	script := p.Script("plan.md")
	if !strings.Contains(string(script), "\nexit 1\n") {
		t.Error("the script can be run")
	}
	sh := exec.Command("sh", "-n")
	sh.Stdin = strings.NewReader(string(script))
	if out, err := sh.CombinedOutput(); err != nil {
		t.Errorf("%v: %s\n%s", err, out, script)
	}
	for _, s := range p.Steps {
		if !strings.Contains(string(p.Markdown("plan.sh")), s.Title) {
			t.Errorf("no step %q", s.Title)
		}
	}
}

// The way back from the point can be run by a shell. It gives the objects that stay to the new CSVs and OperatorConditions,
// and tells OLM what is installed.
func TestWayBack(t *testing.T) {
	for _, name := range dumps(t) {
		t.Run(strings.TrimSuffix(name, ".yaml"), func(t *testing.T) {
			o := adopt.Options{To: generate.ProfilePlain}
			s, out := adopted(t, name, o)
			var back []string
			for _, step := range planOf(t, s, out, o).Steps {
				if step.Irreversible != (len(step.WayBack) > 0) {
					t.Errorf("step %q has %d commands of the way back", step.Title, len(step.WayBack))
				}
				back = append(back, step.WayBack...)
			}
			// kubectl prints a UID, and the patches that it gets
			const kubectl = `kubectl() { case "$*" in "get "*) echo "of-$5";; "patch "*) for x; do :; done; echo "${x#-p}";; esac; }` + "\n"
			printed, err := exec.Command("sh", "-euc", kubectl+strings.Join(back, "\n")).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, printed)
			}
			owners, installed := 0, 0
			for line := range strings.Lines(string(printed)) {
				var patch struct {
					Metadata struct {
						OwnerReferences []struct{ Kind, Name, UID string }
					}
					Status struct{ InstalledCSV, CurrentCSV, State, LastUpdated string }
				}
				if err := json.Unmarshal([]byte(line), &patch); err != nil {
					t.Fatalf("%v: %s", err, line)
				}
				for _, r := range patch.Metadata.OwnerReferences {
					if r.Kind != "ClusterServiceVersion" && r.Kind != "OperatorCondition" || r.UID != "of-"+r.Name {
						t.Errorf("owner %+v", r)
					}
					owners++
				}
				if x := patch.Status; x.InstalledCSV != "" && x.CurrentCSV == x.InstalledCSV && x.State == "AtLatestKnown" && x.LastUpdated != "" {
					installed++
				}
			}
			operators := 0
			for _, g := range s.Groups {
				operators += len(g.Operators)
			}
			if owners == 0 || installed != operators {
				t.Errorf("%d owners, %d of %d operators are installed", owners, installed, operators)
			}
		})
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
