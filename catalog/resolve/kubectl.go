package resolve

import "fmt"

// approve returns how an InstallPlan that a Subscription waits for is approved.
func approve(s *Subscription, namespace string) string {
	return fmt.Sprintf("approve the InstallPlan that status.installPlanRef of the Subscription names: "+
		`kubectl -n %[1]s patch installplan "$(kubectl -n %[1]s get subscriptions.operators.coreos.com %[2]s `+
		`-o jsonpath={.status.installPlanRef.name})" --type merge -p '{"spec":{"approved":true}}'`, namespace, s.Name)
}
