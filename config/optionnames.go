package config

import (
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
)

// FlagOf returns the flag of an option, such as --namespace; "" if it has none.
func FlagOf(id manifest.Option) string {
	for o := range WithFlags(declared) {
		if o.ID == id && id != "" {
			return "--" + o.Flag
		}
	}
	return ""
}

// isDeclared reports whether an option is one of a RenderConfig.
func isDeclared(id manifest.Option) bool {
	return lists.Any(all(declared), func(o OptionAt) bool { return o.ID == id })
}

// flagAt returns the flag that fills a field, such as groups[0].namespace; "" if there is none.
func flagAt(field string) string {
	for o := range WithFlags(declared) {
		if first(o.Path) == field {
			return "--" + o.Flag
		}
	}
	return ""
}

// WithOptionNames returns a text with the names of the options that it is about. Options without a name are left out.
func WithOptionNames(text string, options []manifest.Option, name func(manifest.Option) string) string {
	var names []string
	for _, o := range options {
		if n := name(o); n != "" && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	if len(names) == 0 || text == "" {
		return text
	}
	return text + " (" + strings.Join(names, ", ") + ")"
}

// ErrorText returns the text of an error and its hint with the names of the options that the error is about.
func ErrorText(err error, name func(manifest.Option) string) (said, hint string) {
	lines := strings.Split(err.Error(), "\n")
	for i, l := range lines {
		lines[i] = text.Middle(l, maxErrorLine)
	}
	return strings.Join(lines, "\n"), WithOptionNames(manifest.HintOf(err), manifest.AboutOf(err), name)
}

// maxErrorLine is how many characters a line of an error may have: an error repeats its input, which may be hostile.
const maxErrorLine = 4000

// namer returns how the person who wrote the RenderConfig calls options of an operator: by their flags, or by their
// fields. A group below zero stands for no operator in particular.
func (c *Config) namer(group, index int) func(manifest.Option) string {
	if c.flags() {
		return FlagOf
	}
	return func(id manifest.Option) string {
		path, _ := c.pathOf(id, group, index)
		return path
	}
}

// pathOf returns the path of an option of an operator that the RenderConfig has: the operator's own before the default.
// If it has none, it is the operator's own; "" if there is no such option.
func (c *Config) pathOf(id manifest.Option, group, index int) (path string, has bool) {
	paths := c.pathsOf(id, group, index)
	slices.Reverse(paths)
	if i := slices.IndexFunc(paths, c.has); i >= 0 {
		return paths[i], true
	}
	if len(paths) > 0 {
		path = paths[0]
	}
	return path, false
}

// pathsOf returns the paths of an option of an operator. The last one is that of the operator itself.
func (c *Config) pathsOf(id manifest.Option, group, index int) (paths []string) {
	for o := range all(declared) {
		switch {
		case o.ID != id || id == "":
		case group < 0:
			path := strings.TrimPrefix(o.Path, defaultsField+".")
			path = strings.TrimPrefix(path, bundleField+".")
			paths = append(paths, strings.TrimPrefix(path, "groups[]."))
		default:
			path := strings.Replace(o.Path, "groups[]", at(group, -1, ""), 1)
			paths = append(paths, strings.Replace(path, at(group, -1, "bundles[]"), at(group, index, ""), 1))
		}
	}
	return paths
}
