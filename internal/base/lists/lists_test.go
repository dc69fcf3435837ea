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
