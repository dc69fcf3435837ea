package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path"
	"slices"
	"sync"

	texts "github.com/olmgen/olmgen/internal/base/text"
)

// contents are the files that a bundle was read from.
type contents struct {
	mu    sync.Mutex
	files map[string][]byte
}

func (c *contents) add(name string, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil {
		c.files = map[string][]byte{}
	}
	c.files[name] = data
}

// Digest returns the digest of the files that were read: what "sha256sum FILE... | sha256sum" prints for their sorted
// paths, behind "sha256:". Line ends of Windows count as those of Unix, so the digest does not depend on the checkout.
func (b *Bundle) Digest() string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(b.contents.files)) {
		sum := sha256.Sum256(texts.LF(b.contents.files[name]))
		h.Write([]byte(hex.EncodeToString(sum[:]) + "  " + name + "\n"))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// Directories returns the directories that files were read from, relative to the root of the bundle, sorted.
func (b *Bundle) Directories() []string {
	dirs := map[string]bool{}
	for name := range b.contents.files {
		dirs[path.Dir(name)] = true
	}
	return slices.Sorted(maps.Keys(dirs))
}
