package gittree

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

var errNoRevision = errors.New("no such revision")

// minHash is how many digits a shortened hash has at least, as in Git.
const minHash = 4

// resolve returns the commit of a revision as gitrevisions(7) writes it: a branch, a tag, a hash or its first digits,
// or HEAD, with ~N and ^N behind it.
func (r *Repository) resolve(rev string) (commit, error) {
	end := strings.IndexAny(rev, "~^")
	if end < 0 {
		end = len(rev)
	}
	c, err := r.named(rev[:end])
	for rest := rev[end:]; rest != "" && err == nil; {
		sign, after := rest[0], rest[1:]
		if text, ok := strings.CutPrefix(after, "{commit}"); ok && sign == '^' {
			rest = text
			continue
		}
		if text, ok := strings.CutPrefix(after, "{}"); ok && sign == '^' {
			rest = text
			continue
		}
		digits := len(after) - len(strings.TrimLeft(after, "0123456789"))
		n := 1
		if digits > 0 {
			if n, err = strconv.Atoi(after[:digits]); err != nil {
				return commit{}, errNoRevision
			}
		}
		if rest = after[digits:]; rest != "" && rest[0] != '~' && rest[0] != '^' {
			return commit{}, errNoRevision
		}
		if sign == '~' {
			c, err = r.ancestor(c, n)
		} else if n > 0 {
			c, err = r.parent(c, n)
		}
	}
	return c, err
}

func (r *Repository) ancestor(c commit, n int) (_ commit, err error) {
	for ; n > 0 && err == nil; n-- {
		c, err = r.parent(c, 1)
	}
	return c, err
}

func (r *Repository) parent(c commit, n int) (commit, error) {
	if n > len(c.parents) {
		return commit{}, errNoRevision
	}
	c, err := r.commit(c.parents[n-1])
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return commit{}, errNoRevision // the history of a shallow clone ends
	}
	return c, err
}

// named returns the commit of a hash or a reference. Git prefers the hash.
func (r *Repository) named(name string) (commit, error) {
	if name == "@" {
		name = "HEAD"
	}
	hashes := r.startingWith(name)
	for _, rule := range plumbing.RefRevParseRules {
		ref, err := storer.ResolveReference(r.store, plumbing.ReferenceName(fmt.Sprintf(rule, name)))
		if err == nil && name != "" {
			hashes = append(hashes, ref.Hash())
			break
		}
	}
	err := errNoRevision
	for _, hash := range hashes {
		c, err2 := r.commit(hash)
		if err2 == nil {
			return c, nil
		}
		if !errors.Is(err2, plumbing.ErrObjectNotFound) {
			err = err2
		}
	}
	return commit{}, err
}

func (r *Repository) startingWith(digits string) (found []plumbing.Hash) {
	if plumbing.IsHash(digits) {
		return []plumbing.Hash{plumbing.NewHash(digits)}
	}
	if len(digits) < minHash {
		return nil
	}
	prefix, err := hex.DecodeString(digits[:len(digits)&^1])
	if err != nil {
		return nil
	}
	hashes, err := r.store.HashesWithPrefix(prefix)
	if err != nil {
		return nil
	}
	for _, h := range hashes {
		if strings.HasPrefix(h.String(), strings.ToLower(digits)) {
			found = append(found, h)
		}
	}
	return found
}
