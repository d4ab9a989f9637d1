"""The fix loop: check, choose, edit, check again, until nothing changes.

All fixes of a round are tried at once. Only where the result is worse than the text before is the batch halved, until
the fix to blame is found and dropped.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from hplint.fix.edit import CannotRealise, apply, overlap
from hplint.fix.propose import Owners, Realiser
from hplint.lint.diagnostic import Diagnostic, Edit
from hplint.lint.proposal import Change, Proposal
from hplint.lint.request import CheckedPlan

ROUNDS = 100
"""Rounds after which the loop ends, whatever is left."""
CHECKS = 1_000
"""Checks of one text after which nothing more is tried."""
DEEPEST = 2
"""How often a fix of what a fix brought to light may bring something to light itself."""


@dataclass(slots=True)
class Checked:
    """What a check of one text found: all diagnostics of the file, and its plans on their topologies."""

    diagnostics: Sequence[Diagnostic]
    plans: Sequence[CheckedPlan]


Check = Callable[[str], Checked]
"""Checks a text as one file, on all its topologies."""


@dataclass(slots=True)
class Fixed:
    """A text after all fixes, what was fixed, and what a check of it finds. Remaining diagnostics have lost the
    proposals that did not help."""

    text: str
    checked: Checked
    done: list[Diagnostic] = field(default_factory=list)


@dataclass(slots=True)
class _Choice:
    """One proposal of one diagnostic, as edits of its plan."""

    plan: CheckedPlan
    diagnostic: Diagnostic
    proposal: Proposal
    edits: tuple[Edit, ...]
    mark: tuple[object, ...]


def fix_text(text: str, check: Check, unsafe: bool = False) -> Fixed:
    """Fix all that can be fixed. ``unsafe``: with fixes that are drafts or guesses.

    A fix is dropped when its result does not parse, still shows the finding, or adds an error. Fixing the result once
    more changes nothing.
    """
    return _Loop(text, _Counted(check, CHECKS), unsafe, check(text)).run()


class _Exhausted(Exception):
    """No further check may be made."""


@dataclass(slots=True)
class _Counted:
    """A check that may be made so many times."""

    check: Check
    left: int

    def __call__(self, text: str) -> Checked:
        if self.left == 0:
            raise _Exhausted
        self.left -= 1
        return self.check(text)


class _Loop:
    """``known`` are findings that are left alone. A loop that follows what a fix brought to light is one deeper."""

    def __init__(
        self,
        text: str,
        check: Check,
        unsafe: bool,
        checked: Checked,
        known: "frozenset[_Key]" = frozenset(),
        depth: int = 0,
    ) -> None:
        self.text = text
        self.check = check
        self.unsafe = unsafe
        self.checked = checked
        self.known = known
        self.depth = depth
        self.dropped: set[tuple[object, ...]] = set()
        self.done: list[Diagnostic] = []

    def run(self) -> Fixed:
        """Rounds until one changes nothing although no earlier verdict is held against any fix."""
        try:
            self._rounds()
        except _Exhausted:
            self.dropped.update(c.mark for c in self._choices())
        return Fixed(self.text, self._without_dropped(), self.done)

    def _rounds(self) -> None:
        fresh = True
        for _ in range(ROUNDS):
            batch = list(self._choices())
            if batch and self._try(batch):
                fresh = False
            elif not batch:
                if fresh:
                    break
                # What was dropped may do now that the rest is fixed.
                self.dropped.clear()
                fresh = True

    def _choices(self) -> Iterator[_Choice]:
        """For each diagnostic its first allowed proposal that can be made, unless it touches one chosen before."""
        realiser = Realiser(self.checked.plans)
        taken: list[Edit] = []
        owners = Owners(self.checked.plans)
        for diagnostic in self.checked.diagnostics:
            if _key(diagnostic) in self.known:
                continue
            plan = owners.of(diagnostic)
            for proposal in diagnostic.proposals:
                mark = self._mark(diagnostic, proposal)
                if not (proposal.safe or self.unsafe) or mark in self.dropped:
                    continue
                try:
                    edits = realiser.edits(plan, proposal)
                except CannotRealise:
                    self.dropped.add(mark)
                    continue
                if not overlap(taken, edits):
                    taken += edits
                    yield _Choice(plan, diagnostic, proposal, edits, mark)
                break

    @staticmethod
    def _mark(diagnostic: Diagnostic, proposal: Proposal) -> tuple[object, ...]:
        """What a fix is known by while the places in the text move."""
        line = diagnostic.source.position(diagnostic.span.start).line
        return (diagnostic.code, diagnostic.message, diagnostic.match, diagnostic.field, proposal.title,
                diagnostic.source.line(line))  # fmt: skip

    def _try(self, batch: Sequence[_Choice]) -> bool:
        """Apply a batch, or the first part of it that does good; what does none by itself is dropped."""
        try:
            text = apply(self.text, self._together(batch))
            checked = self.check(text)
        except (CannotRealise, ValueError):
            text, checked = self.text, self.checked
        if text != self.text:
            if self._is_better(checked, batch):
                self._accept(text, checked, batch)
                return True
            if len(batch) == 1 and self._follow(text, checked, batch):
                return True
        if len(batch) == 1:
            self.dropped.add(batch[0].mark)
            return False
        good, bad = self._parted(checked, batch)
        return self._try(good) or self._try(bad)

    def _parted(self, checked: Checked, batch: Sequence[_Choice]) -> tuple[Sequence[_Choice], Sequence[_Choice]]:
        """A batch in two: without and with the fixes to blame, as far as one can tell, else in halves."""
        new = self._new_errors(checked)
        entries = {d.match for d in checked.diagnostics if d.code in new and d.severity == "error"}
        left = {_key(d) for d in checked.diagnostics}
        blamed = [_key(c.diagnostic) in left or c.diagnostic.match in entries for c in batch]
        if any(blamed) and not all(blamed):
            return (
                [c for c, bad in zip(batch, blamed, strict=True) if not bad],
                [c for c, bad in zip(batch, blamed, strict=True) if bad],
            )
        half = len(batch) // 2
        return batch[:half], batch[half:]

    def _accept(self, text: str, checked: Checked, batch: Sequence[_Choice]) -> None:
        self.text, self.checked = text, checked
        self.done += [c.diagnostic for c in batch]

    def _follow(self, text: str, checked: Checked, batch: Sequence[_Choice]) -> bool:
        """Whether what a fix brings to light can be fixed in turn, so that nothing worse is left: a typo may have
        hidden another fault, an entry the one that it overrode."""
        known = frozenset(_key(d) for d in self.checked.diagnostics)
        new = [d for d in checked.diagnostics if _key(d) not in known]
        allowed = any(p.safe or self.unsafe for d in new for p in d.proposals)
        is_there = any(_key(d) == _key(batch[0].diagnostic) for d in checked.diagnostics)
        if self.depth == DEEPEST or is_there or not allowed:
            return False
        loop = _Loop(text, self.check, self.unsafe, checked, self.known | known, self.depth + 1)
        loop.run()
        if not self._is_better(loop.checked, batch):
            return False
        self._accept(loop.text, loop.checked, batch)
        self.done += loop.done
        return True

    def _together(self, batch: Sequence[_Choice]) -> list[Edit]:
        """The edits of a batch. All changes of a plan are realised together: two items that go from one mapping may
        leave it empty, two that come need commas."""
        if len(batch) == 1:
            return list(batch[0].edits)
        changes: dict[int, tuple[CheckedPlan, list[Change]]] = {}
        for choice in batch:
            changes.setdefault(id(choice.plan.plan), (choice.plan, []))[1].extend(choice.proposal.changes)
        realiser = Realiser(self.checked.plans)
        return [e for plan, made in changes.values() for e in realiser.edits(plan, Proposal("", tuple(made)))]

    def _is_better(self, checked: Checked, batch: Sequence[_Choice]) -> bool:
        """Whether the findings of a batch are gone, no error came, and all plans are still there. Counted by code, for
        messages and places may shift; what is left as a mere note is gone."""
        if len(_plans(checked)) < len(_plans(self.checked)) or self._new_errors(checked):
            return False
        before, after, promised = (
            Counter((d.code, d.severity == "info") for d in found)
            for found in (self.checked.diagnostics, checked.diagnostics, [c.diagnostic for c in batch])
        )
        return all(after[code] <= before[code] - count for code, count in promised.items())

    def _new_errors(self, checked: Checked) -> set[str]:
        """The codes of which there are more errors than before."""
        before, after = (
            Counter(d.code for d in c.diagnostics if d.severity == "error") for c in (self.checked, checked)
        )
        return {code for code, count in after.items() if count > before[code]}

    def _without_dropped(self) -> Checked:
        """The last check, where diagnostics keep only the proposals that are still worth a try."""

        def kept(diagnostic: Diagnostic) -> Diagnostic:
            proposals = tuple(
                p for p in diagnostic.proposals
                if not (p.safe or self.unsafe) and self._mark(diagnostic, p) not in self.dropped
            )  # fmt: skip
            return diagnostic if proposals == diagnostic.proposals else replace(diagnostic, proposals=proposals)

        return Checked([kept(d) for d in self.checked.diagnostics], self.checked.plans)


_Key = tuple[str, str, str | None]


def _key(diagnostic: Diagnostic) -> _Key:
    """What a finding is known by while the text around it changes."""
    return diagnostic.code, diagnostic.message, diagnostic.match


def _plans(checked: Checked) -> set[int]:
    return {id(p.plan) for p in checked.plans}
