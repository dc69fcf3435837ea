package kustomization

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"

	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/regular"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// policyFile stands for the policies that the generators of a kustomization make, as chartFile for its charts.
const policyFile = madeFile + "policies.yaml"

const kindPolicyGenTemplate = "PolicyGenTemplate"

// makesPolicies reports whether a document is a generator that puts manifests into policies
// (open-cluster-management-io/policy-generator-plugin: internal/utils.go, getPolicyTemplates;
// openshift-kni/cnf-features-deploy: ztp/policygenerator/policyGen/policyBuilder.go).
func makesPolicies(o *manifest.Object) bool {
	return o.Group() == olm.GroupPolicy && o.Kind == "PolicyGenerator" ||
		o.Group() == "ran.openshift.io" && o.Kind == kindPolicyGenTemplate
}

// wrapped are manifests that a generator puts into a policy.
type wrapped struct {
	policy, path       string
	field              string // of the generator, that has it
	action, compliance string
	disabled           bool
	placement          string // for which clusters, as it is written
	patches            []any
	overlay            map[string]any // of a PolicyGenTemplate, whose lists are merged by their indexes
}

// wraps returns what a generator puts into policies, and their namespace.
func wraps(g *manifest.Object) (list []wrapped, namespace any) {
	v, _ := g.Value()
	defaults, meta := olm.Mapping(v["policyDefaults"]), olm.Mapping(v["metadata"])
	policies := olm.Items(v["policies"])
	if g.Kind == kindPolicyGenTemplate {
		defaults = merged(olm.Mapping(v["spec"]), map[string]any{"namespace": meta["namespace"]})
		policies = lists.Map(olm.Items(defaults["sourceFiles"]), func(f any) any {
			return map[string]any{"manifests": []any{f}}
		})
	}
	for i, item := range policies {
		policy := merged(defaults, olm.Mapping(item))
		for j, item := range olm.Items(policy["manifests"]) {
			conf := merged(policy, olm.Mapping(item))
			w := wrapped{policy: olm.Text(policy["name"]), path: olm.Text(conf["path"]),
				field:  fmt.Sprintf("policies[%d].manifests[%d]", i, j),
				action: cmp.Or(olm.Text(conf["remediationAction"]), "inform"), disabled: policy["disabled"] == true,
				compliance: cmp.Or(olm.Text(conf["complianceType"]), "musthave"),
				patches:    olm.Items(olm.Mapping(item)["patches"]),
				placement:  fmt.Sprint(policy["placement"], policy["policySets"], policy["bindingRules"])}
			if g.Kind == kindPolicyGenTemplate {
				w.policy = fmt.Sprint(meta["name"], "-", conf["policyName"])
				w.field = fmt.Sprintf("spec.sourceFiles[%d]", i)
				w.path = filepath.Join("source-crs", olm.Text(conf["fileName"]))
				w.overlay = only(olm.Mapping(item), "metadata", "spec", "data", "status", "binaryData", "stringData")
			}
			list = append(list, w)
		}
	}
	return list, defaults["namespace"]
}

// noteManifests notes the files and directories that a generator of policies names.
func (b *Builder) noteManifests(k *Kustomization, g *manifest.Object) error {
	k.policies = append(k.policies, g)
	list, _ := wraps(g)
	v, _ := g.Value()
	if len(list) == 0 {
		return g.Errorf("policies", "no policy has manifests")
	}
	for i, p := range olm.Items(v["policies"]) {
		if len(olm.Items(olm.Mapping(p)["manifests"])) == 0 {
			return g.Errorf(fmt.Sprintf("policies[%d].manifests", i), "the policy has none")
		}
	}
	for _, w := range list {
		abs, err := b.inside(filepath.Join(k.Dir, filepath.FromSlash(w.path)))
		names := []string{w.path}
		switch entries, notDir := os.ReadDir(abs); {
		case err != nil && g.Kind == kindPolicyGenTemplate: // the image of the generator may have it
			b.Unsaid = append(b.Unsaid, g.Errorf(w.field, "%s is not in this tree", w.path))
			continue
		case err != nil || notDir != nil:
		case abs == k.Dir || !regular.Below(k.Dir, abs):
			return g.Errorf(w.field, "%s is not below the kustomization", w.path)
		case b.Load(abs) == nil:
			names = nil
			for _, e := range entries {
				if !e.IsDir() && slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(e.Name())) {
					names = append(names, filepath.Join(w.path, e.Name()))
				}
			}
		}
		for _, name := range names {
			if err := b.entry(k, "generators", name, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// addPolicies makes the policies of the generators of a kustomization a resource of it.
func (b *Builder) addPolicies(k *Kustomization) error {
	s := &source{}
	for _, g := range k.policies {
		list, namespace := wraps(g)
		idle := 0
		for _, same := range lists.Groups(list, func(w wrapped) string { return w.policy }) {
			b.Placements[same[0].policy] = same[0].placement
			p := &policy{wrapped: same[0], made: map[string]*manifest.Object{}}
			for _, w := range same {
				objects, err := b.manifests(k, w.path)
				for i := 0; i < len(objects) && err == nil; i++ {
					err = p.wrap(g, w, objects[i], len(objects) == 1)
				}
				if err != nil {
					return err
				}
			}
			idle += p.idle
			o := p.object(g, namespace)
			v, err := o.Value()
			if err != nil {
				return err
			}
			s.objects, s.data = append(s.objects, o), append(append(s.data, "---\n"...), manifest.Encode(v)...)
		}
		if idle > 0 {
			b.Unsaid = append(b.Unsaid, g.Errorf("", "the policies only inform about %s: what somebody enforces of it "+
				"is not in the report", text.Count(idle, "object")))
		}
	}
	s.count = len(s.objects)
	b.files[filepath.Join(k.Dir, policyFile)] = s
	k.spec.Resources = append(k.spec.Resources, policyFile)
	return nil
}

// manifests returns the documents of a file, or of the files of a directory, or what its kustomization builds.
func (b *Builder) manifests(k *Kustomization, entry string) (list []*manifest.Object, err error) {
	abs, err := b.inside(filepath.Join(k.Dir, filepath.FromSlash(entry)))
	if err != nil {
		return nil, nil //nolint:nilerr // noteManifests says it
	}
	if base := b.Load(abs); base != nil {
		return b.Build(base)
	}
	for _, file := range lists.Unique(k.Files) {
		if real, err := b.inside(file); err != nil || real != abs && filepath.Dir(real) != abs {
			continue
		}
		s := b.source(file)
		if s.err != nil {
			return nil, s.err
		}
		for _, d := range s.docs {
			o, err := d.Object()
			if err != nil {
				return nil, err
			}
			list = append(list, o)
		}
	}
	return list, nil
}

// policy is a Policy in the making.
type policy struct {
	wrapped
	templates []any                       // its spec.policy-templates
	made      map[string]*manifest.Object // by the field that an object is
	idle      int                         // objects that it only informs about
}

// wrap adds an object to a policy. One that is a policy goes as it is.
func (p *policy) wrap(g *manifest.Object, w wrapped, o *manifest.Object, only bool) error {
	o, err := w.patched(g, o, only)
	if err != nil {
		return err
	}
	v, err := o.Value()
	if err != nil {
		return err
	}
	at := fmt.Sprintf("spec.policy-templates[%d].objectDefinition", len(p.templates))
	definition := v
	if o.Group() != olm.GroupPolicy || !strings.HasSuffix(o.Kind, olm.KindPolicy) {
		spec := map[string]any{"remediationAction": w.action}
		definition = map[string]any{"apiVersion": olm.GroupPolicy + "/v1", "kind": "ConfigurationPolicy",
			"metadata": map[string]any{"name": p.policy}, "spec": spec}
		if raw := "object-templates-raw"; v[raw] != nil {
			spec[raw], at = v[raw], at+".spec"
		} else {
			spec["object-templates"] = []any{map[string]any{"complianceType": w.compliance, "objectDefinition": v}}
			at += ".spec.object-templates[0].objectDefinition"
		}
		if !strings.EqualFold(w.action, "enforce") {
			p.idle++
		}
	}
	p.made[at] = o
	p.templates = append(p.templates, map[string]any{"objectDefinition": definition})
	return nil
}

// object returns the Policy. What it keeps has the places of the manifests.
func (p *policy) object(g *manifest.Object, namespace any) *manifest.Object {
	return g.Build(map[string]any{"apiVersion": olm.GroupPolicy + "/v1", "kind": olm.KindPolicy,
		"metadata": map[string]any{"name": p.policy, "namespace": namespace},
		"spec":     map[string]any{"disabled": p.disabled, "policy-templates": p.templates},
	}, func(field string) manifest.Place {
		for at, o := range p.made {
			if rest, ok := strings.CutPrefix(field, at); ok && (rest == "" || rest[0] == '.') {
				return o.SetBy(strings.TrimPrefix(rest, "."))
			}
		}
		return g.SetBy(p.field)
	})
}

// patched returns an object with the patches for it. Those for the only one need not name it
// (policy-generator-plugin: internal/patches.go).
func (w wrapped) patched(g, o *manifest.Object, only bool) (*manifest.Object, error) {
	v, err := o.Value()
	if err != nil || len(w.patches)+len(w.overlay) == 0 {
		return o, err
	}
	if w.overlay != nil {
		v = olm.Mapping(overlaid(v, w.overlay))
	}
	at := map[string]any{w.field: w.overlay} // patches, by their fields
	for i, item := range w.patches {
		patch := olm.Mapping(item)
		if meta := olm.Mapping(patch["metadata"]); !only && (patch["kind"] != o.Kind || meta["name"] != o.Name) {
			continue
		}
		at[fmt.Sprintf("%s.patches[%d]", w.field, i)] = patch
		building.Lock()
		said, err := merge2.MergeStrings(string(manifest.Encode(patch)), string(manifest.Encode(v)), false,
			yaml.MergeOptions{ListIncreaseDirection: yaml.MergeOptionsListPrepend})
		building.Unlock()
		if err != nil {
			return nil, g.Errorf(w.field, "a patch cannot be applied: %v", err)
		}
		next, err := manifest.ReadOne(o.File, []byte(said))
		if err != nil {
			return nil, err
		}
		if v, err = next.Value(); err != nil {
			return nil, err
		}
	}
	return o.Build(v, func(field string) manifest.Place {
		for from, patch := range at {
			if _, ok := decoded.At(patch, decoded.Segments(field)); ok && field != "" {
				return g.SetBy(from + "." + field)
			}
		}
		return o.SetBy(field)
	}), nil
}

// overlaid returns a value with what a PolicyGenTemplate sets in it (policyBuilder.go, setValues). A text that is empty
// or begins with "$" is one that the file has no value for.
func overlaid(v, own any) any {
	switch was := v.(type) {
	case map[string]any:
		out := maps.Clone(was)
		for key, x := range olm.Mapping(own) {
			out[key] = overlaid(was[key], x)
		}
		maps.DeleteFunc(out, func(key string, x any) bool {
			s, ok := x.(string)
			return ok && own != nil && (s == "" || s[0] == '$')
		})
		return out
	case []any:
		list := slices.Clone(olm.Items(own))
		for i, x := range was {
			if olm.Mapping(x) == nil {
				break
			}
			if i < len(list) {
				list[i] = overlaid(x, list[i])
			} else {
				list = append(list, x)
			}
		}
		return list
	}
	return own
}

// merged returns the values of defaults and of what overrides them.
func merged(defaults, own map[string]any) map[string]any {
	all := map[string]any{}
	maps.Copy(all, defaults)
	maps.Copy(all, own)
	return all
}

// only returns some fields of a mapping.
func only(m map[string]any, fields ...string) map[string]any {
	out := maps.Clone(m)
	maps.DeleteFunc(out, func(key string, _ any) bool { return !slices.Contains(fields, key) })
	return out
}
