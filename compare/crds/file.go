package crds

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/olmgen/olmgen/findings"
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
	docs, err := manifest.ReadFile(name, data, manifest.Limits{})
	if err != nil {
		return Rules{}, err
	}
	docs = slices.DeleteFunc(docs, func(d *manifest.Document) bool { return d.Root == nil })
	start := "start it with apiVersion: " + apiVersion + ", kind: " + kind
	switch {
	case len(docs) == 0:
		return Rules{}, &manifest.Error{File: name, Msg: "the file is empty", Tip: start}
	case len(docs) > 1:
		return Rules{}, &manifest.Error{File: name, Line: docs[1].Line,
			Msg: "a second document; a file of CRD rules has one"}
	}
	o, err := docs[0].Object()
	if err != nil {
		return Rules{}, err
	}
	if o.APIVersion != apiVersion || o.Kind != kind {
		return Rules{}, fail(o, "kind", start, "this is %s %s, not a file of CRD rules",
			cmp.Or(o.APIVersion, "of no apiVersion"), cmp.Or(o.Kind, "and no kind"))
	}
	if dups := o.Duplicates(); len(dups) > 0 {
		return Rules{}, &manifest.Error{File: name, Line: dups[0].Line, Field: dups[0].Key, Msg: "the key occurs twice",
			Tip: "remove one"}
	}
	var f file
	unknown, err := o.Into(&f)
	if err != nil {
		return Rules{}, err
	}
	if len(unknown) > 0 {
		return Rules{}, fail(o, unknown[0], manifest.Suggestion(reflect.TypeFor[file](), unknown[0]), "unknown field")
	}
	return rulesOf(o, f.Rules)
}

func fail(o *manifest.Object, field, tip, format string, args ...any) error {
	err := o.Errorf(field, format, args...)
	err.Tip = tip
	return err
}

func rulesOf(o *manifest.Object, settings []setting) (Rules, error) {
	ids := make([]string, len(builtin))
	for i, r := range builtin {
		ids[i] = r.ID
	}
	severities := []findings.Severity{Error, Warning, Info, None}
	rules := Rules{severities: map[string]findings.Severity{}}
	for i, s := range settings {
		at := fmt.Sprintf("rules[%d]", i)
		switch _, twice := rules.severities[s.ID]; {
		case s.ID == "":
			return Rules{}, fail(o, at, "", "id is missing")
		case !slices.Contains(ids, s.ID):
			return Rules{}, fail(o, at+".id", text.DidYouMean(s.ID, ids), "unknown rule %q", s.ID)
		case twice:
			return Rules{}, fail(o, at+".id", "remove one", "the rule %s occurs twice", s.ID)
		case !slices.Contains(severities, s.Severity):
			return Rules{}, fail(o, at+".severity", text.Unknown("value", s.Severity, severities).Hint(),
				"%v", text.Unknown("value", s.Severity, severities))
		}
		rules.severities[s.ID] = s.Severity
	}
	return rules, nil
}
