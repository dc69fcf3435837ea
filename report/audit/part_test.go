package audit

import (
	"fmt"
	"testing"

	"github.com/olmgen/olmgen/internal/fuzztest"
)

// Each package is in one shard, whatever else there is, and the shards are of about one size.
func TestShardHas(t *testing.T) {
	const count = 7
	var sizes [count]int
	for i := range 7000 {
		in := 0
		for s := 1; s <= count; s++ {
			if (Shard{s, count}).Has(fmt.Sprintf("operator-%d", i)) {
				sizes[s-1]++
				in++
			}
		}
		if in != 1 {
			t.Fatalf("package %d is in %d shards", i, in)
		}
	}
	for _, n := range sizes {
		if n < 800 || n > 1200 {
			t.Errorf("%v", sizes)
		}
	}
	for pkg, want := range map[string]int{"prometheus": 2, "etcd": 4} { // the same in each release of olmgen
		if !(Shard{want, 4}).Has(pkg) {
			t.Errorf("%s is not in shard %d", pkg, want)
		}
	}
	if !(Shard{}).Has("x") {
		t.Error("without shards, a package is left out")
	}
}

func FuzzReadPart(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"olmgen.dev/v1alpha1","kind":"AuditPart","shard":"1/1","packages":[{"rows":[{}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzztest.Limit(t, len(data))
		if p, err := ReadPart(data); err == nil {
			_, _ = MergeParts([]*Part{p})
		}
	})
}
