package validate_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/bundle/source"
	"github.com/olmgen/olmgen/validate"
)

var update = flag.Bool("update", false, "write the golden files of the formats anew")

// reports has a source of each kind, names that a format could trip over, and findings of each shape.
func reports() []validate.Report {
	finding := func(rule string, level validate.Level, file string, line int, field, message string) validate.Finding {
		return validate.Finding{Rule: rule, Level: level, File: file, Line: line, Field: field, Message: message}
	}
	of := func(kind, ref string, findings ...validate.Finding) validate.Report {
		return validate.NewReport(&source.Source{Kind: kind, Ref: ref}, findings)
	}
	const csv = "manifests/op.csv.yaml"
	twice := finding("duplicate-key", validate.LevelWarning, csv, 3, "type", "the key occurs twice, the last one counts")
	again := twice
	again.Line = 9
	return []validate.Report{
		of(source.KindDir, "bundles/op/",
			finding("api/good-practices", validate.LevelWarning, "", 0, "", `channel(s) ["alpha"] are not following the convention`),
			finding("layout", validate.LevelWarning, "manifests/README.md", 0, "", "not read: neither .yaml, .yml nor .json"),
			twice, again,
			finding("api/csv", validate.LevelError, csv, 12, `metadata.annotations["alm-examples"]`, "invalid example: <b>&amp; \"quoted\" \\ \u2028 ünïcode"),
		),
		of(source.KindDir, "."),
		of(source.KindDir, ".", finding("refused", validate.LevelError, "manifests", 0, "", "no ClusterServiceVersion")),
		of(source.KindDir, "dir:a b#c%d?e:f", finding("refused", validate.LevelError, "manifests/x y.yaml", 1, "", "not YAML")),
		of(source.KindDir, "./c:d", finding("refused", validate.LevelError, "manifests/x.yaml", 1, "", "not YAML")),
		of(source.KindDir, "/srv/b", finding("refused", validate.LevelError, "manifests/x.yaml", 1, "", "not YAML")),
		of(source.KindDir, "c", finding("api/mine", validate.LevelWarning, "manifests/x.yaml", 1, "", "a checker of somebody else")),
		of(source.KindTar, "-", finding("refused", validate.LevelError, "manifests/x.yaml", 1, "", "not YAML")),
		of(source.KindCatalog, "catalog:cat/", finding("refused", validate.LevelError, "manifests/x.yaml", 1, "", "not YAML")),
		of(source.KindOCI, "oci://quay.io/a/b@sha256:0123", finding("refused", validate.LevelError, "manifests/x.yaml", 1, "", "not YAML")),
	}
}

func TestFormats(t *testing.T) {
	for _, format := range validate.Formats {
		t.Run(string(format), func(t *testing.T) {
			var got bytes.Buffer
			if err := validate.Print(&got, format, reports()); err != nil {
				t.Fatal(err)
			}
			name := filepath.Join("testdata", "report."+string(format))
			if *update {
				if err := os.WriteFile(name, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got.String()); d != "" {
				t.Errorf("(-%s +got):\n%s", name, d)
			}
		})
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func TestFormatErrors(t *testing.T) {
	if err := validate.Print(&bytes.Buffer{}, "xml", nil); err == nil {
		t.Error("xml is a format")
	}
	broken := errors.New("broken")
	for _, format := range validate.Formats {
		if err := validate.Print(brokenWriter{broken}, format, reports()); !errors.Is(err, broken) {
			t.Errorf("%s: the writer's error is lost: %v", format, err)
		}
	}
}

func TestCount(t *testing.T) {
	if e, w := validate.Count(reports()); e != 8 || w != 5 {
		t.Errorf("%d errors, %d warnings", e, w)
	}
	if e, w := validate.Count(nil); e != 0 || w != 0 {
		t.Errorf("%d errors, %d warnings", e, w)
	}
}

// No findings are empty lists, not null.
func TestFormatsOfNothing(t *testing.T) {
	for format, want := range map[validate.Format]string{
		validate.FormatText: "",
		validate.FormatJSON: "{\n  \"findings\": [],\n  \"errors\": 0,\n  \"warnings\": 0\n}\n",
	} {
		var got bytes.Buffer
		if err := validate.Print(&got, format, nil); err != nil || got.String() != want {
			t.Errorf("%s: %q, %v", format, got.String(), err)
		}
	}
	log := readSARIF(t, nil)
	if run := log.Runs[0]; run.Results == nil || run.Tool.Driver.Rules == nil {
		t.Error("sarif: a list is null")
	}
}

type sarif struct {
	Version string
	Runs    []struct {
		Tool struct {
			Driver struct {
				Name  string
				Rules []struct{ ID string }
			}
		}
		Results []struct {
			RuleID              string
			RuleIndex           int
			Level               string
			Message             struct{ Text string }
			PartialFingerprints map[string]string
			Locations           []struct {
				PhysicalLocation struct {
					ArtifactLocation struct{ URI string }
					Region           *struct{ StartLine int }
				}
			}
		}
	}
}

func readSARIF(t *testing.T, reports []validate.Report) sarif {
	t.Helper()
	var b bytes.Buffer
	if err := validate.Print(&b, validate.FormatSARIF, reports); err != nil {
		t.Fatal(err)
	}
	var log sarif
	if err := json.Unmarshal(b.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || len(log.Runs) != 1 || log.Runs[0].Tool.Driver.Name != "olmgen" {
		t.Fatalf("not a log of one run: %+v", log)
	}
	return log
}

// What SARIF asks beyond its JSON schema.
func TestSARIF(t *testing.T) {
	run := readSARIF(t, reports()).Runs[0]
	prints := map[string]bool{}
	for _, r := range run.Results {
		if r.RuleIndex < 0 || r.RuleIndex >= len(run.Tool.Driver.Rules) || run.Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID {
			t.Errorf("rule %s is not at index %d", r.RuleID, r.RuleIndex)
		}
		p := r.PartialFingerprints["olmgen/v1"]
		if len(p) != 32 || prints[p] {
			t.Errorf("fingerprint %q is empty or not unique", p)
		}
		prints[p] = true
		at := r.Locations[0].PhysicalLocation
		if _, err := url.Parse(at.ArtifactLocation.URI); err != nil || at.ArtifactLocation.URI == "" {
			t.Errorf("%q is no URI: %v", at.ArtifactLocation.URI, err)
		}
		if at.Region != nil && at.Region.StartLine < 1 {
			t.Errorf("%s: line %d", at.ArtifactLocation.URI, at.Region.StartLine)
		}
	}

	// Lines that move do not change a fingerprint; another source does.
	one := func(dir string, line int) string {
		r := validate.NewReport(&source.Source{Kind: source.KindDir, Ref: dir}, []validate.Finding{{Rule: "layout", Level: validate.LevelWarning, File: "f", Line: line, Message: "m"}})
		return readSARIF(t, []validate.Report{r}).Runs[0].Results[0].PartialFingerprints["olmgen/v1"]
	}
	if one("a", 1) != one("a", 2) || one("a", 1) == one("b", 1) {
		t.Error("fingerprints depend on lines, or not on the source")
	}
}
