package fit

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
)

// SchemaLifecycle is the schema of the documents of a catalog that say how long versions are supported. It is
// provisional (openshift/enhancements: enhancements/olm/lifecycle-and-compatibility.md).
const SchemaLifecycle = "io.openshift.operators.lifecycles.v1alpha1"

// Lifecycle is what the catalog of a package says of the support of its versions.
type Lifecycle struct {
	Versions []Supported `json:"versions"`
	fault    error       // why nothing is known; nil if it is
}

// Supported is the support of the versions with one MAJOR.MINOR.
type Supported struct {
	Name      string     `json:"name"`
	Phases    []Phase    `json:"phases"`
	Platforms []Platform `json:"platformCompatibility"`
}

// Phase is a phase of support, with its first and last day as YYYY-MM-DD.
type Phase struct {
	Name  string `json:"name"`
	Start string `json:"startDate"`
	End   string `json:"endDate"`
}

// Platform is a platform with the releases that a version works in.
type Platform struct {
	Name     string   `json:"name"`
	Versions []string `json:"versions"`
}

// ReadLifecycle reads the documents of a package of SchemaLifecycle, as JSON. It returns nil if there are none. Where
// one cannot be read, or there are several, nothing is known: Findings say so.
func ReadLifecycle(documents [][]byte) *Lifecycle {
	l, err := readLifecycle(documents)
	if err != nil {
		return &Lifecycle{fault: err}
	}
	return l
}

// ofNobody is the lifecycle of what a cluster has. Only what is asked for is missing.
var ofNobody = &Lifecycle{fault: errors.New("it is installed, and nobody says from which catalog")}

func readLifecycle(documents [][]byte) (*Lifecycle, error) {
	switch len(documents) {
	case 0:
		return nil, nil
	case 1:
	default:
		return nil, fmt.Errorf("%d documents of schema %s", len(documents), SchemaLifecycle)
	}
	l := &Lifecycle{}
	if err := json.Unmarshal(documents[0], l); err != nil {
		return nil, fmt.Errorf("%s: %w", SchemaLifecycle, err)
	}
	for _, v := range l.Versions {
		for _, p := range v.Phases {
			for _, day := range []string{p.Start, p.End} {
				if err := CheckDate(day); err != nil {
					return nil, fmt.Errorf("%s: version %s, phase %s: %w", SchemaLifecycle, v.Name, p.Name, err)
				}
			}
		}
	}
	return l, nil
}

// CheckDate returns an error for what is not a day as YYYY-MM-DD.
func CheckDate(day string) error {
	if _, err := time.Parse(time.DateOnly, day); err != nil {
		return fmt.Errorf("%q is not a date such as 2027-01-31", day)
	}
	return nil
}

// Of returns the support of a version, such as 2.6.1; nil if it is not known. l may be nil.
func (l *Lifecycle) Of(version string) *Supported {
	if l == nil {
		return nil
	}
	parts := strings.SplitN(version, ".", 3)
	name := strings.Join(parts[:min(2, len(parts))], ".")
	i := slices.IndexFunc(l.Versions, func(s Supported) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &l.Versions[i]
}

func (s *Supported) last() (last *Phase) {
	for i := range s.Phases {
		if last == nil || s.Phases[i].End > last.End {
			last = &s.Phases[i]
		}
	}
	return last
}

// next returns the first phase that begins after a day on which there is none, or nil.
func (s *Supported) next(day string) (next *Phase) {
	for i := range s.Phases {
		switch p := &s.Phases[i]; {
		case p.Start <= day && day <= p.End:
			return nil
		case day < p.Start && (next == nil || p.Start < next.Start):
			next = p
		}
	}
	return next
}

// String returns the phases with their days.
func (s *Supported) String() string {
	list := lists.Map(s.Phases, func(p Phase) string { return fmt.Sprintf("%s %s to %s", p.Name, p.Start, p.End) })
	return strings.Join(list, ", ")
}

const unknownSupport = "nothing is known of the support: "

// SaysNothing reports whether a finding is that nothing is known. That of two releases does not make them alike.
func SaysNothing(f findings.Finding) bool { return strings.HasPrefix(f.Message, unknownSupport) }

// Support returns what a catalog says of the support of an operator: a note with the phases, unless the cluster has a
// date.
func Support(o Operator, c Cluster) []findings.Finding {
	q := &question{Operator: o, Cluster: c}
	q.support()
	return q.list
}

// support reports a version whose support has ended on the date, or that the release of OpenShift is not for.
func (q *question) support() {
	version := q.CSV.Spec.Version.String()
	if l := q.Lifecycle; l != nil && l.fault != nil {
		for _, rule := range []struct {
			findings.Rule
			asked bool
		}{{RuleSupport, q.Date != ""}, {RuleCompatible, q.Platforms}} {
			if rule.asked || l != ofNobody {
				q.add(rule.Rule, findings.Warning, "", unknownSupport+l.fault.Error(),
					"tell whoever publishes the catalog")
			}
		}
		return
	}
	s := q.Lifecycle.Of(version)
	if s == nil {
		return
	}
	switch last, next := s.last(), s.next(q.Date); {
	case last == nil:
	case q.Date == "":
		q.add(RuleSupport, findings.Note, "", fmt.Sprintf("support of %s: %s", s.Name, s), "")
	case q.Date > last.End:
		q.add(RuleSupport, findings.Warning, "", fmt.Sprintf("%s of %s ended on %s", last.Name, s.Name, last.End),
			"update to a version that is supported")
	case next != nil:
		q.add(RuleSupport, findings.Note, "", fmt.Sprintf("%s of %s has not begun: it begins on %s", next.Name, s.Name,
			next.Start), "")
	default:
		q.add(RuleSupport, findings.Note, "", fmt.Sprintf("%s of %s ends on %s", last.Name, s.Name, last.End), "")
	}
	if q.OpenShift == nil {
		return
	}
	for _, p := range s.Platforms {
		if strings.EqualFold(p.Name, "openshift") && !slices.Contains(p.Versions, q.OpenShift.Number()) {
			q.add(RuleCompatible, findings.Warning, "", fmt.Sprintf("%s is not in platformCompatibility of %s",
				q.OpenShift.Number(), s.Name), "it is for "+cmp.Or(strings.Join(p.Versions, ", "), "no release"))
		}
	}
}
