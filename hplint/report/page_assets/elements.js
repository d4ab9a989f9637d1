// Making elements. Texts are always texts, whatever a plan holds.
const data = JSON.parse(document.getElementById("data").textContent);
const SEVERITIES = ["error", "warning", "info"];

const at = (id) => document.getElementById(id);

function make(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const fill = (element, ...parts) => element.replaceChildren(...parts.filter((part) => part !== null));
const soft = (text) => make("span", { class: "soft" }, text);
const mono = (text) => make("span", { class: "mono" }, text);
const empty = (text) => make("p", { class: "empty" }, text);
const link = (text, onclick, kind = "") => make("button", { type: "button", class: `link ${kind}`, onclick }, text);

// A head that begins with # is one of numbers.
function table(heads, lines) {
  const numeric = heads.map((head) => head.startsWith("#"));
  const cell = (content, i) => make("td", numeric[i] ? { class: "number" } : {}, ...[content].flat());
  return make("div", { class: "scroll" }, make("table", {},
    make("thead", {}, make("tr", {}, ...heads.map((head, i) =>
      make("th", { scope: "col", class: numeric[i] ? "number" : "" }, head.replace("#", ""))))),
    make("tbody", {}, ...lines.map((line) => make("tr", {}, ...line.map(cell))))));
}

// What stands in backquotes is code.
function prose(text) {
  const parts = text.split("`");
  return parts.length % 2 ? parts.map((part, i) => (i % 2 ? make("code", {}, part) : part)) : [text];
}

function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (count >= 1023.5 && unit < units.length - 1) { count /= 1024; unit += 1; }
  return `${unit === 0 || count >= 99.95 ? Math.round(count) : count.toPrecision(3)} ${units[unit]}`;
}

const number = (count) => count.toLocaleString("en-US");
const plural = (count, word, words = `${word}s`) => `${number(count)} ${count === 1 ? word : words}`;

function share(part, whole) {
  if (!whole) return "";
  const percent = 100 * part / whole;
  return `${percent >= 99.95 ? 100 : percent.toPrecision(percent >= 10 ? 3 : 2)} %`;
}

const AXES = ["tp", "cp", "ep", "dp", "pp", "whole"];
const chip = (axis, text) => make("span", { class: `chip ${AXES.includes(axis) ? axis : ""}` }, text);

function layout(placements) {
  if (!placements) return [soft("not declared")];
  const told = Object.entries(placements).filter(([, placement]) => placement !== "replicate");
  return told.length ? told.map(([axis, placement]) => chip(axis, `${axis} ${placement}`)) : [chip("whole", "whole")];
}

// Something may cut a parameter along a dim that nobody can read.
function cutChips(whole, local, cuts) {
  if (!cuts.length) return [chip("whole", local < whole ? "cut" : "whole")];
  return cuts.map(([axis, dim]) => chip(axis, `${axis} shard(${dim})`));
}
