package output

import (
	"path"
	"slices"
)

// Preview is what Write would do.
type Preview struct {
	Result
	Refused []string // files that Write would refuse to replace
}

// NewPreview returns what Write would do, and writes nothing. Errors are those of Check, and that
// of Write for a directory that holds other packages.
func NewPreview(dir string, files Files, o WriteOptions) (Preview, error) {
	var p Preview
	differences, err := Check(dir, files, o.Sources)
	differs := map[string]bool{}
	for _, d := range differences {
		differs[d.Path] = true
		switch {
		case path.Base(d.Path) == LockName: // not a file of the tree
		case d.State == StateMissing:
			p.Added = append(p.Added, d.Path)
		case d.State == StateStale, d.State == StateEdited && o.Force:
			p.Changed = append(p.Changed, d.Path)
		case d.State == StateLeftOver, d.State == StateKept && o.Force:
			p.Removed = append(p.Removed, d.Path)
		case d.State == StateKept, d.State == StateKeptLink:
			p.Kept = append(p.Kept, d.Path)
		default:
			p.Refused = append(p.Refused, d.Path)
		}
	}
	for _, f := range files {
		if !differs[f.Path] {
			p.Unchanged = append(p.Unchanged, f.Path)
		}
	}
	slices.Sort(p.Unchanged)
	if err != nil || o.Replace {
		return p, err
	}
	old, err := RecordedSources(dir)
	if err != nil {
		return p, err
	}
	return p, checkOwner(dir, old, o.Sources, len(p.Removed))
}
