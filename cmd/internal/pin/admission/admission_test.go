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
func states(t testing.TB) (names []string, states map[string]*Policies) {
	t.Helper()
	var before, now Facts
	read(t, "before.yaml", &before)
	read(t, "now.yaml", &now)
	e := Exempt{[]string{"sandbox"}, []string{"system:serviceaccount:ops:fixer", "break-glass"}, []string{"sre"}}
	return []string{"before", "change", "now"}, map[string]*Policies{"before": {e, before, nil},
		"change": {e, now, &before}, "now": {e, now, nil}}
}

func TestRequests(t *testing.T) {
	requests, err := admissioncase.Read(filepath.Join("testdata", "requests.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	names, policies := states(t)
	asked := 0
	for _, state := range names {
		s := newServer(t, policies[state], "clusters/prod")
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
	names, policies := states(t)
	for _, state := range names {
		objects, err := policies[state].Objects("clusters/prod")
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

// TestWrite writes the objects of the policies in the file OLMGEN_POLICIES beside it: e2e/harness applies them.
func TestWrite(t *testing.T) {
	file := os.Getenv("OLMGEN_POLICIES")
	if file == "" {
		t.Skip("OLMGEN_POLICIES is not set")
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var p Policies
	if err := yaml.UnmarshalStrict(data, &p); err != nil {
		t.Fatal(err)
	}
	objects, err := p.Objects("clusters/prod")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, o := range objects {
		text.WriteString("---\n" + string(o.YAML))
	}
	if err := os.WriteFile(file+".objects", []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
