package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/manifest"
)

// A remedy that is a command of olmgen works as it is printed, and what it renders is not refused.
func TestRemedies(t *testing.T) {
	list := []string{example(t, "bundle")}
	if corpustest.Set(t) {
		list = append(list, corpustest.Bundles(t)...)
	}
	releases := []fit.Given{{}, {OLM: []string{"v1.1"}}, {OpenShift: "4.18"}, {OpenShift: "4.20"}}
	tried := 0
	for _, dir := range list {
		b, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{AllowUnsupported: true})
		if refused := new(manifest.Error); errors.As(err, &refused) {
			continue
		}
		must(t, err)
		operator, known := fit.OfBundle(b), map[string]bool{}
		for _, given := range releases {
			cluster, err := given.Read()
			must(t, err)
			v, _ := fit.Judge(operator, fit.OLMv1, cluster)
			command, ok := strings.CutPrefix(v.Remedy, "olmgen ")
			if command, _, _ = strings.Cut(command, ";"); !ok || known[command] {
				continue
			}
			known[command] = true
			tried++
			out := filepath.Join(t.TempDir(), "out")
			args := strings.Fields(strings.NewReplacer("BUNDLE", dir, "DIR", out, "NAMESPACE", "a", "OTHER", "b").Replace(command))
			var stdout, stderr bytes.Buffer
			if code := run(append(args, "--quiet"), nil, &stdout, &stderr); code != 0 {
				t.Errorf("%s: olmgen %s: exit code %d\n%s", filepath.Base(dir), command, code, stderr.String())
			}
			if plain, _ := fit.Judge(operator, fit.Plain, fit.Cluster{}); plain.Answer == fit.Refused {
				t.Errorf("%s: the remedy is profile plain: %s", filepath.Base(dir), plain)
			}
		}
	}
	if corpustest.Set(t) && tried == 0 {
		t.Errorf("%d remedies were tried", tried)
	}
	t.Logf("%d remedies of %d bundles", tried, len(list))
}
