package main

import (
	"fmt"
	"strings"

	"github.com/olmgen/olmgen/catalog"
	names "github.com/olmgen/olmgen/internal/olm"
)

func (r *random) bundle(name, version string) *bundle {
	b := &bundle{Name: name + ".v" + version, Version: version,
		Image: goodImage(name, version)}
	if r.is(0.001) {
		b.Image = pick(r, b.Image+"+1", "registry.example.com/Upper:v1", "")
	}
	add := func(kind string, value any) { b.Properties = append(b.Properties, property(kind, value)) }
	add(names.PropertyPackage, catalog.PackageProperty{PackageName: name, Version: version})
	major := version[:1]
	switch r.weighted(8, 2, 1, 1) {
	case 0:
		add(names.PropertyGVK, gvk(name, "v"+major))
	case 1:
		add(names.PropertyGVK, gvk(name, "v1"))
		if major != "1" {
			add(names.PropertyGVK, gvk(name, "v2"))
		}
	case 2:
		add(names.PropertyGVK, gvk(name, "v1"))
		add(names.PropertyGVK, gvk(name, "v1")) // twice
	}
	if r.is(0.12) { // several packages provide it
		add(names.PropertyGVK, gvk(pick(r, "x", "y"), "v1"))
	}
	if r.is(0.15) {
		add(names.PropertyLabel, label(r))
	}
	for probability := r.needs; r.is(probability); probability /= 2 {
		b.Properties = append(b.Properties, r.requirement())
	}
	if r.is(0.03) {
		add(names.PropertyDeprecated, struct{}{})
	}
	if r.is(0.05) {
		b.Properties = append(b.Properties, r.unread(version))
	}
	r.Shuffle(len(b.Properties), func(i, j int) { b.Properties[i], b.Properties[j] = b.Properties[j], b.Properties[i] })
	return b
}

func goodImage(name, version string) string {
	return "registry.example.com/" + name + ":v" + strings.ReplaceAll(version, "+", "-")
}

func gvk(name, version string) catalog.GVK {
	return catalog.GVK{Group: name + ".example.com", Kind: strings.ToUpper(name), Version: version}
}

func label(r *random) any {
	return map[string]string{"label": pick(r, "red", "green")}
}

// unread returns a property that the resolver does not read.
func (r *random) unread(version string) catalog.Property {
	switch r.IntN(4) {
	case 0:
		return property("olm.maxOpenShiftVersion", "4."+fmt.Sprint(8+r.IntN(12)))
	case 1:
		return property("example.com/unknown", map[string]any{"list": []int{1, 2}, "text": "<&>"})
	case 2:
		return property(names.PropertyCSVMetadata, map[string]any{
			"displayName": "metadata", "minKubeVersion": "99.0.0",
			"customResourceDefinitions": map[string]any{"required": []any{
				map[string]string{"name": "zs.z.example.com", "kind": "Z", "version": "v1"}}}})
	}
	return property("olm.constraint.unknown", map[string]string{"versionRange": ">=" + version})
}

func (r *random) requirement() catalog.Property {
	switch r.weighted(40, 40, 3, 30, 1) {
	case 0:
		return property(names.PropertyGVKRequired, r.api())
	case 1:
		return property(names.PropertyPackageRequired, r.pkgRange())
	case 2:
		return property(names.PropertyLabelRequired, label(r))
	case 3:
		return property(names.PropertyConstraint, r.constraint(2))
	}
	return r.unreadable()
}

// unreadable returns a requirement at which OLM stops.
func (r *random) unreadable() catalog.Property {
	name := pick(r, r.names...)
	return pick(r,
		property(names.PropertyPackageRequired, catalog.PackageRequired{PackageName: name, VersionRange: "^1.0.0"}),
		property(names.PropertyPackageRequired, catalog.PackageRequired{PackageName: name, VersionRange: ">=1.0"}),
		property(names.PropertyConstraint, map[string]any{}),
		property(names.PropertyConstraint, map[string]any{"unknown": map[string]any{}}),
		property(names.PropertyConstraint, map[string]any{"failureMessage": "none"}),
		property(names.PropertyConstraint, map[string]any{"cel": map[string]any{"rule": "1 + 1"}}),
		property(names.PropertyConstraint, map[string]any{"cel": map[string]any{"rule": "properties.exists(p, "}}),
		property(names.PropertyConstraint,
			map[string]any{"package": map[string]any{"packageName": "b", "versionRange": "~1.0"}}))
}

func (r *random) api() catalog.GVK {
	if r.is(0.15) {
		return gvk(pick(r, "x", "x", "y", "y", "z"), "v1") // nothing provides z
	}
	return gvk(pick(r, r.names...), pick(r, "v1", "v1", "v1", "v1", "v2"))
}

func (r *random) pkgRange() catalog.PackageRequired {
	name := pick(r, r.names...)
	if r.is(0.03) {
		name = "missing"
	}
	return catalog.PackageRequired{PackageName: name, VersionRange: r.versionRange()}
}

func (r *random) versionRange() string {
	from, to := fmt.Sprintf("1.%d.0", r.IntN(4)), pick(r, "1.1.0", "1.2.0", "2.0.0", "2.1.0", "3.0.0")
	switch r.weighted(6, 3, 3, 2, 1, 1) {
	case 0:
		return ">=" + from
	case 1:
		return ">=" + from + " <" + to
	case 2:
		return "<" + to
	case 3:
		return from
	case 4:
		return pick(r, "1.x", "1.x", "2.x", ">=0.0.0", ">=0.0.0-0", "1.0.x || >=2.0.0", "!"+from, ">1.0.0-rc.1")
	}
	return from + " || " + to
}

// constraint returns an olm.constraint. Compounds nest to some depth.
func (r *random) constraint(depth int) map[string]any {
	c := map[string]any{}
	compound := 0
	if depth > 0 {
		compound = 3
	}
	switch r.weighted(4, 4, compound/2, compound, compound/2, 3) {
	case 0:
		c["gvk"] = r.api()
	case 1:
		c["package"] = r.pkgRange()
	case 2:
		c["all"] = r.compound(depth)
	case 3:
		c["any"] = r.compound(depth)
	case 4:
		c["not"] = r.compound(depth)
	default:
		c["cel"] = map[string]any{"rule": r.rule()}
	}
	if r.is(0.2) {
		c["failureMessage"] = "needs \"another\" one, or <more>"
	}
	if r.is(0.03) { // two kinds: one of them counts
		c["gvk"] = r.api()
	}
	return c
}

func (r *random) compound(depth int) map[string]any {
	list := []any{}
	for range r.weighted(1, 8, 12, 3) {
		list = append(list, r.constraint(depth-1))
	}
	return map[string]any{"constraints": list}
}

func (r *random) rule() string {
	name, version := pick(r, r.names...), fmt.Sprintf("%d.%d.0", 1+r.IntN(2), r.IntN(3))
	switch r.weighted(4, 4, 2, 1, 1, 1) {
	case 0:
		return fmt.Sprintf("properties.exists(p, p.type == 'olm.gvk' && p.value.kind == '%s')", strings.ToUpper(name))
	case 1:
		return fmt.Sprintf("properties.exists(p, p.type == 'olm.package' && p.value.packageName == '%s' && "+
			"semver_compare(p.value.version, '%s') %s 0)", name, version, pick(r, "==", ">=", "<=", "<", ">"))
	case 2:
		return `properties.exists(p, p.type == "olm.label" && p.value.label == "red")`
	case 3:
		return "properties.exists(p, p.value.missing == 'x')" // fails at run time
	case 4:
		return pick(r, "true", "false", "1 == 1.0 || false")
	}
	return fmt.Sprintf("size(properties) >= %d && properties.all(p, p.type != 'olm.deprecated')", 1+r.IntN(4))
}
