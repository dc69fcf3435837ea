package olm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
)

// The policies of Open Cluster Management.
const (
	GroupPolicy        = "policy.open-cluster-management.io"
	KindOperatorPolicy = "OperatorPolicy"
	KindPolicy         = "Policy"
)

// OperatorPolicy is an OperatorPolicy (policy.open-cluster-management.io/v1beta1) as its controller reads it
// (open-cluster-management-io/config-policy-controller: controllers/operatorpolicy_controller.go, buildResources).
type OperatorPolicy struct {
	Object *manifest.Object // the OperatorPolicy; that of a Policy has the lines of its objectDefinition
	Within *manifest.Object // the object of the file: the OperatorPolicy itself, or the Policy that has it
	Path   string           // of the OperatorPolicy in Within, such as spec.policy-templates[0].objectDefinition

	Enforced  bool     // remediationAction: that of a Policy counts before its own
	Disabled  bool     // the Policy is
	Automatic bool     // upgradeApproval
	Versions  []string // names of ClusterServiceVersions; empty: all

	Package, Namespace, Channel, Source, SourceNamespace, StartingCSV string // of the Subscription; may be empty

	Template string            // a field with a {{ template }}; empty if there is none
	Faults   []*manifest.Error // why the API server or the controller refuses it

	// What becomes of it in a cluster.
	Unknown  string             // why nobody can say what it makes or removes; empty if it is known
	Mismatch string             // what the controller says of the OperatorGroups of its namespace; empty if they fit
	Held     bool               // there is no Subscription, and for the Mismatch it makes none
	Removed  []*manifest.Object // what it has deleted

	idle                string          // why it installs nothing, whatever its templates are; empty if it may
	absent              bool            // it is enforced, if its templates let it, and deletes what it names
	removal             removalBehavior // with the defaults
	subscription, group map[string]any  // group is nil if the policy names none
}

// removalBehavior is spec.removalBehavior (api/v1beta1/operatorpolicy_types.go, ApplyDefaults).
type removalBehavior struct {
	OperatorGroups string `json:"operatorGroups"`
	Subscriptions  string `json:"subscriptions"`
	CSVs           string `json:"clusterServiceVersions"`
	CRDs           string `json:"customResourceDefinitions"`
}

const removalKeep, removalDelete, removalUnused = "Keep", "Delete", "DeleteIfUnused"

func (b removalBehavior) withDefaults() removalBehavior {
	return removalBehavior{cmp.Or(b.OperatorGroups, removalUnused), cmp.Or(b.Subscriptions, removalDelete),
		cmp.Or(b.CSVs, removalDelete), cmp.Or(b.CRDs, removalKeep)}
}

// OperatorPolicies returns the OperatorPolicies among objects, alone and in the policy-templates of Policies.
func OperatorPolicies(objects []*manifest.Object) (list []*OperatorPolicy) {
	for _, o := range objects {
		switch {
		case o.Group() != GroupPolicy:
		case o.Kind == KindOperatorPolicy:
			list = append(list, readOperatorPolicy(&OperatorPolicy{Object: o, Within: o}, ""))
		case o.Kind == KindPolicy:
			for _, t := range policyTemplates(o, KindOperatorPolicy) {
				version := Text(t.value["apiVersion"])
				if !strings.HasPrefix(version, GroupPolicy+"/") {
					continue
				}
				p := &OperatorPolicy{Object: o.Derive(t.value, t.place), Within: o, Path: t.at, Disabled: t.disabled}
				list = append(list, readOperatorPolicy(p, t.action))
			}
		}
	}
	return list
}

// operatorPolicySpec has the fields of an OperatorPolicy (api/v1beta1/operatorpolicy_types.go).
type operatorPolicySpec struct {
	APIVersion any `json:"apiVersion"`
	Kind       any `json:"kind"`
	Metadata   any `json:"metadata"`
	Status     any `json:"status"`
	Spec       struct {
		Severity          any             `json:"severity"`
		RemovalBehavior   removalBehavior `json:"removalBehavior"`
		ComplianceConfig  any             `json:"complianceConfig"`
		RemediationAction string          `json:"remediationAction"`
		ComplianceType    string          `json:"complianceType"`
		UpgradeApproval   string          `json:"upgradeApproval"`
		Versions          []string        `json:"versions"`
		Subscription      map[string]any  `json:"subscription"`
		OperatorGroup     map[string]any  `json:"operatorGroup"`
	} `json:"spec"`
}

// readOperatorPolicy fills in what the fields say. override is the remediationAction of the Policy.
func readOperatorPolicy(p *OperatorPolicy, override string) *OperatorPolicy {
	var o operatorPolicySpec
	unknown, err := p.Object.Into(&o)
	if err != nil {
		p.Faults = append(p.Faults, p.Object.AsError(err))
		return p
	}
	action := overridden(o.Spec.RemediationAction, override)
	p.Enforced = strings.EqualFold(action, "enforce")
	p.Automatic = o.Spec.UpgradeApproval == "Automatic"
	for _, entry := range o.Spec.Versions {
		for version := range strings.SplitSeq(entry, ",") {
			if version = strings.TrimSpace(version); version != "" {
				p.Versions = append(p.Versions, version)
			}
		}
	}
	// numbers stay what they are in the file
	sub, group := Get(p.Object, "spec", "subscription"), Get(p.Object, "spec", "operatorGroup")
	p.subscription, p.group = Mapping(sub), Mapping(group)
	for field, to := range map[string]*string{"name": &p.Package, "namespace": &p.Namespace, "channel": &p.Channel,
		"source": &p.Source, "sourceNamespace": &p.SourceNamespace, "startingCSV": &p.StartingCSV} {
		*to, _ = p.subscription[field].(string)
	}
	enforced, absent := p.Enforced || strings.Contains(action, "{{"), o.Spec.ComplianceType == "mustnothave"
	p.absent, p.removal = enforced && absent && !p.Disabled, o.Spec.RemovalBehavior.withDefaults()
	switch {
	case p.Disabled:
		p.idle = "its Policy is disabled"
	case absent:
		p.idle = "its complianceType is mustnothave"
	case !enforced:
		p.idle = "its remediationAction is inform"
	}
	for _, f := range []struct {
		field string
		value any
	}{{"remediationAction", action}, {"complianceType", o.Spec.ComplianceType}, {"subscription", sub},
		{"operatorGroup", group}, {"versions", text.Values(o.Spec.Versions)}} {
		if p.Template == "" {
			p.Template = templated("spec."+f.field, f.value)
		}
	}
	if p.Template == "" {
		p.check(&o, unknown)
	}
	return p
}

// templated returns the first field below a value that has a template.
func templated(field string, value any) string {
	return firstText(field, value, func(s string) bool { return strings.Contains(s, "{{") })
}

// Placeholder returns the first field of an object that has a text which another program replaces before the object is
// applied: a template, a variable, or what plugins of Argo CD find in angle brackets; "" if it has none.
func Placeholder(o *manifest.Object) string {
	value, err := o.Value()
	if err != nil {
		return ""
	}
	delete(value, "status")
	return strings.TrimPrefix(firstText("", value, func(s string) bool {
		s = strings.TrimSpace(s)
		return HasPlaceholder(s) || strings.HasPrefix(s, "$") && len(s) > 1 ||
			strings.HasPrefix(s, "<") && strings.HasSuffix(s, ">")
	}), ".")
}

// HasPlaceholder reports whether a text has a template or a variable in braces.
func HasPlaceholder(s string) bool { return strings.Contains(s, "{{") || strings.Contains(s, "${") }

// firstText returns the first field below a value whose text, or the key of one, is of a kind.
func firstText(field string, value any, is func(string) bool) string {
	switch value := value.(type) {
	case string:
		if is(value) {
			return field
		}
	case []any:
		for i, v := range value {
			if at := firstText(fmt.Sprintf("%s[%d]", field, i), v, is); at != "" {
				return at
			}
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(value)) {
			if is(k) {
				return field
			}
			if at := firstText(field+"."+k, value[k], is); at != "" {
				return at
			}
		}
	}
	return ""
}

// check finds why the API server or the controller refuses the policy.
func (p *OperatorPolicy) check(o *operatorPolicySpec, unknown []string) {
	refuse := func(field, tip, format string, args ...any) {
		p.Faults = append(p.Faults, p.Object.Errorf(field, format, args...).With(tip))
	}
	for _, field := range unknown {
		refuse(field, "", "an OperatorPolicy has no such field")
	}
	if t := o.Spec.ComplianceType; t != "musthave" && t != "mustnothave" {
		refuse("spec.complianceType", "", "must be musthave or mustnothave")
	}
	if a := o.Spec.UpgradeApproval; a != "None" && a != "Automatic" {
		refuse("spec.upgradeApproval", "", "must be None or Automatic")
	}
	for _, f := range []struct{ field, value, other string }{
		{"operatorGroups", p.removal.OperatorGroups, removalUnused},
		{"subscriptions", p.removal.Subscriptions, removalDelete},
		{"clusterServiceVersions", p.removal.CSVs, removalDelete},
		{"customResourceDefinitions", p.removal.CRDs, removalDelete},
	} {
		if f.value != removalKeep && f.value != f.other {
			refuse("spec.removalBehavior."+f.field, "", "must be %s or %s", removalKeep, f.other)
		}
	}
	const sub = "spec.subscription"
	if len(validation.IsDNS1123Label(p.Package)) > 0 {
		refuse(sub+".name", "", "must be the name of a package")
	}
	if ns, given := p.subscription["namespace"]; given && len(validation.IsDNS1123Label(p.Namespace)) > 0 {
		refuse(sub+".namespace", "", "%v is not the name of a namespace", ns)
	}
	if _, given := p.subscription["installPlanApproval"]; given {
		refuse(sub+".installPlanApproval", "say it in spec.upgradeApproval and spec.versions", "is prohibited")
	}
	if len(p.Faults) == 0 {
		p.refuseUnknown(p.Subscription(), sub)
	}
	if p.group == nil {
		return
	}
	if name, _ := p.group["name"].(string); name == "" {
		refuse("spec.operatorGroup.name", "", "is missing")
	}
	if ns, _ := p.group["namespace"].(string); ns != "" && p.Namespace != "" && ns != p.Namespace {
		refuse("spec.operatorGroup.namespace", "", "%s is not %s, the namespace of the Subscription", ns, p.Namespace)
	}
	if len(p.Faults) == 0 {
		p.refuseUnknown(p.OperatorGroup(), "spec.operatorGroup")
	}
}

// refuseUnknown adds the fields that an object of the policy does not have. The controller does not drop them.
func (p *OperatorPolicy) refuseUnknown(made *manifest.Object, at string) {
	for _, e := range UnknownFields(made) {
		e.Field, e.Msg = at+inSpec(e.Field), "the "+made.Kind+" has no such field"
		p.Faults = append(p.Faults, e)
	}
}

// Installs reports whether the controller makes a Subscription.
func (p *OperatorPolicy) Installs() bool {
	return p.idle == "" && p.Template == "" && len(p.Faults) == 0
}

// Idle returns why the policy installs nothing although the API server takes it, and what it deletes; empty if it
// installs something, or nobody knows.
func (p *OperatorPolicy) Idle() string {
	switch {
	case len(p.Faults) > 0:
		return ""
	case len(p.Removed) > 0:
		return p.idle + ", and it deletes " + text.And(lists.Map(p.Removed, (*manifest.Object).Identity))
	}
	return p.idle
}

// Deletes reports whether the controller deletes the objects of a kind with the operator.
func (p *OperatorPolicy) Deletes(kind string) bool {
	switch kind {
	case operatorsv1.OperatorGroupKind:
		return p.removal.OperatorGroups != removalKeep
	case v1alpha1.SubscriptionKind:
		return p.removal.Subscriptions != removalKeep
	case v1alpha1.ClusterServiceVersionKind:
		return p.removal.CSVs != removalKeep
	}
	return p.removal.CRDs != removalKeep
}

// Removes reports whether the controller deletes the operator.
func (p *OperatorPolicy) Removes() bool {
	return p.absent && p.Enforced && p.Template == "" && len(p.Faults) == 0
}

// Acts reports whether the controller makes or deletes something, and it is known what.
func (p *OperatorPolicy) Acts() bool { return (p.Installs() || p.Removes()) && p.Unknown == "" }

// Overlaps reports whether another policy manages the same Subscription: in one cluster, neither has an effect
// (checkSubOverlap).
func (p *OperatorPolicy) Overlaps(other *OperatorPolicy) bool {
	return p != other && p.Package == other.Package && p.Namespace == other.Namespace
}

// NamesGroup reports whether the policy says what its OperatorGroup is.
func (p *OperatorPolicy) NamesGroup() bool { return p.group != nil }

// Approves reports whether the controller approves an InstallPlan that has the Subscription install a
// ClusterServiceVersion, as far as that one goes (getApprovedCSVs). first: none is installed yet.
func (p *OperatorPolicy) Approves(csv string, first bool) bool {
	return p.Allows(csv) && (first || p.Automatic)
}

// Allows reports whether spec.versions allows a ClusterServiceVersion.
func (p *OperatorPolicy) Allows(csv string) bool {
	return len(p.Versions) == 0 || slices.Contains(p.Versions, csv) || p.StartingCSV == csv
}

// Subscription returns the Subscription that the controller makes. Its fields have the lines of spec.subscription.
func (p *OperatorPolicy) Subscription() *manifest.Object {
	spec := maps.Clone(p.subscription)
	delete(spec, "namespace")
	approval := v1alpha1.ApprovalManual
	if p.Automatic && len(p.Versions) == 0 {
		approval = v1alpha1.ApprovalAutomatic
	}
	spec["installPlanApproval"] = string(approval)
	for field, value := range map[string]string{"channel": p.Channel, "source": p.Source,
		"sourceNamespace": p.SourceNamespace} {
		if value != "" {
			spec[field] = value
		}
	}
	return p.derive(v1alpha1.SubscriptionCRDAPIVersion, v1alpha1.SubscriptionKind, p.Package, "spec.subscription", spec)
}

// OperatorGroup returns the OperatorGroup that the controller makes if its namespace has none. One that the policy does
// not name gets a name of the API server's, of which only the beginning is known.
func (p *OperatorPolicy) OperatorGroup() *manifest.Object {
	spec := maps.Clone(p.group)
	name, from := p.Namespace+"-generated", "spec.subscription"
	if spec == nil {
		spec = map[string]any{}
	} else {
		name, _ = spec["name"].(string)
		from = "spec.operatorGroup"
	}
	delete(spec, "name")
	delete(spec, "namespace")
	return p.derive(operatorsv1.SchemeGroupVersion.String(), operatorsv1.OperatorGroupKind, name, from, spec)
}

// derive returns an object that the controller makes of a field of the policy.
func (p *OperatorPolicy) derive(version, kind, name, from string, spec map[string]any) *manifest.Object {
	metadata := map[string]any{"name": name}
	if p.Namespace != "" {
		metadata["namespace"] = p.Namespace
	}
	object := map[string]any{"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
	return p.Object.Derive(object, func(field string) string {
		if field == "spec.installPlanApproval" {
			return "spec.upgradeApproval"
		}
		return from + inSpec(field)
	})
}

// inSpec returns where a field of an object is below its spec or name.
func inSpec(field string) string {
	for _, top := range []string{"spec", "metadata"} {
		if rest, ok := strings.CutPrefix(field, top); ok {
			return rest
		}
	}
	return ""
}

// Stands returns the Subscription that the policy stands for, made or not, or the policy itself if nobody can say.
func (p *OperatorPolicy) Stands() *manifest.Object {
	if p.Package == "" || p.Namespace == "" || strings.Contains(p.Package+p.Namespace, "{{") {
		return p.Object
	}
	return p.Subscription()
}

// PackageDefaults returns the channel, catalog and namespace that an OperatorPolicy gets where it names none: what the
// PackageManifest of its package says.
type PackageDefaults func(p *OperatorPolicy) (Defaults, error)

// Defaults are what a PackageManifest says of a package.
type Defaults struct{ Channel, Source, SourceNamespace, Namespace string }

// Complete fills in what the policy leaves to the PackageManifest, and sets Unknown. defaults may be nil. A policy that
// removes its operator needs the namespace only: the controller finds the rest in the Subscription.
func (p *OperatorPolicy) Complete(defaults PackageDefaults) {
	switch {
	case len(p.Faults) > 0:
		p.Unknown = "it is refused: " + p.Faults[0].Field + " " + p.Faults[0].Msg
	case p.idle != "" && !p.absent:
	case p.Template != "":
		p.Unknown = p.Template + " is a template"
	case !p.absent || p.Namespace == "":
		p.Unknown = p.complete(defaults)
	}
}

// complete is Complete of a policy that is known otherwise. It returns what Unknown is to be.
func (p *OperatorPolicy) complete(defaults PackageDefaults) string {
	var d Defaults
	fields := []struct {
		name      string
		to, known *string
	}{{"channel", &p.Channel, &d.Channel}, {"source", &p.Source, &d.Source},
		{"sourceNamespace", &p.SourceNamespace, &d.SourceNamespace}, {"namespace", &p.Namespace, &d.Namespace}}
	var missing []string
	for _, f := range fields {
		if *f.to == "" {
			missing = append(missing, f.name)
		}
	}
	if missing == nil {
		return ""
	}
	why := "its Subscription has no " + strings.Join(missing, " and no ") +
		": the controller takes what the PackageManifest says"
	if defaults == nil {
		return why
	}
	var err error
	if d, err = defaults(p); err != nil {
		return why + ", and " + err.Error()
	}
	for _, f := range fields {
		if *f.to = cmp.Or(*f.to, *f.known); *f.to == "" {
			return why + ", which is not known"
		}
	}
	return ""
}
