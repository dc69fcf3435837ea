package fit_test

import (
	"strings"
	"testing"

	"github.com/olmgen/olmgen/internal/fit"
)

// Nothing converts: the Service or the Certificate is not there, or is in another namespace.
func TestConversions(t *testing.T) {
	const (
		v1, v2  = "{name: v1, served: true, storage: true, schema: {}}", "{name: v2, served: true, storage: false, schema: {}}"
		both    = v1 + ", " + v2
		service = "apiVersion: v1\nkind: Service\nmetadata: {name: hook}\n"
		issued  = "metadata: {annotations: {cert-manager.io/inject-ca-from: system/cert}, name: boats.x.io}"
		fails   = ": requests for a version other than the stored one fail, and so does the next InstallPlan of OLM v0"
	)
	crd := func(metadata, versions string) string {
		return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n" + metadata + "\nspec:\n  group: x.io\n" +
			"  names: {kind: Boat, plural: boats}\n  scope: Namespaced\n  versions: [" + versions + "]\n  conversion: {strategy: " +
			"Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: hook, namespace: system}}}}\n"
	}
	plain := "metadata: {name: boats.x.io}"
	for name, c := range map[string]struct {
		crd, service, spec, namespace, want string
	}{
		"nobody serves it": {crd(plain, both), "", "", "", "error the bundle does not serve the conversion webhook of its " +
			"CRD boats.x.io, Service system/hook" + fails},
		"one version": {crd(plain, v1), "", "", "", "note the bundle does not serve the conversion webhook of its CRD boats.x.io, " +
			"Service system/hook: nobody asks for it, because the CRD has one version"},
		"it may change the CRD": {crd(plain, both), "", asks("clusterPermissions", "{apiGroups: [apiextensions.k8s.io], resources: "+
			"[customresourcedefinitions], verbs: [patch]}"), "", "warning the bundle does not serve the conversion webhook of its CRD " +
			"boats.x.io, Service system/hook: unless it changes the CRD itself, as it may, requests"},
		"its Service, wherever it is installed": {crd(plain, both), service, "", "", ""},
		"its Service":                           {crd(plain, both), service, "", "system", ""},
		"its Service elsewhere": {crd(plain, both), service, "", "ops", "error the bundle does not serve the conversion webhook of its " +
			"CRD boats.x.io, Service system/hook, which is in ops" + fails},
		"no Certificate": {crd(issued, both), service, "", "system", "error the bundle has no Certificate system/cert, of which its " +
			"CRD boats.x.io gets the CA of its conversion webhook" + fails},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"manifests/crd.yaml": c.crd}
			if c.service != "" {
				files["manifests/service.yaml"] = c.service
			}
			o := operator(t, all, c.spec, files)
			o.Namespace = c.namespace
			got := ""
			for _, f := range fit.Conversions(o) {
				got += string(f.Level) + " " + f.Message
			}
			if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
