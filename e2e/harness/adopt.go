package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/cmd/e2e/harness/access"
	"github.com/olmgen/olmgen/cmd/e2e/harness/apply"
	"github.com/olmgen/olmgen/cmd/e2e/harness/live"
	"github.com/olmgen/olmgen/cmd/internal/adopt"
	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/catalog"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/golden/equal"
	recordings "github.com/olmgen/olmgen/golden/live"
)

// adoptCases are the recordings that are adopted: several operators, webhooks, an APIService, a selector, a
// Subscription with config, a static group.
var adoptCases = []string{"gates-multi", "group-with-selector", "group-with-static-apis", "meters-own",
	"subscription-config-own", "two-operators-in-a-global-group", "two-operators-in-one-group"}

// rotated are the cases whose certificates OLM makes anew.
var rotated = []string{"gates-multi", "meters-own"}

// shortest is the case that is for every day: it undoes no steps, and asks a third of the questions.
const shortest = "group-with-selector"

// adopt installs cases with OLM, takes them over, and has them leave OLM and come back.
func (o options) adopt(ctx context.Context, _ material) error {
	cases, err := recordings.Cases(o.golden())
	if err != nil {
		return err
	}
	cases = slices.DeleteFunc(cases, func(c equal.Case) bool { return !slices.Contains(adoptCases, c.Name) })
	cases = append(append(cases, upgraded, edited, atNight, certified), threes...)
	cases = slices.DeleteFunc(cases, func(c equal.Case) bool { return !o.only.MatchString(c.Name) })
	return errors.Join(o.looked("adopt", len(cases)), o.report(ctx, "adopt", cases, o.adoptOne))
}

// adoption is a cluster that is taken over.
type adoption struct {
	options
	equal.Case
	cluster   *cluster.Cluster
	catalog   *catalog.Served // that the operators came from
	dir       string          // in which the commands of a plan run
	asker     *access.Asker
	interview interview
	answers   access.Answers // while OLM runs the operators
	resources []resource     // of the operators' APIs
	departed  *departure     // how OLM was left
	kills     bool           // commands are killed once, and run again
	returned  bool           // OLM was left, and has the operators again
	managed   bool           // dumps for plans have managed fields
	deployed  bool           // there are Deployments of OLM

	certManager bool // runs, and makes the certificates of those that leave
}

func (o options) adoptOne(ctx context.Context, what equal.Case) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 40*time.Minute)
	defer cancel()
	if why := o.withoutCerts(); why != "" && what.Name == certified.Name {
		return why, nil
	}
	a, err := o.installed(ctx, what)
	if err != nil {
		return "", err
	}
	defer a.stop()
	switch {
	case what.Name == upgraded.Name:
		return a.upgrade(ctx)
	case what.Name == edited.Name:
		return a.edits(ctx)
	case what.Name == atNight.Name:
		return "all as it should be", a.night(ctx)
	case a.certManager:
		return "all as it should be", a.switches(ctx)
	case rounds[what.Name] != nil:
		return "all as it should be", a.rounds(ctx)
	}
	return "all as it should be", a.stages(ctx)
}

// installed starts a cluster in which OLM has installed a case. Stop it.
func (o options) installed(ctx context.Context, what equal.Case) (a *adoption, err error) {
	var with []cluster.Option
	if what.Name == certified.Name {
		with = append(with, cluster.WithWebhooks)
	}
	c, err := cluster.Start(ctx, o.bin(), o.files(), with...)
	if err != nil {
		return nil, err
	}
	a = &adoption{options: o, Case: what, cluster: c, certManager: len(with) > 0}
	defer func() {
		if err != nil {
			a.stop()
		}
	}()
	c.Resync = resync
	if err := c.StartOLM(ctx); err != nil {
		return nil, err
	}
	if err := installPackageServer(ctx, c); err != nil {
		return nil, err
	}
	var recorded *live.Recording
	recorded, a.catalog, err = live.Install(ctx, c, o.golden(), what)
	if err != nil {
		return nil, err
	}
	if recorded.Case.Options().Incomplete {
		return nil, fmt.Errorf("OLM did not install it: %s", recorded.Case.Message)
	}
	a.dir, err = os.MkdirTemp("", "olmgen-adopt-")
	return a, err
}

// stop ends the cluster.
func (a *adoption) stop() {
	if a.catalog != nil {
		a.catalog.Stop()
	}
	a.cluster.Stop()
	if a.dir != "" {
		os.RemoveAll(a.dir)
	}
}

// stages goes through what is proven of a case, and prints each proof.
func (a *adoption) stages(ctx context.Context) error {
	_, data, err := a.dump(ctx)
	if err != nil {
		return err
	}
	if a.update {
		file := filepath.Join(a.root, "cmd", "internal", "adopt", "testdata", a.Name+".yaml")
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return err
		}
	}
	stages := []func(context.Context) error{a.prepare, a.takeOver}
	if slices.Contains(rotated, a.Name) {
		stages = append(stages, a.rotate)
	}
	if path, _ := exec.LookPath("kubectl"); path == "" {
		a.say("there is no kubectl for the plan")
	} else {
		if a.Name != shortest {
			stages = append(stages, a.undo)
		}
		stages = append(stages, a.leave, a.comeBack)
	}
	for _, stage := range stages {
		if err := stage(ctx); err != nil {
			return err
		}
	}
	return nil
}

// say prints one line about what is proven.
func (a *adoption) say(format string, args ...any) {
	fmt.Printf("adopt: %s: %s\n", a.Name, fmt.Sprintf(format, args...))
}

// dump returns what kubectl would print, read and as text.
func (a *adoption) dump(ctx context.Context) (*adopt.State, []byte, error) {
	data, err := clusterDump(ctx, a.cluster)
	if err != nil {
		return nil, nil, err
	}
	d, err := dump.Read(ctx, []string{"-"}, bytes.NewReader(data))
	if err != nil {
		return nil, nil, err
	}
	s, err := adopt.Read(d)
	return s, data, err
}

// sources returns the bundles by CSV.
func (a *adoption) sources() (map[string]string, error) {
	sources := map[string]string{}
	for _, dir := range append([]string{a.Bundle}, a.With...) {
		b, err := catalog.Read(filepath.Join(a.golden(), dir))
		if err != nil {
			return nil, err
		}
		sources[b.Name] = filepath.Join(a.golden(), dir)
	}
	return sources, nil
}

// render declares the operators in a form, and renders what is declared. edit changes what is declared, as a person
// does; it may be nil.
func (a *adoption) render(ctx context.Context, s *adopt.State, o adopt.Options,
	edit func(string) string) (values []map[string]any, tree apply.Tree, err error) {
	o.File, o.Directory = "olmgen.yaml", "operators"
	if o.Sources, err = a.sources(); err != nil {
		return nil, tree, err
	}
	file, err := adopt.Declare(s, o)
	if err != nil {
		return nil, tree, err
	}
	if edit != nil {
		file = []byte(edit(string(file)))
	}
	c, err := config.Read(o.File, file)
	if err != nil {
		return nil, tree, err
	}
	r, err := c.Render(ctx, config.Options{Dir: a.dir})
	if err != nil {
		return nil, tree, err
	}
	for _, x := range r.Objects {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(x.Data, &object.Object); err != nil {
			return nil, tree, err
		}
		tree.Objects = append(tree.Objects, object)
		values = append(values, object.Object)
	}
	return values, tree, nil
}

// takeOver applies what is rendered over what OLM made, by another field manager. Nothing may change, not even after
// OLM has looked at it, and nobody may gain or lose a right.
func (a *adoption) takeOver(ctx context.Context) error {
	before, _, err := a.dump(ctx)
	if err != nil {
		return err
	}
	values, tree, err := a.render(ctx, before, adopt.Options{}, nil)
	if err != nil {
		return err
	}
	for _, f := range before.Verify(values).Findings() {
		if f.Level != findings.Note {
			err = errors.Join(err, fmt.Errorf("%s: %s: %s", f.Object, f.Field, f.Message))
		}
	}
	if err != nil {
		return err
	}
	applier := apply.New(a.cluster)
	applier.Force = true
	if _, errs := applier.Apply(ctx, tree); len(errs) > 0 {
		return errors.Join(errs...)
	}
	const settle = 6 * time.Second
	time.Sleep(settle)
	after, _, err := a.dump(ctx)
	if err != nil {
		return err
	}
	if err := allSame(before.Dump, after.Dump); err != nil {
		return err
	}
	n := len(before.Dump.Objects)
	a.say("taken over: %d objects applied, none of %d changed", len(tree.Objects), n)
	return a.sameAnswers(ctx, "after the take-over")
}

// dumpKinds are what "olmgen adopt --print-kubectl" asks for.
func dumpKinds() (kinds []string) {
	for _, k := range dump.Kinds {
		kinds = append(kinds, k.Kind)
	}
	return kinds
}

// clusterDump returns what kubectl prints of these kinds. It leaves out what the API server and OLM themselves bring.
func clusterDump(ctx context.Context, c *cluster.Cluster) ([]byte, error) {
	all, err := c.Objects(ctx, []string{"Event", "Secret"})
	if err != nil {
		return nil, err
	}
	kinds := dumpKinds()
	var items []any
	for _, u := range all {
		system := strings.HasPrefix(u.GetName(), "system:") ||
			strings.HasSuffix(u.GetName(), ".operators.coreos.com") ||
			u.GetName() == "kube-root-ca.crt" || strings.HasPrefix(u.GetName(), "extension-apiserver-") ||
			strings.HasPrefix(u.GetName(), access.Canary)
		if system || !slices.Contains(kinds, u.GetKind()) {
			continue
		}
		unstructured.RemoveNestedField(u.Object, "metadata", "managedFields") // kubectl hides it
		items = append(items, u.Object)
	}
	return yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items,
		"metadata": map[string]any{"resourceVersion": ""}})
}
