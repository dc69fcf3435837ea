package crds

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/compare/internal/witness"
	"github.com/olmgen/olmgen/internal/crs"
)

// unknownFields shows whether objects may no longer have fields that no schema names.
func unknownFields(f *found, old, now *definition) {
	f.limit = ruleWidening
	for _, v := range old.Spec.Versions {
		before, served := crs.VersionOf(old, v.Name)
		after, still := crs.VersionOf(now, v.Name)
		if !now.Spec.PreserveUnknownFields && served && still {
			f.limit = ruleUnproven
			search := witness.New(before, after, old.Spec.Group+"/"+v.Name, old.Spec.Names.Kind)
			schema := func() *props { return witness.SchemaOf(&v) }
			f.Witness = search.Alone(witness.Change{Schema: schema, Closed: true})
		}
		if f.Witness != "" {
			f.limit = ""
			return
		}
	}
}

// unproven ends the message of a change that is neither shown to break something nor proven not to.
const unproven = "; may break"

// dependent are the rules about what can break something with a change of another field.
var dependent = []string{ruleValidation, ruleDefault, ruleDefaultAdded}

// relaxing are the rules about what takes more values where it stands, and fewer below not.
var relaxing = []string{ruleEnumAdded, rulePatternRemoved, ruleValidationChanged, ruleRequiredRemoved, ruleCompatible}

// shown returns what changes in the schema of a version, with what each change does to objects: a witness shows that
// it breaks something, a proof that it does not. Without either of them it may.
func shown(ctx context.Context, old, now *definition, name string, issues []issue) []found {
	before, served := crs.VersionOf(old, name)
	after, still := crs.VersionOf(now, name)
	search := witness.New(before, after, old.Spec.Group+"/"+name, old.Spec.Names.Kind)
	all := make([]found, 0, len(issues))
	type field struct {
		steps []witness.Step
		open  []int // its changes that are not shown
		shown bool
	}
	var fields []*field
	at := map[string]*field{}
	for _, i := range issues {
		f := found{limit: ruleWidening,
			Finding: Finding{CRD: old.Name, Version: name, Rule: i.rule, Path: i.path, Message: i.message}}
		if !i.widens && slices.Contains(relaxing, i.rule) {
			f.as = ruleConstraint
		}
		switch stored := storage(old) == name; {
		case i.widens || !served && !stored || ctx.Err() != nil:
		case served && still:
			key := fmt.Sprint(i.change.Steps)
			if at[key] == nil {
				at[key] = &field{steps: i.change.Steps}
				fields = append(fields, at[key])
			}
			f.Witness, f.limit = search.Alone(i.change), ""
			if f.Witness == "" && i.rule == ruleFieldRemoved && len(i.change.Steps) > len(i.change.In) {
				f.Witness = search.Drops(i.change)
			}
			if f.Witness != "" {
				at[key].shown = true
				break
			}
			at[key].open = append(at[key].open, len(all))
			fallthrough
		default:
			f.limit = ruleUnproven
			f.Message += unproven
		}
		all = append(all, f)
	}
	for _, field := range fields {
		one := len(field.open) == 1 && !slices.Contains(dependent, all[field.open[0]].Rule)
		if one || field.shown || ctx.Err() != nil {
			continue
		}
		if said := search.Together(field.steps); said != "" {
			for _, n := range field.open {
				all[n].Witness, all[n].limit = "with other changes, "+said, ""
				all[n].Message = strings.TrimSuffix(all[n].Message, unproven)
			}
		}
	}
	for i := range all {
		all[i].rateDefault()
	}
	return all
}

// rateDefault has an added default that nothing shows to break objects break none.
func (f *found) rateDefault() {
	switch {
	case f.Rule == ruleDefaultAdded && f.Witness != "":
		f.Rule = ruleDefault
	case f.Rule == ruleDefaultAdded:
		f.Message = strings.TrimSuffix(f.Message, unproven)
	}
}
