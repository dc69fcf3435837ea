// Package validate says what is wrong with an operator bundle: what bundle.Read refuses or warns about, and what the validators of
// github.com/operator-framework/api say, as one sorted list of findings without duplicates.
//
// Those validators link a good part of the Kubernetes API server. With them in one program (operator-framework/api v0.45.0, Go 1.26, Linux
// on amd64, two shared cores, medians of 40 runs of olmgen version) olmgen grew from
//
//	36 to 58 MB on disk and 483 to 781 packages
//	11 to 24 ms from start to end, 5 to 17 ms of it in the packages' own initialisation
//	19 to 31 MB of memory
//
// and every other command would have paid for it. No part of them can be linked by itself: all of them are one internal package. So they
// are in package framework below this one, for programs that want them in their own process; olmgen has them in a program of their own,
// olmgen-validate (53 MB), and runs it once for each bundle, by [Helper].
package validate

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/bundle/source"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/review/findings"
)

// Finding is one thing that is wrong with a bundle. File is a path inside of the bundle; Source, Path, Object and Hint are empty (see
// Located).
type Finding = findings.Finding

// Options say what is looked at. The zero value is what olmgen itself has to say.
type Options struct {
	Checker     Checker // runs the validators of operator-framework/api; nil: they are not run
	OperatorHub bool    // also what OperatorHub.io asks of a bundle that is published there
}

// Bundle reads the bundle of a source and gives all that is wrong with it, sorted by file, line, level, field, message and rule; the
// same bundle always gives the same list. A bundle that cannot be read gives one finding: why. The error is that of the Checker, or
// of ctx.
func Bundle(ctx context.Context, src *source.Source, o Options) ([]Finding, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// Kinds that OLM refuses are errors here too, but no reason to be silent about the rest.
	b, err := bundle.Read(src.FS, bundle.ReadOptions{Labels: src.Labels, AllowUnsupported: true})
	if err != nil {
		return []Finding{refusal(err)}, nil
	}
	var list []Finding
	for _, w := range b.Warnings {
		f := finding(w.Class, findings.Warning, w.Error)
		if w.Class == bundle.WarnUnsupportedKind {
			f.Level = findings.Error
		}
		list = append(list, f)
	}
	if o.Checker != nil {
		if list, err = check(ctx, list, src, b, o); err != nil {
			return nil, err
		}
	}
	return tidy(list), nil
}

// check adds what the checker says.
func check(ctx context.Context, list []Finding, src *source.Source, b *bundle.Bundle, o Options) ([]Finding, error) {
	s, objects, err := newSubject(src.FS, b, o)
	if err != nil {
		return nil, err
	}
	problems, err := o.Checker.Check(ctx, s)
	if err != nil {
		return nil, err
	}
	for _, p := range problems {
		f := Finding{Rule: apiPrefix + p.Validator, Level: p.Level, Field: p.Field, Message: p.Message}
		if p.Object >= 0 && p.Object < len(objects) {
			f.File, f.Line = objects[p.Object].File, objects[p.Object].LineOf(p.Field)
		}
		list = merge(list, f)
	}
	return list, nil
}

// merge adds a finding of the validators, unless olmgen has one at the very same field: those say the same, such as that an API version
// is not served any more. The higher of the two levels counts: that is an error only where the CSV asks for a Kubernetes without it.
func merge(list []Finding, f Finding) []Finding {
	for i, other := range list {
		if f.Field != "" && other.Field == f.Field && other.File == f.File && other.Line == f.Line && !strings.HasPrefix(other.Rule, apiPrefix) {
			if f.Level == findings.Error {
				list[i].Level = findings.Error
			}
			return list
		}
	}
	return append(list, f)
}

// refusal is the finding for a bundle that cannot be read.
func refusal(err error) Finding {
	var e *manifest.Error
	if errors.As(err, &e) {
		return finding(ruleRefused, findings.Error, e)
	}
	return Finding{Rule: ruleRefused, Level: findings.Error, Message: oneLine(err.Error())}
}

func finding(rule string, level findings.Level, e *manifest.Error) Finding {
	msg := e.Msg
	if e.Tip != "" {
		msg += " (" + e.Tip + ")"
	}
	return Finding{Rule: rule, Level: level, File: e.File, Line: e.Line, Field: e.Field, Message: oneLine(msg)}
}

// tidy sorts the findings and leaves one of those that say the same by different rules.
func tidy(list []Finding) []Finding {
	slices.SortFunc(list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Level, b.Level),
			cmp.Compare(a.Field, b.Field), cmp.Compare(a.Message, b.Message), cmp.Compare(a.Rule, b.Rule))
	})
	return slices.CompactFunc(list, func(a, b Finding) bool {
		b.Rule = a.Rule
		return a == b
	})
}
