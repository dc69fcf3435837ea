package olmv1

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/catalog"
)

// Catalog is a file-based catalog of one package, in which each bundle replaces the one before it.
type Catalog struct {
	Package string
	Content []byte // JSON documents
}

type object map[string]any

// Edges says of a bundle which ones it updates besides the one before it: skips and skipRange of its channel entry.
type Edges map[string]struct {
	Skips     []string
	SkipRange string
}

// NewCatalog makes a catalog of bundles, oldest first, and pushes their images.
func NewCatalog(r *Registry, edges Edges, dirs ...string) (*Catalog, error) {
	c, entries := &Catalog{}, []object(nil)
	var blobs []object
	var channels []string
	var channel string
	for i, dir := range dirs {
		b, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		image, err := r.pushBundle(b.Package, dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		blob, err := bundleBlob(dir, image)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		entry := object{"name": b.CSV.Name}
		if i > 0 {
			entry["replaces"] = entries[i-1]["name"]
		}
		if e, ok := edges[b.CSV.Name]; ok {
			entry["skips"], entry["skipRange"] = e.Skips, e.SkipRange
		}
		c.Package, channels = b.Package, b.Channels
		channel = b.DefaultChannel
		entries, blobs = append(entries, entry), append(blobs, blob)
	}
	if len(channels) == 0 {
		channels = []string{"stable"}
	}
	if !slices.Contains(channels, channel) {
		channel = channels[0]
	}
	documents := []object{{"schema": "olm.package", "name": c.Package, "defaultChannel": channel}}
	for _, name := range channels {
		documents = append(documents,
			object{"schema": "olm.channel", "package": c.Package, "name": name, "entries": entries})
	}
	return c, c.write(append(documents, blobs...))
}

func (c *Catalog) write(documents []object) error {
	var out bytes.Buffer
	for _, d := range documents {
		if err := json.NewEncoder(&out).Encode(d); err != nil {
			return err
		}
	}
	c.Content = out.Bytes()
	return nil
}

// bundleBlob is what a catalog says of a bundle, with the properties that operator-registry finds.
func bundleBlob(dir, image string) (object, error) {
	read, err := catalog.Read(dir)
	if err != nil {
		return nil, err
	}
	properties := []object{}
	for _, p := range read.Properties {
		properties = append(properties, object{"type": p.Type, "value": json.RawMessage(p.Value)})
	}
	return object{"schema": "olm.bundle", "package": read.PackageName, "name": read.CsvName, "image": image,
		"properties": properties}, nil
}
