package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
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
	aPolicy        material = "a policy of olmgen lint"
	objects        material = "Kubernetes objects"
)

// words are those of a usage line for what is read, and the flags that name the same: what stands in their place, and
// what explains it.
var words = map[string]struct {
	takes []material
	tip   string
	same  string // of a flag, or of a command whose usage line has a wider word
}{
	"SOURCE": {takes: []material{aBundle}, tip: `"olmgen help sources" explains what a SOURCE is`},
	"TREE":   {takes: inTrees, tip: `"olmgen help trees" explains what a TREE is`},
	"PATH":   {takes: inTrees, tip: `"olmgen help trees" explains what is read`},
	"OLD": {takes: append(inTrees, aBundle, aConfig),
		tip: `"olmgen help sources" and "olmgen help trees" explain both`},
	"CATALOG": {takes: []material{aCatalog, aBundle}, tip: `"olmgen help sources" explains what a CATALOG is`},
	"DIR":     {takes: []material{aCatalog, aBundle}, tip: `"olmgen help sources" explains what is read`},
	"POLICY":  {takes: []material{aPolicy}, tip: `"olmgen lint --list-rules" lists what a policy can ask`},
	"DUMP":    {takes: []material{aDump}, tip: `"olmgen adopt --print-kubectl" prints the command that makes a dump`},
	"PART":    {tip: `"olmgen catalog audit --shard" and "olmgen catalog site --shard" write parts`},
	"FILE": {takes: []material{aConfig},
		tip: `"olmgen init" writes a RenderConfig, "olmgen help config" explains it`},
	"RELEASES":       {tip: `"olmgen help sources" explains what is read`},
	"olmgen history": {same: "RELEASES"}, "olmgen convert": {same: "RELEASES"},
	"olmgen catalog diff": {same: "CATALOG"},
	"config":              {same: "FILE"}, "catalog": {same: "CATALOG"}, "tree": {same: "TREE"}, "crs": {same: "TREE"},
	"since": {same: "DUMP"}, "policy": {same: "POLICY"},
}

var inTrees = []material{objects, aDump, aKustomization}

// wordOf returns the word of a command's usage line for what it reads.
func wordOf(cmd *cobra.Command) string {
	word := strings.TrimLeft(strings.TrimPrefix(cmd.Use, cmd.Name()), " [")
	word = word[:len(word)-len(strings.TrimLeft(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))]
	return cmp.Or(words[cmd.CommandPath()].same, word)
}

// leading finds a command, a flag or a variable of the environment in a hint, and shown what to write.
var (
	leading = lazy.Regexp(`olmgen [a-z]|OLMGEN_[A-Z]|(?:^|[ ("])--?[a-z]`)
	shown   = lazy.Regexp(`^(?:did you mean|write|start the file with) | write oci://`)
)

// lead returns the hint of an error about a path of the command line. One that names neither a command nor a flag gets
// what leads on: the command that reads what is there, or what explains what this command reads.
func lead(cmd *cobra.Command, err error, said, hint string) string {
	_, usage := errors.AsType[*usageError](err)
	_, found := errors.AsType[*foundError](err)
	if _, signal := errors.AsType[*signalError](err); signal || found || usage && !strings.HasPrefix(said, "--") ||
		leading().MatchString(hint) {
		return hint
	}
	if errors.Is(err, syscall.ENOSPC) {
		return noSpace(cmd)
	}
	at := faulty(cmd, said)
	switch {
	case at.path == "" && strings.HasPrefix(said, tree.StdinFile): // of a command that reads nothing else
		return joined(hint, seeHelp(cmd)+": -f of olmgen render reads a RenderConfig")
	case at.path == "", usage && !strings.Contains(said, ": "+at.path):
		return hint
	case at.path == tree.Stdin && at.word == "SOURCE":
		return joined(hint, "- is a tar archive of a bundle; olmgen check - reads YAML")
	}
	known := words[at.word]
	is, named := materialOf(at.path)
	whole, kind := isWhole(err, said, at.path)
	other := at.word != "" && is != "" && !slices.Contains(known.takes, is)
	if other && kind {
		hint = "" // what it lacks of the right kind is no next step
	}
	switch {
	case shown().MatchString(hint), strings.Contains(hint, " "+at.path+string(filepath.Separator)):
		return hint
	case other:
		return joined(hint, reader(cmd, is, named))
	case !whole, hint != "" && (is != "" && at.word != "" || at.word == "" && !readsPath(cmd.Flag(at.flag))):
		return hint
	case at.word == "":
		return joined(hint, explained(cmd, at.flag))
	}
	return joined(hint, known.tip)
}

// noSpace returns what to do about a full disk.
func noSpace(cmd *cobra.Command) string {
	if cmd.Flags().Lookup("output") == nil {
		return "make room there, or name another place"
	}
	return "make room there, or name another place with -o"
}

// isWhole reports whether an error is about all of a path, or about a field of its top, and not about a place in it.
// kind reports whether that field is about what it is.
func isWhole(err error, said, path string) (whole, kind bool) {
	e, ok := errors.AsType[*manifest.Error](err)
	if ok && e.File == filepath.ToSlash(path) || path == tree.Stdin {
		kind = ok && (e.Field == "kind" || e.Field == "apiVersion")
		return !ok || e.Line == 0 || e.Syntax || !strings.ContainsAny(e.Field, ".["), kind
	}
	return !inPlace().MatchString(said), false
}

// inPlace finds a file with a line at the beginning of a message.
var inPlace = lazy.Regexp(`^(?:--\S+ )?(?:\S+: )?\S+:\d+: `)

func joined(hints ...string) string {
	return strings.Join(slices.DeleteFunc(hints, func(h string) bool { return h == "" }), "; ")
}

// explained returns what explains a flag: its topic, or its line of the help.
func explained(cmd *cobra.Command, flag string) string {
	f := cmd.Flags().Lookup(flag)
	if topic := flagTopic(f); hasTopic(string(topic)) {
		return fmt.Sprintf("olmgen help %s explains --%s", topic, flag)
	}
	_, usage := flagName(f)
	return "--" + flag + ": " + usage
}

// inputPath is a path of the command line, with the reference and the flag that name it and the word for what it is.
type inputPath struct{ path, ref, flag, word string }

// inputOf returns the input that a reference names. Its prefix says more than the word.
func inputOf(ref, word string) inputPath {
	switch {
	case strings.HasPrefix(ref, source.KindCatalog+":"):
		word = "CATALOG"
	case strings.HasPrefix(ref, source.KindPackageManifest+":"):
		word = "RELEASES"
	}
	return inputPath{path: cmp.Or(source.Path(ref), ref), ref: ref, word: word}
}

// faulty returns the path that an error is about: the one that it names, or the first that the command does not read.
func faulty(cmd *cobra.Command, said string) inputPath {
	var all []inputPath
	of := func(f *pflag.Flag) {
		for _, value := range valuesOf(f) {
			at := inputOf(value[strings.LastIndexByte(value, '=')+1:], words[f.Name].same)
			at.flag = f.Name
			all = append(all, at)
		}
	}
	about, rest, _ := strings.Cut(strings.TrimPrefix(said, "--"), ": ")
	named := cmd.Flags().Changed(about)
	if named {
		of(cmd.Flags().Lookup(about))
	} else {
		rest = said
		cmd.Flags().Visit(func(f *pflag.Flag) {
			if readsPath(f) {
				of(f)
			}
		})
		for _, arg := range cmd.Flags().Args() {
			all = append(all, inputOf(arg, wordOf(cmd)))
		}
	}
	for _, at := range all {
		begins := []string{filepath.ToSlash(at.path), at.path, at.ref}
		if at.path == tree.Stdin {
			begins = append(begins, tree.StdinFile, "standard input")
		}
		if slices.ContainsFunc(begins, func(b string) bool {
			return strings.HasPrefix(rest, b) || strings.HasPrefix(source.Several(rest), b)
		}) {
			return at
		}
	}
	for _, at := range all {
		is, _ := materialOf(at.path)
		_, err := os.Stat(at.path)
		other := at.word != "" && !slices.Contains(words[at.word].takes, is)
		if named || (err == nil || at.path == tree.Stdin) && other {
			return at
		}
	}
	return inputPath{}
}

// readsPath reports whether a flag names a path that the command reads.
func readsPath(f *pflag.Flag) bool {
	value, _ := pflag.UnquoteUsage(f)
	written := []string{"output", "directory", "before", "plan", "print-templates"}
	return words[f.Name].same != "" || pathValue().MatchString(value) && !slices.Contains(written, f.Name)
}

var pathValue = lazy.Regexp(`\b(FILE|DIR|PATH|DUMP)\b`)

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
		read := "olmgen render"
		if wordOf(cmd) == "SOURCE" && !strings.Contains(cmd.Use, " --") {
			read = cmd.CommandPath()
		}
		return "olmgen catalog audit " + quoted + " lists the packages of a catalog, " + read + " catalog:" + quoted +
			" --package NAME reads one"
	case aChart:
		return "helm template " + quoted + " | olmgen check - says what OLM does with what it makes"
	case aKustomization:
		return "olmgen check " + quoted + " says what OLM does with what it makes"
	case aDump:
		return "olmgen adopt " + quoted + " makes a RenderConfig of a dump, olmgen check " + quoted +
			" says what OLM does with it"
	case aPolicy:
		return "olmgen lint TREE --policy " + quoted + " judges a TREE by it"
	}
	if legacy, _ := filepath.Glob(filepath.Join(path, "*package.y*ml")); len(legacy) == 1 {
		return "mend " + text.Shell(filepath.ToSlash(legacy[0])) + ", and olmgen convert " + quoted +
			" makes bundles of it"
	}
	return "olmgen check " + quoted + " says what OLM does with it"
}

// materialOf returns what is at a path, and which path names it: the file, or the directory that it belongs to.
func materialOf(path string) (is material, named string) {
	info, err := os.Stat(path)
	switch {
	case err != nil || !info.IsDir() && !info.Mode().IsRegular(): // a pipe would be waited for
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
	for _, name := range append(kustomization.Names(), "Chart.yaml") {
		if is, _ := materialOf(filepath.Join(path, name)); is != "" {
			return is, path
		}
	}
	for _, pattern := range []string{"*", "*/*"} {
		files, _ := filepath.Glob(filepath.Join(path, pattern))
		for _, file := range slices.DeleteFunc(files, func(f string) bool { return !source.IsManifestName(f) }) {
			if is, named := materialOf(file); is != "" && is != aPolicy { // a tree may have that of its own
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
	case first.Group() == path.Dir(config.APIVersion):
		return first, map[string]material{"Policy": aPolicy}[first.Kind], "kind"
	case first.Kind == "" || first.APIVersion == "":
		return first, "", ""
	case first.Kind == v1alpha1.ClusterServiceVersionKind && dir == "manifests":
		return first, aBundle, "kind"
	case strings.HasSuffix(first.Kind, "List") && hasCSV(docs[0]):
		return first, aDump, "kind"
	}
	return first, objects, "kind"
}

// hasCSV reports whether a dump shows what OLM installed.
func hasCSV(doc *manifest.Document) bool {
	objects, err := doc.Objects()
	return err == nil && slices.ContainsFunc(objects, func(o *manifest.Object) bool {
		return o.Kind == v1alpha1.ClusterServiceVersionKind
	})
}

// otherThanConfig returns an error that says what a file is that was taken for a RenderConfig; nil if it is not known.
func otherThanConfig(file string, data []byte) error {
	first, is, at := materialIn(file, data)
	if is == "" || is == aConfig {
		return nil
	}
	what := string(is)
	if at == "kind" {
		what = strconv.Quote(first.Kind)
	}
	return first.Errorf(at, "is %s, not %s", what, config.Kind)
}
