package fit_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/internal/fit"
)

var update = flag.Bool("update", false, "write the table of verdicts into docs/conformance.md")

// docs/conformance.md says how many bundles of the corpus run with releases of OLM v1, and why others do not.
func TestCorpusVerdicts(t *testing.T) {
	bundles := corpustest.Bundles(t)
	if !corpustest.Whole(t) {
		t.Skip("the table is about all bundles")
	}
	releases := []string{"v1.11", "4.18", "4.20", "5.1"}
	counts := map[string][]int{}
	read := 0
	for _, dir := range bundles {
		b, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{AllowUnsupported: true})
		if err != nil {
			continue
		}
		read++
		for i, r := range releases {
			v, _ := fit.Judge(fit.OfBundle(b), fit.OLMv1, cluster(t, r))
			row := fmt.Sprintf("%s | %s", v.Answer, v.Rule)
			if counts[row] == nil {
				counts[row] = make([]int, len(releases))
			}
			counts[row][i]++
		}
	}
	table := fmt.Sprintf("| verdict on %d bundles | by | operator-controller v1.11 | OpenShift 4.18 | OpenShift 4.20 | OpenShift 5.1 |\n|---|---|---|---|---|---|\n", read)
	for _, row := range slices.Sorted(maps.Keys(counts)) {
		table += "| " + row + " | " + strings.Trim(strings.ReplaceAll(fmt.Sprint(counts[row]), " ", " | "), "[]") + " |\n"
	}
	page := filepath.Join("..", "..", "docs", "conformance.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	stands := regexp.MustCompile(`(?m)^\| verdict on .*\n(\|.*\n)*`)
	if *update {
		if err := os.WriteFile(page, stands.ReplaceAll(text, []byte(table)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got := string(stands.Find(text)); got != table {
		t.Errorf("%s has\n%s\nand the corpus\n%s", page, got, table)
	}
}
