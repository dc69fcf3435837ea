package resolve

import "fmt"

// approve returns how an InstallPlan that the status of a Subscription names is approved.
func approve(subscription, namespace string) string {
	return fmt.Sprintf("approve the InstallPlan that status.installPlanRef of Subscription %[2]s names: "+
		`kubectl -n %[1]s patch installplan "$(kubectl -n %[1]s get subscriptions.operators.coreos.com %[2]s `+
		`-o jsonpath={.status.installPlanRef.name})" --type merge -p '{"spec":{"approved":true}}'`,
		namespace, subscription)
}
