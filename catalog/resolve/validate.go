package resolve

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/olm"
)

// Rules of catalogs that opm serves.
var (
	ruleDangling = findings.Rule{ID: "dangling-replaces",
		Text: "replaces names an entry that the channel does not have",
		Help: "The version that it names can still be updated if it is installed."}
	ruleSeveral = findings.Rule{ID: "several-replacements",
		Text: "Several entries replace the same one", Help: "OLM takes the one nearest the head."}
	ruleSelf = findings.Rule{ID: "skip-range-covers-itself",
		Text: "skipRange contains the version of its own entry",
		Help: "It does no harm: OLM v0 does not leave the entry for an older one."}
	ruleDowngrade = findings.Rule{ID: "skip-range-downgrade", Text: "skipRange contains the version of a newer entry",
		Help: "skipRange has no direction, so OLM v0 updates the newer version to the older one, and can go " +
			"round forever. An entry whose own skipRange contains its version stays."}
	ruleBackwards = findings.Rule{ID: "replaces-downgrade", Text: "An entry replaces one of a higher version",
		Help: "OLM v0 updates the newer version to the older one."}
	ruleCannotReach = findings.Rule{ID: "head-out-of-reach", Text: "An entry has no update and is not the head",
		Help: "OLM v0 keeps it without an error."}
	ruleNextChannel = findings.Rule{ID: "next-channel-out-of-reach",
		Text: "The head of a channel has no update in the channel of the next version",
		Help: "Who changes spec.channel of the Subscription stays at the installed version, without an error."}
	ruleProperty = findings.Rule{ID: "unknown-property",
		Text: "A property has a type that begins with olm. and that OLM does not know",
		Help: "OLM ignores it."}
	ruleConstraint = findings.Rule{ID: "bad-constraint", Text: "OLM cannot read a constraint",
		Help: "It stops the resolution of every namespace in which the bundle is a candidate."}
	ruleSchema = findings.Rule{ID: "unknown-schema", Text: "A document has a schema that is nearly one of a catalog",
		Help: "opm keeps the document and does not read it."}
	ruleField = findings.Rule{ID: "unknown-field", Text: "A document of a catalog has a field that its schema lacks",
		Help: "opm drops it without an error. Source: operator-registry, alpha/declcfg/declcfg.go."}
	ruleBundle = findings.Rule{ID: "bundle-refused",
		Text: "A bundle of a directory cannot be read, or OLM v0 refuses to install it",
		Help: "One that cannot be read is left out of the catalog."}
	ruleNotAlone = findings.Rule{ID: "not-forbids-nothing", Text: "A not constraint forbids nothing",
		Help: "Any other bundle satisfies it. It has an effect only inside all."}
)

// CatalogRules returns the rules of Validate, sorted by id.
func CatalogRules() []findings.Rule {
	list := []findings.Rule{ruleDangling, ruleSeveral, ruleSelf, ruleDowngrade, ruleBackwards, ruleCannotReach,
		ruleNextChannel, ruleProperty, ruleConstraint, ruleSchema, ruleField, ruleBundle, ruleNotAlone}
	for id, text := range catalog.Rules {
		list = append(list, findings.Rule{ID: id, Text: text,
			Help: "opm does not serve such a catalog. Source: operator-registry, " +
				"alpha/declcfg/declcfg_to_model.go, alpha/model/model.go."})
	}
	return sorted(list...)
}

// Validate returns what is wrong with a catalog: what opm refuses, and updates that OLM v0 does not make.
func Validate(c *catalog.Catalog) []findings.Finding {
	v := &validator{converter: newConverter()}
	said := map[string]bool{}
	for _, f := range c.Faults() {
		said[f.Package] = true
		v.add(findings.Rule{ID: f.Rule}, findings.Error, f.Place, packageObject(f.Package), f.Hint, "%s", f.Text)
	}
	for _, f := range c.Faulty {
		if f.All && said[f.Package] {
			continue
		}
		v.add(ruleBundle, findings.Error, catalog.Place{}, packageObject(f.Package), "", "%s", f.Error())
	}
	for _, f := range c.Ignored() {
		v.add(findings.Rule{ID: f.Rule}, findings.Warning, f.Place, "", f.Hint, "%s", f.Text)
	}
	for _, name := range c.Names() {
		v.pkg(c.Packages[name])
	}
	findings.Sort(v.list)
	return v.list
}

// packageObject names a package in a finding; "" is none.
func packageObject(name string) string {
	if name == "" {
		return ""
	}
	return "Package " + name
}

type validator struct {
	converter *converter
	list      []findings.Finding
}

func (v *validator) add(rule findings.Rule, level findings.Severity, at catalog.Place, object, hint, format string,
	args ...any) {
	v.list = append(v.list, findings.Finding{Rule: rule.ID, Level: level, File: at.File, Line: at.Line, Object: object,
		Message: strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " "), Hint: hint})
}

func (v *validator) pkg(p *catalog.Package) {
	for _, b := range p.Bundles {
		v.bundle(b)
	}
	orders := map[string][]*entry{}
	for _, ch := range p.Channels {
		if order := v.channel(p, ch); len(order) > 0 {
			orders[ch.Name] = order
		}
	}
	v.nextChannels(p, orders)
}

var knownTypes = []string{olm.PropertyPackage, olm.PropertyPackageRequired, olm.PropertyGVK, olm.PropertyGVKRequired,
	olm.PropertyLabel, olm.PropertyLabelRequired, olm.PropertyConstraint, olm.PropertyDeprecated, olm.PropertyObject,
	olm.PropertyCSVMetadata, olm.PropertyMaxOpenShift, olm.SchemaChannel, "olm.bundle.mediatype"}

func (v *validator) bundle(b *catalog.Bundle) {
	object := "Bundle " + b.Name
	for _, p := range b.Properties {
		if strings.HasPrefix(p.Type, "olm.") && !slices.Contains(knownTypes, p.Type) {
			v.add(ruleProperty, findings.Note, b.Place, object, "", "OLM ignores the property %s", p.Type)
			continue
		}
		r, err := v.converter.convert(p)
		if err != nil {
			v.add(ruleConstraint, findings.Error, b.Place, object, "", "%s", constraintFault(p.Type, err))
		} else if r != nil && r.forbidsNothing {
			v.add(ruleNotAlone, findings.Warning, b.Place, object, "put the not inside an all",
				"any other bundle satisfies the olm.constraint not: %s", r.text)
		}
	}
}

// channel returns the order of a channel, or nil if it has none.
func (v *validator) channel(p *catalog.Package, ch *catalog.Channel) []*entry {
	object := "Channel " + p.Name + "/" + ch.Name
	entries, places := channelEntries(p, ch), map[string]catalog.Place{}
	replacedBy := map[string][]string{}
	for _, e := range ch.Entries {
		places[e.Name] = e.Place
		if e.Replaces == "" {
			continue
		}
		replacedBy[e.Replaces] = append(replacedBy[e.Replaces], e.Name)
		if ch.Entry(e.Replaces) == nil {
			v.add(ruleDangling, findings.Note, e.Place, object, "", "%s replaces %s, which is not in the channel",
				e.Name, e.Replaces)
		}
		of, old := p.Bundle(e.Name), p.Bundle(e.Replaces)
		if of == nil || old == nil {
			continue
		}
		from, known := old.Version()
		if to, ok := of.Version(); known && ok && to.LT(from) {
			v.add(ruleBackwards, findings.Warning, e.Place, object, "",
				"%s has version %s and replaces %s, which has %s", e.Name, to, old.Name, from)
		}
	}
	for _, old := range slices.Sorted(maps.Keys(replacedBy)) {
		if by := replacedBy[old]; len(by) > 1 {
			v.add(ruleSeveral, findings.Note, places[by[0]], object, "", "%s is replaced by %s", old,
				strings.Join(by, " and "))
		}
	}
	order, err := sortChannel(entries)
	if err != nil {
		return nil // opm's words for it are there already
	}
	next := make(map[string]*entry, len(entries))
	for _, e := range entries {
		next[e.name], _ = (&pathWalk{order: order}).next(e)
	}
	for i, e := range order {
		v.skipRange(object, places[e.name], order[:i], e, next)
	}
	for _, e := range entries {
		if e.version == nil || e.name == order[0].name || next[e.name] != nil {
			continue
		}
		v.add(ruleCannotReach, findings.Warning, places[e.name], object,
			"name it in skips of a newer entry, or in its skipRange",
			"nothing updates %s; the head is %s", e.name, order[0].name)
	}
	return order
}

func hasUpdate(order []*entry, installed *entry) bool {
	next, _ := (&pathWalk{order: order}).next(installed)
	return next != nil
}

// skipRange looks at the range of an entry. The newer entries are those nearer the head; next has what OLM updates each
// to.
func (v *validator) skipRange(object string, at catalog.Place, newer []*entry, e *entry, next map[string]*entry) {
	if e.updates.Range == nil || e.version == nil {
		return
	}
	if e.updates.Range(*e.version) {
		v.add(ruleSelf, findings.Note, at, object, "", "the skipRange of %s contains its own version", e.name)
	}
	for _, n := range newer {
		if n.version != nil && e.updates.Range(*n.version) && next[n.name] == e {
			v.add(ruleDowngrade, findings.Warning, at, object, olm.EndRange,
				"the skipRange of %s contains %s, the version of the newer %s", e.name, n.version, n.name)
			return
		}
	}
}

var minorChannel = lazy.Regexp(`^(.*?)v?(\d{1,6})\.(\d{1,6})$`)

// nextChannels compares channels whose names differ in the version only, such as stable-1.1 and stable-1.2.
func (v *validator) nextChannels(p *catalog.Package, orders map[string][]*entry) {
	type minor struct {
		name         string
		major, minor int
	}
	groups := map[string][]minor{}
	for name := range orders {
		if m := minorChannel().FindStringSubmatch(name); m != nil {
			x, _ := strconv.Atoi(m[2])
			y, _ := strconv.Atoi(m[3])
			groups[m[1]] = append(groups[m[1]], minor{name, x, y})
		}
	}
	for _, list := range groups {
		slices.SortFunc(list, func(a, b minor) int {
			return cmp.Or(a.major-b.major, a.minor-b.minor, cmp.Compare(a.name, b.name))
		})
		for i := 1; i < len(list); i++ {
			from, to := orders[list[i-1].name], orders[list[i].name]
			if head := from[0]; head.version == nil || head.name == to[0].name || hasUpdate(to, head) {
				continue
			}
			ch := p.Channel(list[i].name)
			v.add(ruleNextChannel, findings.Warning, ch.Place, "Channel "+p.Name+"/"+ch.Name,
				"name it in skips of the head, or in its skipRange",
				"nothing in it updates %s, the head of channel %s", from[0].name, list[i-1].name)
		}
	}
}
