// The whole page, and what moves it.
function options(element, pairs) {
  element.replaceChildren(...pairs.map(([value, text]) => make("option", { value }, text)));
}

const titleOf = (plan) => `${plan.path}${plan.name ? ` (${plan.name})` : ""}`;

function everything() {
  look();
  if (view.tree && nodeOf(state.chosen) === null) state.chosen = "";
  document.body.classList.toggle("no-tree", !view.tree);
  if (!view.tree && state.tab === "module") state.tab = "findings";
  const plan = view.plan;
  at("title").textContent = plan ? titleOf(plan) : "No plan could be read";
  const facts = [];
  if (plan) {
    facts.push(view.tree ? className(view.tree.root) || "model" : "no model", ...(plan.model ? [plan.model] : []), view.topology.label, plural(plan.entries, "entry", "entries"));
    const words = view.topology.traffic ? ["boundary", "boundaries"] : ["module with a style", "modules with a style"];
    if (view.topology.boundaries) facts.push(plural(view.topology.boundaries.reduce((sum, [packed]) => sum + [...folded(packed)].reduce((n, [, count]) => n + count, 0), 0), ...words));
  }
  at("subtitle").textContent = facts.join(" · ");
  const kind = at("kind").value;
  options(at("kind"), [["", "any kind"], ...view.kinds.map((name) => [name, name])]);
  at("kind").value = view.kinds.includes(kind) ? kind : "";
  axisButtons();
  showSummary();
  filtered();
  Object.keys(PANES).forEach((name) => old.add(name));
  tabs();
}

function theme(name) {
  document.documentElement.dataset.theme = name;
  at("theme").textContent = name === "dark" ? "Light" : "Dark";
  at("theme").setAttribute("aria-label", `Switch to ${name === "dark" ? "light" : "dark"} colours`);
}

function choices() {
  options(at("plan"), data.plans.map((plan, index) => [index, titleOf(plan)]));
  at("plan-choice").hidden = data.plans.length < 2;
  const meshes = () => {
    const topologies = data.plans[state.plan]?.topologies ?? [];
    options(at("topology"), topologies.map((topology, index) => [index, topology.label]));
    at("topology-choice").hidden = topologies.length < 2;
  };
  meshes();
  at("plan").addEventListener("change", () => {
    state.plan = Number(at("plan").value);
    state.topology = 0;
    meshes();
    clearFilters();
    look();
    openFirst();
    everything();
  });
  at("topology").addEventListener("change", () => { state.topology = Number(at("topology").value); everything(); });
}

function shortcuts(event) {
  const active = document.activeElement;
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(active?.tagName ?? "") && active.type !== "checkbox";
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) { event.preventDefault(); at("search").focus(); at("search").select(); }
  if (event.key === "Escape" && (active === at("search") || active === at("tree"))) { clearFilters(); filtered(); at("tree").focus(); }
  if (event.key === "ArrowDown" && active === at("search")) {
    event.preventDefault();
    filtered();
    const hit = rows.findIndex((row) => row.hit);
    if (hit >= 0) { choose(rows[hit].fqn); scrollTo(hit); }
    at("tree").focus();
  }
}

function tabKeys(event) {
  const names = Object.keys(PANES), index = names.indexOf(state.tab);
  const to = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: names.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  tab(names[(to + names.length) % names.length], true);
}

function start() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  theme(dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => theme(dark.matches ? "dark" : "light"));
  at("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  choices();
  let waiting = 0;
  at("search").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filtered, 90); });
  for (const id of ["kind", "with-findings", "changed"]) at(id).addEventListener("change", filtered);
  at("tree").addEventListener("scroll", () => requestAnimationFrame(() => draw()), { passive: true });
  at("tree").addEventListener("keydown", walked);
  at("rows").addEventListener("click", clicked);
  at("rows").addEventListener("dblclick", clicked);
  new ResizeObserver(() => draw()).observe(at("tree"));
  at("tabs").addEventListener("keydown", tabKeys);
  document.addEventListener("keydown", shortcuts);
  // On paper everything is shown, and nothing scrolls.
  addEventListener("beforeprint", () => { Object.keys(PANES).forEach(freshen); draw(true); });
  addEventListener("afterprint", () => draw());
  at("foot").textContent = `Written by hplint ${data.hplint}. Keys: / finds, arrows walk the tree, * opens a level, Esc clears.`;
  look();
  openFirst();
  everything();
}

start();
