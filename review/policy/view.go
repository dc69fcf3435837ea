package policy

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/manifest/tree"
)

const olmGroup = "operators.coreos.com"

// place is where the file of an object is.
type place int

const (
	nowhere      place = iota // the standard input
	clusterScope              // the cluster-scope application
	application               // any other
)

// placed is an object at its place.
type placed struct {
	*manifest.Object
	Namespace string // with what the kustomization beside it says
	place     place
	rel       string // path below the one that was given
	app       string // directory of its application, if that is its place
}

// view is a tree as the rules see it.
type view struct {
	objects []*placed
	// repositories are the given paths that have the cluster-scope application in them.
	repositories map[string]bool
	kinds        map[string][]*placed // by group/kind

	groups        []*operatorGroup
	groupsIn      map[string][]*operatorGroup // by namespace
	subscriptions []*subscription
	crds          map[string]*crd // by group/kind of what they define

	rbac   *rbac // see grants
	faults []hit
}

// operatorGroup is what counts of an OperatorGroup.
type operatorGroup struct {
	*placed
	spec     map[string]any
	targets  []string
	selects  bool // by labels
	isGlobal bool
}

// subscription is what counts of a Subscription.
type subscription struct {
	*placed
	pkg string
}

// crd is what counts of a CustomResourceDefinition.
type crd struct {
	*placed
	group, kind, plural string
	namespaced          bool
}

func newView(in Input, scopes []glob) *view {
	v := &view{repositories: map[string]bool{}, kinds: map[string][]*placed{}, groupsIn: map[string][]*operatorGroup{}, crds: map[string]*crd{}}
	v.place(in, scopes)
	for _, o := range v.objects {
		key := o.Group() + "/" + o.Kind
		if o.Kind == "ClusterServiceVersion" {
			key = olmGroup + "/" + o.Kind // published bundles have it with other apiVersions, and OLM goes by the kind
		}
		v.kinds[key] = append(v.kinds[key], o)
	}
	for _, o := range v.kinds["apiextensions.k8s.io/CustomResourceDefinition"] {
		v.addCRD(o)
	}
	for _, o := range v.kinds[olmGroup+"/OperatorGroup"] {
		v.addGroup(o)
	}
	for _, o := range v.kinds[olmGroup+"/Subscription"] {
		s := &subscription{placed: o}
		if v.field(o.Object, &s.pkg, "spec", "name") {
			v.subscriptions = append(v.subscriptions, s)
		}
	}
	return v
}

// field decodes a field of an object. If it is of another type, that is a finding, and the result is false.
func (v *view) field(o *manifest.Object, to any, path ...string) bool {
	value, err := o.Get(path...)
	if err == nil && value == nil {
		return true
	}
	var data []byte
	if err == nil {
		data, err = json.Marshal(value)
	}
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		v.faults = append(v.faults, hit{o, strings.Join(path, "."), misread(err), ""})
	}
	return err == nil
}

// misread says in plain words what encoding/json says.
func misread(err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return "cannot be understood: " + oneLine(err.Error())
	}
	where := ""
	if wrong.Field != "" {
		where = " of " + wrong.Field
	}
	want := map[reflect.Kind]string{reflect.Slice: "a list", reflect.Map: "a mapping", reflect.Struct: "a mapping", reflect.String: "text", reflect.Bool: "true or false"}
	return fmt.Sprintf("cannot be understood: the value%s is of type %s, must be %s", where, wrong.Value, cmp.Or(want[wrong.Type.Kind()], wrong.Type.String()))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// place finds out where the objects are. Below a path that has the cluster-scope application in it, each directory is an application; any
// other path is one as a whole.
func (v *view) place(in Input, scopes []glob) {
	namespaces := v.kustomized(in.Tree.Kustomizations)
	for _, o := range in.Tree.Objects {
		if o.APIVersion == APIVersion && o.Kind == Kind {
			continue
		}
		root, rel := rootOf(o.File, in.Paths)
		p := &placed{Object: o, Namespace: o.Namespace, rel: rel, app: root}
		if ns := namespaces[o.File]; ns != "" && bundle.ScopeOfKind(o.Group(), o.Kind) != bundle.ClusterScoped {
			p.Namespace = ns
		}
		switch {
		case o.File == tree.StdinFile && root == tree.Stdin:
		case matchAny(scopes, o.File) || matchAny(scopes, rel):
			p.place = clusterScope
			v.repositories[root] = true
		default:
			p.place = application
		}
		v.objects = append(v.objects, p)
	}
	for _, o := range v.objects {
		if first, _, ok := strings.Cut(o.rel, "/"); ok && v.repositories[o.app] {
			o.app = path.Join(o.app, first)
		}
	}
}

// kustomized gives the namespaces that kustomizations set for the files beside them, by file. Those of overlays are not followed.
func (v *view) kustomized(kustomizations []*manifest.Object) map[string]string {
	namespaces := map[string]string{}
	for _, k := range kustomizations {
		var namespace string
		var resources []string
		if !v.field(k, &namespace, "namespace") || namespace == "" || !v.field(k, &resources, "resources") {
			continue
		}
		for _, r := range resources {
			namespaces[path.Join(path.Dir(k.File), r)] = namespace
		}
	}
	return namespaces
}

func matchAny(globs []glob, name string) bool {
	return slices.ContainsFunc(globs, func(g glob) bool { return g.match(name) })
}

// rootOf gives the path that a file was found below, and the file's path from there.
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

func (v *view) addGroup(o *placed) {
	g := &operatorGroup{placed: o}
	var selector struct {
		MatchLabels      map[string]any
		MatchExpressions []any
	}
	if !v.field(o.Object, &g.spec, "spec") || !v.field(o.Object, &g.targets, "spec", "targetNamespaces") || !v.field(o.Object, &selector, "spec", "selector") {
		return
	}
	g.selects = len(selector.MatchLabels)+len(selector.MatchExpressions) > 0
	g.isGlobal = len(g.targets) == 0 && !g.selects
	v.groups = append(v.groups, g)
	if o.Namespace != "" {
		v.groupsIn[o.Namespace] = append(v.groupsIn[o.Namespace], g)
	}
}

func (v *view) addCRD(o *placed) {
	c := &crd{placed: o}
	var names struct{ Plural, Kind string }
	var scope string
	if !v.field(o.Object, &c.group, "spec", "group") || !v.field(o.Object, &names, "spec", "names") || !v.field(o.Object, &scope, "spec", "scope") {
		return
	}
	c.kind, c.plural, c.namespaced = names.Kind, names.Plural, scope != "Cluster"
	v.crds[c.group+"/"+c.kind] = c
}

// scopeOf tells whether an object is in a namespace: by its kind, or by a CustomResourceDefinition of the tree.
func (v *view) scopeOf(o *placed) bundle.Scope {
	if s := bundle.ScopeOfKind(o.Group(), o.Kind); s != bundle.ScopeUnknown {
		return s
	}
	switch c := v.crds[o.Group()+"/"+o.Kind]; {
	case c == nil:
		return bundle.ScopeUnknown
	case c.namespaced:
		return bundle.Namespaced
	}
	return bundle.ClusterScoped
}

// globalIn reports whether operators in a namespace have all namespaces as their target. OpenShift has a global OperatorGroup in
// openshift-operators from the start.
func (v *view) globalIn(namespace string) bool {
	groups := v.groupsIn[namespace]
	return slices.ContainsFunc(groups, func(g *operatorGroup) bool { return g.isGlobal }) || namespace == globalOperators && len(groups) == 0
}
