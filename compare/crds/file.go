package crds

import (
	"fmt"
	"slices"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
)

// apiVersion and Kind identify a file with severities.
const (
	apiVersion = "olmgen.dev/v1alpha1"
	kind       = "CRDRules"
)

// file is the content of a file with severities.
type file struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Rules      []setting `json:"rules"`
}

type setting struct {
	ID       string            `json:"id"`
	Severity findings.Severity `json:"severity"`
}

// ParseRules reads a file with severities. name is the file name in errors. The error, a *manifest.Error, names line
// and field.
func ParseRules(name string, data []byte) (Rules, error) {
	var f file
	o, err := manifest.Form{APIVersion: apiVersion, Kind: kind, What: "a file of CRD rules"}.Read(name, data,
		manifest.Limits{}, &f)
	if err != nil {
		return Rules{}, err
	}
	return rulesOf(o, f.Rules)
}

func rulesOf(o *manifest.Object, settings []setting) (Rules, error) {
	ids := lists.Map(builtin, func(r Rule) string { return r.ID })
	severities := []findings.Severity{Error, Warning, Info, None}
	rules := Rules{severities: map[string]findings.Severity{}}
	for i, s := range settings {
		at := fmt.Sprintf("rules[%d]", i)
		switch _, twice := rules.severities[s.ID]; {
		case s.ID == "":
			return Rules{}, o.Errorf(at, "id is missing")
		case !slices.Contains(ids, s.ID):
			return Rules{}, o.Errorf(at+".id", "unknown rule %q", s.ID).With(text.DidYouMean(s.ID, ids))
		case twice:
			return Rules{}, o.Errorf(at+".id", "the rule %s occurs twice", s.ID).With("remove one")
		case !slices.Contains(severities, s.Severity):
			unknown := text.Unknown("value", s.Severity, severities)
			return Rules{}, o.Errorf(at+".severity", "%v", unknown).With(unknown.Hint())
		}
		rules.severities[s.ID] = s.Severity
	}
	return rules, nil
}
