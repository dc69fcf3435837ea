package adopt

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/base/jsontype"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/manifest"
)

func (v *verifier) effects(c *Compared, live, rendered map[string]any) {
	object := c.object
	c.Immutable = unions(c.Changes)
	for _, x := range c.Changes {
		// a manifest has these as a whole: what only the cluster has of them is a change
		complete := strings.HasPrefix(x.Field, "spec.selector") || strings.HasPrefix(x.Field, "roleRef")
		if olm.Immutable(manifest.GroupOf(object.APIVersion), object.Kind, x.Field) && (x.Applied || complete) {
			c.Immutable = append(c.Immutable, x.Field)
		}
	}
	switch object.Kind {
	case "Deployment":
		for _, x := range c.Changes {
			stopped := x.Field == "spec.replicas" && x.Cluster == "0"
			switch {
			case !x.Applied:
			case strings.HasPrefix(x.Field, "spec.template"), stopped:
				c.Restarts = append(c.Restarts, x.Field)
			case strings.HasPrefix(x.Field, "spec.strategy") && recreates(rendered) && !recreates(live):
				c.Immutable = append(c.Immutable, x.Field)
			}
		}
	case "ClusterServiceVersion":
		if _, copied := object.Copied(); copied {
			return
		}
		for _, x := range c.Changes {
			pods := strings.HasPrefix(x.Field, "spec.install.spec.deployments") ||
				strings.HasPrefix(x.Field, "metadata.annotations")
			if pods && x.Applied && !strings.HasSuffix(x.Field, "].spec.replicas") { // OLM writes both into the pods
				c.Restarts = append(c.Restarts, x.Field)
			}
		}
	case crdKind:
		stored, _ := olm.StoredVersions(manifest.New(object.Value()))
		if len(olm.DroppedVersions(stored, manifest.New(rendered))) > 0 {
			c.Immutable = append(c.Immutable, "spec.versions")
		}
	case "Role", "ClusterRole":
		c.Loses = lostRules(live, rendered)
	case "RoleBinding", "ClusterRoleBinding":
		c.Loses = lostSubjects(live, rendered)
	}
}

// recreates reports whether the strategy of a Deployment is Recreate. It has no rollingUpdate, and applying leaves the
// one that the API server sets by default for another strategy (k8s.io/kubernetes: pkg/apis/apps/validation).
func recreates(deployment map[string]any) bool {
	return normalize.At(deployment, "spec", "strategy")["type"] == string(appsv1.RecreateDeploymentStrategyType)
}

// unionMembers are the fields of which the API server takes one only: server-side apply adds the rendered one, and
// leaves the one of the cluster (k8s.io/kubernetes: pkg/apis/core/validation, pkg/apis/admissionregistration).
var unionMembers = [][]string{{"service", "url"}, {"value", "valueFrom"}, fieldsOf[corev1.EnvVarSource](),
	fieldsOf[corev1.ProbeHandler](), fieldsOf[corev1.LifecycleHandler](), fieldsOf[corev1.VolumeSource]()}

func fieldsOf[T any]() []string { return lists.Keys(jsontype.Fields(reflect.TypeFor[T]())) }

// unions returns the rendered members of unions of which the cluster has another member.
func unions(changes []Change) (fields []string) {
	live := map[string][]string{} // members that only the cluster has, by parent
	for _, x := range changes {
		if parent, member := parentOf(x.Field); x.Rendered == "" {
			live[parent] = append(live[parent], member)
		}
	}
	for _, added := range changes {
		parent, member := parentOf(added.Field)
		for _, union := range unionMembers {
			other := func(m string) bool { return slices.Contains(union, m) }
			if added.Cluster == "" && slices.Contains(union, member) && slices.ContainsFunc(live[parent], other) {
				fields = append(fields, added.Field)
			}
		}
	}
	return fields
}

func parentOf(field string) (parent, member string) {
	i := strings.LastIndex(field, ".")
	return field[:max(i, 0)], field[i+1:]
}

// lostRules returns the rights of a role that the rendered one does not grant, by rules or by a label that aggregates.
func lostRules(live, rendered map[string]any) (lost []string) {
	if live["aggregationRule"] == nil {
		held := &rbac.Index[bool]{}
		for _, a := range atoms(rendered) {
			held.Add(a, true)
		}
		lost = lists.Map(rbac.Rules(lists.Filter(atoms(live), func(a rbac.Atom) bool {
			ok, _ := held.Covers(a)
			return !ok
		})), rbac.RuleText)
	}
	a, b := normalize.At(live, "metadata", "labels"), normalize.At(rendered, "metadata", "labels")
	for k, x := range a {
		if y, ok := b[k]; strings.Contains(k, "aggregate-to-") && ok && y != x && x == "true" {
			lost = append(lost, "its place in the roles that select label "+k)
		}
	}
	return lost
}

func atoms(role map[string]any) (list []rbac.Atom) {
	var rules []rbacv1.PolicyRule
	_ = manifest.New(spelled(role)).Field(&rules, "rules") // of another form: no rights
	for _, r := range rules {
		list = append(list, rbac.Atoms(r)...)
	}
	return list
}

// lostSubjects returns the subjects that a binding in the cluster has and the rendered one has not.
func lostSubjects(live, rendered map[string]any) (lost []string) {
	rights := func(m map[string]any) string {
		ns, _ := m["namespace"].(string)
		return fmt.Sprint("the rights of ", m["kind"], " ", strings.TrimPrefix(fmt.Sprint(ns, "/", m["name"]), "/"))
	}
	kept := lists.Set(normalize.List(rendered, "subjects"), rights)
	return lists.Filter(lists.Map(normalize.List(live, "subjects"), rights), func(s string) bool { return !kept[s] })
}

// writers of fields that are OLM's own, or the API server's.
var olmManagers = []string{"olm", "olm.install", "catalog", "operator-lifecycle-manager", "kube-controller-manager",
	"kube-apiserver", "Go-http-client"}

// writer returns who wrote a field last, if that is not OLM, and whether through the subresource scale; "" if it is
// unknown.
func writer(managed []dump.Managed, field string) (by string, scaled bool) {
	path := decoded.Segments(field)
	var newest dump.Managed
	for _, m := range managed {
		if owns(m.Fields, path) && m.Time >= newest.Time { // RFC 3339 in UTC: the order of the text is that of time
			newest = m
		}
	}
	scaled = newest.Through == "scale" && field == "spec.replicas"
	if slices.Contains(olmManagers, newest.Manager) && !scaled {
		return "", false
	}
	return strings.TrimSpace(newest.Manager + " " + newest.Time), scaled
}

// scaled reports whether the replicas of a Deployment are those that an autoscaler, or a person, has written through
// the subresource scale. OLM leaves them (OLM: its hash of the spec is that of the bundle), and so does a plan.
func scaled(o *dump.Object) bool {
	_, is := writer(o.ManagedFields(), "spec.replicas")
	return is
}

// owns reports whether a set of fields has a path, or something below it.
func owns(fields map[string]any, path []string) bool {
	if len(path) == 0 {
		return true
	}
	if next, ok := fields["f:"+path[0]].(map[string]any); ok {
		return len(next) == 0 || owns(next, path[1:])
	}
	for k, x := range fields { // an item of a list: k:{"name":"manager"}
		if strings.HasPrefix(k, "k:") && strings.Contains(k, `"`+path[0]+`"`) {
			next, _ := x.(map[string]any)
			return owns(next, path[1:])
		}
	}
	return false
}

// installedAlongside begins the fields in which OLM keeps which ClusterServiceVersions have installed a CRD.
const installedAlongside = `metadata.annotations["` + olm.AnnotationAlongside

const hashLabel = `metadata.labels["` + olm.LabelSpecHash + `"]`

func (v *verifier) reason(c *Compared, live, rendered map[string]any) string {
	object := c.object
	if v.withoutCSV {
		return newForm
	}
	a, b := normalize.At(live, "metadata", "labels"), normalize.At(rendered, "metadata", "labels")
	only := func(field string) bool {
		return !slices.ContainsFunc(c.Changes, func(x Change) bool { return !strings.HasPrefix(x.Field, field) })
	}
	switch {
	case only(hashLabel):
		return "older OLM: it hashed the same spec to another value (before " +
			versions.Since(versions.OLM, versions.HashedDeployments) + ")"
	case only(`metadata.labels["`+olm.LabelManaged+`"]`) && a[olm.LabelManaged] == nil && b[olm.LabelManaged] != nil:
		return "older OLM, which did not set the label, or edited by hand"
	case object.Labels[olm.LabelSpecHash] != "" && object.Labels[olm.LabelSpecHash] == b[olm.LabelSpecHash]:
		return "edited by hand: the hash that OLM left says that it wrote what is rendered"
	case object.Kind == "Deployment" && v.csvDiffers(object):
		return "the ClusterServiceVersion differs too: another bundle, or edited by hand"
	case object.Kind == "Deployment" && v.configured(v.owner(object)):
		csv := v.owner(object)
		for _, o := range v.installed {
			if failure := o.failure(); o.Object == csv && failure != nil {
				return "OLM fails to roll out the config of the Subscription: " + oneLine(failure.Message)
			}
		}
		return "OLM has not rolled out the config of the Subscription, or edited by hand"
	case only(installedAlongside):
		return "OLM keeps that an earlier version, or another operator, has installed it"
	case only("spec.versions") && object.Kind == "CustomResourceDefinition":
		return "another version of the operator has written it, or edited by hand"
	}
	return byHand
}

// The reasons of what OLM did not write, and of what another form has otherwise.
const byHand, newForm = "edited by hand, or by another controller", "the new form differs from OLM's"

// owner returns the CSV of a Deployment; nil if the dump has none.
func (v *verifier) owner(deployment *dump.Object) *dump.Object {
	name := deployment.Labels[olm.LabelOwner]
	for _, o := range deployment.Owners {
		if o.Kind == v1alpha1.ClusterServiceVersionKind {
			name = cmp.Or(name, o.Name)
		}
	}
	return v.Dump.Get(v1alpha1.ClusterServiceVersionKind, deployment.Namespace, name)
}

// csvDiffers reports whether the owner of a Deployment is not the rendered one.
func (v *verifier) csvDiffers(object *dump.Object) bool {
	csv := v.owner(object)
	if csv == nil {
		return true
	}
	rendered := v.rendered[csv.Key()]
	return rendered == nil || v.pair(csv, rendered).Verdict == Differs
}

// configured reports whether the Subscription of a CSV has a config, which OLM writes into the pods.
func (v *verifier) configured(csv *dump.Object) bool {
	sub := v.subscriptionOf(csv)
	return sub != nil && sub.Spec.Config != nil
}

// certificate looks whether the CA that an object points to is the one that the pods were started with.
func (v *verifier) certificate(object *dump.Object, live map[string]any) string {
	var clients []map[string]any
	switch object.Kind {
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		clients = lists.Map(normalize.List(live, "webhooks"), func(m map[string]any) map[string]any {
			return normalize.At(m, "clientConfig")
		})
	case "APIService":
		clients = append(clients, normalize.At(live, "spec"))
	case "CustomResourceDefinition":
		clients = append(clients, normalize.At(live, "spec", "conversion", "webhook", "clientConfig"))
	}
	for _, c := range clients {
		bundle, _ := c["caBundle"].(string)
		service := normalize.At(c, "service")
		name, _ := service["name"].(string)
		ns, _ := service["namespace"].(string)
		d := v.Dump.Get("Deployment", ns, strings.TrimSuffix(name, "-service"))
		if bundle == "" || !strings.HasSuffix(name, "-service") || d == nil {
			continue
		}
		pem, err := base64.StdEncoding.DecodeString(bundle)
		sum := sha256.Sum256(pem)
		hash := normalize.At(d.Value(), "spec", "template", "metadata", "annotations")["olmcahash"]
		if err == nil && hash != nil && hash != hex.EncodeToString(sum[:]) {
			return "rotated certificate: its caBundle is not of the CA that the pods of " + d.Identity() +
				" were started with"
		}
		if at := v.rotated(d); at != "" {
			return "rotated certificate: OLM made the CA anew, and restarted the pods of " + d.Identity() + ", at " + at
		}
	}
	return ""
}

// rotated returns when OLM made the certificate of a Deployment anew, as far as the conditions of its CSV reach back.
func (v *verifier) rotated(d *dump.Object) string {
	csv := v.owner(d)
	if csv == nil {
		return ""
	}
	status := normalize.At(csv.Value(), "status")
	for _, c := range normalize.List(status, "conditions") {
		switch v1alpha1.ConditionReason(fmt.Sprint(c["reason"])) {
		case v1alpha1.CSVReasonNeedsCertRotation, v1alpha1.CSVReasonAPIServiceResourcesNeedReinstall:
			at, _ := status["certsLastUpdated"].(string)
			return at
		}
	}
	return ""
}
