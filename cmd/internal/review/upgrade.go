package review

import (
	"errors"
	"fmt"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/generate"
)

// Upgrade renders the new version of an operator as OLM would upgrade the old one: in its namespace and its install
// mode. keepMode says that the user chose the install mode or the target namespaces. If the new version does not
// support the mode of the old one, it is rendered in a mode that it supports, and the Note says so.
func Upgrade(old *Subject, keepMode bool, render func(change func(*config.Group)) (*Subject, error)) (*Subject, error) {
	mode := old.InstallMode()
	intoNamespace := func(g *config.Group) {
		if g.Namespace == "" {
			g.Namespace = old.Operators[0].Namespace
		}
	}
	s, err := render(func(g *config.Group) {
		intoNamespace(g)
		withoutTargets := mode == v1alpha1.InstallModeTypeAllNamespaces || mode == v1alpha1.InstallModeTypeOwnNamespace
		if !keepMode && withoutTargets {
			g.InstallMode = mode
		}
	})
	var refused *generate.Error
	if !errors.As(err, &refused) || !slices.Contains(refused.About(), generate.OptionInstallMode) || mode == "" {
		return s, err
	}
	s, err = render(func(g *config.Group) {
		intoNamespace(g)
		g.InstallMode, g.TargetNamespaces = "", nil
	})
	if err != nil {
		return nil, err
	}
	s.Note = fmt.Sprintf("NEW does not support %s: it is compared as it is in %s", mode, s.Operators[0].InstallMode)
	s.Operators[0].InstallMode, s.Operators[0].Unsupported = mode, true
	return s, nil
}
