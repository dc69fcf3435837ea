"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const filter = $("filter"), count = $("count");
  const rows = [...document.querySelectorAll("tbody tr:not(.description *)")];
  const folds = [...document.querySelectorAll("details")];
  const tags = [...document.querySelectorAll("input[data-tag]")];
  const summaries = new Set(rows.filter((r) => r.closest(".overview") && $("counts"))); // no severity leaves them out
  const list = document.querySelector("table[data-noun]"); // the table that a page is about, with what its rows are
  const searched = (r) => r.closest("[data-question]") ? r.cells[0] : r; // the question is about the first column
  const texts = new Map(rows.map((r) => [r, (searched(r).textContent + " " + (r.dataset.words ?? "")).toLowerCase()]));
  const counted = rows.filter((r) => list ? list.contains(r) : !summaries.has(r));
  const parts = [...document.querySelectorAll("main table:not(.description *), main details, main section")];
  if (list?.dataset.question) filter.labels[0].textContent = list.dataset.question;
  $("tools").hidden = rows.length === 0;
  $("open").hidden = $("close").hidden = folds.length === 0;

  // Filter: a line stays if it has every word, and every tag that is chosen.
  function apply() {
    const chosen = tags.filter((t) => t.checked && t.dataset.tag).map((t) => t.dataset.tag);
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const r of rows) {
      r.hidden = !words.every((w) => texts.get(r).includes(w)) ||
        !summaries.has(r) && !chosen.every((t) => r.classList.contains(t));
    }
    const all = words.length + chosen.length === 0;
    for (const p of parts) p.hidden = !all && !p.matches(":has(input[data-tag])") && !p.querySelector("tbody tr:not([hidden])");
    const total = `${counted.length} ${list?.dataset.noun ?? "line"}${counted.length === 1 ? "" : "s"}`;
    count.textContent = all ? total : `${counted.filter((r) => !r.hidden).length} of ${total}`;
  }
  filter.addEventListener("input", apply);
  for (const t of tags) t.addEventListener("change", () => {
    apply();
    if (t.dataset.tag) folds.forEach((d) => { d.open = d.open || d.querySelector(`tr.${t.dataset.tag}`) !== null; });
  });
  document.addEventListener("keydown", (e) => {
    if (e.key === "/" && !e.ctrlKey && !e.metaKey && !e.altKey && document.activeElement !== filter) {
      e.preventDefault();
      filter.focus();
    } else if (e.key === "Escape" && document.activeElement === filter) {
      filter.value = "";
      apply();
    } else if (e.key === "Enter" && document.activeElement === filter) {
      counted.find((r) => !r.hidden)?.querySelector("a")?.focus();
    }
  });

  // Sort: up, down, and as it was.
  const collator = new Intl.Collator("en", { numeric: true });
  const order = (cell) => Number(cell?.dataset.order ?? 0);
  for (const table of document.querySelectorAll("table:not(.description *, .timeline)")) {
    const body = table.tBodies[0], original = [...body.rows], heads = [...table.tHead.rows[0].cells];
    if (original.length < 2) continue;
    heads.forEach((head, i) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const next = { ascending: "descending", descending: null }[head.getAttribute("aria-sort")];
        const to = next === undefined ? "ascending" : next;
        for (const h of heads) h.removeAttribute("aria-sort");
        const sorted = [...original];
        if (to) {
          head.setAttribute("aria-sort", to);
          const sign = to === "ascending" ? 1 : -1;
          sorted.sort((a, b) => sign * (order(a.cells[i]) - order(b.cells[i]) ||
            collator.compare(a.cells[i]?.textContent ?? "", b.cells[i]?.textContent ?? "")));
        }
        body.append(...sorted);
      });
    });
  }

  // Copy. A page that is neither a file nor encrypted on its way has no clipboard: the commands are selected.
  for (const code of document.querySelectorAll(".commands code")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(code);
        button.textContent = "Selected";
      }
    });
    code.after(button);
  }

  // A link above a list chooses one of its filters.
  for (const link of document.querySelectorAll("a[data-filter]")) link.addEventListener("click", () => {
    for (const t of tags) t.checked = t.dataset.tag === link.dataset.filter;
    apply();
  });

  // Fold.
  const setAll = (open) => () => folds.forEach((d) => { d.open = open; });
  $("open").addEventListener("click", setAll(true));
  $("close").addEventListener("click", setAll(false));
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = folds.filter((d) => !d.open);
    closed.forEach((d) => { d.open = true; });
  });
  addEventListener("afterprint", () => closed.forEach((d) => { d.open = false; }));

  // A link to a line shows it, wherever it is.
  function reveal() {
    const target = location.hash && $(location.hash.slice(1));
    if (!target) return;
    if (target.closest("[hidden]")) {
      filter.value = "";
      for (const t of tags) t.checked = t.type === "radio" && !t.dataset.tag;
      apply();
    }
    for (let d = target.closest("details"); d; d = d.parentElement.closest("details")) d.open = true;
    target.scrollIntoView({ block: "center" });
  }
  addEventListener("hashchange", reveal);
  apply();
  reveal();
})();
