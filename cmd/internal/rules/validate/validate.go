// Package validate reports what is wrong with an operator bundle: what bundle.Read refuses or warns about, and what
// the validators of github.com/operator-framework/api report, as one sorted list of findings without duplicates.
//
// The validators link a large part of the Kubernetes API server. Linking them into olmgen (operator-framework/api
// v0.45.0, Go 1.26, Linux on amd64, two shared cores, medians of 40 runs of olmgen version) cost
//
//	36 to 58 MB on disk and 483 to 781 packages
//	11 to 24 ms per run, 5 to 17 ms of it in package initialisation
//	19 to 31 MB of memory
//
// for every command. They form one internal package, so a part of them cannot be linked alone. Package
// framework links them into a separate program, olmgen-validate, which [Helper] runs once per
// bundle.
package validate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/encoding"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/cmd/internal/beside"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/writes"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// Finding is a mistake of a bundle. File is a path in it, Source and Path are those of Located, Object and Hint empty.
type Finding = findings.Finding

// Options configure Bundle. The zero value reports olmgen's own findings.
type Options struct {
	Checker Checker        // runs the validators of operator-framework/api; may be nil
	API     writes.Checker // what the API server says to objects; nil if nobody asks
	// judges the examples of custom resources; may be nil
	Resources   crs.Checker
	OperatorHub bool // also check the rules for publication on OperatorHub.io
	// Catalogs are the sets of rules of pipelines that are asked. Community has those of OperatorHub.io.
	Catalogs []string
	// Cluster has the releases that the bundle is for; nothing is said of them if none is known and Form is empty
	Cluster fit.Cluster
	Form    fit.Form // who installs it; empty: as the releases say
	// Descoped says that the bundle is to be descoped: what the plan wants of it is looked at
	Descoped bool
}

// Bundle reads the bundle of a source and returns its findings, sorted by file, line, level, field, message, rule. An
// bundle that is refused yields a finding that says why, and the warnings before it. The error is the Checker's, ctx's,
// or that of a file that cannot be read.
func Bundle(ctx context.Context, src *source.Source, o Options) ([]Finding, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// Report kinds that OLM refuses as errors, but go on to find the rest.
	b, err := bundle.Read(src.FS, bundle.ReadOptions{Labels: src.Labels, AllowUnsupported: true})
	if e, ok := errors.AsType[*manifest.Error](err); ok && e.Err != nil {
		return nil, err
	}
	if err != nil {
		return Refused(err), nil
	}
	return Read(ctx, src, b, o)
}

// Refused returns what Bundle does for a bundle that [bundle.Read] refuses with err.
func Refused(err error) []Finding {
	list := []Finding{refusal(err)}
	list[0].Hint = "mend this first: nothing else of the bundle is judged"
	if warned, ok := errors.AsType[*bundle.WarnedError](err); ok {
		list = append(list, warningFindings(warned.Warnings)...)
	}
	return tidy(list)
}

// Read is Bundle for a bundle of the source that was read with bundle.ReadOptions.AllowUnsupported.
func Read(ctx context.Context, src *source.Source, b *bundle.Bundle, o Options) ([]Finding, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var err error
	list := warningFindings(b.Warnings)
	for _, n := range b.Notes {
		list = append(list, finding(bundle.WarnReplacedObject, findings.Note, n))
	}
	if src.Kind != source.KindCatalog { // there the catalog has the channels
		list = append(list, channelFindings(b)...)
	}
	refused := refusals(src, b, o)
	list = slices.Concat(list, fieldFindings(b), refused)
	operator := operatorOf(b)
	if o.Cluster.OpenShift == nil {
		list = append(list, fit.Unread(operator)...)
	}
	list = slices.Concat(list, dependencyFindings(src.FS, b), ownedVersions(b), cutOff(b),
		publication(src, b, o.Catalogs), fit.Conversions(operator), fit.NotServed(operator), storedWithout(ctx, b),
		webhooks(b))
	for _, f := range append(fit.NamesTaken(operator.Shipped), fit.DefaultRoles(operator.Shipped)...) {
		f.Object = ""
		list = append(list, f)
	}
	for _, ask := range []func(*bundle.Bundle) ([]Finding, error){inVain, bindings, slips} {
		found, err := ask(b)
		if err != nil {
			found = []Finding{refusal(err)}
		}
		list = append(list, found...)
	}
	unserved := ofOPM(ctx, src, b)
	list = append(list, unserved...)
	if form := cmp.Or(o.Form, o.Cluster.Form()); o.Cluster.Known() || o.Form != "" {
		if form != fit.Plain {
			refused = slices.Concat(unserved, refused)
		}
		found, verdict := Fit(b, form, o.Cluster, refused)
		list = append(append(list, found...), verdict)
	}
	if o.Descoped {
		list = append(list, visibility(b)...)
	}
	if o.Checker != nil {
		if list, err = check(ctx, list, src, b, o); err != nil {
			return nil, err
		}
	}
	list = append(list, schemaFindings(b, list)...)
	if o.API != nil {
		refused, err := refusedWrites(ctx, o, b, list)
		if err != nil {
			return nil, err
		}
		list = append(list, refused...)
	}
	examples, err := exampleFindings(ctx, o.Resources, b, list)
	return tidy(append(list, examples...)), cmp.Or(err, ctx.Err())
}

// fieldFindings is about the fields of a CSV that say what it updates, and where it is installed.
func fieldFindings(b *bundle.Bundle) (list []Finding) {
	if text := b.CSV.Annotations[olm.AnnotationSkipRange]; text != "" { // an empty one is none (alpha/model, validate)
		if _, err := semver.ParseRange(text); err != nil {
			list = append(list, finding(ruleSkipRange, findings.Error, b.CSVObject.Errorf(
				`metadata.annotations["`+olm.AnnotationSkipRange+`"]`, "%q is not a range of versions: %v", text, err)))
		}
	}
	like := func(v semver.Version) string { return strings.ReplaceAll(v.String(), "+", "-") } // no name has a plus sign
	if v, own := olm.NameVersion(b.CSV.Name), b.CSV.Spec.Version.Version; v != nil && like(own) != "0.0.0" &&
		like(*v) != like(own) && b.CSV.Spec.Release.String() == "" {
		list = append(list, finding(ruleNameVersion, findings.Warning, b.CSVObject.Errorf("spec.version",
			"the version is %s, and metadata.name says %s: catalogs go by the former", own, v)))
	}
	if b.CSV.Spec.Replaces == b.CSV.Name {
		list = append(list, finding(ruleReplacesSelf, findings.Error, b.CSVObject.Errorf("spec.replaces",
			"it replaces itself: OLM asks for such a release again and again, or ignores the field")))
	}
	if i := slices.Index(b.CSV.Spec.Skips, b.CSV.Name); i >= 0 {
		list = append(list, finding(ruleReplacesSelf, findings.Error, b.CSVObject.Errorf(fmt.Sprintf("spec.skips[%d]",
			i), "it skips itself: it is the head of no channel, and opm refuses a catalog with a channel that has "+
			"none")))
	}
	keys := []string{olm.AnnotationSuggestedNamespace, olm.AnnotationNamespaceTemplate}
	key := lists.Find(keys, func(key string) bool { return b.CSV.Annotations[key] != "" })
	if _, err := generate.Namespace(b); err != nil && key != "" {
		list = append(list, finding(ruleNamespace, findings.Warning, b.CSVObject.Errorf(
			`metadata.annotations["`+key+`"]`, "%v", err).With(manifest.HintOf(err))))
	}
	return list
}

func operatorOf(b *bundle.Bundle) fit.Operator {
	operator := fit.OfBundle(b)
	operator.Namespace = b.CSV.Annotations[olm.AnnotationSuggestedNamespace]
	return operator
}

// Fit returns what keeps the operator of a bundle from working in a cluster, and the note that says whether it works:
// not if the bundle is refused.
func Fit(b *bundle.Bundle, form fit.Form, c fit.Cluster, refused []Finding) (list []Finding, verdict Finding) {
	v, list := fit.Judge(operatorOf(b), form, c)
	if len(refused) > 0 {
		v = fit.Verdict{Answer: fit.Refused, Reason: refused[0].Message}
	}
	for i := range list {
		list[i].Object, list[i].Hint = "", ""
	}
	return list, v.Finding(form, c)
}

// ofOPM returns why no catalog serves a bundle, or why OLM cannot read what it depends on. That of a catalog is served.
func ofOPM(ctx context.Context, src *source.Source, b *bundle.Bundle) (list []Finding) {
	if src.Kind == source.KindCatalog {
		return nil
	}
	if e := b.Unannotated(); e != nil {
		list = append(list, finding(ruleCatalog, findings.Error, e))
	}
	fields := map[string]string{"version": "spec.version", "image": ""}
	c := catalog.OfBundles(ctx, map[string]*bundle.Bundle{".": b})
	for _, f := range c.Faults() {
		if field, asked := fields[f.Rule]; asked {
			list = append(list, finding(ruleCatalog, findings.Error,
				b.CSVObject.Errorf(field, "opm serves no catalog that has the bundle: %s", f.Text)))
		}
	}
	at := lists.Find(b.CatalogProperties(), func(p bundle.Property) bool { return p.Type == olm.PropertyConstraint })
	for _, f := range resolve.Validate(c) { // of the other dependencies each is checked by its fields
		if why, found := strings.CutPrefix(f.Message, olm.PropertyConstraint+": "); found {
			list = append(list, Finding{Rule: ruleDependencies, Level: findings.Error, File: at.File, Line: at.Line,
				Message: "OLM cannot read the " + olm.PropertyConstraint + ", and resolves nothing in a namespace " +
					"where the bundle is a candidate: " + why})
		}
	}
	return list
}

// refusals returns why olmgen refuses to render a bundle, and why OLM refuses to unpack it.
func refusals(src *source.Source, b *bundle.Bundle, o Options) (list []Finding) {
	for _, e := range generate.Refused(b) {
		list = append(list, refusal(e))
	}
	render := compare.Render
	if o.Descoped {
		render = func(b *bundle.Bundle) (*generate.Result, error) {
			return generate.Render(b, generate.Options{Certs: generate.CertsManager, Profile: generate.ProfileDescoped})
		}
	}
	_, err := render(b)
	if e, ok := errors.AsType[*manifest.Error](err); ok { // other errors are about the options
		list = append(list, refusal(e))
	}
	if why := install.NotUnpacked(b.CSVObject, b.Shipped()); why != "" && src.Kind != source.KindCatalog {
		list = append(list, refusal(b.CSVObject.Errorf("", "%s", why)))
	}
	return list
}

func warningFindings(warnings []bundle.Warning) (list []Finding) {
	for _, w := range warnings {
		f := finding(w.Class, findings.Warning, w.Error)
		if w.Class == bundle.WarnUnsupportedKind || w.Class == bundle.WarnUnreadMetadata {
			f.Level = findings.Error
		}
		list = append(list, f)
	}
	return list
}

// check adds the findings of the Checker, apart from those at a field at which olmgen says the same. The higher level
// counts: the validators report an error only if the CSV's minKubeVersion does not serve an API version.
func check(ctx context.Context, list []Finding, src *source.Source, b *bundle.Bundle, o Options) ([]Finding, error) {
	s, objects, err := newSubject(src.FS, b, o)
	if err != nil {
		return nil, err
	}
	problems, err := o.Checker.Check(ctx, s)
	if err != nil {
		return nil, err
	}
	place := func(f Finding) Finding { return Finding{File: f.File, Line: f.Line, Field: f.Field} }
	known := map[Finding]int{}
	for i, f := range slices.Backward(list) {
		if f.Field != "" && !strings.HasPrefix(f.Rule, apiPrefix) {
			known[place(f)] = i
		}
	}
	for _, p := range problems {
		if p.Validator == "bundle" && strings.HasPrefix(p.Message, "maximum bundle compressed size") {
			continue // install.NotUnpacked says it
		}
		f := Finding{Rule: apiPrefix + p.Validator, Level: p.Level, Field: p.Field, Message: p.Message}
		if p.Object >= 0 && p.Object < len(objects) {
			f.File, f.Line = objects[p.Object].File, objects[p.Object].LineOf(p.Field)
		}
		if i, ok := known[place(f)]; !ok {
			list = append(list, f)
		} else if f.Level == findings.Error {
			list[i].Level = findings.Error
		}
	}
	return list, nil
}

// Refusals returns those findings of Bundle that refuse the bundle.
func Refusals(list []Finding) []Finding {
	return lists.Filter(list, func(f Finding) bool { return f.Rule == ruleRefused })
}

func refusal(err error) Finding {
	if e, ok := errors.AsType[*manifest.Error](err); ok {
		return finding(ruleRefused, findings.Error, e)
	}
	return Finding{Rule: ruleRefused, Level: findings.Error, Message: text.OneLine(err.Error())}
}

func finding(rule string, level findings.Severity, e *manifest.Error) Finding {
	msg := e.Msg
	if e.Tip != "" {
		msg += " (" + e.Tip + ")"
	}
	return Finding{Rule: rule, Level: level, File: e.File, Line: e.Line, Field: e.Field, Message: text.OneLine(msg)}
}

// tidy sorts the findings and drops those that differ from another only by the rule.
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

// Question is the kind of question that a Helper asks. It changes with the types Subject and Problem, so that programs
// of different versions cannot misread each other.
const Question = "subject-v1"

// Helper is a Checker that asks the program olmgen-validate.
type Helper struct{ *beside.Program }

// Check asks the program.
func (h Helper) Check(ctx context.Context, s Subject) ([]Problem, error) {
	var problems []Problem
	err := h.Ask(ctx, Question, s, &problems)
	return problems, err
}

// Located adds the source to findings: its name, and in Path the path of each file for the user. For a directory that
// is the path of the file, otherwise the source, without a prefix for its kind, and the path in it.
func Located(src *source.Source, list []Finding) []Finding {
	base := src.Ref
	if src.Kind != source.KindOCI {
		base = path.Clean(filepath.ToSlash(strings.TrimPrefix(src.Ref, src.Kind+":")))
	}
	return lists.Map(list, func(f Finding) Finding {
		f.Source = src.Ref
		switch {
		case f.File == "" || f.File == ".":
			f.Path = base
		case strings.Contains(base, "://"):
			f.Path = base + "/" + f.File
		default:
			f.Path = path.Join(base, f.File)
		}
		return f
	})
}

// Subject is a bundle, as a Checker receives it. It can be sent to another process as JSON.
type Subject struct {
	Package        string            `json:"package"`
	Channels       []string          `json:"channels"`
	DefaultChannel string            `json:"defaultChannel"`
	Size           int64             `json:"size"`           // total of the files with objects
	CompressedSize int64             `json:"compressedSize"` // the same as base64 of gzip, which is how OLM stages them
	Objects        []json.RawMessage `json:"objects"`        // CSV, CRDs, others; each in file order
	OperatorHub    bool              `json:"operatorHub"`
}

// NoObject is the Object of a Problem about the bundle as a whole.
const NoObject = -1

// Problem is what a Checker finds in a Subject.
type Problem struct {
	Validator string            `json:"validator"`
	Level     findings.Severity `json:"level"`
	Object    int               `json:"object"` // index into the Subject's Objects, or NoObject
	Field     string            `json:"field"`
	Message   string            `json:"message"`
}

// Checker checks a bundle. An error means that it could not.
type Checker interface {
	Check(ctx context.Context, s Subject) ([]Problem, error)
}

// newSubject returns the subject for a bundle, and its objects in the same order.
func newSubject(fsys fs.FS, b *bundle.Bundle, o Options) (Subject, []*manifest.Object, error) {
	s := Subject{Package: b.Package, Channels: b.Channels, DefaultChannel: b.DefaultChannel,
		OperatorHub: o.OperatorHub || slices.Contains(o.Catalogs, Community)}
	crds := lists.Map(b.CRDs, func(c *bundle.CRD) *manifest.Object { return c.Object })
	objects := slices.Concat([]*manifest.Object{b.CSVObject}, crds, b.Others)
	seen := map[string]bool{}
	for _, obj := range objects {
		v, err := obj.Value()
		if err != nil {
			return s, nil, err
		}
		data, err := json.Marshal(v)
		if err != nil {
			return s, nil, fmt.Errorf("%s: %w", obj.File, err)
		}
		s.Objects = append(s.Objects, data)
		if seen[obj.File] {
			continue
		}
		seen[obj.File] = true
		whole, err := fs.ReadFile(fsys, obj.File)
		if err != nil {
			return s, nil, err
		}
		packed, err := encoding.GzipBase64Encode(whole)
		if err != nil {
			return s, nil, fmt.Errorf("%s: %w", obj.File, err)
		}
		s.Size += int64(len(whole))
		s.CompressedSize += int64(len(packed))
	}
	return s, objects, nil
}
