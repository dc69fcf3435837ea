package crds

import (
	"context"
	"fmt"
	"slices"

	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/internal/crs/witness"
)

// unknownFields shows whether objects may no longer have fields that no schema names.
func unknownFields(f *found, old, now *definition) {
	f.limit = ruleWidening
	for _, v := range old.Spec.Versions {
		before, served := crs.VersionOf(old, v.Name)
		after, still := crs.VersionOf(now, v.Name)
		if !now.Spec.PreserveUnknownFields && served && still {
			f.limit = ruleUnproven
			f.Witness = witness.New(before, after, old.Spec.Group+"/"+v.Name, old.Spec.Names.Kind).At(nil)
		}
		if f.Witness != "" {
			f.limit = ""
			return
		}
	}
}

// relaxing are the rules about what takes more values where it stands, and fewer below not.
var relaxing = []string{ruleEnumAdded, rulePatternRemoved, ruleValidationChanged, ruleRequiredRemoved, ruleCompatible}

// shown returns what changes in the schema of a version, with what each change does to objects: a witness shows that
// it breaks something, a proof that it does not. Without either of them it may.
func shown(ctx context.Context, old, now *definition, name string, issues []issue) []found {
	before, served := crs.VersionOf(old, name)
	after, still := crs.VersionOf(now, name)
	search := witness.New(before, after, old.Spec.Group+"/"+name, old.Spec.Names.Kind)
	known := map[string]string{}
	var all []found
	for _, i := range issues {
		f := found{limit: ruleWidening,
			Finding: Finding{CRD: old.Name, Version: name, Rule: i.rule, Path: i.path, Message: i.message}}
		if !i.widens && slices.Contains(relaxing, i.rule) {
			f.as = ruleConstraint
		}
		switch stored := storage(old) == name; {
		case i.widens || !served && !stored || ctx.Err() != nil:
		case served && still:
			at := fmt.Sprint(i.steps)
			said, ok := known[at]
			if !ok {
				said = search.At(i.steps)
				known[at] = said
			}
			if f.Witness, f.limit = said, ""; said != "" {
				break
			}
			fallthrough
		default:
			f.limit = ruleUnproven
			f.Message += "; may break"
		}
		all = append(all, f)
	}
	return all
}
