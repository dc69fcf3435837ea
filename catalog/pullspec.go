package catalog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/olmgen/olmgen/internal/base/lazy"
)

// The grammar of an image reference is that of github.com/distribution/reference, which opm uses. That package compiles
// a dozen patterns at the start of the process, for every command; here they are compiled when a catalog is checked.
// TestReference and FuzzReference compare the answers.
const (
	domainPart = `(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])`
	domain     = `(?:` + domainPart + `(?:\.` + domainPart + `)*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?`
	pathPart   = `[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*`
	repository = pathPart + `(?:/` + pathPart + `)*`
	tagged     = `(?::\w[\w.-]{0,127})?`
	digested   = `(?:@([A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[[:xdigit:]]{32,}))?`
)

var (
	fullReference   = lazy.Regexp(`^((?:` + domain + `/)?` + repository + `)` + tagged + digested + `$`)
	domainAndPath   = lazy.Regexp(`^(?:` + domain + `/)?(` + repository + `)$`)
	hexadecimalName = lazy.Regexp(`^[a-f0-9]{64}$`)
)

const maxRepository = 255

var (
	errReference = errors.New("invalid reference format")
	// opm's copy of the package does not name the repository in one of its two errors about lower case.
	errLowercase     = errors.New("invalid reference format: repository name must be lowercase")
	errNameUppercase = errors.New("repository name must be lowercase")
	errNameLength    = fmt.Errorf("repository name must not be more than %d characters", maxRepository)
)

// checkReference returns opm's error for a text that is not an image reference.
func checkReference(image string) error {
	if hexadecimalName().MatchString(image) {
		return fmt.Errorf("invalid repository name (%s), cannot specify 64-byte hexadecimal strings", image)
	}
	registry, rest := splitRegistry(image)
	if name, _, _ := strings.Cut(rest, ":"); strings.ToLower(name) != name {
		return errLowercase
	}
	full := registry + "/" + rest
	match := fullReference().FindStringSubmatch(full)
	if match == nil {
		if fullReference().MatchString(strings.ToLower(full)) {
			return errNameUppercase
		}
		return errReference
	}
	if name := domainAndPath().FindStringSubmatch(match[1]); name != nil && len(name[1]) > maxRepository {
		return errNameLength
	}
	if match[2] != "" {
		_, err := digest.Parse(match[2])
		return err
	}
	return nil
}

// splitRegistry splits a reference at its registry; "docker.io" is the one of a short name such as "nginx".
func splitRegistry(image string) (registry, rest string) {
	const docker, library = "docker.io", "library/"
	first, after, ok := strings.Cut(image, "/")
	switch {
	case !ok:
		return docker, library + image
	case first == "index.docker.io":
		registry, rest = docker, after
	case first == "localhost", strings.ContainsAny(first, ".:"), strings.ToLower(first) != first:
		registry, rest = first, after
	default:
		registry, rest = docker, image
	}
	if registry == docker && !strings.Contains(rest, "/") {
		rest = library + rest
	}
	return registry, rest
}
