package pin

import (
	"fmt"

	"github.com/olmgen/olmgen/predict"
)

const fieldSelector = "spec.source.catalog.selector"

// checkSelectors refuses ClusterExtensions that do not select their pinned catalog, or that the admission policies,
// which compare labels, would refuse. Where the pinned catalog has a name of its own, the selector is replaced.
func (m *maker) checkSelectors() error {
	_, policies := m.keepsPolicies()
	for _, x := range m.input.Extensions {
		from := x.key().Source
		if !x.InGit || m.to(from) != from {
			continue
		}
		tip := fmt.Sprintf("write matchLabels with %s: %s, and nothing else", predict.LabelCatalogName, from.Name)
		switch {
		case !predict.SelectsByName(x.Selector, from.Name):
			return x.refuse(fmt.Sprintf("the pinned ClusterCatalog %s has no label but %s, and is not selected",
				from.Name, predict.LabelCatalogName), tip, fieldSelector)
		case policies && x.Selector != nil && len(x.Selector.MatchExpressions) > 0:
			return x.refuse("the admission policies compare labels, and would refuse matchExpressions", tip,
				fieldSelector)
		}
	}
	return nil
}
