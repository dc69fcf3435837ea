package predict_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/print"
	"github.com/olmgen/olmgen/internal/tree"
)

// Whatever a tree holds: OLM is played to an end, every finding has a file and a rule, and two runs say the same.
func FuzzCheck(f *testing.F) {
	cases, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range cases {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(archive.Files[0].Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzztest.Limit(t, len(data))
		name := filepath.Join(t.TempDir(), "a.yaml")
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
		var texts [2]bytes.Buffer
		for i := range texts {
			tr, err := tree.Read(t.Context(), []string{name}, tree.Options{})
			if err != nil {
				return
			}
			r, err := predict.Check(t.Context(), tr, predict.Options{Namespace: "d", Catalogs: predict.Catalogs{
				Others: &catalog.Catalog{}}})
			if err != nil {
				t.Fatal(err)
			}
			for _, finding := range r.Findings {
				if finding.Rule == "" || finding.Message == "" || finding.File == "" && finding.Rule != "unsettled" && finding.Rule != "no-olm-objects" {
					t.Errorf("%+v", finding)
				}
			}
			for _, format := range print.Formats {
				if err := print.Report(&texts[i], r, format); err != nil {
					t.Fatal(err)
				}
			}
		}
		if !bytes.Equal(texts[0].Bytes(), texts[1].Bytes()) {
			t.Error("two runs differ")
		}
	})
}
