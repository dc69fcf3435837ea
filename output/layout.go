package output

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/templates"
)

const kustomization = "kustomization.yaml"

// Flat lays out one object a file, with a kustomization.yaml that lists them in the order of application: all in one directory, but those
// of a part in the part's own, which has a kustomization.yaml of its own. A file is called <kind>_<name>.yaml, one outside the operator's
// namespace <kind>_<namespace>_<name>.yaml; a kind of an API group that is not Kubernetes' or OLM's own is written <kind>.<group>.
func Flat(r *generate.Result, t *templates.Set) (Files, error) {
	stems := make([]string, len(r.Objects))
	count := map[string]int{}
	for i, o := range r.Objects {
		stems[i] = path.Join(o.Part, stem(o, r.Namespace))
		count[strings.ToLower(stems[i])]++
	}
	var files Files
	var names []string
	for i, o := range r.Objects {
		name := stems[i]
		if count[strings.ToLower(name)] > 1 { // names that differ in case, or a label that two objects share
			name += "_" + short(o.Kind+o.Group()+o.Namespace+"/"+o.Name)
		}
		name += ".yaml"
		names = append(names, name)
		files = append(files, File{name, o.Data})
	}
	return kustomizations(files, names, r.Objects, t)
}

// kustomizations adds the kustomization.yaml of each part. That of the root does not list the parts: each is applied by itself.
func kustomizations(files Files, names []string, objects []generate.Object, t *templates.Set) (Files, error) {
	parts := map[string][]string{"": nil}
	for i, o := range objects {
		parts[o.Part] = append(parts[o.Part], path.Base(names[i]))
	}
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		data, err := t.Execute(kustomization, struct{ Resources []string }{parts[part]})
		if err != nil {
			return nil, err
		}
		files = append(files, File{path.Join(part, kustomization), data})
	}
	return files, nil
}

// plainGroups are the API groups whose kinds are known by their name alone.
var plainGroups = map[string]bool{
	"": true, "apps": true, "apiextensions.k8s.io": true, "apiregistration.k8s.io": true, "admissionregistration.k8s.io": true,
	"networking.k8s.io": true, "operators.coreos.com": true, "policy": true, "rbac.authorization.k8s.io": true, "scheduling.k8s.io": true,
}

func stem(o generate.Object, operatorNamespace string) string {
	kind := strings.ToLower(o.Kind)
	if g := o.Group(); !plainGroups[g] {
		kind += "." + g
	}
	name := o.Name
	if o.Label != "" {
		name = o.Label
	}
	if o.Part != "" {
		operatorNamespace = o.Namespace // the part's name says it
	}
	if o.Namespace != "" && o.Namespace != operatorNamespace {
		name = o.Namespace + "_" + escape(name)
	} else {
		name = escape(name)
	}
	s := kind + "_" + name
	if len(s) > 200 {
		s = s[:180] + "_" + short(s)
	}
	return s
}

// escape keeps what every file system takes and writes the rest as _ and two hexadecimal digits.
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

func short(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:4])
}
