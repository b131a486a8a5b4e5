// Puts the page together from the record of the run.

const THEMES = ["auto", "light", "dark"];

/// The reader's choice of colours; it is remembered where the browser allows that for files.
function themeButton(changed) {
  let theme = "auto";
  try {
    theme = THEMES.includes(localStorage.getItem("ordain-theme")) ? localStorage.getItem("ordain-theme") : "auto";
  } catch { /* Not allowed here: then it is chosen anew each time. */ }
  const button = h("button", { type: "button", class: "theme" });
  const apply = () => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = `Colours: ${theme}`;
  };
  button.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    try {
      localStorage.setItem("ordain-theme", theme);
    } catch { /* As above. */ }
    apply();
    changed();
  });
  apply();
  return button;
}

function findingsView(run, kinds) {
  const stories = listOf(run.findings);
  const place = h("div", { id: "finding" });
  let current = null;
  const buttons = stories.map((story, index) => h("button", { type: "button", click: () => open(index, true) },
    h("span", { class: "num" }, index + 1), kindTag(story.kind), h("span", { class: "headline" }, show(story.headline, 300))));
  const open = (index, focus) => {
    current = findingView(stories[index], index, Object.hasOwn(kinds, stories[index].kind) ? kinds[stories[index].kind] : null);
    buttons.forEach((button, k) => (k === index ? button.setAttribute("aria-current", "true") : button.removeAttribute("aria-current")));
    place.replaceChildren(current.element);
    current.mounted();
    if (focus) place.querySelector("h3").focus({ preventScroll: true });
  };
  const list = stories.length > 1 && h("nav", { class: "findings", "aria-label": "Findings" }, h("ol", {}, buttons.map((button) => h("li", {}, button))));
  const none = stories.length === 0 && h("p", { class: "aside" }, "Nothing was found.");
  return {
    element: section("findings", stories.length > 1 ? `Findings (${count(stories.length)})` : stories.length === 1 ? "Finding" : "Findings", none, list, place),
    mounted: () => stories.length > 0 && open(0, false),
    redraw: () => current?.redraw(),
    beforePrint: () => current?.beforePrint(),
  };
}

function report(run, kinds) {
  const findings = findingsView(run, kinds);
  const progress = progressView(run);
  const redraw = () => {
    findings.redraw();
    progress.redraw();
  };
  const link = (id, text) => h("li", {}, h("a", { href: `#${id}` }, text));
  document.body.append(
    h("a", { class: "skip", href: "#findings" }, "Skip to the findings"),
    h("header", { class: "top" }, h("span", { class: "brand" }, "Ordain"),
      h("nav", { "aria-label": "Sections" }, h("ul", {}, link("summary", "Summary"), link("findings", "Findings"), link("exploration", "Exploration"), link("progress", "Progress"), link("figures", "Figures"))),
      themeButton(redraw)),
    h("main", {}, summaryView(run), findings.element, treeView(run), progress.element, figuresView(run)));
  findings.mounted();
  progress.redraw();
  let width = window.innerWidth;
  window.addEventListener("resize", () => requestAnimationFrame(() => {
    if (window.innerWidth !== width) redraw();
    width = window.innerWidth;
  }));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  window.addEventListener("beforeprint", findings.beforePrint);
  window.addEventListener("afterprint", redraw);
}

try {
  report(JSON.parse(document.getElementById("run").textContent), JSON.parse(document.getElementById("kinds").textContent));
} catch (problem) {
  document.body.append(h("p", { role: "alert" }, `This report cannot be shown: ${problem}`));
  throw problem;
}
