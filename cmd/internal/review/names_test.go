package review_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/golden/reviewtest"
)

// A catalog that no object names is refused, with the names that are there.
func TestCheckNames(t *testing.T) {
	const subscription = `apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: x, namespace: a}
spec: {name: x, source: community, sourceNamespace: olm}
`
	const extension = `apiVersion: olm.operatorframework.io/v1
kind: ClusterExtension
metadata: {name: x}
spec:
  namespace: a
  source:
    sourceType: Catalog
    catalog: {packageName: x, selector: {matchLabels: {olm.operatorframework.io/metadata.name: community}}}
`
	const image = `---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: community, namespace: olm}
spec: {sourceType: grpc, image: example.com/x}
`
	for _, c := range []struct {
		name, objects string
		values        []string
		refused       string // the hint of the error
		partial       bool
		said, tip     string
	}{
		{name: "the name of a Subscription", objects: subscription, values: []string{"olm/community=d"}},
		{name: "no name", objects: subscription, values: []string{"d"}},
		{name: "a slip", objects: subscription, values: []string{"olm/comunity=d"}, refused: "did you mean olm/community?"},
		{name: "another namespace", objects: subscription, values: []string{"marketplace/community=d"}, refused: "did you mean olm/community?"},
		{name: "a slip beside the right one", objects: subscription, values: []string{"olm/comunity=d", "olm/community=d"},
			refused: "objects name olm/community; content without a name serves all of them"},
		{name: "a slip, and the tree names the image of the right one", objects: subscription + image, values: []string{"olm/comunity=d"},
			refused: "did you mean olm/community?"},
		{name: "another name", objects: subscription, values: []string{"olm/certified=d"}, refused: "objects name olm/community; content without a name serves all of them"},
		{name: "another name, which an unknown part of the tree may have", objects: subscription, values: []string{"olm/certified=d"}, partial: true,
			said: "no object names the catalog olm/certified", tip: "objects name olm/community; content without a name serves all of them"},
		{name: "a template may name any", objects: strings.Replace(subscription, "source: c", "source: '{{hub x}}', x: c", 1),
			values: []string{"olm/certified=d"}},
		{name: "a catalog of OpenShift, which may have what an operator requires", objects: subscription,
			values: []string{"openshift-marketplace/community-operators=d"}},
		{name: "a ClusterCatalog for a Subscription", objects: subscription, values: []string{"community=d"},
			refused: "did you mean olm/community?"},
		{name: "a ClusterCatalog that an extension may mean", objects: subscription + "---\n" + extension, values: []string{"community=d"}},
		{name: "a ClusterCatalog of OpenShift", objects: subscription, values: []string{"openshift-community-operators=d"}},
		{name: "the label of a ClusterExtension", objects: extension, values: []string{"community=d"}},
		{name: "a slip in a ClusterCatalog", objects: extension, values: []string{"comunity=d"}, refused: "did you mean community?"},
		{name: "another ClusterCatalog", objects: extension, values: []string{"certified=d"}},
		{name: "no objects of OLM", objects: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n", values: []string{"olm/community=d"},
			said: "no object names the catalog olm/community"},
	} {
		messages, err := review.CheckNames(c.values, reviewtest.Objects(t, "x.yaml", c.objects), c.partial)
		var bad *review.ContentError
		if errors.As(err, &bad) != (c.refused != "") || bad != nil && bad.Tip != c.refused {
			t.Errorf("%s: %v %v", c.name, err, bad)
		}
		if len(messages) == 0 {
			messages = []*review.ContentError{{}}
		}
		if messages[0].Msg != c.said || messages[0].Tip != c.tip {
			t.Errorf("%s: %+v", c.name, messages[0])
		}
	}
}
