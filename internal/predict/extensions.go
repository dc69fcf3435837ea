package predict

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/extension"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate/olmv1"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// Extension is an operator that OLM v1 installs for a ClusterExtension.
type Extension struct {
	Object         *manifest.Object // the ClusterExtension
	Name           string           // of the bundle
	Catalog        string           // of the ClusterCatalog
	Choice         catalog.Choice
	Namespace      string // spec.namespace
	WatchNamespace string // spec.config.inline.watchNamespace; may be empty
	Config         any    // spec.config.inline; nil if there is none
	Account        string // spec.serviceAccount.name, which OLM v1 ignores since version 1.11; may be empty

	installed *extension.Installed
}

// clusterExtension has the fields of a ClusterExtension that decide what is installed (operator-controller:
// api/v1/clusterextension_types.go).
type clusterExtension struct {
	Spec struct {
		Namespace      string                      `json:"namespace"`
		ServiceAccount corev1.LocalObjectReference `json:"serviceAccount"`
		Source         struct {
			Catalog *struct {
				PackageName             string                `json:"packageName"`
				Version                 string                `json:"version"`
				Channels                []string              `json:"channels"`
				Selector                *metav1.LabelSelector `json:"selector"`
				UpgradeConstraintPolicy string                `json:"upgradeConstraintPolicy"`
			} `json:"catalog"`
		} `json:"source"`
		Config *struct {
			Inline any `json:"inline"`
		} `json:"config"`
	} `json:"spec"`
	Status struct {
		Install *struct {
			Bundle extension.Installed `json:"bundle"`
		} `json:"install"`
	} `json:"status"`
}

// clusterCatalog has the fields of a ClusterCatalog that decide whether OLM v1 uses it (operator-controller:
// api/v1/clustercatalog_types.go).
type clusterCatalog struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Priority         int32  `json:"priority"`
		AvailabilityMode string `json:"availabilityMode"`
		Source           struct {
			Image struct {
				Ref string `json:"ref"`
			} `json:"image"`
		} `json:"source"`
	} `json:"spec"`
}

// SelectsByName reports whether a selector takes a ClusterCatalog that has no label but the one with its name. A nil
// selector takes each, and one that cannot be read none.
func SelectsByName(selector *metav1.LabelSelector, name string) bool {
	selects, err := selectorOf(selector)
	return err == nil && selects.Matches(labels.Set{LabelCatalogName: name})
}

// selected reports whether OLM v1 uses the catalog for a ClusterExtension with a selector.
func (c *clusterCatalog) selected(by labels.Selector) bool {
	set := labels.Merge(c.Metadata.Labels, labels.Set{LabelCatalogName: c.Metadata.Name})
	return c.Spec.AvailabilityMode != "Unavailable" && by.Matches(set)
}

// CatalogImages returns the images of the ClusterCatalogs among objects that a ClusterExtension among them uses, by the
// name of the ClusterCatalog. What cannot be read has none.
func CatalogImages(objects []*manifest.Object) map[string]string {
	selectors := map[string]labels.Selector{}
	for _, o := range ofOLMv1(objects, olm.KindClusterExtension) {
		var e clusterExtension
		if _, err := o.Into(&e); err == nil && e.Spec.Source.Catalog != nil {
			if s, err := selectorOf(e.Spec.Source.Catalog.Selector); err == nil {
				selectors[s.String()] = s
			}
		}
	}
	images := map[string]string{}
	for _, c := range declaredCatalogs(objects) {
		if c.err == nil && c.Spec.Source.Image.Ref != "" && lists.Any(maps.Values(selectors), c.selected) {
			images[c.name] = c.Spec.Source.Image.Ref
		}
	}
	return images
}

// declaredCatalog is a ClusterCatalog of a tree.
type declaredCatalog struct {
	clusterCatalog
	name string
	err  error // why nobody knows what it says
}

// decode is a variable so that a test counts its calls.
var decode = (*manifest.Object).Into

func declaredCatalogs(objects []*manifest.Object) []declaredCatalog {
	list, found := world.Counted(ofOLMv1(objects, olm.KindClusterCatalog), "")
	return lists.Map(list, func(o *manifest.Object) declaredCatalog {
		c := declaredCatalog{name: o.Name}
		if _, c.err = decode(o, &c.clusterCatalog); c.err != nil {
			return c
		}
		if why := differing(o, found); why != "" {
			c.err = errors.New(why)
		}
		return c
	})
}

func selectorOf(selector *metav1.LabelSelector) (labels.Selector, error) {
	if selector == nil {
		return labels.Everything(), nil
	}
	return metav1.LabelSelectorAsSelector(selector)
}

// LabelCatalogName is a label of every ClusterCatalog (operator-controller: api/v1, MetadataNameLabel).
const LabelCatalogName = "olm.operatorframework.io/metadata.name"

// ofExtensions returns what of says of each ClusterExtension, and those of which it says nothing.
func ofExtensions[T any](objects []*manifest.Object, catalogs Catalogs,
	of func(*manifest.Object, []declaredCatalog, Catalogs) (*T, error)) (list []T, unknown []Unknown) {
	declared := declaredCatalogs(objects)
	asking, found := extensionsOf(objects)
	for _, o := range asking {
		if why := differing(o, found); why != "" {
			unknown = append(unknown, Unknown{Object: o, Why: why, Disputed: true})
		} else if x, err := of(o, declared, catalogs); err == nil {
			list = append(list, *x)
		} else {
			_, ofCatalog := errors.AsType[contentError](err)
			unknown = append(unknown, Unknown{Object: o, Why: err.Error(), OfCatalog: ofCatalog})
		}
	}
	return list, unknown
}

// extensionsOf returns the ClusterExtensions among objects, each once, and those about which two roots differ.
func extensionsOf(objects []*manifest.Object) (list []*manifest.Object, found []world.Duplicate) {
	list, found = world.Counted(ofOLMv1(objects, olm.KindClusterExtension), "")
	return slices.DeleteFunc(list, func(o *manifest.Object) bool {
		return slices.ContainsFunc(found, func(d world.Duplicate) bool { return d.Roots && d.Object == o })
	}), found
}

// ofOLMv1 returns the objects of a kind of OLM v1.
func ofOLMv1(objects []*manifest.Object, kind string) []*manifest.Object {
	return lists.Filter(objects, func(o *manifest.Object) bool { return o.Kind == kind && o.Group() == olm.GroupV1 })
}

// differing returns why nobody knows which of two objects of a name counts, or "".
func differing(o *manifest.Object, found []world.Duplicate) string {
	i := slices.IndexFunc(found, func(d world.Duplicate) bool { return d.Roots && d.Other.Name == o.Name })
	if i < 0 {
		return ""
	}
	return found[i].String()
}

// Asked is what a ClusterExtension asks for.
type Asked struct {
	extension.Request
	Object    *manifest.Object
	Sources   []extension.Source
	Selector  *metav1.LabelSelector // of ClusterCatalogs; nil if it names none
	Installed *extension.Installed  // by its status; nil if the tree does not say it

	typed clusterExtension
}

// AskedExtensions returns what the ClusterExtensions among objects ask for, in their order, and those of which nobody
// can say it. The content of ClusterCatalogs is that of catalogs.ClusterCatalogs, else catalogs.Others.
func AskedExtensions(objects []*manifest.Object, catalogs Catalogs) (list []Asked, unknown []Unknown) {
	return ofExtensions(objects, catalogs, askedFor)
}

func askedFor(o *manifest.Object, declared []declaredCatalog, catalogs Catalogs) (*Asked, error) {
	q := &Asked{Object: o}
	_, err := decode(o, &q.typed)
	if q.typed.Status.Install != nil {
		q.Installed = &q.typed.Status.Install.Bundle
	}
	from := q.typed.Spec.Source.Catalog
	if from == nil {
		return q, cmp.Or(err, errors.New("it names no catalog"))
	}
	q.Request = extension.Request{Package: from.PackageName, Versions: from.Version, Channels: from.Channels,
		SelfCertified: from.UpgradeConstraintPolicy == "SelfCertified"}
	q.Selector = from.Selector
	if err != nil {
		return q, err
	}
	if q.Sources, err = servedTo(from.Selector, declared, catalogs); err != nil {
		return q, err
	}
	for _, s := range q.Sources {
		if why := s.Catalog.Missing(q.Package); why != nil {
			return q, fmt.Errorf("a release of package %s cannot be read: %w", q.Package, why)
		}
	}
	return q, nil
}

// rest returns the bundle at which OLM v1 comes to rest from an installed one, which may be nil, and the bundles that
// it installs on the way. The error is that of the first step.
func (q *Asked) rest(installed *extension.Installed) (last *extension.Resolution, steps []string, err error) {
	for seen := map[string]bool{}; ; {
		next, err := extension.Resolve(q.Sources, q.Request, installed)
		if err != nil && last == nil {
			return nil, nil, err
		}
		if err != nil || seen[next.Bundle.Name] {
			return last, steps, nil //nolint:nilerr // it stays there
		}
		if installed == nil || installed.Name != next.Bundle.Name {
			steps = append(steps, next.Bundle.Name)
		}
		last, installed = next, installedFrom(next)
		seen[next.Bundle.Name] = true
	}
}

func installedFrom(r *extension.Resolution) *extension.Installed {
	return &extension.Installed{Name: r.Bundle.Name, Version: r.Version.Text()}
}

// extension returns the operator that is chosen for a ClusterExtension.
func (q *Asked) extension(chosen *extension.Resolution) *Extension {
	e := &Extension{Object: q.Object, Name: chosen.Bundle.Name, Catalog: chosen.Source,
		Namespace: q.typed.Spec.Namespace, Account: q.typed.Spec.ServiceAccount.Name, installed: installedFrom(chosen)}
	for _, s := range q.Sources {
		if p := s.Catalog.Packages[q.Package]; s.Name == chosen.Source && p != nil {
			e.Choice = catalog.Choice{Package: p, Bundle: chosen.Bundle, Channel: lists.Find(p.Channels,
				func(c *catalog.Channel) bool {
					of := chosen.Edge.Channel
					return c.Entry(chosen.Bundle.Name) != nil && (of == "" || of == c.Name) &&
						(len(q.Channels) == 0 || slices.Contains(q.Channels, c.Name))
				})}
		}
	}
	if c := q.typed.Spec.Config; c != nil {
		inline, _ := c.Inline.(map[string]any) // OLM v1 refuses what has another type
		e.Config = c.Inline
		e.WatchNamespace, _ = inline["watchNamespace"].(string)
	}
	return e
}

// contentError is that nobody says what a catalog serves.
type contentError string

func (e contentError) Error() string { return string(e) }

// servedTo returns the catalogs that a selector selects: those of the tree, and those that are only known by name.
func servedTo(selector *metav1.LabelSelector, declared []declaredCatalog,
	catalogs Catalogs) ([]extension.Source, error) {
	selects, err := selectorOf(selector)
	if err != nil {
		return nil, err
	}
	var out []extension.Source
	for _, c := range declared {
		if c.err != nil {
			return nil, c.err
		}
		if !c.selected(selects) {
			continue
		}
		named := func(known extension.Source) bool { return known.Name == c.name }
		content := cmp.Or(lists.Find(catalogs.ClusterCatalogs, named).Catalog, catalogs.Others)
		if content == nil {
			return nil, contentError("the content of ClusterCatalog " + c.name + " is not known")
		}
		out = append(out, extension.Source{Name: c.name, Priority: c.Spec.Priority, Catalog: content})
	}
	for _, known := range catalogs.ClusterCatalogs {
		named := func(c declaredCatalog) bool { return c.name == known.Name }
		if !slices.ContainsFunc(declared, named) && !catalogs.gone("", known.Name) &&
			selects.Matches(labels.Set{LabelCatalogName: known.Name}) {
			out = append(out, known)
		}
	}
	switch known := len(catalogs.ClusterCatalogs); {
	case len(declared)+known == 0 && catalogs.Others != nil:
		out = append(out, extension.Source{Name: "catalog", Catalog: catalogs.Others})
	case len(out)+known == 0 && catalogs.Others == nil:
		return nil, contentError("no catalog is given")
	}
	return out, nil
}

// PlayedExtension is a ClusterExtension after OLM v1 has processed it.
type PlayedExtension struct {
	Cluster string `json:"cluster,omitempty"`
	Name    string `json:"name"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	Bundle  string `json:"bundle,omitempty"` // that OLM v1 chooses; empty if it finds none
	Catalog string `json:"catalog,omitempty"`
	Refused string `json:"refused,omitempty"` // why OLM v1 does not install it, in its words as far as it has some
	Unknown string `json:"unknown,omitempty"` // why nobody can say

	Conditions []Condition `json:"conditions,omitempty"` // of its status, as far as they are known

	object    *manifest.Object
	asked     *Asked
	chosen    *extension.Installed // that OLM v1 would install
	extension *Extension           // that is installed in the end, or would be
	operator  *fit.Operator
	unfit     bool               // it is refused by a rule of package fit
	ours      bool               // the words of the refusal are not those of OLM v1
	untaken   string             // the field for which the API server refuses it
	noAccount bool               // OLM v1 does not find the one that it acts as
	disputed  bool               // two roots of the cluster differ about it
	unserved  bool               // it is unknown, as nobody says what a catalog serves
	partial   string             // why only what the catalog says of the operator is known
	by        string             // who refuses it, as the end of a sentence
	differs   string             // why OLM v1 may say something else of its CRDs
	owns      []string           // what OLM v1 makes of the bundle, as keyOf names it
	made      []*manifest.Object // the same; nil if the bundle has not been read
}

// state returns what OLM v1 does, for a person.
func (e *PlayedExtension) state() string {
	said := lists.By(e.Conditions, func(c Condition) string { return c.Type })
	switch {
	case e.Refused != "":
		return fmt.Sprintf("OLM v1 does not install it (%s): %s%s", cmp.Or(said["Progressing"].Reason, "not taken"),
			text.OneLine(e.Refused), e.by)
	case e.Unknown != "":
		return "unknown: " + e.Unknown
	case e.Catalog == "":
		return fmt.Sprintf("OLM v1 keeps %s: no ClusterCatalog is selected", e.Bundle)
	case said["Deprecated"].Status == "True":
		return fmt.Sprintf("OLM v1 installs %s from catalog %s, deprecated: %s", e.Bundle, e.Catalog,
			text.OneLine(said["Deprecated"].Message))
	}
	return fmt.Sprintf("OLM v1 installs %s from catalog %s", e.Bundle, e.Catalog)
}

// playExtensions plays OLM v1 on the ClusterExtensions: it resolves, renders, and creates what nobody else owns.
func (c *prediction) playExtensions(ctx context.Context) error {
	o, declared := c.options, declaredCatalogs(c.objects)
	asking, found := extensionsOf(c.objects)
	for _, x := range asking {
		e := &PlayedExtension{Cluster: c.options.cluster, Name: x.Name, File: x.File, Line: x.Line, object: x}
		c.extensions = append(c.extensions, e)
		var chosen *extension.Resolution
		q, err := askedFor(x, declared, o.Catalogs)
		if e.asked = q; err == nil {
			chosen, _, err = q.rest(q.Installed)
		}
		if why := differing(x, found); why != "" {
			err, e.disputed = errors.New(why), true
		} else if field, refusal := c.refusal(ctx, x); refusal != nil {
			err, e.untaken = refusal, field
		}
		switch refusal, refused := errors.AsType[*extension.Refusal](err); {
		case refused:
			e.Refused = refusal.Text
		case err != nil:
			e.Unknown = text.OneLine(err.Error())
			_, e.unserved = errors.AsType[contentError](err)
		default:
			e.extension, e.chosen = q.extension(chosen), installedFrom(chosen)
			e.Bundle, e.Catalog = e.extension.Name, e.extension.Catalog
			if err := cmp.Or(e.open(ctx, o), c.preflight(ctx, e)); err != nil {
				return err
			}
			c.judgeAccount(e)
		}
		e.keep(declared, o)
		switch {
		case e.unfit && o.Target.Known(): // judgeTarget says so
		case e.Refused != "" && e.Bundle == "":
			c.note(ruleExtension, findings.Error, x, cmp.Or(e.untaken, "spec.source"), "OLM v1 installs nothing: "+
				e.Refused, "")
		case e.Refused != "":
			said := text.Shorten(strings.NewReplacer("\n  - ", " - ", "\n", ", ").Replace(e.Refused), 600) + e.by
			c.note(ruleExtension, findings.Error, x, "", "OLM v1 does not install "+e.Bundle+": "+said,
				cmp.Or(e.differs, refusalHint(e.Refused)))
		case e.Unknown != "":
			c.note(ruleExtensionUnknown, findings.Note, x, "spec.source", "what it installs is not checked: "+e.Unknown,
				e.hint())
		case e.differs != "":
			c.note(ruleExtensionUnknown, findings.Warning, x, "spec.source", e.differs, "")
		case e.partial != "":
			c.note(ruleExtensionUnknown, findings.Note, x, "spec.source", fmt.Sprintf("of %s, only what the catalog "+
				"says of it is checked: %s", e.Bundle, text.OneLine(e.partial)), "")
		}
	}
	c.judgeOwnership()
	for _, e := range c.extensions {
		e.Conditions = e.conditions(o.Target.Controllers()[0])
		if in := e.chosen; in != nil && e.Refused == "" { // the next play finds it installed
			c.Put(world.WithStatus(e.object, map[string]any{"install": map[string]any{
				"bundle": map[string]any{"name": in.Name, "version": in.Version}}}))
		}
	}
	return nil
}

// open reads the bundle, and finds why OLM v1 does not install it. The error is that of ctx.
func (e *PlayedExtension) open(ctx context.Context, o Options) error {
	if o.Bundles == nil && !o.Target.Known() {
		return nil
	}
	operator, partial, err := openedOr(ctx, e.extension.Choice, o)
	if err != nil {
		e.Unknown = text.OneLine(err.Error())
		return ctx.Err()
	}
	if e.extension.WatchNamespace != "" {
		operator.Mode = v1alpha1.InstallModeTypeSingleNamespace
	}
	e.operator, e.partial = &operator, partial
	for _, crd := range operator.CSV.Spec.CustomResourceDefinitions.Owned {
		e.owns = append(e.owns, keyOf("apiextensions.k8s.io/v1", kindCRD, "", crd.Name))
	}
	release := o.Target.Controllers()[0]
	if err := operator.Configure(e.extension.Config, e.extension.Namespace, release); err != nil {
		e.Refused = err.Error()
		return nil //nolint:nilerr // the report says so
	}
	for _, f := range fit.Findings(operator, fit.OLMv1, fit.Cluster{Controller: o.Target.Controller,
		OpenShift: o.Target.OpenShift}) {
		if f.Level == findings.Error && slices.Contains(refusals, f.Rule) {
			e.Refused, e.unfit, e.ours = f.Message, true, true
			return nil
		}
	}
	if partial != "" {
		return nil
	}
	certs := map[bool]string{true: olmv1.ServiceCA, false: olmv1.CertManager}[release.Product == versions.OpenShift]
	options := olmv1.Options{Namespace: e.extension.Namespace, Certs: certs, Release: release.Number()}
	if e.extension.WatchNamespace != "" {
		options.TargetNamespaces = []string{e.extension.WatchNamespace}
	}
	made, err := olmv1.Render(operator.Bundle, options)
	if err != nil {
		e.Refused, e.ours = text.OneLine(err.Error()), true
	}
	for _, x := range made {
		e.owns = append(e.owns, keyOf(x.APIVersion, x.Kind, x.Namespace, x.Name))
		if value, err := x.Content(); err == nil {
			e.made = append(e.made, manifest.New(value))
		}
	}
	return nil
}

// refusals are the rules about what OLM v1 refuses whatever else is in the cluster.
var refusals = []string{fit.RuleServices.ID, fit.RuleModes.ID, fit.RuleWebhooks.ID, fit.RuleKinds.ID,
	fit.RuleDependencies.ID, fit.RuleRenderer.ID}

// refusalHint returns what to do about a refusal whose words do not say it.
func refusalHint(refused string) string {
	switch {
	case strings.Contains(refused, "got boolean, want string"):
		return "quote it, if it is y, n, yes, no, on or off: to kubectl these are true and false (YAML 1.1)"
	case strings.Contains(refused, "Release name is invalid"):
		return "its name is that of a release of Helm: use at most 53 characters"
	}
	return ""
}

// hint returns what makes known what is installed.
func (e *PlayedExtension) hint() string {
	if e.unserved {
		return passCatalog
	}
	return ""
}

// judgeOwnership reports objects of bundles that something else makes: another ClusterExtension, OLM v0, or whoever
// applies the tree. OLM v1 takes none of them over (operator-controller:
// docs/concepts/single-owner-objects.md; internal/operator-controller/applier/boxcutter.go,
// CollisionProtectionPrevent).
func (c *prediction) judgeOwnership() {
	owners := map[string]*PlayedExtension{}
	list := slices.Clone(c.extensions)
	slices.SortStableFunc(list, func(a, b *PlayedExtension) int { // what is installed owns its objects
		return lists.TrueFirst(b.fresh(), a.fresh())
	})
	for _, e := range list {
		if e.Refused != "" {
			continue
		}
		for _, key := range e.owns {
			switch by := owners[key]; {
			case by == nil:
				owners[key] = e
			case by != e && e.fresh() && e.Refused == "": // Helm stops at the first one
				e.Refused, e.by = c.imports(e, key, by.marks(), "ClusterExtension "+by.Name+" owns it")
				c.note(ruleCollision, findings.Error, e.object, "", fmt.Sprintf("OLM v1 does not install %s: %s",
					e.Bundle, e.Refused+e.by), "an object has one owner: remove one of the two")
			}
		}
	}
	if len(owners) == 0 {
		return
	}
	for x := range c.All() {
		key := world.Key(x, c.options.Namespace)
		e := owners[key]
		// OLM v1 has made it for this ClusterExtension (operator-controller:
		// internal/operator-controller/labels/labels.go)
		if e != nil && (olm.Get(x, "metadata", "labels", olm.GroupV1+"/owner-kind") != olm.KindClusterExtension ||
			olm.Get(x, "metadata", "labels", olm.LabelOwnerV1) != e.Name) {
			c.collide(e, key, x, !c.files[x.File]) // an InstallPlan of OLM v0 makes what is in no file
		}
	}
	for _, v := range c.csvs {
		for _, crd := range v.CRDs.Owned {
			key := keyOf("apiextensions.k8s.io/v1", kindCRD, "", crd.Name)
			if e := owners[key]; e != nil && e.Refused == "" {
				c.collide(e, key, cmp.Or(c.CRD(crd.Name), manifest.New(nil)), true)
			}
		}
	}
}

// collide reports an object that the bundle of a ClusterExtension has, too: one of the tree, or what OLM v0 makes. That
// writes over what OLM v1 has made (OLM: pkg/controller/operators/catalog/step.go).
func (c *prediction) collide(e *PlayedExtension, key string, x *manifest.Object, v0 bool) {
	level, at, who, hint := findings.Error, x, "who applies the tree", "remove it from the tree"
	if v0 {
		at, who, hint = e.object, "OLM v0", "install the operator by one of the two"
	} else if key == keyOf("v1", "ServiceAccount", e.extension.Namespace, e.extension.Account) {
		hint = "give the account of spec.serviceAccount another name"
	}
	says := fmt.Sprintf("ClusterExtension %s: %s and OLM v1 both write %s of %s", e.Name, who, shown(key), e.Bundle)
	var has [3]string
	for i, mark := range helmMarks {
		has[i] = olm.Text(olm.Get(x, "metadata", mark[0]+"s", mark[1]))
	}
	switch refused, by := c.imports(e, key, has, who+" makes it"); {
	case e.fresh() && refused != "":
		e.Refused, e.by = cmp.Or(e.Refused, refused), cmp.Or(e.by, by)
		says = "ClusterExtension " + e.Name + ": OLM v1 does not install " + e.Bundle + ": " + e.Refused + e.by
	case !v0:
		level = findings.Warning
	default:
		e.ours, e.Refused = e.ours || e.Refused == "", cmp.Or(e.Refused, "OLM v0 writes over "+shown(key))
	}
	c.note(ruleCollision, level, at, "metadata.name", says, hint)
}

// helmMarks say of which release of Helm an object is (helm: pkg/action/validate.go, checkOwnership).
var helmMarks = [3][2]string{{"label", "app.kubernetes.io/managed-by"}, {"annotation", "meta.helm.sh/release-name"},
	{"annotation", "meta.helm.sh/release-namespace"}}

// marks returns the values of helmMarks of what OLM v1 makes for an extension (operator-controller:
// internal/operator-controller/applier/helm.go).
func (e *PlayedExtension) marks() [3]string { return [3]string{"Helm", e.Name, e.extension.Namespace} }

// imports returns why OLM v1 does not take over an object that exists, or "" if it does, and Helm's words for it (helm:
// pkg/action/install.go), which it replaces (operator-controller: internal/operator-controller/action/error/errors.go).
// Boxcutter takes over none (boxcutter: machinery/objects.go); its words have the phase and what probes say, too.
func (c *prediction) imports(e *PlayedExtension, key string, has [3]string, owner string) (refused, by string) {
	parts, helm := strings.SplitN(key, "/", 4), ""
	if c.boxcutter() {
		e.ours = true
		return "revision object collisions: Object " + shown(key) + ", Action: \"Collision\"", " (" + owner + ")"
	}
	for i, want := range e.marks() {
		switch m := helmMarks[i]; has[i] {
		case want:
		case "":
			helm += fmt.Sprintf("%s validation error: missing key %q: must be set to %q; ", m[0], m[1], want)
		default:
			helm += fmt.Sprintf("%s validation error: key %q must equal %q: current value is %q; ", m[0], m[1], want,
				has[i])
		}
	}
	if helm == "" {
		return "", ""
	}
	refused = c.ofDryRun(fmt.Sprintf("%s '%s' already exists in namespace '%s' and cannot be managed by "+
		"operator-controller", parts[1], parts[3], parts[2]))
	return refused, " (it exists and cannot be imported into the current release: invalid ownership metadata; " + helm +
		owner + ")"
}

// ofDryRun returns how OLM v1 says what the dry run of Helm says.
func (c *prediction) ofDryRun(says string) string {
	if _, names := c.options.Target.Controllers()[0].Does(versions.NamesDryRun); names {
		return "failed to get release state using server-side dry-run: " + says
	}
	return says
}

// boxcutter reports whether OLM v1 rolls out revisions, by the Deployment of operator-controller in a dump.
func (c *prediction) boxcutter() bool {
	for _, ns := range []string{"olmv1-system", "openshift-operator-controller"} {
		if d := c.Get("apps", "Deployment", ns, "operator-controller-controller-manager"); d != nil {
			containers := fmt.Sprint(olm.Get(d, "spec", "template", "spec", "containers"))
			return strings.Contains(containers, "BoxcutterRuntime=true")
		}
	}
	return false
}

// fresh reports whether OLM v1 has installed no bundle yet for the ClusterExtension.
func (e *PlayedExtension) fresh() bool { return !e.object.Has("status", "install") }

// settled reports whether OLM v1 has installed what it chooses.
func (e *PlayedExtension) settled() bool {
	return !e.fresh() && e.asked.Installed != nil && *e.asked.Installed == *e.chosen
}

// keyOf returns what an object is to the API server, whatever its version.
func keyOf(apiVersion, kind, namespace, name string) string {
	return strings.Join([]string{manifest.GroupOf(apiVersion), kind, namespace, name}, "/")
}

func shown(key string) string {
	parts := strings.SplitN(key, "/", 4)
	return parts[1] + " " + strings.TrimPrefix(parts[2]+"/"+parts[3], "/")
}

// openedOr is opened, and if the bundle cannot be fetched what the catalog says of it.
func openedOr(ctx context.Context, choice catalog.Choice, o Options) (operator fit.Operator, partial string,
	err error) {
	var options catalog.Options
	if o.Bundles != nil {
		options = *o.Bundles
	}
	options.Metadata = true
	operator, partial, err = opened(ctx, choice, options)
	if err == nil || ctx.Err() != nil {
		return operator, partial, err
	}
	options.Source.Offline = true
	if known, _, again := opened(ctx, choice, options); again == nil {
		return known, err.Error(), nil
	}
	return operator, "", err
}
