// What a rank holds, and what it sends.
const MOST_ROWS = 200;

function showMemory() {
  const memory = view.topology.memory;
  if (!memory) return [empty("No model is named: there is nothing to count.")];
  const lines = (found) => found.map(([name, count, whole, local, cuts]) => [
    count === 1 ? moduleLink(parent(name) ?? "", name) : [make("div", { class: "name-of" }, dotted(name)), soft(`${number(count)} of them, each`)], cutChips(whole, local, cuts), bytes(local), bytes(whole)]);
  const heads = ["Parameter", "Layout", "#On a rank", "#Without the plan"];
  return [
    make("h2", {}, "Parameters"),
    make("p", { class: "soft" }, "In the dtype of the model. Gradients, optimizer state and activations come on top; FSDP cuts further."),
    memory.unsized.length ? make("p", { class: "soft" }, `The size of ${memory.unsized.join(" and ")} is unknown and counts as 1.`) : null,
    make("h3", {}, "In total"),
    table(["", "#Bytes", "#Share"], [
      ["Without the plan, on each rank", bytes(memory.whole), share(1, 1)],
      [make("b", {}, "With the plan, on each rank"), make("b", {}, bytes(memory.local)), make("b", {}, share(memory.local, memory.whole))],
      [make("span", { class: "part" }, "cut by an axis"), bytes(memory.sharded), share(memory.sharded, memory.whole)],
      [make("span", { class: "part" }, "whole on every rank"), bytes(memory.replicated), share(memory.replicated, memory.whole)],
    ]),
    make("h3", {}, "Largest on a rank"), table(heads, lines(memory.largest)),
    make("h3", {}, "Largest that nothing cuts"),
    memory.largest_replicated.length ? table(heads, lines(memory.largest_replicated)) : empty("Every parameter is cut."),
  ];
}

const step = ({ length, batch }) => (length ? `${plural(batch, "sequence")} of ${plural(length, "token")}` : plural(batch, "token"));

function showTraffic() {
  const { traffic, uncounted, length } = view.topology;
  if (!traffic) return [empty(view.tree ? "What this kind of plan sends is not counted here." : "No model is named: there is nothing to count.")];
  const parts = [
    make("h2", {}, "Communication at boundaries"),
    make("p", { class: "soft" }, `For one step over ${step(view.topology)} on each data-parallel rank${length ? "" : " (--seq-len and --batch give whole sequences)"}. Bytes are those of one rank's messages: the gathered result, the whole input of a reduce-scatter, the tensor itself otherwise. What injected functions send themselves is not in it.`),
    uncounted.length ? make("p", { class: "soft" }, `Bytes of ${uncounted.join(", ")} cannot be told from the plan and count as 0.`) : null,
    make("h3", {}, "In total"),
  ];
  if (!traffic.length) return [...parts, empty("No boundary communicates.")];
  parts.push(table(["Axis", "Direction", "Collective", "#Calls", "#Bytes"], traffic.map(([axis, direction, collective, calls, size]) => [chip(axis, axis), direction, collective, number(calls), bytes(size)])));
  const lines = boundaryLines();
  parts.push(make("h3", {}, "Boundary by boundary"),
    table(["Boundary", "Layout", "Communication", "#Each"], lines.slice(0, MOST_ROWS)));
  if (lines.length > MOST_ROWS) parts.push(empty(`and ${number(lines.length - MOST_ROWS)} more, at their modules`));
  return parts;
}

// Boundaries that differ in their numbers alone stand in one line; what sends most comes first.
function boundaryLines() {
  const lines = [];
  for (const [packed, contract] of view.topology.boundaries) {
    for (const [side, name, axis, forward, backward, size] of contract.moves) {
      const flow = contract.flows.find((one) => one[0] === side && one[1] === name);
      const placed = (layouts) => layouts?.[axis] ?? "replicate";
      for (const [label, count] of folded(packed)) {
        lines.push([size * count, [
          [make("div", { class: "name-of" }, count === 1 ? moduleLink(label) : dotted(label)),
            soft(`${count === 1 ? "" : `${number(count)} boundaries, `}${side === "in" ? "entry" : "exit"} ${name}`)],
          make("div", { class: "name-of" }, chip(axis, axis), ` ${placed(flow?.[2])}`, ...(placed(flow?.[2]) === placed(flow?.[3]) ? [] : [make("span", { class: "arrow" }, "→"), placed(flow?.[3])])),
          [make("div", { class: "name-of" }, forward || "nothing"), make("div", { class: "name-of soft" }, `back ${backward || "nothing"}`)],
          size === null ? soft("unknown") : bytes(size)]]);
      }
    }
  }
  return lines.sort((a, b) => b[0] - a[0]).map(([, line]) => line);
}

// A long name breaks where it has dots.
function dotted(name) {
  return make("span", { class: "mono" }, ...name.split(".").flatMap((part, i) => (i ? [".", make("wbr"), part] : [part])));
}

// -- At a glance -----------------------------------------------------------------------------------------------------------

function counted(found) {
  return SEVERITIES.map((severity) => [found.filter((finding) => finding.severity === severity).length, severity])
    .filter(([count]) => count).map(([count, severity]) => plural(count, severity, severity === "info" ? "infos" : undefined));
}

function card(label, value, note, tone = "", bar = null) {
  return make("div", { class: `card ${tone}` }, make("div", { class: "label" }, label), make("div", { class: "value" }, ...[value].flat()), bar, make("div", { class: "note" }, ...[note].flat()));
}

function showSummary() {
  const found = view.plan ? view.findings : data.findings;
  const words = counted(found);
  const tone = words.length ? found.some((f) => f.severity === "error") ? "error" : found.some((f) => f.severity === "warning") ? "warning" : "" : "good";
  const elsewhere = view.plan && data.findings.length ? link(`${counted(data.findings).join(", ")} in other files`, () => tab("findings", true)) : null;
  const quiet = view.tree ? "nothing to report" : "as far as a plan can be checked without a model";
  const note = [words.slice(1).join(", ") || (words.length ? "" : quiet), elsewhere ? make("div", {}, elsewhere) : ""];
  const shown = [card("Findings", words[0] ?? "Clean", note, tone)];
  const { memory, traffic } = view.topology;
  if (memory) {
    const bar = make("div", { class: "bar", "aria-hidden": "true" }, make("div", { class: "cut" }), make("div", { class: "uncut" }));
    bar.children[0].style.width = `${memory.whole ? 100 * memory.sharded / memory.whole : 0}%`;
    bar.children[1].style.width = `${memory.whole ? 100 * memory.replicated / memory.whole : 0}%`;
    shown.push(card("Parameters on each rank", [bytes(memory.local), make("small", {}, ` of ${bytes(memory.whole)}`)], `${share(memory.local, memory.whole)} of what it holds without the plan`, "", bar));
    const largest = memory.largest_replicated[0];
    shown.push(card("Whole on every rank", bytes(memory.replicated), largest ? ["largest: ", largest[1] === 1 ? moduleLink(parent(largest[0]) ?? "", largest[0]) : dotted(largest[0])] : "everything is cut"));
  }
  if (traffic) {
    const total = (column) => traffic.reduce((sum, entry) => sum + entry[column], 0);
    const calls = plural(total(3), "call"), over = `per step over ${step(view.topology)}`;
    const unknown = view.topology.uncounted.length > 0 && total(4) === 0;
    shown.push(unknown ? card("Communication at boundaries", calls, `${over}; bytes cannot be told`) : card("Communication at boundaries", bytes(total(4)), `${calls} ${over}`));
  }
  fill(at("summary"), ...shown);
}
