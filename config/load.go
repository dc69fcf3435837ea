package config

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/bundle/source"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/output/helm"
	"github.com/olmgen/olmgen/templates"
)

// Options say how a RenderConfig is loaded. The zero value is the default.
type Options struct {
	Dir     string         // what paths are relative to; empty: the current directory
	Source  source.Options // Offline, Insecure, Keychain and Limits count
	Workers int            // bundles read at the same time; zero: one a processor. The result does not depend on it
	Layout  output.Layout  // overrides the one in the file
	// HelmCRDs overrides that in the file.
	HelmCRDs helm.CRDs
	// Progress is told that one more of total bundles has been read; it may be called from several goroutines. It may be nil.
	Progress func(total int)
}

// loaded is one operator, ready to be rendered.
type loaded struct {
	generate.Operator
	group, index int // its place in the file
	channel      string
	source       output.Source
	said         []string // what is odd about the source
	err          error
}

// load opens and reads all bundles. Of several errors that of the first bundle in the file is given.
func (c *Config) load(ctx context.Context, o Options) ([]*loaded, error) {
	var all []*loaded
	for i, g := range c.Groups {
		for j := range g.Bundles {
			all = append(all, &loaded{group: i, index: j})
		}
	}
	mirrors, err := c.mirrors(o.Dir)
	if err != nil {
		return nil, err
	}
	sets := &templateSets{dir: o.Dir, sets: map[string]*templates.Set{}}
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, workers)
	for _, l := range all {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			l.err = c.loadOne(ctx, l, o, sets)
			l.Options.Mirrors = mirrors
			if o.Progress != nil {
				o.Progress(len(all))
			}
		})
	}
	wg.Wait()
	names := map[string]*loaded{}
	for _, l := range all {
		if l.err != nil {
			return nil, c.explain(placeOfChoice(l), l.err)
		}
		if first, ok := names[l.Name]; ok {
			return nil, c.errorf(at(l.group, l.index, ""), "give one of them another name", "is the second operator called %s, after %s",
				l.Name, at(first.group, first.index, ""))
		}
		names[l.Name] = l
	}
	return all, nil
}

// placeOfChoice gives the place of what is wrong with a bundle that could not be loaded: the field that chose it, or the bundle.
func placeOfChoice(l *loaded) string {
	var e *bundle.ChoiceError
	if errors.As(l.err, &e) {
		return at(l.group, l.index, e.Option)
	}
	return at(l.group, l.index, "")
}

func (c *Config) loadOne(ctx context.Context, l *loaded, o Options, sets *templateSets) error {
	g, b := c.Groups[l.group], c.Groups[l.group].Bundles[l.index]
	s := b.over(c.Defaults)
	so := o.Source
	so.Package, so.Channel, so.Version = b.Package, b.Channel, b.Version
	so.Warn = func(format string, args ...any) { l.said = append(l.said, fmt.Sprintf(format, args...)) }
	src, err := source.Open(ctx, source.In(o.Dir, b.Source), so)
	if err != nil {
		return err
	}
	defer src.Close()
	read := bundle.ReadOptions{Labels: src.Labels, AllowUnsupported: s.AllowUnsupported != nil && *s.AllowUnsupported || s.Profile == generate.ProfileOLMv1 || s.Profile == generate.ProfileClusterExtension}
	if l.Bundle, err = bundle.Read(src.FS, read); err != nil {
		return fmt.Errorf("%s: %w", b.Source, err)
	}
	choice := bundle.Choice{Package: b.Package, Channel: b.Channel, Version: b.Version}
	if s.Profile.HandsOver() || c.lays(o, output.LayoutGitOpsCatalog) {
		choice.Channel = "" // it is that of a Subscription or of an overlay
	}
	if !src.Chosen() {
		if err := choice.Check(l.Bundle); err != nil {
			return fmt.Errorf("%s: %w", b.Source, err)
		}
	}
	if l.Name = b.Name; l.Name == "" {
		l.Name = l.Bundle.Package
	}
	l.channel = l.Bundle.Channel(b.Channel)
	l.source = output.Source{Bundle: l.Bundle.CSV.Name, Source: filepath.ToSlash(b.Source), Digest: src.Digest}
	if src.Digest == "" {
		l.source.Digest = l.Bundle.Digest()
	}
	if l.Options, err = s.options(o.Dir, sets); err != nil {
		return err
	}
	b.options(&l.Options)
	g.options(&l.Options)
	if src.Properties != nil {
		if err := json.Unmarshal(src.Properties, &l.Options.Properties); err != nil {
			return fmt.Errorf("%s: properties: %w", b.Source, err)
		}
		l.Options.Replaces = &src.Replaces
	}
	return nil
}

// mirrors gives the mirror map, nil if there is none.
func (c *Config) mirrors(dir string) (*images.Map, error) {
	switch {
	case c.MirrorMap != "" && len(c.Mirrors) > 0:
		return nil, c.errorf("mirrorMap", "keep one of them", "is given beside mirrors")
	case c.MirrorMap != "":
		data, err := os.ReadFile(in(dir, c.MirrorMap))
		if err != nil {
			return nil, c.explain("mirrorMap", err)
		}
		m, err := images.ReadMap(filepath.ToSlash(c.MirrorMap), data)
		if err != nil {
			return nil, c.explain("mirrorMap", err)
		}
		return m, nil
	case len(c.Mirrors) == 0:
		return nil, nil
	}
	var list []any
	for _, m := range c.Mirrors {
		list = append(list, map[string]any{"source": m.Source, "mirror": m.Mirror})
	}
	m, err := images.ReadMap("mirrors", manifest.Encode(map[string]any{"mirrors": list}))
	var e *manifest.Error
	if errors.As(err, &e) { // its line is that of the copy
		return nil, c.errorf(e.Field, e.Tip, "%s", e.Msg)
	}
	return m, err
}

// options fills in what a group decides for all its operators.
func (g Group) options(o *generate.Options) {
	o.Namespace, o.InstallMode, o.TargetNamespaces = g.Namespace, g.InstallMode, g.TargetNamespaces
	o.OperatorGroup = g.Name
	switch {
	case g.Name != "":
	case o.Profile == generate.ProfileSubscription && generate.HasGlobalGroup(g.Namespace):
	case o.Profile == generate.ProfileDescoped && len(g.TargetNamespaces) == 0: // it decides nothing
	default:
		o.OperatorGroup = g.Namespace
	}
	o.Selector, o.ServiceAccount = g.Selector, g.ServiceAccount
	if g.StaticProvidedAPIs != nil {
		o.Static, o.StaticProvidedAPIs = true, *g.StaticProvidedAPIs
	}
	o.CopiedCSVNamespaces, o.CreateNamespace = g.CopiedCSVNamespaces, g.CreateNamespaces
}

// options fills in what only the operator itself decides.
func (b Bundle) options(o *generate.Options) {
	o.Config, o.Channel = b.Config, b.Channel
	if d := b.Descoped; d != nil {
		o.Descoped = generate.Descoped{BindNamespaces: d.BindNamespaces, BindAll: d.BindAll, AggregateTo: d.AggregateTo, Split: d.Split}
	}
	if s := b.Subscription; s != nil {
		o.Subscription = generate.SubscriptionOptions{Name: s.Name, Approval: s.Approval, StartingCSV: s.StartingCSV}
		if c := s.CatalogSource; c != nil {
			o.Subscription.CatalogNamespace, o.Subscription.CatalogSource, o.Subscription.CatalogImage = c.Namespace, c.Name, c.Image
		}
	}
	if e := b.ClusterExtension; e != nil {
		o.Extension = generate.ExtensionOptions{Name: e.Name, VersionRange: e.VersionRange, UpgradePolicy: e.UpgradeConstraintPolicy}
	}
}

// over gives settings with the gaps filled by those defaults that mean something with the profile, which is never empty then.
func (s Settings) over(defaults Settings) Settings {
	s.Profile = cmp.Or(s.Profile, defaults.Profile, generate.ProfileOLM)
	inherit(&s.Names, defaults.Names, s.Profile, "names")
	inherit(&s.CopiedCSVs, defaults.CopiedCSVs, s.Profile, "copied-csvs")
	s.Certs.inherit(defaults.Certs, s.Profile)
	inherit(&s.ConvertCRDs, defaults.ConvertCRDs, s.Profile, "convert-crds")
	inherit(&s.AllowUnsupported, defaults.AllowUnsupported, s.Profile, "allow-unsupported")
	inherit(&s.Templates, defaults.Templates, s.Profile, "templates")
	return s
}

// inherit fills the gaps by those defaults that are for the profile and for the provider.
func (c *Certs) inherit(defaults Certs, profile generate.Profile) {
	if profile.TakesCerts(defaults.Provider) {
		c.Provider = cmp.Or(c.Provider, defaults.Provider)
	}
	if defaults.Provider != "" && defaults.Provider != c.Provider {
		return // the rest belongs to that provider
	}
	if c.Provider == generate.CertsManager {
		inherit(&c.Issuer, defaults.Issuer, profile, "issuer")
	}
	if c.Provider == generate.CertsUser {
		inherit(&c.Secret, defaults.Secret, profile, "cert-secret")
		inherit(&c.CABundleFile, defaults.CABundleFile, profile, "ca-bundle")
	}
}

// inherit fills the gap of an option that the profile has a use for.
func inherit[T comparable](field *T, value T, profile generate.Profile, option string) {
	if profile.Uses(option) {
		*field = cmp.Or(*field, value)
	}
}

func (s Settings) options(dir string, sets *templateSets) (generate.Options, error) {
	o := generate.Options{Profile: s.Profile, Names: s.Names, CopiedCSVs: s.CopiedCSVs, Certs: s.Certs.Provider, CertSecret: s.Certs.Secret,
		ConvertCRDs: s.ConvertCRDs != nil && *s.ConvertCRDs}
	if s.Certs.Issuer != nil {
		o.Issuer = generate.Issuer{Kind: s.Certs.Issuer.Kind, Name: s.Certs.Issuer.Name}
	}
	var err error
	if s.Certs.CABundleFile != "" {
		if o.CABundle, err = os.ReadFile(in(dir, s.Certs.CABundleFile)); err != nil {
			return o, fmt.Errorf("certs.caBundleFile: %w", err)
		}
	}
	o.Templates, err = sets.get(s.Templates)
	return o, err
}

// templateSets loads each directory of templates once.
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
		return nil, fmt.Errorf("templates: %w", err)
	}
	t.sets[dir] = s
	return s, nil
}

// explain puts an error of a bundle, or of an operator, at its place in the file. What it says of flags it says of fields then.
func (c *Config) explain(field string, err error) error {
	hint := ""
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		hint = inFields(h.Hint())
	}
	return &placed{c.errorf(field, hint, "%s", inFields(err.Error())), err}
}

// placed is an error with its place; the cause can still be asked for.
type placed struct {
	place *manifest.Error
	cause error
}

func (p *placed) Error() string { return p.place.Error() }
func (p *placed) Hint() string  { return p.place.Hint() }
func (p *placed) Unwrap() error { return p.cause }

// Place gives the place in the RenderConfig that an error of Read or Render is about, or nil.
func Place(err error) *manifest.Error {
	var p *placed
	if errors.As(err, &p) {
		return p.place
	}
	var e *manifest.Error
	errors.As(err, &e)
	return e
}
