package compare_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/golden/reviewtest"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/compare/change"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/print"
)

// releases returns the directories of packages, oldest release first: of the corpus where it is at hand, and this repository's own.
func releases(t *testing.T) [][]string {
	t.Helper()
	list := [][]string{{"../../golden/upgrades/ferry/from", "../../golden/upgrades/ferry/to"}}
	if corpustest.Set(t) {
		for _, p := range corpustest.Packages(t) {
			list = append(list, p.Bundles)
		}
	}
	return list
}

// A release does not differ from itself, nor from itself with its rules broken up, shuffled and dealt to other roles, nor with its objects in
// another order. What one release gains over another is what the other one loses, and every format can be written.
func TestReleases(t *testing.T) {
	bundles, pairs, changed := 0, 0, 0
	for _, list := range releases(t) {
		var before *compare.State
		for _, dir := range list {
			now, ok := rendered(t, reviewtest.Bundle(t, dir))
			if !ok {
				continue
			}
			again, _ := rendered(t, reviewtest.Bundle(t, dir))
			bundles++
			if r := compared(t, now, again); !r.Empty() {
				t.Errorf("%s differs from itself: %s", dir, short(t, r))
			}
			random := rand.New(rand.NewPCG(13, uint64(bundles)))
			if r := compared(t, stateOf(t, now.Objects), stateOf(t, reviewtest.Rewritten(t, now.Objects, random))); !r.Empty() {
				t.Errorf("%s: rewriting the rules is a change: %s", dir, short(t, r))
			}
			if before != nil {
				pairs++
				forward, back := compared(t, *before, now), compared(t, now, *before)
				mirror(t, dir, forward, back)
				everyFormat(t, dir, forward)
				if !forward.Empty() {
					changed++
				}
			}
			before = &now
		}
	}
	t.Logf("%d bundles, %d pairs, %d of them differ", bundles, pairs, changed)
	if pairs == 0 || changed == 0 || len(releases(t)) > 1 && (bundles < corpustest.Least(t, 180) || changed < corpustest.Least(t, 30)) {
		t.Errorf("only %d bundles and %d pairs were looked at", bundles, pairs)
	}
}

func short(t *testing.T, r *compare.Report) string {
	t.Helper()
	var out bytes.Buffer
	if err := print.Report(&out, r, findings.Text); err != nil {
		t.Fatal(err)
	}
	return out.String()[:min(out.Len(), 2000)]
}

// mirror checks that gained and lost change places with the releases. A role that nothing binds is left out: what an
// account had before is a loss of the account and no gain of such a role, and the other way it is a loss of the role.
func mirror(t *testing.T, name string, forward, back *compare.Report) {
	t.Helper()
	side := func(r *compare.Report, c permissions.Change) []string {
		var out []string
		for n, i := range slices.Concat(r.Permissions, r.Users) {
			if i.Change != c || n < len(r.Permissions) && i.Subject.IsRole() {
				continue
			}
			for n := range i.ResourceNames { // the OperatorCondition has the name of the newer one
				if slices.Contains(i.Resources, "operatorconditions") {
					i.ResourceNames = slices.Clone(i.ResourceNames)
					i.ResourceNames[n] = "condition"
				}
			}
			subject := i.Subject.String()
			for _, x := range r.Renamed {
				if i.Subject == x.New {
					subject = x.Old.String()
				}
			}
			for _, x := range back.Renamed {
				if subject == x.Old.String() {
					subject = x.New.String()
				}
			}
			out = append(out, fmt.Sprint(subject, i.Namespaces, i.Verbs, i.APIGroups, i.Resources, i.ResourceNames, i.NonResourceURLs, i.Risk))
		}
		slices.Sort(out)
		return out
	}
	if d := cmp.Diff(side(forward, permissions.Gained), side(back, permissions.Lost)); d != "" {
		t.Errorf("%s: gained is not what is lost the other way:\n%s", name, d)
	}
	if d := cmp.Diff(side(forward, permissions.Lost), side(back, permissions.Gained)); d != "" {
		t.Errorf("%s: lost is not what is gained the other way:\n%s", name, d)
	}
}

// everyFormat prints a report in every format: a comment fits, and its answers are in the first ten lines.
func everyFormat(t *testing.T, name string, r *compare.Report) {
	t.Helper()
	for _, format := range print.Formats {
		var out bytes.Buffer
		if err := print.Report(&out, r, format); err != nil {
			t.Fatalf("%s: %s: %v", name, format, err)
		}
		switch format {
		case findings.JSON, findings.SARIF:
			if !json.Valid(out.Bytes()) {
				t.Errorf("%s: %s is not JSON", name, format)
			}
		case findings.Markdown:
			if n := utf8.RuneCount(out.Bytes()); n >= 65536 {
				t.Errorf("%s: a comment of %d characters", name, n)
			}
			lines := strings.SplitN(out.String(), "\n", 11)
			for _, a := range r.Summary {
				if !strings.Contains(strings.Join(lines[:min(10, len(lines))], "\n"), "| "+a.Section.Title()+" |") {
					t.Errorf("%s: %s is not in the first ten lines", name, a.Section)
				}
			}
		}
	}
}

// Comparing two large releases takes less than a second.
func BenchmarkCompare(b *testing.B) {
	dirs := []string{"../../golden/upgrades/ferry/from", "../../golden/upgrades/ferry/to"}
	if corpustest.Set(b) {
		root := corpustest.Root(b)
		dirs = []string{filepath.Join(root, "bundles/azure-service-operator/1.0.24492"), filepath.Join(root, "bundles/vault-config-operator/0.8.52")}
	}
	b.ReportAllocs()
	for b.Loop() {
		old, ok := rendered(b, reviewtest.Bundle(b, dirs[0]))
		now, ok2 := rendered(b, reviewtest.Bundle(b, dirs[1]))
		if !ok || !ok2 {
			b.Fatal("not rendered")
		}
		compared(b, old, now)
	}
}

// The CSV that is rendered says what that of the bundle says, and the properties that are in files of the bundle.
func TestRenderedCSV(t *testing.T) {
	properties := []string{`metadata.annotations["` + olm.AnnotationProperties + `"]`}
	for _, list := range releases(t) {
		for _, dir := range list {
			now, ok := rendered(t, reviewtest.Bundle(t, dir))
			if !ok {
				continue
			}
			for _, c := range compared(t, now, stateOf(t, now.Objects)).Identity {
				if slices.Equal(c.Fields, properties) {
					continue
				}
				if c.Part == change.Rest || c.Part == change.About || c.Part == change.Image || c.Part == change.Cleanup {
					t.Errorf("%s: %+v", dir, c)
				}
			}
		}
	}
}
