package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
	"github.com/olmgen/olmgen/golden/admissioncase"
	"github.com/olmgen/olmgen/internal/olm"
)

// OLM v1 takes its CRDs from $OLMGEN_OLMV1_CRDS.
const olmV1CRDs = "v1.11.0"

// admitter sends requests to an API server that has the policies of a pin.
type admitter struct {
	*cluster.Cluster
	root string // the checkout
	dir  string // of the requests
	v1   bool   // OLM v1's CRDs are there

	meanwhile int // requests while policies reload
}

// admission installs the policies of a pin, of the change to the next one, and of that, and sends each request: it
// passes, or is refused with the message.
func (o options) admission(ctx context.Context, _ material) error {
	started := time.Now()
	c, err := cluster.Start(ctx, o.bin(), o.files())
	if err != nil {
		return err
	}
	defer c.Stop()
	a := &admitter{Cluster: c, root: o.root,
		dir: filepath.Join(o.root, filepath.FromSlash(admissionPackage), "testdata")}
	if err := a.prepare(ctx); err != nil {
		return err
	}
	requests, err := admissioncase.Read(filepath.Join(a.dir, "requests.yaml"))
	if err != nil {
		return err
	}
	states, err := a.states()
	if err != nil {
		return err
	}
	sent := 0
	for _, s := range states {
		if err := a.apply(ctx, &s.policies, s.probe); err != nil {
			return fmt.Errorf("admission: %s: %w", s.name, err)
		}
		for _, r := range requests {
			if !a.v1 && admissioncase.Resource(r.Kind).Group == olm.GroupV1 || !o.only.MatchString(r.Name) {
				continue
			}
			sent++
			if failed := a.send(ctx, r, slices.Contains(r.Passes, s.name)); failed != nil {
				err = errors.Join(err, fmt.Errorf("admission: %s: %s: %w", s.name, r.Name, failed))
			}
		}
	}
	if err == nil {
		err = a.many(ctx)
	}
	if err != nil {
		return err
	}
	fmt.Printf("admission: %d requests as expected, %d more while policies reload, %.0fs\n", sent, a.meanwhile,
		time.Since(started).Seconds())
	return nil
}

func (a *admitter) prepare(ctx context.Context) error {
	if err := a.InstallOLMCRDs(ctx); err != nil {
		return err
	}
	if dir := os.Getenv("OLMGEN_OLMV1_CRDS"); dir != "" {
		if err := a.InstallCRDs(ctx, filepath.Join(dir, olmV1CRDs, "standard")); err != nil {
			return err
		}
		a.v1 = true
	} else {
		fmt.Println("OLMGEN_OLMV1_CRDS is not set: no requests about OLM v1")
	}
	for _, name := range []string{"olm", "operators", "monitoring", "sandbox"} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		_, err := a.Client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{})
		if cluster.Exists(err) != nil {
			return err
		}
	}
	return nil
}

func (a *admitter) read(name string, into any) error {
	data, err := os.ReadFile(filepath.Join(a.dir, name))
	if err != nil {
		return err
	}
	return yaml.UnmarshalStrict(data, into)
}

// state is what is pinned. Its probe is the name of a ClusterServiceVersion by which the policies of this state differ
// from those before: an InstallPlan with it passes or not.
type state struct {
	name     string
	policies policies
	probe    map[string]bool
}

// policies are what the policies of a pin take and whom they do not ask, as the lock of a pin has it.
type policies struct {
	Namespaces []string `json:"exemptNamespaces,omitempty"`
	Users      []string `json:"exemptUsers,omitempty"`
	Groups     []string `json:"exemptGroups,omitempty"`
	Facts      any      `json:"facts"`
	Previous   any      `json:"previous,omitempty"`
}

// objects has a test of the package write the policies: no program takes facts.
func (a *admitter) objects(ctx context.Context, p *policies) (objects []*unstructured.Unstructured, err error) {
	dir, err := os.MkdirTemp("", "olmgen-e2e-admission-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	data, err := yaml.Marshal(p)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "pin.yaml")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-run", "^TestWrite$", "./"+admissionPackage)
	cmd.Dir, cmd.Env = a.root, append(os.Environ(), "OLMGEN_POLICIES="+file)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	if data, err = os.ReadFile(file + ".objects"); err != nil {
		return nil, err
	}
	for _, text := range strings.Split(string(data), "---\n")[1:] {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
			return nil, err
		}
		objects = append(objects, u)
	}
	return objects, nil
}

// admissionPackage is the directory of the package that makes the policies.
const admissionPackage = "cmd/internal/pin/admission"

func (a *admitter) states() ([]state, error) {
	var before, now map[string]any
	if err := errors.Join(a.read("before.yaml", &before), a.read("now.yaml", &now)); err != nil {
		return nil, err
	}
	e := policies{Namespaces: []string{"sandbox"}, Groups: []string{"sre"},
		// the harness itself makes what was there before
		Users: []string{"break-glass", "admin", "system:serviceaccount:ops:fixer"}}
	with := func(facts, previous map[string]any) policies {
		p := e
		if p.Facts = facts; previous != nil {
			p.Previous = previous
		}
		return p
	}
	return []state{
		{"before", with(before, nil), map[string]bool{"etcd.v0.9.2": true, "etcd.v0.9.5": false}},
		{"change", with(now, before), map[string]bool{"etcd.v0.9.2": true, "etcd.v0.9.5": true}},
		{"now", with(now, nil), map[string]bool{"etcd.v0.9.2": false, "etcd.v0.9.5": true}},
	}, nil
}

// apply applies policies as a GitOps engine does, and waits until the API server uses them: it loads them one by one
// and in no order.
func (a *admitter) apply(ctx context.Context, p *policies, probe map[string]bool) error {
	objects, err := a.objects(ctx, p)
	if err != nil {
		return err
	}
	during := a.during(ctx)
	for _, u := range objects {
		if _, err := a.Apply(ctx, u, metav1.PatchOptions{FieldManager: "e2e", FieldValidation: "Strict"}); err != nil {
			return err
		}
	}
	// The API server reads its policies anew once a second (Kubernetes:
	// k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_source.go).
	if err := a.loaded(ctx, probe); err != nil {
		return err
	}
	return errors.Join(sleep(ctx, 3*time.Second), during())
}

// during sends requests that are valid in every state until the function that it returns is called, which returns the
// refusals.
func (a *admitter) during(ctx context.Context) func() error {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	requests := []admissioncase.Request{installPlan(always), {Kind: "Subscription", Namespace: "operators",
		Spec: map[string]any{"name": "prometheus", "channel": "beta", "source": "community-pinned",
			"sourceNamespace": "olm"}}}
	go func() {
		var refused error
		for ctx.Err() == nil {
			for _, r := range requests {
				if err := a.send(ctx, r, true); err != nil && ctx.Err() == nil {
					refused = errors.Join(refused, fmt.Errorf("while policies reload: %s: %w", r.Kind, err))
				}
			}
			a.meanwhile += len(requests)
		}
		done <- refused
	}()
	return func() error {
		cancel()
		return <-done
	}
}

// always is a ClusterServiceVersion that is pinned in every state.
const always = "etcd.v0.9.4"

// installPlan is the creation of an InstallPlan that OLM approves itself.
func installPlan(names ...any) admissioncase.Request {
	return admissioncase.Request{Kind: "InstallPlan", Namespace: "operators", Spec: map[string]any{
		"approval": "Automatic", "approved": true, "clusterServiceVersionNames": names}}
}

// loaded waits until InstallPlans with one ClusterServiceVersion each pass or not.
func (a *admitter) loaded(ctx context.Context, probe map[string]bool) error {
	return a.Wait(ctx, "the use of the policies", func() (err error) {
		for name, passes := range probe {
			err = errors.Join(err, a.send(ctx, installPlan(name), passes))
		}
		return err
	})
}

// send makes what was there before as a user who is exempt, and sends a request as another one.
func (a *admitter) send(ctx context.Context, r admissioncase.Request, passes bool) error {
	now, old := r.Objects()
	if old != nil {
		remove, err := create(ctx, of(a.Dynamic, now), old)
		if err != nil {
			return fmt.Errorf("before the request: %w", err)
		}
		defer remove()
	}
	as := rest.CopyConfig(a.Config)
	as.Impersonate = rest.ImpersonationConfig{UserName: "somebody",
		Groups: []string{"system:masters", "system:authenticated"}}
	if r.User != "" {
		as.Impersonate.UserName = r.User
	}
	if r.Group != "" {
		as.Impersonate.Groups = append(as.Impersonate.Groups, r.Group)
	}
	client, err := dynamic.NewForConfig(as)
	if err != nil {
		return err
	}
	return judge(passes, r.Says, a.request(ctx, of(client, now), r, now))
}

// request sends a request, and changes nothing.
func (a *admitter) request(ctx context.Context, client dynamic.ResourceInterface, r admissioncase.Request,
	now *unstructured.Unstructured,
) error {
	dry := []string{metav1.DryRunAll}
	if r.Old == nil {
		_, err := client.Create(ctx, now, metav1.CreateOptions{DryRun: dry, FieldValidation: "Strict"})
		return err
	}
	if r.Delete {
		return client.Delete(ctx, now.GetName(), metav1.DeleteOptions{DryRun: dry})
	}
	current, err := client.Get(ctx, now.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	current.Object["spec"] = now.Object["spec"]
	current.SetFinalizers(now.GetFinalizers())
	current.SetLabels(now.GetLabels())
	if r.Subresource == "status" {
		current.Object["status"] = now.Object["status"]
		_, err := client.UpdateStatus(ctx, current, metav1.UpdateOptions{DryRun: dry, FieldValidation: "Strict"})
		return err
	}
	_, err = client.Update(ctx, current, metav1.UpdateOptions{DryRun: dry, FieldValidation: "Strict"})
	return err
}

// create makes the object that a request updates, with its status.
func create(ctx context.Context, client dynamic.ResourceInterface, old *unstructured.Unstructured) (
	remove func(), err error,
) {
	made, err := client.Create(ctx, old, metav1.CreateOptions{FieldValidation: "Strict"})
	if err != nil {
		return nil, err
	}
	if status := old.Object["status"]; status != nil {
		made.Object["status"] = status
		if made, err = client.UpdateStatus(ctx, made, metav1.UpdateOptions{FieldValidation: "Strict"}); err != nil {
			return nil, err
		}
	}
	return func() {
		if len(made.GetFinalizers()) > 0 {
			_, _ = client.Patch(ctx, made.GetName(), "application/merge-patch+json",
				[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		}
		_ = client.Delete(ctx, made.GetName(), metav1.DeleteOptions{})
	}, nil
}

func of(client dynamic.Interface, u *unstructured.Unstructured) dynamic.ResourceInterface {
	c := client.Resource(admissioncase.Resource(u.GetKind()))
	if u.GetNamespace() == "" {
		return c
	}
	return c.Namespace(u.GetNamespace())
}

// judge compares what the API server says with what it should say.
func judge(passes bool, says string, err error) error {
	switch {
	case passes && err != nil:
		return fmt.Errorf("is refused: %w", err)
	case passes:
		return nil
	case err == nil:
		return errors.New("passes")
	case !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "denied request: ") ||
		!strings.Contains(err.Error(), says):
		return fmt.Errorf("is refused with another message than %q: %w", says, err)
	}
	return nil
}

// operators is how many operators a pin holds at a time; each has releases on the way to what is approved.
const operators, releases = 300, 10

// many pins many operators with long names: everything on the list passes within the API server's limits, in one
// InstallPlan too, and what is not is refused.
func (a *admitter) many(ctx context.Context) error {
	f := manyFacts()
	previous := manyFacts()
	for i := range previous.CSVs {
		previous.CSVs[i] += "-before"
	}
	probe := map[string]bool{f.CSVs[1]: true, "etcd.v0.9.5": false}
	if err := a.apply(ctx, &policies{Facts: f, Previous: previous}, probe); err != nil {
		return fmt.Errorf("admission: %d operators: %w", operators, err)
	}
	var names []any
	for i := range operators {
		names = append(names, f.CSVs[1+i*releases])
	}
	err := a.send(ctx, installPlan(names...), true)
	refused := installPlan(append(names, "stranger.v1.0.0")...)
	refused.Says = "not pinned: stranger.v1.0.0; change clusters/prod"
	err = errors.Join(err, a.send(ctx, refused, false))
	for _, s := range f.Subscriptions {
		r := admissioncase.Request{Kind: "Subscription", Namespace: s.Namespace, Spec: map[string]any{
			"name": s.Package, "channel": s.Channel, "source": s.Source, "sourceNamespace": s.SourceNamespace}}
		err = errors.Join(err, a.send(ctx, r, true))
	}
	if err != nil {
		return fmt.Errorf("admission: %d operators: %w", operators, err)
	}
	return nil
}

// admitted are facts of OLM v0.
type admitted struct {
	CSVs           []string            `json:"csvs"`
	Subscriptions  []subscribed        `json:"subscriptions"`
	CatalogSources []map[string]string `json:"catalogSources"`
}

type subscribed struct {
	Namespace       string `json:"namespace"`
	Package         string `json:"package"`
	Channel         string `json:"channel"`
	Source          string `json:"source"`
	SourceNamespace string `json:"sourceNamespace"`
	File            string `json:"file,omitempty"`
}

func manyFacts() (f admitted) {
	const digest = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
	f.CSVs = []string{always}
	f.Subscriptions = []subscribed{{Namespace: "operators", Package: "prometheus", Channel: "beta",
		Source: "community-pinned", SourceNamespace: "olm"}}
	f.CatalogSources = []map[string]string{{"namespace": "olm", "name": "redhat-operators-pinned",
		"image": "registry.example.com/pin@" + digest}}
	for i := range operators {
		name := fmt.Sprintf("openshift-cluster-logging-operator-%03d", i)
		for k := range releases {
			f.CSVs = append(f.CSVs, fmt.Sprintf("%s.v4.16.%d-202607120934", name, k))
		}
		f.Subscriptions = append(f.Subscriptions, subscribed{Namespace: "operators", Package: name,
			Channel: "stable-4.16", Source: "redhat-operators-pinned", SourceNamespace: "olm",
			File: "clusters/prod/" + name + "/subscription.yaml"})
	}
	return f
}
