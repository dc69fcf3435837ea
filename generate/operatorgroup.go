package generate

import (
	"strings"

	"github.com/olmgen/olmgen/manifest"
)

// namespaces makes the Namespace of the operator, with what the CSV suggests for it, and those of its targets.
func namespaces(r *rendering) error {
	if !r.options.CreateNamespace {
		return nil
	}
	own := struct {
		Name                string
		Labels, Annotations map[string]string
	}{Name: r.options.Namespace}
	if t := namespaceTemplate(r.bundle); t != nil && (t.Name == own.Name || r.csv.Annotations[suggestedNamespace] == own.Name) {
		own.Labels, own.Annotations = t.Labels, t.Annotations
	}
	if err := r.author("namespace.yaml", Object{APIVersion: "v1", Kind: "Namespace", Name: own.Name}, own); err != nil {
		return err
	}
	for _, ns := range r.watched() {
		own.Name, own.Labels, own.Annotations = ns, nil, nil
		if err := r.author("namespace.yaml", Object{APIVersion: "v1", Kind: "Namespace", Name: ns}, own); err != nil {
			return err
		}
	}
	return nil
}

// watched gives the namespaces besides the operator's own that get objects.
func (r *rendering) watched() []string {
	if r.global() {
		return r.options.CopiedCSVNamespaces
	}
	var out []string
	for _, t := range r.targets {
		if t != r.options.Namespace {
			out = append(out, t)
		}
	}
	return out
}

// operatorGroup makes the OperatorGroup in the form the server keeps: no empty lists, upgradeStrategy given (spec 1.1, 1.5).
func operatorGroup(r *rendering) error {
	if !r.olm() {
		return nil
	}
	o := r.options
	view := struct {
		Name, Namespace, ProvidedAPIs, ServiceAccount string
		Static                                        bool
		Selector                                      map[string]any
		TargetNamespaces                              []string
	}{
		Name: o.OperatorGroup, Namespace: o.Namespace, ServiceAccount: o.ServiceAccount, Static: o.Static,
		ProvidedAPIs: strings.Join(r.groupAPIs(), ","),
	}
	switch {
	case o.Selector != nil:
		s, err := manifest.Typed(o.Selector)
		if err != nil {
			return err
		}
		view.Selector = s
	case !r.global():
		view.TargetNamespaces = r.targets
	}
	return r.author("operatorgroup.yaml", Object{APIVersion: "operators.coreos.com/v1", Kind: "OperatorGroup", Namespace: o.Namespace, Name: o.OperatorGroup}, view)
}
