package output

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	strictjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/text"
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

// optional returns the names and values of the fields that may be empty, without the digest.
func (s Source) optional() [][2]string {
	return [][2]string{{"package", s.Package}, {"profile", s.Profile}, {"config", s.Config}, {"source", s.Source}}
}

// lockFile is the content of olmgen.lock.
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
		if s.Digest != "" {
			fmt.Fprintf(&b, "  digest: %s\n", scalar(s.Digest))
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
	if line := manifest.ConflictLine(data); err != nil && line > 0 {
		return l, refuseOption(
			OptionForce,
			"check out either side of the output directory, and render again so that the "+
				"files of the other side are taken over",
			"line %d: %s",
			line,
			manifest.ConflictMessage,
		)
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
		case content && (isMarker(line) || bytes.HasPrefix(line, []byte("..."))):
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
