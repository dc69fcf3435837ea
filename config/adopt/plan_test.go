package adopt_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/config/adopt"
	"github.com/olmgen/olmgen/generate"
)

// In every form, what is declared can be rendered and has a plan in which nothing goes before what depends on it.
func TestForms(t *testing.T) {
	for _, name := range dumps(t) {
		for _, to := range generate.Profiles {
			t.Run(strings.TrimSuffix(name, ".yaml")+"/"+string(to), func(t *testing.T) {
				o := adopt.Options{To: to}
				s, out := adopted(t, name, o)
				o.File, o.Directory = "olmgen.yaml", "operators"
				plan := adopt.NewPlan(s, s.Verify(asMaps(t, out)), o)
				checkPlan(t, plan)
				if to == generate.ProfilePlain && len(plan.Steps) < 10 {
					t.Errorf("%d steps", len(plan.Steps))
				}
			})
		}
	}
}

func checkPlan(t *testing.T, p *adopt.Plan) {
	t.Helper()
	step := func(title string) int {
		return slices.IndexFunc(p.Steps, func(s adopt.Step) bool { return s.Title == title })
	}
	order := []string{"Make a backup", "Render, review and commit", "Scale OLM down", "Take the objects over",
		"Cut the objects loose", "Remove InstallPlans and Subscriptions", "Remove the finalizers",
		"Delete the ClusterServiceVersions", "Delete what only OLM used", "Start OLM again, or remove it",
		"Later: drop what only the cluster has"}
	last, point := -1, len(p.Steps)
	for i, s := range p.Steps {
		if s.Point {
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
		if i > 0 && i < point && changes && len(s.Undo) == 0 {
			t.Errorf("step %q has no undo", s.Title)
		}
		for _, c := range s.Run {
			deletes := strings.HasPrefix(c, "kubectl delete")
			csv := strings.Contains(c, "clusterserviceversion.")
			if deletes && csv && (!s.Point || !strings.HasSuffix(c, "--cascade=orphan")) {
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
