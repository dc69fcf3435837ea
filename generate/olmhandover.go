package generate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// handOver makes the objects with which OLM installs the bundle, and none of the objects that OLM creates then.
func handOver(b *bundle.Bundle, o Options, generators []func(*rendering)) (*Result, error) {
	o.CopiedCSVNamespaces = nil
	mode, targets, err := o.targets(b.CSV)
	if err != nil {
		return nil, err
	}
	r := &rendering{bundle: b, options: o, mode: mode, targets: targets, csv: b.CSV, apis: olm.OwnedAPIs(&b.CSV.Spec),
		keys: map[string]int{}}
	r.names = names{mode: NamesStable, csv: b.CSV, namespace: o.Namespace, group: o.OperatorGroup}
	return r.run(generators)
}

func (r *rendering) note(format string, args ...any) {
	r.notes = append(r.notes, manifest.Message{Msg: fmt.Sprintf(format, args...)})
}

// warnInstallation warns of what OLM in the cluster may not do as it is asked to.
func (r *rendering) warnInstallation(format string, args ...any) {
	r.warn(bundle.WarnInstallation, &manifest.Error{Msg: fmt.Sprintf(format, args...)})
}

// about returns a warning with the options that it is about.
func about(e *manifest.Error, options ...Option) *manifest.Error {
	e.Options = options
	return e
}

// channel returns the channel of the options, else the default channel if the bundle is in it, else the only channel of
// the bundle, else "".
func (r *rendering) channel() string {
	channels := lists.SortedUnique(r.bundle.Channels)
	asked, byDefault := r.options.Channel, r.bundle.DefaultChannel
	switch {
	case asked != "":
		if len(channels) > 0 && !slices.Contains(channels, asked) {
			r.warnInstallation("%s says that it is in %s, not in channel %s", r.csv.Name, channelList(channels), asked)
		}
		return asked
	case slices.Contains(channels, byDefault) || len(channels) == 0:
		return byDefault
	case len(channels) == 1:
		return channels[0]
	}
	return ""
}

func channelList(channels []string) string {
	if len(channels) == 1 {
		return "channel " + channels[0]
	}
	return "channels " + strings.Join(channels, ", ")
}

// objectName returns the name of the object that installs the package. The default is the package name.
func (r *rendering) objectName(kind, asked string, option Option) string {
	name := cmp.Or(asked, r.bundle.Package)
	r.fail(checkName(option, "give another name", kind, name))
	return name
}

// ConfigValue returns a Subscription's config as it stands in a document: with an empty node selector, which OLM takes
// for "remove it". It returns nil without a config.
func ConfigValue(c *v1alpha1.SubscriptionConfig) (map[string]any, error) {
	if c == nil {
		return nil, nil
	}
	v, err := olm.Value(c)
	if err != nil {
		return nil, err
	}
	if c.NodeSelector != nil && len(c.NodeSelector) == 0 { // removes the operator's own
		v["nodeSelector"] = map[string]any{}
	}
	return v, nil
}
