package permissions_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/internal/rbac/danger"
	"github.com/olmgen/olmgen/permissions"
)

const (
	pageBegin = "<!-- consequences: written by make docs -->\n"
	pageEnd   = "<!-- end of consequences -->\n"
)

// TestPage keeps the list of what follows from a right equal to the rules; make docs writes it.
func TestPage(t *testing.T) {
	name := filepath.Join("..", "docs", "reference", "rights.md")
	golden.CheckPart(t, name, pageBegin, pageEnd, page(), *update)
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before := string(data)
	for _, risk := range danger.Risks {
		if !strings.Contains(before, "`"+string(risk)+"`") {
			t.Errorf("the page does not explain the risk %s", risk)
		}
	}
	for _, why := range permissions.Whys {
		if !strings.Contains(before, "`"+string(why)+"`") {
			t.Errorf("the page does not explain the reason %s", why)
		}
	}
}

func page() string {
	var b strings.Builder
	fmt.Fprint(&b, "| Rule | In the cluster | In a namespace | Who has it | More |\n| --- | --- | --- | --- | --- |\n")
	for _, r := range permissions.Rules() {
		level := func(s string) string {
			s, _, _ = strings.Cut(s, " ")
			if s == "" {
				return "no"
			}
			return s
		}
		c, ok := cases[r.ID]
		cluster, namespace := strangers[r.ID], strangers[r.ID]
		if ok {
			cluster, namespace = level(c.cluster), level(c.namespace)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", r.ID, cluster, namespace, r.Text, r.Help)
	}
	return b.String()
}

// strangers are the levels of the rules that are not about permissions of an account.
var strangers = map[string]string{"role-unknown": "warning", "account-missing": "warning", "users-gain": "warning", "everyone-gains": "error or note"}
