package review

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
)

// owners are the kinds that take other objects with them when they are deleted: the API server deletes what is in a
// Namespace, and the custom resources of a CustomResourceDefinition.
var owners = []string{"Namespace", "CustomResourceDefinition"}

// Removals returns a warning for each kind of objects that rendered removes from dir although they take other objects
// with them. A directory that cannot be read is an error of what follows.
func Removals(dir string, rendered *config.Rendered) []config.Warning {
	preview, err := output.NewPreview(dir, rendered.Files,
		output.WriteOptions{Sources: rendered.Sources, Replace: true})
	if err != nil {
		return nil
	}
	kept := map[string]bool{}
	for _, o := range rendered.Objects {
		kept[o.Kind+" "+o.Name] = true
	}
	for _, f := range rendered.Files {
		kept[f.Object.Kind+" "+f.Object.Name] = true
	}
	removed := map[string][]string{}
	for _, name := range slices.Concat(preview.Removed, preview.Changed) {
		for _, o := range ownersIn(filepath.Join(dir, filepath.FromSlash(name))) {
			if !kept[o.Kind+" "+o.Name] {
				removed[o.Kind] = append(removed[o.Kind], o.Name)
			}
		}
	}
	var out []config.Warning
	for _, kind := range owners {
		if names := removed[kind]; len(names) > 0 {
			slices.Sort(names)
			what := "all objects in it"
			if kind == "CustomResourceDefinition" {
				what = "all its custom resources"
			}
			out = append(out, config.Warning{Message: fmt.Sprintf("%s: this run removes %s %s; an engine that prunes "+
				"deletes %s", dir, kind, text.FirstOf(10, slices.Compact(names)), what)})
		}
	}
	return out
}

// ownersIn returns the objects of a file that take others with them. Most files are not parsed.
func ownersIn(name string) []*manifest.Object {
	data, err := whole.ReadFile(name, budget.TreeFile)
	if err != nil || !slices.ContainsFunc(owners, func(kind string) bool {
		return bytes.Contains(data, []byte("\nkind: "+kind+"\n"))
	}) {
		return nil
	}
	docs, err := manifest.ReadFile(name, data, manifest.Limits{})
	if err != nil {
		return nil
	}
	var found []*manifest.Object
	for _, d := range docs {
		objects, err := d.Objects()
		if err != nil {
			continue
		}
		found = append(found, lists.Filter(objects, func(o *manifest.Object) bool {
			return slices.Contains(owners, o.Kind)
		})...)
	}
	return found
}

// ProfileChanges returns a note for each operator that rendered has in another profile than dir.
func ProfileChanges(dir string, rendered *config.Rendered) []config.Warning {
	recorded, err := output.RecordedSources(dir)
	if err != nil {
		return nil
	}
	var out []config.Warning
	for i, now := range rendered.Sources {
		before := profilesOf(recorded, now)
		if len(before) == 1 && before[0] != now.Profile && len(profilesOf(rendered.Sources, now)) == 1 {
			out = append(out, config.Warning{Operator: rendered.Operators[i].Name, Message: fmt.Sprintf(
				"the profile changes from %s to %s", before[0], now.Profile)})
		}
	}
	return out
}

// profilesOf returns the profiles in which a list has a package, each once.
func profilesOf(list []output.Source, of output.Source) (profiles []string) {
	for _, s := range list {
		if s.Package == of.Package && s.Lock == of.Lock && s.Profile != "" && !slices.Contains(profiles, s.Profile) {
			profiles = append(profiles, s.Profile)
		}
	}
	return profiles
}
