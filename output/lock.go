package output

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	strictjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/base/yamltext"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

const (
	lockComment    = "# Written by olmgen. Do not edit: it says which files of this directory are olmgen's.\n"
	lockAPIVersion = "olmgen.dev/v1alpha1"
	lockKind       = "Lock"
	maxLockSize    = 16 << 20
)

// Source is recorded in olmgen.lock: which bundle made the tree.
type Source struct {
	Bundle  string `json:"bundle"`            // name of the ClusterServiceVersion
	Package string `json:"package,omitempty"` // its package
	Profile string `json:"profile,omitempty"` // the profile that it is rendered with
	Config  string `json:"config,omitempty"`  // the RenderConfig that names it, from the output directory
	Source  string `json:"source,omitempty"`  // where the bundle came from, as the user wrote it
	Digest  string `json:"digest,omitempty"`  // of the image, or of the files of the bundle
	// Lock is the directory of the olmgen.lock that records it, slash-separated; empty for the output directory itself.
	Lock string `json:"-"`
}

// optional returns the names and values of the fields that may be empty.
func (s Source) optional() [][2]string {
	return [][2]string{{"package", s.Package}, {"profile", s.Profile}, {"config", s.Config}, {"source", s.Source},
		{"digest", s.Digest}}
}

type lockFile struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// the way to the output directory, ../.. for example; empty in the output directory itself
	Root    string            `json:"root,omitempty"`
	Sources []Source          `json:"sources"`
	Files   map[string]string `json:"files"` // path below the output directory, to digest
}

// newLock records files, a path to digest mapping, which were made from sources, in a directory.
func newLock(dir string, sources []Source, files map[string]string) (lockFile, error) {
	l := lockFile{APIVersion: lockAPIVersion, Kind: lockKind, Root: wayUp(dir), Sources: slices.Clone(sources),
		Files: files}
	for i := range l.Sources {
		l.Sources[i].Lock = ""
	}
	slices.SortFunc(l.Sources, func(a, b Source) int {
		return cmp.Or(cmp.Compare(a.Bundle, b.Bundle), cmp.Compare(a.Source, b.Source), cmp.Compare(a.Digest, b.Digest))
	})
	l.Sources = slices.Compact(l.Sources)
	if l.Files == nil {
		l.Files = map[string]string{}
	}
	return l, l.check()
}

var (
	fileDigest   = lazy.Regexp(`^sha256:[0-9a-f]{64}$`)
	sourceDigest = lazy.Regexp(`^[a-z0-9]+:[0-9a-f]{32,128}$`)
)

func (l lockFile) check() error {
	if l.APIVersion != lockAPIVersion {
		return fmt.Errorf("apiVersion: %q is not %q", l.APIVersion, lockAPIVersion)
	}
	if l.Kind != lockKind {
		return fmt.Errorf("kind: %q is not %q", l.Kind, lockKind)
	}
	for i, s := range l.Sources {
		if err := checkText(s.Bundle); err != nil {
			return fmt.Errorf("sources[%d].bundle: %q %w", i, s.Bundle, err)
		}
		for _, field := range s.optional() {
			if err := checkText(field[1]); err != nil && field[1] != "" {
				return fmt.Errorf("sources[%d].%s: %q %w", i, field[0], field[1], err)
			}
		}
		if s.Digest != "" && !sourceDigest().MatchString(s.Digest) {
			return fmt.Errorf("sources[%d].digest: %q is not a digest such as sha256:<hex>", i, s.Digest)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(l.Files)) {
		if err := checkPath(p); err != nil {
			return fmt.Errorf("files: %w", err)
		}
		if !fileDigest().MatchString(l.Files[p]) {
			return fmt.Errorf("files[%q]: %q is not sha256: and 64 hex digits", p, l.Files[p])
		}
	}
	return nil
}

// encode prints the lock. It is written by hand because the YAML encoder would sort apiVersion, kind and the rest by
// name and the paths by the numbers in them.
func (l lockFile) encode() []byte {
	var b bytes.Buffer
	b.WriteString(lockComment)
	fmt.Fprintf(&b, "apiVersion: %s\nkind: %s\n", l.APIVersion, l.Kind)
	if l.Root != "" {
		fmt.Fprintf(&b, "root: %s\n", l.Root)
	}
	b.WriteString("sources:" + orEmpty(len(l.Sources), " []") + "\n")
	for _, s := range l.Sources {
		fmt.Fprintf(&b, "- bundle: %s\n", scalar(s.Bundle))
		for _, field := range s.optional() {
			if field[1] != "" {
				fmt.Fprintf(&b, "  %s: %s\n", field[0], scalar(field[1]))
			}
		}
	}
	b.WriteString("files:" + orEmpty(len(l.Files), " {}") + "\n")
	for _, p := range slices.Sorted(maps.Keys(l.Files)) {
		format := "  %s: %s\n"
		if len(p) > maxSimpleKey {
			format = "  ? %s\n  : %s\n"
		}
		fmt.Fprintf(&b, format, scalar(p), l.Files[p])
	}
	return b.Bytes()
}

// YAML allows a key on one line with its value only up to 1024 characters; escapes may make six of one.
const maxSimpleKey = 128

func orEmpty(n int, empty string) string {
	if n == 0 {
		return empty
	}
	return ""
}

var plain = lazy.Regexp(`^(\.{0,2}/)*[A-Za-z][A-Za-z0-9._/@:-]*[A-Za-z0-9]$`)

// scalar prints s as YAML. Words that some reader takes for a boolean or null are all letters and at most 5 of them.
// The escapes of Go are escapes of YAML too, as long as s is valid UTF-8.
func scalar(s string) string {
	if plain().MatchString(s) && (len(s) > len("false") || strings.ContainsAny(s, "./@:-")) {
		return s
	}
	return strconv.Quote(s)
}

// readLock reads what encode printed, or what a person or a merge made of it, strictly. Errors name the line or field.
func readLock(data []byte) (lockFile, error) {
	var l lockFile
	if len(data) > maxLockSize {
		return l, fmt.Errorf("is larger than %d MiB", maxLockSize>>20)
	}
	if line := secondDocument(data); line > 0 {
		return l, fmt.Errorf("line %d: a second YAML document", line)
	}
	doc, err := yaml.YAMLToJSONStrict(data)
	conflict := manifest.Conflict("", 1, data) // in the first line it makes a text of all
	if conflict != nil && (err != nil || !bytes.HasPrefix(doc, []byte("{"))) {
		return l, refuseOption(option.Force, "check out either side of the output directory, and render again so that "+
			"the files of the other side are taken over", "line %d: %s", conflict.Line, conflict.Msg)
	}
	if err != nil {
		return l, reason(err)
	}
	strict, err := strictjson.UnmarshalStrict(doc, &l)
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mismatch):
		return l,
			fmt.Errorf("%s: found a %s in place of a %s", cmp.Or(mismatch.Field, "the document"), mismatch.Value,
				mismatch.Type.Kind())
	case err != nil:
		return l, reason(err)
	case l.APIVersion != lockAPIVersion || l.Kind != lockKind:
		return l, l.check()
	case len(strict) > 0:
		return l, reason(strict[0])
	}
	root := l.Root
	l, err = newLock("", l.Sources, l.Files)
	l.Root = root
	return l, err
}

// secondDocument returns the line on which a second document starts, 0 if there is none: the YAML decoder would read
// the first and be silent about the rest.
func secondDocument(data []byte) int {
	content, n := false, 0
	for line := range bytes.Lines(data) {
		n++
		trimmed := bytes.TrimSpace(line)
		switch {
		case content && (yamltext.IsMarker(line, "---") || bytes.HasPrefix(line, []byte("..."))):
			return n
		case len(trimmed) > 0 && trimmed[0] != '#':
			content = true
		}
	}
	return 0
}

func reason(err error) error {
	return errors.New(text.OneLine(strings.TrimPrefix(err.Error(), "yaml: ")))
}

// locks are the files olmgen.lock of an output directory, by their directories: "" for the output directory itself.
type locks map[string]recorded

type recorded struct {
	lockFile
	data []byte
}

func lockPath(dir string) string { return path.Join(dir, LockName) }

func wayUp(dir string) string {
	if dir == "" {
		return ""
	}
	return strings.TrimSuffix(strings.Repeat("../", strings.Count(dir, "/")+1), "/")
}

// readLock reads the lock of dir, if there is one, and adds its records to the tree. The lock of another output
// directory below this one is a file like others.
func (tr *tree) readLock(t target, dir string) error {
	data, err := readLockFile(t, dir)
	if err != nil || data == nil {
		return err
	}
	l, err := readLock(data)
	var hinted *manifest.HintError
	switch {
	case errors.As(err, &hinted):
		return manifest.WithHint(fmt.Errorf("%s: %w", t.show(lockPath(dir)), err), hinted.Hint(), hinted.About()...)
	case err != nil:
		return refuse("restore it from version control, or remove it: then olmgen takes over files that are equal to "+
			"its own and leaves the rest alone",
			"%s: %w", t.show(lockPath(dir)), err)
	case l.Root != wayUp(dir) && dir == "":
		return refuse(
			"name the output directory, which is "+l.Root+" from there",
			"%s is a part of an output directory",
			t.name,
		)
	case l.Root != wayUp(dir):
		return nil
	}
	tr.locks[dir] = recorded{l, data}
	for p, digest := range l.Files {
		if _, ok := tr.files[p]; !ok {
			tr.files[p], tr.lockOf[p] = digest, dir
		}
	}
	return nil
}

// readLockFile returns the text of a lock, nil if there is none. Below the root only a file is a lock.
func readLockFile(t target, dir string) ([]byte, error) {
	name := at(t.dir, lockPath(dir))
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() && dir != "":
		return nil, nil
	case !info.Mode().IsRegular():
		return nil, refuse("move it away", "%s is not a regular file", t.show(LockName))
	}
	data, err := readMost(name, maxLockSize)
	return text.LF(data), err
}

// newLocks records files, by lock and path, that were made from sources. An empty tree has a lock too.
func newLocks(sources []Source, files map[string]map[string]string) (locks, error) {
	of := lists.Group(sources, func(s Source) string {
		if _, ok := files[s.Lock]; !ok {
			return "" // nothing else is in its directory
		}
		return s.Lock
	})
	dirs := lists.SortedUnique(slices.AppendSeq(slices.Collect(maps.Keys(files)), maps.Keys(of)))
	if len(dirs) == 0 {
		dirs = []string{""}
	}
	out := locks{}
	for _, dir := range dirs {
		l, err := newLock(dir, of[dir], files[dir])
		if err != nil {
			return nil, err
		}
		data := l.encode()
		if len(data) > maxLockSize {
			return nil, fmt.Errorf("it would be larger than %d MiB", maxLockSize>>20)
		}
		out[dir] = recorded{l, data}
	}
	return out, nil
}

func (l locks) differences(old locks) (out []differing) {
	for _, dir := range lists.Keys(l, old) {
		before, was := old[dir]
		now, is := l[dir]
		d := differing{Difference{Path: lockPath(dir), State: StateStale}, before.data, now.data}
		switch {
		case !was:
			d.State = StateMissing
		case !is:
			d.State = StateLeftOver
		}
		if string(d.have) != string(d.want) {
			out = append(out, d)
		}
	}
	return out
}

// checkOwner refuses to remove the files of others: operators that this run does not render, and that come from a
// RenderConfig or source that it does not have. An operator dropped from its RenderConfig is no reason to refuse; nor
// is one dropped from a command line that has others of the directory.
func checkOwner(name string, old, now []Source, removed int) error {
	strangers := slices.DeleteFunc(slices.Clone(old), func(s Source) bool {
		return slices.ContainsFunc(now, func(n Source) bool { return s.pkg() == n.pkg() || s.origin() == n.origin() })
	})
	declared := slices.ContainsFunc(strangers, func(s Source) bool { return s.Config != "" })
	if removed == 0 || len(now) == 0 || len(strangers) == 0 || len(strangers) < len(old) && !declared {
		return nil
	}
	return refuseOption(option.Replace,
		"name another directory, list the operators in one RenderConfig, or replace them",
		"%s holds %s, and this run renders %s: %s would be removed", name, described(name, strangers),
		described(name, now), text.Count(removed, "file"))
}

// pkg returns the package of a bundle. Older locks do not have it: then it is the name of the CSV without its version.
func (s Source) pkg() string {
	return cmp.Or(s.Package, olm.BaseName(s.Bundle, ""))
}

// origin returns the RenderConfig that names a bundle or, without one, where the bundle came from.
func (s Source) origin() string { return cmp.Or(s.Config, s.Source) }

// described names packages and where they come from. A lock has the path of a RenderConfig from the directory, a person
// reads it from where olmgen runs.
func described(dir string, sources []Source) string {
	var packages, origins []string
	for _, s := range sources {
		packages = lists.Add(packages, s.pkg())
		o := s.origin()
		if s.Config != "" {
			o = filepath.ToSlash(filepath.Join(dir, filepath.FromSlash(s.Config)))
		}
		if o != "" && !slices.Contains(origins, o) {
			origins = append(origins, o)
		}
	}
	if len(origins) == 0 {
		return text.FirstOf(3, packages)
	}
	return text.FirstOf(3, packages) + " from " + text.FirstOf(3, origins)
}

func (l locks) sources() []Source {
	var all []Source
	for _, dir := range lists.Keys(l) {
		for _, s := range l[dir].Sources {
			s.Lock = dir
			all = append(all, s)
		}
	}
	return all
}

// ConfigPath returns the path of a RenderConfig from an output directory, as a lock records it. It is the same wherever
// the two stand together. Of files that have no directory in common it is the name alone.
func ConfigPath(dir, file string) string {
	base := filepath.Base(file)
	absDir, err1 := filepath.Abs(dir)
	absFile, err2 := filepath.Abs(file)
	rel, err3 := filepath.Rel(absDir, absFile)
	if errors.Join(err1, err2, err3) != nil {
		return base
	}
	rel = filepath.ToSlash(rel)
	top := string(filepath.Separator)
	if up := strings.Count(rel, "../"); up > 0 && up >= strings.Count(strings.TrimPrefix(absDir, top), top)+1 {
		return base
	}
	return rel
}
