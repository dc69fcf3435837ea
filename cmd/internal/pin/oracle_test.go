package pin_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/cmd/internal/pin"
	"github.com/olmgen/olmgen/golden/resolvercase"
)

// TestOracle pins what OLM's own resolver came to rest at, in all cases of OLMGEN_ORACLE. Make plays each pinned
// catalog before it returns.
func TestOracle(t *testing.T) {
	root := os.Getenv("OLMGEN_ORACLE")
	if root == "" {
		t.Skip("OLMGEN_ORACLE is not set")
	}
	dirs, err := filepath.Glob(filepath.Join(root, "resolver", "cases", "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no cases below %s: %v", root, err)
	}
	var count oracleCount
	t.Run("cases", func(t *testing.T) {
		random := 0
		for _, dir := range dirs {
			if strings.HasPrefix(filepath.Base(dir), "random-") {
				if random++; random%5 != 0 {
					continue // "make e2e CHECK=pin" takes all of them
				}
			}
			t.Run(filepath.Base(dir), func(t *testing.T) {
				t.Parallel()
				count.pin(t, dir)
			})
		}
	})
	t.Logf("%d scenarios: %d settle in catalogs that opm serves, %d of them are pinned, %d refused", count.scenarios,
		count.settled, count.pinned, count.refused)
}

type oracleCount struct {
	sync.Mutex
	scenarios, settled, pinned, refused int
}

func (c *oracleCount) pin(t *testing.T, dir string) {
	in, opened, err := resolvercase.ReadOpened(dir)
	if err != nil {
		t.Fatal(err)
	}
	want, err := resolvercase.ReadAnswer(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range in.Scenarios {
		c.add(&c.scenarios)
		outcome := want.Scenarios[i].Outcome
		if len(want.CatalogErrors) > 0 || outcome != string(resolve.Settled) && outcome != resolvercase.Unstable {
			continue
		}
		state, err := in.State(&in.Scenarios[i], opened)
		if err != nil {
			t.Fatal(err)
		}
		asked, _, err := approvedAt(context.Background(), state)
		if err != nil {
			t.Fatal(err)
		}
		if len(asked) == 0 {
			continue
		}
		c.add(&c.settled)
		made := slices.ContainsFunc(asked, func(q pin.Namespace) bool {
			_, err := pin.Make(context.Background(), &pin.Input{Namespaces: []*pin.Namespace{&q}}, nil)
			if err != nil {
				t.Logf("%s, %s: %v", in.Scenarios[i].Name, outcome, err)
			}
			return err == nil
		})
		if made {
			c.add(&c.pinned)
		} else {
			c.add(&c.refused)
		}
	}
}

func (c *oracleCount) add(n *int) {
	c.Lock()
	defer c.Unlock()
	*n++
}
