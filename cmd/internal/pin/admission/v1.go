package admission

import (
	"cmp"
	"strings"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/views"
)

const versionV1 = "v1"

const (
	extensionPinned = `$.exists(p, p.package == variables.asked.packageName && p.version == variables.version &&
  sets.equivalent(p.channels == '' ? [] : p.channels.split(','), variables.channels) &&
  sets.equivalent(p.catalogs == '' ? [] : p.catalogs.split(','), variables.catalogs))`
	extensionCatalogs = `variables.labels.map(k, k + '=' + variables.labels[k]) +
(has(variables.asked.selector) && has(variables.asked.selector.matchExpressions) ?
  variables.asked.selector.matchExpressions.map(e, e.key + ' ' + e.operator) : [])`
	extensionLabels = `has(variables.asked.selector) && has(variables.asked.selector.matchLabels) ?
  variables.asked.selector.matchLabels : {}`
	extensionText = `variables.held.map(p, 'package ' + p.package +
  (p.version == '' ? '' : ', version ' + p.version) +
  (p.channels == '' ? '' : ', channels ' + p.channels) +
  (p.catalogs == '' ? '' : ', catalogs ' + p.catalogs)).join('; ')`
	extensionMessage = `'package ' + variables.asked.packageName +
(variables.version == '' ? '' : ', version ' + variables.version) +
(variables.channels.size() == 0 ? '' : ', channels ' + variables.channels.join(',')) +
(variables.catalogs.size() == 0 ? '' : ', catalogs ' + variables.catalogs.join(',')) +
' is not pinned' +
`
)

// clusterExtensions refuses ClusterExtensions with other packages, ranges, channels or catalogs. An entry has channels
// and labels as text, because CEL takes no mapping of texts and lists in Kubernetes.
func (w *writer) clusterExtensions() policy {
	pins := w.pinned("[]", func(f Facts) []entry {
		return lists.Map(f.Extensions, func(e Extension) entry {
			labels := lists.Map(lists.Keys(e.Selector), func(key string) string {
				return key + "=" + e.Selector[key]
			})
			return record(cmp.Or(e.File, w.file), "package", e.Package, "version", e.Version,
				"channels", strings.Join(lists.SortedUnique(e.Channels), ","), "catalogs", strings.Join(labels, ","))
		})
	})
	return policy{
		kind: kind(olm.GroupV1, olm.KindClusterExtension), version: versionV1,
		about: "Refuses ClusterExtensions with packages, versions, channels and catalogs that are not pinned.",
		variables: append(pins,
			variable("asked", "object.spec.source.catalog"),
			variable("version", "has(variables.asked.version) ? variables.asked.version : ''"),
			variable("channels", "has(variables.asked.channels) ? variables.asked.channels : []"),
			variable("labels", extensionLabels),
			variable("catalogs", extensionCatalogs),
			variable("held", over(pins, " +\n", "$.filter(p, p.package == variables.asked.packageName)")),
			variable("text", extensionText)),
		validation: views.Validation{Expression: over(pins, " ||\n", extensionPinned),
			Message:           "what the ClusterExtension asks for is not pinned",
			MessageExpression: extensionMessage + instead + w.change()},
	}
}

const (
	// An unavailable catalog offers nothing, and that is how the defaults of a cluster are switched off.
	unavailable    = `has(object.spec.availabilityMode) && object.spec.availabilityMode == 'Unavailable'`
	catalogPinned  = `$.exists(p, p.name == object.metadata.name && p.image == variables.image)`
	catalogText    = `$.map(p, p.name + ' with image ' + p.image)`
	catalogMessage = `'ClusterCatalog ' + object.metadata.name + ' with image ' + variables.image +
' is not pinned' +
`
)

// clusterCatalogs refuses other ClusterCatalogs, and other images for those that are pinned.
func (w *writer) clusterCatalogs() policy {
	pins := w.pinned("[]", func(f Facts) []entry {
		return lists.Map(f.ClusterCatalogs, func(c ClusterCatalog) entry {
			return record("", "name", c.Name, "image", c.Image)
		})
	})
	return policy{
		kind: kind(olm.GroupV1, olm.KindClusterCatalog), version: versionV1,
		about: "Refuses ClusterCatalogs that are not pinned, and other images for those that are, " +
			"unless they are unavailable.",
		variables: append(pins,
			variable("image", "has(object.spec.source.image) ? object.spec.source.image.ref : ''"),
			variable("text", "("+over(pins, " +\n", catalogText)+").join(', ')")),
		validation: views.Validation{Expression: unavailable + " ||\n" + over(pins, " ||\n", catalogPinned),
			Message:           "the ClusterCatalog or its image is not pinned",
			MessageExpression: catalogMessage + instead + literal("; change "+w.file)},
	}
}
