package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olmgen/olmgen/cmd/e2e/harness/apply"
	"github.com/olmgen/olmgen/cmd/e2e/harness/live"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/catalog"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
	"github.com/olmgen/olmgen/golden/equal"
	"github.com/olmgen/olmgen/golden/refused"
)

// refusals has OLM do the upgrades of golden/refused. What it says must be what is recorded there; TestRefused compares
// that with what olmgen says.
func (o options) refusals(ctx context.Context, _ material) error {
	cases, err := refused.Cases(o.golden())
	if err != nil {
		return err
	}
	recorded, err := refused.Answers(o.golden())
	if err != nil && (!o.update || !errors.Is(err, os.ErrNotExist)) {
		return err
	}
	a := &answers{recorded: recorded, now: map[string]string{}}
	var all []scenario
	for _, c := range cases {
		from, to := refused.Bundle(o.golden(), c.From), refused.Bundle(o.golden(), c.To)
		newer, err := catalog.Read(to)
		if err != nil {
			return err
		}
		all = append(all, scenario{c.Name, "refused/upgrade", map[string]string{"FROM": from, "TO": to,
			"NEXT": newer.Name, "CLUSTER": c.ClusterFile(o.golden())}})
	}
	if err := o.play(ctx, "refused", all, func() any { return a }); err != nil || !o.update {
		return err
	}
	for name, said := range recorded {
		if a.now[name] == "" && !o.only.MatchString(name) {
			a.now[name] = said
		}
	}
	return refused.WriteAnswers(o.golden(), a.now)
}

// answers are what OLM says of each case.
type answers struct {
	mu            sync.Mutex
	recorded, now map[string]string
}

// answered is the step "answers": what the last program has printed must be what is recorded of the case.
func answered(s *session, _ []string) error {
	a, said := s.state.(*answers), strings.TrimSpace(s.ReadFile("stdout"))
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now[s.name] = said
	if was := a.recorded[s.name]; said != was && !s.update {
		return fmt.Errorf("OLM says something else now: %s (was: %s)", said, was)
	}
	return say(s, []string{said})
}

// ofUpgrades is the namespace of the operator in scripts about upgrades.
const ofUpgrades = "operator-ns"

// install is the step "install BUNDLE": OLM installs a bundle for its own namespace, operator-ns.
func install(s *session, args []string) error {
	bundle, err := filepath.Rel(s.golden(), args[0])
	if err != nil {
		return err
	}
	installed, served, err := live.Install(s.ctx, s.cluster, s.golden(), equal.Case{
		Name:             s.name,
		Bundle:           bundle,
		InstallMode:      "OwnNamespace",
		Namespace:        ofUpgrades,
		OperatorGroup:    "my-og",
		TargetNamespaces: []string{ofUpgrades},
	})
	if served != nil {
		s.Defer(served.Stop)
	}
	if err == nil && installed.Case.Options().Incomplete {
		err = fmt.Errorf("OLM did not install it: %s", installed.Case.Message)
	}
	return err
}

// move is the step "move BUNDLE...": the catalog of operator-ns has these bundles from now on.
func move(s *session, args []string) error {
	served, err := moveCatalog(s.ctx, s.cluster, ofUpgrades, args...)
	if served != nil {
		s.Defer(served.Stop)
	}
	return err
}

// moveCatalog serves other bundles as the catalog of a namespace.
func moveCatalog(ctx context.Context, c *cluster.Cluster, namespace string, dirs ...string) (*catalog.Served, error) {
	content, err := live.CatalogOf(dirs...)
	if err != nil {
		return nil, err
	}
	served, err := live.Serve(ctx, content)
	if err != nil {
		return nil, err
	}
	patch := fmt.Appendf(nil, `{"spec": {"address": %q}}`, served.Address)
	sources := v1alpha1.SchemeGroupVersion.WithResource("catalogsources")
	_, err = c.Dynamic.Resource(sources).Namespace(namespace).Patch(ctx, "catalog", types.MergePatchType, patch,
		metav1.PatchOptions{})
	return served, err
}

// put is the step "put FILE": the objects of a file are made, with their status.
func put(s *session, args []string) error {
	if args[0] == "" {
		return nil
	}
	objects, err := apply.ReadStream(args[0])
	if err != nil {
		return err
	}
	return s.cluster.Make(s.ctx, objects...)
}
