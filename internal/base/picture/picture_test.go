package picture

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

const hostile = "\"]; x-->y <b a='1'>&#1;%{`\x01\n\\end"

// Hostile text stays text: the picture is XML with the elements that were added, and nothing else.
func TestSVG(t *testing.T) {
	s := SVG{Title: hostile, Class: "c", Width: 10, Height: 20, Style: "text{fill:red}\n"}
	s.Rect("r", 1, 2, 3, 4, 0)
	s.Rect("r", 1, 2, 3, 4, 5)
	s.Group(hostile, func() {
		s.Line("l", 1, 2, 3, 4)
		s.Circle("p", 1, 2, 3)
		s.Path("d", "M1 2")
	})
	s.Text(Label{Class: "t", X: 1, Y: 2, Rotate: -60, Anchor: "end", Text: hostile})
	var names, texts []string
	d := xml.NewDecoder(strings.NewReader(s.String()))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			names = append(names, token.Name.Local)
		case xml.CharData:
			if strings.TrimSpace(string(token)) != "" {
				texts = append(texts, string(token))
			}
		}
	}
	if got, want := strings.Join(names, " "), "svg title style rect rect g title line circle path text"; got != want {
		t.Errorf("elements %s, want %s", got, want)
	}
	clean := strings.ReplaceAll(hostile, "\x01", "\uFFFD")
	if len(texts) != 4 || texts[0] != clean || texts[2] != clean || texts[3] != clean {
		t.Errorf("texts %q", texts)
	}
	for _, want := range []string{
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"c\" width=\"10\" height=\"20\" viewBox=\"0 0 10 20\" role=\"img\">\n",
		"<rect class=\"r\" x=\"1\" y=\"2\" width=\"3\" height=\"4\"/>\n", " rx=\"5\"/>\n",
		"<text class=\"t\" x=\"1\" y=\"2\" transform=\"rotate(-60 1 2)\" text-anchor=\"end\">", "<path class=\"d\" d=\"M1 2\"/>\n",
	} {
		if !strings.Contains(s.String(), want) {
			t.Errorf("the picture has no %s:\n%s", want, s.String())
		}
	}
}

func TestEscape(t *testing.T) {
	if got, want := Mermaid(hostile), "#34;#93;#59; x--#62;y #60;b a='1'#62;#38;#35;1#59;#37;#123;#96;  #92;end"; got != want {
		t.Errorf("Mermaid: %s, want %s", got, want)
	}
}

func TestTextWidth(t *testing.T) {
	if got := TextWidth(10, "a", "äöü", ""); got != 22 {
		t.Errorf("three characters are %d pixels", got)
	}
	if got := TextWidth(10, strings.Repeat("x", 50)); got != 74 {
		t.Errorf("ten characters are %d pixels", got)
	}
}
