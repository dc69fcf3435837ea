package policy

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
)

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
	objects, _ := olm.WithPolicies(in.Tree.Objects, nil)
	for _, o := range objects {
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
