package site

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/xml"
	"image"
	_ "image/gif" // image.DecodeConfig knows the format
	_ "image/jpeg"
	_ "image/png"

	"github.com/olmgen/olmgen/findings"
)

// Limits of icons. One that is larger is left out: it would make the page heavy.
const (
	maxIcon      = 96 << 10
	maxIndexIcon = 4 << 10
	maxPixels    = 4096 // on a side
)

// icon returns the icon of the package: that of its head, or of the catalog. Nil: there is none that a page may show.
func (m *making) icon(ctx context.Context) *findings.Image {
	if m.head != nil && m.head.CSV != nil {
		for _, i := range m.head.CSV.Spec.Icon {
			if data, err := base64.StdEncoding.DecodeString(i.Data); err == nil {
				if found := safeImage(data); found != nil {
					return found
				}
			}
		}
	}
	// What cannot be read again is an icon that is not there.
	if i, err := m.pkg.Icon(ctx); err == nil && i != nil {
		return safeImage(i.Data)
	}
	return nil
}

// safeImage returns a PNG, JPEG or GIF of moderate size, or an SVG, whatever a stranger calls it.
func safeImage(data []byte) *findings.Image {
	if len(data) == 0 || len(data) > maxIcon {
		return nil
	}
	if config, format, err := image.DecodeConfig(bytes.NewReader(data)); err == nil {
		if config.Width > maxPixels || config.Height > maxPixels {
			return nil
		}
		return &findings.Image{MediaType: "image/" + format, Data: data}
	}
	if isSVG(data) {
		return &findings.Image{MediaType: "image/svg+xml", Data: data}
	}
	return nil
}

// isSVG reports whether data is one SVG document without entities of its own, which could grow without limit.
func isSVG(data []byte) bool {
	if bytes.Contains(data, []byte("<!ENTITY")) {
		return false
	}
	d := xml.NewDecoder(bytes.NewReader(data))
	for {
		token, err := d.Token()
		if err != nil {
			return false
		}
		if start, ok := token.(xml.StartElement); ok {
			return start.Name.Local == "svg"
		}
	}
}
