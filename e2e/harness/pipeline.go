package main

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/cmd/e2e/harness/apply"
)

// pipeline runs olmgen under the programs that call it: kustomize, kpt, the steps of the GitHub Actions, pre-commit.
func (o options) pipeline(ctx context.Context, _ material) error {
	all, err := o.scripts("pipeline")
	if err != nil {
		return err
	}
	// pre-commit gives its clone a GOPATH of its own; what is downloaded and built already is taken from the user's.
	env := map[string]string{}
	for _, name := range []string{"GOMODCACHE", "GOCACHE"} {
		value, err := exec.CommandContext(ctx, "go", "env", name).Output()
		if err != nil {
			return err
		}
		env["USER_"+name] = strings.TrimSpace(string(value))
	}
	for i := range all {
		all[i].env = env
	}
	return o.play(ctx, "pipeline", all, nil)
}

var noise = regexp.MustCompile(`^(internal\.)?config\.kubernetes\.io/`)

// objects is the step "objects FILE...": it prints the objects of streams in the order of their names, without what
// runners of functions add to them.
func objects(s *session, args []string) error {
	all := map[string]string{}
	for _, file := range args {
		list, err := apply.ReadStream(s.MkAbs(file))
		if err != nil {
			return err
		}
		for _, o := range list {
			annotations := o.GetAnnotations()
			maps.DeleteFunc(annotations, func(name, _ string) bool { return noise.MatchString(name) })
			if len(annotations) == 0 {
				annotations = nil
			}
			o.SetAnnotations(annotations)
			text, err := yaml.Marshal(o.Object)
			if err != nil {
				return err
			}
			all[apply.Name(o)] = string(text)
		}
	}
	if len(all) == 0 {
		return fmt.Errorf("%q: no objects", args)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(s.Stdout(), "# %s\n%s", name, all[name])
	}
	return nil
}
