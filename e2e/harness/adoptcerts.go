package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olmgen/olmgen/cmd/internal/adopt"
	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
	"github.com/olmgen/olmgen/golden/equal"
)

// certified is a cluster with cert-manager, and with two operators that OLM has made certificates for: admission
// webhooks, a conversion and APIServices. The API server calls them.
var certified = equal.Case{Name: "to-cert-manager", Bundle: "webhooks/bundle", With: []string{"live-bundles/meters"},
	InstallMode: "AllNamespaces", Namespace: "operator-ns", OperatorGroup: "my-og"}

// switchTitle is that of the step of a plan.
const switchTitle = "Switch to the certificates of cert-manager"

// withoutCerts says why the case cannot run here; "" if it can.
func (o options) withoutCerts() string {
	if _, err := os.Stat(filepath.Join(o.bin(), "cert-manager")); err != nil {
		return "NOT RUN: cert-manager is not built: make harness CHECK=adopt WITH=cert-manager"
	}
	if _, err := exec.LookPath("kubectl"); err != nil {
		return "NOT RUN: there is no kubectl for the plan"
	}
	return ""
}

// switching is an adoption by which cert-manager takes the certificates over.
type switching struct {
	*adoption
	*certCheck
}

// switches undoes the switch to the certificates of cert-manager, switches, and comes back to OLM's.
func (a *adoption) switches(ctx context.Context) error {
	err := errors.Join(startCertManager(ctx, a.cluster, a.bin()), a.cluster.Namespace(ctx, probeNamespace, nil))
	if err != nil {
		return fmt.Errorf("%w\n%s", err, a.cluster.Log("cert-manager"))
	}
	s := &switching{a, &certCheck{Cluster: a.cluster, counts: map[string]int{}}}
	if _, err = a.quiet(ctx); err == nil {
		err = s.ofOLM(ctx)
	}
	for _, fight := range []bool{false, true} {
		if err == nil {
			err = s.undone(ctx, fight)
		}
	}
	if err == nil {
		err = s.switched(ctx)
	}
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, complaints(a.cluster.Log("cert-manager/cert-manager")))
	}
	return err
}

// planned returns a plan with the certificates of cert-manager, and its step that switches to them.
func (s *switching) planned(ctx context.Context) (*departure, int, error) {
	p, err := s.plan(ctx, plain)
	if err != nil {
		return nil, 0, err
	}
	at := slices.IndexFunc(p.steps, func(x adopt.Step) bool { return x.Title == switchTitle })
	if at < 0 || len(p.steps[at].Undo) == 0 {
		return nil, 0, errors.New("the plan does not switch certificates, or does not undo that")
	}
	data, err := os.ReadFile(filepath.Join(s.dir, "plan.md"))
	if err != nil {
		return nil, 0, err
	}
	_, page, _ := strings.Cut(string(data), switchTitle)
	page, _, _ = strings.Cut(page, "\n## ")
	if !strings.Contains(string(data), "hand edits included, but no Secrets") {
		return nil, 0, errors.New("step 1 does not say that the backup has no Secrets")
	}
	for _, says := range []string{"operator-ns/rule-operator-service-cert", "operator-ns/gauge-operator-service-cert",
		"No backup has the Secrets", "restarts the pods of", "rule-operator.v1.0.0", "gauge-operator.v1.0.0"} {
		if !strings.Contains(page, says) {
			return nil, 0, fmt.Errorf("the step that switches certificates does not say %q: %s", says, page)
		}
	}
	return p, at, nil
}

// undone follows a plan through the switch, where each command is killed once and runs again, and undoes it. In a
// fight, somebody starts OLM before the undo.
func (s *switching) undone(ctx context.Context, fight bool) error {
	p, at, err := s.planned(ctx)
	if err != nil {
		return err
	}
	s.kills = true
	_, err = s.run(ctx, p, p.steps[:at+1])
	if err == nil {
		err = s.ofCertManager(ctx, p)
	}
	if err == nil && fight {
		err = s.fight(ctx, p, p.steps[at+1])
	}
	for i, step := range slices.Backward(p.steps[:at+1]) {
		if err == nil {
			_, err = s.follow(ctx, p, "undo "+step.Title, step.Undo)
		}
		if i == at && err == nil {
			err = soon(ctx, func() error { return s.gone(ctx) }) // what a Certificate owns goes in background
		}
	}
	s.kills = false
	if err != nil {
		return err
	}
	return s.back(ctx, p, "the undo of the switch")
}

// fight starts OLM after the switch, until it has written over a Secret. The guard refuses.
func (s *switching) fight(ctx context.Context, p *departure, point adopt.Step) error {
	was, err := s.certificates(ctx)
	if err = errors.Join(err, s.RunOLM(ctx)); err != nil {
		return err
	}
	defer s.StopOLM() // twice does no harm
	if err := soon(ctx, func() error {
		now, err := s.certificates(ctx)
		if err == nil && maps.Equal(was, now) {
			err = errors.New("OLM does not write over the Secrets of cert-manager")
		}
		return err
	}); err != nil {
		return err
	}
	s.StopOLM()
	if _, err := s.follow(ctx, p, "guard", point.Guard); err == nil {
		return errors.New("OLM and cert-manager write over one Secret, and the guard passes")
	}
	s.say("OLM runs before the point, and writes over the Secrets of cert-manager: the guard refuses")
	return nil
}

// back holds that OLM has its certificates again, and that nothing else has changed.
func (s *switching) back(ctx context.Context, p *departure, by string) error {
	after, err := s.until(ctx, func(*adopt.State) error { return s.ofOLM(ctx) })
	if err != nil {
		return fmt.Errorf("after %s: %w", by, err)
	}
	t := tolerance{certificates: true, kinds: []string{"Subscription"}}
	if s.returned {
		t.group, t.deleted = true, p.deletes
		t.kinds = append(t.kinds, "ClusterServiceVersion", "OperatorGroup", "OperatorCondition")
	}
	n, err := t.restored(p.before, after)
	var restarted []string
	for _, o := range p.before.Dump.OfKind("Deployment") {
		if now := after.Dump.Get(o.Kind, o.Namespace, o.Name); now != nil && same(o, now) != nil {
			restarted = append(restarted, o.Name)
		}
	}
	if want := []string{"gauge-operator", "rule-operator"}; err == nil && !slices.Equal(restarted, want) {
		err = fmt.Errorf("OLM restarted %q, not %q as the plan says", restarted, want)
	}
	if err = errors.Join(err, s.gone(ctx)); err != nil {
		return fmt.Errorf("after %s: %w", by, err)
	}
	s.say("after %s, OLM has made its certificates anew and restarted %s, as the plan says; nothing of cert-manager's "+
		"is left, each call succeeds, and %d objects are as before", by, strings.Join(restarted, " and "), n)
	return nil
}

// switched follows a plan to its end, and the way back.
func (s *switching) switched(ctx context.Context) error {
	p, at, err := s.planned(ctx)
	if err != nil {
		return err
	}
	_, err = s.run(ctx, p, p.steps[:at+1])
	if err == nil {
		err = s.ofCertManager(ctx, p)
	}
	if err != nil {
		return err
	}
	secrets, err := s.certificates(ctx)
	if err != nil {
		return err
	}
	if _, err := s.run(ctx, p, p.steps[at+1:]); err != nil {
		return err
	}
	after, err := s.quiet(ctx)
	if err != nil {
		return err
	}
	now, err := s.certificates(ctx)
	if err == nil && !maps.Equal(secrets, now) {
		err = errors.New("the Secrets are not those that cert-manager had made")
	}
	rendered := map[string]bool{}
	for _, u := range s.tree(p).Objects {
		if o := p.before.Dump.Get(u.GetKind(), u.GetNamespace(), u.GetName()); o != nil {
			rendered[o.Identity()] = true
			check := sameObject
			if o.Kind == "Deployment" {
				check = same
			}
			err = errors.Join(err, check(o, after.Dump.Get(o.Kind, o.Namespace, o.Name)))
		}
	}
	if err = errors.Join(err, p.others(after, rendered), s.ofCertManager(ctx, p)); err != nil {
		return fmt.Errorf("after the plan: %w", err)
	}
	s.say("left OLM: %d Certificates are Ready, their CA is in webhooks, APIServices and the conversion, each call "+
		"succeeds, and no Deployment has changed", s.tree(p).certificates())
	s.returned = true
	if _, err := s.follow(ctx, p, "way back", p.back); err != nil {
		return err
	}
	return s.back(ctx, p, "the way back")
}

// tree returns what is rendered.
func (s *switching) tree(p *departure) (t certTree) {
	for _, value := range p.after {
		t.Objects = append(t.Objects, &unstructured.Unstructured{Object: value})
	}
	return t
}

// ofCertManager holds that each Certificate is Ready, and that who calls the operators trusts it. It does not wait: the
// plan has.
func (s *switching) ofCertManager(ctx context.Context, p *departure) (err error) {
	t := s.tree(p)
	for _, o := range t.Objects {
		if isCertificate(o) {
			err = errors.Join(err, s.ready(ctx, o))
		}
		if from := strings.Split(o.GetAnnotations()[injectFrom], "/"); len(from) == 2 {
			err = errors.Join(err, s.hasCA(ctx, o, from[0], from[1]))
		}
	}
	if err == nil {
		err = errors.Join(append(s.issued(ctx, t), s.calls(ctx, t)...)...)
	}
	return err
}

// gone holds that nothing is left of what the switch has made.
func (s *switching) gone(ctx context.Context) error {
	out, err := s.Kubectl(ctx, "get", "certificates.cert-manager.io,issuers.cert-manager.io,"+
		"certificaterequests.cert-manager.io", "-n", s.adoption.Namespace, "-o", "name")
	if err == nil && strings.TrimSpace(out) != "" {
		err = fmt.Errorf("of cert-manager is left: %s", out)
	}
	return err
}

// ofOLM holds that the Secrets are OLM's, and that who calls the operators trusts them and nothing else.
func (s *switching) ofOLM(ctx context.Context) error {
	state, _, err := s.dump(ctx)
	if err != nil {
		return err
	}
	called := 0
	for _, kind := range serving {
		for _, o := range state.Dump.OfKind(kind) {
			u := &unstructured.Unstructured{Object: o.Value()}
			for _, c := range cluster.ClientConfigs(u) {
				if c.Service.Namespace != s.adoption.Namespace {
					continue
				}
				called++
				if err := s.trusts(ctx, u, c); err != nil {
					return fmt.Errorf("%s %s: %w", o.Identity(), c.Name, err)
				}
			}
		}
	}
	if called < 5 {
		err = fmt.Errorf("%d calls were tried", called)
	}
	return err
}

// trusts holds that a caller trusts the authority that OLM has put into the Secret, and that it is called so.
func (s *switching) trusts(ctx context.Context, o *unstructured.Unstructured, c cluster.ClientConfig) error {
	secrets := s.Client.CoreV1().Secrets(s.adoption.Namespace)
	secret, err := secrets.Get(ctx, c.Service.Name+"-cert", metav1.GetOptions{})
	if err != nil {
		return err
	}
	switch {
	case strings.Contains(fmt.Sprint(secret.Annotations), "cert-manager.io"):
		return fmt.Errorf("the Secret has marks of cert-manager: %v", secret.Annotations)
	case !bytes.Equal(bytes.TrimSpace(c.CA), bytes.TrimSpace(secret.Data["olmCAKey"])):
		return errors.New("it does not have the CA of OLM, or another one too")
	case o.GetAnnotations()[injectFrom] != "":
		return errors.New("it asks for a CA of cert-manager")
	case o.GetKind() == "APIService":
		return s.get(ctx, o)
	}
	return s.probe(ctx, c, "refused by "+here(c))
}

// anew takes out of an object what OLM writes when it makes a certificate anew, and the generation.
func anew(o *dump.Object, v map[string]any) {
	if !slices.Contains(append(serving, "Deployment"), o.Kind) {
		return
	}
	unstructured.RemoveNestedField(v, "metadata", "generation")
	unstructured.RemoveNestedField(v, "metadata", "labels", "olm.deployment-spec-hash")
	unstructured.RemoveNestedField(v, "spec", "template", "metadata", "annotations", "olmcahash")
	unstructured.RemoveNestedField(v, "spec", "caBundle")
	unstructured.RemoveNestedField(v, "spec", "conversion", "webhook", "clientConfig", "caBundle")
	webhooks, _ := v["webhooks"].([]any)
	for _, w := range webhooks {
		if m, ok := w.(map[string]any); ok {
			unstructured.RemoveNestedField(m, "clientConfig", "caBundle")
		}
	}
}
