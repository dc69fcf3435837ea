package apply

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
)

// Form is one way to render a bundle.
type Form struct {
	Name    string
	Names   generate.Names
	Profile generate.Profile
}

// Forms are the ways in which bundles are applied.
var Forms = []Form{
	{"olm, stable names", generate.NamesStable, generate.ProfileOLM},
	{"olm, OLM's names", generate.NamesOLM, generate.ProfileOLM},
	{"plain, stable names", generate.NamesStable, generate.ProfilePlain},
	{"plain, OLM's names", generate.NamesOLM, generate.ProfilePlain},
}

// Render makes a tree of the bundle in a directory. Options that the form does not say are taken from o.
func (f Form) Render(dir string, o generate.Options) (Tree, error) {
	b, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{})
	if err != nil {
		return Tree{}, err
	}
	defaults(b, &o)
	o.Names, o.Profile = f.Names, f.Profile
	result, err := generate.Render(b, o)
	if err != nil {
		return Tree{}, err
	}
	return TreeOf(fmt.Sprintf("%s (%s)", b.CSV.Name, f.Name), result)
}

// defaults chooses what a bundle does not say: an install mode, where there is no default, and who makes certificates.
func defaults(b *bundle.Bundle, o *generate.Options) {
	if o.InstallMode == "" && !supports(b, "AllNamespaces") && !supports(b, "OwnNamespace") {
		for _, m := range Modes() {
			if supports(b, m.InstallMode) {
				o.InstallMode, o.TargetNamespaces = m.InstallMode, m.TargetNamespaces
			}
		}
	}
	if len(b.CSV.Spec.WebhookDefinitions)+len(b.CSV.Spec.APIServiceDefinitions.Owned) > 0 && o.Certs == "" {
		o.Certs = generate.CertsManager // its Certificates are of an API that the cluster lacks; all else is applied
	}
}

// Flags are those that "olmgen render" needs for the bundle in a directory, with the choices of Render.
func Flags(dir string) ([]string, error) {
	b, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{})
	if err != nil {
		return nil, err
	}
	var o generate.Options
	defaults(b, &o)
	flags := []string{"--create-namespace"}
	if o.InstallMode != "" {
		flags = append(flags, "--install-mode", string(o.InstallMode), "--create-target-namespaces",
			"--target-namespaces", strings.Join(o.TargetNamespaces, ","))
	}
	if o.Certs != "" {
		flags = append(flags, "--certs", string(o.Certs))
	}
	return flags, nil
}

// Modes are options for each install mode.
func Modes() (modes []generate.Options) {
	for _, m := range bundle.InstallModes {
		o := generate.Options{InstallMode: m}
		switch m {
		case "SingleNamespace":
			o.TargetNamespaces = []string{"target-a"}
		case "MultiNamespace":
			o.TargetNamespaces = []string{"target-a", "target-b"}
		}
		modes = append(modes, o)
	}
	return modes
}

func supports(b *bundle.Bundle, mode v1alpha1.InstallModeType) bool {
	return slices.Contains(b.CSV.Spec.InstallModes, v1alpha1.InstallMode{Type: mode, Supported: true})
}

// TreeOf is what a rendering consists of.
func TreeOf(name string, result *generate.Result) (Tree, error) {
	t := Tree{Name: name}
	for _, o := range result.Objects {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(o.Data, u); err != nil {
			return t, fmt.Errorf("%s %s: %w", o.Kind, o.Name, err)
		}
		t.Objects = append(t.Objects, u)
	}
	return t, nil
}
