package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/cmd/e2e/harness/apply"
)

// gitops is what the steps of scripts about GitOps engines share.
type gitops struct {
	trees map[string]gitopsTree
	flux  *flux
	argo  *argo
	ended chan error // of the sync that has been started
}

// engine is what the steps of a script about GitOps engines share.
func (s *session) engine() *gitops {
	if s.state == nil {
		s.state = &gitops{trees: map[string]gitopsTree{}}
	}
	return s.state.(*gitops)
}

// renderStep is the step "render DIRECTORY ENGINE BUNDLE FLAG...": olmgen renders a bundle for a GitOps engine, and the
// cluster gets CRDs for what it lacks of it.
func renderStep(s *session, args []string) error {
	t, err := s.renderGitOps(s.ctx, s.MkAbs(args[0]), args[2], args[1], 0, args[3:]...)
	s.engine().trees[args[0]] = t
	return errors.Join(err, foreignCRDs(s.ctx, s.cluster, t))
}

// removed is the step "removed DIRECTORY": the objects that were rendered there are removed from the cluster.
func removed(s *session, args []string) error {
	removeTree(s.ctx, apply.New(s.cluster), s.engine().trees[args[0]])
	return nil
}

// fluxStep is the step "flux": kustomize-controller starts.
func fluxStep(s *session, _ []string) (err error) {
	s.engine().flux, err = s.fluxIn(s.ctx, s.cluster)
	return err
}

// publish is the step "publish NAME DIRECTORY": Flux finds a directory in the GitRepository of that name.
func publish(s *session, args []string) error {
	_, err := s.engine().flux.publish(s.ctx, args[0], s.MkAbs(args[1]))
	return err
}

// argocdStep is the step "argocd sync|in-sync APPLICATION [DIRECTORY] [prune] [server-side-diff] [docs-health]": Argo
// CD's engine, with the health checks of docs/engines/argocd.md. "argocd start sync ..." goes on with the script,
// "argocd runs DURATION" holds that the sync does not end for so long, and "argocd ends" that it succeeds.
func argocdStep(s *session, args []string) (err error) {
	g := s.engine()
	switch args[0] {
	case "start":
		g.ended = make(chan error, 1)
		go func() { g.ended <- argocdStep(s, args[1:]) }()
		return nil
	case "runs":
		d, err := time.ParseDuration(args[1])
		if err != nil {
			return err
		}
		select {
		case err := <-g.ended:
			return fmt.Errorf("the sync ends: %w", err)
		case <-time.After(d):
			return nil
		}
	case "ends":
		return <-g.ended
	}
	has := func(option string) bool { return slices.Contains(args, option) }
	app := argoRequest{App: args[1], Namespace: "default", Prune: has("prune"), ServerSideDiff: has("server-side-diff")}
	if has("docs-health") {
		if app.Health, err = s.healthChecks(); err != nil {
			return err
		}
	}
	if len(args) > 2 && !has("prune") {
		app.Dirs = []string{s.MkAbs(args[2])}
	}
	if g.argo == nil {
		if g.argo, err = argoIn(s.ctx, s.cluster); err != nil {
			return err
		}
	}
	if args[0] == "in-sync" {
		return g.argo.inSync(s.ctx, app, nil)
	}
	_, err = g.argo.sync(s.ctx, app)
	return err
}

// healthChecks are the health checks that docs/engines/argocd.md adds to Argo CD, by GROUP_KIND.
func (o options) healthChecks() (map[string]string, error) {
	const setting = "resource.customizations.health."
	data, err := os.ReadFile(filepath.Join(o.root, "docs", "engines", "argocd.md"))
	if err != nil {
		return nil, err
	}
	_, text, _ := strings.Cut(string(data), "```yaml\n"+setting)
	text, _, found := strings.Cut(text, "```")
	if !found {
		return nil, fmt.Errorf("docs/engines/argocd.md has no %sGROUP_KIND", setting)
	}
	var checks map[string]string
	return checks, yaml.UnmarshalStrict([]byte(text), &checks)
}
