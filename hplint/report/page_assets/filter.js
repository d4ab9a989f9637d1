// Which modules the search and the filters ask for.
const filters = { axis: "" };

function asked() {
  const text = at("search").value.trim();
  const kind = at("kind").value, withFindings = at("with-findings").checked, changed = at("changed").checked;
  if (!text && !filters.axis && !kind && !withFindings && !changed) return null;
  const node = view.nodes.map((_, index) => {
    const contract = contractOf(index);
    if (withFindings && !findingsOf(index).length) return false;
    if (changed && (!contract || contract.mode === "derived")) return false;
    if (kind && (!contract || kindOf(contract) !== kind)) return false;
    return !filters.axis || ownAxes(index, contract).has(filters.axis);
  });
  // Whether the module or one below it may pass: what cannot is never walked.
  const reach = [...node];
  for (let index = 0; index < reach.length; index += 1) reach[index] ||= childrenOf(index).some(([, child]) => reach[child]);
  return { node, reach, named: naming(text), text: /[*?]/.test(text) ? "" : text.toLowerCase() };
}

// A glob fits whole names. Other text must touch the module's own name: what lies below a hit is no hit of its own.
function naming(text) {
  if (!text) return () => true;
  if (/[*?]/.test(text)) {
    const glob = new RegExp(`^${text.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*/g, ".*").replace(/\?/g, ".")}$`, "i");
    return (fqn) => glob.test(fqn);
  }
  const lower = text.toLowerCase();
  const classes = view.nodes.map((_, node) => className(node).toLowerCase().includes(lower));
  return (fqn, node) => {
    const found = fqn.toLowerCase().lastIndexOf(lower);
    return classes[node] || (found >= 0 && found + lower.length > fqn.lastIndexOf(".") + 1);
  };
}

function ownAxes(node, contract) {
  const found = new Set();
  for (const [, , , whole, local, cuts] of parametersOf(node)) {
    if (whole === undefined) continue;
    if (cuts.length) cuts.forEach(([axis]) => found.add(axis));
    else if (local === whole) found.add("whole");
  }
  for (const [, , axis] of contract?.moves ?? []) found.add(axis);
  return found;
}

// The modules that pass, and those on the way to them.
function search(query) {
  const hits = new Set(), way = new Set();
  const walk = [["", view.tree.root]];
  while (walk.length) {
    const [fqn, node] = walk.pop();
    if (query.node[node] && query.named(fqn, node)) {
      hits.add(fqn);
      for (let up = parent(fqn); up !== null && !way.has(up); up = parent(up)) way.add(up);
    }
    for (const [name, child] of childrenOf(node)) if (query.reach[child]) walk.push([below(fqn, name), child]);
  }
  return { hits, way, text: query.text };
}

function clearFilters() {
  at("search").value = "";
  at("kind").value = "";
  at("with-findings").checked = false;
  at("changed").checked = false;
  chooseAxis("");
}

// The buttons of the axes are the legend too.
function axisButtons() {
  const axes = Object.entries(view.topology.axes ?? {});
  const buttons = [...axes.map(([axis, size]) => [axis, size === null ? axis : `${axis} ${size}`, `cut or sent over ${axis}`]),
    ...(axes.length ? [["whole", "whole", "parameters that no axis cuts"]] : [])];
  if (filters.axis && !buttons.some(([axis]) => axis === filters.axis)) filters.axis = "";
  fill(at("axis"), ...buttons.map(([axis, text, title]) => make("button", {
    type: "button", class: `chip ${AXES.includes(axis) ? axis : ""}`, "data-axis": axis, title, "aria-label": `Only modules with ${title}`,
    onclick: () => { chooseAxis(filters.axis === axis ? "" : axis); filtered(); },
  }, text)));
  chooseAxis(filters.axis);
}

function chooseAxis(axis) {
  filters.axis = axis;
  for (const button of at("axis").children) button.setAttribute("aria-pressed", String(button.dataset.axis === axis));
}

const countOf = (hits) => (hits === null ? plural(view.sums[view.tree.root].modules, "module")
  : `${number(hits)} of ${plural(view.sums[view.tree.root].modules, "module")}`);
