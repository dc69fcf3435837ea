package crds_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/compare/crds"
	"github.com/olmgen/olmgen/internal/compare/crdobjects"
	"github.com/olmgen/olmgen/internal/rules/helper"
	"github.com/olmgen/olmgen/manifest"
)

// The test binary is the helper program too.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == crds.HelperArg {
		os.Exit(helper.Main(os.Args[1:], map[string]helper.Answer{
			crds.HelperArg: helper.JSON(crdobjects.Checker{}.Check),
		}, os.Stdin, os.Stderr))
	}
	os.Exit(m.Run())
}

// TestHelper holds that another process finds what this one finds.
func TestHelper(t *testing.T) {
	dir := filepath.Join("testdata", "objects")
	old, now := crds.ReadFile(t, filepath.Join(dir, "old.yaml")), crds.ReadFile(t, filepath.Join(dir, "new.yaml"))
	existing := crds.ReadFile(t, filepath.Join(dir, "objects.yaml"))
	want, err := crds.Compare(t.Context(), old, now, crds.Options{Checker: crdobjects.Checker{}, Objects: existing})
	if err != nil {
		t.Fatal(err)
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	got, err := crds.Compare(t.Context(), old, now, crds.Options{Checker: crds.Helper{Path: path}, Objects: existing})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-in this process +in another):\n%s", err, diff)
	}
}

// badChecker answers what no API server does.
type badChecker struct {
	answers []crds.Answer
	err     error
}

func (c badChecker) Check(context.Context, []crds.Batch) ([]crds.Answer, error) {
	return c.answers, c.err
}

func TestBadChecker(t *testing.T) {
	boats := crds.Parse(t, "crd.yaml", crds.CRDText("{type: string}", "v1 served storage"))
	boat := crds.Parse(t, "boat.yaml", "apiVersion: ferry.example.com/v1\nkind: Boat\nmetadata: {name: a}\nspec: a\n")
	for name, tc := range map[string]struct {
		checker crds.Checker
		want    string
	}{
		"none":         {nil, "Options.Objects need Options.Checker"},
		"it fails":     {badChecker{err: errors.New("broken")}, "broken"},
		"no answer":    {badChecker{}, "the Checker has 0 answers to 1 batches"},
		"no verdict":   {badChecker{answers: []crds.Answer{{}}}, "the Checker has 0 verdicts on 1 objects"},
		"a bad schema": {badChecker{answers: []crds.Answer{{Error: "x"}}}, "crd.yaml:9: spec.versions[0].schema.openAPIV3Schema: "},
		"a bad object": {badChecker{answers: []crds.Answer{{Verdicts: []crds.Verdict{{Error: "x"}}}}}, "boat.yaml:3: metadata: x"},
	} {
		findings, err := crds.Compare(t.Context(), boats, boats, crds.Options{Checker: tc.checker, Objects: boat})
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: %v %v, want %s", name, findings, err, tc.want)
		}
	}
}

// TestVerdicts compares the findings about objects with what a real API server says ("make e2e CHECK=crs" asks it).
func TestVerdicts(t *testing.T) {
	dir := filepath.Join("testdata", "objects")
	old, now := crds.ReadFile(t, filepath.Join(dir, "old.yaml")), crds.ReadFile(t, filepath.Join(dir, "new.yaml"))
	var got strings.Builder
	existing := crds.ReadFile(t, filepath.Join(dir, "objects.yaml"))
	for _, o := range existing {
		findings, err := crds.Compare(t.Context(), old, now, crds.Options{Checker: crdobjects.Checker{}, Objects: []*manifest.Object{o}})
		if err != nil {
			t.Fatal(err)
		}
		name := o.Kind + " " + strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")
		var lines []string
		for _, f := range findings {
			if !strings.HasPrefix(f.Rule, "object") {
				continue
			}
			if !strings.HasPrefix(f.Message, "objects.yaml:") || !strings.Contains(f.Message, ": "+name+": ") {
				t.Errorf("%s: the message does not begin with its place: %s", name, f.Message)
			}
			lines = append(lines, name+": "+strings.TrimSpace(f.Rule+" "+f.Path))
		}
		if len(lines) == 0 {
			lines = []string{name + ": valid"}
		}
		slices.Sort(lines)
		got.WriteString(strings.Join(lines, "\n") + "\n")
	}
	want, err := os.ReadFile(filepath.Join(dir, "verdicts.txt"))
	if err != nil {
		t.Fatal(err)
	}
	_, recorded, _ := strings.Cut(string(want), "\n") // the first line is a comment
	if diff := cmp.Diff(recorded, got.String()); diff != "" {
		t.Errorf("recorded (-), found (+):\n%s", diff)
	}
	if len(existing) < 40 {
		t.Errorf("only %d objects", len(existing))
	}
}

// TestObjectKinds holds which objects are looked at, and what is said about those without a schema.
func TestObjectKinds(t *testing.T) {
	boats := crds.Parse(t, "crd.yaml", crds.CRDText("{type: string}", "v1 served storage", "v2"))
	object := func(apiVersion, kind string) []*manifest.Object {
		return crds.Parse(t, "objects.yaml", "apiVersion: "+apiVersion+"\nkind: "+kind+"\nmetadata: {name: a}\nspec: 5\n")
	}
	for name, tc := range map[string]struct {
		old, now, existing []*manifest.Object
		want               []string
	}{
		"of no CRD":           {boats, boats, object("apps/v1", "Deployment"), nil},
		"of a dropped CRD":    {boats, nil, object("ferry.example.com/v1", "Boat"), []string{"error crdRemoved ", "error objectOrphaned "}},
		"of an unknown kind":  {boats, boats, object("ferry.example.com/v1", "Ship"), []string{"warning objectUnknown kind"}},
		"of no version":       {boats, boats, object("ferry.example.com/v3", "Boat"), []string{"error objectVersion apiVersion"}},
		"not served":          {boats, boats, object("ferry.example.com/v2", "Boat"), []string{"error objectVersion apiVersion"}},
		"of an unchanged CRD": {boats, boats, object("ferry.example.com/v1", "Boat"), []string{"warning objectRatcheted spec"}},
		"of a new CRD":        {nil, boats, object("ferry.example.com/v1", "Boat"), []string{"warning objectRatcheted spec", "info crdAdded "}},
	} {
		findings, err := crds.Compare(t.Context(), tc.old, tc.now, crds.Options{Checker: crdobjects.Checker{}, Objects: tc.existing})
		var got []string
		for _, f := range findings {
			got = append(got, string(f.Severity)+" "+f.Rule+" "+f.Path)
		}
		if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	broken := crds.Parse(t, "now.yaml", crds.CRDText("{type: object, $ref: x}", "v1 served storage"))
	_, err := crds.Compare(t.Context(), boats, broken, crds.Options{Checker: crdobjects.Checker{}, Objects: object("ferry.example.com/v1", "Boat")})
	if err == nil || !strings.HasPrefix(err.Error(), "now.yaml:9: spec.versions[0].schema.openAPIV3Schema: the API server cannot use") {
		t.Errorf("a schema that is not structural: %v", err)
	}
}

func TestOrder(t *testing.T) {
	old, now := crds.ReadFile(t, "testdata/objects/old.yaml"), crds.ReadFile(t, "testdata/objects/new.yaml")
	existing := crds.ReadFile(t, "testdata/objects/objects.yaml")
	want, err := crds.Compare(t.Context(), old, now, crds.Options{Checker: crdobjects.Checker{}, Objects: existing})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		for _, list := range [][]*manifest.Object{old, now, existing} {
			rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
		got, err := crds.Compare(t.Context(), old, now, crds.Options{Checker: crdobjects.Checker{}, Objects: existing})
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatal(err, diff)
		}
	}
	if !slices.IsSortedFunc(want, crds.Order) {
		t.Error("not sorted")
	}
	for _, f := range want {
		if strings.Contains(f.Message, "\n") || len(f.Message) > 400 {
			t.Errorf("not one line: %q", f.Message)
		}
	}
}
