package generate

import (
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/views"
	"github.com/olmgen/olmgen/manifest"
)

// namespaces makes the Namespace of the operator, with what the CSV suggests for it, and those of its targets. Each is
// made on request only: a target namespace mostly belongs to a tenant, and is deleted with all that is in it when its
// file goes. A Subscription has the Namespace of the operator where it is not there already.
func namespaces(r *rendering) {
	if r.options.CreateNamespace ||
		r.options.Profile == ProfileSubscription && !olm.HasGlobalGroup(r.options.Namespace) {
		r.ownNamespace()
	}
	if r.options.CreateTargetNamespaces {
		for _, ns := range r.watched() {
			r.namespace(views.Namespace{Name: ns})
		}
	}
}

func (r *rendering) ownNamespace() {
	own := views.Namespace{Name: r.options.Namespace}
	if r.bundle.Partial {
		r.warnInstallation("the Deployments of %s are not known, so neither is the Pod Security level of namespace %s",
			r.csv.Name, own.Name)
	}
	if t := namespaceTemplate(r.bundle); t != nil &&
		(t.Name == own.Name || r.csv.Annotations[olm.AnnotationSuggestedNamespace] == own.Name) {
		own.Labels, own.Annotations = t.Labels, t.Annotations
	}
	r.namespace(own)
}

func (r *rendering) namespace(view views.Namespace) {
	r.author("namespace.yaml", Object{APIVersion: "v1", Kind: "Namespace", Name: view.Name},
		r.withPodSecurity(view))
}

// watched returns the namespaces besides the operator's own that objects are rendered into.
func (r *rendering) watched() []string {
	if r.global() {
		return r.options.CopiedCSVNamespaces
	}
	return lists.Filter(r.targets, func(t string) bool { return t != r.options.Namespace })
}

func operatorGroup(r *rendering) {
	if r.olm() {
		r.operatorGroup(r.groupAPIs())
	}
}

// operatorGroup makes the OperatorGroup in the form the server keeps: no empty lists, upgradeStrategy given (spec 1.1,
// 1.5).
func (r *rendering) operatorGroup(providedAPIs []string) {
	o := r.options
	view := views.OperatorGroup{
		Name: o.OperatorGroup, Namespace: o.Namespace, ServiceAccount: o.ServiceAccount, Static: o.Static,
		ProvidedAPIs: strings.Join(providedAPIs, ","),
	}
	switch {
	case o.Selector != nil:
		s, err := manifest.Typed(o.Selector)
		r.fail(err)
		view.Selector = s
	case !r.global():
		view.TargetNamespaces = r.targets
	}
	r.author("operatorgroup.yaml",
		Object{APIVersion: "operators.coreos.com/v1", Kind: "OperatorGroup", Namespace: o.Namespace,
			Name: o.OperatorGroup}, view)
}

// groupAPIs returns what the OperatorGroup provides, the sorted set of Kind.version.group: the APIs of all its
// operators and static ones.
func (r *rendering) groupAPIs() []string {
	return lists.SortedUnique(slices.Concat(lists.Map(r.apis, olm.API.String), r.options.StaticProvidedAPIs,
		r.options.neighbors.groupAPIs))
}

// checkStatic refuses what OLM would ignore: an item needs two dots (spec 1.5, GVKStringToProvidedAPISet).
func checkStatic(static []string) error {
	for _, s := range static {
		if strings.Count(s, ".") < 2 || strings.HasPrefix(s, ".") || strings.ContainsAny(s, ", \t\n") {
			return refuseOption(option.StaticProvidedAPIs, "write it as in Prometheus.v1.monitoring.coreos.com",
				"static provided API %q is not of the form Kind.version.group", s)
		}
	}
	return nil
}
