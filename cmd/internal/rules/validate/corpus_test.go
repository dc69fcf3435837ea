package validate_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	verrors "github.com/operator-framework/api/pkg/validation/errors"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/cmd/internal/rules/validate"
	"github.com/olmgen/olmgen/cmd/internal/rules/validate/framework"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

func known() map[string]bool {
	rules := map[string]bool{}
	for _, r := range validate.Rules() {
		rules[r.ID] = true
	}
	return rules
}

// Every bundle validates, twice with the same result, and each finding is of a rule, on one line, at a place that
// exists.
func TestCorpusBundles(t *testing.T) {
	dirs := corpustest.Bundles(t)
	rules, count := known(), map[string]int{}
	for _, dir := range dirs {
		src, err := source.Open(t.Context(), dir, source.Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		var first []validate.Finding
		for i := range 2 {
			findings, err := validate.Bundle(t.Context(), src, validate.Options{Checker: framework.Checker{}, OperatorHub: true})
			if err != nil {
				t.Errorf("%s: %v", dir, err)
			}
			if i == 0 {
				first = findings
			} else if d := cmp.Diff(first, findings); d != "" {
				t.Errorf("%s: another result (-first +second):\n%s", dir, d)
			}
		}
		for _, f := range first {
			count[f.Rule]++
			if !rules[f.Rule] || f.Message == "" || strings.ContainsAny(f.Message, "\n\r\t") ||
				strings.HasPrefix(f.Message, "the validator fails") {
				t.Errorf("%s: %+v", dir, f)
			}
			if _, err := fs.Stat(src.FS, f.File); f.File != "" && err != nil && f.Rule != "refused" {
				t.Errorf("%s: %+v: %v", dir, f, err)
			}
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d bundles: %v", len(dirs), count)
}

// What the API's own loader and validators say of a directory, olmgen says too.
func TestCorpusLikeAPI(t *testing.T) {
	dirs := corpustest.Bundles(t)
	compared := 0
	for i, dir := range dirs {
		if i%5 != 0 { // all 216 are equal by v0.45.0; this is for the next version
			continue
		}
		b, err := manifests.GetBundleFromDir(dir)
		if err != nil {
			t.Logf("%s: the API does not load it: %v", dir, err)
			continue
		}
		var want []string
		for _, v := range []interface {
			Validate(...any) []verrors.ManifestResult
		}{validation.DefaultBundleValidators, validation.ObjectValidator, validation.GoodPracticesValidator} {
			for _, r := range v.Validate(b.ObjectsToValidate()...) {
				for _, e := range append(r.Errors, r.Warnings...) {
					if !strings.HasPrefix(e.Detail, "channel(s)") { // in an order of its own
						want = append(want, strings.ToLower(string(e.Level))+" "+essence(e.Detail))
					}
				}
			}
		}
		got := apiFindings(t, dir)
		if got == nil {
			continue
		}
		compared++
		for _, w := range want {
			if w != "" && !slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, w) }) {
				t.Errorf("%s: not said: %s", dir, w)
			}
		}
		for _, g := range got {
			if !slices.ContainsFunc(want, func(w string) bool { return w != "" && strings.HasPrefix(g, w) }) {
				t.Errorf("%s: only olmgen says: %s", dir, g)
			}
		}
	}
	t.Logf("%d bundles compared", compared)
}

// apiFindings returns the findings of the same validators, or nil if olmgen refuses the bundle.
func apiFindings(t *testing.T, dir string) []string {
	t.Helper()
	src, err := source.Open(t.Context(), dir, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	findings, err := validate.Bundle(t.Context(), src, validate.Options{Checker: framework.Checker{}})
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, f := range findings {
		if f.Rule == "refused" {
			return nil
		}
		if strings.HasPrefix(f.Rule, "api/") && f.Rule != "api/alpha-deprecated-apis" &&
			!strings.HasPrefix(f.Message, "channel(s)") {
			got = append(got, string(f.Level)+" "+essence(f.Message))
		}
	}
	return got
}

// essence is the part of a message that olmgen does not reword.
func essence(s string) string {
	s = strings.TrimSuffix(strings.Join(strings.Fields(s), " "), ".")
	if _, rest, ok := strings.Cut(s, "Invalid value: "); ok {
		s = rest[strings.LastIndex(rest, ": ")+1:]
	}
	if strings.HasPrefix(s, "(") {
		_, s, _ = strings.Cut(s, ") ")
	}
	return s
}

// Every package converts, and each bundle of it is read, or refused with a place in a file.
func TestCorpusConverted(t *testing.T) {
	root := filepath.Join(corpustest.Root(t), "packagemanifests")
	dirs, err := os.ReadDir(root)
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no packages: %v", err)
	}
	versions, refused := 0, 0
	for _, d := range dirs {
		bundles, err := catalog.Convert(context.Background(), filepath.Join(root, d.Name()), catalog.Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		for _, b := range bundles {
			m := fstest.MapFS{}
			for name, data := range b.Files {
				m[name] = &fstest.MapFile{Data: data}
			}
			versions++
			read, err := bundle.Read(m, bundle.ReadOptions{AllowUnsupported: true})
			var place *manifest.Error
			switch {
			case err == nil:
				if read.Package == "" || strings.SplitN(b.Dir, "/", 2)[0] != read.Package {
					t.Errorf("%s: read as the package %q", b.Dir, read.Package)
				}
			case !errors.As(err, &place) || place.File == "" || place.Msg == "":
				t.Errorf("%s: refused, and it is not said where: %v", b.Dir, err)
			default:
				refused++
				t.Logf("%s: refused: %v", b.Dir, err)
			}
			src := &source.Source{FS: m, Ref: b.Dir, Kind: source.KindPackageManifest}
			if _, err := validate.Bundle(t.Context(), src, validate.Options{Checker: framework.Checker{}}); err != nil {
				t.Errorf("%s: %v", b.Dir, err)
			}
		}
	}
	t.Logf("%d versions of %d packages, %d refused", versions, len(dirs), refused)
}
