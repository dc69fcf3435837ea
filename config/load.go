package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/base/parallel"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/output/helm"
	"github.com/olmgen/olmgen/source"
	"github.com/olmgen/olmgen/templates"
)

// Options say how a RenderConfig is loaded. The zero value is the default.
type Options struct {
	Dir string // what paths are relative to; empty: the current directory
	// Source has Offline, InsecureRegistries, VerifyKeys, Timeout, Stdin, Keychain, Limits and Warn. Without Warn,
	// warnings about sources are among those of the result.
	Source source.Options
	// Skip reports whether a bundle is left out, by its group and its place in it. It may be nil.
	Skip func(group, bundle int) bool

	// Catalogs keeps the catalogs that are read. Without it, Render has one of its own.
	Catalogs *catalog.Cache
	Workers  int           // bundles parsed at the same time; zero: one a processor. The result does not depend on it
	Layout   output.Layout // overrides the one in the file
	// HelmCRDs overrides that in the file.
	HelmCRDs helm.CRDs
	// Progress is told that one more of total bundles has been read, from several goroutines. It may be nil.
	Progress func(total int)
}

// maxOpening is how many sources are opened at the same time. Most of the time of an image is waiting for its registry.
const maxOpening = 32

type loaded struct {
	generate.Operator
	opened       *Opened
	group, index int // its place in the file
	channel      string
	source       output.Source
	remarks      []string // what is odd about the source
	err          error
}

// GenerateOptions returns the options that a bundle is rendered with, with the files that they name, relative to dir.
func (c *Config) GenerateOptions(group, bundle int, dir string) (generate.Options, error) {
	o := c.options(group, bundle)
	sets := &templateSets{dir: dir, sets: map[string]*templates.Set{}}
	err := c.files(c.Groups[group].Bundles[bundle], sets, &o)
	if err != nil {
		return o, err
	}
	o.Mirrors, err = c.mirrors(dir)
	return o, err
}

// load opens and reads all bundles. Of several errors it returns that of the first bundle in the file.
func (c *Config) load(ctx context.Context, o Options) ([]*loaded, error) {
	mirrors, err := c.mirrors(o.Dir)
	if err != nil {
		return nil, err
	}
	all := c.loadAll(ctx, o)
	names := map[string]*loaded{}
	for _, l := range all {
		if l.err != nil {
			return nil, c.explain(c.placeOfError(l), l.group, l.index, l.err)
		}
		if first, ok := names[l.Name]; ok {
			return nil, c.errorf(at(l.group, l.index, ""), "give one of them another name",
				"has the same name as %[2]s: %[1]s",
				l.Name, at(first.group, first.index, ""))
		}
		names[l.Name] = l
		l.Options.Mirrors = mirrors
	}
	return all, nil
}

// loadAll reads the bundles. It opens many sources at the same time, and parses as many as there are workers.
func (c *Config) loadAll(ctx context.Context, o Options) (all []*loaded) {
	for i, g := range c.Groups {
		for j := range g.Bundles {
			if o.Skip == nil || !o.Skip(i, j) {
				all = append(all, &loaded{group: i, index: j})
			}
		}
	}
	workers := parallel.Workers(o.Workers)
	r := &loader{Config: c, options: o, templates: &templateSets{dir: o.Dir, sets: map[string]*templates.Set{}},
		parsing: make(chan struct{}, workers)}
	parallel.Each(max(workers, maxOpening), len(all), func(i int) {
		all[i].err = r.load(ctx, all[i])
		if o.Progress != nil {
			o.Progress(len(all))
		}
	})
	return all
}

type loader struct {
	*Config
	options   Options
	templates *templateSets
	parsing   chan struct{} // has an element for each bundle that is parsed now
}

// placeOfError returns the place of what is wrong with a bundle: the field that chose it, or the bundle.
func (c *Config) placeOfError(l *loaded) string {
	var choice *bundle.ChoiceError
	var field *fieldError
	switch {
	case errors.As(l.err, &choice):
		return at(l.group, l.index, strings.ToLower(string(choice.Option)))
	case errors.As(l.err, &field):
		if path := at(l.group, l.index, field.field); c.has(path) {
			return path
		}
		return defaultsField + "." + field.field
	}
	return at(l.group, l.index, "")
}

// readFile reads a file that a field names. The error has the name as the field has it.
func readFile(dir, name string) ([]byte, error) {
	data, err := whole.ReadFile(in(dir, name), budget.File)
	if bad, ok := errors.AsType[*fs.PathError](err); ok {
		err = fmt.Errorf("%s: %w", filepath.ToSlash(name), bad.Err)
	}
	return data, err
}

type fieldError struct {
	field string
	error
}

func (e *fieldError) Unwrap() error { return e.error }

func (r *loader) load(ctx context.Context, l *loaded) error {
	c, o := r.Config, r.options
	b := c.Groups[l.group].Bundles[l.index]
	s := b.withDefaults(c.Defaults)
	so := o.Source
	if so.Warn == nil {
		so.Warn = func(format string, args ...any) { l.remarks = append(l.remarks, fmt.Sprintf(format, args...)) }
	}
	choice := bundle.Choice{Package: b.Package, Channel: b.Channel, Version: b.Version}
	if b.ChannelOfCatalog || o.Layout == output.LayoutGitOpsCatalog || c.Output.Layout == output.LayoutGitOpsCatalog {
		choice.Channel = "" // a catalog says it, or it is that of an overlay
	}
	src, err := o.open(ctx, b, so, s.Profile.HandsOver())
	if err != nil {
		return err
	}
	r.parsing <- struct{}{}
	defer func() { <-r.parsing }()
	// OLM v1 has a list of kinds of its own, and says so in its own words.
	all := s.AllowUnsupported != nil && *s.AllowUnsupported || s.Profile == generate.ProfileOLMv1 ||
		s.Profile == generate.ProfileClusterExtension
	opened, err := readSource(src, b.Source,
		bundle.ReadOptions{AllowUnsupported: all, Hidden: s.Profile == generate.ProfileOLMv1}, choice)
	if err != nil {
		return err
	}
	l.opened, l.Bundle = opened, opened.Bundle
	l.Name = cmp.Or(b.Name, l.Bundle.Package)
	l.channel = l.Bundle.Channel(b.Channel)
	l.source = output.Source{Bundle: l.Bundle.CSV.Name, Package: l.Bundle.Package, Profile: string(s.Profile),
		Source: filepath.ToSlash(b.Source), Digest: opened.Digest}
	if c.flags() {
		l.source.Source = opened.SourceName()
	}
	if opened.Digest == "" {
		l.source.Digest = l.Bundle.Digest()
	}
	l.Options = c.options(l.group, l.index)
	if ch := opened.Choice.Channel; ch != nil && b.Channel == "" && !b.ChannelOfCatalog {
		l.Options.Channel, l.Options.ChannelOfCatalog = ch.Name, true
	}
	if l.Options.Properties == nil {
		l.Options.Properties = opened.Properties
	}
	if l.Options.Replaces == nil && opened.Entry != nil {
		l.Options.Replaces = &opened.Entry.Replaces
	}
	if b.Installed != nil {
		of := catalog.Bundle{Properties: l.Options.Properties}
		if v, ok := of.Version(); ok && !v.EQ(l.Bundle.CSV.Spec.Version.Version) {
			l.remarks = append(l.remarks, fmt.Sprintf("installed has the properties of version %s, and the bundle is "+
				"%s: drop installed", v, l.Bundle.CSV.Name))
		}
	}
	return c.files(b, r.templates, &l.Options)
}

func (c *Config) mirrors(dir string) (*images.Map, error) {
	switch {
	case c.MirrorMap != "" && len(c.Mirrors) > 0:
		return nil, c.errorf("mirrorMap", "keep one of them", "is given together with mirrors")
	case c.MirrorMap != "":
		data, err := readFile(dir, c.MirrorMap)
		if err != nil {
			return nil, c.explain("mirrorMap", -1, -1, &fieldError{"mirrorMap", err})
		}
		m, err := images.ReadMap(filepath.ToSlash(c.MirrorMap), data)
		if err != nil {
			return nil, c.explain("mirrorMap", -1, -1, err)
		}
		return m, nil
	case len(c.Mirrors) == 0:
		return nil, nil
	}
	list := lists.Map(c.Mirrors, func(m Mirror) any { return map[string]any{"source": m.Source, "mirror": m.Mirror} })
	m, err := images.ReadMap("mirrors", manifest.Encode(map[string]any{"mirrors": list}))
	if e, ok := errors.AsType[*manifest.Error](err); ok { // its line is that of the copy
		return nil, c.errorf(e.Field, e.Tip, "%s", e.Msg)
	}
	return m, err
}

// options returns what an operator is rendered with, without what is in files.
func (c *Config) options(group, index int) generate.Options {
	g, b := c.Groups[group], c.Groups[group].Bundles[index]
	o := b.withDefaults(c.Defaults).options()
	b.options(&o)
	g.options(&o)
	o.OLMVersion, o.OpenShiftVersion, o.SharedAPIs = c.OLMVersion, c.OpenShiftVersion, c.SharedAPIs
	if c.flags() {
		o.OperatorGroup = g.Name // of the operator alone, as generate names it
	}
	return o
}

func (g Group) options(o *generate.Options) {
	o.Namespace, o.InstallMode, o.TargetNamespaces = g.Namespace, g.InstallMode, g.TargetNamespaces
	o.OperatorGroup = g.Name
	switch {
	case g.Name != "":
	case o.Profile == generate.ProfileSubscription && olm.HasGlobalGroup(g.Namespace):
	case o.Profile == generate.ProfileDescoped && len(g.TargetNamespaces) == 0: // it decides nothing
	default:
		o.OperatorGroup = g.Namespace
	}
	o.Selector, o.ServiceAccount, o.GroupUID = g.Selector, g.ServiceAccount, g.UID
	if g.StaticProvidedAPIs != nil {
		o.Static, o.StaticProvidedAPIs = true, *g.StaticProvidedAPIs
	}
	o.CopiedCSVNamespaces, o.ClusterObjectsFrom = g.CopiedCSVNamespaces, g.ClusterObjectsFrom
	o.CreateNamespace, o.CreateTargetNamespaces = g.CreateNamespaces, g.CreateTargetNamespaces
}

func (b Bundle) options(o *generate.Options) {
	o.Config, o.Channel, o.ChannelOfCatalog = b.Config, b.Channel, b.ChannelOfCatalog
	if i := b.Installed; i != nil {
		o.Installed = true
		o.Properties, _ = i.properties() // check has read them
		o.Replaces, o.WebhookNames = i.Replaces, i.Webhooks
	}
	if d := b.Descoped; d != nil {
		o.Descoped = d.Descoped
	}
	if s := b.Subscription; s != nil {
		o.Subscription = generate.SubscriptionOptions{Name: s.Name, Approval: s.Approval, StartingCSV: s.StartingCSV}
		if c := s.CatalogSource; c != nil {
			o.Subscription.CatalogNamespace, o.Subscription.CatalogSource = c.Namespace, c.Name
			o.Subscription.CatalogImage = c.Image
		}
	}
	if image, ok := strings.CutPrefix(b.Source, source.KindCatalog+":oci://"); ok &&
		o.Subscription.CatalogSource == "" &&
		o.Subscription.CatalogImage == "" {
		o.Subscription.CatalogSource = olm.CatalogSourceOf(image)
	}
	if e := b.ClusterExtension; e != nil {
		o.Extension = *e
	}
}

// withDefaults returns the settings with the defaults that the profile uses. Its profile is never empty.
func (s Settings) withDefaults(defaults Settings) Settings {
	s.Profile = cmp.Or(s.Profile, defaults.Profile, generate.ProfileOLM)
	inherit(&s.Names, defaults.Names, s.Profile, option.Names)
	inherit(&s.CopiedCSVs, defaults.CopiedCSVs, s.Profile, option.CopiedCSVs)
	s.Certs.inherit(defaults.Certs, s.Profile)
	inherit(&s.ConvertCRDs, defaults.ConvertCRDs, s.Profile, option.ConvertCRDs)
	inherit(&s.NetworkPolicies, defaults.NetworkPolicies, s.Profile, option.NetworkPolicies)
	s.AllowUnsupported = cmp.Or(s.AllowUnsupported, defaults.AllowUnsupported)
	s.Templates = cmp.Or(s.Templates, defaults.Templates)
	if s.Suppress == nil {
		s.Suppress = defaults.Suppress
	}
	return s
}

// inherit fills the gaps with the defaults for the profile and the provider.
func (c *Certs) inherit(defaults Certs, profile generate.Profile) {
	if profile.TakesCerts(defaults.Provider) {
		c.Provider = cmp.Or(c.Provider, defaults.Provider)
	}
	if defaults.Provider != "" && defaults.Provider != c.Provider {
		return // the rest belongs to that provider
	}
	if c.Provider == generate.CertsManager {
		inherit(&c.Issuer, defaults.Issuer, profile, option.Issuer)
	}
	if c.Provider == generate.CertsUser {
		inherit(&c.Secret, defaults.Secret, profile, option.CertSecret)
		inherit(&c.CABundleFile, defaults.CABundleFile, profile, option.CABundle)
	}
}

// inherit fills the gap of an option that the profile has a use for.
func inherit[T comparable](field *T, value T, profile generate.Profile, option manifest.Option) {
	for o := range all(settings) {
		if o.ID == option && o.Uses(profile) {
			*field = cmp.Or(*field, value)
		}
	}
}

func (s Settings) options() generate.Options {
	o := generate.Options{Profile: s.Profile, Names: s.Names, CopiedCSVs: s.CopiedCSVs, Certs: s.Certs.Provider,
		CertSecret:      s.Certs.Secret,
		ConvertCRDs:     s.ConvertCRDs != nil && *s.ConvertCRDs,
		NetworkPolicies: s.NetworkPolicies != nil && *s.NetworkPolicies}
	if s.Certs.Issuer != nil {
		o.Issuer = *s.Certs.Issuer
	}
	return o
}

func (c *Config) files(b Bundle, sets *templateSets, o *generate.Options) (err error) {
	s := b.withDefaults(c.Defaults)
	if s.Certs.CABundleFile != "" {
		if o.CABundle, err = readFile(sets.dir, s.Certs.CABundleFile); err != nil {
			return &fieldError{"certs.caBundleFile", err}
		}
	}
	if o.Templates, err = sets.get(s.Templates); err != nil {
		return &fieldError{"templates", err}
	}
	return b.tenants(sets.dir, o)
}

type templateSets struct {
	dir  string
	mu   sync.Mutex
	sets map[string]*templates.Set
}

func (t *templateSets) get(dir string) (*templates.Set, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.sets[dir]; s != nil {
		return s, nil
	}
	s, err := templates.LoadDir(in(t.dir, dir))
	if err != nil {
		return nil, err
	}
	t.sets[dir] = s
	return s, nil
}

// explain puts an error at its place, and names the options that it is about; group -1 stands for no operator.
func (c *Config) explain(field string, group, index int, err error) error {
	own := c.namer(group, index)
	var foreign []manifest.Option
	text, hint := ErrorText(err, func(id manifest.Option) string {
		name := own(id)
		if name == "" && !lists.Any(all(declared), func(o OptionAt) bool { return o.ID == id }) {
			foreign = append(foreign, id)
		}
		if name != field {
			return name
		}
		return "" // it is the place of the error
	})
	if c.flags() {
		var bad *fieldError
		if flag := flagAt(field); flag != "" && errors.As(err, &bad) {
			text = flag + ": " + text
		}
		return &locatedError{&manifest.Error{Msg: text, Tip: hint}, err, foreign}
	}
	return &locatedError{c.errorf(field, hint, "%s", text), err, foreign}
}

// locatedError is an error with its place; the cause can still be asked for.
type locatedError struct {
	place      *manifest.Error
	cause      error
	undeclared []manifest.Option // options that a RenderConfig does not have
}

func (p *locatedError) Error() string { return p.place.Error() }
func (p *locatedError) Hint() string  { return p.place.Hint() }
func (p *locatedError) Unwrap() error { return p.cause }

// About returns the options that the hint does not name yet: those that only the command line has.
func (p *locatedError) About() []manifest.Option { return p.undeclared }

// Place returns the place in the RenderConfig that an error of Read or Render is about, or nil.
func Place(err error) *manifest.Error {
	if p, ok := errors.AsType[*locatedError](err); ok {
		return p.place
	}
	var e *manifest.Error
	errors.As(err, &e)
	return e
}

// properties reads the annotation operatorframework.io/properties of a CSV, as OLM writes it.
func (i *Installed) properties() (list []bundle.Property, err error) {
	if i.Properties == "" {
		return nil, nil
	}
	if list, err = bundle.ParseProperties(i.Properties); err == nil && list == nil {
		list = []bundle.Property{}
	}
	return list, err
}
