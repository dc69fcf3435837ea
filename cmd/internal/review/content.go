package review

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/extension"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// Content is what a catalog serves, as somebody writes it: [[NAMESPACE/]NAME=]DIR[,priority=N][,global].
type Content struct {
	Namespace, Name, Dir string // without a name, Name is that of the directory, and Namespace is empty
	Cluster              bool   // it is of a ClusterCatalog of OLM v1, which has no namespace
	Priority             int32
	Global               bool // the catalogs of the namespace serve all namespaces
}

// ContentError is why a text is not the content of a catalog.
type ContentError struct{ Msg, Tip string }

func (e *ContentError) Error() string { return e.Msg }

// Hint returns what to write.
func (e *ContentError) Hint() string { return e.Tip }

// ReadContent reads what CatalogSources or ClusterCatalogs serve; if mixed, a name alone is that of a ClusterCatalog.
func ReadContent(value string, clusters, mixed bool) (c Content, err error) {
	rest, global := strings.CutSuffix(value, ",global")
	rest, priority, ranked := strings.Cut(rest, ",priority=")
	rest, also := strings.CutSuffix(rest, ",global")
	c.Global = global || also
	if ranked {
		n, err := strconv.ParseInt(priority, 10, 32)
		if err != nil {
			return c, &ContentError{fmt.Sprintf("priority %q is not a number", priority), ""}
		}
		c.Priority = int32(n)
	}
	key, dir, named := strings.Cut(rest, "=")
	switch {
	case !named:
		key, dir = "", rest
	case key == "":
		return c, &ContentError{"no name is before =", "write NAMESPACE/NAME=DIR"}
	}
	if dir == "" {
		return c, &ContentError{"no directory is given", "write NAMESPACE/NAME=DIR"}
	}
	c.Dir, c.Name = dir, CatalogName(dir)
	namespace, name, ok := strings.Cut(key, "/")
	c.Cluster = clusters || mixed && named && !ok
	switch {
	case key == "":
	case c.Cluster && len(validation.IsDNS1123Subdomain(key)) > 0:
		return c, &ContentError{fmt.Sprintf("%q is not the name of a ClusterCatalog", key), "write NAME=DIR"}
	case c.Cluster:
		c.Name = key
	case !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0:
		return c, &ContentError{fmt.Sprintf("%q is not the name of a CatalogSource", key), "write NAMESPACE/NAME=DIR"}
	default:
		c.Namespace, c.Name = namespace, name
	}
	if c.Global && c.Namespace == "" {
		return c, &ContentError{"global is for a catalog with a namespace", "write NAMESPACE/NAME=DIR,global"}
	}
	return c, nil
}

// CatalogName returns the name of the catalog of a source: that of its directory or file, or of its image's repository.
func CatalogName(ref string) string {
	base := path.Base(filepath.ToSlash(source.Path(ref)))
	switch {
	case source.Path(ref) == "":
		base, _, _ = strings.Cut(path.Base(ref), "@")
		base, _, _ = strings.Cut(base, ":")
	case source.IsManifestName(base):
		base = strings.TrimSuffix(base, path.Ext(base))
	}
	if len(validation.IsDNS1123Subdomain(base)) > 0 {
		return "catalog"
	}
	return base
}

// CheckNames refuses a catalog that no object names, with the names that are there. If there are none, or a part of the
// tree is not known and no name is nearly the same, it returns a message instead.
func CheckNames(values []string, objects []*manifest.Object, partial bool) (messages []*ContentError, err error) {
	if len(values) == 0 {
		return nil, nil
	}
	known, any := catalogNames(objects)
	var given []Content
	for _, value := range values {
		c, err := ReadContent(value, false, true)
		if err != nil {
			return nil, err
		}
		given = append(given, c)
	}
	names := slices.Sorted(maps.Keys(known))
	without := lists.Filter(names, func(name string) bool {
		return !slices.ContainsFunc(given, func(c Content) bool { return c.key() == name })
	})
	for _, c := range given {
		_, named := known[c.key()]
		_, somewhere := known["/"+c.Name] // a CatalogSource without a namespace
		named = named || somewhere && !c.Cluster || olm.IsDefaultCatalogSource(c.Namespace, c.Name) ||
			c.Cluster && olm.IsDefaultClusterCatalog(c.Name)
		near := c.nearest(without)
		other := near == "" || known[near] || strings.Contains(near, "/") == c.Cluster
		if named || c.Global || c.Namespace == "" && !c.Cluster || any[c.Cluster] && other {
			continue
		}
		said := &ContentError{Msg: "no object names the catalog " + c.key()}
		switch {
		case near != "":
			said.Tip = "did you mean " + near + "?"
		case len(names) > 0:
			said.Tip = "objects name " + text.And(names) + "; content without a name serves all of them"
		}
		if len(names) > 0 && (near != "" || !partial) {
			return nil, said
		}
		messages = append(messages, said)
	}
	return messages, nil
}

func (c Content) key() string {
	if c.Cluster {
		return c.Name
	}
	return c.Namespace + "/" + c.Name
}

// nearest returns the key of the same name in another or any namespace, or of nearly the same name; "" for none.
func (c Content) nearest(keys []string) string {
	namespace := strings.TrimSuffix(c.key(), c.Name)
	var names []string
	for _, key := range keys {
		if strings.HasSuffix(key, "/"+c.Name) {
			return key
		}
		if name, ok := strings.CutPrefix(key, namespace); ok && !strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	if near := text.Nearest(c.Name, names); near != "" {
		return namespace + near
	}
	return ""
}

// catalogNames returns the keys of the catalogs that objects name, and whether the objects say what one serves. any
// says whether an object may mean any CatalogSource (false), or any ClusterCatalog (true).
func catalogNames(objects []*manifest.Object) (known map[string]bool, any map[bool]bool) {
	w := world.Read(objects, "")
	w.Complete(false, nil)
	known, any = map[string]bool{}, map[bool]bool{false: slices.ContainsFunc(w.Policies,
		func(p *olm.OperatorPolicy) bool { return p.Unknown != "" })}
	name := func(c Content, content bool) {
		if c.Name != "" {
			known[c.key()] = known[c.key()] || content
		}
	}
	asked := resolve.Of(w)
	for _, s := range asked.Namespaces {
		for _, sub := range s.Subscriptions {
			name(Content{Namespace: sub.SourceNamespace, Name: sub.Source}, false)
		}
	}
	for _, s := range asked.CatalogSources {
		name(Content{Namespace: s.Namespace, Name: s.Name}, s.Image != "" || s.Catalog != nil)
	}
	for _, o := range objects {
		switch {
		case o.Kind == v1alpha1.SubscriptionKind && o.Group() == olm.Group: // of any root
			namespace, _ := o.Get("spec", "sourceNamespace")
			source, _ := o.Get("spec", "source")
			name(Content{Namespace: olm.Text(namespace), Name: olm.Text(source)}, false)
			any[false] = any[false] || strings.Contains(olm.Text(namespace)+olm.Text(source), "{{")
		case o.Group() != olm.GroupV1:
		case o.Kind == olm.KindClusterCatalog:
			name(Content{Name: o.Name, Cluster: true}, true)
		case o.Kind == olm.KindClusterExtension:
			any[true] = true
			selected, err := o.Get("spec", "source", "catalog", "selector", "matchLabels", predict.LabelCatalogName)
			if text, ok := selected.(string); ok && err == nil {
				name(Content{Name: text, Cluster: true}, false)
			}
		}
	}
	return known, any
}

// OfOld returns the catalogs of an older tree: what is given for it, and of the others what the newer one has, but not
// that of an image that changes. Moved names these; content without a name stays for them.
func OfOld(old, now []string, before, after []*manifest.Object) (values, moved []string) {
	given, named := lists.Set(old, nameOf), lists.Set(now, nameOf)
	was, is := imagesOf(before), imagesOf(after)
	moved = lists.Filter(lists.Keys(is), func(name string) bool {
		return was[name] != "" && was[name] != is[name] && !given[""] && !given[name] && (named[""] || named[name])
	})
	return slices.Concat(old, lists.Filter(now, func(v string) bool {
		return !given[""] && !given[nameOf(v)] && !slices.Contains(moved, nameOf(v))
	})), moved
}

// imagesOf returns the images of catalogs by their names.
func imagesOf(objects []*manifest.Object) map[string]string {
	out := map[string]string{}
	for _, o := range objects {
		if o.Kind == v1alpha1.CatalogSourceKind && o.Group() == olm.Group {
			out[o.Namespace+"/"+o.Name] = olm.Text(olm.Get(o, "spec", "image"))
		} else if o.Kind == olm.KindClusterCatalog && o.Group() == olm.GroupV1 {
			out[o.Name] = olm.Text(olm.Get(o, "spec", "source", "image", "ref"))
		}
	}
	return out
}

// nameOf returns the name that content is given with, or "": it is that of all others.
func nameOf(value string) string {
	c, _ := ReadContent(value, false, true) // whoever reads it says what is wrong
	if c.Namespace == "" && !c.Cluster {
		return ""
	}
	return c.key()
}

// Wanted returns the packages that objects have OLM install; none if they may ask for any.
func Wanted(lists ...[]*manifest.Object) (names []string) {
	for _, o := range slices.Concat(lists...) {
		var path []string
		switch {
		case isPolicy(o): // a template may name any
			for _, p := range olm.OperatorPolicies([]*manifest.Object{o}) {
				if names = append(names, p.Package); p.Package == "" || strings.Contains(p.Package, "{{") {
					return nil
				}
			}
			continue
		case !handsOver(o):
			continue
		case o.Kind == olm.KindClusterExtension:
			path = []string{"spec", "source", "catalog", "packageName"}
		default:
			path = []string{"spec", "name"}
		}
		name, err := o.Get(path...)
		text, ok := name.(string)
		if err != nil || !ok || text == "" {
			return nil
		}
		names = append(names, text)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ContentReader reads what catalogs serve, each image once.
type ContentReader struct {
	Options catalog.Options
	// images are by who names it, reference, and the packages that were asked for; without these, nil: unreadable
	images map[string]*resolve.Source
}

// Read reads a catalog, and warns of unreadable bundles. A catalog that opm refuses to serve is unavailable.
func (r *ContentReader) Read(ctx context.Context, dir string) (s resolve.Source, err error) {
	if s.Catalog, err = catalog.Read(ctx, dir, r.Options); err != nil {
		return s, err
	}
	for _, f := range s.Catalog.Faulty {
		r.Options.Source.Warn("%s", text.OneLine(f.Error()))
	}
	s.Unavailable = Refused(s.Catalog, dir, r.Options.Source)
	return s, nil
}

// Refused reports whether opm refuses to serve a catalog, and warns of it.
func Refused(c *catalog.Catalog, dir string, o source.Options) bool {
	refusal := c.Refusal()
	if refusal != nil && o.Warn != nil {
		o.Warn("%s: opm does not serve this catalog: %s", dir, refusal)
	}
	return refusal != nil
}

// Named reads content of which each has a name; one without a namespace is in the global one.
func (r *ContentReader) Named(ctx context.Context, list []Content) (c predict.Catalogs, err error) {
	var namespaces []resolve.Source
	for _, given := range list {
		namespaces = append(namespaces, resolve.Source{Namespace: given.Namespace})
		if given.Global {
			c.Global = given.Namespace
		}
	}
	c.Global = cmp.Or(c.Global, predict.GlobalNamespace(namespaces))
	for _, given := range list {
		s := resolve.Source{Name: given.Name, Namespace: cmp.Or(given.Namespace, c.Global)}
		if slices.ContainsFunc(c.Sources, s.Same) {
			return c, &ContentError{fmt.Sprintf("%s/%s is given twice", s.Namespace, s.Name),
				"name them with NAMESPACE/NAME=DIR"}
		}
		read, err := r.Read(ctx, given.Dir)
		if err != nil {
			return c, err
		}
		read.Name, read.Namespace, read.Priority = s.Name, s.Namespace, int(given.Priority)
		read.Prepared = resolve.Prepare(read.Catalog)
		c.Sources = append(c.Sources, read)
	}
	return c, nil
}

// Catalogs reads what is given. Content without a name is that of all others.
func (r *ContentReader) Catalogs(ctx context.Context, values []string) (c predict.Catalogs, err error) {
	var named []Content
	var others []*catalog.Catalog
	for _, value := range values {
		parsed, err := ReadContent(value, false, true)
		if err != nil {
			return c, err
		}
		if parsed.Global && c.Global != "" && c.Global != parsed.Namespace {
			return c, &ContentError{fmt.Sprintf("%s and %s cannot both be the global namespace", c.Global,
				parsed.Namespace), "leave out \",global\": a cluster has the one that its CatalogSources and " +
				"Subscriptions name"}
		}
		if parsed.Global {
			c.Global = parsed.Namespace
		}
		if parsed.Namespace != "" {
			named = append(named, parsed)
			continue
		}
		read, err := r.Read(ctx, parsed.Dir)
		switch {
		case err != nil:
			return c, err
		case parsed.Cluster:
			c.ClusterCatalogs = append(c.ClusterCatalogs, extension.Source{Name: parsed.Name,
				Priority: parsed.Priority, Catalog: read.Catalog})
		default:
			others = append(others, read.Catalog)
		}
	}
	if len(others) > 0 {
		c.Others = catalog.Join(others...)
		c.Prepared = resolve.Prepare(c.Others)
	}
	of, err := r.Named(ctx, named)
	c.Sources = of.Sources
	return c, err
}

// WithImages adds the unknown catalogs whose images the tree names. One that cannot be read stays unknown.
func (r *ContentReader) WithImages(ctx context.Context, t *tree.Tree, c predict.Catalogs) predict.Catalogs {
	if c.Others != nil || r.Options.Source.Offline {
		return c
	}
	c.Partial = len(c.Sources) == 0
	w := world.Read(t.Objects, "")
	w.Complete(false, nil)
	asked := resolve.Of(w)
	named := func(s resolve.Source) bool {
		return asked.Subscribes(s) || slices.ContainsFunc(w.Policies, func(p *olm.OperatorPolicy) bool {
			// an OperatorPolicy that names no catalog may mean any
			return p.Unknown != "" && (p.Source == s.Name || p.Source == "" && len(p.Faults) == 0)
		})
	}
	given, clusters := c.Sources, c.ClusterCatalogs
	c.Sources, c.ClusterCatalogs = slices.Clip(given), slices.Clip(clusters)
	for _, s := range asked.CatalogSources {
		if s.Image == "" || slices.ContainsFunc(given, s.Same) || !named(s) {
			continue
		}
		if read := r.image(ctx, "CatalogSource "+s.Namespace+"/"+s.Name, s.Image); read != nil {
			s.Catalog, s.Unavailable = read.Catalog, read.Unavailable
			c.Sources = append(c.Sources, s)
		}
	}
	images := predict.CatalogImages(t.Objects)
	for _, name := range slices.Sorted(maps.Keys(images)) {
		if slices.ContainsFunc(clusters, func(s extension.Source) bool { return s.Name == name }) {
			continue
		}
		if read := r.image(ctx, "ClusterCatalog "+name, images[name]); read != nil {
			c.ClusterCatalogs = append(c.ClusterCatalogs, extension.Source{Name: name, Catalog: read.Catalog})
		}
	}
	return c
}

// image reads the image of a catalog. It warns of one that cannot be read, and returns nil.
func (r *ContentReader) image(ctx context.Context, what, ref string) *resolve.Source {
	key := what + " " + ref
	full := fmt.Sprint(key, r.Options.Only)
	if s, ok := r.images[full]; ok {
		return s
	}
	if _, failed := r.images[key]; failed {
		return nil
	}
	if r.images == nil {
		r.images = map[string]*resolve.Source{}
	}
	read, err := r.Read(ctx, source.KindOCI+"://"+ref)
	if err != nil {
		r.images[key] = nil
		r.Options.Source.Warn("%s: %v", what, err)
		return nil
	}
	r.images[full] = &read
	return &read
}
