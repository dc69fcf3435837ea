package crds

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/manifest"
)

// FuzzCompare compares any text with any other, and checks objects: there is a result or an error, and each finding is
// one line.
func FuzzCompare(f *testing.F) {
	var texts []string
	for _, name := range []string{"old.yaml", "new.yaml"} {
		data, err := os.ReadFile(filepath.Join("testdata", "objects", name))
		if err != nil {
			f.Fatal(err)
		}
		texts = append(texts, string(data))
	}
	object := "apiVersion: ferry.example.com/v1\nkind: Boat\nmetadata: {name: a}\nspec: {seats: 0, colour: red, call: abc}\n"
	f.Add(texts[0], texts[1], object)
	f.Add(crdText("{type: string}", "v1 served storage"), crdText("{type: [a]}", "v1 served"), object)
	f.Add(crdText("{type: object}", "v1 served storage"), crdText("{type: array, items: [{type: string}]}", "v1 served"), object)
	f.Add(strings.Replace(crdText("{type: object}", "v1 served storage"), "/v1\n", "/v1beta1\n", 1),
		crdText("{not: {anyOf: [{}]}, x-kubernetes-validations: [{rule: self == }]}", "v1 served", "v2 served"), object)
	f.Fuzz(func(t *testing.T, old, now, existing string) {
		fuzztest.Limit(t, len(old)+len(now)+len(existing))
		var sides [3][]*manifest.Object
		for i, text := range []string{old, now, existing} {
			docs, err := manifest.ReadFile("f.yaml", []byte(text), manifest.Limits{})
			if err != nil {
				return
			}
			for _, d := range docs {
				list, err := d.Objects()
				if err != nil {
					return
				}
				sides[i] = append(sides[i], list...)
			}
		}
		findings, err := Compare(t.Context(), sides[0], sides[1],
			Options{Objects: sides[2]})
		if err != nil {
			return
		}
		for _, f := range findings {
			if strings.Contains(f.Message, "\n") || f.Severity.Rank() < 0 || f.Rule == "" {
				t.Errorf("%+v", f)
			}
		}
	})
}
