package predict_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/crs/apiserver"
	"github.com/olmgen/olmgen/internal/kubernetes"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/source"
)

// recording is a play.yaml. One with items has an installation in each of several namespaces.
type recording struct {
	Ask   [][]string `json:"ask"`
	Items []struct {
		Namespace string `json:"ns"`
	} `json:"items"`
	Said []settled `json:"said"`
}

// compare compares phase and reason of the CSVs, and phases of InstallPlans, namespace by namespace. A CSV that OLM tries
// to install again and again agrees with each state that it was in.
func (r recording) compare(t *testing.T, dir string) {
	t.Helper()
	last := r.Said[slices.IndexFunc(r.Said, func(s settled) bool { return len(s.Final) > 0 })]
	var paths []string
	sources := []resolve.Source{}
	for i, arg := range r.Ask[0] {
		name, content, named := strings.Cut(arg, "=")
		switch {
		case named:
			c, err := catalog.Read(t.Context(), filepath.Join(dir, content), catalog.Options{})
			if err != nil {
				t.Fatal(err)
			}
			namespace, name, _ := strings.Cut(name, "/")
			sources = append(sources, resolve.Source{Namespace: namespace, Name: name, Catalog: c})
		case i > 0 && !strings.HasPrefix(arg, "-"):
			paths = append(paths, filepath.Join(dir, arg))
		}
	}
	in, err := tree.Read(t.Context(), paths, tree.Options{})
	if err != nil {
		t.Fatal(err)
	}
	report, err := predict.Check(t.Context(), in, predict.Options{Checker: apiserver.Checker{}, API: kubernetes.Checker{},
		Bundles: &catalog.Options{Source: source.Options{Offline: true}}, Catalogs: predict.Catalogs{Sources: sources}})
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range r.Items {
		want, seen := last.in(item.Namespace)
		var got []string
		for _, v := range report.CSVs {
			if v.Namespace == item.Namespace {
				got = append(got, fmt.Sprintf("CSV %s/%s: %s: %s", v.Namespace, v.Name, v.Phase, v.Reason))
			}
		}
		for _, p := range report.Plans {
			if p.Namespace == item.Namespace {
				got = append(got, fmt.Sprintf("InstallPlan %s/%v: %s", p.Namespace, p.CSVs, p.Phase))
			}
		}
		missing := lists.Filter(want, func(line string) bool {
			csv, _, _ := strings.Cut(line, ": ")
			return !slices.ContainsFunc(got, func(l string) bool {
				again := strings.HasPrefix(l, csv+": ") && slices.Contains(seen, l) && !strings.Contains(l, ": Succeeded")
				return l == line || again || strings.HasSuffix(line, ": RequiresApproval") && l == strings.TrimSuffix(line, "RequiresApproval")+"Complete"
			})
		})
		waits := slices.ContainsFunc(want, func(l string) bool { return strings.HasSuffix(l, ": RequiresApproval") })
		if same := len(missing) == 0 && (waits || len(got) == len(want)); !same {
			t.Errorf("%s: OLM says %q, olmgen %q", item.Namespace, want, got)
		}
	}
}

// in returns what is said of a namespace, without messages, in the end and on the way.
func (s settled) in(namespace string) (final, states []string) {
	short := func(line string) string {
		parts := strings.SplitN(line, ": ", 4)
		if strings.HasPrefix(line, "InstallPlan") {
			return strings.TrimSuffix(strings.Join(parts[:2], ": "), ":")
		}
		return strings.TrimSuffix(strings.Join(parts[:min(3, len(parts))], ": "), ":")
	}
	of := func(line string) bool {
		return strings.HasPrefix(line, "CSV "+namespace+"/") || strings.HasPrefix(line, "InstallPlan "+namespace+"/")
	}
	for _, line := range lists.Filter(s.Final, of) {
		final = append(final, short(line))
	}
	for _, state := range s.States {
		if of(state.Line) {
			states = append(states, short(state.Line))
		}
	}
	return final, states
}

// settled is a step of a recording in which OLM came to rest.
type settled struct {
	Settle string   `json:"settle"`
	Final  []string `json:"final"`
	States []struct {
		Line string `json:"line"`
	} `json:"states"`
}

// chance has what a recording says and nobody can know: identities, times, and a state that ends by itself.
var chance = []*regexp.Regexp{
	regexp.MustCompile(`uid=\w+ `),
	regexp.MustCompile(` (InstallPlanPending=True \w* <nil>;|InstallPlanMissing=True \w* <nil>;)`),
}

// What a real OLM did with installations, updates and leftovers is what Check says.
func TestPlays(t *testing.T) {
	oracle := os.Getenv("OLMGEN_ORACLE")
	dirs, _ := filepath.Glob(filepath.Join(oracle, "plays", "*", "play.yaml"))
	if oracle == "" || len(dirs) == 0 {
		t.Skip("set OLMGEN_ORACLE to a directory with plays/*/play.yaml, the recordings of a real OLM")
	}
	for _, file := range dirs {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var recorded recording
			if err := yaml.Unmarshal(data, &recorded); err != nil {
				t.Fatal(err)
			}
			if len(recorded.Items) > 0 {
				recorded.compare(t, dir)
				return
			}
			var want []string
			for _, s := range recorded.Said {
				if len(s.Final) > 0 && (s.Settle == "installation" || len(want) == 0 || s.Settle == "new release") {
					want = s.Final
				}
			}
			paths, served := []string{filepath.Join(dir, "dump-before.json"), filepath.Join(dir, "subscription.yaml")}, 1
			if _, err := os.Stat(filepath.Join(dir, "dump-old.json")); err == nil { // an update
				paths, served = []string{filepath.Join(dir, "dump-old.json")}, 2
			} else if slices.ContainsFunc(recorded.Said, func(s settled) bool { return s.Settle == "Subscription made again" }) {
				want = recorded.Said[slices.IndexFunc(recorded.Said, func(s settled) bool {
					return s.Settle == "Subscription made again"
				})].Final
			}
			got := played(t, paths, filepath.Join(dir, fmt.Sprintf("catalog-%d", served)))
			agree(t, got, want)
		})
	}
}

// played returns what Check says, in the lines of a recording.
func played(t *testing.T, paths []string, content string) (lines []string) {
	t.Helper()
	in, err := tree.Read(t.Context(), paths, tree.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Read(t.Context(), content, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := predict.Check(t.Context(), in, predict.Options{Checker: apiserver.Checker{}, API: kubernetes.Checker{}, Bundles: &catalog.Options{Source: source.Options{Offline: true}},
		Catalogs: predict.Catalogs{Sources: []resolve.Source{{Namespace: "olm", Name: "cat", Catalog: c}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range r.CSVs {
		lines = append(lines, fmt.Sprintf("CSV %s/%s: %s: %s: %s", v.Namespace, v.Name, v.Phase, v.Reason, v.Message))
	}
	for _, p := range r.Plans {
		line := fmt.Sprintf("InstallPlan %v: %s: %s | Installed=True <nil> <nil>;", p.CSVs, p.Phase, p.Message)
		if p.Phase == "Failed" {
			line = fmt.Sprintf("InstallPlan %v: %s: %s | Installed=False %s %s;", p.CSVs, p.Phase, p.Message, p.Reason, p.Message)
		}
		lines = append(lines, line)
	}
	for _, s := range r.Subscriptions {
		line := fmt.Sprintf("Subscription %s/%s: %s installed=%s current=%s |", s.Namespace, s.Name, s.State, s.InstalledCSV,
			s.CurrentCSV)
		if c := s.Condition; c != nil {
			line += fmt.Sprintf(" %s=%s %s %s;", c.Type, c.Status, c.Reason, c.Message)
		}
		lines = append(lines, line)
	}
	for _, o := range r.After {
		if o.Kind == "ServiceAccount" && o.Name != "default" && !strings.HasPrefix(o.Namespace, "kube-") && o.Namespace == "ops" {
			lines = append(lines, fmt.Sprintf("ServiceAccount %s", o.Name))
		}
	}
	return lines
}

func agree(t *testing.T, got, want []string) {
	t.Helper()
	accounts := slices.ContainsFunc(want, func(line string) bool { return strings.HasPrefix(line, "ServiceAccount ") })
	var missing []string
	for _, line := range want {
		for _, c := range chance {
			line = c.ReplaceAllString(line, "")
		}
		line, _, _ = strings.Cut(line, " | ResolutionFailed=True ConstraintsNotSatisfiable constraints not satisfiable: "+
			"@existing/ops//op.v1.0.0 and @existing/ops//op.v1.1.0") // it ends by itself: README of the plays
		if strings.HasPrefix(line, "Subscription") && !strings.Contains(line, "|") {
			line += " |"
		}
		if strings.HasPrefix(line, "ServiceAccount ") {
			line = strings.Join(strings.Fields(line)[:2], " ")
		}
		if strings.HasPrefix(line, "InstallPlan [op.v1.0.0]: Complete") && !slices.Contains(got, line) &&
			slices.ContainsFunc(got, func(l string) bool { return strings.Contains(l, "op.v1.1.0") }) {
			continue // of the release before
		}
		if i := slices.Index(got, line); i >= 0 {
			got = slices.Delete(got, i, i+1)
			continue
		}
		missing = append(missing, line)
	}
	got = slices.DeleteFunc(got, func(line string) bool { return !accounts && strings.HasPrefix(line, "ServiceAccount ") })
	if len(missing)+len(got) > 0 {
		t.Errorf("OLM says\n%s\nolmgen says\n%s", strings.Join(missing, "\n"), strings.Join(got, "\n"))
	}
}
