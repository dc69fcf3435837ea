package crds

import "cmp"

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
