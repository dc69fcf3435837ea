package images

import (
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/olmgen/olmgen/internal/base/lazy"
)

// reference is a parsed image reference.
type reference struct {
	scheme      string // oci:// or docker://, which some operators write
	repository  string // with the registry's host: docker.io/library/nginx
	tag, digest string // with both, only the digest is set
	suffix      string // tag and digest as written, with ":" and "@"
}

// The grammar of names (github.com/distribution/reference).
var (
	hostForm       = `(?:localhost|[a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)+|[a-zA-Z0-9.-]+(?::[0-9]+))(?::[0-9]+)?`
	pathForm       = `(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)`
	repositoryForm = lazy.Regexp(`^` + hostForm + pathForm + `+$`)
	prefixForm     = lazy.Regexp(`^` + hostForm + pathForm + `*$`)
)

func parse(ref string) (reference, error) {
	scheme, ref := cutScheme(ref)
	parsed, err := name.ParseReference(ref)
	if err != nil {
		return reference{}, err
	}
	r := reference{scheme: scheme, repository: parsed.Context().Name(), suffix: ref[len(unsuffixed(ref)):]}
	if rest, ok := strings.CutPrefix(r.repository, name.DefaultRegistry+"/"); ok {
		r.repository = "docker.io/" + rest // only this library has another name for it
	}
	if !repositoryForm().MatchString(r.repository) {
		return reference{}, fmt.Errorf("%q is not an image", ref)
	}
	switch parsed := parsed.(type) {
	case name.Digest:
		r.digest = parsed.DigestStr()
	case name.Tag:
		r.tag = parsed.TagStr()
	}
	return r, nil
}

// Repository returns the repository of an image with the host of its registry, and whether a digest pins the image. It
// returns the whole reference if that is not an image.
func Repository(ref string) (repository string, pinned bool) {
	r, err := parse(ref)
	if err != nil {
		return ref, false
	}
	return r.repository, r.digest != ""
}

func cutScheme(ref string) (scheme, rest string) {
	for _, scheme := range []string{"oci://", "docker://"} {
		if rest, ok := strings.CutPrefix(ref, scheme); ok {
			return scheme, rest
		}
	}
	return "", ref
}

// unsuffixed returns ref without tag and digest.
func unsuffixed(ref string) string {
	ref, _, _ = strings.Cut(ref, "@")
	if i := strings.LastIndexByte(ref, ':'); i > strings.LastIndexByte(ref, '/') {
		ref = ref[:i]
	}
	return ref
}

// String returns the full reference, by digest if it has one.
func (r reference) String() string {
	if r.digest != "" {
		return r.repository + "@" + r.digest
	}
	return r.repository + ":" + r.tag
}

// Qualified reports whether a text is an image with the host of a registry and a tag or digest.
func Qualified(s string) bool {
	_, s = cutScheme(s)
	if !repositoryForm().MatchString(unsuffixed(s)) {
		return false
	}
	r, err := parse(s)
	return err == nil && r.suffix != ""
}
