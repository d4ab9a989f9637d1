// The module tree. Only rows in sight are elements, so that its size does not matter.
const ROW = 28;
const MOST_PRINTED = 400;
const opened = { plain: new Set(), found: new Set(), shut: new Set() };
let rows = [];
let found = null;

function list() {
  rows = [];
  const stack = [{ fqn: "", node: view.tree.root, level: 1, place: 1, among: 1, inside: false }];
  while (stack.length) {
    const row = stack.pop();
    const { fqn, node, level } = row;
    row.hit = found !== null && found.hits.has(fqn);
    const inside = row.inside || row.hit;
    let children = childrenOf(node);
    if (found && !inside) children = children.filter(([name]) => found.way.has(below(fqn, name)) || found.hits.has(below(fqn, name)));
    row.has = children.length > 0;
    row.open = row.has && (found === null ? opened.plain.has(fqn) : found.way.has(fqn) ? !opened.shut.has(fqn) : opened.found.has(fqn));
    rows.push(row);
    if (!row.open) continue;
    for (let i = children.length - 1; i >= 0; i -= 1) {
      stack.push({ fqn: below(fqn, children[i][0]), node: children[i][1], level: level + 1, place: i + 1, among: children.length, inside });
    }
  }
}

// Nothing passes: nothing stands in the tree.
function refresh() {
  rows = [];
  if (view.tree && (found === null || found.hits.size)) list();
  at("rows").style.height = `${rows.length * ROW}px`;
  at("count").textContent = view.tree ? countOf(found ? found.hits.size : null) : "No model: there are no modules to show.";
  draw();
}

function filtered() {
  const query = view.tree ? asked() : null;
  found = query ? search(query) : null;
  opened.found = new Set();
  opened.shut = new Set();
  at("tree").scrollTop = 0;
  refresh();
}

function draw(all = false) {
  const tree = at("tree");
  const first = all ? 0 : Math.max(0, Math.floor(tree.scrollTop / ROW) - 8);
  const end = Math.min(rows.length, all ? MOST_PRINTED : Math.ceil((tree.scrollTop + tree.clientHeight) / ROW) + 8);
  const drawn = [];
  for (let index = first; index < end; index += 1) drawn.push(rowElement(index));
  at("rows").replaceChildren(...drawn);
  at("columns").style.paddingRight = `${16 + tree.offsetWidth - tree.clientWidth}px`;
  mark();
}

// Rows stay the same elements when another one is chosen, or a double click would never be one.
function mark() {
  const chosen = rows.findIndex((row) => row.fqn === state.chosen);
  for (const element of at("rows").children) element.setAttribute("aria-selected", String(element.id === `row-${chosen}`));
  if (at(`row-${chosen}`)) at("tree").setAttribute("aria-activedescendant", `row-${chosen}`);
  else at("tree").removeAttribute("aria-activedescendant");
}

function rowElement(index) {
  const { fqn, node, level, place, among, has, open, hit } = rows[index];
  const sum = view.sums[node], contract = contractOf(node), told = findingsOf(node).length;
  const name = fqn === "" ? className(node) || "model" : last(fqn);
  const kinds = ["row", contract ? "boundary" : "", found && !hit && found.way.has(fqn) ? "way" : ""];
  const chips = parametersOf(node).length ? [...sum.cuts].sort().map((cut) => {
    const [axis, placement] = cut.split(" ");
    return make("span", { class: `chip ${AXES.includes(axis) ? axis : ""}` }, axis, make("span", { class: "placement" }, ` ${placement}`));
  }) : [...sum.axes].sort().map((axis) => chip(axis, axis));
  const element = make("div", {
    id: `row-${index}`, class: kinds.filter(Boolean).join(" "), role: "treeitem", "aria-level": level, "aria-posinset": place,
    "aria-setsize": among, "aria-selected": "false", "aria-expanded": has ? String(open) : null, title: fqn || null,
  },
    make("span", { class: has ? "twist" : "twist leaf", "aria-hidden": "true" }),
    make("span", { class: "name" }, ...(hit ? marks(name) : [name])),
    fqn === "" ? null : make("span", { class: "cls" }, className(node)),
    contract && contract.mode !== "derived" ? make("span", { class: "badge plain" }, contract.mode === "style" ? contract.kind : contract.mode) : null,
    sum.worst < 9 ? make("span", { class: `badge ${SEVERITIES[sum.worst]}` }, told ? plural(told, "finding") : SEVERITIES[sum.worst]) : null,
    make("span", { class: "fill" }),
    ...(chips.length || !sum.known ? chips : [chip("whole", sum.local < sum.whole ? "cut" : "whole")]),
    make("span", { class: "number local" }, sum.known ? bytes(sum.local) : ""),
    make("span", { class: "number before" }, sum.known ? bytes(sum.whole) : ""));
  element.style.top = `${index * ROW}px`;
  element.style.paddingLeft = `${8 + Math.min(level - 1, 12) * 16}px`;
  return element;
}

function marks(name) {
  const from = found.text ? name.toLowerCase().lastIndexOf(last(found.text)) : -1;
  const text = last(found.text);
  return from < 0 || !text ? [name] : [name.slice(0, from), make("mark", {}, name.slice(from, from + text.length)), name.slice(from + text.length)];
}

function toggle(row, open) {
  if (found === null) open ? opened.plain.add(row.fqn) : opened.plain.delete(row.fqn);
  else if (found.way.has(row.fqn)) open ? opened.shut.delete(row.fqn) : opened.shut.add(row.fqn);
  else open ? opened.found.add(row.fqn) : opened.found.delete(row.fqn);
}

function choose(fqn) {
  state.chosen = fqn;
  mark();
  stale("module");
}

function reveal(fqn) {
  if (nodeOf(fqn) === null) return;
  clearFilters();
  found = null;
  for (let up = parent(fqn); up !== null; up = parent(up)) opened.plain.add(up);
  state.chosen = fqn;
  refresh();
  scrollTo(rows.findIndex((row) => row.fqn === fqn));
  stale("module");
  tab("module");
  at("tree").focus({ preventScroll: true });
}

function scrollTo(index) {
  const tree = at("tree");
  if (index * ROW < tree.scrollTop) tree.scrollTop = index * ROW;
  else if ((index + 1) * ROW > tree.scrollTop + tree.clientHeight) tree.scrollTop = (index + 1) * ROW - tree.clientHeight;
  draw();
}

function clicked(event) {
  const element = event.target.closest(".row");
  if (!element) return;
  const row = rows[Number(element.id.slice(4))];
  choose(row.fqn);
  const onTwist = event.target.classList.contains("twist");
  if (row.has && onTwist === (event.type === "click")) { toggle(row, !row.open); refresh(); }
}

function walked(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || !rows.length) return;
  const index = rows.findIndex((row) => row.fqn === state.chosen);
  const here = rows[Math.max(0, index)];
  const page = Math.max(1, Math.floor(at("tree").clientHeight / ROW) - 1);
  let to = index;
  switch (event.key) {
    case "ArrowDown": to = index + 1; break;
    case "ArrowUp": to = index - 1; break;
    case "PageDown": to = index + page; break;
    case "PageUp": to = index - page; break;
    case "Home": to = 0; break;
    case "End": to = rows.length - 1; break;
    case "ArrowRight": if (here.open) to = index + 1; else if (here.has) { toggle(here, true); refresh(); } break;
    case "ArrowLeft": if (here.open) { toggle(here, false); refresh(); } else to = rows.findIndex((row) => row.fqn === parent(here.fqn)); break;
    case "Enter": case " ": if (here.has) { toggle(here, !here.open); refresh(); } break;
    case "*": rows.filter((row) => row.has && parent(row.fqn) === parent(here.fqn)).forEach((row) => toggle(row, true)); refresh(); break;
    default:
      if (event.key.length !== 1 || event.key === "/") return;
      to = typed(event.key.toLowerCase(), index);
  }
  event.preventDefault();
  to = Math.min(rows.length - 1, Math.max(0, to));
  if (to !== index) { choose(rows[to].fqn); scrollTo(to); }
}

function typed(letter, index) {
  const begins = (row) => last(row.fqn).toLowerCase().startsWith(letter);
  const after = rows.findIndex((row, i) => i > index && begins(row));
  const first = after < 0 ? rows.findIndex(begins) : after;
  return first < 0 ? index : first;
}

// Open what fits at first sight: a model behind one wrapper, but not the list of its layers.
function openFirst() {
  opened.plain = new Set();
  state.chosen = "";
  const waiting = view.tree ? [["", view.tree.root]] : [];
  for (let shown = 1; waiting.length;) {
    const [fqn, node] = waiting.shift();
    const children = childrenOf(node);
    if (shown + children.length > 18) continue;
    shown += children.length;
    opened.plain.add(fqn);
    for (const [name, child] of children) waiting.push([below(fqn, name), child]);
  }
}
