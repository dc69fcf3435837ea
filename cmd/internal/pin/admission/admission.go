// Package admission makes a cluster refuse what a pinned catalog does not hold.
//
// [Policies.Objects] makes a ValidatingAdmissionPolicy with its binding for each kind by which OLM is told what to
// install: InstallPlan, Subscription and CatalogSource of OLM v0, ClusterExtension and ClusterCatalog of OLM v1. The
// lists stand in the policies, one line for each entry, so that a review shows what changes, and so that who may change
// a list is who may change a policy. A ConfigMap as their parameter would be one more object that can be missing, that
// other people may write, and that the API server reloads at another time than the policy.
package admission

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/views"
	"github.com/olmgen/olmgen/templates"
)

// Facts are what a pin holds.
type Facts struct {
	// the ClusterServiceVersions that an InstallPlan may contain: the approved ones, those on the way to them, and
	// those of dependencies
	CSVs []string `json:"csvs,omitempty"`
	// those of Git, and those that OLM makes for dependencies
	Subscriptions   []Subscription   `json:"subscriptions,omitempty"`
	Extensions      []Extension      `json:"extensions,omitempty"`
	CatalogSources  []CatalogSource  `json:"catalogSources,omitempty"`
	ClusterCatalogs []ClusterCatalog `json:"clusterCatalogs,omitempty"`
}

// Subscription is a Subscription of OLM v0. Its name does not matter: OLM gives those of dependencies names of its own.
type Subscription struct {
	Namespace       string `json:"namespace"`
	Package         string `json:"package"`
	Channel         string `json:"channel,omitempty"` // empty: the Subscription names none
	Source          string `json:"source"`            // a CatalogSource
	SourceNamespace string `json:"sourceNamespace"`
	File            string `json:"file,omitempty"` // to change in Git; empty: that of all
}

// Extension is a ClusterExtension of OLM v1. Its name does not matter.
type Extension struct {
	Name     string            `json:"name"`
	Package  string            `json:"package"`
	Channels []string          `json:"channels,omitempty"` // the order does not matter
	Version  string            `json:"version,omitempty"`  // a version or a range, as it is written
	Selector map[string]string `json:"selector,omitempty"` // matchLabels of the selector of catalogs
	File     string            `json:"file,omitempty"`     // to change in Git; empty: that of all
}

// CatalogSource is a CatalogSource of OLM v0. The image has a digest.
type CatalogSource struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Image     string `json:"image"`
}

// ClusterCatalog is a ClusterCatalog of OLM v1. The image has a digest.
type ClusterCatalog struct {
	Name  string `json:"name"`
	Image string `json:"image"`
}

// Policies are what the policies take and whom they do not ask, as the lock of a pin keeps it.
type Policies struct {
	Exempt
	Facts    Facts  `json:"facts"`
	Previous *Facts `json:"previous,omitempty"` // what was pinned before: taken too, until the change is finished
}

// Exempt are the namespaces, users and groups that the policies do not ask.
type Exempt struct {
	Namespaces []string `json:"exemptNamespaces,omitempty"`
	Users      []string `json:"exemptUsers,omitempty"`
	Groups     []string `json:"exemptGroups,omitempty"`
}

const policyName = "olmgen-pin"

// Object is a ValidatingAdmissionPolicy or a ValidatingAdmissionPolicyBinding.
type Object struct {
	Of         olm.Kind // whose objects the policy judges
	Kind, Name string
	YAML       []byte // one document
}

// Objects returns a policy and its binding for each kind, in the order in which they can be applied: a policy has no
// effect without its binding. file is what to change in Git, where a Subscription or ClusterExtension has no file of
// its own. The same facts in any order make the same bytes. It fails if a fact lacks a field or has one that no object
// of its kind can have, or if an image has no digest.
func (p *Policies) Objects(file string) ([]Object, error) {
	w := writer{Policies: p, file: file}
	if p.Previous != nil {
		w.before = *p.Previous
	}
	err := errors.Join(p.Facts.check(), w.before.check(), p.check())
	if err != nil {
		return nil, err
	}
	if w.templates, err = templates.Load(nil); err != nil {
		return nil, err
	}
	var out []Object
	for _, y := range []policy{w.installPlans(), w.subscriptions(), w.catalogSources(), w.clusterExtensions(),
		w.clusterCatalogs()} {
		objects, err := w.objects(y)
		if err != nil {
			return nil, err
		}
		out = append(out, objects...)
	}
	return out, nil
}

type writer struct {
	*Policies
	before    Facts
	file      string
	templates *templates.Set
}

// policy is a policy with what all have in common missing.
type policy struct {
	kind    olm.Kind
	version string // of the API
	about   string // what it refuses
	// when the policy looks at a request: a name and an expression; empty: if the spec is new or changed
	when       *views.NamedExpression
	variables  []views.NamedExpression
	validation views.Validation
}

// newSpec is true for a new object, and for one whose spec changes. So no change of metadata, finalizers or status is
// refused, whatever the spec of an old object says.
var newSpec = views.NamedExpression{Name: "new-spec",
	Expression: "request.operation == 'CREATE' || object.spec != oldObject.spec"}

func (w *writer) objects(y policy) ([]Object, error) {
	name := policyName + "-" + y.kind.Plural
	binding := views.AdmissionBinding{Name: name, Policy: name}
	if y.kind.Namespaced {
		binding.ExemptNamespaces = lists.SortedUnique(w.Namespaces)
	}
	when := newSpec
	if y.when != nil {
		when = *y.when
	}
	y.validation.Message += "; change " + w.file
	y.validation.Reason = "Forbidden"
	view := views.AdmissionPolicy{Name: name, Description: w.description(y),
		Group: y.kind.Group, Version: y.version, Resource: y.kind.Plural,
		MatchConditions: append([]views.NamedExpression{when}, w.exempt()...),
		Validations:     []views.Validation{y.validation}, Variables: y.variables}
	text, err := w.templates.Execute("validatingadmissionpolicy.yaml", view)
	if err != nil {
		return nil, err
	}
	bound, err := w.templates.Execute("validatingadmissionpolicybinding.yaml", binding)
	return []Object{{y.kind, "ValidatingAdmissionPolicy", name, text},
		{y.kind, "ValidatingAdmissionPolicyBinding", name, bound}}, err
}

// description is for people who find the policy in a cluster.
func (w *writer) description(y policy) string {
	text := y.about + " To change what is pinned, change " + w.file + "."
	if w.Previous != nil {
		text += " What was pinned before is taken too, until the change is finished."
	}
	return text
}

// exempt returns the condition that keeps requests of exempt users out.
func (w *writer) exempt() []views.NamedExpression {
	var all []string
	if users := lists.SortedUnique(w.Users); len(users) > 0 {
		all = append(all, "!(request.userInfo.username in "+list(users)+")")
	}
	if groups := lists.SortedUnique(w.Groups); len(groups) > 0 {
		all = append(all, "!(has(request.userInfo.groups) && request.userInfo.groups.exists(g, g in "+list(groups)+"))")
	}
	if len(all) == 0 {
		return nil
	}
	return []views.NamedExpression{{Name: "not-exempt", Expression: strings.Join(all, " &&\n")}}
}

func kind(group, name string) olm.Kind {
	k, _ := olm.KindOf(group, name) // TestKinds: all are known
	return k
}

func (f Facts) check() error {
	all := lists.Map(f.CSVs, func(name string) error { return checkName("a ClusterServiceVersion", name) })
	for _, s := range f.Subscriptions {
		what := fmt.Sprintf("the Subscription to %q in namespace %q", s.Package, s.Namespace)
		if s.Package == "" || s.Source == "" {
			all = append(all, fmt.Errorf("%s names no package or no CatalogSource", what))
		}
		all = append(all, checkName(what, s.Namespace), checkName(what, s.SourceNamespace))
	}
	for _, e := range f.Extensions {
		what := fmt.Sprintf("the ClusterExtension %q", e.Name)
		all = append(all, checkName(what, e.Package))
		for _, c := range e.Channels {
			all = append(all, checkName(what, c))
		}
		for _, key := range lists.Keys(e.Selector) {
			if validation.IsQualifiedName(key) != nil || validation.IsValidLabelValue(e.Selector[key]) != nil {
				all = append(all,
					fmt.Errorf("%s selects catalogs by %q: %q, which is no label", what, key, e.Selector[key]))
			}
		}
	}
	for _, c := range f.CatalogSources {
		what := fmt.Sprintf("the CatalogSource %q in namespace %q", c.Name, c.Namespace)
		all = append(all, checkName(what, c.Name), checkName(what, c.Namespace), checkImage(what, c.Image))
	}
	for _, c := range f.ClusterCatalogs {
		what := fmt.Sprintf("the ClusterCatalog %q", c.Name)
		all = append(all, checkName(what, c.Name), checkImage(what, c.Image))
	}
	return errors.Join(all...)
}

func (e Exempt) check() error {
	all := lists.Map(e.Namespaces, func(ns string) error { return checkName("the scope of the policies", ns) })
	if slices.Contains(e.Users, "") || slices.Contains(e.Groups, "") {
		all = append(all, errors.New("an exempt user or group has no name"))
	}
	return errors.Join(all...)
}

// Union returns the facts of both, each once.
func (f Facts) Union(o Facts) Facts {
	return Facts{CSVs: lists.Union(f.CSVs, o.CSVs), Subscriptions: lists.Union(f.Subscriptions, o.Subscriptions),
		Extensions:      lists.Union(f.Extensions, o.Extensions),
		CatalogSources:  lists.Union(f.CatalogSources, o.CatalogSources),
		ClusterCatalogs: lists.Union(f.ClusterCatalogs, o.ClusterCatalogs)}
}

func checkName(what, name string) error {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return fmt.Errorf("%s: %q is not the name of an object: %s", what, name, text.Reason(problems))
	}
	return nil
}

func checkImage(what, image string) error {
	if _, pinned := images.Repository(image); !pinned {
		return fmt.Errorf("%s: the image %q has no digest, so its content can change", what, image)
	}
	return nil
}
