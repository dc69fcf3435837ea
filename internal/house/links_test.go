package house

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// heavy are modules and packages that the command must not link.
var heavy = []string{"k8s.io/apiserver/", "k8s.io/apiextensions-apiserver/pkg/apiserver/", "k8s.io/component-base/metrics",
	"github.com/prometheus/", "github.com/operator-framework/api/pkg/validation", module + "review/crds/objects",
	module + "review/validate/framework"}

// TestCommandIsLight holds that the command links nothing of the API server.
func TestCommandIsLight(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "./cmd/olmgen")
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(out))
	if len(linked) < 100 {
		t.Fatalf("only %d packages", len(linked))
	}
	for _, p := range linked {
		for _, h := range heavy {
			if strings.HasPrefix(p, h) {
				t.Errorf("cmd/olmgen links %s: the API server's code doubles the time that each command needs to start; "+
					"only olmgen-validate may link it (see review/helper)", p)
			}
		}
	}
}
