package templates

import (
	"github.com/olmgen/olmgen/internal/views"
)

// What the tests of other packages in this folder look at.
var Names = names

// Views returns the view of each template, without values.
func Views() map[string]any {
	return map[string]any{
		"aggregated-clusterrole.yaml":            views.GroupRole{},
		"api-clusterrole.yaml":                   views.APIRole{},
		"apiservice.yaml":                        views.APIService{},
		"catalogsource.yaml":                     views.CatalogSource{},
		"clustercatalog.yaml":                    views.ClusterCatalog{},
		"certificate.yaml":                       views.Certificate{},
		"chart.yaml":                             views.Chart{},
		"clusterextension.yaml":                  views.ClusterExtension{},
		"clusterrole.yaml":                       views.Role{},
		"clusterrolebinding.yaml":                views.Binding{},
		"clusterserviceversion.yaml":             views.ClusterServiceVersion{},
		"copied-clusterserviceversion-stub.yaml": views.CopiedClusterServiceVersion{},
		"deployment.yaml":                        views.Deployment{},
		"imagedigestmirrorset.yaml":              views.MirrorSet{},
		"imagetagmirrorset.yaml":                 views.MirrorSet{},
		"issuer.yaml":                            views.Issuer{},
		"kustomization-channel.yaml":             views.ChannelKustomization{},
		"kustomization.yaml":                     views.Kustomization{},
		"namespace.yaml":                         views.Namespace{},
		"networkpolicy.yaml":                     views.NetworkPolicy{},
		"operatorcondition.yaml":                 views.OperatorCondition{},
		"operatorgroup.yaml":                     views.OperatorGroup{},
		"patch-channel.yaml":                     views.ChannelKustomization{},
		"role.yaml":                              views.Role{},
		"rolebinding.yaml":                       views.Binding{},
		"service.yaml":                           views.Service{},
		"serviceaccount.yaml":                    views.ServiceAccount{},
		"subscription.yaml":                      views.Subscription{},
		"tenant-rolebinding.yaml":                views.Binding{},
		"validatingadmissionpolicy.yaml":         views.AdmissionPolicy{},
		"validatingadmissionpolicybinding.yaml":  views.AdmissionBinding{},
		"webhookconfiguration.yaml":              views.WebhookConfiguration{},
	}
}
