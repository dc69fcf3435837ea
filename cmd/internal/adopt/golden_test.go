package adopt_test

import (
	"flag"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/cmd/internal/adopt"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Golden files have what is declared for a cluster with webhooks in each form, and, of the form that stays with OLM,
// the objects in which the fields uid and installed show.
func TestGolden(t *testing.T) {
	s, _ := adopted(t, "gates-multi.yaml", adopt.Options{})
	for _, to := range []generate.Profile{generate.ProfileOLM, generate.ProfilePlain, generate.ProfileSubscription} {
		o := adopt.Options{File: "olmgen.yaml", Directory: "operators", To: to,
			Sources: map[string]string{"gatekeeping-operator": "live-bundles/gates"}}
		out, err := adopt.Declare(s, o)
		if err != nil {
			t.Fatal(err)
		}
		golden.CheckFile(t, filepath.Join("testdata", "golden", string(to)+".yaml"), out, *update)
		if to == generate.ProfileSubscription {
			continue
		}
		c, err := config.Read("olmgen.yaml", out)
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Render(t.Context(), config.Options{Dir: "../../../golden"})
		if err != nil {
			t.Fatal(err)
		}
		var objects strings.Builder
		for _, x := range r.Objects {
			shown := []string{"ClusterServiceVersion", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
			if slices.Contains(shown, x.Kind) && (x.Namespace == "" || x.Namespace == "operator-ns") {
				objects.WriteString("---\n" + string(x.Data))
			}
		}
		golden.CheckFile(t, filepath.Join("testdata", "golden", string(to)+".objects.yaml"), []byte(objects.String()),
			*update)
	}
}
