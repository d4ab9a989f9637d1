// The panes beside the tree. A pane is made when it is looked at, and again when what it shows has changed.
const PANES = {
  module: { title: "Module", show: showModule }, findings: { title: "Findings", show: showFindings },
  text: { title: "Plan", show: showText }, memory: { title: "Memory", show: showMemory },
  traffic: { title: "Communication", show: showTraffic },
};
const old = new Set();

function tabs() {
  const told = view.findings.length + data.findings.length;
  fill(at("tabs"), ...Object.entries(PANES).map(([name, { title }]) => make("button", {
    id: `tab-${name}`, type: "button", role: "tab", "aria-controls": `pane-${name}`, onclick: () => tab(name),
  }, title, name === "findings" && told ? make("span", { class: "tally" }, number(told)) : null)));
  tab(state.tab);
}

function tab(name, focus = false) {
  state.tab = name;
  for (const key of Object.keys(PANES)) {
    const button = at(`tab-${key}`), on = key === name;
    button.setAttribute("aria-selected", String(on));
    button.tabIndex = on ? 0 : -1;
    if (on && focus) button.focus();
    at(`pane-${key}`).hidden = !on;
  }
  freshen(name);
}

function stale(...names) {
  names.forEach((name) => old.add(name));
  freshen(state.tab);
}

function freshen(name) {
  if (!old.delete(name)) return;
  fill(at(`pane-${name}`), ...PANES[name].show());
  at(`pane-${name}`).scrollTop = 0;
}

function place(line) {
  return line ? link(`${view.file}:${line}`, () => showLine(line)) : soft("derived");
}

const moduleLink = (fqn, text = fqn || "(root)") => (nodeOf(fqn) === null ? mono(text) : link(text, () => reveal(fqn), "mono"));

// -- Module --------------------------------------------------------------------------------------------------------------

function showModule() {
  if (!view.tree) return [empty("No model is named, so modules cannot be shown.")];
  const fqn = state.chosen, node = nodeOf(fqn);
  if (node === null) return [];
  const contract = contractOf(node), sum = view.sums[node], told = findingsOf(node);
  const parts = [make("h2", { class: "mono" }, fqn === "" ? className(node) || "(root module)" : fqn),
    make("p", { class: "soft path" }, fullClass(node) || "class unknown")];
  const facts = [];
  if (contract) facts.push(make("span", { class: "badge plain" }, `${contract.kind ?? "boundary"}, ${contract.mode}`));
  if (contract?.ep) facts.push(chip("ep", `experts over ep=${contract.ep}`));
  if (sum.known) facts.push(make("span", {}, make("b", {}, bytes(sum.local)), " on a rank, ", make("b", {}, bytes(sum.whole)), ` without the plan (${share(sum.local, sum.whole)})`));
  if (facts.length) parts.push(make("p", { class: "facts" }, ...facts));
  if (told.length) parts.push(make("h3", {}, "Findings"), ...told.map((index) => findingCard(view.findings[index])));
  if (contract) parts.push(...contractParts(contract));
  parts.push(...parameterParts(node), ...childParts(fqn, node));
  return parts;
}

function contractParts(contract) {
  const parts = [];
  if (contract.flows.length) {
    parts.push(make("h3", {}, "At the boundary"), table(["", "Tensor", "Layout", "Communication", "Set by"], contract.flows.map(([side, name, source, target]) => {
      const sent = contract.moves.filter((move) => move[0] === side && move[1] === name);
      const lines = [...new Set([contract.lines[`${side}_src`], contract.lines[`${side}_dst`]].filter(Boolean))];
      const same = JSON.stringify(source) === JSON.stringify(target);
      return [side === "in" ? "entry" : "exit", mono(name), same ? layout(source) : [...layout(source), make("span", { class: "arrow" }, "→"), ...layout(target)],
        sent.length ? sent.map(([, , axis, forward, backward, size]) => make("div", { class: "move" }, chip(axis, axis),
          ` ${forward || "nothing"}, back ${backward || "nothing"}`, size === null ? "" : make("span", { class: "soft" }, ` ${bytes(size)}`))) : soft("none"),
        lines.length ? lines.map((line) => make("div", {}, place(line))) : place(0)];
    })));
  }
  const names = Object.entries(contract.params);
  if (names.length) {
    parts.push(make("h3", {}, "Parameters it lays out"), table(["Parameter", "Layout", "Set by"], names.map(([name, placements]) => [
      [mono(name), contract.stacked[name] ? soft(` stacked from ${contract.stacked[name]}`) : null].filter(Boolean), layout(placements), place(contract.lines.params)])));
  }
  const set = Object.entries(contract.set);
  if (contract.divided.length) set.push(["divided by tp", contract.divided.join(", ")]);
  if (contract.deferred.length) set.push(["added after communication", contract.deferred.join(", ")]);
  if (set.length) {
    parts.push(make("h3", {}, "How it runs"), table(["Field", "Value", "Set by"],
      set.map(([field, value]) => [mono(field), mono(typeof value === "string" ? value : JSON.stringify(value)), place(contract.lines[field])])));
  }
  return parts;
}

function parameterParts(node) {
  const own = parametersOf(node);
  if (!own.length) return [];
  return [make("h3", {}, "Its own parameters"), table(["Name", "Shape", "Dtype", "Layout", "#On a rank", "#Without the plan"], own.map(([name, shape, dtype, whole, local, cuts]) => [
    mono(name), mono(shape.join(" × ") || "scalar"), dtype,
    ...(whole === undefined ? [view.topology.memory ? soft("tied") : "", "", ""] : [cutChips(whole, local, cuts), bytes(local), bytes(whole)])]))];
}

const MOST_CHILDREN = 60;

function childParts(fqn, node) {
  const children = childrenOf(node);
  if (!children.length) return [];
  return [make("h3", {}, plural(children.length, "child module")),
    table(["Module", "Class", "#On a rank", "#Without the plan"], children.slice(0, MOST_CHILDREN).map(([name, child]) => {
      const sum = view.sums[child];
      return [moduleLink(below(fqn, name), name), className(child), sum.known ? bytes(sum.local) : "", sum.known ? bytes(sum.whole) : ""];
    })),
    children.length > MOST_CHILDREN ? empty(`and ${number(children.length - MOST_CHILDREN)} more, in the tree`) : null];
}

// -- Findings ------------------------------------------------------------------------------------------------------------

const MOST_FINDINGS = 100;

function findingCard(finding, elsewhere = false) {
  const modules = [];
  for (const fqn of unpack(finding.modules)) { modules.push(fqn); if (modules.length > 6) break; }
  const where = `${elsewhere ? finding.path : view.file}:${finding.at[0]}:${finding.at[1]}`;
  return make("article", { class: `finding ${finding.severity}` },
    make("div", { class: "head" }, make("span", { class: `badge ${finding.severity}` }, finding.severity), make("b", {}, finding.code), soft(finding.name),
      elsewhere ? mono(where) : link(where, () => showLine(finding.at[0]), "place")),
    make("p", { class: "message" }, ...prose(finding.message)),
    finding.help ? make("p", { class: "help" }, ...prose(finding.help)) : null,
    finding.fix ? make("p", { class: "help" }, "Fix: ", ...prose(finding.fix)) : null,
    ...finding.related.map(([message, line]) => make("p", { class: "help" }, elsewhere ? mono(`${finding.path}:${line}`) : place(line), " ", ...prose(message))),
    modules.length && view.tree ? make("div", { class: "where" }, ...modules.slice(0, 6).map((fqn) => moduleLink(fqn)), modules.length > 6 ? soft("and more") : null) : null);
}

function cards(found, elsewhere) {
  const rest = found.slice(MOST_FINDINGS);
  const parts = found.slice(0, MOST_FINDINGS).map((finding) => findingCard(finding, elsewhere));
  if (rest.length) {
    parts.push(make("button", { type: "button", class: "more", onclick: (event) => {
      const next = cards(rest, elsewhere);
      event.target.replaceWith(...next);
      next[0].querySelector("button")?.focus();
    } }, `Show ${number(Math.min(rest.length, MOST_FINDINGS))} more of ${number(rest.length)}`));
  }
  return parts;
}

function showFindings() {
  const parts = cards(view.findings, false);
  if (!parts.length && view.plan) parts.push(empty(view.tree ? "Nothing was found: the plan is clean on this mesh." : "Nothing was found, as far as a plan can be checked without a model."));
  if (data.findings.length) {
    if (view.plan) parts.push(make("h3", {}, "In files whose plan cannot be read"));
    parts.push(...cards(data.findings, true));
  }
  return parts.length ? parts : [empty("Nothing was found.")];
}
