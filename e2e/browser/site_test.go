package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// makeSite writes the site of the corpus, or of the examples.
func makeSite(t *testing.T) (dir string, pages []string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "site")
	pages = []string{"index.html", "packages/memcached-operator/index.html",
		"packages/memcached-operator/diff/0.0.1_0.1.0.html", "packages/memcached-operator/permissions.html",
		"packages/ferry-operator/index.html", "packages/certificates-operator/index.html"}
	broken := filepath.Join(t.TempDir(), "broken") // the first page has a second table, of what cannot be read
	if err := os.MkdirAll(filepath.Join(broken, "0.1.0", "manifests"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(broken, "0.1.0", "manifests", "csv.yaml"), []byte("kind: ClusterServiceVersion\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	refs := []string{"../../examples/catalog/configs", "../../examples/memcached-operator", "../../golden/upgrades/ferry", broken}
	if corpus := os.Getenv("OLMGEN_CORPUS"); corpus != "" {
		refs = append(refs, filepath.Join(corpus, "catalogs"), filepath.Join(corpus, "bundles"))
		pages = append(pages, "packages/project-quay/index.html", "packages/infinispan/index.html",
			"packages/infinispan/permissions.html", "packages/external-secrets-operator/index.html",
			"packages/external-secrets-operator/diff/0.10.7_0.11.0.html", "packages/vault-config-operator/index.html")
	} else {
		t.Log("OLMGEN_CORPUS is not set: the site of the examples only")
	}
	olmgen := filepath.Join(t.TempDir(), "olmgen")
	build := exec.Command("go", "build", "-o", olmgen, "./cmd/olmgen")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command(olmgen, append([]string{"catalog", "site", "-o", dir}, refs...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir, pages
}

func TestSite(t *testing.T) {
	ctx := chromium(t)
	run(t, ctx, network.Enable(), log.Enable())
	faults := watch(ctx)
	dir, pages := makeSite(t)
	for _, page := range pages {
		t.Run(page, func(t *testing.T) {
			open := chromedp.Navigate("file://" + filepath.Join(dir, page))
			for _, colors := range []string{"light", "dark"} {
				for _, width := range []int64{400, 1000, 1400} {
					run(t, ctx, scheme(colors), size(width), open)
					noScroll(t, ctx, width)
					looks(t, ctx, page, width)
					if width != 1000 {
						screenshot(t, ctx, fmt.Sprintf("site-%s-%s-%d", filepath.Base(filepath.Dir(page))+filepath.Base(page), colors, width))
						contrasts(t, ctx, colors)
						axe(t, ctx, fmt.Sprintf("%s, %d", colors, width))
					}
				}
			}
			run(t, ctx, scheme("light"), size(1400), open)
			tabs(t, ctx)
			run(t, ctx, open)
			filters(t, ctx)
			prints(t, ctx)
			withoutScript(t, ctx, open)
			for _, f := range faults() {
				t.Error(f)
			}
		})
	}
	index := chromedp.Navigate("file://" + filepath.Join(dir, pages[0]))
	t.Run("count", func(t *testing.T) {
		run(t, ctx, index)
		want := fmt.Sprintf("%d packages", eval[int](t, ctx, `document.querySelectorAll(".index tbody tr").length`))
		if got := eval[string](t, ctx, `document.getElementById("count").textContent`); got != want {
			t.Errorf("the count is %q, want %q", got, want)
		}
		if got := eval[int](t, ctx, `document.querySelectorAll("tbody tr").length`); strings.HasPrefix(want, fmt.Sprint(got)) {
			t.Error("the page has no other table: the count proves nothing")
		}
	})
	t.Run("tags", func(t *testing.T) {
		for _, script := range []bool{true, false} {
			run(t, ctx, emulation.SetScriptExecutionDisabled(!script), index)
			tags(t, ctx)
		}
		run(t, ctx, emulation.SetScriptExecutionDisabled(false), index)
		sorts(t, ctx)
		run(t, ctx, index)
		keys(t, ctx)
	})
	t.Run("ask", func(t *testing.T) { ask(t, ctx, index) })
	t.Run("walk", func(t *testing.T) { walk(t, ctx, index) })
	for _, f := range faults() {
		t.Error(f)
	}
}

// looks holds that a page shows what its kind has: icons, chips, facts, the contents at the side, and the time line.
func looks(t *testing.T, ctx context.Context, page string, width int64) {
	t.Helper()
	var shown []string
	switch {
	case page == "index.html":
		shown = []string{".totals dd", ".legend .chip", ".cards .chip", ".index b"}
	case strings.HasSuffix(page, "operator/index.html"), strings.HasSuffix(page, "infinispan/index.html"):
		shown = []string{".facts dd", ".timeline tr", ".picture svg", "pre.commands"}
	}
	if strings.HasSuffix(page, "infinispan/index.html") {
		shown = append(shown, ".logo", "td .chip.error", ".legend .chip")
		if got := eval[int](t, ctx, `document.querySelector(".logo")?.naturalWidth ?? 0`); got == 0 {
			t.Error("the icon is not shown")
		}
	}
	for _, s := range shown {
		if !eval[bool](t, ctx, fmt.Sprintf(`[...document.querySelectorAll(%q)].some((e) => e.checkVisibility())`, s)) {
			t.Errorf("at %d pixels there is no %s", width, s)
		}
	}
	if !eval[bool](t, ctx, `document.querySelector(".contents") !== null`) {
		return
	}
	if got := eval[bool](t, ctx, `document.querySelector(".contents").checkVisibility()`); got != (width >= 1200) {
		t.Errorf("at %d pixels the contents are at the side: %t", width, got)
	}
}

// tags chooses each filter by the keyboard: what stays has the class of the filter.
func tags(t *testing.T, ctx context.Context) {
	t.Helper()
	all := eval[int](t, ctx, visibleRows)
	for _, tag := range eval[[]string](t, ctx, `[...document.querySelectorAll("input[data-tag]")].map((i) => i.dataset.tag)`) {
		box := fmt.Sprintf("input[data-tag=%s]", tag)
		want := eval[int](t, ctx, fmt.Sprintf(`document.querySelectorAll(".index tbody tr.%s").length`, tag))
		run(t, ctx, chromedp.SendKeys(box, " ", chromedp.ByQuery))
		if !eval[bool](t, ctx, fmt.Sprintf(`document.querySelector(%q).checked`, box)) {
			t.Fatalf("the filter %s is not chosen", tag)
		}
		got := eval[int](t, ctx, `[...document.querySelectorAll(".index tbody tr")].filter((r) => r.checkVisibility()).length`)
		if got != want {
			t.Errorf("the filter %s shows %d lines, want %d", tag, got, want)
		}
		run(t, ctx, chromedp.SendKeys(box, " ", chromedp.ByQuery))
	}
	if got := eval[int](t, ctx, visibleRows); got != all {
		t.Errorf("without filters there are %d of %d lines", got, all)
	}
}

// walk goes from the index to a package, to what it may do, and back.
func walk(t *testing.T, ctx context.Context, index chromedp.Action) {
	t.Helper()
	run(t, ctx, index)
	titles := []string{eval[string](t, ctx, "document.title")}
	for _, link := range []string{`.index a[href*="memcached-operator/"]`, `td a[href^="diff/"]`, `nav a:last-child`, `nav a`} {
		run(t, ctx, chromedp.Evaluate(fmt.Sprintf("document.querySelector(%q).click()", link), nil), chromedp.WaitReady("h1", chromedp.ByQuery),
			chromedp.Sleep(300_000_000))
		titles = append(titles, eval[string](t, ctx, "document.title"))
	}
	if titles[0] != titles[4] || titles[1] != titles[3] || len(slices.Compact(slices.Clone(titles))) != 5 {
		t.Errorf("%q", titles)
	}
}

// ask answers "is there an operator for caches" by the keyboard alone: Tab leads to the field, Enter to the first answer,
// and Enter again to its page.
func ask(t *testing.T, ctx context.Context, index chromedp.Action) {
	t.Helper()
	run(t, ctx, index, chromedp.KeyEvent(kb.Tab))
	if id := eval[string](t, ctx, "document.activeElement.id"); id != "filter" {
		t.Fatalf("the first Tab leads to %q", id)
	}
	if label := eval[string](t, ctx, "document.activeElement.labels[0].textContent"); label != "Is there an operator for" {
		t.Errorf("the field asks %q", label)
	}
	run(t, ctx, chromedp.KeyEvent("no such thing"+kb.Enter))
	if id := eval[string](t, ctx, "document.activeElement.id"); id != "filter" {
		t.Errorf("without an answer Enter leads to %q", id)
	}
	chip := strings.ToLower(eval[string](t, ctx, `document.querySelector(".index b").textContent`))
	run(t, ctx, chromedp.KeyEvent(kb.Escape+chip))
	if got := eval[int](t, ctx, `[...document.querySelectorAll(".index tbody tr")].filter((r) => r.checkVisibility() && !`+searched+
		fmt.Sprintf(`(r).includes(%q)).length`, chip)); got > 0 {
		t.Errorf("%q finds %d packages that only reach it", chip, got)
	}
	run(t, ctx, chromedp.KeyEvent(kb.Escape+"memcached"+kb.Enter))
	if href := eval[string](t, ctx, `document.activeElement.getAttribute("href") ?? ""`); href != "packages/memcached-operator/index.html" {
		t.Fatalf("Enter leads to %s", eval[string](t, ctx, "document.activeElement.outerHTML.slice(0, 80)"))
	}
	run(t, ctx, chromedp.KeyEvent(kb.Enter), chromedp.WaitReady(".facts", chromedp.ByQuery))
	if title := eval[string](t, ctx, "document.title"); !strings.Contains(title, "emcached") {
		t.Errorf("Enter opens %q", title)
	}
}
