"""HPL202 dp-axis: a placement on dp, which no plan may use (R101)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, on_plan, remove_axis

RULE = on_plan("HPL202", "dp-axis")


def check(case: Case) -> Iterator[Finding]:
    for w in case.written:
        if w.axis == "dp":
            yield Finding(
                w.axis_span,
                "a plan may not place anything on `dp`: planning stops here, whatever the placement",
                "remove this axis; FSDP alone lays tensors out over the data-parallel ranks",
                w.entry,
                field=w.field,
                fixes=remove_axis(w),
            )
