package adopt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/normalize"
)

// ofOLM are OLM's own kinds. Their objects do not stay.
var ofOLM = []string{"ClusterServiceVersion", "Subscription", "InstallPlan", "OperatorCondition", "OperatorGroup"}

// olmDeployments are the Deployments of OLM that install operators, and olmPods selects their pods.
var olmDeployments = []string{"olm-operator", "catalog-operator"}

const olmPods = "app in (olm-operator,catalog-operator)"

const openShift = "openshift-operator-lifecycle-manager"

func (s *State) olmNamespace() string {
	return cmp.Or(lists.Find(s.Dump.OfKind("Deployment"), func(d *dump.Object) bool {
		return slices.Contains(olmDeployments, d.Name)
	}), &dump.Object{Namespace: "olm"}).Namespace
}

// stop returns the commands that stop OLM and wait until its pods are gone.
func (p *planner) stop() []string {
	ns := text.Shell(p.state.olmNamespace())
	return append(p.overrides(true), "kubectl -n "+ns+" scale deployment "+strings.Join(olmDeployments, " ")+" "+
		"--replicas=0",
		"kubectl -n "+ns+" wait pods -l "+text.Shell(olmPods)+" --for=delete --timeout=5m")
}

// start returns the commands that start OLM with the replicas of the dump.
func (p *planner) start() (commands []string) {
	ns := p.state.olmNamespace()
	replicas := func(name string) int {
		if d := p.state.Dump.Get("Deployment", ns, name); d != nil {
			if n, ok := normalize.At(d.Value(), "spec")["replicas"].(float64); ok {
				return int(n)
			}
		}
		return 1
	}
	for _, names := range lists.Groups(olmDeployments, replicas) {
		commands = append(commands, fmt.Sprintf("kubectl -n %s scale deployment %s --replicas=%d", text.Shell(ns),
			strings.Join(names, " "), replicas(names[0])))
	}
	return append(commands, p.overrides(false)...)
}

// overrides returns the command by which the cluster version operator of OpenShift leaves OLM alone, or manages it
// again; none for other clusters. What the ClusterVersion of the dump has stays.
func (p *planner) overrides(set bool) []string {
	if p.state.olmNamespace() != openShift {
		return nil
	}
	var list []any
	for _, o := range p.state.Dump.OfKind(dump.ClusterVersion.Kind) {
		list, _ = normalize.At(o.Value(), "spec")["overrides"].([]any)
	}
	for _, name := range olmDeployments {
		if set {
			list = append(list, map[string]any{"kind": "Deployment", "group": "apps", "namespace": openShift,
				"name": name, "unmanaged": true})
		}
	}
	if len(list) == 0 {
		list = nil // null, which removes the field
	}
	data, _ := json.Marshal(map[string]any{"spec": map[string]any{"overrides": list}}) // of a dump, which was JSON
	return []string{"kubectl patch clusterversion version --type=merge -p " + text.Shell(string(data))}
}

// ofOwner returns the selector of the labels by which OLM finds what it deletes with a CSV or an OperatorGroup. Their
// names are unique in their namespace, so that no object of another operator has the labels. Copied Roles say their
// target as the namespace, and the operator's in olm.copiedFrom.
func ofOwner(name, namespace, kind string) string {
	return olm.LabelOwner + "=" + name + "," + olm.LabelOwnerNamespace + "=" + namespace + "," +
		olm.LabelOwnerKind + "=" + kind
}

// labelled returns the kinds that may have OLM's labels, as kubectl takes them: those that are not OLM's own.
func (p *planner) labelled() string {
	var list []string
	for _, k := range dump.Kinds {
		if k.Group != olm.Group && k.Kind != "Namespace" {
			known, _ := olm.KindOf(k.Group, k.Kind)
			list = append(list, known.Resource())
		}
	}
	for _, o := range p.state.Dump.Objects {
		if o.Labels[olm.LabelOwner] != "" && !slices.Contains(ofOLM, o.Kind) {
			list = lists.Add(list, resourceOf(o.APIVersion, o.Kind))
		}
	}
	return strings.Join(list, ",")
}

// foreign returns what refers to an operator, and is explained by neither OLM's rules nor the bundles.
func (p *planner) foreign() []string {
	return lists.Map(lists.Filter(p.state.Dump.Objects, func(o *dump.Object) bool {
		return !slices.Contains(ofOLM, o.Kind) && p.departure.tied(o) && !p.departure.rendered[o.Key()] &&
			!p.departure.deletes(o)
	}), (*dump.Object).Identity)
}

const mostNamed = 4

// certificateKinds are those of cert-manager that a bundle's certificates are rendered to.
var certificateKinds = []string{"Certificate", "Issuer"}

// certificates returns the rows of the Certificates that are rendered, and of the objects that get a CA of theirs.
func (p *planner) certificates() (certificates, injected []string) {
	secrets := map[string]string{} // by namespace/name of the Certificate
	for _, o := range p.rendered {
		if o := normalize.Object(o); o.Kind() == "Certificate" && field(o, "namespace") != "" {
			secret := fmt.Sprint(normalize.At(o, "spec")["secretName"])
			secrets[field(o, "namespace")+"/"+field(o, "name")] = secret + " " + field(o, "namespace")
			certificates = append(certificates, field(o, "name")+" "+field(o, "namespace")+" "+secret)
		}
	}
	for _, o := range p.rendered {
		from, _ := normalize.At(o, "metadata", "annotations")["cert-manager.io/inject-ca-from"].(string)
		if secret := secrets[from]; secret != "" {
			apiVersion, _ := o["apiVersion"].(string)
			resource := resourceOf(apiVersion, normalize.Object(o).Kind())
			injected = append(injected, resource+" "+field(o, "name")+" "+secret)
		}
	}
	return certificates, injected
}

// down returns the sentences that operators run, and how long OLM does not.
func (p *planner) down() string {
	calls, from, to := 0, 0, 0
	for i, s := range p.plan.Steps {
		if s.Title == "Stop OLM" {
			from = i + 1
		}
		for _, c := range slices.Concat(s.Guard, s.Run) {
			if from > 0 {
				calls, to = calls+p.calls(c), i+1
			}
		}
	}
	out := "The operators run all the time"
	if names := p.plan.Restarts(); len(names) > 0 {
		out += ", but for the restart of " + text.FirstOf(mostNamed, names)
	}
	if from == 0 {
		return out + "."
	}
	n := len(p.departure.operators)
	return fmt.Sprintf("%s. OLM is down from step %d to step %d, for about %s of kubectl (%d for each operator).", out,
		from, to, text.Count(calls, "call"), (calls+n-1)/max(n, 1))
}

// calls returns how often a command calls kubectl.
func (p *planner) calls(command string) int {
	n := strings.Count(command, "kubectl ")
	for _, l := range p.plan.Lists {
		if strings.HasPrefix(command, `echo "$`+l.Name+`" |`) {
			return n * len(l.Rows)
		}
	}
	return n
}

// component returns the name of the Operator that OLM makes of an operator.
func (o *Operator) component() string { return o.Package + "." + o.Group.Namespace }

// made reports whether OLM made an object for the group.
func (g *Group) made(o *dump.Object) bool {
	return o.Labels[olm.LabelOwnerKind] == operatorsv1.OperatorGroupKind && o.Labels[olm.LabelOwner] == g.Name &&
		o.Labels[olm.LabelOwnerNamespace] == g.Namespace
}
