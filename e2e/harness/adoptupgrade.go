package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/cmd/e2e/harness/access"
	"github.com/olmgen/olmgen/cmd/internal/adopt"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/catalog"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/golden/equal"
)

// upgraded is an operator that OLM has upgraded. It is no recording: after an upgrade, chance decides about more.
var upgraded = equal.Case{Name: "upgraded-operator", Bundle: "upgrades/ferry/from", InstallMode: "MultiNamespace",
	Namespace: "operator-ns", OperatorGroup: "my-og", TargetNamespaces: []string{"target-a", "target-b"}}

// upgrade has OLM upgrade the operator, and compares the cluster with what its new version renders to. Only what the
// first version left behind may be in the cluster alone.
func (a *adoption) upgrade(ctx context.Context) (string, error) {
	first, _, err := a.dump(ctx)
	if err != nil {
		return "", err
	}
	from, to := filepath.Join(a.golden(), a.Bundle), filepath.Join(a.golden(), filepath.Dir(a.Bundle), "to")
	newer, err := catalog.Read(to)
	if err != nil {
		return "", err
	}
	a.catalog.Stop()
	if a.catalog, err = moveCatalog(ctx, a.cluster, a.Namespace, from, to); err != nil {
		return "", err
	}
	second, err := a.until(ctx, func(s *adopt.State) error {
		if s.Dump.Get("ClusterServiceVersion", a.Namespace, newer.Name) == nil {
			return errors.New("the upgrade has not begun")
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	a.Bundle = filepath.Join(filepath.Dir(a.Bundle), "to")
	values, _, err := a.render(ctx, second, adopt.Options{}, nil)
	if err != nil {
		return "", err
	}
	return orphaned(first, second, second.Verify(values))
}

// orphaned holds that what only the cluster has is what the first version brought and the second does not have.
func orphaned(first, second *adopt.State, v *adopt.Verification) (string, error) {
	rendered, listed := map[string]bool{}, map[string]bool{}
	var err error
	for _, c := range v.Objects {
		switch c.Verdict {
		case adopt.ClusterOnly:
			listed[c.Object] = true
			if !strings.HasPrefix(c.Reason, "orphan") {
				err = errors.Join(err, fmt.Errorf("%s is no orphan: %s", c.Object, c.Reason))
			}
		default:
			rendered[c.Object] = true
		}
	}
	left := map[string]bool{}
	for _, o := range first.Dump.Objects {
		now := second.Dump.Get(o.Kind, o.Namespace, o.Name)
		marked := len(o.Owners) > 0 || o.Labels["olm.managed"] != "" || o.Labels["olm.owner"] != ""
		users := []string{"Subscription", "InstallPlan", "OperatorGroup", "CatalogSource", "Namespace"}
		own := strings.Contains(o.Name, "packageserver") || strings.Contains(o.Name, "packagemanifests") ||
			strings.Contains(o.Name, access.OLMGroup) // of OLM itself, and there before
		if now != nil && now.UID == o.UID && marked && !own && !rendered[o.Identity()] &&
			!slices.Contains(users, o.Kind) {
			left[o.Identity()] = true
		}
	}
	for _, object := range slices.Sorted(maps.Keys(left)) {
		if !listed[object] {
			err = errors.Join(err, fmt.Errorf("%s was left behind, and is not listed", object))
		}
	}
	for _, object := range slices.Sorted(maps.Keys(listed)) {
		if !left[object] {
			err = errors.Join(err, fmt.Errorf("%s is listed, and was not left behind", object))
		}
	}
	for _, f := range v.Findings() {
		if f.Level == findings.Error || f.Level == findings.Warning && f.Rule != "only-in-cluster" {
			err = errors.Join(err, fmt.Errorf("%s: %s: %s", f.Object, f.Field, f.Message))
		}
	}
	return fmt.Sprintf("OLM upgraded it: all %d orphans of the first version are listed, and nothing else (%s)",
		len(left), strings.Join(slices.Sorted(maps.Keys(left)), ", ")), err
}

// rotate deletes the Secrets of the certificates, so that OLM makes new ones. The comparison must name each object
// whose CA is another now, and nothing else.
func (a *adoption) rotate(ctx context.Context) error {
	before, _, err := a.dump(ctx)
	if err != nil {
		return err
	}
	old := bundles(before)
	secrets := a.cluster.Client.CoreV1().Secrets(a.Namespace)
	list, err := secrets.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, s := range list.Items {
		if strings.HasSuffix(s.Name, "-service-cert") {
			if err := secrets.Delete(ctx, s.Name, metav1.DeleteOptions{}); err != nil {
				return err
			}
		}
	}
	after, err := a.until(ctx, func(s *adopt.State) error {
		for object, ca := range bundles(s) {
			if ca == old[object] {
				return fmt.Errorf("%s has the old CA", object)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	values, _, err := a.render(ctx, after, adopt.Options{}, nil)
	if err != nil {
		return err
	}
	found := map[string]bool{}
	for _, f := range after.Verify(values).Findings() {
		if _, serves := old[f.Object]; f.Rule != "certificate" || !serves {
			err = errors.Join(err, fmt.Errorf("%s: %s: %s", f.Object, f.Field, f.Message))
		}
		found[f.Object] = true
	}
	if len(found) != len(old) {
		err = errors.Join(err, fmt.Errorf("%d of %d objects with a new CA are named", len(found), len(old)))
	}
	if err == nil {
		a.say("OLM rotated its certificate: each of %d objects with the new CA is named, and nothing else", len(old))
	}
	return err
}

// serving are the kinds that name a Service and trust a CA.
var serving = []string{"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "APIService",
	"CustomResourceDefinition"}

// bundles returns the CAs that objects trust, by object.
func bundles(s *adopt.State) map[string]string {
	found := map[string]string{}
	for _, kind := range serving {
		for _, o := range s.Dump.OfKind(kind) {
			data, err := json.Marshal(o.Value())
			if _, rest, ok := strings.Cut(string(data), `"caBundle":"`); ok && err == nil {
				found[o.Identity()], _, _ = strings.Cut(rest, `"`)
			}
		}
	}
	return found
}
