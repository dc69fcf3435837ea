package validate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/manifest"
)

const (
	ruleExamples      = "alm-examples"
	annotationExample = "alm-examples"
)

// exampleFindings checks the examples of custom resources, with which OpenShift's console starts a new one, against the
// bundle's CRDs. The validators of operator-framework report those of other kinds and versions. known has the findings
// of others, which may be about the same field.
func exampleFindings(ctx context.Context, checker crs.Checker, b *bundle.Bundle, known []Finding) ([]Finding, error) {
	text := b.CSV.Annotations[annotationExample]
	if text == "" {
		return nil, nil
	}
	say := func(format string, args ...any) Finding {
		return finding(ruleExamples, findings.Warning,
			b.CSVObject.Errorf(`metadata.annotations["`+annotationExample+`"]`, format, args...))
	}
	var values []map[string]any
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		bad := say("not a JSON list of objects: %v", err)
		if slices.ContainsFunc(known, func(f Finding) bool { return f.Field == bad.Field }) {
			return nil, nil
		}
		return []Finding{bad}, nil
	}
	if checker == nil {
		return nil, nil
	}
	crds := map[string]*crs.CRD{}
	for _, c := range b.CRDs {
		crds[c.Name] = &crs.CRD{Object: c.Object}
	}
	kinds, err := crs.ByKind(crds)
	if err != nil {
		return []Finding{say("not checked: %v", err)}, nil
	}
	objects := lists.Map(values, manifest.New)
	results, err := crs.Check(ctx, checker, kinds, objects)
	if e, ok := errors.AsType[*manifest.Error](err); ok { // of a CRD, or of an example
		return []Finding{say("not checked: %v", e)}, nil
	}
	if err != nil {
		return nil, err
	}
	var list []Finding
	for i, r := range results {
		who := fmt.Sprintf("example %d, %s %s", i+1, r.Object.Kind, r.Object.Name)
		for _, f := range r.Verdict.Create {
			list = append(list, say("%s: %s: %s", who, f.Path, f.Message))
		}
		for _, path := range r.Verdict.Unknown {
			list = append(list, say("%s: %s: not in the schema: the API server drops it", who, path))
		}
	}
	return list, nil
}
