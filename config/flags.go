package config

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/manifest"
)

// Flags are flags that fill a RenderConfig of one group with one bundle.
type Flags struct {
	Dir    string // what files that flags name are relative to; empty: the current directory
	values []*FlagValue
}

// NewFlags returns the flags of options. A command line has to add each of its Values.
func NewFlags(options iter.Seq[OptionAt]) *Flags {
	f := &Flags{}
	for o := range options {
		if o.Type == Bool {
			o.Alone = "true"
		}
		f.values = append(f.values, &FlagValue{OptionAt: o})
	}
	return f
}

// Values returns the values of the flags, in the order of the options.
func (f *Flags) Values() []*FlagValue { return f.values }

// FlagError is a command line that can't be a RenderConfig.
type FlagError struct {
	Msg, Tip string
}

func (e *FlagError) Error() string { return e.Msg }

// Hint returns what to do about the error, or "".
func (e *FlagError) Hint() string { return e.Tip }

// Config returns the RenderConfig of a source and the given flags, or a *FlagError. fixed has values from the command.
func (f *Flags) Config(source string, fixed map[manifest.Option]any) (*Config, error) {
	document, given, err := f.document(source, fixed)
	if err != nil {
		return nil, err
	}
	c := &Config{given: given}
	if err := c.read("", manifest.Encode(document)); err != nil {
		return nil, &FlagError{err.Error(), manifest.HintOf(err)}
	}
	return c, nil
}

func (f *Flags) document(source string, fixed map[manifest.Option]any) (document map[string]any,
	given map[string]bool, err error) {
	document, given = map[string]any{"apiVersion": APIVersion, "kind": Kind}, map[string]bool{}
	put(document, bundleField+".source", source)
	for o := range WithFlags(declared) {
		if value, ok := fixed[o.ID]; ok && o.ID != "" {
			put(document, o.Path, value)
		}
	}
	for _, v := range f.values {
		if !v.given() {
			continue
		}
		value, err := v.read(f.Dir)
		if err != nil {
			return nil, nil, err
		}
		given[first(v.Path)] = true
		put(document, v.Path, value)
	}
	return document, given, nil
}

// Text returns the value of an option's flag, and whether it is given.
func (f *Flags) Text(id manifest.Option) (string, bool) {
	if v := lists.Find(f.values, func(v *FlagValue) bool { return v.ID == id }); v != nil {
		return v.String(), v.given()
	}
	return "", false
}

// Option returns the option of a flag, if it is one of these flags.
func (f *Flags) Option(flag string) (OptionAt, bool) {
	if v := lists.Find(f.values, func(v *FlagValue) bool { return v.Flag == flag }); v != nil {
		return v.OptionAt, true
	}
	return OptionAt{}, false
}

// first returns the path in which every list is its first item.
func first(path string) string { return strings.ReplaceAll(path, "[]", "[0]") }

// put writes a value at a path. A list on the way is one of one item.
func put(document map[string]any, path string, value any) {
	name, rest, more := strings.Cut(path, ".")
	name, isList := strings.CutSuffix(name, "[]")
	below, _ := document[name].(map[string]any)
	if list, _ := document[name].([]any); more && list != nil {
		below = list[0].(map[string]any)
	}
	if more && below == nil {
		below = map[string]any{}
		document[name] = below
		if isList {
			document[name] = []any{below}
		}
	}
	switch {
	case more:
		put(below, rest, value)
	case below != nil:
		maps.Copy(below, value.(map[string]any))
	default:
		document[name] = value
	}
}

// FlagValue is the flag of an option with the value that a command line gives it. It is a Value of the packages flag
// and pflag.
type FlagValue struct {
	OptionAt
	texts []string
}

func (v *FlagValue) given() bool { return len(v.texts) > 0 }

// String returns the value as text.
func (v *FlagValue) String() string { return strings.Join(v.texts, ",") }

// Type returns what the help calls the value.
func (v *FlagValue) Type() string {
	if v.OptionAt.Type == Bool {
		return "bool"
	}
	return v.Value
}

// Set takes the value of a flag; a list adds it to those before it.
func (v *FlagValue) Set(s string) error {
	switch v.OptionAt.Type {
	case Bool:
		b, err := strconv.ParseBool(s)
		v.texts = []string{strconv.FormatBool(b)}
		return err
	case List:
		return v.add(s)
	}
	if err := text.CheckKnown("value", s, v.Words); err != nil {
		return err
	}
	if v.Once && len(v.texts) > 0 {
		return fmt.Errorf("it is given twice, with %s before", v.texts[0])
	}
	v.texts = []string{s}
	return nil
}

func (v *FlagValue) add(s string) error {
	list, err := csv.NewReader(strings.NewReader(s)).Read()
	if err != nil {
		return err
	}
	for _, word := range list {
		if word == "" {
			return errors.New("an item of the list is empty")
		}
		if strings.ContainsAny(word, " \t\n") {
			return fmt.Errorf("%q has a space: separate the items with a comma and nothing else", word)
		}
		if err := text.CheckKnown("value", word, v.Words); err != nil {
			return err
		}
		if v.Words == nil || !slices.Contains(v.texts, word) {
			v.texts = append(v.texts, word)
		}
	}
	return nil
}

func (v *FlagValue) read(dir string) (any, error) {
	given := v.String()
	switch {
	case v.Parse != nil:
		value, err := v.Parse(dir, given)
		if bad, ok := errors.AsType[*FlagError](err); ok {
			return nil, &FlagError{"--" + v.Flag + ": " + bad.Msg, bad.Tip}
		}
		if file, ok := errors.AsType[*fs.PathError](err); ok {
			err = fmt.Errorf("--%s: %s: %w", v.Flag, file.Path, file.Err)
		}
		return value, err
	case v.OptionAt.Type == Bool:
		return given == "true", nil
	case v.OptionAt.Type == List:
		return text.Values(v.texts), nil
	}
	return given, nil
}

func parseSelector(_, text string) (any, error) {
	s, err := metav1.ParseToLabelSelector(text)
	if err != nil {
		return nil, &FlagError{err.Error(), "write it as in key=value,other in (a, b)"}
	}
	return manifest.Typed(s)
}

// bundleAPIs is the value of a static group without APIs beside the bundle's own.
const bundleAPIs = "bundle"

func parseAPIs(_, text string) (any, error) {
	list := []any{}
	for api := range strings.SplitSeq(text, ",") {
		if api != "" && api != bundleAPIs {
			list = append(list, api)
		}
	}
	return list, nil
}

func parseIssuer(_, text string) (any, error) {
	kind, name, ok := strings.Cut(text, "/")
	if !ok || name == "" || kind != "Issuer" && kind != "ClusterIssuer" {
		return nil,
			&FlagError{fmt.Sprintf("%q is not KIND/NAME", text), "write it as Issuer/NAME or ClusterIssuer/NAME"}
	}
	return map[string]any{"kind": kind, "name": name}, nil
}

func parseCatalog(_, text string) (any, error) {
	namespace, name, _ := strings.Cut(text, "/")
	if namespace == "" || name == "" {
		return nil, &FlagError{fmt.Sprintf("%q is not NAMESPACE/NAME", text),
			"write it as in openshift-marketplace/community-operators"}
	}
	return map[string]any{"namespace": namespace, "name": name}, nil
}

func parseNamespace(_, name string) (any, error) { return name, CheckNamespace(name) }

// CheckNamespace returns a *FlagError for what is not the name of a namespace.
func CheckNamespace(name string) error {
	if len(validation.IsDNS1123Label(name)) > 0 {
		return &FlagError{fmt.Sprintf("%q is not a valid namespace name", name), "use lower-case letters, digits and -"}
	}
	return nil
}

func parseNamespaces(_, list string) (any, error) {
	names := strings.Split(list, ",")
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, &FlagError{fmt.Sprintf("%q is given twice", name), "leave one out"}
		}
		if err := CheckNamespace(name); err != nil {
			return nil, err
		}
	}
	return text.Values(names), nil
}

func parseVersionRange(_, versions string) (any, error) {
	if err := generate.CheckVersionRange(versions); err != nil {
		return nil, &FlagError{err.Error(), manifest.HintOf(err)}
	}
	return versions, nil
}

// parseConfig reads a file with a Subscription, or with its spec.config.
func parseConfig(dir, file string) (any, error) {
	data, err := whole.ReadFile(in(dir, file), budget.File)
	if err != nil {
		return nil, err
	}
	config, err := generate.ReadConfig(file, data)
	if err != nil || config == nil {
		return nil, err
	}
	return generate.ConfigValue(config)
}
