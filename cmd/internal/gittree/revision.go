package gittree

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/storer"

	"github.com/olmgen/olmgen/internal/base/lists"
)

var errNoRevision = errors.New("no such revision")

// resolve returns the commit of a branch, a tag, a hash or its first digits, or HEAD, with ~N and ^N behind it.
func (r *Repository) resolve(rev string) (commit, error) {
	end := strings.IndexAny(rev, "~^")
	if end < 0 {
		end = len(rev)
	}
	c, err := r.named(rev[:end])
	for rest := peels.Replace(rev[end:]); rest != "" && err == nil; {
		sign, after := rest[0], rest[1:]
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
		if sign == '^' && n > 0 {
			c, err = r.parent(c, n)
		}
		for ; sign == '~' && n > 0 && err == nil; n-- {
			c, err = r.parent(c, 1)
		}
	}
	return c, err
}

var peels = strings.NewReplacer("^{commit}", "", "^{}", "") // they ask for a commit, which it is

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

func (r *Repository) startingWith(digits string) []plumbing.Hash {
	if plumbing.IsHash(digits) {
		return []plumbing.Hash{plumbing.NewHash(digits)}
	}
	if len(digits) < 4 { // as in Git
		return nil
	}
	prefix, err := hex.DecodeString(digits[:len(digits)&^1])
	if err != nil {
		return nil
	}
	hashes, _ := r.store.HashesWithPrefix(prefix)
	return lists.Filter(hashes, func(h plumbing.Hash) bool {
		return strings.HasPrefix(h.String(), strings.ToLower(digits))
	})
}

// The formats are those of gitformat-pack and git-cat-file: a commit and a tag start with lines "key value" up to an
// empty line; a tree is a list of "mode name\x00" and the 20 bytes of a hash.

const (
	maxObject = 64 << 20 // bytes of a commit, tag or tree
	maxDepth  = 256      // of directories, and of tags on tags
)

type commit struct {
	tree    plumbing.Hash
	parents []plumbing.Hash
}

type entry struct {
	name string
	mode filemode.FileMode
	hash plumbing.Hash
}

func (r *Repository) content(kind plumbing.ObjectType, hash plumbing.Hash) ([]byte, error) {
	o, err := r.store.EncodedObject(kind, hash)
	if err != nil {
		return nil, err
	}
	if o.Size() > maxObject {
		return nil, fmt.Errorf("%s %s is larger than %d MiB", kind, hash, maxObject>>20)
	}
	in, err := o.Reader()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(in, maxObject))
	return data, errors.Join(err, in.Close())
}

// commit reads the commit of a hash: itself, or what a tag names.
func (r *Repository) commit(hash plumbing.Hash) (commit, error) {
	for range maxDepth {
		tag, err := r.content(plumbing.TagObject, hash)
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			break
		}
		if err != nil {
			return commit{}, err
		}
		values := headers(tag)
		if len(values["object"]) != 1 {
			return commit{}, fmt.Errorf("tag %s is broken", hash)
		}
		hash = values["object"][0]
	}
	data, err := r.content(plumbing.CommitObject, hash)
	if err != nil {
		return commit{}, err
	}
	values := headers(data)
	if len(values["tree"]) != 1 {
		return commit{}, fmt.Errorf("commit %s is broken", hash)
	}
	return commit{values["tree"][0], values["parent"]}, nil
}

func headers(data []byte) map[string][]plumbing.Hash {
	values := map[string][]plumbing.Hash{}
	for line := range bytes.Lines(data) {
		if len(line) == 1 {
			break
		}
		key, value, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		if plumbing.IsHash(value) {
			values[key] = append(values[key], plumbing.NewHash(value))
		}
	}
	return values
}

func (r *Repository) entries(tree plumbing.Hash) ([]entry, error) {
	data, err := r.content(plumbing.TreeObject, tree)
	if err != nil {
		return nil, err
	}
	list, ok := parseTree(data)
	if !ok {
		return nil, fmt.Errorf("tree %s is broken", tree)
	}
	return list, nil
}

func parseTree(data []byte) (list []entry, ok bool) {
	for len(data) > 0 {
		head, rest, ok := bytes.Cut(data, []byte{0})
		mode, name, ok2 := strings.Cut(string(head), " ")
		m, err := filemode.New(mode)
		if !ok || !ok2 || err != nil || len(rest) < len(plumbing.ZeroHash) {
			return nil, false
		}
		list = append(list, entry{name, m, plumbing.Hash(rest[:len(plumbing.ZeroHash)])})
		data = rest[len(plumbing.ZeroHash):]
	}
	return list, true
}

var errNoEntry = errors.New("no such path")

// lookUp returns the entry of a path with slashes below a tree; "." is the tree itself.
func (r *Repository) lookUp(tree plumbing.Hash, path string) (entry, error) {
	at := entry{mode: filemode.Dir, hash: tree}
	if path == "." {
		return at, nil
	}
	for name := range strings.SplitSeq(path, "/") {
		if at.mode != filemode.Dir {
			return entry{}, errNoEntry
		}
		list, err := r.entries(at.hash)
		if err != nil {
			return entry{}, err
		}
		i := slices.IndexFunc(list, func(e entry) bool { return e.name == name })
		if i < 0 {
			return entry{}, errNoEntry
		}
		at = list[i]
	}
	return at, nil
}
