package validate_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/url"
	"path/filepath"
	"slices"
	"testing"

	"github.com/olmgen/olmgen/cmd/internal/rules/validate"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/internal/print"
	"github.com/olmgen/olmgen/source"
)

var update = flag.Bool("update", false, "write the golden files of the formats anew")

// reports has a source of each kind, names that a format could trip over, and findings of each shape.
func reports() []validate.Finding {
	finding := func(rule string, level findings.Severity, file string, line int, field, message string) validate.Finding {
		return validate.Finding{Rule: rule, Level: level, File: file, Line: line, Field: field, Message: message}
	}
	of := func(kind, ref string, list ...validate.Finding) []validate.Finding {
		return validate.Located(&source.Source{Kind: kind, Ref: ref}, list)
	}
	const csv = "manifests/op.csv.yaml"
	twice := finding("duplicate-key", findings.Warning, csv, 3, "type", "the key occurs twice, the last one counts")
	again := twice
	again.Line = 9
	return slices.Concat(
		of(
			source.KindDir,
			"bundles/op/",
			finding("api/good-practices", findings.Warning, "", 0, "", `channel(s) ["alpha"] are not following the convention`),
			finding("layout", findings.Warning, "manifests/README.md", 0, "", "left out: not a Kubernetes object"),
			twice, again,
			finding("api/csv", findings.Error, csv, 12, `metadata.annotations["alm-examples"]`, "invalid example: <b>&amp; \"quoted\" \\ \u2028 ünïcode"),
		),
		of(source.KindDir, "."),
		of(source.KindDir, ".", finding("refused", findings.Error, "manifests", 0, "", "no ClusterServiceVersion")),
		of(source.KindDir, "dir:a b#c%d?e:f", finding("refused", findings.Error, "manifests/x y.yaml", 1, "", "not YAML")),
		of(source.KindDir, "./c:d", finding("refused", findings.Error, "manifests/x.yaml", 1, "", "not YAML")),
		of(source.KindDir, "/srv/b", finding("refused", findings.Error, "manifests/x.yaml", 1, "", "not YAML")),
		of(
			source.KindDir,
			"c",
			finding("api/mine", findings.Warning, "manifests/x.yaml", 1, "", "a checker of somebody else"),
		),
		of(source.KindTar, "-", finding("refused", findings.Error, "manifests/x.yaml", 1, "", "not YAML")),
		of(source.KindCatalog, "catalog:cat/", finding("refused", findings.Error, "manifests/x.yaml", 1, "", "not YAML")),
		of(
			source.KindOCI,
			"oci://quay.io/a/b@sha256:0123",
			finding("refused", findings.Error, "manifests/x.yaml", 1, "", "not YAML"),
		),
	)
}

func TestFormats(t *testing.T) {
	for _, format := range print.Formats {
		if format == findings.HTML {
			continue // package print has one
		}
		t.Run(string(format), func(t *testing.T) {
			var got bytes.Buffer
			if err := print.Report(&got, print.List{Rules: validate.Rules(), Findings: reports()}, format); err != nil {
				t.Fatal(err)
			}
			golden.CheckFile(t, filepath.Join("testdata", "report."+string(format)), got.Bytes(), *update)
		})
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

func readSARIF(t *testing.T, list []validate.Finding) sarif {
	t.Helper()
	var b bytes.Buffer
	if err := print.Report(&b, print.List{Rules: validate.Rules(), Findings: list}, findings.SARIF); err != nil {
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
		list := validate.Located(
			&source.Source{Kind: source.KindDir, Ref: dir},
			[]validate.Finding{{Rule: "layout", Level: findings.Warning, File: "f", Line: line, Message: "m"}},
		)
		return readSARIF(t, list).Runs[0].Results[0].PartialFingerprints["olmgen/v1"]
	}
	if one("a", 1) != one("a", 2) || one("a", 1) == one("b", 1) {
		t.Error("fingerprints depend on lines, or not on the source")
	}
}
