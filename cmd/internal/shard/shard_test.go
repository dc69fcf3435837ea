package shard

import (
	"fmt"
	"strings"
	"testing"
)

// Each package is in one shard, whatever else there is, and the shards are of about one size.
func TestHas(t *testing.T) {
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

func TestParse(t *testing.T) {
	if s, err := Parse("2/4"); err != nil || s != (Shard{2, 4}) || s.String() != "2/4" {
		t.Errorf("%v, %v", s, err)
	}
	for _, text := range []string{"", "2", "0/4", "5/4", "-1/4", "a/b", "1/2/3", "1/10001"} {
		if s, err := Parse(text); err == nil {
			t.Errorf("%q: %v", text, s)
		}
	}
}

func TestComplete(t *testing.T) {
	for _, c := range []struct{ shards, want string }{
		{"1/1", ""},
		{"3/3 1/3 2/3", ""},
		{"", "there are no parts"},
		{"1/2 x", `"x" is not a shard`},
		{"1/2 2/3", "the shards 1/2 and 2/3 are not of the same number"},
		{"1/2 1/2", "the shard 1/2 is there twice"},
		{"2/3", "2 of 3 shards are missing: 1/3, 3/3"},
	} {
		err := Complete(strings.Fields(c.shards))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.shards, err, c.want)
		}
	}
}
