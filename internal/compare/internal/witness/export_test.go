package witness

import (
	"cmp"
	"math/rand/v2"
)

// Broken makes objects at random. It returns how many of them the older version takes, and the first one that the newer
// one refuses or drops a field of, with what it says.
func (s *Search) Broken(seed uint64, objects int) (taken int, object map[string]any, said string) {
	if !s.start() {
		return 0, nil, ""
	}
	f := &field{Search: s, old: s.schemas[0], now: s.schemas[1]}
	g := s.generator(0)
	g.random = rand.New(rand.NewPCG(3, seed))
	for range objects {
		g.branch++
		j := s.ask(f.object(g, nil, g.value(s.schemas[0], 0)))
		if !j.taken {
			continue
		}
		taken++
		if list := j.faults[""]; len(list) > 0 {
			return taken, j.object, list[0].Path + ": " + cmp.Or(list[0].Message, "dropped")
		}
	}
	return taken, nil, ""
}
