package main

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/internal/tree/kustomization"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// material is what a path has. It is empty for what is missing, empty or no YAML.
type material string

const (
	aConfig        material = "a " + config.Kind
	aBundle        material = "a bundle"
	aCatalog       material = "a catalog"
	aKustomization material = "a Kustomization"
	aChart         material = "a Helm chart"
	aDump          material = "a dump"
	objects        material = "Kubernetes objects"
)

// words are those of a usage line for what is read: what stands in their place, and what explains it.
var words = map[string]struct {
	takes []material
	tip   string
}{
	"SOURCE":  {[]material{aBundle}, `"olmgen help sources" explains what a SOURCE is`},
	"TREE":    {inTrees, `"olmgen help trees" explains what a TREE is`},
	"PATH":    {inTrees, `"olmgen help trees" explains what is read`},
	"OLD":     {append(inTrees, aBundle), `"olmgen help sources" and "olmgen help trees" explain what is read`},
	"CATALOG": {[]material{aCatalog, aBundle}, `"olmgen help sources" explains what a CATALOG is`},
	"DIR":     {[]material{aCatalog, aBundle}, `"olmgen help sources" explains what is read`},
	"DUMP":    {[]material{aDump}, `"olmgen adopt --print-kubectl" prints the command that makes a dump`},
	"PART":    {nil, `"olmgen catalog audit --shard" and "olmgen catalog site --shard" write parts`},
	"-f":      {[]material{aConfig}, `"olmgen init" writes a RenderConfig, "olmgen help config" explains it`},
}

var inTrees = []material{objects, aDump, aKustomization, aChart}

// wordOf returns the word of a command's usage line for what it reads.
func wordOf(cmd *cobra.Command) string {
	word := strings.TrimLeft(strings.TrimPrefix(cmd.Use, cmd.Name()), " [")
	word = word[:len(word)-len(strings.TrimLeft(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))]
	if word == "OLD" && cmd.Parent().Name() == "catalog" {
		return "CATALOG"
	}
	return word
}

// leading finds a command or a flag in a hint.
var leading = lazy.Regexp(`olmgen [a-z]|(?:^|[ ("])--?[a-z]`)

// lead returns the hint of an error about a path of the command line. One that names neither a command nor a flag gets
// what leads on: the command that reads what is there, or what explains what this command reads.
func lead(cmd *cobra.Command, err error, said, hint string) string {
	if leading().MatchString(hint) {
		return hint
	}
	if errors.Is(err, syscall.ENOSPC) {
		hint = "make room there, or name another place"
		if cmd.Flags().Lookup("output") != nil {
			hint += " with -o"
		}
		return hint
	}
	path, flag := faulty(cmd, said)
	if path == "" {
		return hint
	}
	word := cmp.Or(map[string]string{"config": "-f", "catalog": "CATALOG"}[flag], wordOf(cmd))
	is, file := materialOf(path)
	known, explained := words[word]
	switch {
	case slices.Contains(known.takes, is):
		return hint
	case path == tree.Stdin && word == "SOURCE":
		return joined(hint, "- is a tar archive of a bundle; olmgen check - reads YAML")
	case is != "":
		return joined(hint, reader(cmd, is, file))
	case flag != "" && word == wordOf(cmd):
		f := cmd.Flags().Lookup(flag)
		_, usage := flagName(f)
		return joined(hint, "--"+flag+": "+usage)
	case explained:
		return joined(hint, known.tip)
	}
	return hint
}

func joined(hints ...string) string {
	return strings.Join(slices.DeleteFunc(hints, func(h string) bool { return h == "" }), "; ")
}

// faulty returns the path of the command line that an error is about, and the flag that names it, or none.
func faulty(cmd *cobra.Command, said string) (path, flag string) {
	about, rest, ok := strings.Cut(said, ": ")
	if !ok || !strings.HasPrefix(about, "--") {
		rest = said
	}
	first := ""
	names := func(path string) bool {
		if path == tree.Stdin {
			path = "st" // of stdin, or of standard input
		}
		return strings.HasPrefix(rest, filepath.ToSlash(path)) || strings.HasPrefix(rest, path)
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		for _, value := range valuesOf(f) {
			value = value[strings.LastIndexByte(value, '=')+1:]
			if path == "" && names(value) {
				path, flag = value, f.Name
			}
		}
	})
	for _, given := range cmd.Flags().Args() {
		if path == "" && names(given) {
			path = given
		}
		if _, err := os.Stat(given); err == nil || given == tree.Stdin {
			first = cmp.Or(first, given)
		}
	}
	return cmp.Or(path, first), flag
}

// valuesOf returns the texts that a flag has been given.
func valuesOf(f *pflag.Flag) []string {
	if filled, ok := f.Value.(filledValue); ok {
		if list, ok := filled.Value.(pflag.SliceValue); ok {
			return list.GetSlice()
		}
	}
	return []string{f.Value.String()}
}

// reader returns the command that reads what a path has.
func reader(cmd *cobra.Command, is material, path string) string {
	quoted := text.Shell(path)
	switch is {
	case aConfig:
		return declaredHint(cmd, path)
	case aBundle:
		return "olmgen render " + quoted + " renders the bundle"
	case aCatalog:
		return "olmgen catalog audit " + quoted + " lists the packages of a catalog"
	case aKustomization, aChart:
		return "olmgen check " + quoted + " says what OLM does with what it makes"
	case aDump:
		return "olmgen adopt " + quoted + " makes a RenderConfig of a dump, olmgen check " + quoted +
			" says what OLM does with it"
	}
	return "olmgen check " + quoted + " says what OLM does with it"
}

// materialOf returns what is at a path, and which path names it: the file, or the directory that it belongs to.
func materialOf(path string) (is material, named string) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", path
	case !info.IsDir():
		data, err := whole.ReadFile(path, budget.TreeFile)
		if err != nil {
			return "", path
		}
		_, is, _ = materialIn(path, data)
		return is, belongsTo(is, path)
	case source.IsBundleDir(path):
		return aBundle, path
	}
	for _, pattern := range []string{"*", "*/*"} {
		files, _ := filepath.Glob(filepath.Join(path, pattern))
		for _, file := range slices.DeleteFunc(files, func(f string) bool { return !source.IsManifestName(f) }) {
			if is, named := materialOf(file); is != "" {
				if is != aConfig && is != aBundle {
					named = path
				}
				return is, named
			}
		}
	}
	return "", path
}

// belongsTo returns the directory that a file is a part of, or the file.
func belongsTo(is material, file string) string {
	switch is {
	case aKustomization, aChart:
		return filepath.Dir(file)
	case aBundle:
		return filepath.Dir(filepath.Dir(file))
	}
	return file
}

// materialIn returns what a file has, by its first document, and the field that says so.
func materialIn(file string, data []byte) (first *manifest.Object, is material, at string) {
	docs, err := manifest.ReadFile(filepath.ToSlash(file), data, manifest.Limits{})
	if docs = manifest.Written(docs); err != nil || len(docs) == 0 {
		return nil, "", ""
	}
	if first, err = docs[0].Object(); err != nil {
		return nil, "", ""
	}
	base, dir := filepath.Base(file), filepath.Base(filepath.Dir(file))
	switch {
	case first.Kind == config.Kind:
		return first, aConfig, "kind"
	case first.Has("schema"):
		return first, aCatalog, "schema"
	case slices.Contains(kustomization.Names(), base) && (first.Kind == "" || first.Group() == kustomization.Group):
		return first, aKustomization, ""
	case base == "Chart.yaml" && first.Kind == "":
		return first, aChart, ""
	case first.Kind == "" || first.APIVersion == "":
		return first, "", ""
	case first.Kind == v1alpha1.ClusterServiceVersionKind && dir == "manifests":
		return first, aBundle, "kind"
	case strings.HasSuffix(first.Kind, "List") && first.Has("items"):
		return first, aDump, "kind"
	}
	return first, objects, "kind"
}

// otherThanConfig returns an error that says what a file is that was taken for a RenderConfig; nil if it is not known.
func otherThanConfig(file string, data []byte) error {
	first, is, at := materialIn(file, data)
	if is == "" || is == aConfig || strings.HasPrefix(config.APIVersion, first.Group()+"/") {
		return nil
	}
	what := string(is)
	if at == "kind" {
		what = strconv.Quote(first.Kind)
	}
	return first.Errorf(at, "is %s, not %s", what, config.Kind)
}
