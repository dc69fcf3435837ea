package output

import (
	"maps"

	"github.com/olmgen/olmgen/generate"
)

// plurals are the resources of the cluster-scoped kinds of Kubernetes, OLM and OpenShift, by <kind>.<group>.
var plurals = map[string]string{
	"Namespace.":        "namespaces",
	"PersistentVolume.": "persistentvolumes",
	"MutatingWebhookConfiguration.admissionregistration.k8s.io":     "mutatingwebhookconfigurations",
	"ValidatingAdmissionPolicy.admissionregistration.k8s.io":        "validatingadmissionpolicies",
	"ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io": "validatingadmissionpolicybindings",
	"ValidatingWebhookConfiguration.admissionregistration.k8s.io":   "validatingwebhookconfigurations",
	"CustomResourceDefinition.apiextensions.k8s.io":                 "customresourcedefinitions",
	"APIService.apiregistration.k8s.io":                             "apiservices",
	"ClusterIssuer.cert-manager.io":                                 "clusterissuers",
	"ConsoleCLIDownload.console.openshift.io":                       "consoleclidownloads",
	"ConsoleLink.console.openshift.io":                              "consolelinks",
	"ConsolePlugin.console.openshift.io":                            "consoleplugins",
	"ConsoleQuickStart.console.openshift.io":                        "consolequickstarts",
	"ConsoleYAMLSample.console.openshift.io":                        "consoleyamlsamples",
	"IngressClass.networking.k8s.io":                                "ingressclasses",
	"ClusterExtension.olm.operatorframework.io":                     "clusterextensions",
	"CatalogSource.operators.coreos.com":                            "catalogsources",
	"OperatorGroup.operators.coreos.com":                            "operatorgroups",
	"Subscription.operators.coreos.com":                             "subscriptions",
	"ClusterRole.rbac.authorization.k8s.io":                         "clusterroles",
	"ClusterRoleBinding.rbac.authorization.k8s.io":                  "clusterrolebindings",
	"PriorityClass.scheduling.k8s.io":                               "priorityclasses",
	"SecurityContextConstraints.security.openshift.io":              "securitycontextconstraints",
	"CSIDriver.storage.k8s.io":                                      "csidrivers",
	"StorageClass.storage.k8s.io":                                   "storageclasses",
}

func kindOf(x generate.Object) string { return x.Kind + "." + x.Group() }

// plurals returns the plurals of the objects' kinds. For a kind that is not built in, the tree must contain its CRD.
func (t Tree) plurals(objects []generate.Shared) (map[string]string, error) {
	known, read := plurals, false
	for _, x := range objects {
		if known[kindOf(x.Object)] != "" {
			continue
		}
		if !read {
			var err error
			if known, err = t.withCRDs(); err != nil {
				return nil, err
			}
			read = true
		}
		if known[kindOf(x.Object)] == "" {
			return nil, refuse("its CRD would say it and is not among the objects: use another layout",
				"the layout %s does not know the plural of kind %s of %s", LayoutClusterScope, x.Kind, x.APIVersion)
		}
	}
	return known, nil
}

// withCRDs adds the kinds of the CRDs in the tree.
func (t Tree) withCRDs() (map[string]string, error) {
	known := maps.Clone(plurals)
	for _, x := range t.Objects {
		if kindOf(x.Object) != "CustomResourceDefinition.apiextensions.k8s.io" {
			continue
		}
		var names [3]string
		for i, path := range [][]string{{"spec", "names", "kind"}, {"spec", "group"}, {"spec", "names", "plural"}} {
			v, err := get(x.Object, path...)
			if err != nil {
				return nil, err
			}
			names[i], _ = v.(string)
		}
		if kind := names[0] + "." + names[1]; known[kind] == "" {
			known[kind] = names[2]
		}
	}
	return known, nil
}
