package templates

// What the tests of other packages in this folder look at.
var Names = names
var Views = views

// views returns the view of each template, without values.
func views() map[string]any {
	return map[string]any{
		"aggregated-clusterrole.yaml":            GroupRole{},
		"api-clusterrole.yaml":                   APIRole{},
		"apiservice.yaml":                        APIService{},
		"catalogsource.yaml":                     CatalogSource{},
		"clustercatalog.yaml":                    ClusterCatalog{},
		"certificate.yaml":                       Certificate{},
		"chart.yaml":                             Chart{},
		"clusterextension.yaml":                  ClusterExtension{},
		"clusterrole.yaml":                       Role{},
		"clusterrolebinding.yaml":                Binding{},
		"clusterserviceversion.yaml":             ClusterServiceVersion{},
		"copied-clusterserviceversion-stub.yaml": CopiedClusterServiceVersion{},
		"deployment.yaml":                        Deployment{},
		"imagedigestmirrorset.yaml":              MirrorSet{},
		"imagetagmirrorset.yaml":                 MirrorSet{},
		"issuer.yaml":                            Issuer{},
		"kustomization-channel.yaml":             ChannelKustomization{},
		"kustomization.yaml":                     Kustomization{},
		"namespace.yaml":                         Namespace{},
		"networkpolicy.yaml":                     NetworkPolicy{},
		"operatorcondition.yaml":                 OperatorCondition{},
		"operatorgroup.yaml":                     OperatorGroup{},
		"patch-channel.yaml":                     ChannelKustomization{},
		"role.yaml":                              Role{},
		"rolebinding.yaml":                       Binding{},
		"service.yaml":                           Service{},
		"serviceaccount.yaml":                    ServiceAccount{},
		"subscription.yaml":                      Subscription{},
		"tenant-rolebinding.yaml":                Binding{},
		"validatingadmissionpolicy.yaml":         AdmissionPolicy{},
		"validatingadmissionpolicybinding.yaml":  AdmissionBinding{},
		"webhookconfiguration.yaml":              WebhookConfiguration{},
	}
}
