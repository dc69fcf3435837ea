package output

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/olm"
)

// unique returns a path for each object. If paths differ in case only, or two objects have the same path, the paths
// get a hash of the object's name.
func unique(objects []generate.Shared, path func(generate.Object) string) []string {
	paths := make([]string, len(objects))
	count := map[string]int{}
	for i, o := range objects {
		paths[i] = path(o.Object)
		count[fold(paths[i])]++
	}
	for i, o := range objects {
		if count[fold(paths[i])] > 1 {
			paths[i] += "_" + short(o.Kind+o.Group()+o.Namespace+"/"+o.Name)
		}
	}
	return paths
}

// plainGroups are the API groups that file names leave out.
var plainGroups = map[string]bool{
	"": true, "apps": true, "apiextensions.k8s.io": true, "apiregistration.k8s.io": true,
	"admissionregistration.k8s.io": true,
	"networking.k8s.io":            true, olm.GroupV1: true, olm.Group: true,
	"policy":                    true,
	"rbac.authorization.k8s.io": true, "scheduling.k8s.io": true,
}

// stem returns the file name of an object where all kinds are in one directory.
func stem(o generate.Object, operatorNamespace string) string {
	return limit(kindPart(o) + "_" + namePart(o, operatorNamespace))
}

func kindPart(o generate.Object) string {
	kind := escape(strings.ToLower(o.Kind))
	if g := o.Group(); !plainGroups[g] {
		kind += "." + escape(g)
	}
	return kind
}

func namePart(o generate.Object, operatorNamespace string) string {
	name := o.Name
	if o.Label != "" {
		name = o.Label
	}
	if o.Namespace != "" && o.Namespace != operatorNamespace {
		return escape(o.Namespace) + "_" + escape(name)
	}
	return escape(name)
}

func limit(s string) string {
	if len(s) > 200 {
		return s[:180] + "_" + short(s)
	}
	return s
}

// escape writes each character that some file system does not take as _ and two hexadecimal digits.
func escape(name string) string {
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '.':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}

// special are names with another meaning: hidden files, the directories . and .., and the devices of Windows.
var special = lazy.Regexp(`^\.|^(?i:con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)

// segment changes an escaped name so that it can be a path segment.
func segment(name string) string {
	if special().MatchString(name) {
		name = fmt.Sprintf("_%02x", name[0]) + name[1:]
	}
	if end := len(name) - 1; end >= 0 && name[end] == '.' { // Windows drops it
		name = name[:end] + "_2e"
	}
	return limit(name)
}

func short(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:4])
}
