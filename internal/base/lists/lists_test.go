package lists

import (
	"slices"
	"strconv"
	"testing"
)

func TestMap(t *testing.T) {
	if got := Map([]int{1, 2}, strconv.Itoa); !slices.Equal(got, []string{"1", "2"}) {
		t.Error(got)
	}
	if got := Map(nil, strconv.Itoa); got != nil {
		t.Errorf("%#v of nothing", got)
	}
}

func TestFilter(t *testing.T) {
	even := func(n int) bool { return n%2 == 0 }
	list := []int{1, 2, 4}
	if got := Filter(list, even); !slices.Equal(got, []int{2, 4}) || !slices.Equal(list, []int{1, 2, 4}) {
		t.Error(got, list)
	}
	if got := Filter([]int{1}, even); got != nil {
		t.Errorf("%#v of nothing", got)
	}
}

func TestFindCount(t *testing.T) {
	long := func(s string) bool { return len(s) > 1 }
	if got := Find([]string{"a", "bb", "cc"}, long); got != "bb" {
		t.Error(got)
	}
	if got := Find([]string{"a"}, long); got != "" {
		t.Error(got)
	}
	if got := Count([]string{"a", "bb", "cc"}, long); got != 2 {
		t.Error(got)
	}
}

func TestAdd(t *testing.T) {
	if got := Add(Add([]int{1}, 1), 2); !slices.Equal(got, []int{1, 2}) {
		t.Error(got)
	}
}

func TestAny(t *testing.T) {
	even := func(n int) bool { return n%2 == 0 }
	if !Any(slices.Values([]int{1, 2}), even) || Any(slices.Values([]int{1, 3}), even) || Any(slices.Values([]int(nil)), even) {
		t.Error("of 1, 2 one is even, of 1, 3 none")
	}
}

func TestKeys(t *testing.T) {
	if got := SortedUnique([]int{2, 1, 2}); !slices.Equal(got, []int{1, 2}) {
		t.Error(got)
	}
	if got := Unique([]int{2, 1, 2}); !slices.Equal(got, []int{2, 1}) {
		t.Error(got)
	}
	if got := Keys(map[int]bool{3: true, 1: true}, map[int]bool{2: true, 1: false}); !slices.Equal(got, []int{1, 2, 3}) {
		t.Error(got)
	}
	words := []string{"aa", "b", "cc"}
	length := func(s string) int { return len(s) }
	if got := Set(words, length); len(got) != 2 || !got[1] || !got[2] {
		t.Error(got)
	}
	if got := By(words, length); len(got) != 2 || got[2] != "cc" || got[1] != "b" {
		t.Error(got)
	}
	if got := Groups(append(words, "d"), length); len(got) != 2 || !slices.Equal(got[0], []string{"aa", "cc"}) ||
		!slices.Equal(got[1], []string{"b", "d"}) {
		t.Error(got)
	}
	if got := Group(words, length); len(got) != 2 || !slices.Equal(got[2], []string{"aa", "cc"}) {
		t.Error(got)
	}
}
