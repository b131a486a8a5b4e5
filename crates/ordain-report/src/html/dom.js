// Building blocks of the page: elements, text, numbers.
// Whatever comes from the run is hostile until shown otherwise: it becomes text nodes and plain attributes, nothing else.

const SVG = "http://www.w3.org/2000/svg";
/// Characters that change how their neighbours look, or that cannot be seen at all.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/// A picture for a control character, its number for the others.
function seen(character) {
  const code = character.codePointAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return `\u2039U+${code.toString(16).toUpperCase().padStart(4, "0")}\u203a`;
}

/// Text as it may be shown: nothing unseen, and no longer than `most`.
function show(value, most = 20000) {
  const text = String(value ?? "");
  const cut = text.length > most ? `${text.slice(0, most)}… (${count(text.length - most)} more characters)` : text;
  return cut.replace(UNSEEN, seen);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : show(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    element.append(child instanceof Node ? child : show(child));
  }
  return element;
}

/// An element: functions among the attributes are listeners, children that are no nodes are text.
function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/// The same for drawings.
function s(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/// What a list has at a place, or a stand-in: a record may refer to what it does not have.
function at(list, index, standIn) {
  return (Array.isArray(list) && list[index]) || standIn;
}

function listOf(value) {
  return Array.isArray(value) ? value : [];
}

function count(number) {
  return Number.isFinite(number) ? Math.round(number).toLocaleString("en-US") : "?";
}

function plural(number, noun, nouns = `${noun}s`) {
  return `${count(number)} ${number === 1 ? noun : nouns}`;
}

/// A duration, with as many digits as one can use.
function duration(seconds) {
  if (!Number.isFinite(seconds) || seconds < 0) return "?";
  if (seconds === 0) return "0 s";
  if (seconds < 0.0005) return `${Math.round(seconds * 1e6)} µs`;
  if (seconds < 1) return `${Number((seconds * 1e3).toPrecision(3))} ms`;
  if (seconds < 120) return `${Number(seconds.toPrecision(3))} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return `${count(Math.floor(seconds / 3600))} h ${Math.round((seconds % 3600) / 60)} min`;
}

function superscript(number) {
  return String(number).replace(/./g, (digit) => ({ "-": "⁻" })[digit] ?? "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]);
}

/// An estimate that is given by its logarithm to base 10, with the digits that one can believe.
function power(log) {
  if (!Number.isFinite(log)) return "?";
  if (log < 6) return count(Number((10 ** log).toPrecision(2)));
  let exponent = Math.floor(log);
  let mantissa = (10 ** (log - exponent)).toFixed(1);
  if (mantissa === "10.0") [mantissa, exponent] = ["1.0", exponent + 1];
  return `${mantissa} × 10${superscript(exponent)}`;
}

function percent(share) {
  if (!Number.isFinite(share)) return "?";
  if (share >= 0.9995) return "100 %";
  if (share >= 0.01) return `${Number((share * 100).toPrecision(3))} %`;
  return share > 1e-6 ? `${(share * 100).toPrecision(2)} %` : "less than 0.0001 %";
}

/// The file's name without its directories, and the line.
function shortPlace(place) {
  return `${show(place.file, 4000).split("/").pop()}${place.line > 0 ? `:${place.line}` : ""}`;
}

function longPlace(place) {
  return `${show(place.file, 4000)}${place.line > 0 ? `:${place.line}` : ""}${place.column > 0 ? `:${place.column}` : ""}`;
}

/// A word as shells read it back: quoted if it has to be, and without a character that a terminal would obey.
function shellWord(text) {
  const word = text.startsWith("-") ? `./${text}` : text;
  if (word.search(UNSEEN) >= 0 || /[\n\t]/.test(word)) {
    const bytes = (character) => [...new TextEncoder().encode(character)].map((b) => `\\x${b.toString(16).padStart(2, "0")}`);
    const escape = (character) => (/[\\']/.test(character) ? `\\${character}` : bytes(character).join(""));
    const risky = (character) => character.search(UNSEEN) >= 0 || /[\n\t\\']/.test(character);
    return `$'${[...word].map((c) => (risky(c) ? escape(c) : c)).join("")}'`;
  }
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/// A command with a button that copies it.
function commandLine(command) {
  const code = h("code", {}, command);
  const status = h("span", { class: "visually-hidden", role: "status" });
  const button = h("button", { type: "button", class: "small" }, "Copy");
  const done = (ok) => {
    button.textContent = ok ? "Copied" : "Select and copy by hand";
    status.textContent = button.textContent;
    setTimeout(() => (button.textContent = "Copy"), 2000);
  };
  const byHand = () => {
    getSelection().selectAllChildren(code);
    done(document.execCommand("copy"));
  };
  button.addEventListener("click", () => {
    if (!navigator.clipboard) byHand();
    else navigator.clipboard.writeText(command).then(() => done(true), byHand);
  });
  return h("div", { class: "command" }, code, button, status);
}

/// A table with a caption, which is what drawings are for those who do not see them.
function table(caption, heads, rows) {
  const head = h("tr", {}, heads.map((text) => h("th", { scope: "col" }, text)));
  const body = rows.map((cells) => h("tr", {}, cells.map((cell) => h("td", {}, cell))));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {}, h("caption", {}, caption), h("thead", {}, head), h("tbody", {}, body)));
}

function section(id, title, ...children) {
  return h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), children);
}
