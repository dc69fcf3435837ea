// Package browser opens the HTML reports of olmgen in headless Chromium.
package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/document"
	"github.com/olmgen/olmgen/internal/print"
)

// reports are commands that print a page, and how many rows it has at least. $CORPUS stands for the corpus.
var reports = []struct {
	name string
	args []string
	rows int
}{
	{"permissions", []string{"permissions", "../../golden/live-bundles/regatta", "--fail-on", "none", "--format", "html"}, 30},
	{"diff", []string{"diff", "../../golden/upgrades/ferry/from", "../../golden/upgrades/ferry/to", "--format", "html"}, 20},
	{"history", []string{"history", "../../golden/upgrades/ferry", "--format", "html"}, 5},
	{"history-large", []string{"history", "$CORPUS/bundles/kuadrant-operator", "--format", "html"}, 20},
	{"graph", []string{"graph", "../../golden/upgrades/ferry/to", "--format", "html"}, 13},
	{"updates", []string{"graph", "catalog:../../examples/catalog/configs", "--package", "memcached-operator", "--format", "html"}, 2},
	{"diff-large", []string{"diff", "$CORPUS/bundles/external-secrets-operator/0.10.7",
		"$CORPUS/bundles/external-secrets-operator/0.11.0", "--format", "html"}, 20},
	{"permissions-large", []string{"permissions", "$CORPUS/bundles/community-kubevirt-hyperconverged/1.18.1",
		"--fail-on", "none", "--format", "html"}, 500},
}

// chromium starts a browser, or skips the test.
func chromium(t *testing.T) context.Context {
	t.Helper()
	path := os.Getenv("CHROMIUM")
	if path == "" {
		path, _ = exec.LookPath("chromium")
	}
	if path == "" {
		t.Skip("there is no chromium: install it (Debian: apt-get install chromium), or set CHROMIUM to its path")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("disable-features", "Translate,OptimizationHints,MediaRouter"), chromedp.DisableGPU)
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	ctx, stop = context.WithTimeout(ctx, 8*time.Minute)
	t.Cleanup(stop)
	if err := chromedp.Run(ctx); err != nil {
		t.Fatalf("chromium does not start: %v", err)
	}
	return ctx
}

// pages writes every page to a file.
func pages(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	olmgen := filepath.Join(dir, "olmgen")
	build := exec.Command("go", "build", "-o", olmgen, "./cmd/olmgen")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out := map[string]string{"sample": filepath.Join(dir, "sample.html")}
	var b bytes.Buffer
	if err := print.Document(&b, sample(), findings.HTML); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(out["sample"], b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		args := strings.Fields(strings.ReplaceAll(strings.Join(r.args, " "), "$CORPUS", os.Getenv("OLMGEN_CORPUS")))
		if strings.Contains(strings.Join(r.args, " "), "$CORPUS") && os.Getenv("OLMGEN_CORPUS") == "" {
			t.Logf("OLMGEN_CORPUS is not set: without the page %s", r.name)
			continue
		}
		text, err := exec.Command(olmgen, args...).Output()
		if err != nil {
			t.Fatalf("%s: %v", r.name, err)
		}
		if n := bytes.Count(text, []byte("<tr role=\"row\" id=")); n < r.rows {
			t.Errorf("%s: %d rows, want at least %d", r.name, n, r.rows)
		}
		out[r.name] = filepath.Join(dir, r.name+".html")
		if err := os.WriteFile(out[r.name], text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// sample has every style, long words, and a folded table.
func sample() *document.Document {
	long := strings.Repeat("averylongword", 9)
	var styles document.Table
	styles.Columns = document.Columns("Style", "Text", "Number")
	for i, s := range []document.Style{"error", "warning", "note", document.Added, document.Removed, document.Strong,
		document.Code, document.Plain} {
		styles.Rows = append(styles.Rows, []document.Cell{{Text: "style " + string(s), Style: s, Order: i + 1},
			{Text: long, Style: document.Code}, {Text: fmt.Sprint(20 - 3*i), Note: "a note"}})
	}
	folded := document.Table{Title: "Folded", Closed: true, Columns: document.Columns("Text"),
		Rows: [][]document.Cell{{{Text: "hidden treasure"}}, {{Text: "more"}}}}
	return &document.Document{Kind: "Sample", Title: "A page with " + long, Lead: "It has everything.", Sections: []document.Section{
		{Text: []string{"A paragraph."}, Tables: []document.Table{styles}},
		{Title: "A section", Tables: []document.Table{folded, {Title: "Open", Columns: document.Columns("Text"),
			Rows: [][]document.Cell{{{Text: long}}, {{Text: "short"}}}}}},
	}}
}

// watch collects what a page must not do: requests, exceptions, and what the policy forbids.
func watch(ctx context.Context) func() []string {
	var mu sync.Mutex
	var faults []string
	add := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		faults = append(faults, fmt.Sprintf(format, args...))
	}
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			if strings.HasPrefix(e.Request.URL, "data:image/") && e.Type == network.ResourceTypeImage {
				return // it is in the page
			}
			if !strings.HasPrefix(e.Request.URL, "file://") || e.Type != network.ResourceTypeDocument {
				add("a request for %s", e.Request.URL)
			}
		case *runtime.EventExceptionThrown:
			add("an exception: %s", e.ExceptionDetails.Error())
		case *log.EventEntryAdded:
			add("%s: %s", e.Entry.Level, e.Entry.Text)
		}
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		found := faults
		faults = nil
		return found
	}
}

func size(width int64) chromedp.Action {
	return emulation.SetDeviceMetricsOverride(width, 900, 1, false)
}

func scheme(name string) chromedp.Action {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}})
}

func run(t *testing.T, ctx context.Context, actions ...chromedp.Action) {
	t.Helper()
	if err := chromedp.Run(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// eval returns the value of an expression.
func eval[T any](t *testing.T, ctx context.Context, expression string) (v T) {
	t.Helper()
	run(t, ctx, chromedp.Evaluate(expression, &v))
	return v
}

func TestPages(t *testing.T) {
	ctx := chromium(t)
	run(t, ctx, network.Enable(), log.Enable())
	faults := watch(ctx)
	for name, file := range pages(t) {
		t.Run(name, func(t *testing.T) {
			open := chromedp.Navigate("file://" + file)
			for _, colors := range []string{"light", "dark"} {
				for _, width := range []int64{400, 700, 1000, 1400, 1600} {
					run(t, ctx, scheme(colors), size(width), open)
					noScroll(t, ctx, width)
					if width == 400 || width == 1400 {
						screenshot(t, ctx, fmt.Sprintf("%s-%s-%d", name, colors, width))
						contrasts(t, ctx, colors)
						axe(t, ctx, fmt.Sprintf("%s, %d", colors, width))
					}
				}
			}
			run(t, ctx, scheme("light"), size(1400))
			for _, use := range []func(*testing.T, context.Context){severities, filters, sorts, folds, links, keys, tabs, prints} {
				run(t, ctx, open)
				use(t, ctx)
			}
			withoutScript(t, ctx, open)
			severitiesWithoutScript(t, ctx, open)
			for _, f := range faults() {
				t.Error(f)
			}
		})
	}
}

func noScroll(t *testing.T, ctx context.Context, width int64) {
	t.Helper()
	if got := eval[int64](t, ctx, "document.documentElement.scrollWidth"); got > width {
		t.Errorf("at %d pixels the page is %d wide", width, got)
	}
}

// screenshot writes a picture into $SCREENSHOTS.
func screenshot(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	dir := os.Getenv("SCREENSHOTS")
	if dir == "" {
		return
	}
	var picture []byte
	run(t, ctx, chromedp.CaptureScreenshot(&picture))
	if err := os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644); err != nil {
		t.Fatal(err)
	}
}

// axe runs axe-core. $AXE is its file.
func axe(t *testing.T, ctx context.Context, where string) {
	t.Helper()
	file := os.Getenv("AXE")
	if file == "" {
		t.Log("AXE is not set: accessibility is not checked; make test-browser sets it")
		return
	}
	script, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var violations []struct {
		ID, Impact, Help string
		Nodes            []struct{ HTML string }
	}
	run(t, ctx, chromedp.Evaluate(string(script), nil))
	var text string
	run(t, ctx, chromedp.Evaluate("axe.run().then((r) => JSON.stringify(r.violations))", &text,
		func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	if err := json.Unmarshal([]byte(text), &violations); err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		t.Errorf("axe, %s: %s: %s: %s, %d times, such as %.200s", where, v.Impact, v.ID, v.Help, len(v.Nodes), v.Nodes[0].HTML)
	}
}

// searched is what the filter looks at of a row: the first column where a table asks a question, otherwise all of it.
const searched = `((r) => ((r.closest("[data-question]") ? r.cells[0] : r).textContent + " " + (r.dataset.words ?? "")).toLowerCase())`

const visibleRows = `[...document.querySelectorAll("tbody tr:not(.description *)")].filter((r) => r.checkVisibility()).length`

func filters(t *testing.T, ctx context.Context) {
	t.Helper()
	run(t, ctx, chromedp.Evaluate(`document.querySelectorAll("details").forEach((d) => { d.open = true; })`, nil))
	all := eval[int](t, ctx, visibleRows)
	word := eval[string](t, ctx, `[...document.querySelectorAll("tbody tr:not(.description *)")].at(-1).cells[0].textContent.split(/\s/)[0]`)
	want := eval[int](t, ctx, fmt.Sprintf(`[...document.querySelectorAll("tbody tr:not(.description *)")].filter(
		(r) => %s(r).includes(%q)).length`, searched, strings.ToLower(word)))
	run(t, ctx, chromedp.SendKeys("#filter", word, chromedp.ByID))
	if got := eval[int](t, ctx, visibleRows); got != want || got == 0 || got == all {
		t.Errorf("filter %q shows %d of %d lines, want %d", word, got, all, want)
	}
	// Lines of the summary are not counted where there are counts of severities, and where a table names its rows only these are.
	const lines = `[...(document.querySelector("table[data-noun]") ?? document).querySelectorAll("tbody tr:not(.description *)")].filter(
		(r) => (!document.getElementById("counts") || !r.closest(".overview")) && ` + searched + `(r).includes("%s")).length`
	wanted, counted := eval[int](t, ctx, fmt.Sprintf(lines, strings.ToLower(word))), eval[int](t, ctx, fmt.Sprintf(lines, ""))
	total := fmt.Sprintf("%d %ss", counted, eval[string](t, ctx, `document.querySelector("table[data-noun]")?.dataset.noun ?? "line"`))
	if counted == 1 {
		total = strings.TrimSuffix(total, "s")
	}
	if got, want := eval[string](t, ctx, `document.getElementById("count").textContent`), fmt.Sprintf("%d of %s", wanted, total); got != want {
		t.Errorf("the count is %q, want %q", got, want)
	}
	run(t, ctx, chromedp.SendKeys("#filter", " nosuchword", chromedp.ByID))
	if got := eval[int](t, ctx, visibleRows); got != 0 {
		t.Errorf("a word that no line has shows %d lines", got)
	}
	run(t, ctx, chromedp.SendKeys("#filter", kb.Escape, chromedp.ByID))
	if got := eval[int](t, ctx, visibleRows); got != all {
		t.Errorf("after Escape there are %d of %d lines", got, all)
	}
}

const countedRows = `[...document.querySelectorAll("section:not(.overview) tbody tr:not(.description *)")].filter((r) => r.checkVisibility()).length`

// severities chooses each severity at the top: its lines are there, as many as the count says, and no others.
func severities(t *testing.T, ctx context.Context) {
	t.Helper()
	for _, tag := range eval[[]string](t, ctx, `[...document.querySelectorAll("#counts input[id]")].map((i) => i.id)`) {
		run(t, ctx, chromedp.Evaluate(fmt.Sprintf(`document.querySelector("#counts label:has(#%s)").click()`, tag), nil))
		want := eval[int](t, ctx, fmt.Sprintf(`parseInt(document.querySelector("#counts label:has(#%s)").textContent)`, tag))
		all := eval[int](t, ctx, fmt.Sprintf(`document.querySelectorAll("section:not(.overview) tr.%s").length`, tag))
		if got := eval[int](t, ctx, countedRows); got != want || got != all || got == 0 {
			t.Errorf("%s shows %d lines; the count is %d of %d", tag, got, want, all)
		}
	}
	if eval[bool](t, ctx, `document.getElementById("counts") !== null`) {
		run(t, ctx, chromedp.Evaluate(`document.querySelector("#counts input").click()`, nil))
	}
}

// severitiesWithoutScript does the same with scripts switched off: the style filters. What is folded is opened by hand.
func severitiesWithoutScript(t *testing.T, ctx context.Context, open chromedp.Action) {
	t.Helper()
	run(t, ctx, emulation.SetScriptExecutionDisabled(true), open)
	defer run(t, ctx, emulation.SetScriptExecutionDisabled(false))
	run(t, ctx, chromedp.Evaluate(`document.querySelectorAll("details").forEach((d) => { d.open = true; })`, nil))
	for _, tag := range eval[[]string](t, ctx, `[...document.querySelectorAll("#counts input[id]")].map((i) => i.id)`) {
		run(t, ctx, chromedp.Evaluate(fmt.Sprintf(`document.getElementById(%q).checked = true`, tag), nil))
		want := eval[int](t, ctx, fmt.Sprintf(`document.querySelectorAll("section:not(.overview) tr.%s").length`, tag))
		if got := eval[int](t, ctx, countedRows); got != want {
			t.Errorf("without script, %s shows %d lines, want %d", tag, got, want)
		}
	}
}

// sorts clicks the heads of the first table that can be sorted.
func sorts(t *testing.T, ctx context.Context) {
	t.Helper()
	const column = `(() => {
		const table = document.querySelector("th button").closest("table");
		const i = table.tHead.rows[0].cells.length - 1;
		return [...table.tBodies[0].rows].map((r) => r.cells[i].textContent);
	})()`
	const click = `[...document.querySelector("th button").closest("tr").querySelectorAll("button")].at(-1).click()`
	const state = `document.querySelector("th button").closest("tr").lastElementChild.getAttribute("aria-sort") ?? ""`
	sorted := func(sign string) bool {
		return eval[bool](t, ctx, `(() => {
			const c = new Intl.Collator("en", { numeric: true }), v = `+column+`;
			return v.every((x, i) => i === 0 || `+sign+` * c.compare(v[i - 1], x) <= 0);
		})()`)
	}
	original := eval[[]string](t, ctx, column)
	for _, step := range []struct{ state, sign string }{{"ascending", "1"}, {"descending", "-1"}} {
		run(t, ctx, chromedp.Evaluate(click, nil))
		if got := eval[string](t, ctx, state); got != step.state || !sorted(step.sign) {
			t.Errorf("sorted %q, want %s: %q", got, step.state, eval[[]string](t, ctx, column))
		}
	}
	run(t, ctx, chromedp.Evaluate(click, nil))
	if got := eval[[]string](t, ctx, column); strings.Join(got, "\n") != strings.Join(original, "\n") {
		t.Errorf("the third click restores %q, want %q", got, original)
	}
}

func folds(t *testing.T, ctx context.Context) {
	t.Helper()
	if !foldable(t, ctx) {
		if eval[bool](t, ctx, `document.getElementById("close").checkVisibility()`) {
			t.Error("a page that folds nothing has the button that does")
		}
		return
	}
	for id, want := range map[string]string{"close": "details[open]", "open": "details:not([open])"} {
		run(t, ctx, chromedp.Click("#"+id, chromedp.ByID))
		if n := eval[int](t, ctx, fmt.Sprintf("document.querySelectorAll(%q).length", want)); n > 0 {
			t.Errorf("after %q there are %d %s", id, n, want)
		}
	}
}

func foldable(t *testing.T, ctx context.Context) bool {
	t.Helper()
	return eval[bool](t, ctx, `document.querySelector("details") !== null`)
}

// links follows the link of the last line while it is folded and filtered away.
func links(t *testing.T, ctx context.Context) {
	t.Helper()
	if foldable(t, ctx) {
		run(t, ctx, chromedp.Click("#close", chromedp.ByID))
	}
	run(t, ctx, chromedp.SendKeys("#filter", "nosuchword", chromedp.ByID),
		chromedp.Evaluate(`location.hash = [...document.querySelectorAll("tbody tr:not(.description *)")].at(-1).id`, nil),
		chromedp.Sleep(200*time.Millisecond))
	if !eval[bool](t, ctx, `(() => {
		const b = document.querySelector("tr:target").getBoundingClientRect();
		return b.height > 0 && b.top >= 0 && b.bottom <= innerHeight;
	})()`) {
		t.Error("a link to a folded line does not show it")
	}
}

// keys uses the page without a mouse: the filter by its key, and the first head by Tab and Enter. What has the focus is
// outlined.
func keys(t *testing.T, ctx context.Context) {
	t.Helper()
	run(t, ctx, input.DispatchKeyEvent(input.KeyDown).WithKey("/").WithText("/"),
		input.DispatchKeyEvent(input.KeyUp).WithKey("/"))
	if id := eval[string](t, ctx, "document.activeElement.id"); id != "filter" {
		t.Errorf("the key / leads to %q", id)
	}
	if text := eval[string](t, ctx, "document.activeElement.value"); text != "" {
		t.Errorf("the key / writes %q", text)
	}
	for range 60 {
		if width := eval[string](t, ctx, "getComputedStyle(document.activeElement).outlineWidth"); width != "3px" {
			t.Errorf("no outline on %s", eval[string](t, ctx, "document.activeElement.outerHTML.slice(0, 80)"))
		}
		if eval[bool](t, ctx, `document.activeElement.matches("th button")`) {
			run(t, ctx, chromedp.KeyEvent(kb.Enter))
			if n := eval[int](t, ctx, `document.querySelectorAll("th[aria-sort=ascending]").length`); n != 1 {
				t.Errorf("Enter on a head sorts %d columns", n)
			}
			return
		}
		run(t, ctx, chromedp.KeyEvent(kb.Tab))
	}
	t.Error("Tab does not lead to the head of a table")
}

// prints looks at the page as a printer does: everything is there, without controls.
func prints(t *testing.T, ctx context.Context) {
	t.Helper()
	const paper = 718 // A4 between margins of one centimetre
	run(t, ctx, size(paper), emulation.SetEmulatedMedia().WithMedia("print"))
	noScroll(t, ctx, paper)
	const cut = `[...document.querySelectorAll("main, main *")].filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1 &&
		getComputedStyle(e).overflowX !== "visible" && e.clientWidth > 0).map((e) => e.outerHTML.slice(0, 80))`
	for _, e := range eval[[]string](t, ctx, cut) {
		t.Errorf("the printer cuts off %s", e)
	}
	all := eval[int](t, ctx, `document.querySelectorAll("tbody tr:not(.description *)").length`)
	if got := eval[int](t, ctx, visibleRows); got != all {
		t.Errorf("printed are %d of %d lines", got, all)
	}
	if n := eval[int](t, ctx, `[...document.querySelectorAll("input, fieldset, button:not(th button), .anchor, .contents, [role=search]")].filter((e) => e.checkVisibility()).length`); n > 0 {
		t.Errorf("%d controls are printed", n)
	}
	run(t, ctx, chromedp.ActionFunc(func(ctx context.Context) error {
		data, _, err := page.PrintToPDF().Do(ctx)
		if err == nil && !bytes.HasPrefix(data, []byte("%PDF")) {
			t.Error("no PDF")
		}
		return err
	}), emulation.SetEmulatedMedia(), size(1400))
}

// contrasts holds that every text is told from what is behind it: 4.5 to 1 (WCAG 1.4.3), 3 to 1 for large text.
func contrasts(t *testing.T, ctx context.Context, colors string) {
	t.Helper()
	const faint = `(() => {
		const rgb = (s) => s.match(/[\d.]+/g).map(Number);
		const luminance = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
			.reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
		const behind = (e) => {
			for (; e; e = e.parentElement) {
				const c = rgb(getComputedStyle(e).backgroundColor);
				if (c.length === 3 || c[3] === 1) return c;
			}
			return [255, 255, 255];
		};
		const found = {};
		for (const e of document.querySelectorAll("body *:not(svg *, script)")) {
			const style = getComputedStyle(e);
			const says = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
			if (!says || !e.checkVisibility({ opacityProperty: true })) continue;
			const [a, b] = [luminance(rgb(style.color)), luminance(behind(e))].sort((x, y) => y - x);
			const size = parseFloat(style.fontSize), large = size >= 24 || size >= 18.66 && style.fontWeight >= 700;
			const ratio = (a + 0.05) / (b + 0.05);
			if (ratio < (large ? 3 : 4.5)) found[style.color + " in " + e.outerHTML.slice(0, 60)] = ratio.toFixed(2);
		}
		return Object.entries(found).map(([where, ratio]) => ratio + " to 1, " + where);
	})()`
	if f := eval[[]string](t, ctx, faint); len(f) > 0 {
		t.Errorf("%s: %d texts are faint, such as contrast %s", colors, len(f), f[0])
	}
	if dark := eval[bool](t, ctx, `parseInt(getComputedStyle(document.body).backgroundColor.match(/\d+/)[0]) < 128`); dark != (colors == "dark") {
		t.Errorf("%s: the page is dark: %t", colors, dark)
	}
}

// tabs presses Tab through the page: each thing that is used has its turn once, in the order of the page, and none
// keeps the focus.
func tabs(t *testing.T, ctx context.Context) {
	t.Helper()
	const at = `[...document.querySelectorAll("*")].indexOf(document.activeElement)`
	last := -1
	for range 40 {
		run(t, ctx, chromedp.KeyEvent(kb.Tab))
		if eval[bool](t, ctx, `document.activeElement === document.body`) {
			return
		}
		now := eval[int](t, ctx, at)
		if now <= last {
			t.Errorf("Tab leads back to %s", eval[string](t, ctx, "document.activeElement.outerHTML.slice(0, 80)"))
			return
		}
		last = now
	}
}

// withoutScript opens the page with scripts switched off. All lines are there; what is folded can be opened.
func withoutScript(t *testing.T, ctx context.Context, open chromedp.Action) {
	t.Helper()
	run(t, ctx, emulation.SetScriptExecutionDisabled(true), open)
	defer run(t, ctx, emulation.SetScriptExecutionDisabled(false))
	if eval[int](t, ctx, `document.getElementById("tools").offsetHeight`) > 0 {
		t.Error("without script there is a filter that does nothing")
	}
	// No line number is broken: it stands on one line.
	if n := eval[int](t, ctx, `[...document.querySelectorAll("span.line")].filter((s) => s.getClientRects().length > 1).length`); n > 0 {
		t.Errorf("%d line numbers break", n)
	}
	shown, all := eval[int](t, ctx, visibleRows), eval[int](t, ctx, `document.querySelectorAll("tbody tr:not(.description *)").length`)
	folded := eval[int](t, ctx, `document.querySelectorAll("details:not([open]) tbody tr:not(.description *)").length`)
	if shown+folded != all || shown == 0 {
		t.Errorf("without script %d of %d lines are there, and %d are folded", shown, all, folded)
	}
}
