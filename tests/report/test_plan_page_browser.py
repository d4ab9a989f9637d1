"""The page of hplint report in a browser: what a reader does, at 100,000 modules."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hplint.derive.derive import derive_boundaries
from hplint.front.read import read_document
from hplint.lint.diagnostic import Diagnostic
from hplint.lint.registry import Registry
from hplint.lint.request import CheckedPlan, Run
from hplint.lint.run import Engine, fingerprint
from hplint.lint.select import Selection
from hplint.model.tree import ModuleClass, ModuleTree, Node, Tensor
from hplint.report.page_data import page_data
from hplint.report.plan_page import plan_page
from hplint.resolve.topology import Topology
from hplint.text.source import Source
from hplint.text.span import Span

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
    pytest.mark.xdist_group("browser"),
]
LAYERS, EXPERTS = 61, 409
PLAN = """\
plan_overrides:
- match: model.layers.*.mlp
  out_dst: {tp: shard(1)}
- match: model.layers.7.self_atn
  out_dst: auto
- match: model.layers.3.mlp
  params: {"<img src=x onerror=document.title='owned'>": {tp: shard(0)}}
"""


def large_tree() -> ModuleTree:
    """61 layers of 409 experts with three projections each: 100,289 modules."""
    linear = ModuleClass("torch.nn.modules.linear.Linear", ("torch.nn.modules.module.Module",), ())
    names = ("Large", "Model", "Layers", "Layer", "Attention", "Moe", "Experts", "Expert")
    classes = (linear, *(ModuleClass(f"zoo.{name}", (), ()) for name in names))
    weight = {"weight": Tensor((512, 512), "bfloat16", True)}
    nodes = [
        Node(0, weight, {}, {}, ()),
        Node(8, {}, {}, {}, (("gate_proj", 0), ("up_proj", 0), ("down_proj", 0))),
        Node(7, {}, {}, {}, tuple((str(i), 1) for i in range(EXPERTS))),
        Node(6, {}, {}, {}, (("experts", 2),)),
        Node(5, {}, {}, {}, tuple((f"{n}_proj", 0) for n in "qkvo")),
        Node(4, {}, {}, {}, (("self_attn", 4), ("mlp", 3))),
        Node(3, {}, {}, {}, tuple((str(i), 5) for i in range(LAYERS))),
        Node(2, {}, {}, {}, (("embed_tokens", 0), ("layers", 6))),
        Node(1, {}, {}, {}, (("model", 7), ("lm_head", 0))),
    ]
    return ModuleTree(classes=classes, nodes=tuple(nodes), root=8, aliases={}, ties=(), config={"hidden_size": 512})


def checked_plans(path: str, text: str, tree: ModuleTree | None, *sizes: int) -> list[CheckedPlan]:
    """The plan of a text, on a mesh of each size of tp."""
    (plan,) = read_document(path, text.encode()).plans
    found = []
    for tp in sizes:
        topology = Topology(tp=tp, cp=1, ep=1, dp=2, mesh={"dp": 2, "tp": tp}, sequence_parallel=True)
        told, resolved = Engine(Registry(), Selection(), derive_boundaries).check(plan, tree, topology)
        found.append(CheckedPlan(path, plan, topology, "zoo:large", tree, resolved, tuple(told)))
    return found


def written(path: Path, checked: list[CheckedPlan], *further: Diagnostic) -> Path:
    """The page of a run; with several meshes, findings are those of the first."""
    first = {id(c.plan): c for c in reversed(checked)}
    told = [d for c in first.values() for d in c.diagnostics]
    run = Run(1, tuple(fingerprint([*told, *further])), tuple(checked))
    path.write_text(plan_page(page_data(run, 1, 4096)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    checked = checked_plans("plans/large.yaml", PLAN, large_tree(), 2, 4)
    return written(tmp_path_factory.mktemp("page") / "plan.html", checked)


EVIL = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def odd_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three plans: one of 12,000 lines with 300 slips, one of a model whose names are code, one without a model; and a
    file that cannot be read."""
    slips = "plan_overrides:\n" + "".join(f"- match: model.layers.{n}.mpl\n{LINES}" for n in range(300))
    linear = ModuleClass(EVIL, (), ())
    nodes = (Node(0, {EVIL: Tensor((4, 4), "float32", True)}, {}, {}, ()), Node(0, {}, {}, {}, ((EVIL, 0),)))
    evil = ModuleTree(classes=(linear,), nodes=nodes, root=1, aliases={}, ties=(), config={})
    broken = Source("plans/broken.yaml", "plan_overrides: [")
    unread = Diagnostic("HPL001", "syntax-error", "error", f"`{EVIL}` is missing", broken, Span(17, 17))
    checked = [
        *checked_plans("plans/long.yaml", slips, large_tree(), 2),
        *checked_plans(f"plans/{EVIL}.yaml", f"plan_overrides: [{{match: {EVIL!r}, name: 1}}]", evil, 2),
        *checked_plans("plans/bare.yaml", "plan_overrides: [{match: a, in_dst: {x: {tp: 1}}}]", None, 2),
    ]
    return written(tmp_path_factory.mktemp("odd") / "plan.html", checked, unread)


LINES = "".join(f"  # {n}\n" for n in range(39))


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def page(browser: object, file: Path) -> Iterator["Page"]:
    """The page, opened afresh."""
    yield from opened_page(browser, file)


@pytest.fixture
def odd(browser: object, odd_file: Path) -> Iterator["Page"]:
    yield from opened_page(browser, odd_file)


def opened_page(browser: object, file: Path) -> Iterator["Page"]:
    """Whatever a page complains of, and whatever it loads, fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 860})  # type: ignore[attr-defined]
    opened = context.new_page()
    trouble: list[str] = []
    opened.on("console", lambda message: trouble.append(message.text))
    opened.on("pageerror", lambda error: trouble.append(str(error)))
    opened.on("request", lambda request: None if request.url.startswith("file:") else trouble.append(request.url))
    opened.goto(file.as_uri())
    yield opened
    context.close()
    assert trouble == []


def chosen(page: "Page") -> str:
    return page.locator("#tree [aria-selected=true] .name").inner_text()


def count(page: "Page") -> str:
    return page.locator("#count").inner_text()


def counted(page: "Page", text: str) -> None:
    playwright.expect(page.locator("#count")).to_contain_text(text)


def test_it_opens_with_100_000_modules(page: "Page", file: Path) -> None:
    assert count(page) == "100,289 modules"
    assert page.locator("h1").inner_text() == "plans/large.yaml"
    assert page.locator(".row").count() < 60
    assert file.stat().st_size < 300_000


def test_a_click_on_the_arrow_opens_a_module(page: "Page") -> None:
    before = page.locator(".row").count()
    page.locator(".row", has_text="layers").locator(".twist").click()
    assert page.locator(".row").count() > before
    assert page.locator(".row[aria-expanded=true]", has_text="layers").count() == 1


def test_the_arrow_keys_walk_the_tree(page: "Page") -> None:
    page.locator("#tree").focus()
    page.keyboard.press("Home")
    assert chosen(page) == "Large"
    page.keyboard.press("ArrowRight")
    assert chosen(page) == "model"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert chosen(page) == "layers"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert chosen(page) == "0"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert chosen(page) == "layers"
    assert page.locator("#tree").get_attribute("aria-activedescendant")
    page.keyboard.press("End")
    assert chosen(page) == "lm_head"


def test_the_search_finds_among_all_modules(page: "Page") -> None:
    page.keyboard.press("/")
    page.keyboard.type("experts.408.gate")
    counted(page, "61 of")
    assert count(page) == "61 of 100,289 modules"
    page.keyboard.press("Escape")
    assert count(page) == "100,289 modules"
    assert page.evaluate("document.activeElement.id") == "tree"


def test_the_search_takes_globs(page: "Page") -> None:
    page.locator("#search").fill("*.layers.?.mlp")
    counted(page, "10 of")


def test_a_search_without_a_hit_shows_nothing(page: "Page") -> None:
    page.locator("#search").fill("no such module")
    counted(page, "0 of")
    assert page.locator(".row").count() == 0


def test_filters_narrow_the_tree(page: "Page") -> None:
    page.locator("#changed").check()
    assert count(page) == f"{LAYERS} of 100,289 modules"
    page.locator("#with-findings").check()
    assert count(page) == "1 of 100,289 modules"
    page.locator("#with-findings").uncheck()
    page.locator("#changed").uncheck()
    page.locator("#kind").select_option("attention")
    assert count(page) == f"{LAYERS} of 100,289 modules"


def test_a_module_shows_its_contract_and_where_it_comes_from(page: "Page") -> None:
    page.locator("#search").fill("model.layers.5.mlp")
    counted(page, " of ")
    page.locator(".row", has_text="mlp").first.click()
    pane = page.locator("#pane-module")
    assert "model.layers.5.mlp" in pane.locator("h2").inner_text()
    assert "reduce-scatter" in pane.inner_text()
    pane.locator("button", has_text="large.yaml:3").first.click()
    assert page.locator("#line-3.chosen").is_visible()


def test_findings_lead_to_their_lines_and_modules(page: "Page") -> None:
    page.locator("#tab-findings").click()
    card = page.locator("#pane-findings .finding", has_text="HPL101")
    card.locator("button", has_text="large.yaml:4").click()
    assert page.locator("#line-4.chosen mark").inner_text() == "model.layers.7.self_atn"


def test_the_tabs_take_the_arrow_keys(page: "Page") -> None:
    page.locator("#tab-module").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#pane-findings").is_visible()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert page.locator("#pane-traffic").is_visible()


def test_another_mesh_changes_the_numbers(page: "Page") -> None:
    before = page.locator("#summary").inner_text()
    page.locator("#topology").select_option("1")
    assert page.locator("#summary").inner_text() != before
    assert "tp=4" in page.locator("#subtitle").inner_text()


def test_dark_mode_follows_the_system_and_the_button(page: "Page") -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.emulate_media(color_scheme="dark")
    playwright.expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert page.evaluate(paper) != light
    page.locator("#theme").click()
    assert page.evaluate(paper) == light


def test_texts_of_a_plan_stay_texts(page: "Page") -> None:
    page.locator("#tab-findings").click()
    assert "<img src=x onerror" in page.locator("#pane-findings").inner_text()
    assert page.locator("img").count() == 0
    assert page.title() == "plans/large.yaml – hplint"


def test_it_fits_a_narrow_screen(page: "Page") -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_buttons_of_the_axes_filter_and_are_the_legend(page: "Page") -> None:
    tp = page.locator("#axis [data-axis=tp]")
    assert tp.inner_text() == "tp 2"
    tp.click()
    assert tp.get_attribute("aria-pressed") == "true"
    cut = int(count(page).split(" of ")[0].replace(",", ""))
    assert 0 < cut < 100_289
    page.locator("#axis [data-axis=whole]").click()
    assert tp.get_attribute("aria-pressed") == "false"
    page.locator("#axis [data-axis=whole]").click()
    assert count(page) == "100,289 modules"


def test_modules_say_how_their_parameters_lie(page: "Page") -> None:
    row = page.locator(".row", has_text="lm_head")
    assert row.locator(".chip").inner_text() == "tp shard(0)"
    assert row.locator(".local").inner_text() == "256 KiB"
    assert row.locator(".before").inner_text() == "512 KiB"


def test_a_double_click_opens_a_module(page: "Page") -> None:
    page.locator(".row", has_text="layers").locator(".name").dblclick()
    assert page.locator(".row[aria-expanded=true]", has_text="layers").count() == 1


def test_what_is_found_can_be_opened_to_all_that_is_below(page: "Page") -> None:
    page.locator("#search").fill("layers.3.mlp")
    counted(page, "1 of")
    page.keyboard.press("ArrowDown")
    assert chosen(page) == "mlp"
    page.keyboard.press("ArrowRight")
    assert page.locator(".row", has_text="experts").is_visible()


def test_letters_and_stars_work_in_the_tree(page: "Page") -> None:
    page.locator("#tree").focus()
    page.keyboard.press("l")
    assert chosen(page) in ("layers", "lm_head")
    page.keyboard.press("Home")
    page.keyboard.press("*")
    page.keyboard.press("End")
    assert chosen(page) == "lm_head"


def test_a_line_that_is_led_to_has_the_focus(page: "Page") -> None:
    page.locator("#search").fill("model.layers.5.mlp")
    counted(page, " of ")
    page.locator(".row", has_text="mlp").first.click()
    page.locator("#pane-module button", has_text="large.yaml:3").first.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "line-3"


def test_boundaries_that_send_stand_in_one_line_for_all_layers(page: "Page") -> None:
    page.locator("#tab-traffic").click()
    text = page.locator("#pane-traffic table").nth(1).inner_text()
    assert "model.layers.{0-60}.self_attn" in text
    assert "61 boundaries, entry" in text
    assert "partial→shard(1)" in text


def test_equal_parameters_of_several_layers_stand_in_one_line(page: "Page") -> None:
    page.locator("#tab-memory").click()
    lines = page.locator("#pane-memory table").nth(1).locator("tbody tr")
    assert lines.count() <= 10
    assert "61 of them, each" in lines.filter(has_text="model.layers.{0-60}.self_attn.q_proj.weight").inner_text()


def test_paper_shows_every_pane_in_light_colours(page: "Page") -> None:
    page.emulate_media(color_scheme="dark", media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    for name in ("module", "findings", "text", "memory", "traffic"):
        assert page.locator(f"#pane-{name}").is_visible()
        assert page.locator(f"#pane-{name}").inner_text() != ""
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(28, 29, 33)"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_stands_out_from_its_ground(page: "Page", scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    for name in ("module", "findings", "text", "memory", "traffic"):
        page.locator(f"#tab-{name}").click()
        assert page.evaluate(FAINT) == []


FAINT = """() => {
  const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (c) => {
    const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = c.slice(0, 3).map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const c = channels(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
  };
  const found = [];
  for (const e of document.querySelectorAll("body *")) {
    if (!e.checkVisibility() || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
    const [a, b] = [light(channels(getComputedStyle(e).color)), light(ground(e))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) found.push([e.className, e.textContent.slice(0, 30), (a + 0.05) / (b + 0.05)]);
  }
  return found;
}"""


def test_a_long_plan_shows_its_findings_in_parts(odd: "Page") -> None:
    odd.locator("#tab-findings").click()
    own = odd.locator("#pane-findings .finding", has_text="HPL101")
    assert own.count() == 100
    odd.locator(".more").first.click()
    assert own.count() == 200
    assert odd.locator("#pane-findings .finding", has_text="HPL001").count() == 1
    own.nth(150).locator(".place").click()
    assert odd.locator(".line.chosen mark").inner_text() == "model.layers.150.mpl"


def test_names_that_are_code_stay_names(odd: "Page") -> None:
    odd.locator("#plan").select_option("1")
    assert odd.locator("h1").inner_text() == f"plans/{EVIL}.yaml"
    assert odd.locator(".row .name").nth(1).inner_text() == EVIL
    odd.locator(".row").nth(1).click()
    for name in ("module", "findings", "text", "memory", "traffic"):
        odd.locator(f"#tab-{name}").click()
        assert odd.locator(f"#pane-{name}").is_visible()
    assert odd.locator("img").count() == 0
    assert odd.title() == "3 plans – hplint"


def test_a_plan_without_a_model_shows_what_there_is(odd: "Page") -> None:
    odd.locator("#plan").select_option("2")
    assert not odd.locator("#modules").is_visible()
    assert "HPL001" in odd.locator("#pane-findings").inner_text()
    odd.locator("#tab-memory").click()
    assert "No model is named" in odd.locator("#pane-memory").inner_text()
