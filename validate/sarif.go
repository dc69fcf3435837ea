package validate

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// sarifPrinter writes SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0/): one run, of the rules those that have results.
type sarifPrinter struct{}

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver sarifDriver `json:"driver"`
	} `json:"tool"`
	Results []sarifResult `json:"results"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	InformationURI string      `json:"informationUri"`
	Rules          []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID    string       `json:"id"`
	Short sarifMessage `json:"shortDescription"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID       string            `json:"ruleId"`
	RuleIndex    int               `json:"ruleIndex"`
	Level        Level             `json:"level"`
	Message      sarifMessage      `json:"message"`
	Locations    []sarifLocation   `json:"locations"`
	Fingerprints map[string]string `json:"partialFingerprints"`
}

type sarifLocation struct {
	Physical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region *sarifRegion `json:"region,omitempty"`
	} `json:"physicalLocation"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

func (sarifPrinter) print(w io.Writer, reports []Report) error {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "olmgen", InformationURI: "https://github.com/olmgen/olmgen", Rules: usedRules(reports)}
	prints := fingerprints{}
	for _, r := range reports {
		for _, f := range r.Findings {
			result := sarifResult{
				RuleID:       f.Rule,
				RuleIndex:    slices.IndexFunc(run.Tool.Driver.Rules, func(s sarifRule) bool { return s.ID == f.Rule }),
				Level:        f.Level,
				Message:      sarifMessage{f.text()},
				Locations:    make([]sarifLocation, 1),
				Fingerprints: map[string]string{"olmgen/v1": prints.of(r.Path(f), f)},
			}
			at := &result.Locations[0].Physical
			at.Artifact.URI = uri(r.Path(f))
			if f.Line > 0 {
				at.Region = &sarifRegion{f.Line}
			}
			run.Results = append(run.Results, result)
		}
	}
	return encodeJSON(w, sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{run},
	})
}

// usedRules gives the rules that findings have.
func usedRules(reports []Report) []sarifRule {
	used := map[string]bool{}
	for _, r := range reports {
		for _, f := range r.Findings {
			used[f.Rule] = true
		}
	}
	list := []sarifRule{}
	for _, r := range Rules() {
		if used[r.ID] {
			list = append(list, sarifRule{r.ID, sarifMessage{r.Text}})
		}
		delete(used, r.ID)
	}
	for _, id := range slices.Sorted(maps.Keys(used)) { // of a Checker that is not olmgen's
		list = append(list, sarifRule{id, sarifMessage{id}})
	}
	return list
}

// fingerprints counts what would have the same fingerprint.
type fingerprints map[string]int

// of gives what stays the same when lines are added above the finding. A second finding of the same words in a file gets another one.
func (p fingerprints) of(path string, f Finding) string {
	key := strings.Join([]string{f.Rule, path, f.Field, f.Message}, "\x00")
	p[key]++
	sum := sha256.Sum256([]byte(key + "\x00" + strconv.Itoa(p[key])))
	return hex.EncodeToString(sum[:16])
}

// uri gives a path as a URI: a relative one stays relative, one of an image is a URI already.
func uri(p string) string {
	switch {
	case strings.Contains(p, "://"):
		return p
	case path.IsAbs(p):
		return (&url.URL{Scheme: "file", Path: p}).String()
	case len(p) > 2 && p[1] == ':' && p[2] == '/': // a drive of Windows
		return (&url.URL{Scheme: "file", Path: "/" + p}).String()
	}
	return (&url.URL{Path: p}).String() // with ./ where a colon would look like a scheme
}
