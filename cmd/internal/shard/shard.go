// Package shard divides work between processes that know nothing of each other.
package shard

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// Shard is a part of the work on a set. A member is in the same shard of as many, whatever else the set has. The zero
// value is the whole set.
type Shard struct{ Index, Count int } // Index is 1 to Count

// Whole is the only shard of a set that is not split.
var Whole = Shard{1, 1}

// maxShards keeps a mistake from making a million jobs.
const maxShards = 10_000

// Parse reads I/N.
func Parse(text string) (Shard, error) {
	left, right, ok := strings.Cut(text, "/")
	i, err := strconv.Atoi(left)
	n, err2 := strconv.Atoi(right)
	if !ok || err != nil || err2 != nil || i < 1 || i > n || n > maxShards {
		return Shard{}, fmt.Errorf("%q is not a shard: want I/N, such as 1/4 to 4/4", text)
	}
	return Shard{i, n}, nil
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Count) }

// Has reports whether a member, such as a package, is in the shard.
func (s Shard) Has(member string) bool {
	if s.Count <= 1 {
		return true
	}
	h := fnv.New32a()
	h.Write([]byte(member))
	return int(h.Sum32()%uint32(s.Count)) == s.Index-1
}

// Hint is the advice for parts that do not fit together.
const Hint = "give the parts of all shards of one run"

// Complete returns an error unless the shards, as I/N, are all of N, each once.
func Complete(shards []string) error {
	if len(shards) == 0 {
		return errors.New("there are no parts")
	}
	first, err := Parse(shards[0])
	if err != nil {
		return err
	}
	seen := map[int]bool{}
	for _, text := range shards {
		s, err := Parse(text)
		switch {
		case err != nil:
			return err
		case s.Count != first.Count:
			return fmt.Errorf("the shards %s and %s are not of the same number", first, s)
		case seen[s.Index]:
			return fmt.Errorf("the shard %s is there twice", s)
		}
		seen[s.Index] = true
	}
	var missing []string
	for i := 1; i <= first.Count; i++ {
		if !seen[i] {
			missing = append(missing, Shard{i, first.Count}.String())
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%d of %d shards are missing: %s", len(missing), first.Count,
			strings.Join(missing[:min(len(missing), 10)], ", "))
	}
	return nil
}
