package adopt

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// Selection chooses operators. Packages and Except have names of packages or of CSVs. Empty lists choose all.
type Selection struct {
	Packages   []string
	Namespaces []string
	Except     []string
}

// Select returns the state in which only the chosen operators are adopted. The others stay with OLM. A name that is not
// in the cluster is an error.
func (s *State) Select(choice Selection) (*State, error) {
	named := func(o *Operator, names []string) bool { return slices.ContainsFunc(names, o.named) }
	namespaces := lists.Map(s.Groups, func(g *Group) string { return g.Namespace })
	for _, name := range slices.Concat(choice.Packages, choice.Except) {
		if !s.has(name) {
			return nil, manifest.WithHint(fmt.Errorf("the cluster has no operator %q", name),
				"it has "+text.And(s.packages()))
		}
	}
	for _, ns := range choice.Namespaces {
		if !slices.Contains(namespaces, ns) {
			return nil, manifest.WithHint(fmt.Errorf("namespace %s has no operator", ns),
				"there are some in "+text.And(namespaces))
		}
	}
	return s.keep(func(o *Operator) bool {
		return (len(choice.Packages) == 0 || named(o, choice.Packages)) && !named(o, choice.Except) &&
			(len(choice.Namespaces) == 0 || slices.Contains(choice.Namespaces, o.Group.Namespace))
	}), nil
}

// checkSome refuses a state without anything to write.
func (s *State) checkSome() error {
	switch {
	case len(s.packages()) == 0:
		return manifest.WithHint(errors.New("the dump has no operator that OLM installed"),
			"see the findings, and check that the dump has ClusterServiceVersions and OperatorGroups")
	case len(s.All()) == 0 && len(refusedOf(s.notAdopted())) == 0:
		return manifest.WithHint(errors.New("every operator of the dump is left out"), "it has "+text.And(s.packages()))
	}
	return nil
}

// Only returns the state in which all other operators stay with OLM.
func (s *State) Only(operators []*Operator) *State {
	return s.keep(func(o *Operator) bool { return slices.Contains(operators, o) })
}

// Refuse returns the state in which an operator is not adopted for a reason, which is a finding. It marks the operator.
func (s *State) Refuse(operator *Operator, reason string) *State {
	operator.Refused = reason
	out := s.keep(func(o *Operator) bool { return o.Refused == "" })
	out.Findings = slices.Clone(s.Findings)
	out.reportRefused(operator)
	findings.Sort(out.Findings)
	return out
}

func (s *State) reportRefused(o *Operator) {
	s.report("refused", findings.Error, o.Object, "", "it is not adopted: "+o.Refused,
		"the file has it as a comment; repair it, or leave out "+o.Package)
}

// keep returns the state in which the operators that are not kept stay with OLM.
func (s *State) keep(kept func(*Operator) bool) *State {
	out := *s
	out.Groups = nil
	for _, g := range s.Groups {
		part := *g
		part.Operators, part.Others = nil, slices.Clone(g.Others)
		for _, o := range g.Operators {
			if kept(o) {
				part.Operators = append(part.Operators, o)
			} else {
				part.Others = append(part.Others, o)
			}
		}
		out.Groups = append(out.Groups, &part)
	}
	return &out
}

// All returns the operators that are adopted.
func (s *State) All() (all []*Operator) {
	for _, g := range s.Groups {
		all = append(all, g.Operators...)
	}
	return all
}

func (s *State) notAdopted() (all []*Operator) {
	for _, g := range s.Groups {
		all = append(all, g.Others...)
	}
	return all
}

// every returns the operators that are adopted and then those that are not.
func (s *State) every() []*Operator { return slices.Concat(s.All(), s.notAdopted()) }

// named reports whether a name is that of the operator's package or of its CSV.
func (o *Operator) named(name string) bool { return name == o.Package || name == o.CSV.Name }

func (s *State) has(name string) bool {
	return slices.ContainsFunc(s.every(), func(o *Operator) bool { return o.named(name) })
}

// Adopts reports whether an operator is not one of those that stay with OLM.
func (s *State) Adopts(namespace, csv string) bool {
	return !slices.ContainsFunc(s.notAdopted(), func(o *Operator) bool {
		return o.Group.Namespace == namespace && o.CSV.Name == csv
	})
}

func (s *State) packages() []string {
	return slices.Sorted(maps.Keys(lists.Set(s.every(), func(o *Operator) string { return o.Package })))
}

// OLM's reasons for which a CSV fails because of its OperatorGroup: it runs nothing of the operator (OLM:
// pkg/controller/operators/olm/operator.go, transitionCSVState).
var groupReasons = []v1alpha1.ConditionReason{v1alpha1.CSVReasonNoOperatorGroup,
	v1alpha1.CSVReasonTooManyOperatorGroups, v1alpha1.CSVReasonUnsupportedOperatorGroup,
	v1alpha1.CSVReasonInterOperatorGroupOwnerConflict,
	v1alpha1.CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs}

// refusal returns why an operator cannot be rendered as it is in the cluster, as far as the dump tells.
func (o *Operator) refusal() string {
	status := o.CSV.Status
	if status.Phase == v1alpha1.CSVPhaseFailed && slices.Contains(groupReasons, status.Reason) {
		return fmt.Sprintf("OLM does not run it (%s): %s", status.Reason, oneLine(status.Message))
	}
	if status.Phase == v1alpha1.CSVPhaseSucceeded || len(o.Group.Targets) == 0 {
		return ""
	}
	modes := v1alpha1.InstallModeSet{}
	for _, m := range o.CSV.Spec.InstallModes {
		modes[m.Type] = m.Supported
	}
	if err := modes.Supports(o.Group.Namespace, o.Group.Targets); err != nil {
		return "the CSV does not support its OperatorGroup: " + err.Error()
	}
	return ""
}

// isPackageServer reports whether a CSV is OLM's own extension API server for PackageManifests, which OLM installs and
// repairs by itself (OLM: pkg/package-server; deploy/chart/templates, 0000_50_olm_15-packageserver).
func isPackageServer(csv *v1alpha1.ClusterServiceVersion) bool {
	return slices.ContainsFunc(csv.Spec.APIServiceDefinitions.Owned, func(a v1alpha1.APIServiceDescription) bool {
		return a.Group == olm.GroupPackages
	})
}

// dependsOn returns what an operator needs that another one brings; "" if there is nothing. Which other operator could
// bring it does not matter: OLM's resolver may choose the package again.
func (o *Operator) dependsOn(other *Operator) string {
	for _, a := range olm.RequiredAPIs(&o.CSV.Spec) {
		if other.owns(a.Object()) {
			return a.Object()
		}
	}
	for _, p := range o.properties() {
		if !p.Requires() {
			continue
		}
		var value any
		_ = json.Unmarshal(p.Value, &value) // one that is missing names nothing
		if other.meets(value) {
			return p.Type + " " + string(p.Value)
		}
	}
	return ""
}

// meets reports whether the value of a property names the operator's package or an API that it owns, at any depth.
func (o *Operator) meets(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return v["packageName"] == o.Package || lists.Any(maps.Values(v), o.meets) ||
			slices.ContainsFunc(olm.OwnedAPIs(&o.CSV.Spec), func(a olm.API) bool {
				return v["group"] == a.Group && v["kind"] == a.Kind
			})
	case []any:
		return slices.ContainsFunc(v, o.meets)
	}
	return false
}

// checkDependants refuses to take an operator away that another Subscription needs: OLM would install it again.
func (d *departure) checkDependants() error {
	for _, other := range d.state.notAdopted() {
		for _, o := range d.operators {
			if other.Group.Namespace != o.Group.Namespace || other.Subscription == nil {
				continue
			}
			if need := other.dependsOn(o); need != "" {
				return manifest.WithHint(fmt.Errorf("%s stays with OLM and needs %s of %s: OLM would install that "+
					"again", other.CSV.Name, need, o.CSV.Name), "move both, or neither")
			}
		}
	}
	return nil
}
