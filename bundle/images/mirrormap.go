package images

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/views"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/templates"
)

// Map maps repositories to mirrors. It is read-only.
type Map struct {
	file    string
	entries []mirror // the longest source first
	cluster bool     // it is for a whole cluster, so it has entries for other images
}

type mirror struct {
	source, mirror string
	digests, tags  bool // the references that it applies to
	object         *manifest.Object
	field          string
}

// ReadMap reads a mirror map: a mapping with the list mirrors, whose entries have a source and a mirror, or OpenShift's
// ImageDigestMirrorSet, ImageTagMirrorSet and ImageContentSourcePolicy. Of their entries the first mirror is used, for
// references by digest or by tag only, as in a cluster. The name is that of the file. Errors are *manifest.Error.
func ReadMap(name string, data []byte) (*Map, error) {
	docs, err := manifest.ReadFile(name, data, manifest.Limits{})
	if err != nil {
		return nil, err
	}
	m := &Map{file: name}
	for _, d := range docs {
		if d.Root == nil {
			continue
		}
		objects, err := d.Objects()
		if err == nil && len(objects) == 0 {
			var o *manifest.Object
			o, err = d.Object()
			objects = []*manifest.Object{o}
		}
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			if err := m.read(o); err != nil {
				return nil, err
			}
		}
	}
	if len(m.entries) == 0 {
		return nil, &manifest.Error{File: name, Msg: "the file has no mirror",
			Tip: "write mirrors: [{source: quay.io/org, mirror: registry.example.com/org}]"}
	}
	slices.SortStableFunc(m.entries, func(a, b mirror) int { return cmp.Compare(len(b.source), len(a.source)) })
	return m, nil
}

func (m *Map) read(o *manifest.Object) error {
	if o.Kind == "" {
		return m.readOwn(o)
	}
	var fields clusterFields
	for _, l := range []struct {
		apiVersion, kind, field string
		entries                 *[]clusterMirror
		digests, tags           bool // the references that the entries apply to
	}{
		{"config.openshift.io/v1", "ImageDigestMirrorSet", "spec.imageDigestMirrors",
			&fields.Spec.ImageDigestMirrors, true, false},
		{"config.openshift.io/v1", "ImageTagMirrorSet", "spec.imageTagMirrors",
			&fields.Spec.ImageTagMirrors, false, true},
		{"operator.openshift.io/v1alpha1", "ImageContentSourcePolicy", "spec.repositoryDigestMirrors",
			&fields.Spec.RepositoryDigestMirrors, true, false},
	} {
		if o.Kind != l.kind {
			continue
		}
		if o.APIVersion != l.apiVersion {
			return o.Errorf("apiVersion", "%q is not that of a mirror map, want %s", o.APIVersion, l.apiVersion)
		}
		m.cluster = true
		if err := o.Strict(&fields, nil); err != nil {
			return err
		}
		for i, x := range *l.entries {
			e := mirror{x.Source, "", l.digests, l.tags, o, index(l.field, i)}
			if len(x.Mirrors) == 0 {
				return o.Errorf(e.field, "the entry has no mirrors")
			}
			e.mirror = x.Mirrors[0]
			if err := m.add(e); err != nil {
				return err
			}
		}
		return nil
	}
	return o.Errorf("kind", "%s is not a mirror map", o.Kind).
		With("use a list mirrors, an ImageDigestMirrorSet, an ImageTagMirrorSet or an ImageContentSourcePolicy")
}

func (m *Map) readOwn(o *manifest.Object) error {
	var fields ownFields
	if err := o.Strict(&fields, nil); err != nil {
		return err
	}
	for i, x := range fields.Mirrors {
		e := mirror{x.Source, x.Mirror, true, true, o, index("mirrors", i)}
		const missing = "missing: an entry has a source and a mirror"
		switch {
		case x.Source == "":
			return o.Errorf(e.field+".source", missing)
		case x.Mirror == "":
			return o.Errorf(e.field+".mirror", missing)
		}
		if err := m.add(e); err != nil {
			return err
		}
	}
	return nil
}

// add checks and adds an entry. A source has one mirror. OpenShift's objects may repeat an entry.
func (m *Map) add(e mirror) error {
	for _, c := range []struct{ key, value string }{{"source", e.source}, {"mirror", e.mirror}} {
		field := e.field + "." + c.key
		if c.key == "mirror" && e.object.Kind != "" {
			field = e.field + ".mirrors[0]"
		}
		if problem := prefixProblem(c.value); problem != "" {
			return e.object.Errorf(field, "%q is not the beginning of a repository: %s", c.value, problem).
				With("write it like registry.example.com/org or quay.io/org/repository")
		}
	}
	if rest, ok := strings.CutPrefix(e.source, "index.docker.io"); ok {
		e.source = "docker.io" + rest
	}
	for _, other := range m.entries {
		if other.source != e.source || other.digests != e.digests || other.tags != e.tags {
			continue
		}
		if e.object.Kind != "" && other.mirror == e.mirror {
			return nil
		}
		return e.object.Errorf(e.field+".source", "%s occurs twice: also on line %d",
			e.source, other.object.LineOf(other.field))
	}
	m.entries = append(m.entries, e)
	return nil
}

// prefixProblem returns why a text cannot be the beginning of a repository, or "".
func prefixProblem(s string) string {
	switch {
	case s == "":
		return "it is empty"
	case strings.Contains(s, "://"):
		return "it is a URL"
	case strings.HasPrefix(s, "*."):
		return "wildcards are not supported"
	case strings.HasSuffix(s, "/"):
		return "it ends with a slash"
	case strings.Contains(s, "@"), strings.Contains(s, "/") && unsuffixed(s) != s:
		return "it has a tag or digest"
	case !prefixForm().MatchString(s):
		return "it must begin with a host name, and the rest must be lower case"
	}
	return ""
}

// below reports whether a repository is, or is below, the beginning of one.
func below(repository, prefix string) bool {
	rest, ok := strings.CutPrefix(repository, prefix)
	return ok && (rest == "" || rest[0] == '/')
}

// Rewriter replaces images by mirrors. It records which entries of the map were used and which images have no mirror.
type Rewriter struct {
	m        *Map
	used     []bool
	unmapped []string
	kept     []string
	passed   string // what keeps the mirror of a source from an image
}

// Rewriter returns a new Rewriter. That of a nil Map changes nothing.
func (m *Map) Rewriter() *Rewriter {
	m = cmp.Or(m, &Map{})
	return &Rewriter{m: m, used: make([]bool, len(m.entries))}
}

// Rewrite is a Visitor. It keeps tag and digest as written, and images in ConfigMaps.
func (w *Rewriter) Rewrite(p Place, ref string) string {
	r, err := parse(ref)
	if err != nil {
		return ref
	}
	i := slices.IndexFunc(w.m.entries, func(e mirror) bool { // that of the longest source
		return below(r.repository, e.source) && (e.digests && r.digest != "" || e.tags && r.digest == "")
	})
	if i < 0 {
		there := func(e mirror) bool { return below(r.repository, e.mirror) }
		if p.Kind != KindAnnotation && !slices.ContainsFunc(w.m.entries, there) {
			w.unmapped = append(w.unmapped, r.String())
			if slices.ContainsFunc(w.m.entries, func(e mirror) bool { return below(r.repository, e.source) }) {
				w.passed = r.String() + " is in one of the sources, but the mirror set is only for images by "
				w.passed += map[bool]string{true: "digest", false: "tag"}[r.digest == ""]
			}
		}
		return ref
	}
	w.used[i] = true
	if p.Kind == KindConfigMap {
		w.kept = append(w.kept, r.String()+" of ConfigMap "+p.Name)
		return ref
	}
	e := w.m.entries[i]
	return r.scheme + e.mirror + strings.TrimPrefix(r.repository, e.source) + r.suffix
}

// Unmapped returns the images that a cluster pulls and that no entry of the map has a mirror for, sorted. A map without
// entries has none.
func (w *Rewriter) Unmapped() []string {
	if len(w.m.entries) == 0 {
		return nil
	}
	return lists.SortedUnique(w.unmapped)
}

// Kept returns the images in ConfigMaps that a mirror has and Rewrite keeps, each with its ConfigMap, sorted.
func (w *Rewriter) Kept() []string { return lists.SortedUnique(w.kept) }

// Unused returns an error for each entry that was not used. For a map of a whole cluster, which is about many images,
// it returns one error if no entry was used.
func (w *Rewriter) Unused() []*manifest.Error {
	if w.m.cluster {
		if len(w.used) == 0 || slices.Contains(w.used, true) {
			return nil
		}
		if w.passed != "" {
			return []*manifest.Error{{File: w.m.file, Msg: w.passed}}
		}
		return []*manifest.Error{{File: w.m.file, Msg: "no image of the bundle is in any of the sources"}}
	}
	var out []*manifest.Error
	for i, e := range w.m.entries {
		if !w.used[i] {
			out = append(out, e.object.Errorf(e.field+".source", "no image of the bundle is in %s", e.source))
		}
	}
	slices.SortFunc(out, func(a, b *manifest.Error) int { return cmp.Compare(a.Line, b.Line) })
	return out
}

type ownFields struct {
	Mirrors []struct {
		Source string `json:"source"`
		Mirror string `json:"mirror"`
	} `json:"mirrors"`
}

type clusterMirror struct {
	Source       string   `json:"source"`
	Mirrors      []string `json:"mirrors"`
	SourcePolicy string   `json:"mirrorSourcePolicy"`
}

// clusterFields has the fields of OpenShift's kinds (openshift/api: config/v1, operator/v1alpha1). The cluster writes
// metadata and status.
type clusterFields struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   any    `json:"metadata"`
	Status     any    `json:"status"`
	Spec       struct {
		ImageDigestMirrors      []clusterMirror `json:"imageDigestMirrors"`
		ImageTagMirrors         []clusterMirror `json:"imageTagMirrors"`
		RepositoryDigestMirrors []clusterMirror `json:"repositoryDigestMirrors"`
	} `json:"spec"`
}

// CheckMirror returns an error for what is not a registry, with or without the beginning of a path.
func CheckMirror(mirror string) error {
	if problem := prefixProblem(mirror); problem != "" {
		return manifest.WithHint(fmt.Errorf("mirror %q is not a registry: %s", mirror, problem),
			"write it like registry.example.com or registry.example.com/prefix")
	}
	return nil
}

// MirrorSets returns OpenShift's ImageDigestMirrorSet for the images of each package, and an ImageTagMirrorSet for
// images without a digest, as a YAML stream. The mirror of quay.io/org/repository is <mirror>/org/repository, as
// oc-mirror chooses it. MirrorSets fails if mirror is not a registry, if an image is not a valid reference, or if two
// repositories with tags would have the same mirror.
func MirrorSets(list []Image, mirror string, t *templates.Set) ([]byte, error) {
	if err := CheckMirror(mirror); err != nil {
		return nil, err
	}
	packages := lists.Group(lists.Filter(list, Image.Pulled), func(i Image) string { return i.Package })
	tagged := map[string]string{} // the repository of each mirror that is for tags
	var out bytes.Buffer
	for _, pkg := range lists.Keys(packages) {
		for _, set := range []struct {
			template string
			pinned   bool
		}{{"imagedigestmirrorset.yaml", true}, {"imagetagmirrorset.yaml", false}} {
			seen := tagged
			if set.pinned {
				seen = map[string]string{}
			}
			mirrors, err := mirrorsOf(packages[pkg], set.pinned, mirror, seen)
			if err != nil {
				return nil, err
			}
			if len(mirrors) == 0 {
				continue
			}
			data, err := t.Execute(set.template, views.MirrorSet{Name: pkg, Mirrors: mirrors})
			if err != nil {
				return nil, err
			}
			if out.Len() > 0 {
				out.WriteString("---\n")
			}
			out.Write(data)
		}
	}
	return out.Bytes(), nil
}

func mirrorsOf(list []Image, pinned bool, mirror string, seen map[string]string) ([]views.Mirror, error) {
	repositories := map[string]bool{}
	for _, i := range list {
		r, err := parse(i.Image)
		if err != nil {
			return nil, fmt.Errorf("%s: %q is not an image reference", i.At(), i.Image)
		}
		if i.Pinned == pinned {
			repositories[r.repository] = true
		}
	}
	var mirrors []views.Mirror
	for _, source := range lists.Keys(repositories) {
		_, path, _ := strings.Cut(source, "/")
		target := mirror + "/" + path
		if other := seen[target]; !pinned && other != "" && other != source {
			err := fmt.Errorf("%s and %s would both have the mirror %s, and their images have tags, not digests",
				other, source, target)
			return nil, manifest.WithHint(err, "run the command for each source alone, with another mirror for each")
		}
		seen[target] = source
		mirrors = append(mirrors, views.Mirror{Source: source, Mirror: target})
	}
	return mirrors, nil
}
