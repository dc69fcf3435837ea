package review

import (
	"strings"
	"testing"

	"github.com/olmgen/olmgen/golden/reviewtest"
)

// A tree has no difference from itself, whatever OLM cannot do for it: what is installed in the cluster stays.
func TestNoChangeOnACluster(t *testing.T) {
	o := onExamples(t)
	const group = `---
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: backup, namespace: backup}
spec: {targetNamespaces: [backup]}
`
	const sub = `---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: backup-operator, namespace: backup}
spec: {name: backup-operator, channel: stable-v1, source: community, sourceNamespace: olm}
`
	const csv = `---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: backup-operator.v1.0.0, namespace: backup}
spec: {displayName: b, version: 1.0.0, installModes: [{type: OwnNamespace, supported: true}], install: {strategy: deployment, spec: {deployments: []}}}
status: {phase: Succeeded, reason: InstallSucceeded}
`
	for what, git := range map[string]string{
		"as it is":                  group + sub,
		"no such channel":           group + strings.Replace(sub, "stable-v1", "candidate", 1),
		"no such package":           group + strings.Replace(sub, "{name: backup-operator, channel", "{name: other, channel", 1),
		"an update waits":           group + strings.Replace(sub, "stable-v1", "stable-v2, installPlanApproval: Manual", 1),
		"an update comes by itself": group + strings.Replace(sub, "stable-v1", "stable-v2", 1),
		"two groups":                group + strings.Replace(group, "name: backup,", "name: two,", 1) + sub,
		"no group":                  sub,
		"an older startingCSV":      group + strings.Replace(sub, "stable-v1", "stable-v1, startingCSV: backup-operator.v0.9.0", 1),
		"an OperatorPolicy of which a part is not known": group + sub + `---
apiVersion: policy.open-cluster-management.io/v1beta1
kind: OperatorPolicy
metadata: {name: q, namespace: m}
spec: {remediationAction: enforce, complianceType: musthave, upgradeApproval: Automatic, subscription: {name: q, namespace: n}}
`,
		"another Subscription needs what is not there": group + sub +
			strings.NewReplacer("metadata: {name: backup-operator", "metadata: {name: more", "{name: backup-operator, channel", "{name: more, channel").Replace(sub),
	} {
		t.Run(what, func(t *testing.T) {
			status := "status: {installedCSV: backup-operator.v1.0.0, currentCSV: backup-operator.v1.0.0, state: AtLatestKnown}\n"
			cluster := strings.Replace(git, "sourceNamespace: olm}\n", "sourceNamespace: olm}\n"+status, 1) + csv
			o := o
			o.Cluster = reviewtest.Objects(t, "dump.yaml", cluster)
			r := comparedTrees(t, o, git, git)
			if !r.Empty() {
				t.Errorf("OLM %v, CRDs %v, operators %v, workloads %v", r.OLM, r.CRDs, r.Identity, r.Workloads)
			}
		})
	}
}
