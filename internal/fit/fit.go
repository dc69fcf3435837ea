// Package fit says whether an operator works in a cluster with certain releases of OLM, OpenShift and Kubernetes: what
// keeps it from being installed, or from working, and what holds back the upgrade of the cluster. It is the one answer
// to that question: commands print what it returns. What the releases take is in package versions.
package fit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/manifest"
)

// Form is who installs the operator.
type Form string

// The forms.
const (
	OLMv0 Form = "OLM v0"
	OLMv1 Form = "OLM v1"
	Plain Form = "no OLM"
)

// Cluster has the releases in a cluster. What is nil or zero is not known: then nothing is said that depends on it, but
// OLM v1 is the newest one.
type Cluster struct {
	OLM        *versions.Release // of OLM v0
	Controller *versions.Release // of operator-controller
	OpenShift  *versions.Release
	Kube       *semver.Version // of Kubernetes
	Date       string          // on which it is judged, as YYYY-MM-DD; empty: support is not judged
	Platforms  bool            // whether the catalog names the release of OpenShift is asked for
}

// Known reports whether anything is known about the cluster.
func (c Cluster) Known() bool {
	return c.OLM != nil || c.Controller != nil || c.OpenShift != nil || c.Kube != nil
}

// String returns the releases; without any, the newest one of OLM v1.
func (c Cluster) String() string {
	var list []string
	for _, r := range []*versions.Release{c.OpenShift, c.OLM, c.Controller} {
		if r != nil {
			list = append(list, r.String())
		}
	}
	if c.Kube != nil && (c.OpenShift == nil || c.OpenShift.Kubernetes() != c.Kube.Minor) {
		list = append(list, "Kubernetes "+minor(c.Kube.Minor))
	}
	if len(list) == 0 {
		list = append(list, versions.Newest(versions.OperatorController).String())
	}
	return strings.Join(list, ", ")
}

// Form returns who installs an operator in a cluster of which only releases are known: OLM v1 if its release is known
// and that of OLM v0 is not, or if nothing is known. Else it is OLM v0.
func (c Cluster) Form() Form {
	if c.Controller != nil && c.OLM == nil || !c.Known() {
		return OLMv1
	}
	return OLMv0
}

// HasOLMv0 reports whether OLM v0 may be in a cluster: not if only a release of OLM v1 is known.
func (c Cluster) HasOLMv0() bool { return c.Controller == nil || c.OLM != nil || c.OpenShift != nil }

// Controllers returns the releases of OLM v1 in the cluster: those that are known, or the newest one.
func (c Cluster) Controllers() []versions.Release {
	if list := c.Releases(); len(list) > 0 {
		return list
	}
	return []versions.Release{versions.Newest(versions.OperatorController)}
}

// Releases returns the known releases of OLM v1 in the cluster.
func (c Cluster) Releases() (list []versions.Release) {
	for _, r := range []*versions.Release{c.Controller, c.OpenShift} {
		if r != nil {
			list = append(list, *r)
		}
	}
	return list
}

// Operator is what an operator ships and asks for.
type Operator struct {
	CSV        *v1alpha1.ClusterServiceVersion
	Object     *manifest.Object   // the CSV as it stands in a file; may be nil
	Properties []bundle.Property  // that a catalog has of it
	Shipped    []*manifest.Object // what its bundle has beside the CSV; none if that is not known
	Bundle     *bundle.Bundle     // nil if it is not known
	Lifecycle  *Lifecycle         // of its package; nil if it is not known
	// Mode is how it is installed; empty: in all namespaces if it supports that
	Mode v1alpha1.InstallModeType
	// Namespace is where it is installed; empty if that is not known
	Namespace string
	Config    map[string]any // of the ClusterExtension that installs it: see Configure

	unread      error                        // why the properties cannot be read
	deployments *v1alpha1.SubscriptionConfig // of Config
}

// OfBundle returns the operator of a bundle.
func OfBundle(b *bundle.Bundle) Operator {
	return Operator{CSV: b.CSV, Object: b.CSVObject, Properties: b.CatalogProperties(), Shipped: b.Shipped(), Bundle: b}
}

// Installed returns the operator of a ClusterServiceVersion in a cluster, whose properties OLM has written into it.
func Installed(csv *v1alpha1.ClusterServiceVersion, o *manifest.Object) Operator {
	operator := Operator{CSV: csv, Object: o, Lifecycle: ofNobody}
	if text := csv.Annotations[olm.AnnotationProperties]; text != "" {
		operator.Properties, operator.unread = bundle.ParseProperties(text)
	}
	return operator
}

// With returns the operator with the properties that a catalog has of it beside its own.
func (o Operator) With(properties []bundle.Property) Operator {
	o.Properties = slices.Clone(o.Properties)
	for _, p := range properties {
		if !slices.ContainsFunc(o.Properties, func(have bundle.Property) bool {
			return have.Type == p.Type && textOf(have.Value) == textOf(p.Value)
		}) {
			o.Properties = append(o.Properties, p)
		}
	}
	return o
}

// question is an operator and the cluster that it is for, with the answers.
type question struct {
	Operator
	Cluster
	form Form
	list []findings.Finding
	held func() []right // what the operator has, found once
	off  []string       // the feature gates that it needs and that are off
}

// Findings returns what keeps an operator from working in a cluster, the worst first. The same operator and cluster
// yield the same list.
func Findings(o Operator, form Form, c Cluster) []findings.Finding { return answered(o, form, c).list }

// questions are what is asked about an operator, in the order of the findings. Releases of OLM v1 differ in some.
var questions = []struct {
	ask       func(*question)
	ofRelease bool
}{
	{(*question).apis, false}, {(*question).conditions, false}, {(*question).services, true},
	{(*question).modes, true}, {(*question).webhooks, true}, {(*question).kinds, true},
	{(*question).dependencies, true}, {(*question).openShift, false}, {(*question).minKube, false},
	{(*question).kubernetes, false}, {(*question).sizes, false}, {(*question).finalizers, false},
	{(*question).phases, false}, {(*question).renderer, true}, {(*question).support, false},
	{(*question).config, true}, {(*question).annotations, true},
}

func answered(o Operator, form Form, c Cluster) *question {
	q := &question{Operator: o, Cluster: c, form: form, held: sync.OnceValue(o.rights)}
	for _, x := range questions {
		x.ask(q)
	}
	slices.SortStableFunc(q.list,
		func(a, b findings.Finding) int { return cmp.Compare(a.Level.Rank(), b.Level.Rank()) })
	return q
}

// add adds a finding about the ClusterServiceVersion.
func (q *question) add(rule findings.Rule, level findings.Severity, field, message, hint string) {
	q.at(q.Object, rule, level, field, message, hint)
}

// at adds a finding about an object, which may be nil.
func (q *question) at(o *manifest.Object, rule findings.Rule, level findings.Severity, field, message, hint string) {
	f := findings.Finding{Rule: rule.ID, Level: level, Field: field, Message: message}
	if o != nil {
		f = of(o, rule, level, field, message)
	}
	f.Hint = hint
	q.list = lists.Add(q.list, f)
}

// Given are the releases of a cluster as somebody wrote them. What is empty is not known.
type Given struct {
	OLM       []string // such as v0.46 and v1.10: at most one of OLM v0 and one of operator-controller
	OpenShift string   // such as 4.20
	Kube      string   // such as 1.31 or v1.31.4+k3s1
}

// GivenBy returns the releases of fields of which each names one at most; an empty one names none.
func GivenBy(olm, openShift, kube string) Given {
	g := Given{OpenShift: openShift, Kube: kube}
	if olm != "" {
		g.OLM = []string{olm}
	}
	return g
}

// Input is what Given has.
type Input string

// The inputs.
const (
	InputOLM       Input = "OLM"
	InputOpenShift Input = "OpenShift"
	InputKube      Input = "Kubernetes"
)

// InputError is about the one of the given releases that cannot be read. Its text does not name the input.
type InputError struct {
	Input Input
	Err   error
}

func (e *InputError) Error() string { return e.Err.Error() }

// Unwrap returns the reason, which may have a hint.
func (e *InputError) Unwrap() error { return e.Err }

// Read reads the releases of a cluster. It is the only reader of them: flags, fields and options pass through it. The
// error is an *InputError.
func (g Given) Read() (c Cluster, err error) {
	for _, text := range g.OLM {
		r, err := versions.ParseOLM(text)
		if err != nil {
			return Cluster{}, &InputError{InputOLM, err}
		}
		to := &c.Controller
		if r.Product == versions.OLM {
			to = &c.OLM
		}
		if *to != nil {
			return Cluster{}, &InputError{InputOLM, manifest.WithHint(
				fmt.Errorf("%s is given twice", r.Product), "give one release of each")}
		}
		*to = &r
	}
	if g.OpenShift != "" {
		r, err := versions.Parse(versions.OpenShift, g.OpenShift)
		if err != nil {
			return Cluster{}, &InputError{InputOpenShift, err}
		}
		c.OpenShift = &r
	}
	if g.Kube != "" {
		if c.Kube, err = versions.ParseKubernetes(g.Kube); err != nil {
			return Cluster{}, &InputError{InputKube, err}
		}
	}
	return c, nil
}

// Kubernetes returns the version of Kubernetes in the cluster, which may be that of OpenShift; nil if it is not known.
func (c Cluster) Kubernetes() *semver.Version {
	if c.Kube == nil && c.OpenShift != nil {
		return &semver.Version{Major: 1, Minor: c.OpenShift.Kubernetes()}
	}
	return c.Kube
}

func (c Cluster) kube() uint64 {
	if v := c.Kubernetes(); v != nil {
		return v.Minor
	}
	return 0
}
