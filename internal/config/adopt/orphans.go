package adopt

import (
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/config/adopt/dump"
)

// belongs returns why an object of the cluster that is not rendered is one of the operators' or of OLM's for them; ""
// if it is none. What an earlier version left behind is named: OLM never shrinks.
func (v *verifier) belongs(o *dump.Object) string {
	switch o.Kind {
	case "Namespace", "Subscription", "InstallPlan", "CatalogSource", "OperatorGroup", "ClusterCatalog":
		return ""
	case "CustomResourceDefinition":
		return v.crd(o)
	}
	if why := v.ofGroup(o); why != "" {
		return why
	}
	for _, g := range v.Groups {
		for _, op := range g.Operators {
			if why := v.ofOperator(o, op); why != "" {
				return why
			}
		}
	}
	return ""
}

// ofGroup judges the ClusterRoles of OperatorGroups and of APIs.
func (v *verifier) ofGroup(o *dump.Object) string {
	if o.Kind != "ClusterRole" {
		return ""
	}
	for _, g := range v.Groups {
		if o.Labels[labelKind] == "OperatorGroup" && o.Labels[labelOwner] == g.Name &&
			o.Labels[labelOwnerNS] == g.Namespace {
			if v.withoutCSV {
				return "OLM's own, or of another name in the new form"
			}
			return "OLM made it for the OperatorGroup, with a name that is not rendered"
		}
		if suffix, ok := strings.CutPrefix(o.Name, g.Name+"-"); ok &&
			slices.Contains([]string{"admin", "edit", "view"}, suffix) &&
			o.Labels[labelOwner] == g.Name {
			return "older OLM: before v0.26 it called the ClusterRoles of the group so"
		}
	}
	for _, owner := range o.Owners {
		if strings.EqualFold(owner.Kind, "CustomResourceDefinition") || owner.Kind == "APIService" {
			if op := v.owning(owner.Name); op != nil {
				return "orphan of an earlier version of " + op.Package + ": it is for a version of " + owner.Name +
					" that the CSV does not have any more"
			}
			if crd := v.Dump.Get("CustomResourceDefinition", "", owner.Name); crd != nil &&
				v.rendered[crd.Key()] == nil && v.crd(crd) != "" {
				return "orphan of an earlier version, like " + crd.Identity() + ", which it goes with"
			}
		}
	}
	return ""
}

// owning returns the operator whose CSV owns a CRD or an API.
func (v *verifier) owning(name string) *Operator {
	for _, g := range v.Groups {
		for _, op := range g.Operators {
			for _, c := range op.CSV.Spec.CustomResourceDefinitions.Owned {
				if c.Name == name {
					return op
				}
			}
			for _, a := range op.CSV.Spec.APIServiceDefinitions.Owned {
				if a.Version+"."+a.Group == name {
					return op
				}
			}
		}
	}
	return nil
}

func (v *verifier) crd(o *dump.Object) string {
	for k, installed := range o.Annotations {
		ns, csv, _ := strings.Cut(installed, "/")
		if !strings.HasPrefix(k, "operatorframework.io/installed-alongside-") {
			continue
		}
		for _, g := range v.Groups {
			for _, op := range g.Operators {
				if g.Namespace == ns && sameOperator(csv, op) {
					return "orphan of " + csv + ": " + op.CSV.Name + " does not have the CRD any more; its " +
						"objects go with it"
				}
			}
		}
	}
	return ""
}

// sameOperator reports whether a CSV is one of an operator, of any version.
func sameOperator(csv string, op *Operator) bool {
	if csv == op.CSV.Name || slices.Contains(op.Earlier, csv) {
		return true
	}
	base, _, found := strings.Cut(csv, ".")
	own, _, _ := strings.Cut(op.CSV.Name, ".")
	return found && base == own
}

// ofOperator judges objects with the marks of a CSV.
func (v *verifier) ofOperator(o *dump.Object, op *Operator) string {
	ns := op.Group.Namespace
	copied := o.Labels[labelCopied]
	owner := ""
	switch {
	case o.Labels[labelKind] == "ClusterServiceVersion" && (o.Labels[labelOwnerNS] == ns || copied == ns):
		owner = o.Labels[labelOwner]
	case strings.HasPrefix(o.Kind, "ClusterRole") && o.Labels[labelOwner] != "" && o.Labels[labelKind] == "":
		owner = o.Labels[labelOwner]
	case o.Kind == "ClusterServiceVersion" && copied == ns:
		owner = o.Name
	case o.Namespace == ns:
		for _, ref := range o.Owners {
			if strings.HasPrefix(ref.APIVersion, "operators.coreos.com/") &&
				(ref.Kind == "ClusterServiceVersion" || ref.Kind == "OperatorCondition") {
				owner = ref.Name
			}
		}
	}
	if owner == "" || !sameOperator(owner, op) {
		return ""
	}
	if owner != op.CSV.Name {
		return "orphan of " + owner + ", an earlier version: OLM never removes it"
	}
	if v.withoutCSV {
		return "OLM's own, or of another name in the new form"
	}
	if o.Kind == "ClusterServiceVersion" {
		return "a copied CSV of OLM's in a namespace that is not in the file"
	}
	twin := strings.TrimPrefix(o.Kind, "Cluster")
	promoted := strings.HasPrefix(o.Kind, "Cluster") && v.Dump.Get(twin, ns, o.Name) != nil
	if strings.HasPrefix(twin, "Role") && (copied != "" || promoted) {
		return "chance of OLM's: it makes this copy only if it looks before the ClusterRoles grant the same"
	}
	return "it has the marks of " + owner + ", which does not ask for it: another OLM, or made by hand"
}
