package updates_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/cmd/internal/updates"
	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
)

var update = flag.Bool("update", false, "write the golden files anew")

const head = "schema: olm.package\nname: p\ndefaultChannel: stable\n"

func channel(name, entries string) string {
	return "---\nschema: olm.channel\npackage: p\nname: " + name + "\nentries:\n" + entries
}

func bundles(versions ...string) string {
	out := ""
	for _, v := range versions {
		out += "---\nschema: olm.bundle\npackage: p\nname: p.v" + v + "\nimage: x\nproperties:\n" +
			"- {type: olm.package, value: {packageName: p, version: " + v + "}}\n"
	}
	return out
}

// example has everything that is drawn: channels, replaces over others, skips, a skipRange, a dangling replaces, a
// missing bundle, deprecations.
var example = head + channel("stable", `
- {name: p.v1.0.0}
- {name: p.v1.0.1, replaces: p.v1.0.0}
- {name: p.v1.1.0, replaces: p.v1.0.0, skips: [p.v1.0.1]}
- {name: p.v1.2.0, replaces: p.v1.1.0, skipRange: '<1.1.0'}
`) + channel("stable-1.9", "- {name: p.v1.0.0, replaces: p.v0.9.0}\n") +
	channel("stable-1.10", "- {name: p.v1.0.1}\n- {name: p.v1.1.0, replaces: p.v1.0.1}\n- {name: p.v3.0.0, replaces: p.v1.1.0}\n") +
	bundles("1.0.0", "1.0.1", "1.1.0", "1.2.0") + `---
schema: olm.deprecations
package: p
entries:
- {reference: {schema: olm.bundle, name: p.v1.0.0}, message: "has <a> & \"b\""}
- {reference: {schema: olm.channel, name: stable-1.9}, message: use stable}
`

func pkg(t *testing.T, text string) *catalog.Package {
	t.Helper()
	c, err := catalog.ReadFS(context.Background(), fstest.MapFS{"c.yaml": {Data: []byte(text)}}, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c.Packages[c.Names()[0]]
}

func draw(t *testing.T, g *updates.Graph) string {
	t.Helper()
	var b bytes.Buffer
	if err := g.SVG(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func wellFormed(text string) error {
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func TestGolden(t *testing.T) {
	for name, o := range map[string]updates.Options{"example": {}, "path": {From: "1.0.1"}, "channel": {Channel: "stable-1.10", From: "1.0.0"}} {
		g, err := updates.NewGraph(pkg(t, example), o)
		if name == "channel" {
			if err == nil {
				t.Error("a path in a channel that neither has nor updates the version is no error")
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		golden.CheckFile(t, filepath.Join("testdata", name+".svg"), []byte(draw(t, g)), *update)
	}
}

// Lanes, the order in them, and edges.
func TestOf(t *testing.T) {
	g, err := updates.NewGraph(pkg(t, example), updates.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var lanes []string
	for _, l := range g.Lanes {
		var nodes []string
		for _, n := range l.Nodes {
			nodes = append(nodes, n.Label)
		}
		lanes = append(lanes, l.Name+": "+strings.Join(nodes, " "))
	}
	want := "stable: 1.2.0 1.1.0 1.0.1 1.0.0; stable-1.10: 3.0.0 1.1.0 1.0.1; stable-1.9: 1.0.0 0.9.0"
	if got := strings.Join(lanes, "; "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	stable := g.Lanes[0]
	count := map[catalog.EdgeKind]int{}
	for _, e := range stable.Edges {
		count[e.Kind]++
	}
	if count[catalog.Replaces] != 3 || count[catalog.Skips] != 1 || count[catalog.SkipRange] != 2 {
		t.Errorf("edges %v", count)
	}
	if !stable.Nodes[0].Head || stable.Nodes[3].Deprecated == "" || g.Lanes[2].Deprecated == "" || !g.Lanes[1].Nodes[0].Missing ||
		!g.Lanes[2].Nodes[1].Outside {
		t.Errorf("%+v", g.Lanes)
	}
}

// The path is the one of OLM, and its edges take the place of others.
func TestPath(t *testing.T) {
	g, err := updates.NewGraph(pkg(t, example), updates.Options{Channel: "stable", From: "1.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	var steps []string
	for _, e := range g.Lanes[0].Edges {
		if e.Kind == updates.Path {
			steps = append(steps, g.Lanes[0].Nodes[e.From].Label+" "+g.Lanes[0].Nodes[e.To].Label)
		}
	}
	if got := strings.Join(steps, "; "); got != "1.0.1 1.2.0" {
		t.Errorf("path %s", got)
	}
	for _, bad := range []updates.Options{{Channel: "stabel"}, {From: "nonsense"}, {From: "9.9.9"}} {
		if _, err := updates.NewGraph(pkg(t, example), bad); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
}

// Cycles end, and hostile names stay text.
func TestHostile(t *testing.T) {
	for _, name := range []string{`x"]; click a`, "<script>", "a\\n\x1b[0m", "a]] -->|x| b", strings.Repeat("long", 200), "}", "\u202ex"} {
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\x1b", `\x1b`).Replace(name) + `"`
		text := head + channel(quoted, "- {name: "+quoted+", replaces: b, skips: [c]}\n- {name: b, replaces: "+quoted+
			", skipRange: "+quoted+"}\n- {name: c}\n") + channel("stable", "- {name: a, replaces: a}\n")
		g, err := updates.NewGraph(pkg(t, text), updates.Options{})
		if err != nil {
			t.Fatal(err)
		}
		out := draw(t, g)
		if strings.Contains(out, "<script>") {
			t.Errorf("%q", name)
		}
		if err := wellFormed(out); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Real packages: well-formed, twice the same, and not wider than a screen scrolls.
func TestCorpus(t *testing.T) {
	files := corpustest.Glob(t, corpustest.Root(t), "catalogs", "*", "catalog.yaml")
	for _, file := range files {
		c, err := catalog.Read(context.Background(), file, catalog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range c.Names() {
			var first string
			for range 2 {
				g, err := updates.NewGraph(c.Packages[name], updates.Options{})
				if err != nil {
					t.Fatal(err)
				}
				out := draw(t, g)
				if err := wellFormed(out); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if first != "" && first != out {
					t.Errorf("%s: two pictures", name)
				}
				first = out
			}
		}
	}
}
