package witness

import "math/rand/v2"

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
		o := f.object(g, g.value(s.schemas[0], 0))
		if refused, dropped := s.servers[0].Creates(o); len(refused)+len(dropped) > 0 {
			continue
		}
		taken++
		refused, dropped := s.servers[1].Creates(o)
		switch {
		case len(refused) > 0:
			return taken, o, refused[0].Path + ": " + refused[0].Message
		case len(dropped) > 0:
			return taken, o, dropped[0] + ": dropped"
		}
	}
	return taken, nil, ""
}
