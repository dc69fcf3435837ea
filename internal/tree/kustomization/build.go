package kustomization

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/regular"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
)

// Build returns the objects of a kustomization as kustomize builds them, in its order. An object that no kustomization
// changes is the one of its file. Others have the place of each field. The error says why it cannot be built.
func (b *Builder) Build(k *Kustomization) ([]*manifest.Object, error) {
	if k.built == nil {
		objects, err := b.build(k)
		k.built = &built{objects, err}
	}
	return slices.Clone(k.built.objects), k.built.err
}

// built is what Build returns.
type built struct {
	objects []*manifest.Object
	err     error
}

// build is Build without the cache. kustomize does not run for what would cost too much, nor for what only lists files.
func (b *Builder) build(k *Kustomization) ([]*manifest.Object, error) {
	if err := b.affordable(k); err != nil {
		return nil, err
	}
	if objects, ok := b.asWritten(k); ok {
		return objects, nil
	}
	if b.text += b.costOf(k).bytes; b.text > budget.Of(budget.Tree).Bytes {
		return nil, manifest.OverLimit(&manifest.Error{File: k.Name, Msg: fmt.Sprintf("with it, kustomize builds of "+
			"more than %d MiB of files", budget.Of(budget.Tree).Bytes>>20)})
	}
	built, err := quietly(func() (resmap.ResMap, error) {
		o := krusty.MakeDefaultOptions()
		if k.options.Generate {
			o.LoadRestrictions = types.LoadRestrictionsNone
		}
		return krusty.MakeKustomizer(o).Run(&files{filesys.MakeFsInMemory(), b, k}, k.Dir)
	})
	if err != nil {
		return nil, b.explain(k, err)
	}
	resources := built.Resources()
	from := b.match(k, resources)
	out := make([]*manifest.Object, len(resources))
	for i, r := range resources {
		if out[i], err = b.object(k, r, from[i]); err != nil {
			return nil, b.explain(k, err)
		}
	}
	return out, nil
}

// building is held while kustomize runs: it has one schema for the process, and writes to os.Stderr.
var building sync.Mutex

// quietly runs kustomize without its warnings about deprecated fields, and without a panic of its libraries.
func quietly(run func() (resmap.ResMap, error)) (m resmap.ResMap, err error) {
	building.Lock()
	defer building.Unlock()
	stderr, logs := os.Stderr, log.Writer()
	if null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		defer null.Close()
		os.Stderr = null
	}
	log.SetOutput(io.Discard)
	defer func() {
		os.Stderr = stderr
		log.SetOutput(logs)
		if p := recover(); p != nil {
			m, err = nil, fmt.Errorf("kustomize panics: %v", p)
		}
	}()
	return run()
}

// nameless finds the file in what kustomize says of one that is no object.
var nameless = lazy.Regexp(`^accumulating resources from '([^']*)': missing metadata\.name`)

// explain makes one line of an error of kustomize, which has the path of every base in it.
func (b *Builder) explain(k *Kustomization, err error) error {
	if inside, ok := errors.AsType[*manifest.Error](err); ok {
		return inside
	}
	var broken error // what olmgen says of a file has its line
	b.outermost(k, func(k *Kustomization) bool {
		for _, file := range k.Files {
			if !b.isData(file) && b.source(file).err != nil {
				broken = b.source(file).err
			}
		}
		return broken != nil
	})
	if broken != nil {
		return broken
	}
	said := text.OneLine(err.Error())
	if i := strings.LastIndex(said, "accumulating resources from '"); i >= 0 {
		said = said[i:]
	}
	if m := nameless().FindStringSubmatch(said); m != nil && slices.Contains(k.Files, filepath.Join(k.Dir, m[1])) {
		return &manifest.Error{File: b.named(filepath.Join(k.Dir, m[1])),
			Msg: "kustomize cannot build with it: missing metadata.name",
			Tip: "give it metadata.name and the annotation " + konfig.IgnoredByKustomizeAnnotation + `: "true", so ` +
				"that kustomize leaves it out, or write a kustomization.yaml that does not name it"}
	}
	limit := b.Repos.Limit(k.Dir, b.top)
	for dir := k.Dir; dir != filepath.Dir(dir) && (limit == "" || regular.Below(limit, dir)); dir = filepath.Dir(dir) {
		said = strings.ReplaceAll(said, dir+string(filepath.Separator), "")
	}
	return &manifest.Error{File: k.Name, Msg: "kustomize cannot build it: " + text.Shorten(said, 300)}
}

// cost is what a kustomization costs with all that it builds on, counted as often as it is built.
type cost struct {
	visits, objects, copies int64
	bytes                   int64 // of its files, as often as they are named
	renames, steps          int64 // kustomize compares what an object was called in each
	err                     error
	counting                bool
}

// Limits of one root.
const (
	maxVisits = 2_000
	maxCopies = 8 // each can double an object
	maxSteps  = 500_000
)

// affordable refuses a kustomization that would cost too much, before anything of it is built.
func (b *Builder) affordable(k *Kustomization) error {
	c := b.costOf(k)
	if c.err != nil {
		return c.err
	}
	most := budget.Of(budget.Kustomization)
	over := ""
	switch {
	case c.visits > maxVisits:
		over = fmt.Sprintf("it builds more than %d kustomizations", maxVisits)
	case c.objects > most.Objects:
		over = fmt.Sprintf("it builds more than %d objects", most.Objects)
	case c.copies > maxCopies:
		over = fmt.Sprintf("its patches and replacements copy more than %d times", maxCopies)
	case c.bytes > most.Bytes:
		over = fmt.Sprintf("its files have more than %d MiB, as often as they are named", most.Bytes>>20)
	case c.steps > maxSteps:
		over = fmt.Sprintf("it renames objects more than %d times in all", maxSteps)
	case b.steps+c.steps > 4*maxSteps:
		over = "with it, the kustomizations build more than olmgen waits for"
	case b.squares+c.objects*c.objects > 4*most.Objects*most.Objects:
		over = "with it, the kustomizations build more objects than olmgen waits for"
	}
	if over != "" {
		return manifest.OverLimit(&manifest.Error{File: k.Name, Msg: over})
	}
	b.squares += c.objects * c.objects
	b.steps += c.steps
	return nil
}

// costOf returns the cost of a kustomization with all that it builds on. Its error says why it surely cannot be built.
func (b *Builder) costOf(k *Kustomization) *cost {
	if k.cost != nil {
		if k.cost.counting {
			return &cost{err: &manifest.Error{File: k.Name, Msg: "the kustomization builds on itself"}}
		}
		return k.cost
	}
	c := &cost{visits: 1, objects: int64(k.objects), bytes: k.bytes, err: k.Unknown, counting: true}
	k.cost = c
	for _, file := range k.resources {
		c.objects += int64(max(b.source(file).count, 1))
	}
	c.objects += int64(len(k.spec.ConfigMapGenerator) + len(k.spec.SecretGenerator) + len(k.spec.Generators))
	c.copies = b.copies(k)
	for _, dir := range k.Bases {
		if c.err != nil {
			break
		}
		base := b.Load(dir)
		if base == nil {
			c.err = &manifest.Error{File: k.Name, Msg: fmt.Sprintf("%s has no kustomization", b.named(dir))}
			break
		}
		of := b.costOf(base)
		c.visits, c.objects, c.copies = min(c.visits+of.visits, far), min(c.objects+of.objects, far), c.copies+of.copies
		c.bytes, c.steps = min(c.bytes+of.bytes, far), min(c.steps+of.steps, far)
		c.renames, c.err = max(c.renames, of.renames), of.err
	}
	if k.spec.NamePrefix+k.spec.NameSuffix+k.spec.Namespace != "" {
		c.renames++
		c.steps = min(c.steps+c.objects*c.renames, far)
	}
	if c.err == nil && len(k.policies) > 0 {
		c.err = b.addPolicies(k)
	}
	c.counting = false
	return c
}

const far = 1 << 40 // more than any limit

// copies counts what can double an object.
func (b *Builder) copies(k *Kustomization) (n int64) {
	for _, p := range b.patchesOf(k) {
		for _, op := range p.operations {
			if op.verb == "copy" {
				n++
			}
		}
	}
	var written []string
	for _, r := range k.spec.Replacements {
		for _, t := range r.Targets {
			written = append(written, t.FieldPaths...)
		}
	}
	for _, r := range k.spec.Replacements {
		if r.Source == nil {
			continue
		}
		from := cmp.Or(r.Source.FieldPath, types.DefaultReplacementFieldPath)
		for _, to := range written {
			if strings.HasPrefix(to, from+".") || r.Source.Options != nil && to == from {
				n++ // what is copied may be a copy
				break
			}
		}
	}
	return n
}

// object makes an object of what kustomize built. from is what it is made of; nil if that is not known.
func (b *Builder) object(k *Kustomization, r *resource.Resource, from *original) (*manifest.Object, error) {
	built, err := r.Map()
	if err != nil {
		return nil, err
	}
	value, _ := asPrinted(built).(map[string]any)
	o := &manifest.Object{APIVersion: r.GetApiVersion(), Kind: r.GetKind(), Namespace: r.GetNamespace(),
		Name: r.GetName()}
	p := &places{builder: b, root: k, value: value, group: o.Group(), kind: o.Kind, name: o.Name, file: k.Name}
	if from != nil {
		p.base = from.object
	}
	if p.base == nil {
		if from != nil {
			p.file, p.line = from.by.Name, max(from.by.errorf(from.field, "").Line, 1)
		}
		return new(manifest.Object).Build(value, p.place), nil
	}
	was, err := p.base.Value()
	same := err == nil && reflect.DeepEqual(was, value)
	if same {
		b.outermost(k, func(k *Kustomization) bool {
			same = !slices.ContainsFunc(b.patchesOf(k), p.matches)
			return !same
		})
	}
	if same {
		return p.base, nil
	}
	return p.base.Build(value, p.place), nil
}

// asPrinted makes of a value what is read of the text that kustomize prints: it prints by way of JSON.
func asPrinted(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, x := range v {
			v[key] = asPrinted(x)
		}
	case map[any]any:
		out := map[string]any{}
		for key, x := range v {
			out[fmt.Sprint(key)] = asPrinted(x)
		}
		return out
	case []any:
		for i, x := range v {
			v[i] = asPrinted(x)
		}
	case int:
		return int64(v)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<63 {
			return int64(v)
		}
	case time.Time:
		return v.Format(time.RFC3339Nano)
	}
	return v
}
