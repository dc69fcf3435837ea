package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/compare/change"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/olm"
)

// identity compares what operators say of themselves.
func (r *Report) identity(pairs []pair, old, now State) ([]change.Change, error) {
	var out []change.Change
	for _, p := range pairs {
		var list []change.Change
		switch {
		case p.old == nil:
			list = []change.Change{{Part: change.Operator, Change: change.Added, New: p.now.version(),
				Severity: findings.Info}}
		case p.now == nil:
			list = []change.Change{{Part: change.Operator, Change: change.Removed, Old: p.old.version(),
				Severity: findings.Warning, Message: "its custom resources have no controller any more"}}
		default:
			list = compareIdentity(*p.old, *p.now)
			more, err := compareCSV(*p.old, *p.now)
			if err != nil {
				return nil, err
			}
			asked, err := r.csvPermissions(p, old, now)
			if err != nil {
				return nil, err
			}
			list = slices.Concat(list, more, asked)
		}
		o := p.now
		if o == nil {
			o = p.old
		}
		for i := range list {
			c := &list[i]
			c.Object = "ClusterServiceVersion " + o.Name
			if o.Object != nil {
				c.File, c.Line = o.Object.File, o.Object.LineOf(lineField[c.Part])
			}
		}
		out = append(out, list...)
	}
	change.Sort(out)
	return out, nil
}

// lineField is the field of a CSV whose line is named for a part.
var lineField = map[change.Part]string{change.Version: "spec.version", change.Upgrade: "spec.replaces",
	change.InstallModes: "spec.installModes", change.Provided: "spec.customresourcedefinitions.owned",
	change.Required: "spec.customresourcedefinitions.required", change.Kubernetes: "spec.minKubeVersion",
	change.Maturity: "spec.maturity"}

// fact is one statement of an operator.
type fact struct {
	part  change.Part
	field string
}

// compareIdentity compares two releases of an operator.
func compareIdentity(old, now Operator) []change.Change {
	before, after := factsOf(old), factsOf(now)
	keys := map[fact]bool{}
	for _, side := range []map[fact]string{before, after} {
		for f := range side {
			keys[f] = true
		}
	}
	var out []change.Change
	for f := range keys {
		a, had := before[f]
		b, has := after[f]
		if had && has && a == b {
			continue
		}
		c := change.Change{Part: f.part, Field: f.field, Change: change.Changed, Old: a, New: b,
			Severity: findings.Info}
		switch {
		case !had:
			c.Change = change.Added
		case !has:
			c.Change = change.Removed
		}
		judgeIdentity(&c, old, now)
		out = append(out, c)
	}
	if old.Name != now.Name && old.stem() == now.stem() && old.version() == now.version() {
		out = append(out, change.Change{Part: change.Version, Field: "metadata.name", Change: change.Changed,
			Old: old.Name, New: now.Name, Severity: findings.Info})
	}
	change.Sort(out)
	return out
}

// factsOf returns what an operator says of itself.
func factsOf(o Operator) map[fact]string {
	out := map[fact]string{}
	set := func(part change.Part, field, value string) {
		if value != "" {
			out[fact{part, field}] = value
		}
	}
	have := func(part change.Part, field string) { out[fact{part, field}] = "" }
	spec := o.Spec
	set(change.Version, "version", o.version())
	set(change.Operator, "name", o.stem())
	set(change.Operator, "namespace", o.Namespace)
	entry := o.entry()
	for kind, text := range entry.Fields() {
		set(change.Upgrade, string(kind), text)
	}
	for _, m := range spec.InstallModes {
		if m.Supported {
			have(change.InstallModes, string(m.Type))
		}
	}
	for _, a := range olm.ServedAPIs(&spec, o.crds) {
		have(change.Provided, apiText(a.Group, a.Version, a.Kind))
	}
	for _, a := range olm.RequiredAPIs(&spec) {
		have(change.Required, apiText(a.Group, a.Version, a.Kind))
	}
	for _, d := range spec.NativeAPIs {
		have(change.Dependencies, apiText(d.Group, d.Version, d.Kind)+" of Kubernetes")
	}
	for _, p := range slices.Concat(o.Dependencies, constraints(o.Properties)) {
		have(change.Dependencies, p.Type+" "+jsonText(p.Value))
	}
	set(change.Kubernetes, "minKubeVersion", spec.MinKubeVersion)
	set(change.Maturity, "maturity", spec.Maturity)
	set(change.Maturity, "capabilities", o.Annotations["capabilities"])
	for _, message := range o.Deprecated {
		have(change.Deprecation, "deprecated: "+message)
	}
	for _, p := range o.Properties {
		if p.Type == "olm.deprecated" {
			have(change.Deprecation, "deprecated in its catalog")
		}
	}
	return out
}

func apiText(group, version, kind string) string {
	return fmt.Sprintf("%s (%s/%s)", kind, group, version)
}

// constraints returns the properties that are dependencies.
func constraints(list []bundle.Property) []bundle.Property {
	return slices.DeleteFunc(slices.Clone(list), func(p bundle.Property) bool {
		return p.Type != "olm.constraint" && !strings.HasSuffix(p.Type, ".required")
	})
}

// jsonText returns JSON with sorted keys.
func jsonText(data json.RawMessage) string {
	var v any
	if json.Unmarshal(data, &v) != nil {
		return string(data)
	}
	if m, ok := v.(map[string]any); ok {
		parts := []string{}
		for _, k := range slices.Sorted(maps.Keys(m)) {
			text, _ := json.Marshal(m[k])
			parts = append(parts, k+": "+strings.Trim(string(text), `"`))
		}
		return strings.Join(parts, ", ")
	}
	text, _ := json.Marshal(v)
	return string(text)
}

// judgeIdentity fills in how bad a change is.
func judgeIdentity(c *change.Change, old, now Operator) {
	warn := func(why string) { c.Severity, c.Message = findings.Warning, why }
	switch c.Part {
	case change.Version:
		if now.Spec.Version.LT(old.Spec.Version.Version) {
			warn("it is an older version")
		}
	case change.Operator:
		if c.Field == "name" {
			warn("they are two different operators")
		}
	case change.InstallModes:
		if c.Change == change.Removed {
			warn("OperatorGroups that ask for it fail")
		}
	case change.Provided:
		if c.Change == change.Removed {
			warn("whoever uses this API loses it")
		}
	case change.Required, change.Dependencies:
		if c.Change == change.Added {
			warn("OLM installs an operator that provides it, or refuses this one")
		}
	case change.Kubernetes:
		before, err := semver.ParseTolerant(c.Old)
		after, err2 := semver.ParseTolerant(c.New)
		if err2 == nil && (err != nil || after.GT(before)) {
			warn("OLM installs it in newer clusters only")
		}
	case change.Deprecation:
		if c.Change == change.Added {
			warn("whoever publishes it advises against it")
		}
	}
}
