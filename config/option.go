package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
)

// Option declares a field of a RenderConfig, once: the field, the flag that fills it, and what both are about. The
// flags, the checks, the JSON Schema, the pages of the documentation and the names in messages come from here.
type Option struct {
	Name     string // of the field
	Type     Type
	Fields   []Option // of an Object, or of each of Objects
	Required bool     // in a file
	Text     string   // what it is: lower case, no final period
	Default  string   // in words; empty: nothing, or false
	Words    []string // the values that it can have; nil: any

	Flag        string                              // its name; empty: there is none
	Short       string                              // one letter; may be empty
	Value       string                              // what the help calls the flag's value
	FlagDefault string                              // in words, where a command line has another default than a file
	Alone       string                              // the flag's value where it stands without one; empty: it needs one
	Parse       func(dir, text string) (any, error) // reads the flag's value; nil: it is that of the field
	Once        bool                                // the flag cannot be given twice
	ForAll      bool                                // the flag fills the field of the defaults, not of the bundle
	// of the help, which groups flags by it; empty: that of the object that it is in
	Topic Topic
	// the flag in a few words, for a help that fits a screen, which has the values behind it; empty: only its name
	Brief string

	Profiles []generate.Profile // that use it; nil: those of the object that it is in, or all
	Access   bool               // a report on what the operator may do has its flag, too
	ID       manifest.Option    // what messages of the library call it
}

// Type is what a field holds.
type Type int

// The types of fields.
const (
	Text               Type = iota // one of Words, if there are any
	Bool                           // true or false
	List                           // of texts
	Mapping                        // of texts to texts
	Anything                       // a mapping that is not looked at
	Object                         // has Fields
	Objects                        // a list of these
	LabelSelector                  // of Kubernetes
	SubscriptionConfig             // spec.config of OLM's Subscription
)

// Topic is a subject of the help. The help of a command groups its flags by topic; "olmgen help TOPIC" explains them.
type Topic string

// The topics of options.
const (
	TopicSource    Topic = "sources"
	TopicPlacement Topic = "placement"
	TopicObjects   Topic = "objects"
	TopicCerts     Topic = "certificates"
	TopicDescoped  Topic = "descoping"
	TopicHandover  Topic = "handing-over"
	TopicOutput    Topic = "output"
)

// Topics are the topics of options, in the order of the help.
var Topics = []Topic{TopicSource, TopicPlacement, TopicObjects, TopicCerts, TopicDescoped, TopicHandover, TopicOutput}

// OptionAt is an option at its place in a RenderConfig.
type OptionAt struct {
	Option
	Path string // such as groups[].bundles[].certs.provider
}

// Uses reports whether a profile has a use for the option.
func (o Option) Uses(p generate.Profile) bool {
	return o.Profiles == nil || slices.Contains(o.Profiles, p)
}

// all yields all options of a list and of the objects in it, with paths, profiles and topics.
func all(options []Option) iter.Seq[OptionAt] {
	return func(yield func(OptionAt) bool) { eachOf(OptionAt{Option: Option{Fields: options}}, yield) }
}

func eachOf(object OptionAt, yield func(OptionAt) bool) bool {
	for _, o := range object.Fields {
		if o.Profiles == nil {
			o.Profiles = object.Profiles
		}
		o.Topic = cmp.Or(o.Topic, object.Topic)
		at := OptionAt{o, strings.TrimPrefix(object.Path+"."+o.Name, ".")}
		if o.Type == Objects {
			at.Path += "[]"
		}
		if !yield(at) || !eachOf(at, yield) {
			return false
		}
	}
	return true
}

// WithFlags yields the options that have a flag, each at the place that the flag fills.
func WithFlags(options []Option) iter.Seq[OptionAt] {
	return func(yield func(OptionAt) bool) {
		for p := range all(options) {
			name, inDefaults := strings.CutPrefix(p.Path, defaultsField+".")
			name, _, _ = strings.Cut(strings.TrimPrefix(name, bundleField+"."), ".")
			inBoth := slices.ContainsFunc(settings, func(o Option) bool { return o.Name == name })
			if elsewhere := inBoth && p.ForAll != inDefaults; p.Flag != "" && !elsewhere && !yield(p) {
				return
			}
		}
	}
}

const (
	defaultsField = "defaults"
	bundleField   = "groups[].bundles[]"
)

// Usage returns what the flag is, with its values and its default.
func (o Option) Usage() string {
	usage := o.Text
	if o.Words != nil {
		usage += ": " + text.Or(o.Words)
	}
	if d := cmp.Or(o.FlagDefault, o.Default); d != "" {
		usage += " (default: " + d + ")"
	}
	return usage
}

// Summary returns Brief with the values that the flag can have, if they are few.
func (o Option) Summary() string {
	const few = 6
	if o.Brief == "" || o.Words == nil || len(o.Words) > few {
		return o.Brief
	}
	return o.Brief + ": " + text.Or(o.Words)
}

// visit calls f for each option that a document gives, with its path, such as groups[0].name, until f returns an error.
func visit(document map[string]any, options []Option, place string, f func(path string, o Option,
	value any) error) error {
	for _, o := range options {
		value, given := document[o.Name]
		if !given {
			continue
		}
		path := strings.TrimPrefix(place+"."+o.Name, ".")
		if err := f(path, o, value); err != nil {
			return err
		}
		fields := slices.Clone(o.Fields)
		for i := range fields {
			if fields[i].Profiles == nil {
				fields[i].Profiles = o.Profiles
			}
		}
		items, isList := value.([]any)
		if !isList {
			items = []any{value}
		}
		for i, item := range items {
			at := path
			if isList {
				at = fmt.Sprintf("%s[%d]", path, i)
			}
			object, _ := item.(map[string]any)
			if err := visit(object, fields, at, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// FlagOf returns the flag of an option, such as --namespace; "" if it has none.
func FlagOf(id manifest.Option) string {
	return flagWhere(func(o OptionAt) bool { return o.ID == id && id != "" })
}

// flagAt returns the flag that fills a field, such as groups[0].namespace; "" if there is none.
func flagAt(field string) string {
	return flagWhere(func(o OptionAt) bool { return first(o.Path) == field })
}

func flagWhere(is func(OptionAt) bool) string {
	for o := range WithFlags(declared) {
		if is(o) {
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
	lines := strings.Split(withoutCall(err), "\n")
	for i, l := range lines {
		lines[i] = text.Middle(l, 4000) // an error repeats its input, which may be hostile
	}
	return strings.Join(lines, "\n"), WithOptionNames(manifest.HintOf(err), manifest.AboutOf(err), name)
}

// withoutCall returns the text of an error without the name of a call that reads and without a path that stands twice.
func withoutCall(err error) string {
	said := err.Error()
	if file, ok := errors.AsType[*fs.PathError](err); ok && file.Op != "write" {
		plain := file.Path + ": " + file.Err.Error()
		said = strings.ReplaceAll(said, file.Error(), plain)
		said = strings.ReplaceAll(said, file.Path+": "+plain, plain)
	}
	return said
}

// namer returns how the person who wrote the RenderConfig calls options: by flags or fields. Group -1 is no operator.
func (c *Config) namer(group, index int) func(manifest.Option) string {
	if c.flags() {
		return FlagOf
	}
	return func(id manifest.Option) string {
		path, _ := c.pathOf(id, group, index)
		return path
	}
}

// pathOf returns where the RenderConfig has an option: the operator's own before the default; if nowhere, its own.
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
