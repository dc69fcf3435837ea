package config

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/templates"
)

//go:embed init.yaml
var initText string

// InitBundle is a bundle for a new RenderConfig.
type InitBundle struct {
	Source string        // relative to the file
	Chosen bundle.Choice // as asked for
	Bundle *bundle.Bundle
}

// Init returns a RenderConfig with comments for bundles, grouped by the namespaces that they suggest. The file will be
// called file and renders to directory, as it is. An error is about a bundle without a valid namespace.
func Init(file, directory string, bundles []InitBundle) ([]byte, error) {
	groups, err := groupsOf(bundles)
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		if err := g.scope(); err != nil {
			return nil, err
		}
	}
	text, err := initPart("init.yaml", map[string]any{
		"Schema": SchemaFile, "File": file, "APIVersion": APIVersion, "Kind": Kind, "Directory": directory,
		"Layouts":    strings.Join(text.Words(output.Layouts), ", "),
		"Profiles":   strings.Join(text.Words(generate.Profiles), ", "),
		"CopiedCSVs": strings.Join(text.Words(generate.AllCopiedCSVs), ", "), "Groups": groups,
	}, true)
	if err != nil {
		return nil, err
	}
	if _, err := Read(file, []byte(text)); err != nil {
		return nil, fmt.Errorf("the new file would not be valid: %w", err)
	}
	return []byte(text), nil
}

// initPart returns a part of a new RenderConfig: all of it, a group or a bundle. A comment is in it at most once.
func initPart(name string, view any, comments bool) (string, error) {
	said := map[string]bool{}
	once := func(comment string) bool {
		first := comments && !said[comment]
		said[comment] = true
		return first
	}
	t, err := template.New("init.yaml").
		Funcs(templates.Functions()).
		Funcs(template.FuncMap{"once": once}).
		Parse(initText)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = t.ExecuteTemplate(&out, name, view)
	return out.String(), err
}

type initGroup struct {
	Namespace, Name string
	Targets         []string
	Examples        string // of target namespaces that all operators of the group support
	Bundles         []initBundle
}

type initBundle struct {
	Source, Package, Channel, Version, Title, Certs string
	Serves, OldCRDs                                 bool

	csv *v1alpha1.ClusterServiceVersion
}

// scope decides what the group has to say of target namespaces so that all its operators can be rendered.
func (g *initGroup) scope() error {
	all := func(m v1alpha1.InstallModeType) bool {
		supported := v1alpha1.InstallMode{Type: m, Supported: true}
		return !slices.ContainsFunc(g.Bundles, func(b initBundle) bool {
			return !slices.Contains(b.csv.Spec.InstallModes, supported)
		})
	}
	switch {
	case all(v1alpha1.InstallModeTypeMultiNamespace):
		g.Examples = "team-a, team-b"
	case all(v1alpha1.InstallModeTypeSingleNamespace):
		g.Examples = "team-a"
	}
	switch {
	case all(v1alpha1.InstallModeTypeAllNamespaces):
	case all(v1alpha1.InstallModeTypeOwnNamespace):
	case all(v1alpha1.InstallModeTypeSingleNamespace):
		g.Targets = []string{"team-a"}
	case all(v1alpha1.InstallModeTypeMultiNamespace) || len(g.Bundles) == 1:
		g.Targets = []string{"team-a", "team-b"}
	default:
		titles := lists.Map(g.Bundles, func(b initBundle) string { return b.Title })
		return fmt.Errorf("%s belong to namespace %s, and there is no install mode that all of them support",
			strings.Join(titles, ", "), g.Namespace)
	}
	return nil
}

// groupsOf returns the bundles by the namespaces that they suggest, in the order of their first bundles.
func groupsOf(bundles []InitBundle) (groups []*initGroup, err error) {
	for _, b := range bundles {
		namespace, err := generate.Namespace(b.Bundle)
		if err != nil {
			return nil, err
		}
		csv := b.Bundle.CSV
		g := lists.Find(groups, func(g *initGroup) bool { return g.Namespace == namespace })
		if g == nil {
			g = &initGroup{Namespace: namespace, Name: generate.GroupName(b.Bundle)}
			groups = append(groups, g)
		} else {
			g.Name = namespace // it is about no operator in particular
		}
		if slices.ContainsFunc(g.Bundles, func(x initBundle) bool { return x.Title == csv.Name }) {
			return nil, fmt.Errorf("%s is given twice", csv.Name)
		}
		oldCRDs := slices.ContainsFunc(b.Bundle.CRDs, func(c *bundle.CRD) bool { return c.V1Beta })
		g.Bundles = append(g.Bundles, initBundle{
			Source: b.Source, Package: b.Chosen.Package, Channel: b.Chosen.Channel, Version: b.Chosen.Version,
			Title: csv.Name, Certs: strings.Join(text.Words(generate.AllCerts), ", "),
			Serves: serves(csv), OldCRDs: oldCRDs, csv: csv,
		})
	}
	return groups, nil
}

// serves reports whether an operator serves webhooks or APIs, which need certificates.
func serves(csv *v1alpha1.ClusterServiceVersion) bool {
	return len(csv.Spec.WebhookDefinitions)+len(csv.Spec.APIServiceDefinitions.Owned) > 0
}

// NeedsItself reports whether an operator is cert-manager and needs certificates to start, which it cannot make.
func NeedsItself(b *bundle.Bundle) bool {
	return serves(b.CSV) && b.Owns("certificates.cert-manager.io")
}

const ownCertificates = "the operator is cert-manager, which cannot make its own certificates before it runs: choose " +
	"another provider (service-ca on OpenShift, user for your own), or create the Secrets of its Certificates first"
