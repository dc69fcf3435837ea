package imagelist_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/cmd/internal/imagelist"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/print"
)

var update = flag.Bool("update", false, "write the golden files of the formats anew")

var formats = []findings.Format{findings.Text, findings.Tabular, findings.JSON, findings.Markdown}

func TestFormats(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "list.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Images []images.Image }
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	check := func(name string, format findings.Format, list []images.Image) {
		var b bytes.Buffer
		if err := print.Report(&b, imagelist.List(list), format); err != nil {
			t.Error(err)
		}
		golden.CheckFile(t, filepath.Join("testdata", name+"."+string(format)), b.Bytes(), *update)
	}
	for _, f := range formats {
		check("list", f, list.Images)
	}
	check("unpinned", findings.Tabular, lists.Filter(list.Images, func(i images.Image) bool { return i.Pulled() && !i.Pinned }))
	if err := print.Report(&bytes.Buffer{}, imagelist.List(nil), "none"); err == nil {
		t.Error("no error for an unknown format")
	}
}

// The text of a bundle neither steers the terminal nor breaks out of a table.
func TestHostileText(t *testing.T) {
	list := []images.Image{{Image: "a\x1b[2J|b`c\nd", Name: "x|y", Kind: images.KindEnv}}
	for _, f := range []findings.Format{findings.Text, findings.Tabular, findings.Markdown} {
		var b strings.Builder
		err := print.Report(&b, imagelist.List(list), f)
		if err != nil || strings.Contains(b.String(), "\x1b") || strings.Contains(b.String(), "c\nd") {
			t.Errorf("%s: %v, %q", f, err, b.String())
		}
	}
}
