package kustomization

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/regular"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/manifest"
)

type source struct {
	data    []byte
	docs    []*manifest.Document // none if it is not YAML
	objects []*manifest.Object   // of its documents
	count   int                  // of objects, or documents
	err     error
}

func fileLimits() manifest.Limits { return whole.Limits(budget.File) }

// source reads a file and the objects in it, once.
func (b *Builder) source(abs string) *source {
	if s, ok := b.files[abs]; ok {
		return s
	}
	s := b.read(abs)
	b.files[abs] = s
	if s.err != nil {
		return s
	}
	if s.docs, s.err = manifest.ReadFile(b.named(abs), s.data, fileLimits()); s.err != nil {
		return s
	}
	s.docs = manifest.Written(s.docs)
	for _, d := range s.docs {
		if s.aliases() {
			if _, s.err = d.Value(); s.err != nil {
				return s
			}
		}
		objects, _ := d.Objects()
		s.objects = append(s.objects, objects...)
	}
	s.count = max(len(s.docs), len(s.objects))
	return s
}

// read reads a file, if it may be read: inside of the directory, and within the limits of a file and of all files.
func (b *Builder) read(abs string) *source {
	s, limits := &source{}, fileLimits()
	real, err := b.inside(abs)
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New(regular.Missing(abs))
	}
	if err != nil {
		s.err = &manifest.Error{File: b.named(abs), Msg: err.Error()}
		return s
	}
	in, err := regular.Open(real)
	if err == nil {
		defer in.Close()
		s.data, err = io.ReadAll(io.LimitReader(in, int64(limits.FileBytes)+1))
	}
	most, over := budget.Of(budget.Tree).Bytes, ""
	switch {
	case err != nil:
		s.err = &manifest.Error{File: b.named(abs), Msg: regular.Reason(err)}
	case len(s.data) > limits.FileBytes:
		over = fmt.Sprintf("has more than %d MiB", limits.FileBytes>>20)
	default:
		if b.bytes += int64(len(s.data)); b.bytes > most {
			over = fmt.Sprintf("with it, the kustomizations read more than %d MiB", most>>20)
		}
	}
	if over != "" {
		s.data, s.err = nil, manifest.OverLimit(&manifest.Error{File: b.named(abs), Msg: over})
	}
	if err := manifest.Elsewhere(b.named(abs), s.data); err != nil { // it is no data of a generator or a patch either
		s.data, s.err = nil, err
	}
	return s
}

// isData reports whether kustomize makes data of a file, and nothing else.
func (b *Builder) isData(abs string) bool { return b.raw[abs] != nil && !b.parsed[abs] }

// aliases reports whether a file may have aliases of YAML, which can multiply.
func (s *source) aliases() bool {
	return bytes.ContainsRune(s.data, '&') && bytes.ContainsRune(s.data, '*')
}

// inside returns a path without symbolic links, or regular.ErrOutside.
func (b *Builder) inside(path string) (string, error) {
	limit := b.Repos.Limit(path, b.top)
	real, err := regular.Inside(limit, path)
	if err == nil && limit == "" && real != filepath.Clean(path) && !regular.Below(b.links, real) {
		return "", regular.ErrOutside
	}
	return real, err
}

// leads returns the path of what a kustomization names. It does not lead out of a checkout.
func (b *Builder) leads(k *Kustomization, entry string) (string, error) {
	abs := filepath.Join(k.Dir, filepath.FromSlash(entry))
	if limit := b.Repos.Limit(k.Dir, ""); limit != "" && !regular.Below(limit, abs) {
		return "", regular.ErrOutside
	}
	return b.inside(abs)
}

// files is the file system that kustomize reads. What it does not ask for is that of the empty one.
type files struct {
	filesys.FileSystem
	builder *Builder
	root    *Kustomization
}

func (f *files) Exists(path string) bool {
	_, err := f.builder.inside(path)
	return err == nil || f.builder.isMade(path)
}

func (f *files) IsDir(path string) bool {
	real, err := f.builder.inside(path)
	if err != nil {
		return false
	}
	info, err := os.Stat(real)
	return err == nil && info.IsDir()
}

func (f *files) CleanedAbs(path string) (filesys.ConfirmedDir, string, error) {
	if f.builder.isMade(path) {
		return filesys.ConfirmedDir(filepath.Dir(path)), filepath.Base(path), nil
	}
	real, err := f.builder.inside(path)
	if err != nil {
		return "", "", err
	}
	if f.IsDir(real) {
		return filesys.ConfirmedDir(real), "", nil
	}
	return filesys.ConfirmedDir(filepath.Dir(real)), filepath.Base(real), nil
}

func (f *files) ReadFile(path string) ([]byte, error) {
	k := f.builder.dirs[filepath.Dir(path)]
	if path == f.root.File {
		k = f.root
	}
	if k != nil && k.File == path {
		if k.Unknown != nil {
			return nil, k.Unknown
		}
		return f.builder.content(k)
	}
	if b := f.builder; b.isData(path) {
		if s := b.raw[path]; s.data == nil && s.err == nil {
			*s = *b.read(path)
		}
		return b.raw[path].data, b.raw[path].err
	}
	s := f.builder.source(path)
	// kustomize has no limits of its own, and writes aliases out; it says what else is wrong, or takes it for data
	if s.err != nil && (s.data == nil || s.aliases() || len(manifest.AboutOf(s.err)) > 0) {
		return nil, s.err
	}
	return s.data, nil
}

// content returns what kustomize reads: every entry that it could take for a Git repository begins with "./".
func (b *Builder) content(k *Kustomization) ([]byte, error) {
	if k.text != nil {
		return k.text, nil
	}
	data, err := yaml.YAMLToJSON(k.data)
	if err != nil {
		return nil, err
	}
	m := map[string]any{}
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, err
	}
	if k.charted {
		delete(m, "helmGlobals")
		delete(m, "helmCharts")
		m["resources"] = append(olm.Items(m["resources"]), chartFile)
	}
	if len(k.policies) > 0 {
		m["resources"] = append(olm.Items(m["resources"]), policyFile)
		m["generators"] = lists.Map(k.spec.Generators, func(g string) any { return g })
	}
	for key, v := range m {
		switch strings.ToLower(key) { // as encoding/json, by which kustomize reads it
		case "resources", "bases", "components", "generators", "transformers", "validators":
			kept := []any{}
			for _, item := range olm.Items(v) {
				if entry, ok := item.(string); ok && !isMapping(entry) {
					if b.leavesOut(k, entry) {
						continue
					}
					item = "./" + entry
					if abs, ok := k.fetched[entry]; ok {
						item, _ = filepath.Rel(k.Dir, abs)
					}
				}
				kept = append(kept, item)
			}
			m[key] = kept
		}
	}
	k.text, err = json.Marshal(m)
	return k.text, err
}
