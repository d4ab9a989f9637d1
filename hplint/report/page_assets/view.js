// One plan on one topology, and what follows from its values by adding up.
const state = { plan: 0, topology: 0, chosen: "", tab: "module" };
let view = null;

// -- Names that came packed --------------------------------------------------------------------------------------------

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

function* rangesOf(packed) {
  if (packed === 0) { yield [[], 1]; return; }
  for (const [spelled, inner] of packed) {
    const own = spelled.split(",").reduce((sum, part) => {
      const [first, last] = part.split("-");
      return sum + Number(last ?? first) - Number(first) + 1;
    }, 0);
    for (const [rest, count] of rangesOf(inner)) yield [[own > 1 ? `{${spelled}}` : spelled, ...rest], own * count];
  }
}

// Names with ranges for their numbers, and how many each of them stands for.
function* folded(packed) {
  for (const [segments, numbers] of packed) {
    for (const [found, count] of rangesOf(numbers)) {
      let next = 0;
      yield [segments.map((segment) => (segment === null ? found[next++] : segment)).join("."), count];
    }
  }
}

const parent = (fqn) => (fqn === "" ? null : fqn.includes(".") ? fqn.slice(0, fqn.lastIndexOf(".")) : "");
const last = (fqn) => fqn.slice(fqn.lastIndexOf(".") + 1);
const below = (fqn, name) => (fqn === "" ? name : `${fqn}.${name}`);

// -- Nodes: [class, children, parameters, contract, findings] ------------------------------------------------------------

const childrenOf = (node) => view.nodes[node][1];
const parametersOf = (node) => view.nodes[node][2];
const contractOf = (node) => view.contracts[view.nodes[node][3]];
const findingsOf = (node) => view.nodes[node][4];
const fullClass = (node) => (view.nodes[node][0] >= 0 ? view.tree.classes[view.nodes[node][0]] : "");
const className = (node) => fullClass(node).split(".").pop();
const kindOf = (contract) => contract.kind ?? "inserted";

function nodeOf(fqn) {
  if (!view.tree) return null;
  let node = view.tree.root;
  if (fqn === "") return node;
  for (const segment of fqn.split(".")) {
    const child = childrenOf(node).find(([name]) => name === segment);
    if (!child) return null;
    node = child[1];
  }
  return node;
}

function look() {
  const plan = data.plans[state.plan];
  const topology = plan ? plan.topologies[state.topology] : { findings: [] };
  const tree = topology.tree ?? null;
  view = {
    plan, topology, tree,
    nodes: tree ? tree.nodes : [],
    contracts: (topology.boundaries ?? []).map(([, contract]) => contract),
    findings: topology.findings,
    file: plan ? plan.path.slice(plan.path.lastIndexOf("/") + 1) : "",
    sums: [],
  };
  for (let node = 0; node < view.nodes.length; node += 1) view.sums.push(sumOf(node));
  view.kinds = [...new Set(view.contracts.map(kindOf))].sort();
}

// Children come before their parents.
function sumOf(node) {
  const sum = { modules: 1, whole: 0, local: 0, cuts: new Set(), axes: new Set(), worst: 9, known: false };
  for (const index of findingsOf(node)) sum.worst = Math.min(sum.worst, SEVERITIES.indexOf(view.findings[index].severity));
  for (const [, , , whole, local, cuts] of parametersOf(node)) {
    if (whole === undefined) continue;
    sum.known = true;
    sum.whole += whole;
    sum.local += local;
    for (const [axis, dim] of cuts) { sum.axes.add(axis); sum.cuts.add(`${axis} shard(${dim})`); }
  }
  for (const [, child] of childrenOf(node)) {
    const inner = view.sums[child];
    sum.modules += inner.modules;
    sum.whole += inner.whole;
    sum.local += inner.local;
    sum.known ||= inner.known;
    sum.worst = Math.min(sum.worst, inner.worst);
    for (const axis of inner.axes) sum.axes.add(axis);
  }
  return sum;
}
