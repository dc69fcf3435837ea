package config

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/olmgen/olmgen/internal/catalog/shard"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/source"
)

// PartKind is the kind of a Part in JSON.
const PartKind = "RenderPart"

// Part has the bundles of a shard of a RenderConfig, as their sources had them. With the parts of all shards in
// Options.Parts, Render opens no source of a bundle.
//
// A part has what was read, not what was rendered. The objects of an operator depend on the others: on their APIs, CRDs
// and namespaces. So the result is that of one process by construction, and rendering takes less time than it takes to
// write the objects down and to read them again.
type Part struct {
	APIVersion string       `json:"apiVersion"`
	Kind       string       `json:"kind"`
	Shard      string       `json:"shard"`
	Config     string       `json:"config"`  // a digest of the RenderConfig
	Options    string       `json:"options"` // a digest of the options that decide what may be opened
	Bundles    []partBundle `json:"bundles"`
}

// partKey is what a bundle was asked for with.
type partKey struct {
	Source   string `json:"source"` // as the RenderConfig has it
	Package  string `json:"package,omitempty"`
	Channel  string `json:"channel,omitempty"`
	Version  string `json:"version,omitempty"`
	Metadata bool   `json:"metadata,omitempty"` // what a catalog says of the bundle is enough
	Hidden   bool   `json:"hidden,omitempty"`   // hidden files are read
}

// partBundle is a source.Source in JSON, with the files that were read.
type partBundle struct {
	partKey
	Kind       string            `json:"kind"`
	Digest     string            `json:"digest,omitempty"`
	Image      string            `json:"image,omitempty"`
	Partial    bool              `json:"partial,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	Properties []byte            `json:"properties,omitempty"`
	Replaces   string            `json:"replaces,omitempty"`
	Skips      []string          `json:"skips,omitempty"`
	SkipRange  string            `json:"skipRange,omitempty"`
	Warnings   []string          `json:"warnings,omitempty"`
	Files      []partFile        `json:"files"`
}

// Part opens the bundles of a shard. The key of an operator is its package, or its source if it names no package. The
// operators that Resolve adds count as well.
func (c *Config) Part(ctx context.Context, o Options, in shard.Shard) (*Part, error) {
	part := &Part{APIVersion: APIVersion, Kind: PartKind, Shard: in.String(), Config: c.digest(),
		Bundles: []partBundle{}}
	var err error
	if part.Options, err = openedWith(o.Source); err != nil {
		return nil, err
	}
	// The layout that asks least of a bundle: whoever renders the parts chooses another one.
	o.Layout = output.LayoutGitOpsCatalog
	o.recorder = &recorder{bundles: map[partKey]*recorded{}}
	if c, _, err = c.withDependencies(ctx, o); err != nil {
		return nil, err
	}
	all := c.loadAll(ctx, o, func(b Bundle) bool { return in.Has(cmp.Or(b.Package, b.Source)) })
	for _, l := range all {
		if l.err != nil {
			return nil, c.explain(c.placeOfError(l), l.group, l.index, l.err)
		}
	}
	part.Bundles = append(part.Bundles, o.recorder.list()...)
	return part, nil
}

// digest returns a digest of what the file says. Comments and formatting have no part in it.
func (c *Config) digest() string { return digestOf(c.document) }

// openedWith returns a digest of the options that decide which bundles may be opened, and how.
func openedWith(o source.Options) (string, error) {
	var keys [][]byte
	for _, k := range o.VerifyKeys {
		der, err := x509.MarshalPKIXPublicKey(k)
		if err != nil {
			return "", err
		}
		keys = append(keys, der)
	}
	return digestOf(map[string]any{"offline": o.Offline, "keys": keys}), nil
}

func digestOf(v any) string {
	data, _ := json.Marshal(v) // of what JSON has
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// ReadPart reads the JSON of a part.
func ReadPart(data []byte) (*Part, error) {
	var p Part
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("is not a part of a RenderConfig, or only its beginning: %w", err)
	}
	if p.APIVersion != APIVersion || p.Kind != PartKind {
		return nil, errors.New("is not a part of a RenderConfig")
	}
	if _, err := shard.Parse(p.Shard); err != nil {
		return nil, err
	}
	for i, b := range p.Bundles {
		if err := checkFiles(b.Files); err != nil {
			return nil, fmt.Errorf("bundles[%d]: %w", i, err)
		}
	}
	return &p, nil
}

// bundlesOf returns the bundles of the parts, which must be those of all shards.
func (c *Config) bundlesOf(parts []*Part, o source.Options) (map[partKey]*partBundle, error) {
	options, err := openedWith(o)
	if err != nil {
		return nil, err
	}
	var shards []string
	bundles := map[partKey]*partBundle{}
	for _, p := range parts {
		switch {
		case p.Config != c.digest():
			return nil, c.partError("the shard %s is of another file, or the file has changed since", p.Shard)
		case p.Options != options:
			return nil, c.partError("the shard %s was made with other options for sources", p.Shard)
		}
		shards = append(shards, p.Shard)
		for i := range p.Bundles {
			b := &p.Bundles[i]
			if first := bundles[b.partKey]; first != nil && !reflect.DeepEqual(first, b) {
				return nil, c.partError("%s has changed while the parts were made", b.Source)
			}
			bundles[b.partKey] = b
		}
	}
	if err := shard.Complete(shards); err != nil {
		return nil, c.partError("%w", err)
	}
	return bundles, nil
}

func (c *Config) partError(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if c.object != nil && c.object.File != "" {
		err = fmt.Errorf("%s: %w", c.object.File, err)
	}
	return manifest.WithHint(err, shard.Hint)
}

// partSource returns a source of the parts.
func (o Options) partSource(k partKey, ref string, warn func(string, ...any)) (*source.Source, error) {
	b := o.bundles[k]
	if b == nil {
		name := strings.Join(strings.Fields(k.Source+" "+k.Package+" "+k.Version), " ")
		return nil, manifest.WithHint(fmt.Errorf("%s: no part has this bundle", name),
			"a catalog has changed since the parts were made: run all shards again")
	}
	for _, w := range b.Warnings {
		if warn != nil {
			warn("%s", w)
		}
	}
	return &source.Source{FS: newPartFS(b.Files), Ref: ref, Kind: b.Kind, Digest: b.Digest, Image: b.Image,
		Metadata: b.Partial, Labels: b.Labels, Properties: b.Properties, Replaces: b.Replaces,
		Skips: b.Skips, SkipRange: b.SkipRange}, nil
}

// recorder keeps the sources that are opened.
type recorder struct {
	mu      sync.Mutex
	bundles map[partKey]*recorded
}

// recorded is a source that was opened.
type recorded struct {
	partBundle
	files *recordFS
}

// add returns the source, and records what is read from it. A source that was opened before is not recorded again.
func (r *recorder) add(k partKey, s *source.Source, warnings []string) *source.Source {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bundles[k] != nil {
		return s
	}
	files := &recordFS{FS: s.FS, files: map[string]*partFile{}}
	s.FS = files
	r.bundles[k] = &recorded{partBundle{partKey: k, Kind: s.Kind, Digest: s.Digest, Image: s.Image, Partial: s.Metadata,
		Labels: s.Labels, Properties: s.Properties, Replaces: s.Replaces, Skips: s.Skips,
		SkipRange: s.SkipRange, Warnings: warnings}, files}
	return s
}

// list returns what was recorded, sorted.
func (r *recorder) list() []partBundle {
	var list []partBundle
	for _, x := range r.bundles {
		x.Files = x.files.list()
		list = append(list, x.partBundle)
	}
	slices.SortFunc(list, func(a, b partBundle) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Package, b.Package),
			cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.Version, b.Version),
			cmp.Compare(fmt.Sprint(a.Metadata, a.Hidden), fmt.Sprint(b.Metadata, b.Hidden)))
	})
	return list
}
