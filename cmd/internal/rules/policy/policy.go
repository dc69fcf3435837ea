// Package policy checks the Kubernetes objects of files against rules: those of Operate First's decision record on
// managing operators, and the limits, CEL expressions and exceptions of a policy file.
package policy

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// OperateFirst is the name of the policy with all rules of the decision record and no others.
const OperateFirst = "operate-first"

// Names returns the names of the built-in policies.
func Names() []string { return []string{OperateFirst} }

// Builtin returns the built-in policy of a name, or nil.
func Builtin(name string) *Policy {
	if name != OperateFirst {
		return nil
	}
	return &Policy{rules: recordRules, clusterScope: defaultClusterScope()}
}

// Policy is a set of rules. It is immutable, so several goroutines may use it.
type Policy struct {
	rules        []Rule
	exceptions   []exception
	clusterScope []glob
}

// Rule is one rule of a policy.
type Rule struct {
	ID    string            `json:"id"`
	Level findings.Severity `json:"level"`
	Text  string            `json:"description"`     // the requirement, in one line
	Quote string            `json:"quote,omitempty"` // the sentence of the decision record that requires it
	Help  string            `json:"help,omitempty"`  // how olmgen applies it

	check func(*view)
}

type violation struct {
	*manifest.Object
	field string // dotted path
	msg   string
	hint  string
}

// Input is what Check checks.
type Input struct {
	Paths []string // the paths of tree.Read
	Tree  *tree.Tree

	Installed []Installed // what OLM installs for objects of the tree
	Unknown   []Unknown   // objects of the tree for which OLM installs nobody knows what
}

// Installed is an operator that OLM installs for an object of the tree: what rules and limits find in it is at that.
type Installed struct {
	By        *manifest.Object
	Name      string // of the bundle
	Namespace string
	CSV       *manifest.Object
}

// Unknown is an object of the tree that hands an operator over to OLM, and why the operator is not looked at.
type Unknown struct {
	By   *manifest.Object
	Why  string
	Hint string // what makes it known; empty if nothing does
}

// Check returns the violations of the policy, sorted. Objects that cannot be read are findings. The error is ctx's.
func (p *Policy) Check(ctx context.Context, in Input) ([]findings.Finding, error) {
	v := newView(in, p.clusterScope)
	v.ctx = ctx
	var found []located
	for _, r := range p.rules {
		v.hits = nil
		r.check(v)
		for _, h := range v.hits {
			found = append(found, v.located(h, r.ID, r.Level))
		}
	}
	for _, h := range v.faults {
		found = append(found, v.located(h, ruleUnreadable, findings.Error))
	}
	for _, u := range in.Unknown {
		h := violation{u.By, "", "the operator that it installs is not looked at: " + u.Why, u.Hint}
		found = append(found, h.located(ruleUnknown, findings.Note))
	}
	for _, kind := range []string{"OperatorGroup", "Subscription", "CatalogSource", "ClusterServiceVersion"} {
		level := findings.Error
		if kind == "ClusterServiceVersion" {
			level = findings.Warning // published ones have some, and OLM installs them
		}
		for _, o := range v.olm(kind) {
			for _, e := range olm.UnknownFields(o.Object) {
				found = append(found, violation{o.Object, e.Field, e.Msg, e.Tip}.located(ruleUnknownField, level))
			}
		}
	}
	for _, d := range in.Tree.Duplicates() {
		found = append(found, violation{d.Object, "", d.Says(), d.Hint()}.located(ruleDuplicate, d.Level()))
	}
	found = append(found, operatorRights(v)...)
	for _, s := range in.Tree.Skipped {
		found = append(found, located{nil, findings.Finding{
			Rule: ruleSkipped, Level: findings.Note, File: s.Path, Message: "not read: " + s.Why,
		}})
	}
	for _, f := range in.Tree.Faults {
		found = append(found, located{nil, findings.Finding{
			Rule: ruleUnreadable, Level: findings.Error, File: f.File, Line: f.Line, Field: f.Field, Message: f.Msg,
			Hint: f.Tip,
		}})
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	list := except(p.exceptions, found, v)
	findings.Sort(list)
	return list, nil
}

// located is a finding with its object, which is nil for a finding about a file.
type located struct {
	object *manifest.Object
	findings.Finding
}

// located returns a finding. What is found in an operator that OLM installs is at the object that asks for it.
func (v *view) located(h violation, rule string, level findings.Severity) located {
	l := h.located(rule, level)
	i := slices.IndexFunc(v.installed, func(e *entry) bool { return e.Object == h.Object })
	if i < 0 {
		return l
	}
	by := v.installed[i].by
	l.object = by.By
	place := fmt.Sprintf("see %s:%d", l.File, l.Line) // not in the message, which a baseline keeps
	if l.Hint != "" {
		place += "; " + l.Hint
	}
	if l.Field != "" {
		l.Message = l.Field + ": " + l.Message
	}
	l.Message, l.Hint, l.Field = "installs "+by.Name+": "+l.Message, place, ""
	l.File, l.Line, l.Object = by.By.File, by.By.Line, strings.TrimSpace(by.By.Identity())
	return l
}

func (h violation) located(rule string, level findings.Severity) located {
	file, line := h.File, h.Line
	if h.field != "" { // PlaceOf parses the whole document, so avoid it where it is not needed
		file, line = h.PlaceOf(h.field)
	}
	return located{h.Object, findings.Finding{Rule: rule, Level: level, File: file, Line: line,
		Object: strings.TrimSpace(h.Identity()), Field: withoutIndexes(h.field), Message: h.msg, Hint: h.hint}}
}

var anIndex = lazy.Regexp(`\[[0-9]+`)

// withoutIndexes makes rules[] of rules[3]: the line says which it is, and a baseline matches when items are inserted.
func withoutIndexes(field string) string { return anIndex().ReplaceAllString(field, "[") }

// Rules returns the rules of the policy, sorted by id: built-in ones, those of the file, those about the policy.
func (p *Policy) Rules() []Rule {
	list := slices.Concat(p.rules, ownRules)
	slices.SortFunc(list, func(a, b Rule) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// Explain converts rules for findings.Print.
func Explain(rules []Rule) []findings.Rule {
	return lists.Map(rules, func(r Rule) findings.Rule {
		help := r.Help
		if r.Quote != "" {
			help = strings.TrimSpace("“" + r.Quote + "” (" + recordName + ") " + r.Help)
		}
		return findings.Rule{ID: r.ID, Text: r.Text, Help: help}
	})
}

// area is the part of a repository that a file belongs to.
type area int

const (
	nowhere      area = iota // standard input
	clusterScope             // the cluster-scope application
	application              // any other application
)

type entry struct {
	*manifest.Object
	Namespace string // may come from the kustomization beside it
	area      area
	rel       string     // path below the given path
	app       string     // directory of its application
	by        *Installed // the operator that it is of, which is not in the tree; usually nil
}

// view is a tree, decoded for the rules.
type view struct {
	ctx       context.Context //nolint:containedctx // of Check, which makes the view and drops it
	objects   []*entry
	installed []*entry // ClusterServiceVersions of operators that OLM installs
	// repositories are the given paths that contain the cluster-scope application.
	repositories map[string]bool
	kinds        map[string][]*entry // by group/kind

	groups        []*operatorGroup
	groupsIn      map[string][]*operatorGroup // by namespace
	subscriptions []*subscription
	crds          map[string]olm.Kind // what CustomResourceDefinitions define, by group/kind

	rbac   *permissions
	hits   []violation // of one rule
	faults []violation // of all
}

type operatorGroup struct {
	*entry
	spec    map[string]any
	targets olm.Targets
}

type subscription struct {
	*entry
	pkg, source, sourceNamespace string
}

func newView(in Input, scopes []glob) *view {
	v := &view{
		repositories: map[string]bool{},
		kinds:        map[string][]*entry{},
		groupsIn:     map[string][]*operatorGroup{},
		crds:         map[string]olm.Kind{},
	}
	v.locate(in, scopes)
	for i := range in.Installed {
		by := &in.Installed[i]
		v.installed = append(v.installed, &entry{Object: by.CSV, Namespace: by.Namespace, by: by})
	}
	for _, o := range v.objects {
		key := o.Group() + "/" + o.Kind
		if o.Kind == "ClusterServiceVersion" {
			key = olm.Group + "/" + o.Kind // published bundles have it with other apiVersions, and OLM goes by the kind
		}
		v.kinds[key] = append(v.kinds[key], o)
	}
	for _, o := range v.kinds["apiextensions.k8s.io/CustomResourceDefinition"] {
		if k, err := olm.DefinedKind(o.Object); err != nil {
			v.fault(o.Object, err)
		} else {
			v.crds[k.Group+"/"+k.Name] = k
		}
	}
	for _, o := range v.kinds[olm.Group+"/OperatorGroup"] {
		g := &operatorGroup{entry: o}
		if !v.field(o.Object, &g.spec, "spec") || !v.field(o.Object, &g.targets.Names, "spec", "targetNamespaces") ||
			!v.field(o.Object, &g.targets.Selector, "spec", "selector") {
			continue
		}
		v.groups = append(v.groups, g)
		if o.Namespace != "" {
			v.groupsIn[o.Namespace] = append(v.groupsIn[o.Namespace], g)
		}
	}
	for _, o := range v.kinds[olm.Group+"/Subscription"] {
		s := &subscription{entry: o}
		if v.field(o.Object, &s.pkg, "spec", "name") && v.field(o.Object, &s.source, "spec", "source") &&
			v.field(o.Object, &s.sourceNamespace, "spec", "sourceNamespace") {
			v.subscriptions = append(v.subscriptions, s)
		}
	}
	return v
}

func (v *view) hit(o *manifest.Object, field, msg, hint string) {
	v.hits = append(v.hits, violation{o, field, msg, hint})
}

// field decodes a field of an object. A field of the wrong type is a finding, and field returns false.
func (v *view) field(o *manifest.Object, to any, path ...string) bool {
	err := o.Field(to, path...)
	if err != nil {
		v.fault(o, err)
	}
	return err == nil
}

// locate sets the location of each object, and of what OperatorPolicies make. Below a path that contains the
// cluster-scope application, each directory is an application; any other path is one application.
func (v *view) locate(in Input, scopes []glob) {
	w := world.Read(in.Tree.Objects, "")
	w.Complete(false, nil)
	for _, o := range w.Settled(in.Tree.Objects) {
		if o.APIVersion == APIVersion && o.Kind == Kind {
			continue
		}
		root, rel := rootOf(o.File, in.Paths)
		p := &entry{Object: o, Namespace: o.Namespace, rel: rel, app: root}
		switch {
		case o.File == tree.StdinFile && root == tree.Stdin:
		case matchAny(scopes, o.File) || matchAny(scopes, rel):
			p.area = clusterScope
			v.repositories[root] = true
		default:
			p.area = application
		}
		v.objects = append(v.objects, p)
	}
	for _, o := range v.objects {
		if first, _, ok := strings.Cut(o.rel, "/"); ok && v.repositories[o.app] {
			o.app = path.Join(o.app, first)
		}
	}
}

func matchAny(globs []glob, name string) bool {
	return slices.ContainsFunc(globs, func(g glob) bool { return g.match(name) })
}

// rootOf returns the given path that contains a file, and the file's path relative to it.
func rootOf(file string, paths []string) (root, rel string) {
	rel = file
	for _, given := range paths {
		p := filepath.ToSlash(filepath.Clean(given))
		switch rest, below := strings.CutPrefix(file, strings.TrimSuffix(p, "/")+"/"); {
		case given == tree.Stdin && file == tree.StdinFile && root == "":
			root = tree.Stdin
		case p == "." && root == "" && filepath.IsLocal(filepath.FromSlash(file)):
			root = p
		case file == p:
			return path.Dir(p), path.Base(p)
		case below && (root == "." || len(p) > len(root)):
			root, rel = p, rest
		}
	}
	return root, rel
}

// scopeOf returns the scope of an object: that of its kind, or what a CustomResourceDefinition of the tree defines.
func (v *view) scopeOf(o *entry) bundle.Scope {
	if s := bundle.ScopeOfKind(o.Group(), o.Kind); s != bundle.ScopeUnknown {
		return s
	}
	switch k, defined := v.crds[o.Group()+"/"+o.Kind]; {
	case !defined:
		return bundle.ScopeUnknown
	case k.Namespaced:
		return bundle.Namespaced
	}
	return bundle.ClusterScoped
}

// globalIn reports whether operators in a namespace target all namespaces. OpenShift has a global OperatorGroup in
// openshift-operators from the start.
func (v *view) globalIn(namespace string) bool {
	groups := v.groupsIn[namespace]
	return slices.ContainsFunc(groups, func(g *operatorGroup) bool { return g.targets.Global() }) ||
		namespace == globalOperators && len(groups) == 0
}
