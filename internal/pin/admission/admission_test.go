package admission

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/golden/admissioncase"
)

var update = flag.Bool("update", false, "write testdata/policies")

func read(t testing.TB, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err == nil {
		err = yaml.UnmarshalStrict(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// states are the policies of the two pins, and of the change from one to the other.
func states(t testing.TB) (names []string, facts map[string]Facts, options map[string]Options) {
	t.Helper()
	var before, now Facts
	read(t, "before.yaml", &before)
	read(t, "now.yaml", &now)
	o := Options{File: "clusters/prod", ExemptNamespaces: []string{"sandbox"}, ExemptUsers: []string{"break-glass"},
		ExemptGroups: []string{"sre"}, ExemptServiceAccounts: []ServiceAccount{{"ops", "fixer"}}}
	change := o
	change.Previous = &before
	return []string{"before", "change", "now"}, map[string]Facts{"before": before, "change": now, "now": now},
		map[string]Options{"before": o, "change": change, "now": o}
}

func TestRequests(t *testing.T) {
	requests, err := admissioncase.Read(filepath.Join("testdata", "requests.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	names, facts, options := states(t)
	asked := 0
	for _, state := range names {
		s := newServer(t, facts[state], options[state])
		for _, r := range requests {
			if r.Subresource != "" || r.Delete { // no policy is asked; the real API server is
				continue
			}
			who := &user.DefaultInfo{Name: "somebody", Groups: []string{"system:authenticated"}}
			if r.User != "" {
				who.Name = r.User
			}
			if r.Group != "" {
				who.Groups = append(who.Groups, r.Group)
			}
			asked++
			now, old := r.Objects()
			var before object
			if old != nil {
				before = old.Object
			}
			a := s.ask(t, who, now.Object, before)
			switch passes := slices.Contains(r.Passes, state); {
			case passes == a.refused:
				t.Errorf("%s, %s: refused %v: %s", state, r.Name, a.refused, a.message)
			case !passes && (r.Says == "" || !strings.Contains(a.message, r.Says) || !strings.Contains(a.message, "; change clusters/prod")):
				t.Errorf("%s, %s:\n%s\nwant\n%s", state, r.Name, a.message, r.Says)
			}
		}
	}
	if asked < 180 {
		t.Errorf("%d requests", asked)
	}
}

// The policies as a person reads them.
func TestGolden(t *testing.T) {
	names, facts, options := states(t)
	for _, state := range names {
		objects, err := Objects(facts[state], options[state])
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for i, o := range objects {
			if i > 0 {
				got.WriteString("---\n")
			}
			got.Write(o.YAML)
		}
		file := filepath.Join("testdata", "policies", state+".yaml")
		if *update {
			if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}
