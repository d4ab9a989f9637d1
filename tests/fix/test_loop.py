"""The fix loop over a make-believe linter, so that every way in which a fix can fail is there."""

import re
from collections.abc import Callable

from hplint.fix.loop import Checked, Fixed, fix_text
from hplint.front.read import read_document
from hplint.lint.diagnostic import Diagnostic
from hplint.lint.proposal import AddItem, Remove, Rename, Rewrite
from hplint.lint.proposal import Proposal as P
from hplint.lint.request import CheckedPlan
from hplint.plan.plan import Plan
from hplint.resolve.topology import Topology
from hplint.text.span import Span

Rule = Callable[[Plan], list[Diagnostic]]


def fix(text: str, *rules: Rule, unsafe: bool = False) -> tuple[Fixed, int]:
    """The outcome, and how many texts were checked."""
    checks = 0

    def check(text: str) -> Checked:
        nonlocal checks
        checks += 1
        document = read_document("plan.yaml", text.encode())
        found = [
            Diagnostic("HPL001", "syntax-error", "error", "broken", document.source, f.span)
            for f in document.faults if f.rule == "syntax-error"
        ]  # fmt: skip
        plans = []
        for plan in document.plans:
            of_plan = [d for rule in rules for d in rule(plan)]
            plans.append(CheckedPlan("plan.yaml", plan, Topology(), diagnostics=tuple(of_plan)))
            found += of_plan
        return Checked(sorted(found, key=lambda d: d.span), plans)

    return fix_text(text, check, unsafe), checks


def words(code: str, pattern: str, *proposals: Callable[[Span, str], P], severity: str = "error") -> Rule:
    """A rule that finds every match of a pattern in the text."""

    def rule(plan: Plan) -> list[Diagnostic]:
        text = plan.source.text
        return [
            Diagnostic(code, code.lower(), severity, f"{code} {m[0]}", plan.source, Span(*m.span()),
                       proposals=tuple(p(Span(*m.span()), m[0]) for p in proposals))
            for m in re.finditer(pattern, text)
        ]  # fmt: skip

    return rule


def to(value: str, safe: bool = True) -> Callable[[Span, str], P]:
    return lambda span, _: P(f"replace by `{value}`", (Rename(span, value),), safe)


PLAN = "- match: mpl\n  when: cpp\n- match: attn\n  when: cp  # stays\n"


def test_every_finding_is_fixed_at_once() -> None:
    done, checks = fix(PLAN, words("HPL1", r"\bmpl\b", to("mlp")), words("HPL2", r"\bcpp\b", to("cp")))
    assert done.text == PLAN.replace("mpl", "mlp").replace("cpp", "cp")
    assert [d.code for d in done.done] == ["HPL1", "HPL2"]
    assert not done.checked.diagnostics and checks == 2


def test_what_a_fix_uncovers_is_fixed_in_the_next_round() -> None:
    first = words("HPL1", r"\bmpl\b", to("mql"))
    second = words("HPL2", r"\bmql\b", to("mlp"), severity="warning")
    assert fix(PLAN, first, second)[0].text == PLAN.replace("mpl", "mlp")


def test_unsafe_fixes_wait_to_be_asked_for() -> None:
    rule = words("HPL1", r"\bmpl\b", to("mlp", safe=False))
    done = fix(PLAN, rule)[0]
    assert done.text == PLAN and done.checked.diagnostics[0].proposals
    assert fix(PLAN, rule, unsafe=True)[0].text == PLAN.replace("mpl", "mlp")


def test_the_first_allowed_proposal_is_taken() -> None:
    rule = words("HPL1", r"\bmpl\b", to("one", safe=False), to("two"), to("three"))
    assert "match: two" in fix(PLAN, rule)[0].text
    assert "match: one" in fix(PLAN, rule, unsafe=True)[0].text


def test_a_fix_whose_finding_stays_is_dropped_for_the_next_choice() -> None:
    rule = words("HPL1", r"\bm\wl\b", to("mxl"), to("good"))
    done = fix("- match: mpl\n  when: cp\n", rule)[0]
    assert "match: good" in done.text


def test_a_fix_that_adds_an_error_is_dropped_and_its_neighbours_stay() -> None:
    text = "".join(f"- match: m{i}\n  when: cp\n" for i in range(9))
    bad = words("HPL1", r"\bm[0-8]\b", lambda s, t: P("rename", (Rename(s, "evil" if t == "m4" else f"x{t}"),), True))
    evil = words("HPL2", r"\bevil\b")
    done, checks = fix(text, bad, evil)
    assert done.text == re.sub(r"m([0-35-8])", r"xm\1", text)
    assert [d.message for d in done.checked.diagnostics] == ["HPL1 m4"]
    assert done.checked.diagnostics[0].proposals == ()
    assert checks < 20


def test_a_fix_whose_result_is_no_plan_is_dropped() -> None:
    rule = words("HPL1", r"plan_overrides", to("something"))
    text = "plan_overrides:\n- match: mpl\n  when: cp\n"
    assert fix(text, rule)[0].text == text


def test_a_warning_may_follow_where_an_error_was() -> None:
    done = fix(PLAN, words("HPL1", r"\bmpl\b", to("mxl")), words("HPL2", r"\bmxl\b", severity="warning"))[0]
    assert [d.code for d in done.checked.diagnostics] == ["HPL2"]


def test_two_fixes_of_one_token_do_not_meet() -> None:
    one, two = words("HPL1", r"\bmpl\b", to("one")), words("HPL2", r"\bmpl\b", to("two"))
    assert fix(PLAN, one, two)[0].text == PLAN.replace("mpl", "one")


def test_fixes_that_only_help_together_are_found_together() -> None:
    def paired(plan: Plan) -> list[Diagnostic]:
        wrong = len({e.match.value for e in plan.entries if e.match} & {"a1", "a2"}) == 1
        return [Diagnostic("HPL9", "unpaired", "error", "unpaired", plan.source)] if wrong else []

    text = "- match: a1\n  when: cp\n- match: a2\n  when: cp\n"
    done = fix(text, words("HPL1", r"\ba\d\b", lambda s, t: P("x", (Rename(s, t.replace("a", "b")),), True)), paired)[0]
    assert done.text == text.replace("a1", "b1").replace("a2", "b2")


def test_a_dropped_fix_gets_another_chance_once_the_rest_is_fixed() -> None:
    # The renaming of `late` is an error as long as `first` is there, and `first` goes in a later round only.
    late = words("HPL1", r"\blate\b", to("done"))
    blocked = lambda plan: (  # noqa: E731
        [Diagnostic("HPL8", "blocked", "error", "blocked", plan.source)]
        if "first" in plan.source.text and "done" in plan.source.text
        else []
    )
    first = words("HPL2", r"\bfirst\b(?=\n  when: ep)", to("second"))
    when = words("HPL3", r"\bepp\b", to("ep"))
    text = "- match: late\n  when: cp\n- match: first\n  when: epp\n"
    done = fix(text, late, blocked, first, when)[0]
    assert done.text == "- match: done\n  when: cp\n- match: second\n  when: ep\n"


def test_removals_from_one_mapping_are_realised_together() -> None:
    def rule(plan: Plan) -> list[Diagnostic]:
        spans = [f.layouts["x"].axis_spans for e in plan.entries for f in e.contract.values() if f.layouts]
        return [
            Diagnostic("HPL1", "axis", "error", f"axis {axis}", plan.source, span,
                       proposals=(P("remove", (Remove(span),), True),))
            for of_tensor in spans for axis, span in of_tensor.items() if axis != "tp"
        ]  # fmt: skip

    text = (
        "- match: a\n  params:\n    x:\n      ep: replicate\n      cp: replicate\n"
        "- match: b\n  params: {x: {tp: partial, cp: partial}}\n"
    )
    done, checks = fix(text, rule)
    assert done.text == "- match: a\n  params: {}\n- match: b\n  params: {x: {tp: partial}}\n"
    assert checks == 2


def test_items_added_to_one_mapping_come_in_one_round() -> None:
    def rule(plan: Plan) -> list[Diagnostic]:
        entry = plan.entries[0]
        there = entry.contract["params"].layouts or {}
        return [
            Diagnostic("HPL1", "missing", "error", f"no {name}", plan.source, entry.keys["params"],
                       proposals=(P("add", (AddItem(entry, "params", name, {"tp": "replicate"}),), True),))
            for name in "abc" if name not in there
        ]  # fmt: skip

    done, checks = fix("- match: m\n  params: {a: {tp: partial}}\n", rule)
    assert done.text == "- match: m\n  params: {a: {tp: partial}, b: {tp: replicate}, c: {tp: replicate}}\n"
    assert checks == 2


def test_what_cannot_be_realised_is_left_and_said() -> None:
    text = "- match: a\n  params: &p {x: {tp: replicate}}\n- match: b\n  params: *p\n"
    done = fix(text, words("HPL1", r"\breplicate\b", lambda s, _: P("x", (Rewrite(s, "partial"),), True)))[0]
    assert done.text == text and done.checked.diagnostics[0].proposals == ()


def test_a_pair_of_fixes_that_undo_each_other_comes_to_an_end() -> None:
    one = words("HPL1", r"\bmpl\b", to("mlp"), severity="warning")
    two = words("HPL2", r"\bmlp\b", to("mpl"), severity="warning")
    assert fix(PLAN, one, two)[1] <= 110


def test_an_error_that_a_fix_brings_to_light_may_be_fixed_in_turn() -> None:
    first, second = words("HPL1", r"\bmpl\b", to("hidden")), words("HPL2", r"\bhidden\b", to("mlp", safe=False))
    assert fix(PLAN, first, second)[0].text == PLAN
    done = fix(PLAN, first, second, unsafe=True)[0]
    assert done.text == PLAN.replace("mpl", "mlp") and [d.code for d in done.done] == ["HPL1", "HPL2"]


def test_what_is_brought_to_light_may_hide_a_further_fault() -> None:
    rules = (words("HPL001", "mpl", to("mid")), words("HPL002", "mid", to("last")), words("HPL003", "last", to("mlp")))
    done, _ = fix(PLAN, *rules)
    assert done.text == PLAN.replace("mpl", "mlp")
    assert [d.code for d in done.done] == ["HPL001", "HPL002", "HPL003"]


def test_a_chain_that_leads_nowhere_is_given_up() -> None:
    chain = ("mpl", "one", "two", "three", "four")
    rules = [words(f"HPL00{n}", a, to(b)) for n, (a, b) in enumerate(zip(chain, (*chain[1:], "mlp"), strict=True))]
    done, _ = fix(PLAN, *rules)
    assert done.text == PLAN


def test_a_note_may_follow_where_a_warning_was() -> None:
    stale = words("HPL1", r"\bmpl\b", to("mlp"), severity="warning")
    unsure = words("HPL1", r"\bmlp\b", severity="info")
    assert fix(PLAN, lambda plan: stale(plan) + unsure(plan))[0].text == PLAN.replace("mpl", "mlp")
