package extension_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/extension"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/internal/print"
)

var update = flag.Bool("update", false, "write the golden files anew")

// question is the file ask.json of a case.
type question struct {
	Package       string   `json:"package"`
	Versions      string   `json:"versions"`
	Channels      []string `json:"channels"`
	SelfCertified bool     `json:"selfCertified"`
	From          string   `json:"from"`
	To            string   `json:"to"`
}

// TestGolden walks the cases of testdata. The first lines of each name the rule and its file in operator-controller.
// A file is a catalog, NAME.yaml or NAME,PRIORITY.yaml, the question ask.json or the answer want.txt.
func TestGolden(t *testing.T) {
	ends := map[resolve.PathEnd]bool{}
	golden.EachArchive(t, "testdata/*.txtar", func(t *testing.T, file string, a *txtar.Archive) {
		if c := string(a.Comment); !strings.Contains(c, "internal/operator-controller/") && !strings.Contains(c, "api/v1/") {
			t.Error("the case names no file of operator-controller")
		}
		sources, q := readCase(t, a)
		r := extension.Request{Package: q.Package, Versions: q.Versions, Channels: q.Channels,
			SelfCertified: q.SelfCertified}
		var got bytes.Buffer
		p, err := extension.PathOf(sources, r, q.From, q.To)
		if err != nil {
			got.WriteString("error: " + err.Error() + "\n")
		} else {
			ends[p.End] = true
			if err := print.Report(&got, p, findings.Text); err != nil {
				t.Fatal(err)
			}
			// The order of catalogs does not change the answer.
			slices.Reverse(sources)
			again, err := extension.PathOf(sources, r, q.From, q.To)
			if err != nil || again.End != p.End || cmp.Diff(p.Steps, again.Steps, ignoreNotes) != "" {
				t.Errorf("with the catalogs reversed: %v\n%s", err, cmp.Diff(p, again))
			}
		}
		golden.CheckArchived(t, file, a, "want.txt", got.Bytes(), *update)
	})
	for _, end := range []resolve.PathEnd{resolve.AtTarget, resolve.AtHead, resolve.PassedOver, resolve.Stuck,
		resolve.OutOfReach, resolve.Refused} {
		if !ends[end] {
			t.Errorf("no case ends with %s", end)
		}
	}
}

var ignoreNotes = cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Notes" }, cmp.Ignore())

func readCase(t *testing.T, a *txtar.Archive) (sources []extension.Source, q question) {
	t.Helper()
	for _, f := range a.Files {
		name, isCatalog := strings.CutSuffix(f.Name, ".yaml")
		switch {
		case isCatalog:
			name, priority, _ := strings.Cut(name, ",")
			s := extension.Source{Name: name}
			if priority != "" {
				n, err := strconv.ParseInt(priority, 10, 32)
				if err != nil {
					t.Fatal(err)
				}
				s.Priority = int32(n)
			}
			var err error
			s.Catalog, err = catalog.ReadFS(t.Context(), fstest.MapFS{"c.yaml": &fstest.MapFile{Data: f.Data}},
				catalog.Options{})
			if err != nil {
				t.Fatal(err)
			}
			sources = append(sources, s)
		case f.Name == "ask.json":
			if err := json.Unmarshal(f.Data, &q); err != nil {
				t.Fatal(err)
			}
		}
	}
	return sources, q
}
