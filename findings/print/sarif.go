package print

import (
	"cmp"
	"io"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
)

// sarifLog is SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0/): one run, with the rules that have results.
type sarifLog struct {
	Schema  string `json:"$schema"`
	Version string `json:"version"`
	Runs    [1]struct {
		Tool struct {
			Driver struct {
				Name           string      `json:"name"`
				InformationURI string      `json:"informationUri"`
				Rules          []sarifRule `json:"rules"`
			} `json:"driver"`
		} `json:"tool"`
		Results []sarifResult `json:"results"`
	} `json:"runs"`
}

type sarifRule struct {
	ID    string       `json:"id"`
	Short sarifMessage `json:"shortDescription"`
	Help  sarifMessage `json:"help,omitzero"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID       string            `json:"ruleId"`
	RuleIndex    int               `json:"ruleIndex"`
	Level        findings.Severity `json:"level"`
	Message      sarifMessage      `json:"message"`
	Locations    [1]sarifLocation  `json:"locations"`
	Fingerprints map[string]string `json:"partialFingerprints"`
	Flows        []sarifFlow       `json:"codeFlows,omitempty"`
}

type sarifFlow struct {
	Threads [1]struct {
		Locations []sarifStep `json:"locations"`
	} `json:"threadFlows"`
}

type sarifStep struct {
	Location sarifLocation `json:"location"`
}

type sarifLocation struct {
	Physical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region struct {
			StartLine int `json:"startLine"`
		} `json:"region,omitzero"`
	} `json:"physicalLocation,omitzero"`
	Logical []sarifLogical `json:"logicalLocations,omitempty"`
	Message *sarifMessage  `json:"message,omitempty"`
}

type sarifLogical struct {
	Name string `json:"fullyQualifiedName"`
}

// in sets the file of a location, and the line, if it is known.
func (l *sarifLocation) in(file string, line int) {
	l.Physical.Artifact.URI, l.Physical.Region.StartLine = uri(file), line
}

func writeSARIF(w io.Writer, rules []findings.Rule, list []findings.Finding) error {
	log := sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0"}
	run := &log.Runs[0]
	run.Results = []sarifResult{}
	driver := &run.Tool.Driver
	driver.Name, driver.InformationURI = "olmgen", "https://github.com/olmgen/olmgen"
	driver.Rules = usedRules(rules, list)
	for i, print := range findings.Fingerprints(list) {
		f := list[i]
		result := sarifResult{
			RuleID:       f.Rule,
			RuleIndex:    slices.IndexFunc(driver.Rules, func(s sarifRule) bool { return s.ID == f.Rule }),
			Level:        f.Level,
			Message:      sarifMessage{f.Description()},
			Fingerprints: map[string]string{"olmgen/v1": print},
		}
		if f.Hint != "" {
			result.Message.Text += " (" + f.Hint + ")"
		}
		at := &result.Locations[0]
		at.in(cmp.Or(f.Path, f.File, "."), f.Line)
		if f.Object != "" {
			at.Logical = []sarifLogical{{f.Object}}
		}
		if f.Flow != nil {
			var flow sarifFlow
			for _, s := range f.Flow.Steps {
				step := sarifLocation{Message: &sarifMessage{s.Message}}
				if s.File != "" { // it is in the same source
					step.in(strings.TrimSuffix(f.Path, f.File)+s.File, s.Line)
				}
				flow.Threads[0].Locations = append(flow.Threads[0].Locations, sarifStep{step})
			}
			result.Flows = []sarifFlow{flow}
		}
		run.Results = append(run.Results, result)
	}
	return findings.WriteJSON(w, log)
}

func usedRules(rules []findings.Rule, found []findings.Finding) []sarifRule {
	used := lists.Set(found, func(f findings.Finding) string { return f.Rule })
	list := []sarifRule{}
	for _, r := range rules {
		if used[r.ID] {
			list = append(list, sarifRule{r.ID, sarifMessage{r.Text}, sarifMessage{r.Help}})
		}
		delete(used, r.ID)
	}
	for _, id := range slices.Sorted(maps.Keys(used)) { // rules of other checkers
		list = append(list, sarifRule{ID: id, Short: sarifMessage{id}})
	}
	return list
}

// uri returns a path as a URI. A relative path stays relative; that of an image is a URI already.
func uri(p string) string {
	switch {
	case strings.Contains(p, "://"):
		return p
	case path.IsAbs(p):
		if wd, err := os.Getwd(); err == nil { // code review needs paths relative to the repository
			if rel, ok := strings.CutPrefix(p, filepath.ToSlash(wd)+"/"); ok {
				return (&url.URL{Path: rel}).String()
			}
		}
		return (&url.URL{Scheme: "file", Path: p}).String()
	case len(p) > 2 && p[1] == ':' && p[2] == '/': // a Windows drive
		return (&url.URL{Scheme: "file", Path: "/" + p}).String()
	}
	return (&url.URL{Path: p}).String() // String adds ./ if a colon would look like a scheme
}
