package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olmgen/olmgen/cmd/internal/adopt"
	"github.com/olmgen/olmgen/golden/equal"
	"github.com/olmgen/olmgen/internal/base/text"
)

// atNight is a cluster with two operators in which somebody does something between the dump and the point of the plan.
var atNight = equal.Case{Name: "at-night", Bundle: "../examples/memcached-operator/bundle",
	With: []string{"live-bundles/porter"}, InstallMode: "MultiNamespace", Namespace: "operator-ns",
	OperatorGroup: "my-og", TargetNamespaces: []string{"target-a", "target-b"}}

// night is what is known of the cluster: the operators, and a Deployment and a Role of theirs.
type night struct {
	*adoption
	csvs             []string // their names
	deployment, role string
	container        string // of the Deployment
	replicas         string // of the Deployment, as OLM has made it
}

// night plays what a person or an engine does after the dump, with OLM as it is then.
func (a *adoption) night(ctx context.Context) error {
	s, err := a.quiet(ctx)
	if err != nil {
		return err
	}
	n, err := a.newNight(s)
	if err != nil {
		return err
	}
	for _, play := range []func(context.Context) error{n.olmDeployed, n.broughtBack, n.edited, n.goingDeployment,
		n.halfWay, n.goingCSV} {
		if err := play(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (a *adoption) newNight(s *adopt.State) (*night, error) {
	n := &night{adoption: a}
	for _, o := range s.All() {
		n.csvs = append(n.csvs, o.CSV.Name)
	}
	for _, o := range s.Dump.Objects {
		if !slices.Contains(n.csvs, o.Labels["olm.owner"]) || o.Namespace != a.Namespace {
			continue
		}
		switch o.Kind {
		case "Deployment":
			containers, _, _ := unstructured.NestedSlice(o.Value(), "spec", "template", "spec", "containers")
			first, _ := containers[0].(map[string]any)
			replicas, _, _ := unstructured.NestedFieldNoCopy(o.Value(), "spec", "replicas")
			n.deployment, n.container, n.replicas = o.Name, fmt.Sprint(first["name"]), fmt.Sprint(replicas)
		case "Role":
			n.role = o.Name
		}
	}
	if len(n.csvs) < 2 || n.deployment == "" || n.role == "" {
		return nil, fmt.Errorf("the cluster has operators %q, Deployment %q and Role %q", n.csvs, n.deployment, n.role)
	}
	return n, nil
}

// does runs a command as a person. $ns is the namespace of the operators.
func (n *night) does(ctx context.Context, line string) error {
	out, err := n.cluster.Shell(ctx, n.dir, "set -eu\nns="+n.Namespace+"\n"+line)
	if err != nil {
		return fmt.Errorf("%s: %w: %s", line, err, out)
	}
	return nil
}

// refuses holds that commands of a step fail, and say each word.
func (n *night) refuses(ctx context.Context, p *departure, what string, commands []string, words ...string) error {
	_, err := n.follow(ctx, p, what, commands)
	if err == nil {
		return fmt.Errorf("%s: nothing refuses it", what)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			return fmt.Errorf("%s: %q is not said: %w", what, w, err)
		}
	}
	return nil
}

// asked is the command of step 1 that asks the cluster.
func (p *departure) asked() []string { return p.steps[0].Run[:1] }

// upTo returns the steps before the point, and the point.
func (p *departure) upTo() ([]adopt.Step, adopt.Step) {
	point := slices.IndexFunc(p.steps, func(s adopt.Step) bool { return s.Irreversible })
	return p.steps[:point], p.steps[point]
}

// page returns the plan as a person reads it.
func (n *night) page() (string, error) {
	data, err := os.ReadFile(filepath.Join(n.dir, "plan.md"))
	return string(data), err
}

// broughtBack has marks of Argo CD on the Subscription, the group and the CSV. A step of the plan names each.
func (n *night) broughtBack(ctx context.Context) error {
	marks := "kubectl annotate subscriptions.operators.coreos.com --all -n $ns argocd.argoproj.io/tracking-id%s\n" +
		"kubectl label operatorgroups.operators.coreos.com --all -n $ns app.kubernetes.io/instance%s\n" +
		"kubectl annotate clusterserviceversions.operators.coreos.com " + n.csvs[0] +
		" -n $ns argocd.argoproj.io/tracking-id%s"
	if err := n.does(ctx, fmt.Sprintf(marks, "=subs:x", "=groups", "=csvs:x")); err != nil {
		return err
	}
	p, err := n.plan(ctx, plain)
	if err != nil {
		return err
	}
	page, err := n.page()
	if err != nil {
		return err
	}
	_, step, found := strings.Cut(page, "## 2. Stop what would bring the operators back")
	step, _, _ = strings.Cut(step, "\n## ")
	for _, of := range []string{"subs (Subscription " + n.Namespace + "/",
		"groups, if there is one: its label is on them (OperatorGroup " + n.Namespace + "/",
		"csvs (ClusterServiceVersion " + n.Namespace + "/" + n.csvs[0] + ")"} {
		if !found || !strings.Contains(step, "Argo CD's Application "+of) {
			return fmt.Errorf("the plan does not say who brings the operators back: %q in %s", of, step)
		}
	}
	// taking the marks away is a change of what the plan is of
	if err := n.does(ctx, fmt.Sprintf(marks, "-", "-", "-")); err != nil {
		return err
	}
	err = n.refuses(ctx, p, "marks that are gone", p.asked(), "metadata.annotations", "metadata.labels")
	if err != nil {
		return err
	}
	n.say("the plan names who brings back the Subscriptions, the OperatorGroup and a ClusterServiceVersion")
	return nil
}

// edited has somebody edit what is rendered after the dump. The first command of step 1 refuses each edit, with OLM
// running, and lets through what is undone.
func (n *night) edited(ctx context.Context) error {
	if _, err := n.quiet(ctx); err != nil {
		return err
	}
	p, err := n.plan(ctx, plain)
	if err != nil {
		return err
	}
	role := "kubectl patch role " + n.role + " -n $ns "
	image := fmt.Sprintf("image=$(kubectl get deployment %s -n $ns -o "+
		`'jsonpath={.spec.template.spec.containers[?(@.name=="%s")].image}')`, n.deployment, n.container) +
		"\nkubectl set image deployment/" + n.deployment + " -n $ns " + n.container + "="
	for _, edit := range []struct{ do, undo, field string }{
		{image + `"$image-hotfix"`, image + `"${image%-hotfix}"`, "image"},
		{role + `--type=json -p '[{"op":"add","path":"/rules/-","value":{"apiGroups":[""],"resources":["secrets"],` +
			`"verbs":["get"]}}]'`,
			"at=$(kubectl get role " + n.role + " -n $ns -o go-template='{{len .rules}}')\n" + role +
				`--type=json -p '[{"op":"remove","path":"/rules/'$((at-1))'"}]'`, "rules"},
	} {
		if err := n.does(ctx, edit.do); err != nil {
			return err
		}
		if err := n.refuses(ctx, p, edit.do, p.asked(), edit.field, "since the dump"); err != nil {
			return err
		}
		if err := n.does(ctx, edit.undo); err != nil {
			return err
		}
		if _, err := n.quiet(ctx); err != nil {
			return err
		}
		if _, err := n.follow(ctx, p, "undone: "+edit.do, p.asked()); err != nil {
			return err
		}
	}
	n.say("an edited image and an added rule after the dump: step 1 refuses each until it is undone")
	return nil
}

// stopped returns the commands by which a person stops the pods of a Deployment, and starts them.
func (n *night) stopped() (stop, start string) {
	patch := "kubectl patch deployment " + n.deployment + ` -n $ns --type=merge -p '{"spec":{"replicas":%s}}'`
	return fmt.Sprintf(patch, "0"), fmt.Sprintf(patch, n.replicas)
}

// goingDeployment has somebody delete a Deployment that a foreign finalizer keeps. Step 1 refuses. OLM is down, because
// it would write the Deployment without the finalizer.
func (n *night) goingDeployment(ctx context.Context) error {
	p, err := n.plan(ctx, plain)
	if err != nil {
		return err
	}
	n.cluster.StopOLM()
	const finalizers = `kubectl patch deployment %s -n $ns --type=merge -p '{"metadata":{"finalizers":%s}}'`
	err = n.does(ctx, fmt.Sprintf(finalizers, n.deployment, `["example.com/audit"]`)+"\nkubectl delete deployment "+
		n.deployment+" -n $ns --wait=false")
	if err != nil {
		return err
	}
	if err := n.refuses(ctx, p, "a Deployment that is being deleted", p.asked(), "is being deleted"); err != nil {
		return err
	}
	if err := n.does(ctx, fmt.Sprintf(finalizers, n.deployment, "null")); err != nil {
		return err
	}
	if err := n.cluster.RunOLM(ctx); err != nil {
		return err
	}
	if _, err := n.until(ctx, func(s *adopt.State) error {
		if s.Dump.Get("Deployment", n.Namespace, n.deployment) == nil {
			return errors.New("OLM has not made the Deployment again")
		}
		return nil
	}); err != nil {
		return err
	}
	n.say("a Deployment with a foreign finalizer is deleted: step 1 refuses")
	return nil
}

// goingCSV has somebody delete a CSV in background while OLM is down: OLM's finalizer keeps it. The guard refuses, and
// the Deployments are there. OLM, which starts again, then takes the operator away.
func (n *night) goingCSV(ctx context.Context) error {
	if _, err := n.quiet(ctx); err != nil {
		return err
	}
	p, err := n.plan(ctx, plain)
	if err != nil {
		return err
	}
	steps, point := p.upTo()
	if _, err := n.run(ctx, p, steps); err != nil {
		return err
	}
	if err := n.editedBeforePoint(ctx, p, point); err != nil {
		return err
	}
	err = n.does(ctx, "kubectl delete clusterserviceversions.operators.coreos.com "+n.csvs[0]+" -n $ns --wait=false")
	if err != nil {
		return err
	}
	err = n.refuses(ctx, p, "a CSV that is deleted in background", point.Guard, n.csvs[0]+": is being deleted")
	now, _, failed := n.dump(ctx)
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	for _, o := range p.before.Dump.OfKind("Deployment") {
		err := same(o, now.Dump.Get(o.Kind, o.Namespace, o.Name))
		if err != nil && o.Namespace == n.Namespace && o.Name != n.deployment {
			return err
		}
		if err := sameObject(o, now.Dump.Get(o.Kind, o.Namespace, o.Name)); err != nil {
			return err
		}
	}
	n.say("replicas are 0, or a ClusterServiceVersion is deleted in background, while OLM is down: the guard " +
		"refuses, and the Deployments are there")
	return nil
}

// editedBeforePoint has somebody stop the pods of a Deployment after the take-over. The guard, which ends with the
// question of step 1, refuses until it is undone. A running OLM starts the pods again at once.
func (n *night) editedBeforePoint(ctx context.Context, p *departure, point adopt.Step) error {
	stop, start := n.stopped()
	if err := n.does(ctx, stop); err != nil {
		return err
	}
	if err := n.refuses(ctx, p, stop, point.Guard, "spec.replicas", "and is 0"); err != nil {
		return err
	}
	if err := n.does(ctx, start); err != nil {
		return err
	}
	_, err := n.follow(ctx, p, "undone: "+stop, point.Guard)
	return err
}

// halfWay has Deployments that are scaled before and after the dump, a foreign finalizer on the ClusterServiceVersion
// that is deleted last, and a step that ends half-way. The whole step is run again each time.
func (n *night) halfWay(ctx context.Context) error {
	scale := "kubectl scale deployment " + n.deployment + " -n $ns --replicas="
	last := n.csvs[len(n.csvs)-1]
	if err := n.does(ctx, fmt.Sprintf(addFinalizer, last)); err != nil {
		return err
	}
	if _, err := n.quiet(ctx); err != nil {
		return err
	}
	n.cluster.StopOLM() // it writes the replicas of a Deployment that is not ready yet
	if err := n.does(ctx, scale+"3"); err != nil {
		return err
	}
	n.managed = true
	p, err := n.plan(ctx, plain)
	if err != nil {
		return err
	}
	file, err := os.ReadFile(filepath.Join(n.dir, "olmgen.yaml"))
	page, failed := n.page()
	switch {
	case errors.Join(err, failed) != nil:
		return errors.Join(err, failed)
	case !strings.Contains(string(file), "replicas: null"):
		return fmt.Errorf("the file does not leave the replicas to who scales: %s", file)
	case !strings.Contains(page, last+" has the finalizer example.com/audit: "):
		return fmt.Errorf("the plan does not name the finalizer: %s", page)
	}
	if err := n.does(ctx, scale+"4"); err != nil {
		return err
	}
	steps, point := p.upTo()
	if _, err := n.run(ctx, p, steps); err != nil {
		return err
	}
	if err := n.replaced(); err != nil {
		return err
	}
	if err := n.deletedInTurns(ctx, p, point, last); err != nil {
		return err
	}
	if _, err := n.run(ctx, p, p.steps[len(steps)+1:]); err != nil {
		return err
	}
	after, err := n.quiet(ctx)
	if err != nil {
		return err
	}
	if err := n.left(p, after); err != nil {
		return err
	}
	n.say("step 4 ended after one ClusterServiceVersion, and again at a foreign finalizer: the whole step goes on " +
		"each time, and the replicas are those of kubectl scale")
	_, err = n.follow(ctx, p, "way back", p.back)
	return err
}

// addFinalizer adds a foreign finalizer to a ClusterServiceVersion, and dropFinalizer takes it away.
const (
	addFinalizer = "kubectl patch clusterserviceversions.operators.coreos.com %s -n $ns --type=json " +
		`-p '[{"op":"add","path":"/metadata/finalizers/-","value":"example.com/audit"}]'`
	dropFinalizer = "kubectl patch clusterserviceversions.operators.coreos.com %s -n $ns --type=merge " +
		`-p '{"metadata":{"finalizers":null}}'`
)

// replaced holds that the take-over has kept what it was about to replace.
func (n *night) replaced() error {
	data, err := os.ReadFile(filepath.Join(n.dir, "before", "replaced.yaml"))
	if err == nil && (!strings.Contains(string(data), "name: "+n.deployment+"\n") ||
		!strings.Contains(string(data), "replicas: 4\n") || !strings.Contains(string(data), "manager: olm\n")) {
		err = fmt.Errorf("before/replaced.yaml has not what applying replaced, but %d bytes", len(data))
	}
	return err
}

// deletedInTurns runs the step at the point: as if it was killed after the first ClusterServiceVersion, then until it
// waits for a finalizer, where it is killed, and then as a whole.
func (n *night) deletedInTurns(ctx context.Context, p *departure, point adopt.Step, last string) error {
	if _, err := n.follow(ctx, p, "guard", point.Guard); err != nil {
		return err
	}
	first := slices.Concat(point.Run[:1], []string{"operators=$(echo \"$operators\" | grep -v '^" + last + " ')"},
		point.Run[1:])
	if _, err := n.follow(ctx, p, "the first ClusterServiceVersion", first); err != nil {
		return err
	}
	killed := point.Run[len(point.Run)-1]
	waits := "timeout -s KILL 20 sh -c " + text.Shell("set -eu\n"+p.lists+"\n"+killed) +
		" && { echo the delete does not wait; exit 1; } || true"
	if _, err := n.follow(ctx, p, "guard, and a delete that waits", slices.Concat(point.Guard,
		point.Run[:len(point.Run)-1], []string{waits})); err != nil {
		return err
	}
	if _, err := n.follow(ctx, p, "guard while a delete waits", point.Guard); err != nil {
		return err
	}
	if err := n.does(ctx, fmt.Sprintf(dropFinalizer, last)); err != nil {
		return err
	}
	_, err := n.run(ctx, p, []adopt.Step{point})
	return err
}

// left holds that the ClusterServiceVersions are gone, and that the Deployments are the same, with the replicas that
// somebody has scaled to.
func (n *night) left(p *departure, after *adopt.State) error {
	for _, name := range n.csvs {
		if after.Dump.Get("ClusterServiceVersion", n.Namespace, name) != nil {
			return fmt.Errorf("%s is still there", name)
		}
	}
	for _, o := range p.before.Dump.OfKind("Deployment") {
		if err := sameObject(o, after.Dump.Get(o.Kind, o.Namespace, o.Name)); err != nil {
			return err
		}
	}
	now := after.Dump.Get("Deployment", n.Namespace, n.deployment).Value()
	if replicas, _, _ := unstructured.NestedFieldNoCopy(now, "spec", "replicas"); fmt.Sprint(replicas) != "4" {
		return fmt.Errorf("a Deployment was scaled to 4, and has %v replicas: %s", replicas, n.deployment)
	}
	return nil
}

// olmDeployed makes the Deployments of OLM, which runs without them here: a plan reads off them whether OLM is down.
func (n *night) olmDeployed(ctx context.Context) error {
	n.deployed = true
	for _, name := range []string{"olm-operator", "catalog-operator"} {
		if err := n.does(ctx, "kubectl create deployment "+name+" -n olm --image=olm"); err != nil {
			return err
		}
	}
	return nil
}
