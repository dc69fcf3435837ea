package fit

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate/olmv1"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/manifest"
)

func minor(n uint64) string { return fmt.Sprintf("1.%d", n) }

// MaxOpenShift returns the newest release of OpenShift that an operator allows, by its properties; empty if it allows
// all. The error is that of OLM, which then holds back every upgrade (OLM:
// pkg/controller/operators/openshift/helpers.go, maxOpenShiftVersion).
func (o Operator) MaxOpenShift() (string, error) {
	if o.unread != nil {
		return "", fmt.Errorf("the annotation %s is not JSON: %w", olm.AnnotationProperties, o.unread)
	}
	var list []string
	for _, p := range o.Properties {
		if p.Type == olm.PropertyMaxOpenShift {
			list = append(list, text.OneLine(strings.Trim(textOf(p.Value), `"`)))
		}
	}
	switch {
	case len(list) == 0:
		return "", nil
	case len(list) > 1:
		return "", fmt.Errorf("the property %s is there %d times", olm.PropertyMaxOpenShift, len(list))
	case list[0] == "":
		return "", fmt.Errorf("the property %s is empty", olm.PropertyMaxOpenShift)
	}
	v, err := semver.ParseTolerant(list[0])
	if err != nil || !v.EQ(semver.Version{Major: v.Major, Minor: v.Minor}) {
		return list[0], fmt.Errorf("the property %s, %s, is not a version such as 4.20", olm.PropertyMaxOpenShift,
			text.Brief(list[0]))
	}
	return fmt.Sprintf("%d.%d", v.Major, v.Minor), nil
}

func (q *question) openShift() {
	if q.OpenShift == nil {
		if q.form == Plain {
			q.list = append(q.list, Lost(q.Operator, "an operator without OLM")...)
		}
		return
	}
	level, holds := findings.Error, "holds back the upgrade of the cluster to "+q.OpenShift.String()
	if q.form == Plain {
		level, holds = findings.Warning, "is not for "+q.OpenShift.String()
	}
	newest, err := q.MaxOpenShift()
	if err != nil {
		q.maxOpenShift(level, fmt.Sprintf("the operator %s: %v", holds, err), "")
		return
	}
	if newest == "" {
		return
	}
	if v, err := semver.ParseTolerant(newest); err == nil && q.OpenShift.Newer(v) {
		q.maxOpenShift(level, fmt.Sprintf("the operator %s: its %s is %s", holds, olm.PropertyMaxOpenShift,
			newest), "update the operator before the cluster")
	}
}

// maxOpenShift adds a finding where the property stands.
func (q *question) maxOpenShift(level findings.Severity, message, hint string) {
	q.add(RuleOpenShift, level, "", message, hint)
	at := lists.Find(q.Properties, func(p bundle.Property) bool { return p.Type == olm.PropertyMaxOpenShift })
	if f := &q.list[len(q.list)-1]; at.File != "" {
		f.File, f.Line = at.File, at.Line
	}
}

// Unread returns a finding if OLM cannot read the newest release of OpenShift that an operator allows.
func Unread(o Operator) []findings.Finding {
	q := &question{Operator: o}
	if _, err := o.MaxOpenShift(); err != nil {
		q.maxOpenShift(findings.Warning, fmt.Sprintf("OLM holds back each upgrade of OpenShift: %v", err), "")
		q.list[0].Object = ""
	}
	return q.list
}

// Lost returns the properties that guard a cluster, and that nobody reads in a form without OLM.
func Lost(o Operator, form string) []findings.Finding {
	q := &question{Operator: o}
	newest, err := o.MaxOpenShift()
	if newest == "" && err == nil {
		return nil
	}
	q.maxOpenShift(findings.Warning, fmt.Sprintf("nobody reads the property %s %s of %s: nothing holds back "+
		"the upgrade of OpenShift to a newer release", olm.PropertyMaxOpenShift, cmp.Or(newest, "(broken)"), form),
		"look at it before the cluster is upgraded, or install the operator by OLM")
	return q.list
}

// MinKube returns why the cluster does not have the version of Kubernetes that spec.minKubeVersion asks for; empty if
// it has, or if its version is not known. Of OpenShift, only the minor version is known. The error is that of OLM v0,
// which takes no version of two numbers and then installs the operator nowhere (OLM:
// pkg/controller/operators/olm/requirements.go, minKubeVersionStatus).
func (c Cluster) MinKube(least string) (unmet string, err error) {
	if least == "" {
		return "", nil
	}
	want, err := semver.Parse(strings.TrimPrefix(least, "v"))
	if err != nil {
		return "", fmt.Errorf("%q is not a version such as 1.30.0", least)
	}
	switch has := c.Kubernetes(); {
	case c.Kube != nil && want.GT(*c.Kube):
		return fmt.Sprintf("it needs Kubernetes %s, and the cluster has %s", least, c.Kube), nil
	case c.Kube == nil && has != nil && (want.Major > has.Major || want.Minor > has.Minor):
		return fmt.Sprintf("it needs Kubernetes %s, and the cluster has %s (%s)", least, minor(has.Minor),
			c.OpenShift), nil
	}
	return "", nil
}

// minKube reports an operator for a newer Kubernetes. Only OLM v0 asks.
func (q *question) minKube() {
	const field = "spec.minKubeVersion"
	unmet, err := q.MinKube(q.CSV.Spec.MinKubeVersion)
	switch {
	case q.form == OLMv0 && err != nil:
		q.add(RuleMinKube, findings.Error, field, "OLM does not install it: its minKubeVersion "+err.Error(), "")
	case q.form == OLMv0 && unmet != "":
		q.add(RuleMinKube, findings.Error, field, "OLM does not install it: "+unmet,
			"update the cluster before the operator")
	case unmet != "":
		q.add(RuleMinKube, findings.Warning, field, unmet, "")
	case q.form != OLMv0 && q.Kubernetes() == nil: // nobody asks, and a known release of OpenShift has an older one
		least := q.CSV.Spec.MinKubeVersion
		want, err := semver.Parse(strings.TrimPrefix(least, "v"))
		older := versions.Where(func(r versions.Release) bool { return r.Kubernetes() < want.Minor },
			versions.OpenShift)
		if err == nil && older != "" {
			q.add(RuleMinKube, findings.Warning, field, fmt.Sprintf("%s does not ask for Kubernetes %s, and an older "+
				"one is in %s", q.form.has(), least, older), "")
		}
	}
}

func (q *question) kubernetes() {
	kube := q.kube()
	if kube == 0 {
		return
	}
	q.list = append(q.list, Removed(q.Shipped, q.Cluster)...)
	for _, r := range q.held() {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				plural, _, _ := strings.Cut(resource, "/")
				if until := versions.ResourceRemoved(group, plural); until != 0 && until <= kube {
					q.at(q.holding(r.object), RuleAsked, findings.Note, r.field(), fmt.Sprintf("account %s asks for "+
						"%s.%s, which Kubernetes %s "+
						"and later do not serve", r.account, plural, group, minor(until)), "")
				}
			}
		}
	}
}

// Removed returns the objects whose APIs the Kubernetes of a cluster does not serve.
func Removed(objects []*manifest.Object, c Cluster) []findings.Finding {
	q, kube := &question{}, c.kube()
	if kube == 0 {
		return nil
	}
	for _, o := range objects {
		if why := versions.Unserved(install.APIVersionOf(o), o.Kind, kube); why != "" {
			q.at(o, RuleRemoved, findings.Error, "apiVersion", fmt.Sprintf("Kubernetes %s %s, and the cluster has %s",
				why, install.APIVersionOf(o), minor(kube)), "")
		}
	}
	return q.list
}

// Objects returns the objects that a cluster does not serve, or does not take.
func Objects(objects []*manifest.Object, c Cluster) []findings.Finding {
	return append(Removed(objects, c), TooLarge(objects)...)
}

// maxBytes is what etcd takes in one request (etcd: --max-request-bytes).
const maxBytes = 3 << 19

func (q *question) sizes() {
	objects := q.Shipped
	if q.form == OLMv0 && q.Object != nil {
		objects = append([]*manifest.Object{q.Object}, objects...)
	}
	q.list = append(q.list, TooLarge(objects)...)
}

// TooLarge returns the objects that are larger than what etcd takes.
func TooLarge(objects []*manifest.Object) []findings.Finding {
	q := &question{}
	for _, o := range objects {
		raw := o.Raw()
		if len(raw) <= maxBytes/2 || budget.AsJSON(raw) <= maxBytes { // JSON does not double a text
			continue
		}
		value, err := o.Value()
		if err != nil {
			continue // whoever renders it says so
		}
		data, err := json.Marshal(value)
		if err == nil && len(data) > maxBytes {
			q.at(o, RuleSize, findings.Error, "", fmt.Sprintf("the object has %.1f MiB as JSON, and etcd takes 1.5 MiB",
				float64(len(data))/(1<<20)), "")
		}
	}
	return q.list
}

// phaseKinds are the kinds in each phase, in the order of OLM v1; all others are in the phase deploy
// (operator-controller v1.11: internal/operator-controller/applier/phase.go).
var phaseKinds = []struct {
	phase string
	kinds []string // of the objects that a bundle may have, and of what OLM v1 makes
}{
	{"namespaces", []string{"Namespace"}},
	{"policies", []string{"NetworkPolicy", "PodDisruptionBudget", "PriorityClass"}},
	{"identity", []string{"ServiceAccount"}},
	{"configuration", []string{"Secret", "ConfigMap"}},
	{"storage", []string{"PersistentVolume", "PersistentVolumeClaim", "StorageClass"}},
	{"crds", []string{"CustomResourceDefinition"}},
	{"roles", []string{"ClusterRole", "Role"}},
	{"bindings", []string{"ClusterRoleBinding", "RoleBinding"}},
	{"infrastructure", []string{"Service", "Issuer", "Certificate"}},
	{"scaling", []string{"VerticalPodAutoscaler"}},
	{"publish", []string{"PrometheusRule", "ServiceMonitor", "PodMonitor", "Ingress", "Route", "ConsoleYAMLSample",
		"ConsoleQuickStart", "ConsoleCLIDownload", "ConsoleLink", "ConsolePlugin"}},
	{"admission", []string{"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"}},
}

func phaseOf(kind string) string {
	for _, p := range phaseKinds {
		if slices.Contains(p.kinds, kind) {
			return p.phase
		}
	}
	return "deploy"
}

// phases reports phases with more objects than OLM v1 takes. Only its Boxcutter runtime has phases.
func (q *question) phases() {
	if !q.renders() {
		return
	}
	for _, r := range q.Controllers() {
		kind, limit := phaseLimit(r)
		if limit == 0 || q.atMost() <= limit {
			continue
		}
		counts := map[string]int{}
		objects, _ := q.rendered(r) // none if the renderer of the release refuses the bundle
		for _, x := range objects {
			counts[phaseOf(x.Kind)]++
		}
		for _, phase := range slices.Sorted(maps.Keys(counts)) {
			if n := counts[phase]; n > limit {
				q.add(RulePhases, findings.Warning, "", fmt.Sprintf("%d objects are in the phase %s, and a %s of %s "+
					"takes %d: with the feature gate BoxcutterRuntime it is not installed", n, phase, kind, r,
					limit), "")
			}
		}
	}
}

// phaseLimit returns how many objects a phase may have in a release of OLM v1, and the kind that says so; 0 if there is
// no limit. There are fewer phases than a release takes.
func phaseLimit(r versions.Release) (kind string, limit int) {
	for _, kind := range []string{"ClusterObjectSet", "ClusterExtensionRevision"} {
		if _, fact := r.State(kind, "spec.phases[].objects", versions.Experimental); fact.Limit > 0 {
			return kind, fact.Limit
		}
	}
	return "", 0
}

// atMost returns a number that the objects of the operator in one phase cannot exceed: OLM v1 makes a role, a binding
// and an account for a permission, a Service, an Issuer and two Certificates at most for a Deployment.
func (q *question) atMost() int {
	spec := q.CSV.Spec.InstallStrategy.StrategySpec
	permissions, deployments := len(spec.Permissions)+len(spec.ClusterPermissions), len(spec.DeploymentSpecs)
	inPhase := map[string]int{"roles": permissions, "bindings": permissions, "identity": permissions,
		"deploy": deployments, "infrastructure": 4 * deployments, "admission": len(q.CSV.Spec.WebhookDefinitions)}
	for _, o := range q.Shipped {
		inPhase[phaseOf(o.Kind)]++
	}
	return slices.Max(slices.Collect(maps.Values(inPhase)))
}

// renders reports whether OLM v1 renders the bundle, and all of it is known.
func (q *question) renders() bool { return q.form == OLMv1 && q.Bundle != nil && !q.Bundle.Partial }

func (q *question) rendered(r versions.Release) ([]olmv1.Object, error) {
	o := olmv1.Options{Namespace: cmp.Or(q.Namespace, "default"), Certs: olmv1.CertManager, Release: r.Number()}
	if !olm.Supports(q.CSV.Spec.InstallModes, v1alpha1.InstallModeTypeAllNamespaces) {
		o.TargetNamespaces = []string{o.Namespace}
	}
	return olmv1.Render(q.Bundle, o)
}

// renderer reports a bundle without the name of its package, and one that the renderer of a release fails at, and that
// of a newer one does not.
func (q *question) renderer() {
	if !q.renders() {
		return
	}
	if q.Bundle.Annotations[olm.BundlePackage] == "" {
		q.add(RuleRenderer, findings.Error, "", "package name is empty", "write "+olm.BundlePackage+
			" into metadata/annotations.yaml")
		return
	}
	for _, r := range q.Controllers() {
		q.longNames(r)
		_, asIs := r.Does(versions.WritesAsIs)
		_, annotates := r.Does(versions.AnnotatesAny)
		if asIs && annotates {
			continue
		}
		_, err := q.rendered(r)
		if failed, ok := errors.AsType[*olmv1.ReleaseError](err); ok {
			q.add(RuleRenderer, findings.Error, "", failed.Error(), "")
		}
	}
}

// longNames warns of certificates with a common name that cert-manager refuses: OLM v1 makes it of the Service and the
// namespace (cert-manager: internal/apis/certmanager/validation/certificate.go).
func (q *question) longNames(r versions.Release) {
	const longest = 64
	if r.Product == versions.OpenShift { // it has a service CA
		return
	}
	for _, w := range q.CSV.Spec.WebhookDefinitions {
		name := olm.ServiceName(w.DeploymentName) + "." + cmp.Or(q.Namespace, "default")
		if len(name) > longest {
			q.add(RuleRenderer, findings.Warning, "spec.webhookdefinitions", fmt.Sprintf("OLM v1 cannot install it "+
				"with cert-manager, which refuses the common name %s: it has %d characters, and %d are allowed", name,
				len(name), longest), "choose a shorter namespace")
			return
		}
	}
}
