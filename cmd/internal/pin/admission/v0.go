package admission

import (
	"cmp"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/views"
)

// instead is the part of a message that says what is pinned, from the variable text. The API server drops a message of
// more than 5 KiB (Kubernetes: k8s.io/apiserver/pkg/apis/cel/config.go).
const instead = `(variables.text == '' || variables.text.size() > 1000 ? '' : '; pinned is ' + variables.text) +
`

const (
	// OLM installs the plan in the status, which only OLM writes, so the names in the spec alone would not do.
	plannedNames = `oldObject == null || !has(oldObject.status) ? [] :
(has(oldObject.status.plan) ? oldObject.status.plan : [])
  .filter(s, s.resource.kind == 'ClusterServiceVersion').map(s, s.resource.name) +
(has(oldObject.status.bundleLookups) ? oldObject.status.bundleLookups : []).map(b, b.identifier)`
	becomesApproved    = `object.spec.approved && (request.operation == 'CREATE' || !oldObject.spec.approved)`
	installPlanMessage = `'the InstallPlan contains what is not pinned: ' +
(variables.names.size() > 1000 ? variables.names.substring(0, 1000) + '...' : variables.names) +
`
)

// installPlans refuses the approval of InstallPlans with other ClusterServiceVersions. OLM creates an automatic one
// approved; a manual one becomes approved later (OLM: pkg/controller/operators/catalog/operator.go, createInstallPlan
// and ExecutePlan).
//
// The list is a mapping: looking a name up costs the same in a long one, and an InstallPlan has many names.
func (w *writer) installPlans() policy {
	pins := w.pinned("{}", func(f Facts) []entry {
		return lists.Map(f.CSVs, func(name string) entry {
			return entry{name, literal(name) + ": true"}
		})
	})
	unknown := over(pins, " && ", "!(n in $)")
	return policy{
		kind: kind(olm.Group, v1alpha1.InstallPlanKind), version: v1alpha1.GroupVersion,
		about: "Refuses the approval of InstallPlans that contain a ClusterServiceVersion that is not pinned.",
		when:  &views.NamedExpression{Name: "becomes-approved", Expression: becomesApproved},
		variables: append(pins,
			variable("named", "object.spec.clusterServiceVersionNames"),
			variable("planned", plannedNames),
			variable("others", "variables.named.filter(n, "+unknown+") +\n"+
				"variables.planned.filter(n, "+unknown+" && !(n in variables.named))"),
			variable("names", "variables.others.join(', ')")),
		validation: views.Validation{Expression: "variables.others.size() == 0",
			Message:           "the InstallPlan contains a ClusterServiceVersion that is not pinned",
			MessageExpression: installPlanMessage + literal("; change "+w.file)},
	}
}

const (
	subscriptionPinned = `$.exists(p, p.namespace == object.metadata.namespace && p.package == object.spec.name &&
  p.channel == variables.channel &&
  p.source == object.spec.source && p.sourceNamespace == object.spec.sourceNamespace)`
	subscriptionText = `variables.held.map(p,
  (p.channel == '' ? 'the default channel' : 'channel ' + p.channel) + ' from CatalogSource ' +
  p.sourceNamespace + '/' + p.source + ' in namespace ' + p.namespace).join(', ')`
	subscriptionMessage = `(variables.channel == '' ? 'the default channel' : 'channel ' + variables.channel) +
' of package ' + object.spec.name +
' from CatalogSource ' + object.spec.sourceNamespace + '/' + object.spec.source +
' in namespace ' + object.metadata.namespace + ' is not pinned' +
`
)

// subscriptions refuses Subscriptions to other packages, channels and CatalogSources. Those that OLM makes for
// dependencies have names of their own, so names do not matter (OLM: pkg/controller/registry/resolver/steps.go,
// NewSubscriptionStepResource).
func (w *writer) subscriptions() policy {
	pins := w.pinned("[]", func(f Facts) []entry {
		return lists.Map(f.Subscriptions, func(s Subscription) entry {
			return record(cmp.Or(s.File, w.file), "namespace", s.Namespace, "package", s.Package,
				"channel", s.Channel, "source", s.Source, "sourceNamespace", s.SourceNamespace)
		})
	})
	return policy{
		kind: kind(olm.Group, v1alpha1.SubscriptionKind), version: v1alpha1.GroupVersion,
		about: "Refuses Subscriptions to packages, channels and CatalogSources that are not pinned.",
		variables: append(pins,
			variable("channel", "has(object.spec.channel) ? object.spec.channel : ''"),
			variable("held", over(pins, " +\n", "$.filter(p, p.package == object.spec.name)")),
			variable("text", subscriptionText)),
		validation: views.Validation{Expression: over(pins, " ||\n", subscriptionPinned),
			Message:           "what the Subscription asks for is not pinned",
			MessageExpression: subscriptionMessage + instead + w.change()},
	}
}

const (
	// OLM takes the image before the address of a server, unless the type says that the content is in a ConfigMap (OLM:
	// pkg/controller/registry/reconciler/reconciler.go, ReconcilerForSource).
	sourcePinned = `$.exists(p, p.namespace == object.metadata.namespace && p.name == object.metadata.name &&
  p.image == variables.image && object.spec.sourceType == 'grpc')`
	sourceText    = `$.map(p, p.namespace + '/' + p.name + ' with image ' + p.image)`
	sourceMessage = `'CatalogSource ' + object.metadata.namespace + '/' + object.metadata.name +
(object.spec.sourceType != 'grpc' ? ' of type ' + object.spec.sourceType :
  variables.image == '' ? ' without image' : ' with image ' + variables.image) +
' is not pinned' +
`
)

// catalogSources refuses other CatalogSources, and other images for those that are pinned.
func (w *writer) catalogSources() policy {
	pins := w.pinned("[]", func(f Facts) []entry {
		return lists.Map(f.CatalogSources, func(c CatalogSource) entry {
			return record("", "namespace", c.Namespace, "name", c.Name, "image", c.Image)
		})
	})
	return policy{
		kind: kind(olm.Group, v1alpha1.CatalogSourceKind), version: v1alpha1.GroupVersion,
		about: "Refuses CatalogSources that are not pinned, and other images for those that are.",
		variables: append(pins,
			variable("image", "has(object.spec.image) ? object.spec.image : ''"),
			variable("text", "("+over(pins, " +\n", sourceText)+").join(', ')")),
		validation: views.Validation{Expression: over(pins, " ||\n", sourcePinned),
			Message:           "the CatalogSource or its image is not pinned",
			MessageExpression: sourceMessage + instead + literal("; change "+w.file)},
	}
}

func variable(name, expression string) views.NamedExpression {
	return views.NamedExpression{Name: name, Expression: expression}
}

// change is the end of a message: the file of the package, which the variable held has, or that of all.
func (w *writer) change() string {
	return "'; change ' + (variables.held.size() == 0 ? " + literal(w.file) + " : variables.held[0].file)"
}
