package generate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/views"
	"github.com/olmgen/olmgen/manifest"
)

// serving is a Deployment that answers the API server, for webhooks or an APIService, and so needs a Service and a
// certificate (spec 7.1; OLM: pkg/controller/install/certresources.go).
type serving struct {
	deployment string
	service    string
	account    string
	selector   map[string]string
	ports      []views.ServicePort
}

// secret holds the serving certificate. With cert-manager the Certificate has its name too.
func (s *serving) secret() string { return s.service + "-cert" }

// servings finds the Deployments that serve, in the CSV's order.
func servings(csv *v1alpha1.ClusterServiceVersion, mode Names) (out []*serving) {
	for _, d := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		s := &serving{deployment: d.Name, service: olm.ServiceName(d.Name),
			account: install.Account(&d.Spec.Template.Spec)}
		if mode == NamesOLM { // OLM does not look at the field's old name
			s.account = d.Spec.Template.Spec.ServiceAccountName
		}
		s.account = cmp.Or(s.account, "default")
		if d.Spec.Selector != nil {
			s.selector = d.Spec.Selector.MatchLabels
		}
		s.addPorts(csv)
		if len(s.ports) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// checkServings refuses Services that the API server would refuse.
func checkServings(b *bundle.Bundle, list []*serving) error {
	for _, s := range list {
		i := slices.IndexFunc(b.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs,
			func(d v1alpha1.StrategyDeploymentSpec) bool { return d.Name == s.deployment })
		field := fmt.Sprintf("spec.install.spec.deployments[%d].name", i)
		if len(validation.IsDNS1035Label(s.service)) > 0 {
			return b.CSVObject.Errorf(field,
				"the Service %s of its webhooks has no valid name: it may have %d characters", s.service,
				validation.DNS1035LabelMaxLength)
		}
		if err := s.checkPorts(b, field); err != nil {
			return err
		}
	}
	return nil
}

func (s *serving) addPorts(csv *v1alpha1.ClusterServiceVersion) {
	add := func(deployment string, port int32, target *intstr.IntOrString) {
		if deployment != s.deployment {
			return
		}
		s.ports = lists.Add(s.ports, views.PortOf(olm.ServedPort(port), olm.ServedTarget(target, port)))
	}
	for _, d := range ownedAPIServices(csv) {
		add(d.DeploymentName, d.ContainerPort, nil)
	}
	for _, w := range csv.Spec.WebhookDefinitions {
		add(w.DeploymentName, w.ContainerPort, w.TargetPort)
	}
}

// checkPorts refuses two ports of one number: they would have one name, and the API server refuses the Service.
func (s *serving) checkPorts(b *bundle.Bundle, field string) error {
	for i, p := range s.ports {
		for _, q := range s.ports[:i] {
			if p.Port == q.Port {
				return b.CSVObject.Errorf(field,
					"its webhooks ask for port %d twice, with the target ports %v and %v: a Service can't have both",
					p.Port, q.TargetPort, p.TargetPort)
			}
		}
	}
	return nil
}

// servingObjects makes what OLM creates for a Deployment that serves: the Service, the right to read the certificate
// and those of an extension API server, which OLM grants for webhooks as well. The CSV requests none of these rights:
// the descoped profile leaves out the former, because the certificate is mounted, and the latter unless the Deployment
// serves an APIService.
func servingObjects(r *rendering) {
	for _, s := range r.serving {
		r.service(s)
		if r.options.Profile != ProfileDescoped {
			rules := []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""},
				Resources: []string{"secrets"}, ResourceNames: []string{r.certs.secret(s)}}}
			r.roleAndBinding(r.options.Namespace, s.secret(), rbac.Values(rules), r.names.managed(),
				r.names.managed(), r.subject(s.account))
		}
		served := func(d v1alpha1.APIServiceDescription) bool { return d.DeploymentName == s.deployment }
		if r.options.Profile != ProfileDescoped || slices.ContainsFunc(ownedAPIServices(r.csv), served) {
			r.delegation(s)
		}
		r.certificate(s)
	}
}

func (r *rendering) service(s *serving) {
	id := Object{APIVersion: "v1", Kind: "Service", Namespace: r.options.Namespace, Name: s.service}
	view := views.Service{Ownership: r.names.managed(), Name: id.Name, Namespace: id.Namespace,
		Ports: s.ports, Selector: s.selector}
	if r.certs.provider == CertsServiceCA {
		view.ServingCert = s.secret()
	}
	if o := r.shipped("", "Service", s.service); o != nil {
		view.Shipped = r.mergeService(o, view)
		if r.names.olm() && r.certs.provider == CertsOLM {
			r.warn(bundle.WarnShadowed, o.Errorf("metadata.name", "OLM writes a Service of this name, too, for what "+
				"Deployment %s serves: which of the two stays is chance", s.deployment))
		}
	}
	r.author("service.yaml", id, view)
}

// serviceSpec returns the spec of a Service that the bundle does not ship.
func serviceSpec(view views.Service) map[string]any {
	var ports []any
	for _, p := range view.Ports {
		port := map[string]any{"name": p.Name, "port": int64(p.Port), "targetPort": p.TargetPort}
		if n, ok := p.TargetPort.(int32); ok {
			port["targetPort"] = int64(n)
		}
		ports = append(ports, port)
	}
	spec := map[string]any{"ports": ports}
	if len(view.Selector) > 0 {
		selector := map[string]any{}
		for k, v := range view.Selector {
			selector[k] = v
		}
		spec["selector"] = selector
	}
	return spec
}

// mergeService puts OLM's part of a Service over the bundle's own of that name, as OLM's server-side apply does: its
// ports and selector win, what else the bundle says stays.
func (r *rendering) mergeService(o *manifest.Object, view views.Service) *views.ShippedService {
	v, err := o.Value()
	r.fail(err)
	own := map[string]string{}
	if view.ServingCert != "" {
		own[servingServiceCA] = view.ServingCert
	}
	meta, _ := v["metadata"].(map[string]any)
	labels := olm.Texts(meta["labels"])
	out := &views.ShippedService{Labels: underlay(labels, view.Labels()),
		Annotations: underlay(olm.Texts(meta["annotations"]), own), Spec: serviceSpec(view)}
	if r.names.withoutOLM() { // the labels are not OLM's to set
		out.Labels = underlay(view.Labels(), labels)
	}
	spec, _ := v["spec"].(map[string]any)
	if spec == nil {
		return out
	}
	port := func(x any) string { // by which the API server tells ports apart
		p, _ := x.(map[string]any)
		protocol, ok := p["protocol"]
		if !ok {
			protocol = corev1.ProtocolTCP
		}
		return fmt.Sprint(p["port"], "/", protocol)
	}
	ports, _ := spec["ports"].([]any)
	for _, g := range out.Spec["ports"].([]any) {
		i := slices.IndexFunc(ports, func(p any) bool { return port(g) == port(p) })
		if i < 0 {
			ports = append(ports, g)
			continue
		}
		maps.Copy(ports[i].(map[string]any), g.(map[string]any))
	}
	spec["ports"] = ports
	if s, ok := out.Spec["selector"]; ok {
		spec["selector"] = s
	}
	out.Spec = spec
	r.merged[o] = true
	return out
}

// delegation binds the rights that an extension API server needs to ask who its caller is.
func (r *rendering) delegation(s *serving) {
	subjects := r.subject(s.account)
	id := Object{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding", Name: r.names.delegator(s)}
	r.author("clusterrolebinding.yaml", id,
		views.Binding{Ownership: r.names.owned(), Name: id.Name, Role: "system:auth-delegator",
			Subjects: subjects})
	id.Kind, id.Namespace, id.Name = "RoleBinding", "kube-system", s.service+"-auth-reader"
	if !r.names.olm() {
		id.Name = r.names.clusterName(id.Name)
	}
	r.author("rolebinding.yaml", id,
		views.Binding{Ownership: r.names.managed(), Name: id.Name, Namespace: id.Namespace,
			Role: "extension-apiserver-authentication-reader", Subjects: subjects})
}

// certVolumes are the two volumes that OLM adds to a Deployment that serves, with their mount path in every container.
var certVolumes = []struct{ name, cert, key, path string }{
	{"apiservice-cert", "apiserver.crt", "apiserver.key", "/apiserver.local.config/certificates"},
	{"webhook-cert", "tls.crt", "tls.key", "/tmp/k8s-webhook-server/serving-certs"},
}

// mountCertificates adds the certificate to a pod: a volume replaces one of its name; a mount of that name stays as it
// is, one of that path is replaced.
func mountCertificates(pod *corev1.PodSpec, account, secret string) {
	pod.ServiceAccountName = account
	for _, c := range certVolumes {
		volume := corev1.Volume{Name: c.name,
			VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret,
				Items: []corev1.KeyToPath{{Key: "tls.crt", Path: c.cert}, {Key: "tls.key", Path: c.key}}}}}
		if i := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == c.name }); i >= 0 {
			pod.Volumes[i] = volume
		} else {
			pod.Volumes = append(pod.Volumes, volume)
		}
		for i := range pod.Containers {
			mount(&pod.Containers[i], corev1.VolumeMount{Name: c.name, MountPath: c.path})
		}
	}
}

func mount(c *corev1.Container, m corev1.VolumeMount) {
	for i, have := range c.VolumeMounts {
		if have.Name == m.Name {
			return
		}
		if have.MountPath == m.MountPath {
			c.VolumeMounts[i] = m
			return
		}
	}
	c.VolumeMounts = append(c.VolumeMounts, m)
}
