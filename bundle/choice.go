package bundle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/manifest"
)

// Choice is what was asked for of a source: a package, a channel and a version, which is a version or the name of a
// ClusterServiceVersion. What is empty was not asked for.
type Choice struct{ Package, Channel, Version string }

// ChoiceError is a choice that a source of one bundle can't fulfil.
type ChoiceError struct {
	Option manifest.Option // OptionPackage, OptionChannel or OptionVersion
	Msg    string
}

// The options of this package that errors are about: the fields of a Choice and of ReadOptions.
const (
	OptionPackage          manifest.Option = "Package"
	OptionChannel          manifest.Option = "Channel"
	OptionVersion          manifest.Option = "Version"
	OptionAllowUnsupported manifest.Option = "AllowUnsupported"
	OptionConvertCRDs      manifest.Option = "ConvertCRDs" // of package generate
)

func (e *ChoiceError) Error() string { return e.Msg }

// Hint returns what to do about the error.
func (e *ChoiceError) Hint() string {
	return "name another source, or leave out the package, channel and version"
}

// About returns the option that asks for something else than the source has.
func (e *ChoiceError) About() []manifest.Option { return []manifest.Option{e.Option} }

// Check refuses a bundle that is not the one asked for, with a *ChoiceError.
func (c Choice) Check(b *Bundle) error {
	name, version := b.CSV.Name, b.CSV.Spec.Version.String()
	switch {
	case c.Package != "" && c.Package != b.Package:
		return &ChoiceError{OptionPackage, fmt.Sprintf("the bundle is of package %q, not %q", b.Package, c.Package)}
	case c.Version != "" && c.Version != name && strings.TrimPrefix(c.Version, "v") != version:
		return &ChoiceError{OptionVersion,
			fmt.Sprintf("the bundle is %s of version %s, not %q", name, version, c.Version)}
	case c.Channel == "" || slices.Contains(b.Channels, c.Channel):
		return nil
	case len(b.Channels) == 0:
		return &ChoiceError{OptionChannel, fmt.Sprintf("the bundle is in no channel, so not in %q", c.Channel)}
	}
	return &ChoiceError{OptionChannel,
		fmt.Sprintf("the bundle is in %s, not in channel %q", strings.Join(b.Channels, ", "), c.Channel)}
}
