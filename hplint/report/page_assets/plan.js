"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const SEVERITIES = ["error", "warning", "info"];
  const ROW = 28;
  const state = { plan: 0, topology: 0, open: new Set([""]), shut: new Set(), chosen: "", tab: "module", line: 0 };
  let view = null;
  let rows = [];

  // -- Making elements: texts are always texts, whatever a plan holds ------------------------------------------------

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

  function table(heads, lines) {
    const cell = (tag, content, numeric) => make(tag, numeric ? { class: "number" } : {}, ...[content].flat());
    const numeric = heads.map((head) => head.startsWith("#"));
    return make("div", { class: "scroll" }, make("table", {},
      make("thead", {}, make("tr", {}, ...heads.map((head, i) => cell("th", head.replace("#", ""), numeric[i])))),
      make("tbody", {}, ...lines.map((line) => make("tr", {}, ...line.map((content, i) => cell("td", content, numeric[i])))))));
  }

  const mono = (text) => make("span", { class: "mono" }, text);

  function bytes(count) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let unit = 0;
    while (count >= 1023.5 && unit < units.length - 1) { count /= 1024; unit += 1; }
    return `${unit === 0 || count >= 99.95 ? Math.round(count) : count.toPrecision(3)} ${units[unit]}`;
  }

  const number = (count) => count.toLocaleString("en-US");
  const plural = (count, word, words = `${word}s`) => `${number(count)} ${count === 1 ? word : words}`;
  const share = (part, whole) => (whole ? `${(100 * part / whole).toPrecision(part === whole ? 3 : 2)} %` : "");

  function chip(axis, text) {
    return make("span", { class: `chip ${["tp", "cp", "ep", "dp"].includes(axis) ? axis : axis === "whole" ? "whole" : ""}` }, text);
  }

  function layout(placements) {
    if (!placements) return [make("span", { class: "soft" }, "not declared")];
    const told = Object.entries(placements).filter(([, placement]) => placement !== "replicate");
    return told.length ? told.map(([axis, placement]) => chip(axis, `${axis} ${placement}`)) : [chip("whole", "whole")];
  }

  const cutChips = (cuts) => (cuts.length ? cuts.map(([axis, dim]) => chip(axis, `${axis} shard(${dim})`)) : [chip("whole", "whole")]);

  // -- Names -----------------------------------------------------------------------------------------------------------

  function* numbersOf(packed) {
    if (packed === 0) { yield []; return; }
    for (const [spelled, inner] of packed) {
      const rests = [...numbersOf(inner)];
      for (const part of spelled.split(",")) {
        const [first, last] = part.split("-");
        for (let n = Number(first); n <= Number(last ?? first); n += 1) for (const rest of rests) yield [String(n), ...rest];
      }
    }
  }

  function* unpack(packed) {
    for (const [segments, numbers] of packed) {
      for (const found of numbersOf(numbers)) {
        let next = 0;
        yield segments.map((segment) => (segment === null ? found[next++] : segment)).join(".");
      }
    }
  }

  const parent = (fqn) => (fqn === "" ? null : fqn.includes(".") ? fqn.slice(0, fqn.lastIndexOf(".")) : "");
  const last = (fqn) => fqn.slice(fqn.lastIndexOf(".") + 1);
  const below = (fqn, name) => (fqn === "" ? name : `${fqn}.${name}`);

  // -- What one plan on one topology comes to ----------------------------------------------------------------------------

  function look() {
    const plan = data.plans[state.plan];
    const topology = plan ? plan.topologies[state.topology] : { findings: [] };
    const findings = [...topology.findings, ...(plan ? [] : data.findings)];
    const tree = plan && plan.tree !== null ? data.trees[plan.tree] : null;
    const contracts = new Map();
    for (const [names, contract] of topology.boundaries ?? []) for (const fqn of unpack(names)) contracts.set(fqn, contract);
    const sums = new Map();
    const parameters = new Map();
    for (const [names, whole, local, cuts] of topology.memory?.parameters ?? []) {
      for (const name of unpack(names)) {
        parameters.set(name, [whole, local, cuts]);
        for (let fqn = parent(name); fqn !== null; fqn = parent(fqn)) {
          let sum = sums.get(fqn);
          if (!sum) { sum = { whole: 0, local: 0, axes: new Set(), uncut: false }; sums.set(fqn, sum); }
          sum.whole += whole;
          sum.local += local;
          for (const [axis] of cuts) sum.axes.add(axis);
          if (!cuts.length) sum.uncut = true;
        }
      }
    }
    const told = new Map();
    findings.forEach((finding, index) => {
      for (const fqn of unpack(finding.modules)) {
        if (!told.has(fqn)) told.set(fqn, []);
        told.get(fqn).push(index);
      }
    });
    const worst = new Map();
    for (const [fqn, indexes] of told) {
      const level = Math.min(...indexes.map((i) => SEVERITIES.indexOf(findings[i].severity)));
      for (let above = fqn; above !== null; above = parent(above)) worst.set(above, Math.min(worst.get(above) ?? 9, level));
    }
    const kinds = [...new Set([...contracts.values()].map((c) => c.kind ?? "inserted"))].sort();
    view = { plan, topology, tree, contracts, parameters, sums, findings, told, worst, kinds, size: tree ? sizes(tree)[tree.root] : 0 };
  }

  function sizes(tree) {
    const found = [];
    for (const [, children] of tree.nodes) found.push(1 + children.reduce((sum, [, child]) => sum + found[child], 0));
    return found;
  }

  function nodeOf(fqn) {
    let node = view.tree.root;
    if (fqn === "") return node;
    for (const segment of fqn.split(".")) {
      const child = view.tree.nodes[node][1].find(([name]) => name === segment);
      if (!child) return null;
      node = child[1];
    }
    return node;
  }

  const className = (node) => (view.tree.nodes[node][0] >= 0 ? view.tree.classes[view.tree.nodes[node][0]].split(".").pop() : "");

  // -- The tree ----------------------------------------------------------------------------------------------------------

  function wanted() {
    const text = at("search").value.trim();
    const axis = at("axis").value, kind = at("kind").value;
    const withFindings = at("with-findings").checked, changed = at("changed").checked;
    if (!text && !axis && !kind && !withFindings && !changed) return null;
    const glob = /[*?]/.test(text)
      ? new RegExp(`^${text.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*/g, ".*").replace(/\?/g, ".")}$`, "i") : null;
    const lower = text.toLowerCase();
    return (fqn, node) => {
      if (text && !(glob ? glob.test(fqn) : fqn.toLowerCase().includes(lower) || className(node).toLowerCase().includes(lower))) return false;
      if (withFindings && !view.told.has(fqn)) return false;
      const contract = view.contracts.get(fqn);
      if (changed && (!contract || contract.mode === "derived")) return false;
      if (kind && (!contract || (contract.kind ?? "inserted") !== kind)) return false;
      if (axis && !ownAxes(fqn, node, contract).has(axis)) return false;
      return true;
    };
  }

  function ownAxes(fqn, node, contract) {
    const found = new Set();
    for (const [name] of view.tree.nodes[node][2]) {
      const memory = view.parameters.get(below(fqn, name));
      if (!memory) continue;
      if (memory[2].length) memory[2].forEach(([axis]) => found.add(axis));
      else found.add("whole");
    }
    for (const move of contract?.moves ?? []) found.add(move[2]);
    return found;
  }

  function list() {
    rows = [];
    if (!view.tree) return 0;
    const test = wanted();
    let keep = null, matches = view.size;
    if (test) {
      keep = new Set();
      matches = 0;
      const walk = [["", view.tree.root]];
      while (walk.length) {
        const [fqn, node] = walk.pop();
        if (test(fqn, node)) {
          matches += 1;
          for (let up = fqn; up !== null && !keep.has(up); up = parent(up)) keep.add(up);
        }
        for (const [name, child] of view.tree.nodes[node][1]) walk.push([below(fqn, name), child]);
      }
      if (!matches) return 0;
    }
    const stack = [["", view.tree.root, 1, 1, 1]];
    while (stack.length) {
      const [fqn, node, level, place, among] = stack.pop();
      let children = view.tree.nodes[node][1];
      if (keep) children = children.filter(([name]) => keep.has(below(fqn, name)));
      const open = children.length > 0 && (keep ? !state.shut.has(fqn) : state.open.has(fqn));
      rows.push({ fqn, node, level, place, among, has: children.length > 0, open });
      if (open) for (let i = children.length - 1; i >= 0; i -= 1) stack.push([below(fqn, children[i][0]), children[i][1], level + 1, i + 1, children.length]);
    }
    return matches;
  }

  function refresh() {
    const matches = list();
    if (rows.length && !rows.some((row) => row.fqn === state.chosen)) state.chosen = rows[0].fqn;
    at("rows").style.height = `${rows.length * ROW}px`;
    at("count").textContent = view.tree
      ? matches === view.size ? plural(view.size, "module") : `${number(matches)} of ${plural(view.size, "module")}`
      : "No model: there are no modules to show.";
    draw();
  }

  function draw() {
    const tree = at("tree");
    const first = Math.max(0, Math.floor(tree.scrollTop / ROW) - 8);
    const end = Math.min(rows.length, Math.ceil((tree.scrollTop + tree.clientHeight) / ROW) + 8);
    const drawn = [];
    for (let i = first; i < end; i += 1) drawn.push(row(i));
    at("rows").replaceChildren(...drawn);
    const chosen = rows.findIndex((one) => one.fqn === state.chosen);
    if (chosen >= first && chosen < end) tree.setAttribute("aria-activedescendant", `row-${chosen}`);
    else tree.removeAttribute("aria-activedescendant");
  }

  function row(index) {
    const { fqn, node, level, place, among, has, open } = rows[index];
    const sum = view.sums.get(fqn), contract = view.contracts.get(fqn), worst = view.worst.get(fqn);
    const parts = [make("span", { class: has ? "twist" : "twist leaf", "aria-hidden": "true" })];
    parts.push(make("span", { class: "name" }, fqn === "" ? className(node) || "model" : last(fqn)));
    if (fqn !== "") parts.push(make("span", { class: "cls" }, className(node)));
    if (contract && contract.mode !== "derived") parts.push(make("span", { class: "badge plain" }, contract.mode));
    if (worst !== undefined) {
      const count = view.told.get(fqn)?.length;
      parts.push(make("span", { class: `badge ${SEVERITIES[worst]}` }, count ? plural(count, "finding") : SEVERITIES[worst]));
    }
    parts.push(make("span", { class: "fill" }));
    if (sum) for (const axis of [...sum.axes].sort()) parts.push(chip(axis, axis));
    parts.push(make("span", { class: "number" }, sum ? bytes(sum.local) : ""));
    const element = make("div", {
      id: `row-${index}`, class: contract ? "row boundary" : "row", role: "treeitem", "aria-level": level, "aria-posinset": place,
      "aria-setsize": among, "aria-selected": fqn === state.chosen ? "true" : "false", "aria-expanded": has ? String(open) : null,
      title: fqn || null, onclick: (event) => { choose(fqn); if (event.target.classList.contains("twist")) toggle(fqn, !open); },
      ondblclick: () => has && toggle(fqn, !open),
    }, ...parts);
    element.style.top = `${index * ROW}px`;
    element.style.paddingLeft = `${8 + (level - 1) * 16}px`;
    return element;
  }

  function toggle(fqn, open) {
    const [set, other] = wanted() ? [state.shut, false] : [state.open, true];
    if (open === other) set.add(fqn); else set.delete(fqn);
    refresh();
  }

  function choose(fqn) {
    state.chosen = fqn;
    draw();
    showModule();
  }

  function reveal(fqn) {
    if (nodeOf(fqn) === null) return;
    at("search").value = ""; at("axis").value = ""; at("kind").value = "";
    at("with-findings").checked = false; at("changed").checked = false;
    for (let up = parent(fqn); up !== null; up = parent(up)) state.open.add(up);
    state.chosen = fqn;
    refresh();
    scrollTo(rows.findIndex((one) => one.fqn === fqn));
    showModule();
    tab("module");
  }

  function scrollTo(index) {
    const tree = at("tree");
    if (index * ROW < tree.scrollTop) tree.scrollTop = index * ROW;
    else if ((index + 1) * ROW > tree.scrollTop + tree.clientHeight) tree.scrollTop = (index + 1) * ROW - tree.clientHeight;
  }

  function keys(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !rows.length) return;
    const index = Math.max(0, rows.findIndex((one) => one.fqn === state.chosen));
    const here = rows[index];
    const page = Math.max(1, Math.floor(at("tree").clientHeight / ROW) - 1);
    let to = index;
    switch (event.key) {
      case "ArrowDown": to = index + 1; break;
      case "ArrowUp": to = index - 1; break;
      case "PageDown": to = index + page; break;
      case "PageUp": to = index - page; break;
      case "Home": to = 0; break;
      case "End": to = rows.length - 1; break;
      case "ArrowRight": if (here.has && !here.open) toggle(here.fqn, true); else if (here.open) to = index + 1; break;
      case "ArrowLeft": if (here.open) toggle(here.fqn, false); else to = rows.findIndex((one) => one.fqn === parent(here.fqn)); break;
      case "Enter": case " ": if (here.has) toggle(here.fqn, !here.open); break;
      default: return;
    }
    event.preventDefault();
    to = Math.min(rows.length - 1, Math.max(0, to));
    if (to !== index) { scrollTo(to); choose(rows[to].fqn); }
  }

  // -- The panes -----------------------------------------------------------------------------------------------------------

  const TABS = { module: "Module", findings: "Findings", text: "Plan", memory: "Memory", traffic: "Communication" };

  function tab(name, focus = false) {
    state.tab = name;
    for (const key of Object.keys(TABS)) {
      const button = at(`tab-${key}`), on = key === name;
      button.setAttribute("aria-selected", String(on));
      button.tabIndex = on ? 0 : -1;
      if (on && focus) button.focus();
      at(`pane-${key}`).hidden = !on;
    }
  }

  // Open what fits at first sight: a model behind one wrapper, but not the list of its layers.
  function openFirst() {
    state.open = new Set();
    state.shut = new Set();
    state.chosen = "";
    const waiting = view.tree ? [["", view.tree.root]] : [];
    for (let shown = 1; waiting.length;) {
      const [fqn, node] = waiting.shift();
      const children = view.tree.nodes[node][1];
      if (shown + children.length > 16) continue;
      shown += children.length;
      state.open.add(fqn);
      for (const [name, child] of children) waiting.push([below(fqn, name), child]);
    }
  }

  function tabs() {
    fill(at("tabs"), ...Object.entries(TABS).map(([name, text]) => make("button", {
      id: `tab-${name}`, type: "button", role: "tab", "aria-controls": `pane-${name}`, onclick: () => tab(name),
    }, name === "findings" && view.findings.length ? `${text} (${view.findings.length})` : text)));
    tab(state.tab);
  }

  function lineLink(line) {
    return line ? make("button", { type: "button", class: "link", onclick: () => showLine(line) }, `line ${line}`) : make("span", { class: "soft" }, "derived");
  }

  function moduleLink(fqn) {
    return make("button", { type: "button", class: "link mono", onclick: () => reveal(fqn) }, fqn === "" ? "(root)" : fqn);
  }

  function showModule() {
    const pane = at("pane-module");
    if (!view.tree) { fill(pane, make("p", { class: "empty" }, "No model is named, so modules cannot be shown.")); return; }
    const fqn = state.chosen, node = nodeOf(fqn);
    if (node === null) return;
    const contract = view.contracts.get(fqn), sum = view.sums.get(fqn);
    const parts = [make("h2", { class: "mono" }, fqn === "" ? "(root module)" : fqn), make("p", { class: "soft" }, view.tree.nodes[node][0] >= 0 ? view.tree.classes[view.tree.nodes[node][0]] : "class unknown")];
    const facts = [];
    if (contract) facts.push(make("span", { class: "badge plain" }, `${contract.kind ?? "boundary"}, ${contract.mode}`));
    if (contract?.ep) facts.push(chip("ep", `experts over ep=${contract.ep}`));
    if (sum) facts.push(make("span", { class: "soft" }, `${bytes(sum.local)} of ${bytes(sum.whole)} per rank`));
    if (facts.length) parts.push(make("p", { class: "facts" }, ...facts));
    const told = view.told.get(fqn) ?? [];
    if (told.length) parts.push(make("h3", {}, "Findings"), ...told.map((i) => findingCard(view.findings[i])));
    if (contract) parts.push(...contractParts(contract));
    const own = view.tree.nodes[node][2];
    if (own.length) {
      parts.push(make("h3", {}, "Parameters of this module"), table(["Name", "Shape", "Dtype", "Layout", "#Per rank", "#Whole"], own.map(([name, shape, dtype]) => {
        const memory = view.parameters.get(below(fqn, name));
        return [mono(name), mono(shape.join(" × ") || "scalar"), dtype, memory ? cutChips(memory[2]) : [make("span", { class: "soft" }, "tied")], memory ? bytes(memory[1]) : "", memory ? bytes(memory[0]) : ""];
      })));
    }
    const children = view.tree.nodes[node][1];
    if (children.length) {
      parts.push(make("h3", {}, plural(children.length, "child module")), table(["Module", "Class", "#Per rank", "#Whole"], children.slice(0, 60).map(([name, child]) => {
        const path = below(fqn, name), inner = view.sums.get(path);
        return [moduleLink(path), className(child), inner ? bytes(inner.local) : "", inner ? bytes(inner.whole) : ""];
      })));
      if (children.length > 60) parts.push(make("p", { class: "empty" }, `and ${number(children.length - 60)} more, in the tree`));
    }
    fill(pane, ...parts);
    pane.scrollTop = 0;
  }

  function contractParts(contract) {
    const parts = [];
    if (contract.flows.length) {
      parts.push(make("h3", {}, "At the boundary"), table(["", "Tensor", "Arrives as, then", "Communication (forward; backward)", "Set by"], contract.flows.map(([side, name, source, target]) => {
        const sent = contract.moves.filter((move) => move[0] === side && move[1] === name);
        const same = JSON.stringify(source) === JSON.stringify(target);
        const lines = [...new Set([contract.lines[`${side}_src`], contract.lines[`${side}_dst`]].filter(Boolean))];
        return [side, mono(name), same ? layout(source) : [...layout(source), make("span", { class: "arrow" }, "→"), ...layout(target)],
          sent.length ? sent.flatMap((move) => [make("div", {}, chip(move[2], move[2]), ` ${move[3] || "nothing"}; ${move[4] || "nothing"}`, move[5] === null ? "" : ` (${bytes(move[5])})`)]) : make("span", { class: "soft" }, "none"),
          lines.length ? lines.flatMap((line) => [lineLink(line), " "]) : lineLink(0)];
      })));
    }
    const names = Object.entries(contract.params);
    if (names.length) {
      parts.push(make("h3", {}, "Parameters it lays out"), table(["Parameter", "Layout", "Set by"], names.map(([name, placements]) => [
        [mono(name), contract.stacked[name] ? make("span", { class: "soft" }, ` stacked from ${contract.stacked[name]}`) : null].filter(Boolean), layout(placements), lineLink(contract.lines.params)])));
    }
    const set = Object.entries(contract.set);
    if (contract.divided.length) set.push(["divided by tp", contract.divided.join(", ")]);
    if (contract.deferred.length) set.push(["added after communication", contract.deferred.join(", ")]);
    if (set.length) parts.push(make("h3", {}, "How it runs"), table(["Field", "Value", "Set by"], set.map(([field, value]) => [mono(field), mono(typeof value === "string" ? value : JSON.stringify(value)), lineLink(contract.lines[field])])));
    return parts;
  }

  function findingCard(finding) {
    const modules = [];
    for (const fqn of unpack(finding.modules)) { modules.push(fqn); if (modules.length > 6) break; }
    return make("div", { class: `finding ${finding.severity}` },
      make("div", { class: "head" }, make("span", { class: `badge ${finding.severity}` }, finding.severity), make("b", {}, finding.code), make("span", { class: "soft" }, finding.name),
        make("button", { type: "button", class: "link", onclick: () => showLine(finding.at[0]) }, `${finding.path}:${finding.at[0]}:${finding.at[1]}`)),
      make("p", { class: "message" }, finding.message),
      finding.help ? make("p", { class: "help" }, finding.help) : null,
      finding.fix ? make("p", { class: "help" }, `Fix: ${finding.fix}`) : null,
      modules.length && view.tree ? make("div", { class: "where" }, ...modules.slice(0, 6).map(moduleLink), modules.length > 6 ? make("span", { class: "soft" }, "and more") : null) : null);
  }

  function showFindings() {
    const found = view.findings;
    fill(at("pane-findings"), ...(found.length ? found.map(findingCard) : [make("p", { class: "empty" }, "Nothing was found: the plan is clean on this mesh.")]));
  }

  function showText() {
    const text = view.plan?.text ?? "";
    const lines = text.split(/\r\n|\n|\r/);
    const at_ = new Map();
    for (const finding of view.findings) {
      if (!at_.has(finding.at[0])) at_.set(finding.at[0], []);
      at_.get(finding.at[0]).push(finding);
    }
    const parts = [];
    lines.forEach((line, index) => {
      const found = at_.get(index + 1) ?? [];
      const level = found.length ? SEVERITIES[Math.min(...found.map((f) => SEVERITIES.indexOf(f.severity)))] : "";
      parts.push(make("div", { class: `line ${level}`, id: `line-${index + 1}` }, make("span", {}, String(index + 1)), make("span", {}, ...marked(line, found[0]))));
      for (const finding of found) parts.push(make("div", { class: "remark" }, make("span", { class: `badge ${finding.severity}` }, finding.code), ` ${finding.message}`));
    });
    fill(at("pane-text"), make("div", { class: "source" }, ...parts));
  }

  function marked(line, finding) {
    if (!finding) return [line];
    const letters = [...line];
    const [from, start, to, end] = finding.at;
    const stop = to === from ? end - 1 : letters.length;
    return [letters.slice(0, start - 1).join(""), make("mark", {}, letters.slice(start - 1, Math.max(stop, start)).join("")), letters.slice(Math.max(stop, start)).join("")];
  }

  function showLine(line) {
    tab("text");
    for (const old of document.querySelectorAll(".line.chosen")) old.classList.remove("chosen");
    const element = at(`line-${line}`);
    if (!element) return;
    element.classList.add("chosen");
    element.scrollIntoView({ block: "center" });
  }

  function showMemory() {
    const memory = view.topology.memory;
    if (!memory) { fill(at("pane-memory"), make("p", { class: "empty" }, "No model is named: there is nothing to count.")); return; }
    const lines = (found) => found.map(([name, whole, local, cuts]) => [moduleOf(name), cutChips(cuts), bytes(local), bytes(whole)]);
    const heads = ["Parameter", "Layout", "#Per rank", "#Whole"];
    fill(at("pane-memory"), 
      make("h2", {}, "Parameters"),
      make("p", { class: "soft" }, "In the dtype of the model. Gradients, optimizer state and activations come on top; FSDP cuts further."),
      memory.unsized.length ? make("p", { class: "soft" }, `The size of ${memory.unsized.join(" and ")} is unknown and counts as 1.`) : null,
      make("h3", {}, "In total"),
      table(["", "#Bytes", "#Share"], [
        ["Without a plan, on each rank", bytes(memory.whole), "100 %"],
        ["With it, on each rank", bytes(memory.local), share(memory.local, memory.whole)],
        ["of that, cut by an axis", bytes(memory.sharded), share(memory.sharded, memory.whole)],
        ["of that, whole on every rank", bytes(memory.replicated), share(memory.replicated, memory.whole)],
      ]),
      make("h3", {}, "Largest on a rank"), table(heads, lines(memory.largest)),
      make("h3", {}, "Largest that nothing cuts"), memory.largest_replicated.length ? table(heads, lines(memory.largest_replicated)) : make("p", { class: "empty" }, "Every parameter is cut."));
  }

  function moduleOf(name) {
    const owner = parent(name) ?? "";
    return nodeOf(owner) === null ? mono(name) : make("button", { type: "button", class: "link mono", onclick: () => reveal(owner) }, name);
  }

  function showTraffic() {
    const { traffic, uncounted, length, batch } = view.topology;
    if (!traffic) { fill(at("pane-traffic"), make("p", { class: "empty" }, "No model is named: there is nothing to count.")); return; }
    const sized = length ? `${plural(batch, "sequence")} of ${plural(length, "token")}` : `${plural(batch, "token")} (give --seq-len for a whole sequence)`;
    fill(at("pane-traffic"), 
      make("h2", {}, "Communication at boundaries"),
      make("p", { class: "soft" }, `For one step over ${sized} on each data-parallel rank. Bytes are those of the messages of one rank: the gathered result, the whole input of a reduce-scatter, the tensor itself otherwise. What injected functions send themselves is not in it.`),
      uncounted.length ? make("p", { class: "soft" }, `Bytes of ${uncounted.join(", ")} cannot be told from the plan and count as 0.`) : null,
      make("h3", {}, "In total"),
      traffic.length ? table(["Axis", "Direction", "Collective", "#Calls", "#Bytes"], traffic.map(([axis, direction, collective, calls, size]) => [chip(axis, axis), direction, collective, number(calls), bytes(size)])) : make("p", { class: "empty" }, "No boundary communicates."));
  }

  // -- The whole page --------------------------------------------------------------------------------------------------------

  function card(label, value, note, tone = "", bar = null) {
    return make("div", { class: `card ${tone}` }, make("div", { class: "label" }, label), make("div", { class: "value" }, ...[value].flat()), bar, make("div", { class: "note" }, note));
  }

  function summary() {
    const counts = SEVERITIES.map((s) => view.findings.filter((f) => f.severity === s).length);
    const words = SEVERITIES.map((s, i) => (counts[i] ? plural(counts[i], s, s === "info" ? "infos" : undefined) : "")).filter(Boolean);
    const tone = counts[0] ? "error" : counts[1] ? "warning" : "good";
    const cards = [card("Findings", view.findings.length ? words[0] : "Clean", words.slice(1).join(", ") || (view.findings.length ? "" : "nothing to report"), tone)];
    const memory = view.topology.memory;
    if (memory) {
      const bar = make("div", { class: "bar", "aria-hidden": "true" }, make("div"));
      bar.firstChild.style.width = `${memory.whole ? 100 * memory.local / memory.whole : 0}%`;
      cards.push(card("Parameters on each rank", [bytes(memory.local), make("small", {}, ` of ${bytes(memory.whole)}`)], `${share(memory.local, memory.whole)} of the whole model`, "", bar));
      cards.push(card("Whole on every rank", bytes(memory.replicated), memory.largest_replicated[0] ? `largest: ${memory.largest_replicated[0][0]}` : "everything is cut"));
    }
    if (view.topology.traffic) {
      const total = view.topology.traffic.reduce((sum, entry) => sum + entry[4], 0);
      const calls = view.topology.traffic.reduce((sum, entry) => sum + entry[3], 0);
      const { length, batch } = view.topology;
      cards.push(card("Communication at boundaries", bytes(total), `${plural(calls, "call")}, ${length ? `${plural(batch, "sequence")} of ${plural(length, "token")}` : `for ${plural(batch, "token")}`}`));
    }
    fill(at("summary"), ...cards);
  }

  function options(element, pairs) {
    element.replaceChildren(...pairs.map(([value, text]) => make("option", { value }, text)));
  }

  function everything() {
    look();
    const plan = view.plan;
    at("title").textContent = plan ? `${plan.path}${plan.name ? ` (${plan.name})` : ""}` : "No plan";
    const model = view.tree ? `${className(view.tree.root) || "model"} · ${plan.model}` : plan?.model ?? "no model";
    at("subtitle").textContent = plan ? `${model} · ${view.topology.label} · ${plural(plan.entries, "entry", "entries")}, ${plural(view.contracts.size, "boundary", "boundaries")}` : "";
    options(at("axis"), [["", "any axis"], ...Object.entries(view.topology.axes ?? {}).map(([axis, size]) => [axis, `${axis} (${size})`]), ["whole", "not cut"]]);
    options(at("kind"), [["", "any kind"], ...view.kinds.map((kind) => [kind, kind])]);
    tabs();
    summary();
    refresh();
    showModule(); showFindings(); showText(); showMemory(); showTraffic();
  }

  function theme(name) {
    document.documentElement.dataset.theme = name;
    at("theme").textContent = name === "dark" ? "Light" : "Dark";
  }

  function start() {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    theme(dark.matches ? "dark" : "light");
    dark.addEventListener("change", () => theme(dark.matches ? "dark" : "light"));
    at("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
    options(at("plan"), data.plans.map((plan, index) => [index, `${plan.path}${plan.name ? ` (${plan.name})` : ""}`]));
    at("plan-choice").hidden = data.plans.length < 2;
    const meshes = () => {
      const topologies = data.plans[state.plan]?.topologies ?? [];
      options(at("topology"), topologies.map((topology, index) => [index, topology.label]));
      at("topology-choice").hidden = topologies.length < 2;
    };
    meshes();
    at("plan").addEventListener("change", () => {
      state.plan = Number(at("plan").value); state.topology = 0;
      meshes(); look(); openFirst(); everything();
    });
    at("topology").addEventListener("change", () => { state.topology = Number(at("topology").value); everything(); });
    let waiting = 0;
    const filter = () => { state.shut = new Set(); at("tree").scrollTop = 0; refresh(); };
    at("search").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filter, 90); });
    for (const id of ["axis", "kind", "with-findings", "changed"]) at(id).addEventListener("change", filter);
    at("tree").addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
    at("tree").addEventListener("keydown", keys);
    new ResizeObserver(draw).observe(at("tree"));
    at("tabs").addEventListener("keydown", (event) => {
      const names = Object.keys(TABS), index = names.indexOf(state.tab);
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) { event.preventDefault(); tab(names[(index + step + names.length) % names.length], true); }
    });
    document.addEventListener("keydown", (event) => {
      const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "");
      if (event.key === "/" && !typing) { event.preventDefault(); at("search").focus(); at("search").select(); }
      if (event.key === "Escape" && document.activeElement === at("search")) { at("search").value = ""; filter(); at("tree").focus(); }
      if (event.key === "ArrowDown" && document.activeElement === at("search")) { event.preventDefault(); at("tree").focus(); }
    });
    at("foot").textContent = `Written by hplint ${data.hplint}. Keys: / finds, arrows walk the tree, Esc clears.`;
    look();
    openFirst();
    everything();
  }

  start();
})();
