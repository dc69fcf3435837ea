package helm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/internal/views"
)

// Chart.yaml has what the CSV says, without what Helm refuses.
func TestAbout(t *testing.T) {
	icon := func(data string) v1alpha1.Icon { return v1alpha1.Icon{Data: data, MediaType: "image/png"} }
	for _, c := range []struct {
		spec v1alpha1.ClusterServiceVersionSpec
		want views.Chart
	}{
		{v1alpha1.ClusterServiceVersionSpec{}, views.Chart{}},
		{v1alpha1.ClusterServiceVersionSpec{
			MinKubeVersion: "1.25", Keywords: []string{"a", " a ", "", "b"},
			Provider: v1alpha1.AppLink{Name: "Example"},
			Links:    []v1alpha1.AppLink{{URL: "example.com"}, {URL: "https://example.com/docs"}},
			Maintainers: []v1alpha1.Maintainer{{Name: "A", Email: "a@example.com"}, {Name: "B", Email: "nobody"},
				{Email: "c@example.com"}, {}},
			Icon: []v1alpha1.Icon{icon("!"), icon(strings.Repeat("AAAA", iconLimit/4+1)), icon("AA\nAA"), icon("BBBB")},
		}, views.Chart{
			KubeVersion: ">=1.25.0-0", Keywords: []string{"a", "b"}, Home: "https://example.com/docs",
			Icon: "data:image/png;base64,AAAA",
			Maintainers: []views.Maintainer{{Name: "A", Email: "a@example.com"}, {Name: "B"},
				{Name: "c@example.com", Email: "c@example.com"}},
		}},
		{v1alpha1.ClusterServiceVersionSpec{MinKubeVersion: "new", Provider: v1alpha1.AppLink{URL: "http://a.example"}},
			views.Chart{Home: "http://a.example"}},
	} {
		var got views.Chart
		about(&got, c.spec)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
}
