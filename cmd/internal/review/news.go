package review

import (
	"slices"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/output"
)

// NewNotes returns the notes of rendered that the last run into dir has not printed. An operator is known if a lock of
// dir records its bundle and profile, and if no file of its objects changes. A directory that cannot be read has no
// notes that are known: it is an error of what follows.
func NewNotes(dir string, rendered *config.Rendered) []config.Warning {
	recorded, err := output.RecordedSources(dir)
	if err != nil || len(recorded) == 0 || len(rendered.Notes) == 0 {
		return rendered.Notes
	}
	preview, err := output.NewPreview(dir, rendered.Files,
		output.WriteOptions{Sources: rendered.Sources, Replace: true})
	if err != nil {
		return rendered.Notes
	}
	known := make([]bool, len(rendered.Sources))
	for i, s := range rendered.Sources {
		known[i] = slices.ContainsFunc(recorded, func(r output.Source) bool {
			return r.Bundle == s.Bundle && r.Profile == s.Profile && r.Digest == s.Digest
		})
	}
	changed := map[output.ID]bool{}
	for _, f := range rendered.Files {
		if slices.Contains(preview.Added, f.Path) || slices.Contains(preview.Changed, f.Path) {
			changed[f.Object] = true
		}
	}
	for _, o := range rendered.Objects {
		for _, i := range o.Operators {
			known[i] = known[i] && !changed[output.IDOf(o.Object)]
		}
	}
	return slices.DeleteFunc(slices.Clone(rendered.Notes), func(n config.Warning) bool {
		for i, o := range rendered.Operators {
			if (n.Operator == "" || n.Operator == o.Name) && !known[i] {
				return false
			}
		}
		return true
	})
}
