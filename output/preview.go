package output

import "slices"

// Preview is what Write would do.
type Preview struct {
	Result
	Refused []string // files that Write would refuse to replace
}

// NewPreview returns what Write would do, and writes nothing. Errors are those of Check, and that
// of Write for a directory that holds other packages.
func NewPreview(dir string, files Files, o WriteOptions) (Preview, error) {
	p, err := compare(dir, files, o)
	if err != nil {
		return Preview{}, err
	}
	preview := Preview{p.result, slices.Concat(p.blocked, p.links, p.foreign, p.edited)}
	slices.Sort(preview.Refused)
	preview.Added = slices.DeleteFunc(preview.Added, func(path string) bool { return slices.Contains(p.blocked, path) })
	if o.Replace {
		return preview, nil
	}
	return preview, checkOwner(dir, p.old.locks.sources(), o.Sources, len(preview.Removed))
}
