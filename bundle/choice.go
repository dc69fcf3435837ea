package bundle

import (
	"fmt"
	"slices"
	"strings"
)

// Choice is what was asked for of a source: a package, a channel and a version, which is a version or the name of a ClusterServiceVersion.
// What is empty was not asked for.
type Choice struct{ Package, Channel, Version string }

// ChoiceError is a choice that a source of one bundle can't fulfil.
type ChoiceError struct {
	Option string // package, channel or version
	Msg    string
}

func (e *ChoiceError) Error() string { return e.Msg }

// Hint says what to do about the error.
func (e *ChoiceError) Hint() string {
	return "leave out --" + e.Option + ", which chooses from a catalog or legacy package, or name another source"
}

// Check refuses a bundle that is not the one asked for, with a *ChoiceError.
func (c Choice) Check(b *Bundle) error {
	name, version := b.CSV.Name, b.CSV.Spec.Version.String()
	switch {
	case c.Package != "" && c.Package != b.Package:
		return &ChoiceError{"package", fmt.Sprintf("the bundle is of package %q, not %q", b.Package, c.Package)}
	case c.Version != "" && c.Version != name && strings.TrimPrefix(c.Version, "v") != version:
		return &ChoiceError{"version", fmt.Sprintf("the bundle is %s of version %s, not %q", name, version, c.Version)}
	case c.Channel == "" || slices.Contains(b.Channels, c.Channel):
		return nil
	case len(b.Channels) == 0:
		return &ChoiceError{"channel", fmt.Sprintf("the bundle is in no channel, so not in %q", c.Channel)}
	}
	return &ChoiceError{"channel", fmt.Sprintf("the bundle is in %s, not in channel %q", strings.Join(b.Channels, ", "), c.Channel)}
}
