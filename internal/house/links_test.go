package house

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// heavy are modules and packages that the command must not link.
var heavy = []string{"github.com/operator-framework/api/pkg/validation", module + "cmd/internal/rules/validate/framework",
	"helm.sh/helm",
	// Their patterns and tables take longer to make than "olmgen version" takes otherwise.
	"github.com/microcosm-cc/bluemonday", "github.com/distribution/reference", "golang.org/x/net/html",
	// SSH, HTTP and OpenPGP for Git.
	"golang.org/x/crypto/ssh", "github.com/ProtonMail/", "github.com/go-git/go-git/v5/plumbing/transport",
	// Old API types of Kubernetes: internal/olm/versions/kubetypes.txt has what is needed of them.
	"k8s.io/api/extensions/", "k8s.io/api/resource/", "k8s.io/api/apps/v1beta", "k8s.io/api/storage/v1beta"}

// TestCommandIsLight holds that the command links nothing that costs every start much: the API server for example.
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
				t.Errorf("cmd/olmgen links %s: each command would pay for it at its start; "+
					"only the programs beside olmgen may link the API server and helm (see cmd/internal/beside)", p)
			}
		}
	}
}
