package adopt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/normalize"
)

const csvs = "clusterserviceversions.operators.coreos.com"

// csv are the arguments of kubectl for a row of the operators.
const csv = csvs + ` "$csv" -n "$ns"`

// ofOLM are OLM's own kinds. Their objects do not stay.
var ofOLM = []string{"ClusterServiceVersion", "Subscription", "InstallPlan", "OperatorCondition", "OperatorGroup"}

// leave takes operators away from OLM. Kubernetes does what it can do by itself: the garbage collector takes the
// ownerReferences of what a CSV owns when the CSV is deleted with --cascade=orphan.
func (p *planner) leave() {
	apply, kept := p.apply(), p.kept()
	if p.To == generate.ProfileClusterExtension {
		apply, kept = []string{applied(PartDirectory)}, []string{keptOf(PartDirectory)}
		p.add(Step{Title: "Render what OLM v1 refuses", Text: []string{"The next step applies these operators only. " +
			Quote(p.Directory) + " has what OLM v1 takes, too: that is applied when OLM v1 has taken it."},
			Run: append(p.Commands.Part, applied(PartDirectory, "--dry-run=server")), Undo: []string{"rm -rf " +
				PartDirectory}})
	}
	p.add(Step{Title: stopOLM, Text: []string{"From here on OLM installs, repairs and removes nothing in " +
		"the whole cluster, and renews no certificate."}, Run: p.stop(), Undo: p.start()})
	about, unlabel := p.unlabel()
	p.takeOver(append(kept, apply...), "OLM is down, and nobody else is known to write the objects: "+
		"before/replaced.yaml gets what applying replaces, so that an edit of the last minutes can be seen."+about,
		unlabel...)
	p.switchCertificates()
	p.remove()
	p.leftovers()
	// What stayed is given to the new owners: OLM does that only when it installs, and here it finds all installed.
	if len(p.departure.operators) < len(p.state.All()) {
		p.plan.Back = []string{"# " + migratedToo}
	}
	p.plan.Back = slices.Concat(p.plan.Back, p.stop(), []string{applied("before-olm"), applied("before"),
		"while read -r uid kind name ns; do\n" +
			`  echo "s/$uid/$(kubectl get ` + named + ` -o 'jsonpath={.metadata.uid}')/"` +
			"\ndone < before/owners.txt > before/owners.sed",
		"sed -f before/owners.sed before/owners.yaml | kubectl apply --server-side --force-conflicts --field-manager=" +
			manager + "-owners -f -"},
		p.withoutCertificates(), p.each(createdList, deletion), p.subscribed(), p.start())
}

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
	ns := Quote(p.state.olmNamespace())
	return append(p.overrides(true), "kubectl -n "+ns+" scale deployment "+strings.Join(olmDeployments, " ")+" "+
		"--replicas=0",
		"kubectl -n "+ns+" wait pods -l "+Quote(olmPods)+" --for=delete --timeout=5m")
}

// start returns the commands that start OLM with the replicas of the dump.
func (p *planner) start() (commands []string) {
	ns, last := p.state.olmNamespace(), 0
	for _, name := range olmDeployments {
		replicas := 1
		if d := p.state.Dump.Get("Deployment", ns, name); d != nil {
			if n, ok := normalize.At(d.Value(), "spec")["replicas"].(float64); ok {
				replicas = int(n)
			}
		}
		if replicas == last {
			commands[0] = strings.Replace(commands[0], " --replicas", " "+name+" --replicas", 1)
			continue
		}
		last = replicas
		commands = append(commands, fmt.Sprintf("kubectl -n %s scale deployment %s --replicas=%d", Quote(ns), name,
			replicas))
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
	return []string{"kubectl patch clusterversion version --type=merge -p " + Quote(string(data))}
}

// subscribed returns the commands that bring Subscriptions back. OLM resolves nothing as long as a CSV belongs to no
// Subscription ("exists and is not referenced by a subscription"), and looks for that at status.installedCSV. It has to
// be down meanwhile: it writes the whole status of a Subscription from what it read before (OLM:
// pkg/controller/operators/catalog/operator.go, updateSubscriptionStatuses).
func (p *planner) subscribed() []string {
	patches := p.each(subscriptionsList,
		`kubectl patch subscriptions.operators.coreos.com "$sub" -n "$ns" --subresource=status --type=merge -p `+
			`'{"status":{"state":"`+string(v1alpha1.SubscriptionStateAtLatest)+
			`","currentCSV":"'"$csv"'","installedCSV":"'"$csv"'","lastUpdated":"'"$updated"'"}}'`)
	if len(patches) == 0 {
		return nil
	}
	return append([]string{applied("before-subscriptions")}, patches...)
}

// ofOwner returns the selector of the labels by which OLM finds what it deletes with a CSV or an OperatorGroup. Their
// names are unique in their namespace, so that no object of another operator has the labels. Copied Roles say their
// target as the namespace, and the operator's in olm.copiedFrom.
func ofOwner(name, namespace, kind string) string {
	return olm.LabelOwner + "=" + name + "," + olm.LabelOwnerNamespace + "=" + namespace + "," +
		olm.LabelOwnerKind + "=" + kind
}

// unmark are the arguments of kubectl label that remove these labels.
const unmark = olm.LabelOwner + "- " + olm.LabelOwnerKind + "- " + olm.LabelOwnerNamespace + "- " +
	olm.LabelCopiedFrom + "-"

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

// unlabel returns the text and the commands about the labels by which OLM deletes.
func (p *planner) unlabel() (about string, run []string) {
	about = " Server-side apply changes only what is rendered. Then the labels go by which OLM deletes with a " +
		"ClusterServiceVersion or an OperatorGroup: no object of another operator has them."
	foreign := lists.Filter(p.state.Dump.Objects, func(o *dump.Object) bool {
		return !slices.Contains(ofOLM, o.Kind) && p.departure.tied(o) && !p.departure.rendered[o.Key()] &&
			!p.departure.deletes(o)
	})
	if len(foreign) > 0 {
		about += fmt.Sprintf(" %d objects that refer to an operator, and that neither OLM's rules nor the bundles "+
			"explain, lose that and stay: %s.", len(foreign),
			text.FirstOf(mostNamed, lists.Map(foreign, (*dump.Object).Identity)))
	}
	p.plan.Lists = append(p.plan.Lists, List{Name: "labelled", Rows: []string{p.labelled()}})
	return about, p.each(selectorsList, `kubectl label "$labelled" -A -l "$selector" `+unmark)
}

const mostNamed = 4

// finalizerGone removes OLM's finalizer from a CSV, by its place if it is there. The patch takes no other one:
// orphan is a finalizer too, and without it the garbage collector deletes what the CSV owns.
const finalizerGone = `at=$(kubectl get ` + csv + ` --ignore-not-found -o go-template=` +
	`'{{range $i, $f := .metadata.finalizers}}{{if eq $f "` + olm.Finalizer + `"}}{{$i}}{{end}}{{end}}'); ` +
	`[ -z "$at" ] || kubectl patch ` + csv + ` --type=json -p '[{"op":"test","path":"/metadata/finalizers/'$at'",` +
	`"value":"` + olm.Finalizer + `"},{"op":"remove","path":"/metadata/finalizers/'$at'"}]'`

// nothing returns the command that fails if a command fails or prints something.
func nothing(command string) string { return "left=$(" + command + `); test -z "$left"` }

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

// switchCertificates waits until cert-manager has made the certificates that OLM renews no more, and until everybody
// who calls the operators trusts them.
func (p *planner) switchCertificates() {
	certificates := p.list(certificatesList).Rows
	if len(certificates) == 0 {
		return
	}
	secrets := text.And(lists.Map(certificates, func(row string) string {
		words := strings.Fields(row)
		return words[1] + "/" + words[2]
	}))
	certified := lists.Filter(p.departure.operators, (*Operator).certified)
	names := text.And(lists.Map(certified, func(o *Operator) string { return o.CSV.Name }))
	p.add(Step{Title: "Switch to the certificates of cert-manager", Text: []string{"Applying has made a Certificate " +
		"for each Secret of OLM's: cert-manager replaces the certificate and the authority in " + secrets + ". " +
		"Who calls webhooks, APIServices and conversions trusts it beside OLM's; an older cert-manager replaces " +
		"that, and calls fail until the pods have loaded the new certificate, a minute or two. Restart pods that " +
		"read their certificate only at their start. The commands wait until each Certificate is Ready, and until " +
		"its authority is in what calls the operators. " +
		"No backup has the Secrets: when OLM starts after the undo, it makes their certificates anew, and restarts " +
		"the pods of " + names + "."},
		Run: append(p.each(certificatesList, `kubectl wait certificates.cert-manager.io "$name" -n "$ns" `+
			"--for=condition=Ready --timeout=5m"),
			p.each(injectedList, "n=0", "until "+trusted+`; do n=$((n+1)); test $n -lt 300 || { echo "$kind $name has `+
				`not the authority of Secret $ns/$secret" >&2; exit 1; }; sleep 1; done`)...),
		Undo: p.withoutCertificates()})
}

// trusted looks whether the authority in a Secret is in all that an object calls. cert-manager may keep another one
// beside it: that of OLM, until it expires (cert-manager: internal/cainjector/bundle, AppendCertificatesToBundle).
const trusted = `ca=$(kubectl get secrets "$secret" -n "$ns" -o go-template=` +
	`'{{with index .data "ca.crt"}}{{base64decode .}}{{end}}')` +
	` && has=$(kubectl get "$kind" "$name" -o 'jsonpath={.webhooks[*].clientConfig.caBundle}` +
	`{.spec.caBundle}{.spec.conversion.webhook.clientConfig.caBundle}') && test -n "$ca" && test -n "$has" && ` +
	`(for b in $has; do case "$(echo "$b" | base64 -d)" in (*"$ca"*) ;; (*) exit 1;; esac; done)`

// withoutCertificates returns the command that deletes what made the certificates, and the CertificateRequests, which
// a Certificate owns.
func (p *planner) withoutCertificates() []string {
	if len(p.list(certificatesList).Rows) == 0 {
		return nil
	}
	return p.each(createdList, `case "$kind" in (certificate*.cert-manager.io|issuer*.cert-manager.io) kubectl delete `+
		named+" --ignore-not-found;; esac")
}

// down returns the sentences that operators run, and how long OLM does not.
func (p *planner) down() string {
	calls, from, to := 0, 0, 0
	for i, s := range p.plan.Steps {
		if s.Title == stopOLM {
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

const stopOLM = "Stop OLM"

// remove deletes the CSVs, and nothing with them, if the cluster is still that of the plan.
func (p *planner) remove() {
	const copies = "kubectl delete " + csvs + ` -A -l "` + olm.LabelCopiedFrom + `=$ns" --field-selector ` +
		`"metadata.name=$csv" --cascade=orphan --timeout=5m`
	const original = "kubectl delete " + csv + " --ignore-not-found --cascade=orphan --timeout=5m"
	p.add(Step{Title: "The point of no return: delete the ClusterServiceVersions", Irreversible: true,
		Text: []string{"**Before it, the undo of each step, from the last to the first, leads back. After it, only " +
			"the way back does.** The guard fails if OLM runs, if it has put labels back, if the operators are not " +
			"those of the plan, if one is being deleted, and if somebody has edited what is applied. It passes again " +
			"if this step has deleted some, and names those.",
			"With --cascade=orphan the garbage collector takes the ownerReferences of all that a " +
				"ClusterServiceVersion or its copy owns. If a delete does not end, `kubectl get " + csvs + " -A -o " +
				"custom-columns=:.metadata.name,:.metadata.finalizers` shows orphan: something refuses the " +
				"collector's patch, see its log. Never remove that finalizer."},
		Guard: append(p.each(selectorsList, nothing(`kubectl get "$labelled" -A -l "$selector" -o name`)),
			nothing("kubectl get pods -A -l "+Quote(olmPods)+" -o name"), p.Commands.Since),
		Run: slices.Concat(p.each(operatorsList, finalizerGone), p.each(operatorsList, copies, original))})
}

// leftovers deletes what is left of OLM's own, and the Operator, which OLM makes anew as long as a component has its
// label: an InstallPlan that another operator needs too, or a Secret, which no dump has (OLM:
// pkg/controller/operators/operator_controller.go, hasExistingComponents). Then OLM starts, and all is compared.
func (p *planner) leftovers() {
	s := Step{Title: "Delete what only OLM used, start OLM, and verify", Text: []string{"OLM made these objects by " +
		"its own rules, and nothing that is rendered needs them. Everything else stays, and loses the label of OLM's " +
		"Operator."}}
	orphans := p.result.named(func(c Compared) bool { return strings.HasPrefix(c.Reason, orphanOf) })
	if len(orphans) > 0 {
		s.Text = append(s.Text, "Look at what earlier versions left behind. OLM never removes it, and nothing here "+
			"does: "+text.FirstOf(mostNamed, orphans)+".")
	}
	s.Text = append(s.Text, "The comparison lists what OLM has left in the objects as left-in-cluster. It does no "+
		"harm; removing it from a pod template restarts the pods.")
	s.Run = append(p.each(operatorsList, `kubectl label `+
		`"$labelled",namespaces,secrets,installplans.operators.coreos.com -A `+
		`-l "`+olm.LabelComponent+`$component" "`+olm.LabelComponent+`$component-"`), p.each(deletedList, deletion)...)
	s.Run = append(append(s.Run, p.start()...), p.Commands.Again)
	p.add(s)
}

// migratedToo is what to know of the backup if the plan hands operators to OLM v1.
const migratedToo = "before/ and before-*/ have the operators too that OLM v1 runs now: take their objects out first."

// component returns the name of the Operator that OLM makes of an operator.
func (o *Operator) component() string { return o.Package + "." + o.Group.Namespace }

// made reports whether OLM made an object for the group.
func (g *Group) made(o *dump.Object) bool {
	return o.Labels[olm.LabelOwnerKind] == operatorsv1.OperatorGroupKind && o.Labels[olm.LabelOwner] == g.Name &&
		o.Labels[olm.LabelOwnerNamespace] == g.Namespace
}
