package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/internal/base/picture"
)

// terminal is the look of a terminal: severities have the colours of the command line.
const terminal = `text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#e6edf3;white-space:pre}` +
	`.screen{fill:#0d1117}.prompt{fill:#8b949e}.error{fill:#ff7b72}.warning{fill:#d29922}.verdict{font-weight:bold}`

// TestPicture holds the first picture of README: what "olmgen diff" says first of two releases of the example.
func TestPicture(t *testing.T) {
	example := filepath.Join("..", "..", "examples", "memcached-operator")
	out := printed(t, "diff", filepath.Join(example, "bundle"), filepath.Join(example, "bundle-v0.1.0"))
	summary, _, _ := strings.Cut(string(out), "\n\n")
	got := screen("olmgen diff bundle bundle-v0.1.0", summary)
	golden.CheckFile(t, filepath.Join("..", "..", "docs", "pictures", "diff.svg"), []byte(got), *update)
}

// TestPictures holds the pictures of pages that show real operators. "make pictures" writes them. A browser does not draw
// the same bytes on two machines: of the page of the site, testdata/pictures has the text.
func TestPictures(t *testing.T) {
	root := corpustest.Root(t)
	for name, args := range map[string][]string{
		"history.svg":      {"history", filepath.Join(root, "bundles", "cert-manager"), "--format", "svg"},
		"update-graph.svg": {"graph", "catalog:" + filepath.Join(root, "catalogs", "sailoperator"), "--package", "sailoperator"},
	} {
		golden.CheckFile(t, filepath.Join("..", "..", "docs", "pictures", name), printed(t, args...), *update)
	}
	site := t.TempDir()
	args := []string{"catalog", "site", "-o", site}
	for _, name := range []string{"argocd-operator", "cert-manager", "external-secrets-operator", "grafana-operator", "infinispan", "oadp-operator",
		"strimzi-kafka-operator", "victoriametrics-operator"} {
		args = append(args, filepath.Join(root, "bundles", name))
	}
	printed(t, args...)
	index := filepath.Join(site, "index.html")
	page, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ = bytes.Cut(page, []byte("</style>"))
	page, _, _ = bytes.Cut(page, []byte("<script>"))
	text := regexp.MustCompile(`(\s*<[^>]*>\s*)+`).ReplaceAll(page, []byte("\n"))
	shown := filepath.Join("testdata", "pictures", "site.txt")
	if before, err := os.ReadFile(shown); *update && (err != nil || !bytes.Equal(before, text)) {
		png, err := filepath.Abs(filepath.Join("..", "..", "docs", "pictures", "site.png"))
		if err != nil {
			t.Fatal(err)
		}
		draw := exec.Command(os.Getenv("CHROMIUM"), "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--hide-scrollbars",
			"--window-size=1200,900", "--screenshot="+png, "file://"+index)
		if out, err := draw.CombinedOutput(); err != nil {
			t.Fatalf("docs/pictures/site.png is stale, and $CHROMIUM draws no other: %v\n%s", err, out)
		}
	}
	golden.CheckFile(t, shown, text, *update)
}

// printed returns what a command prints.
func printed(t *testing.T, args ...string) []byte {
	t.Helper()
	var out, said bytes.Buffer
	if code := run(args, strings.NewReader(""), &out, &said); code != exitDone {
		t.Fatalf("exit code %d: %s", code, &said)
	}
	return out.Bytes()
}

// screen draws a command and what it prints, in lines of at most 120 columns.
func screen(command, output string) string {
	const columns, margin, high, letter = 120, 16, 20, 8.45
	lines := append([]string{"$ " + command}, strings.Split(output, "\n")...)
	s := picture.SVG{Title: "olmgen diff of two releases", Width: 2*margin + int(columns*letter),
		Height: 2*margin + high*len(lines), Style: terminal}
	s.Rect("screen", 0, 0, s.Width, s.Height, 8)
	verdict := false
	for i, line := range lines {
		class := ""
		verdict = (verdict || strings.Contains(line, "verdict:")) && !strings.Contains(line, "judged:")
		switch {
		case i == 0:
			class = "prompt"
		case verdict:
			class = "verdict"
		case strings.Contains(line, "  error  "):
			class = "error"
		case strings.Contains(line, "  warning  "):
			class = "warning"
		}
		s.Text(picture.Label{Class: class, X: margin, Y: margin + high*i + 15, Text: line})
	}
	return s.String()
}
