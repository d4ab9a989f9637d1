// The text of the plan with what was found in it.
const BLOCK = 200;

// Lines stand in blocks, so that a browser may leave out those that are not in sight.
function showText() {
  const lines = (view.plan?.text ?? "").replace(/^\ufeff/, "").split(/\r\n|\n|\r/);
  const told = new Map();
  for (const finding of view.findings) {
    for (let line = finding.at[0]; line <= Math.min(finding.at[2], finding.at[0] + 99); line += 1) {
      if (!told.has(line)) told.set(line, []);
      told.get(line).push(finding);
    }
  }
  const blocks = [];
  for (let first = 0; first < lines.length; first += BLOCK) {
    const block = make("div", { class: "block" });
    lines.slice(first, first + BLOCK).forEach((line, i) => block.append(...lineElements(line, first + i + 1, told.get(first + i + 1) ?? [])));
    block.style.containIntrinsicSize = `auto 600px auto ${20 * block.children.length}px`;
    blocks.push(block);
  }
  return [make("div", { class: "source" }, ...blocks)];
}

function lineElements(line, index, found) {
  const here = found.filter((finding) => finding.at[0] === index);
  const worst = here.length ? SEVERITIES[Math.min(...here.map((finding) => SEVERITIES.indexOf(finding.severity)))] : "";
  return [make("div", { class: `line ${worst}`, id: `line-${index}` }, make("span", {}, String(index)), make("span", {}, ...marked(line, index, found))),
    ...here.map((finding) => make("div", { class: "remark" }, make("span", { class: `badge ${finding.severity}` }, finding.code), " ", ...prose(finding.message)))];
}

// Columns count characters, not the halves of them that strings are made of. The worst of what overlaps is shown.
function marked(line, index, found) {
  if (!found.length) return [line];
  const letters = [...line], levels = letters.map(() => 9);
  for (const finding of found) {
    const [from, start, to, end] = finding.at;
    const indent = letters.findIndex((letter) => letter.trim());
    const begin = index === from ? start - 1 : Math.max(indent, 0), stop = index === to ? Math.max(end - 1, begin + (index === from ? 1 : 0)) : letters.length;
    for (let i = begin; i < Math.min(stop, letters.length); i += 1) levels[i] = Math.min(levels[i], SEVERITIES.indexOf(finding.severity));
  }
  const parts = [];
  for (let first = 0; first < letters.length;) {
    let end = first;
    while (end < letters.length && levels[end] === levels[first]) end += 1;
    const text = letters.slice(first, end).join("");
    parts.push(levels[first] < 9 ? make("mark", { class: SEVERITIES[levels[first]] }, text) : text);
    first = end;
  }
  return parts;
}

function showLine(line) {
  tab("text");
  for (const chosen of document.querySelectorAll(".line.chosen")) chosen.classList.remove("chosen");
  const element = at(`line-${line}`);
  if (!element) return;
  element.classList.add("chosen");
  element.tabIndex = -1;
  element.focus({ preventScroll: true });
  element.scrollIntoView({ block: "center" });
}
