package adopt

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/versions"
)

// orphanOf begins the reason of what an earlier version left behind.
const orphanOf = "orphan of "

// belongs returns why an object that is not rendered belongs to the operators, or to OLM for them, or "", and whether
// the installed version still has it. What an earlier version left behind is named: OLM never shrinks.
func (v *verifier) belongs(o *dump.Object) (reason string, live bool) {
	switch o.Kind {
	case "Namespace", "Subscription", "InstallPlan", "CatalogSource", "OperatorGroup", olm.KindClusterCatalog,
		dump.ClusterVersion.Kind:
		return "", false
	case "CustomResourceDefinition":
		return v.crd(o)
	}
	if why, live := v.ofGroup(o); why != "" {
		return why, live
	}
	for _, op := range v.All() {
		if why, live := v.ofOperator(o, op); why != "" {
			return why, live
		}
	}
	return "", false
}

// leftOut reports whether an object is of operators that are not adopted, or of a group that they share.
func (v *verifier) leftOut(o *dump.Object) bool {
	for _, g := range v.Groups {
		itself := o.Kind == operatorsv1.OperatorGroupKind && o.Namespace == g.Namespace && o.Name == g.Name
		if (itself || g.made(o)) && len(g.Others) > 0 {
			return true
		}
	}
	stays := func(api string) bool { return slices.Contains(v.kept.operators, v.owning(api)) }
	return slices.ContainsFunc(v.kept.operators, func(op *Operator) bool { return op.marks(o) }) ||
		v.kept.tied(o) || o.Kind == crdKind && stays(o.Name) ||
		slices.ContainsFunc(o.Owners, func(r dump.Owner) bool { return stays(r.Name) })
}

// ofGroup judges the ClusterRoles of OperatorGroups and of APIs.
func (v *verifier) ofGroup(o *dump.Object) (reason string, live bool) {
	if o.Kind != "ClusterRole" {
		return "", false
	}
	for _, g := range v.Groups {
		if g.made(o) {
			if v.withoutCSV {
				return "OLM made it for " + g.Object.Identity(), true
			}
			return "OLM made it for the OperatorGroup, with a name that is not rendered", true
		}
		if suffix, ok := strings.CutPrefix(o.Name, g.Name+"-"); ok &&
			slices.Contains(groupRoles, suffix) && o.Labels[olm.LabelOwner] == g.Name {
			return "older OLM: before " + versions.Since(versions.OLM, versions.HashedRoles) +
				" the ClusterRoles of the group had this name", false
		}
	}
	for _, owner := range o.Owners {
		op, crd := v.owning(owner.Name), v.Dump.Get("CustomResourceDefinition", "", owner.Name)
		switch {
		case !strings.EqualFold(owner.Kind, "CustomResourceDefinition") && owner.Kind != "APIService":
		case op != nil && op.namesRole(o.Name, owner.Name):
			return "OLM made it for the users of " + owner.Name + ", which " + op.CSV.Name + " owns", true
		case op != nil && olm.APIOf(o.Name) == owner.Name:
			return orphanOf + "an earlier version of " + op.Package + ": it is for a version of " + owner.Name +
				" that the CSV does not have any more", false
		case op != nil:
			return "", false
		case crd != nil && v.rendered[crd.Key()] == nil && olm.APIOf(o.Name) == owner.Name:
			if why, _ := v.crd(crd); why != "" {
				return orphanOf + "an earlier version, like " + crd.Identity() + " and part of it", false
			}
		}
	}
	return "", false
}

// owning returns the operator whose CSV owns a CRD or an API.
func (s *State) owning(name string) *Operator {
	return lists.Find(s.every(), func(op *Operator) bool { return op.owns(name) })
}

func (o *Operator) owns(name string) bool {
	return slices.ContainsFunc(olm.OwnedAPIs(&o.CSV.Spec), func(a olm.API) bool { return a.Object() == name })
}

// namesRole reports whether OLM gives a ClusterRole for users of a CRD or an APIService this name now (OLM:
// pkg/controller/operators/olm/operatorgroup.go, ensureClusterRolesForCSV).
func (o *Operator) namesRole(role, api string) bool {
	return slices.ContainsFunc(olm.OwnedAPIs(&o.CSV.Spec), func(a olm.API) bool {
		name := cmp.Or(a.CRD, a.Plural)
		return a.Object() == api && olm.APIOf(role) == name && strings.HasPrefix(role, name+"-"+a.Version+"-")
	})
}

func (v *verifier) crd(o *dump.Object) (reason string, live bool) {
	if op := v.owning(o.Name); op != nil {
		return op.CSV.Name + " owns it, and the file leaves it to OLM", true
	}
	for _, by := range installers(o) {
		if op := lists.Find(v.All(), by.is); op != nil {
			return orphanOf + by.csv + ": " + op.CSV.Name + " does not have the CRD any more; its objects go with it",
				false
		}
	}
	return "", false
}

type installer struct{ namespace, csv string }

// is reports whether the ClusterServiceVersion is one of an operator, of any version.
func (i installer) is(op *Operator) bool {
	return op.Group.Namespace == i.namespace && sameOperator(i.csv, op)
}

// installers returns the ClusterServiceVersions with which OLM has installed a CRD.
func installers(crd *dump.Object) (list []installer) {
	for _, k := range slices.Sorted(maps.Keys(crd.Annotations)) {
		if ns, csv, _ := strings.Cut(crd.Annotations[k], "/"); strings.HasPrefix(k, olm.AnnotationAlongside) {
			list = append(list, installer{ns, csv})
		}
	}
	return list
}

// checkCRDs reports the CRDs of operators that are gone: OLM never removes them, and no form has them.
func (s *State) checkCRDs() {
	there := func(by installer) bool {
		return s.Dump.Get(v1alpha1.ClusterServiceVersionKind, by.namespace, by.csv) != nil ||
			slices.ContainsFunc(s.every(), by.is)
	}
	for _, o := range s.Dump.OfKind(crdKind) {
		if by := installers(o); len(by) > 0 && s.owning(o.Name) == nil && !slices.ContainsFunc(by, there) {
			s.report("orphaned-crd", findings.Warning, o, "", oneLine("ClusterServiceVersion "+by[0].namespace+"/"+
				by[0].csv+", which installed it, is gone: OLM never removes it, and no form has it"),
				"give it to whoever needs its objects, or delete it, with which they go")
		}
	}
}

// sameOperator reports whether a CSV is one of an operator, of any version. A name without a version is nobody's.
func sameOperator(csv string, op *Operator) bool {
	base := olm.BaseName(csv, "")
	return csv == op.CSV.Name || slices.Contains(op.Earlier, csv) ||
		base != csv && base == olm.BaseName(op.CSV.Name, "")
}

// byChance is the reason of an object that OLM makes or not, and on which no right depends.
const byChance = "OLM makes this copy by chance: only if it checks before the ClusterRoles grant the same"

// ofOperator judges objects with the marks of a CSV.
func (v *verifier) ofOperator(o *dump.Object, op *Operator) (reason string, live bool) {
	ns := op.Group.Namespace
	copied := o.Labels[olm.LabelCopiedFrom] // which OLM gives copied Roles too
	original, _ := o.Copied()
	owner, byReference := "", false
	switch {
	case o.Labels[olm.LabelOwnerKind] == "ClusterServiceVersion" &&
		(o.Labels[olm.LabelOwnerNamespace] == ns || copied == ns):
		owner = o.Labels[olm.LabelOwner]
	case strings.HasPrefix(o.Kind, "ClusterRole") && o.Labels[olm.LabelOwnerKind] == "":
		owner = o.Labels[olm.LabelOwner]
	case original == ns:
		owner = o.Name
	case o.Namespace == ns:
		for _, ref := range o.Owners {
			if ref.ByOLM() && (ref.Kind == "ClusterServiceVersion" || ref.Kind == "OperatorCondition") {
				owner, byReference = ref.Name, true
			}
		}
	}
	switch {
	case !sameOperator(owner, op):
		return "", false
	case owner != op.CSV.Name:
		return orphanOf + owner + ", an earlier version: OLM never removes it", false
	case byReference && !slices.Contains(madeByOLM, o.Kind):
		return "it has an ownerReference to " + owner + ": Kubernetes deletes it with that", true
	case v.withoutCSV:
		return "OLM's own, or of another name in the new form", true
	case o.Kind == "ClusterServiceVersion":
		return "a copied CSV of OLM's in a namespace that is not in the file", true
	}
	twin := strings.TrimPrefix(o.Kind, "Cluster")
	promoted := strings.HasPrefix(o.Kind, "Cluster") && v.Dump.Get(twin, ns, o.Name) != nil
	if strings.HasPrefix(twin, "Role") && (copied != "" || promoted) {
		return byChance, true
	}
	return "it has OLM's labels of " + owner + ", which does not need it: another OLM made it, or a person", false
}
