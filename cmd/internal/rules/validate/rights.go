package validate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/compare/crds"
	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/internal/netpol"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/rbac/danger"
	"github.com/olmgen/olmgen/manifest"
)

const (
	ruleInVain      = "cluster-scoped-permissions"
	ruleRoleMissing = "role-missing"
	ruleNetwork     = "network-cut-off"
	ruleCatalog     = "catalog-refuses" // fit.RuleCatalog
	ruleSlip        = "rule-grants-nothing"
)

// somewhere stands for the namespace of an installation, which may be any.
const somewhere = "operators"

// inVain reports permissions on cluster-scoped resources, which no Role grants. OLM makes ClusterRoles of them only in
// the mode AllNamespaces (OLM: pkg/controller/operators/olm/operatorgroup.go, ensureSingletonRBAC).
func inVain(b *bundle.Bundle) (list []Finding, err error) {
	level := findings.Warning
	if olm.Supports(b.CSV.Spec.InstallModes, v1alpha1.InstallModeTypeAllNamespaces) {
		level = findings.Note
	}
	if !slices.ContainsFunc(b.CSV.Spec.InstallModes, func(m v1alpha1.InstallMode) bool {
		return m.Supported && m.Type != v1alpha1.InstallModeTypeAllNamespaces
	}) {
		return nil, nil
	}
	scopes := danger.NewScopes()
	for _, c := range b.CRDs {
		if err := scopes.AddCRD(c.Object); err != nil {
			return nil, err
		}
	}
	spec, held := b.CSV.Spec.InstallStrategy.StrategySpec, map[string][]rbacv1.PolicyRule{}
	for _, p := range spec.ClusterPermissions {
		held[p.ServiceAccountName] = append(held[p.ServiceAccountName], p.Rules...)
	}
	var atoms rbac.Counter
	for i, p := range spec.Permissions {
		field, names := "", []string{}
		for k, r := range p.Rules {
			at := fmt.Sprintf("spec.install.spec.permissions[%d].rules[%d]", i, k)
			if err := atoms.Add(r); err != nil {
				return nil, b.CSVObject.Errorf(at, "%v", err)
			}
			for _, a := range rbac.Atoms(r) {
				name := olm.Kind{Group: a.Group, Plural: a.Resource}.Resource()
				if a.IsURL || scopes.RiskOf(a, somewhere) != danger.NoEffect ||
					scopes.RiskOf(a, "") == danger.NoEffect || slices.Contains(names, name) ||
					rbac.Covers(held[p.ServiceAccountName], rbac.Rules([]rbac.Atom{a})[0]) {
					continue
				}
				if names = append(names, name); field == "" {
					field = at
				}
			}
		}
		if len(names) > 0 {
			e := b.CSVObject.Errorf(field, "account %s asks for cluster-scoped resources, which its Roles in the "+
				"target namespaces do not grant: %s", p.ServiceAccountName, text.FirstOf(10, names))
			list = append(list, finding(ruleInVain, level, e.With("move them to clusterPermissions")))
		}
	}
	return list, nil
}

// specialVerbs are those that Kubernetes asks about beside rbac.Verbs.
var specialVerbs = []string{"use", "bind", "escalate", "impersonate", "approve", "sign", "attest", "proxy"}

// slips reports words of rules that nothing in a cluster has: a group with a version or called core, a resource that
// its group does not have, such as a kind in its place, a verb that no API has, and a name *.
func slips(b *bundle.Bundle) (list []Finding, err error) {
	own := slices.Collect(maps.Values(olm.DefinedKinds(b.Shipped())))
	look := func(o *manifest.Object, at string, rules []rbacv1.PolicyRule) {
		for k, r := range rules {
			for field, words := range map[string][]string{"apiGroups": r.APIGroups, "resources": r.Resources,
				"verbs": r.Verbs, "resourceNames": r.ResourceNames} {
				for i, word := range words {
					if tip := slip(r, field, word, own); tip != "" {
						who := "nothing in a cluster has"
						if field == "resources" {
							who = "no API group of the rule has"
						}
						e := o.Errorf(fmt.Sprintf("%srules[%d].%s[%d]", at, k, field, i),
							"%s %q: the rule grants nothing of it", who, word)
						list = append(list, finding(ruleSlip, findings.Warning, e.With(tip)))
					}
				}
			}
		}
	}
	spec := b.CSV.Spec.InstallStrategy.StrategySpec
	for name, permissions := range map[string][]v1alpha1.StrategyDeploymentPermissions{
		"permissions": spec.Permissions, "clusterPermissions": spec.ClusterPermissions} {
		for i, p := range permissions {
			look(b.CSVObject, fmt.Sprintf("spec.install.spec.%s[%d].", name, i), p.Rules)
		}
	}
	for _, o := range b.Others {
		var role rbacv1.ClusterRole // a Role has a part of its fields
		if install.GroupOf(o) == rbacv1.GroupName && (o.Kind == rbac.KindRole || o.Kind == rbac.KindClusterRole) {
			if _, err := o.Into(&role); err != nil {
				return nil, err
			}
			look(o, "", role.Rules)
		}
	}
	return list, nil
}

// slip returns what a word of a rule was meant to be, if nothing has it as it is; "" if something may.
func slip(r rbacv1.PolicyRule, field, word string, own []olm.Kind) string {
	foreign := len(r.NonResourceURLs) > 0 ||
		slices.ContainsFunc(r.APIGroups, func(group string) bool { return !olm.BuiltinGroup(group) })
	switch meant, _, versioned := strings.Cut(word, "/"); {
	case field == "resourceNames" && word == rbac.All && !slices.Contains(r.APIGroups, rbacv1.GroupName):
		return "leave resourceNames out, and the rule is for all"
	case field == "resourceNames" || word == rbac.All:
	case field == "verbs":
		known := slices.Concat(rbac.Verbs, specialVerbs)
		switch {
		case slices.Contains(known, word) || strings.ContainsAny(word, "-:"): // such as impersonate-on:user-info:list
		case !foreign:
			return text.Unknown("verb", word, rbac.Verbs).Hint()
		case len(word) > 4 || slices.Contains(known, strings.ToLower(word)):
			return text.DidYouMean(word, known)
		}
	case field == "apiGroups" && (versioned || meant == "core" || meant == "v1"):
		if meant == "core" || meant == "v1" { // the core group has no name
			meant = ""
		}
		return fmt.Sprintf("did you mean %q?", meant)
	case field == "resources":
		tip := resourceMeant(r.APIGroups, meant, foreign, own)
		if tip == "" && danger.Vain(rbac.Atom{Resource: word}) {
			return "write resources in small letters, and name each subresource"
		}
		return tip
	}
	return ""
}

// resourceMeant returns the resource that a name was meant to be which none of the groups has. Of foreign groups, not
// all resources are known: only a kind in place of its resource is found.
func resourceMeant(groups []string, name string, foreign bool, own []olm.Kind) (tip string) {
	var all []string
	for _, group := range groups {
		kinds := append(olm.Kinds(group), lists.Filter(own, func(k olm.Kind) bool { return k.Group == group })...)
		if len(kinds) == 0 || slices.ContainsFunc(kinds, func(k olm.Kind) bool { return k.Plural == name }) {
			return ""
		}
		for _, k := range kinds {
			if all = append(all, k.Plural); strings.EqualFold(k.Name, name) {
				tip = fmt.Sprintf("did you mean %s?", k.Plural)
			}
		}
	}
	if other := olm.GroupsWith(name); tip == "" && !foreign && len(other) > 0 {
		return fmt.Sprintf("%s is of the API groups %q", name, other)
	} else if tip == "" && !foreign {
		return text.DidYouMean(name, all)
	}
	return tip
}

// bindings reports bindings of the bundle that give its accounts nothing. OLM puts RoleBindings into the namespace of
// the installation, and changes neither the subjects nor the role (OLM: pkg/controller/operators/catalog/operator.go,
// ExecutePlan). It names the Roles of permissions by a hash (OLM: pkg/controller/registry/resolver/rbac.go).
func bindings(b *bundle.Bundle) (list []Finding, err error) {
	var shipped rbac.Objects
	for _, o := range b.Others {
		if rbac.Relevant(install.GroupOf(o), o.Kind) {
			if err := shipped.Add(o, somewhere); err != nil {
				return nil, err
			}
		}
	}
	// The accounts of its pods: those of its Deployments, and those that it ships. One that only has permissions
	// may stand for that of another operator.
	accounts := lists.Map(b.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs,
		func(d v1alpha1.StrategyDeploymentSpec) string {
			return cmp.Or(d.Spec.Template.Spec.ServiceAccountName, "default")
		})
	for _, o := range b.Others {
		if o.Kind == rbacv1.ServiceAccountKind && install.GroupOf(o) == "" {
			accounts = append(accounts, o.Name)
		}
	}
	suggested := b.CSV.Annotations[olm.AnnotationSuggestedNamespace]
	for _, x := range shipped.Bindings {
		if x.Role.Kind == rbac.KindRole && !slices.ContainsFunc(b.Others, func(o *manifest.Object) bool {
			return o.Kind == rbac.KindRole && o.Name == x.Role.Name
		}) {
			list = append(list, finding(ruleRoleMissing, findings.Warning, x.Object.Errorf("roleRef.name", "the "+
				"bundle has no Role %s: OLM puts the binding into the namespace of the installation, and names the "+
				"Roles of permissions by a hash", x.Role.Name)))
		}
		for i := range x.Object.Len("subjects") {
			at := func(name string) string {
				v, _ := x.Object.Get("subjects", fmt.Sprint(i), name)
				s, _ := v.(string)
				return s
			}
			account, namespace := at("name"), at("namespace")
			if at("kind") != rbacv1.ServiceAccountKind || !slices.Contains(accounts, account) || namespace == "" ||
				namespace == suggested {
				continue
			}
			e := x.Object.Errorf(fmt.Sprintf("subjects[%d].namespace", i), "OLM leaves the namespace %q as it is: "+
				"account %s of the operator gets nothing by the binding, unless the operator is installed in that "+
				"namespace", namespace, account)
			e.Tip = "move the rules to permissions or clusterPermissions of the ClusterServiceVersion"
			list = append(list, finding(bundle.WarnForeignSubject, findings.Warning, e))
		}
	}
	return list, nil
}

// cutOff reports what the NetworkPolicies of a bundle cut off of its own pods.
func cutOff(b *bundle.Bundle) []Finding {
	return lists.Map(netpol.Namespaces(b.Others, true)[""].Gaps(b.CSV), func(g netpol.Gap) Finding {
		return finding(ruleNetwork, g.Severity, g.Policy.Errorf(g.Field, "%s", g.Message))
	})
}

const (
	ruleVisibility    = "api-owner"
	ruleOwnedVersion  = "owned-version"
	ruleStoredWithout = "stored-without-field"
)

// visibility returns a note if users of owned APIs cannot tell from their schemas whose they are: "The top level
// description of the API resource should include: the name of the owning operator, a description of the owning
// operator, along with links, descriptors, and other metadata. UI groups apis based on the operator identity in their
// schema descriptions" (plan, Operator Visibility).
func visibility(b *bundle.Bundle) []Finding {
	name := cmp.Or(b.CSV.Spec.DisplayName, b.Package)
	unnamed, bare, owned := 0, 0, b.CSV.Spec.CustomResourceDefinitions.Owned
	for _, d := range owned {
		if len(d.SpecDescriptors)+len(d.StatusDescriptors)+len(d.ActionDescriptor) == 0 {
			bare++
		}
		if c := b.CRD(d.Name); c != nil && !named(c, name) && !named(c, b.Package) {
			unnamed++
		}
	}
	if unnamed == 0 {
		return nil
	}
	e := b.CSVObject.Errorf("spec.customresourcedefinitions.owned",
		"%d of %s do not name the operator %s in the description of their schema, by which a UI groups APIs "+
			"(descoping plan, Operator Visibility); %d have no descriptors, and the CSV has %s", unnamed,
		text.Count(len(owned), "owned API"), name, bare, text.Count(len(b.CSV.Spec.Links), "link"))
	return []Finding{finding(ruleVisibility, findings.Note, e)}
}

// named reports whether the schema of a version of a CRD names an operator in its description.
func named(c *bundle.CRD, name string) bool {
	for i := range c.Versions {
		v, _ := c.Get("spec", "versions", fmt.Sprint(i), "schema", "openAPIV3Schema", "description")
		description, _ := v.(string)
		if strings.Contains(strings.ToLower(description), strings.ToLower(name)) {
			return true
		}
	}
	return false
}

// ownedVersions returns a note for each CRD whose storage version the CSV does not name (OpenShift: "Ensure the
// referencing version of the CRD in your CSV's owned section is updated if the CSV intends to use the new version").
func ownedVersions(b *bundle.Bundle) (list []Finding) {
	owned := b.CSV.Spec.CustomResourceDefinitions.Owned
	seen := map[string]bool{}
	for i, d := range owned {
		crd := b.CRD(d.Name)
		named := func(version string) func(v1alpha1.CRDDescription) bool {
			return func(o v1alpha1.CRDDescription) bool { return o.Name == d.Name && o.Version == version }
		}
		if crd == nil || seen[d.Name] {
			continue
		}
		seen[d.Name] = true
		for _, v := range crd.Versions {
			if v.Served && v.Storage && !slices.ContainsFunc(owned, named(v.Name)) {
				list = append(list, finding(ruleOwnedVersion, findings.Note, b.CSVObject.Errorf(
					fmt.Sprintf("spec.customresourcedefinitions.owned[%d].version", i),
					"is %s, and %s is stored as %s: name that too if the operator uses it", d.Version, d.Name, v.Name)))
			}
		}
	}
	return list
}

// storedWithout returns a warning for each field of a CRD of the bundle that is lost when an object is written. What a
// webhook converts is not known. A CRD that cannot be read is reported elsewhere.
func storedWithout(ctx context.Context, b *bundle.Bundle) (list []Finding) {
	for _, c := range b.CRDs {
		converts := func(w v1alpha1.WebhookDescription) bool {
			return w.Type == v1alpha1.ConversionWebhook && slices.Contains(w.ConversionCRDs, c.Name)
		}
		if slices.ContainsFunc(b.CSV.Spec.WebhookDefinitions, converts) {
			continue
		}
		lost, _ := crds.StoredWithout(ctx, &crs.CRD{Object: c.Object})
		for _, f := range lost {
			list = append(list, Finding{Rule: ruleStoredWithout, Level: findings.Warning, File: f.File, Line: f.Line,
				Message: fmt.Sprintf("%s: %s: %s", f.Version, f.Path, f.Message)})
		}
	}
	return list
}

const (
	ruleExamples      = "alm-examples"
	annotationExample = "alm-examples"
)

// exampleFindings checks the examples of custom resources against the bundle's CRDs. The validators of
// operator-framework report those of other kinds and versions. known are findings that may be about the same field.
func exampleFindings(ctx context.Context, checker crs.Checker, b *bundle.Bundle, known []Finding) ([]Finding, error) {
	text := b.CSV.Annotations[annotationExample]
	if text == "" {
		return nil, nil
	}
	say := func(format string, args ...any) Finding {
		return finding(ruleExamples, findings.Warning,
			b.CSVObject.Errorf(`metadata.annotations["`+annotationExample+`"]`, format, args...))
	}
	var values []map[string]any
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		bad := say("not a JSON list of objects: %v", err)
		if slices.ContainsFunc(known, func(f Finding) bool { return f.Field == bad.Field }) {
			return nil, nil
		}
		return []Finding{bad}, nil
	}
	if checker == nil {
		return nil, nil
	}
	crds := map[string]*crs.CRD{}
	for _, c := range b.CRDs {
		crds[c.Name] = &crs.CRD{Object: c.Object}
	}
	kinds, err := crs.ByKind(crds)
	if err != nil {
		return []Finding{say("not checked: %v", err)}, nil
	}
	objects := lists.Map(values, manifest.New)
	results, err := crs.Check(ctx, checker, kinds, objects)
	if e, ok := errors.AsType[*manifest.Error](err); ok { // of a CRD, or of an example
		return []Finding{say("not checked: %v", e)}, nil
	}
	if err != nil {
		return nil, err
	}
	var list []Finding
	for i, r := range results {
		who := fmt.Sprintf("example %d, %s %s", i+1, r.Object.Kind, r.Object.Name)
		for _, f := range r.Verdict.Create {
			list = append(list, say("%s: %s: %s", who, f.Path, f.Message))
		}
		for _, path := range r.Verdict.Unknown {
			list = append(list, say("%s: %s: not in the schema: the API server drops it", who, path))
		}
	}
	return list, nil
}
