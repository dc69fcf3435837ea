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

// SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0/): one run, with the rules that have results.
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
	ID    string        `json:"id"`
	Short sarifMessage  `json:"shortDescription"`
	Help  *sarifMessage `json:"help,omitempty"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID       string            `json:"ruleId"`
	RuleIndex    int               `json:"ruleIndex"`
	Level        findings.Severity `json:"level"`
	Message      sarifMessage      `json:"message"`
	Locations    []sarifLocation   `json:"locations"`
	Fingerprints map[string]string `json:"partialFingerprints"`
	Flows        []sarifFlow       `json:"codeFlows,omitempty"`
}

type sarifFlow struct {
	Threads []sarifThread `json:"threadFlows"`
}

type sarifThread struct {
	Locations []sarifStep `json:"locations"`
}

type sarifStep struct {
	Location sarifLocation `json:"location"`
}

type sarifLocation struct {
	Physical *sarifPhysical `json:"physicalLocation,omitempty"`
	Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	Message  *sarifMessage  `json:"message,omitempty"`
}

type sarifPhysical struct {
	Artifact struct {
		URI string `json:"uri"`
	} `json:"artifactLocation"`
	Region *sarifRegion `json:"region,omitempty"`
}

func physical(file string, line int) *sarifPhysical {
	p := &sarifPhysical{}
	if p.Artifact.URI = uri(file); line > 0 {
		p.Region = &sarifRegion{line}
	}
	return p
}

// flow returns the steps of a finding. Their files are in the same source.
func flow(f findings.Finding) []sarifFlow {
	if f.Flow == nil {
		return nil
	}
	var thread sarifThread
	for _, s := range f.Flow.Steps {
		at := sarifLocation{Message: &sarifMessage{s.Message}}
		if s.File != "" {
			at.Physical = physical(strings.TrimSuffix(f.Path, f.File)+s.File, s.Line)
		}
		thread.Locations = append(thread.Locations, sarifStep{at})
	}
	return []sarifFlow{{[]sarifThread{thread}}}
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

type sarifLogical struct {
	Name string `json:"fullyQualifiedName"`
}

func writeSARIF(w io.Writer, rules []findings.Rule, list []findings.Finding) error {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{
		Name:           "olmgen",
		InformationURI: "https://github.com/olmgen/olmgen",
		Rules:          usedRules(rules, list),
	}
	for i, print := range findings.Fingerprints(list) {
		f := list[i]
		result := sarifResult{
			RuleID:       f.Rule,
			RuleIndex:    slices.IndexFunc(run.Tool.Driver.Rules, func(s sarifRule) bool { return s.ID == f.Rule }),
			Level:        f.Level,
			Message:      sarifMessage{f.Description()},
			Locations:    make([]sarifLocation, 1),
			Fingerprints: map[string]string{"olmgen/v1": print},
		}
		if f.Hint != "" {
			result.Message.Text += " (" + f.Hint + ")"
		}
		at := &result.Locations[0]
		at.Physical, result.Flows = physical(cmp.Or(f.Path, f.File, "."), f.Line), flow(f)
		if f.Object != "" {
			at.Logical = []sarifLogical{{f.Object}}
		}
		run.Results = append(run.Results, result)
	}
	return findings.WriteJSON(w, sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{run},
	})
}

func usedRules(rules []findings.Rule, found []findings.Finding) []sarifRule {
	used := lists.Set(found, func(f findings.Finding) string { return f.Rule })
	list := []sarifRule{}
	for _, r := range rules {
		if used[r.ID] {
			rule := sarifRule{ID: r.ID, Short: sarifMessage{r.Text}}
			if r.Help != "" {
				rule.Help = &sarifMessage{r.Help}
			}
			list = append(list, rule)
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
