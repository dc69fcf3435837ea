// Package admission makes a cluster refuse what a pinned catalog does not hold.
//
// [Objects] makes a ValidatingAdmissionPolicy with its binding for each kind by which OLM is told what to install:
// InstallPlan, Subscription and CatalogSource of OLM v0, ClusterExtension and ClusterCatalog of OLM v1. The lists stand
// in the policies, one line for each entry, so that a review shows what changes, and so that who may change a list is
// who may change a policy. A ConfigMap as their parameter would be one more object that can be missing, that other
// people may write, and that the API server reloads at another time than the policy.
package admission

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/internal/olm"
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

// Subscription is a Subscription of OLM v0. Its name does not matter, because OLM gives those of dependencies names of
// its own.
type Subscription struct {
	Namespace       string `json:"namespace"`
	Package         string `json:"package"`
	Channel         string `json:"channel,omitempty"` // empty: the Subscription names none
	Source          string `json:"source"`            // a CatalogSource
	SourceNamespace string `json:"sourceNamespace"`
	File            string `json:"file,omitempty"` // to change in Git; empty: that of the Options
}

// Extension is a ClusterExtension of OLM v1. Its name does not matter.
type Extension struct {
	Name     string            `json:"name"`
	Package  string            `json:"package"`
	Channels []string          `json:"channels,omitempty"` // the order does not matter
	Version  string            `json:"version,omitempty"`  // a version or a range, as it is written
	Selector map[string]string `json:"selector,omitempty"` // matchLabels of the selector of catalogs
	File     string            `json:"file,omitempty"`     // to change in Git; empty: that of the Options
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

// ServiceAccount is an account of a namespace.
type ServiceAccount struct{ Namespace, Name string }

// Options are where policies hold, for whom, and what they say.
type Options struct {
	Name string // of the policies, before the plural of their kind; empty: DefaultName
	// what to change in Git, where a Subscription or ClusterExtension has no file of its own
	File string

	Namespaces       []string // in which the policies hold; none: all
	ExemptNamespaces []string // in which they do not
	// who is not asked
	ExemptUsers           []string
	ExemptGroups          []string
	ExemptServiceAccounts []ServiceAccount
	// CatalogSources are taken in namespaces that have no pinned Subscription or CatalogSource, and from which no
	// pinned Subscription takes its operator
	OtherCatalogSources bool

	// what was pinned before: it holds together with the new facts until the change is finished; nil: it is
	Previous *Facts

	Templates *templates.Set
}

// DefaultName is what the names of policies begin with.
const DefaultName = "olmgen-pin"

// Object is a ValidatingAdmissionPolicy or a ValidatingAdmissionPolicyBinding.
type Object struct {
	Of         olm.Kind // whose objects the policy judges
	Kind, Name string
	YAML       []byte // one document
}

// Objects returns a policy and its binding for each kind, in the order in which they can be applied: a policy has no
// effect without its binding. The same facts in any order make the same bytes. It fails if a fact lacks a field or
// has one that no object of its kind can have, or if an image has no digest.
func Objects(f Facts, o Options) ([]Object, error) {
	if o.File == "" {
		return nil, errors.New("there is no file that the messages of the policies can name")
	}
	if o.Name == "" {
		o.Name = DefaultName
	}
	p := pin{now: f, options: o}
	if o.Previous != nil {
		p.before = *o.Previous
	}
	if err := errors.Join(p.now.check(), p.before.check(), o.check()); err != nil {
		return nil, err
	}
	var out []Object
	for _, y := range []policy{p.installPlans(), p.subscriptions(), p.catalogSources(), p.clusterExtensions(),
		p.clusterCatalogs()} {
		objects, err := p.objects(y)
		if err != nil {
			return nil, err
		}
		out = append(out, objects...)
	}
	return out, nil
}

// pin is what is pinned now and before, and how.
type pin struct {
	now, before Facts
	options     Options
}

// policy is a policy with what all have in common missing.
type policy struct {
	kind    olm.Kind
	version string // of the API
	about   string // what it refuses
	// when the policy looks at a request: a name and an expression; empty: if the spec is new or changed
	when       *templates.NamedExpression
	variables  []templates.NamedExpression
	validation templates.Validation
	namespaces []string // in which it holds; nil: those of the options
}

// newSpec is true for a new object, and for one whose spec changes. So no change of metadata, finalizers or status is
// refused, whatever the spec of an old object says.
var newSpec = templates.NamedExpression{Name: "new-spec",
	Expression: "request.operation == 'CREATE' || object.spec != oldObject.spec"}

func (p *pin) objects(y policy) ([]Object, error) {
	name := p.options.Name + "-" + y.kind.Plural
	binding := templates.AdmissionBinding{Name: name, Policy: name}
	if y.kind.Namespaced {
		binding.Namespaces, binding.ExemptNamespaces = sorted(p.options.Namespaces), sorted(p.options.ExemptNamespaces)
		if y.namespaces != nil {
			binding.Namespaces = y.namespaces
			if len(y.namespaces) == 0 { // it holds nowhere
				return nil, nil
			}
		}
	}
	when := newSpec
	if y.when != nil {
		when = *y.when
	}
	y.validation.Message += "; change " + p.options.File
	y.validation.Reason = "Forbidden"
	view := templates.AdmissionPolicy{Name: name, Description: p.description(y),
		Group: y.kind.Group, Version: y.version, Resource: y.kind.Plural,
		MatchConditions: append([]templates.NamedExpression{when}, p.exempt()...),
		Validations:     []templates.Validation{y.validation}, Variables: y.variables}
	text, err := p.options.Templates.Execute("validatingadmissionpolicy.yaml", view)
	if err != nil {
		return nil, err
	}
	bound, err := p.options.Templates.Execute("validatingadmissionpolicybinding.yaml", binding)
	return []Object{{y.kind, "ValidatingAdmissionPolicy", name, text},
		{y.kind, "ValidatingAdmissionPolicyBinding", name, bound}}, err
}

// description is for people who find the policy in a cluster.
func (p *pin) description(y policy) string {
	text := y.about + " To change what is pinned, change " + p.options.File + "."
	if p.options.Previous != nil {
		text += " What was pinned before is taken too, until the change is finished."
	}
	return text
}

// exempt returns the condition that keeps requests of exempt users out.
func (p *pin) exempt() []templates.NamedExpression {
	users := slices.Clone(p.options.ExemptUsers)
	for _, a := range p.options.ExemptServiceAccounts {
		users = append(users, "system:serviceaccount:"+a.Namespace+":"+a.Name)
	}
	var expression string
	if len(users) > 0 {
		expression = "!(request.userInfo.username in " + list(sorted(users)) + ")"
	}
	if groups := sorted(p.options.ExemptGroups); len(groups) > 0 {
		if expression != "" {
			expression += " &&\n"
		}
		expression += "!(has(request.userInfo.groups) && request.userInfo.groups.exists(g, g in " + list(groups) + "))"
	}
	if expression == "" {
		return nil
	}
	return []templates.NamedExpression{{Name: "not-exempt", Expression: expression}}
}

// catalogNamespaces returns the namespaces in which CatalogSources matter; nil for those of the options.
func (p *pin) catalogNamespaces() []string {
	if !p.options.OtherCatalogSources {
		return nil
	}
	set := map[string]bool{}
	for _, f := range []Facts{p.now, p.before} {
		for _, s := range f.Subscriptions {
			set[s.Namespace], set[s.SourceNamespace] = true, true
		}
		for _, c := range f.CatalogSources {
			set[c.Namespace] = true
		}
	}
	if only := p.options.Namespaces; len(only) > 0 {
		maps.DeleteFunc(set, func(ns string, _ bool) bool { return !slices.Contains(only, ns) })
	}
	return append([]string{}, slices.Sorted(maps.Keys(set))...)
}

// kind returns a kind of OLM.
func kind(group, name string) olm.Kind {
	k, _ := olm.KindOf(group, name) // TestKinds: all are known
	return k
}

func (f Facts) check() error {
	var all []error
	for _, name := range f.CSVs {
		all = append(all, checkName("a ClusterServiceVersion", name))
	}
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
		for _, key := range slices.Sorted(maps.Keys(e.Selector)) {
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

func (o Options) check() error {
	all := []error{checkName("the policies", o.Name)}
	for _, ns := range slices.Concat(o.Namespaces, o.ExemptNamespaces) {
		all = append(all, checkName("the scope of the policies", ns))
	}
	for _, a := range o.ExemptServiceAccounts {
		what := fmt.Sprintf("the exempt ServiceAccount %q in namespace %q", a.Name, a.Namespace)
		all = append(all, checkName(what, a.Namespace), checkName(what, a.Name))
	}
	for _, user := range slices.Concat(o.ExemptUsers, o.ExemptGroups) {
		if user == "" {
			all = append(all, errors.New("an exempt user or group has no name"))
		}
	}
	return errors.Join(all...)
}

func checkName(what, name string) error {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return fmt.Errorf("%s: %q is not the name of an object: %s", what, name, problems[0])
	}
	return nil
}

func checkImage(what, image string) error {
	if _, pinned := images.Repository(image); !pinned {
		return fmt.Errorf("%s: the image %q has no digest, so its content can change", what, image)
	}
	return nil
}

func sorted(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }
