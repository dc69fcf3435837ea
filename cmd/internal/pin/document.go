package pin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// document returns the documents of a package: olm.package, olm.bundle and those of other schemas as the source has
// them, olm.channel with other entries and comments, and the deprecations of what is pinned.
func (c *Content) document(ctx context.Context) ([]byte, error) {
	var out bytes.Buffer
	if err := c.writePackage(ctx, &out); err != nil {
		return nil, err
	}
	for _, ch := range c.Channels {
		if err := ch.write(ctx, &out, c.Name); err != nil {
			return nil, err
		}
	}
	for _, b := range c.Bundles {
		data, err := b.Document(ctx)
		if err != nil {
			return nil, err
		}
		if err := c.addImages(data); err != nil {
			return nil, err
		}
		if err := writeDocument(&out, data); err != nil {
			return nil, err
		}
	}
	if err := c.writeDeprecations(&out); err != nil {
		return nil, err
	}
	for i := range c.source.Others {
		data, err := c.source.Others[i].Document(ctx)
		if err != nil {
			return nil, err
		}
		if err := writeDocument(&out, data); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

func writeDocument(out *bytes.Buffer, data []byte) error {
	out.WriteString("---\n")
	return writeYAML(out, json.RawMessage(data))
}

func (c *Content) addImages(bundle []byte) error {
	var doc struct {
		Image         string `json:"image"`
		RelatedImages []struct {
			Image string `json:"image"`
		} `json:"relatedImages"`
	}
	err := manifest.DecodeJSON(bundle, &doc)
	named := doc.Image == ""
	for _, i := range doc.RelatedImages {
		c.Images = append(c.Images, i.Image)
		named = named || i.Image == doc.Image
	}
	if c.Images = append(c.Images, doc.Image); !named {
		c.Unnamed = append(c.Unnamed, doc.Image)
	}
	return err
}

func (c *Content) has(channel string) bool {
	return slices.ContainsFunc(c.Channels, func(ch *Channel) bool { return ch.Name == channel })
}

func (c *Content) writePackage(ctx context.Context, out *bytes.Buffer) error {
	channel, fields := c.source.DefaultChannel, map[string]json.RawMessage{}
	if !c.has(channel) {
		channel = c.Channels[0].Name
	}
	data, err := c.source.Document(ctx)
	if err != nil {
		return err
	}
	if data != nil {
		if err := manifest.DecodeJSON(data, &fields); err != nil {
			return err
		}
	}
	for key, value := range map[string]string{"schema": olm.SchemaPackage, "name": c.Name,
		"defaultChannel": channel} {
		if fields[key], err = json.Marshal(value); err != nil {
			return err
		}
	}
	out.WriteString("---\n")
	if channel != c.source.DefaultChannel {
		fmt.Fprintf(out, "# defaultChannel was %s, which is not pinned\n", scalar(c.source.DefaultChannel))
	}
	return writeYAML(out, fields)
}

// write writes an olm.channel. A comment on each entry says why it is there.
func (ch *Channel) write(ctx context.Context, out *bytes.Buffer, pkg string) error {
	fmt.Fprintf(out, "---\nschema: %s\npackage: %s\nname: %s\n", olm.SchemaChannel, scalar(pkg), scalar(ch.Name))
	if err := ch.writeMore(ctx, out); err != nil {
		return err
	}
	out.WriteString("entries:\n")
	for _, e := range ch.Entries {
		fmt.Fprintf(out, "# %s\n", text.Printable(text.OneLine(e.Why)))
		for _, edit := range e.Edits {
			fmt.Fprintf(out, "# %s\n", text.Printable(text.OneLine(edit)))
		}
		if err := writeYAML(out, []catalog.Entry{e.Entry}); err != nil {
			return err
		}
	}
	return nil
}

// writeMore writes what the olm.channel of the source has in addition, such as properties.
func (ch *Channel) writeMore(ctx context.Context, out *bytes.Buffer) error {
	data, err := ch.source.Document(ctx)
	if err != nil || data == nil {
		return err
	}
	var fields map[string]json.RawMessage
	if err := manifest.DecodeJSON(data, &fields); err != nil {
		return err
	}
	for _, written := range []string{"schema", "package", "name", "entries"} {
		delete(fields, written)
	}
	if len(fields) == 0 {
		return nil
	}
	return writeYAML(out, fields)
}

// writeYAML writes a value: fields in the order of their names, numbers as they are.
func writeYAML(out *bytes.Buffer, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	text, err := yaml.JSONToYAML(text.EscapeJSON(data))
	out.Write(text)
	return err
}

// writeDeprecations writes the deprecations of the package and of the channels and bundles that are pinned.
func (c *Content) writeDeprecations(out *bytes.Buffer) error {
	type reference struct {
		Schema string `json:"schema"`
		Name   string `json:"name,omitempty"`
	}
	type entry struct {
		Reference reference `json:"reference"`
		Message   string    `json:"message"`
	}
	var entries []entry
	for _, d := range c.source.Deprecations {
		pinned := d.Schema == olm.SchemaPackage ||
			d.Schema == olm.SchemaChannel && c.has(d.Name) ||
			d.Schema == olm.SchemaBundle && slices.ContainsFunc(c.Bundles,
				func(b *catalog.Bundle) bool { return b.Name == d.Name })
		if pinned {
			entries = append(entries, entry{reference{d.Schema, d.Name}, d.Message})
		}
	}
	if len(entries) == 0 {
		return nil
	}
	out.WriteString("---\n")
	return writeYAML(out, map[string]any{"schema": olm.SchemaDeprecations, "package": c.Name, "entries": entries})
}

func scalar(s string) string {
	text, err := yaml.Marshal(s)
	if err != nil { // a control character
		return fmt.Sprintf("%q", s)
	}
	return strings.TrimSuffix(string(text), "\n")
}
