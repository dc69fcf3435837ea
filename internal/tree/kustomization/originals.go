package kustomization

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/regular"
	"github.com/olmgen/olmgen/manifest"
)

// original is what kustomize makes an object of: one of a file, or what a generator makes.
type original struct {
	object            *manifest.Object // nil for a generator
	group, kind, name string
	by                *Kustomization // with the generator, and its field
	field             string
}

// originals returns what a kustomization is made of in the order in which kustomize collects it (kustomize/api:
// internal/target/kusttarget.go, accumulateTarget). With buildMetadata kustomize would say it, and take twice as long.
func (b *Builder) originals(k *Kustomization) []*original {
	if k.made != nil {
		return k.made
	}
	list := []*original{}
	collect := func(entries []string) {
		for _, entry := range entries {
			abs := k.at(entry)
			if real, err := b.inside(abs); err == nil && b.Load(real) != nil {
				list = append(list, b.originals(b.Load(real))...)
				continue
			}
			for _, o := range b.source(abs).objects {
				list = append(list, &original{object: o, group: o.Group(), kind: o.Kind, name: o.Name})
			}
		}
	}
	collect(slices.Concat(k.spec.Resources, k.old().bases))
	k.generators(func(field, kind string, args types.GeneratorArgs) {
		if args.Behavior == "" || args.Behavior == "create" {
			list = append(list, &original{kind: kind, name: args.Name, by: k, field: field})
		}
	})
	collect(k.spec.Components)
	k.made = list
	return list
}

// match finds what each object was made of. Prefixes, suffixes and patches may have changed its name and namespace, and
// a patch may have deleted others: of as many objects of a kind as there were, each is the one of its turn.
func (b *Builder) match(k *Kustomization, built []*resource.Resource) []*original {
	type group struct {
		originals []*original
		built     []int
	}
	groups := map[[2]string]*group{}
	for i, r := range built {
		key := [2]string{r.GetGvk().Group, r.GetKind()}
		groups[key] = cmp.Or(groups[key], &group{})
		groups[key].built = append(groups[key].built, i)
	}
	for _, o := range b.originals(k) {
		if g := groups[[2]string{o.group, o.kind}]; g != nil {
			g.originals = append(g.originals, o)
		}
	}
	out := make([]*original, len(built))
	for _, g := range groups {
		turn := func(o *original, i int) bool { return o.like(built[i]) >= likeName }
		if slices.EqualFunc(g.originals, g.built, turn) { // each could have its name of the one of its turn
			for j, i := range g.built {
				out[i] = g.originals[j]
			}
			continue
		}
		used := make([]bool, len(g.originals))
		for least := mostLike; least > 0; least-- {
			for _, i := range g.built {
				if out[i] != nil {
					continue
				}
				for j, o := range g.originals {
					if !used[j] && o.like(built[i]) >= least {
						used[j], out[i] = true, o
						break
					}
				}
			}
		}
	}
	return out
}

// How much an object is like another of its kind.
const (
	likeKind = iota + 1 // a patch may have given it another name
	likeName            // with a prefix or suffix
	sameName
	mostLike // the namespace too
)

func (o *original) like(r *resource.Resource) int {
	switch name := r.GetName(); {
	case o.name == name && (o.object == nil || o.object.Namespace == "" || o.object.Namespace == r.GetNamespace()):
		return mostLike
	case o.name == name:
		return sameName
	case o.name != "" && strings.Contains(name, o.name), o.kind == "Namespace" && o.group == "": // as "namespace" says
		return likeName
	case o.object != nil:
		return likeKind
	}
	return 0
}

// asWritten returns the objects of a kustomization that only lists files; false if it must be built.
func (b *Builder) asWritten(k *Kustomization) (objects []*manifest.Object, ok bool) {
	if !b.onlyLists(k, nil) {
		return nil, false
	}
	seen := map[string]bool{}
	for _, from := range b.originals(k) {
		o := from.object
		if o == nil || o.Kind == "" || o.APIVersion == "" || o.Name == "" {
			return nil, false
		}
		key := strings.Join([]string{o.APIVersion, o.Kind, o.Namespace, o.Name}, "\n")
		annotations, err := o.Get("metadata", "annotations")
		if seen[key] || err != nil || o.Has("metadata", "annotations") && asksKustomize(annotations) {
			return nil, false
		}
		seen[key] = true
		objects = append(objects, o)
	}
	return objects, len(objects) > 0
}

// onlyLists reports whether a kustomization has only resources that can be read below it, and no base above.
func (b *Builder) onlyLists(k *Kustomization, above []string) bool {
	lists := types.Kustomization{TypeMeta: k.spec.TypeMeta, MetaData: k.spec.MetaData, Resources: k.spec.Resources}
	if k.Unknown != nil || k.IsComponent() || !reflect.DeepEqual(k.spec, lists) {
		return false
	}
	for _, file := range k.Files {
		real, err := b.inside(file)
		allowed := k.options.Generate || regular.Below(k.Dir, real)
		if s := b.source(file); err != nil || !allowed || s.err != nil || len(s.objects) < len(s.docs) {
			return false
		}
	}
	above = append(slices.Clip(above), k.Dir)
	return !slices.ContainsFunc(k.Bases, func(dir string) bool {
		base := b.Load(dir)
		return base == nil || slices.ContainsFunc(above, func(up string) bool { return regular.Below(dir, up) }) ||
			!b.onlyLists(base, above)
	})
}

// asksKustomize reports whether annotations are for kustomize, such as config.kubernetes.io/local-config, or are none.
func asksKustomize(annotations any) bool {
	m, ok := annotations.(map[string]any)
	return !ok || lists.Any(maps.Keys(m), func(key string) bool {
		return strings.Contains(key, "config.kubernetes.io/") || strings.HasPrefix(key, "kustomize.config.k8s.io/")
	})
}
