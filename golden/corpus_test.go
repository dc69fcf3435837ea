package golden

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/corpus"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
)

// corpusRun counts what came out.
type corpusRun struct {
	bundles, trees, objects, bytes int
	refused                        map[string]int
	warnings                       map[string]int             // by class, one that several trees of a bundle share once
	busy                           time.Duration              // reading each bundle and rendering each tree once
	checked                        map[[sha256.Size]byte]bool // objects whose names and labels are known to be valid
}

// Every bundle of the corpus renders in every install mode that it supports, with both kinds of names, for both kinds of clusters and to
// be handed over to OLM, to the same bytes twice, to objects with valid names and labels, and to a tree that kustomize builds.
func TestCorpus(t *testing.T) {
	c := &corpusRun{refused: map[string]int{}, warnings: map[string]int{}, checked: map[[sha256.Size]byte]bool{}}
	start := time.Now()
	for _, dir := range corpustest.Bundles(t) {
		t.Run(filepath.Base(filepath.Dir(dir))+"/"+filepath.Base(dir), func(t *testing.T) { c.bundle(t, dir) })
	}
	fmt.Println(c.summary(time.Since(start)))
}

func (c *corpusRun) bundle(t *testing.T, dir string) {
	c.bundles++
	start := time.Now()
	first, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{})
	c.busy += time.Since(start)
	if err != nil {
		c.refuse(t, err)
		return
	}
	second, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{Workers: 8})
	if err != nil {
		t.Fatalf("refused only the second time: %v", err)
	}
	c.bytes += first.Bytes
	warned := map[string]string{}
	for i, o := range corpusOptions(first.CSV) {
		r := c.render(t, first, second, o)
		if r == nil {
			continue
		}
		for _, w := range r.result.Warnings {
			warned[w.Error.Error()] = w.Class
		}
		if i == 0 {
			c.layouts(t, r)
		}
	}
	for _, class := range warned {
		c.warnings[class]++
	}
}

// layouts looks at the first tree of a bundle in every layout. The flat one is built; the others of every twentieth bundle are.
func (c *corpusRun) layouts(t *testing.T, r *rendered) {
	if c.bundles%20 == 1 {
		checkLayouts(t, r.laid)
		return
	}
	checkKustomize(t, r.tree, []string{"."}, r.result.Objects)
	for _, l := range slices.Sorted(maps.Keys(layoutRoots)) {
		checkLayout(t, r.laid, l)
	}
}

// corpusOptions returns every combination of options that a bundle is rendered with.
func corpusOptions(csv *v1alpha1.ClusterServiceVersion) []generate.Options {
	targets := map[v1alpha1.InstallModeType][]string{
		v1alpha1.InstallModeTypeSingleNamespace: {"target-a"},
		v1alpha1.InstallModeTypeMultiNamespace:  {"target-a", "target-b"},
	}
	var out []generate.Options
	for _, m := range csv.Spec.InstallModes {
		if !m.Supported || !slices.Contains(bundle.InstallModes, m.Type) {
			continue
		}
		for _, names := range []generate.Names{generate.NamesStable, generate.NamesOLM} {
			for _, profile := range []generate.Profile{generate.ProfileOLM, generate.ProfilePlain} {
				out = append(out, generate.Options{Namespace: "operator-ns", InstallMode: m.Type, TargetNamespaces: targets[m.Type],
					Names: names, Profile: profile, CopiedCSVs: generate.CopiedFull, Certs: generate.CertsManager})
			}
		}
		for _, profile := range []generate.Profile{generate.ProfileSubscription, generate.ProfileClusterExtension} {
			out = append(out, generate.Options{Namespace: "operator-ns", InstallMode: m.Type, TargetNamespaces: targets[m.Type], Profile: profile,
				Subscription: generate.SubscriptionOptions{CatalogImage: "quay.io/example/catalog:latest", StartingCSV: true, Approval: "Manual"}})
		}
	}
	return out
}

// render renders both readings of a bundle with one set of options and looks at the result, nil if it is refused.
func (c *corpusRun) render(t *testing.T, first, second *bundle.Bundle, o generate.Options) *rendered {
	what := fmt.Sprintf("%s, names %s, profile %s", o.InstallMode, o.Names, o.Profile)
	start := time.Now()
	r, err := renderBundle(first, o)
	c.busy += time.Since(start)
	if err != nil {
		c.refuse(t, fmt.Errorf("%s: %w", what, err))
		return nil
	}
	again, err := renderBundle(second, o)
	if err != nil {
		t.Errorf("%s: refused only the second time: %v", what, err)
		return nil
	}
	if d := Diff("first", r.tree, again.tree); d != "" {
		t.Errorf("%s: rendered differently the second time:\n%s", what, d)
	}
	c.trees++
	c.objects += len(r.result.Objects)
	seen := map[string]bool{}
	for _, obj := range r.result.Objects {
		id := identity(obj.Group(), obj.Kind, obj.Namespace, obj.Name)
		if seen[id] {
			t.Errorf("%s: %s occurs twice", what, id)
		}
		seen[id] = true
		c.checkValid(t, what, obj)
	}
	return r
}

// checkValid looks at an object that has not been seen before.
func (c *corpusRun) checkValid(t *testing.T, what string, o generate.Object) {
	sum := sha256.Sum256(o.Data)
	if c.checked[sum] {
		return
	}
	c.checked[sum] = true
	for _, problem := range invalid(o) {
		t.Errorf("%s: %s", what, problem)
	}
}

// refuse counts an error that is explained, and reports any other. Options that do not fit come with a hint.
func (c *corpusRun) refuse(t *testing.T, err error) {
	if e := (*generate.Error)(nil); errors.As(err, &e) && e.Hint() == "" {
		t.Errorf("refused without a hint: %v", err)
	}
	if class, why := corpus.Refusal(err); class != "" {
		c.refused[class]++
		t.Logf("refused, because %s: %v", why, err)
		return
	}
	t.Errorf("refused for a reason that is not among the explained ones: %v", err)
}

func (c *corpusRun) summary(took time.Duration) string {
	s := c.busy.Seconds()
	return fmt.Sprintf("corpus: %d bundles, refused %s, %d trees, %d objects, warnings %s, %.1f s, without the checks %.1f s: %.1f bundles/s, %.1f MB/s", c.bundles,
		counts(c.refused), c.trees, c.objects, counts(c.warnings), took.Seconds(), s, float64(c.bundles)/s, float64(c.bytes)/1e6/s)
}

func counts(m map[string]int) string {
	total, parts := 0, []string{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		total += m[k]
		parts = append(parts, fmt.Sprintf("%s %d", k, m[k]))
	}
	if total == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%s)", total, strings.Join(parts, ", "))
}
