// Package crds reports what changes in the CustomResourceDefinitions of two releases of an operator.
//
// [Compare] returns a [Finding] for each change that matters to users of the API, and for each existing object that the
// API server would refuse after the upgrade. [ParseRules] reads other severities of the rules, which [BuiltinRules]
// lists.
//
// The package runs all checks of sigs.k8s.io/crdify and adds rules about versions that are dropped. Objects are checked
// with the code of the API server (k8s.io/apiextensions-apiserver).
package crds

import (
	"cmp"
	"context"
	"crypto/sha256"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/parallel"
	"github.com/olmgen/olmgen/internal/compare/internal/witness"
	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/manifest"
)

// Finding is one change of a CRD, or one fault of an object, on one line.
type Finding struct {
	CRD      string            `json:"crd"`               // its name
	Version  string            `json:"version,omitempty"` // "v1", or "v1 -> v2" for two served versions of the new CRD
	Rule     string            `json:"rule"`
	Severity findings.Severity `json:"severity"`
	Message  string            `json:"message"`
	Witness  string            `json:"witness,omitempty"` // what the older one takes, and the newer one says
	Path     string            `json:"path,omitempty"`    // in a custom resource, such as spec.ports[].name
	Object   string            `json:"object,omitempty"`  // that exists and has a fault: kind namespace/name
	File     string            `json:"file,omitempty"`    // of the newer CRD, else the older one; not for an object
	Line     int               `json:"line,omitempty"`
}

// Misfit reports whether a rule is about an existing object that does not fit the newer CRDs.
func Misfit(rule string) bool {
	return slices.Contains([]string{ruleObjectInvalid, ruleObjectRatcheted, ruleObjectStored, ruleObjectVersion,
		ruleObjectOrphaned}, rule)
}

// The severities of findings. In a rules file, None leaves out the findings of a rule.
const (
	Error   = findings.Error
	Warning = findings.Warning
	Info    = findings.Info
	None    = findings.None
)

// Options are the options of Compare.
type Options struct {
	// Rules holds the severities of the rules. The zero value has the default of each rule.
	Rules Rules

	// Objects are existing objects. Those of a kind that one of the CRDs defines are checked against the new CRDs.
	Objects []*manifest.Object

	// Deleted are the names of CRDs that are deleted before the new ones are made.
	Deleted []string

	// Memo has what was found before about the same CRDs; it may be nil.
	Memo *Memo
}

// Memo keeps what Compare finds about pairs of CRDs, for other clusters that have the same ones.
type Memo struct {
	pairs sync.Map // []found by [2][sha256.Size]byte
}

func (m *Memo) of(old, now *crs.CRD, compare func() ([]found, error)) ([]found, error) {
	if m == nil || old.Raw() == nil || now.Raw() == nil {
		return compare()
	}
	pair := [2][sha256.Size]byte{sha256.Sum256(old.Raw()), sha256.Sum256(now.Raw())}
	if known, ok := m.pairs.Load(pair); ok {
		return known.([]found), nil
	}
	list, err := compare()
	if err == nil {
		m.pairs.Store(pair, list)
	}
	return list, err
}

// Compare compares the CRDs among the old objects with those among the new ones. The findings are sorted: by CRD, then
// the worst first. A CRD that cannot be read is an error that names its place. A context that is done ends it with its
// error.
func Compare(ctx context.Context, old, now []*manifest.Object, opts Options) ([]Finding, error) {
	before, err := crs.ByName(old)
	if err != nil {
		return nil, err
	}
	after, err := crs.ByName(now)
	if err != nil {
		return nil, err
	}
	comparators, err := crdifyComparators()
	if err != nil {
		return nil, err
	}
	names := lists.Keys(before, after)
	results, errs := make([][]found, len(names)), make([]error, len(names))
	parallel.Each(0, len(names), func(i int) {
		results[i], errs[i] = comparators.compare(ctx, names[i], before[names[i]], after[names[i]], opts)
	})
	if err := cmp.Or(errs...); err != nil {
		return nil, err // the first by name, whoever was faster
	}
	all := slices.Concat(results...)
	for i, f := range all { // in the newer CRD, or in the older one if it is gone
		crd := cmp.Or(after[f.CRD], before[f.CRD])
		all[i].File, all[i].Line = crd.PlaceOf(f.field(crd.Object))
	}
	if len(opts.Objects) > 0 {
		faults, err := checkObjects(ctx, opts, before, after)
		if err != nil {
			return nil, err
		}
		all = append(all, faults...)
	}
	findings := opts.Rules.apply(all)
	slices.SortStableFunc(findings, order)
	return slices.Compact(findings), nil
}

func order(a, b Finding) int {
	return cmp.Or(cmp.Compare(a.CRD, b.CRD), cmp.Compare(a.Severity.Rank(), b.Severity.Rank()),
		cmp.Compare(a.Version, b.Version), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Rule, b.Rule),
		cmp.Compare(a.Message, b.Message))
}

type (
	definition = apiextensionsv1.CustomResourceDefinition
	versionOf  = apiextensionsv1.CustomResourceDefinitionVersion
)

// compare returns the findings about one CRD. One side may be missing, and the older one deleted.
func (c *comparators) compare(ctx context.Context, name string, old, now *crs.CRD, opts Options) ([]found, error) {
	one := func(rule, message string) ([]found, error) {
		return []found{{Finding: Finding{CRD: name, Rule: rule, Message: message}}}, nil
	}
	switch {
	case now == nil:
		return one(ruleCRDRemoved,
			"the CRD is gone: where it is pruned, every "+old.DefinedKind()+" is deleted with it")
	case old == nil:
		return one(ruleCRDAdded, "new CRD of "+now.DefinedKind())
	case slices.Contains(opts.Deleted, name):
		return one(ruleCRDRemoved,
			"the CRD goes with what owns it, and every "+old.DefinedKind()+" with it, before it is made again")
	case old.Same(now):
		return nil, nil
	}
	return opts.Memo.of(old, now, func() ([]found, error) { return c.compareBoth(ctx, name, old, now) })
}

// compareBoth is compare of two that differ. What is decoded is too large to be kept.
func (c *comparators) compareBoth(ctx context.Context, name string, old, now *crs.CRD) ([]found, error) {
	var all []found
	add := func(rule, version, path, message string) {
		all = append(all,
			found{Finding: Finding{CRD: name, Version: version, Rule: rule, Path: path, Message: message}})
	}
	a, err := old.Decode()
	if err != nil {
		return nil, err
	}
	b, err := now.Decode()
	if err != nil {
		return nil, err
	}
	compareVersions(a, b, func(rule, version, message string) { add(rule, version, "", message) })
	own, err := compareOwn(now, a, b)
	if err != nil {
		return nil, err
	}
	for i := range own {
		if own[i].Rule == ruleUnhandled { // of preserveUnknownFields
			unknownFields(&own[i], a, b)
		}
	}
	all = append(all, own...)
	for _, i := range c.compareCRDs(a, b) {
		add(i.rule, "", i.path, i.message)
	}
	for _, v := range a.Spec.Versions {
		if w := version(b, v.Name); w != nil {
			issues := c.compareSchemas(ctx, witness.SchemaOf(&v), witness.SchemaOf(w))
			all = append(all, shown(ctx, a, b, v.Name, issues)...)
		}
	}
	limit := ruleServedVersions
	if conversion := b.Spec.Conversion; conversion != nil &&
		conversion.Strategy == apiextensionsv1.WebhookConverter {
		limit = ruleConvertedVersions
	}
	for versions, issues := range c.compareServed(ctx, a, b) {
		for _, i := range issues {
			all = append(all, found{limit: limit, Finding: Finding{CRD: name, Version: versions, Rule: i.rule,
				Path: i.path, Message: i.message}})
		}
	}
	all = append(all, c.compareStored(ctx, a, b)...)
	return all, ctx.Err() // schemas are compared as far as there was time
}

// version returns a version of a CRD, or nil.
func version(crd *definition, name string) *versionOf {
	if i := crs.IndexOf(crd, name); i >= 0 {
		return &crd.Spec.Versions[i]
	}
	return nil
}

// found is a finding before the severities are known.
type found struct {
	Finding
	at    string // the path of the field in the CRD; empty if the finding is about a version or its schema
	limit string // the rule whose severity is the highest that the finding can have; empty for no limit
	as    string // the rule that has the severity, if it is another one
}

// apply returns the findings with their severities, without those that are not wanted.
func (r Rules) apply(all []found) []Finding {
	findings := make([]Finding, 0, len(all))
	for _, f := range all {
		f.Severity = r.Severity(cmp.Or(f.as, f.Rule))
		if f.limit != "" {
			if most := r.Severity(f.limit); most.Rank() > f.Severity.Rank() {
				f.Severity = most
			}
		}
		if f.Severity != None {
			findings = append(findings, f.Finding)
		}
	}
	return findings
}
