"""Where a rank stands: what it does and in which boundary, kept where others can read it when the rank is gone."""

import json
import os
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from hplint.apply.plan import ApplyPlan

_ROOM = 4096
_LEFT = "_hplint_left"
"""Attribute of tensors: the module that they came out of."""


class Place:
    """``phase`` is in words, ``boundary`` an FQN or None outside of all; ``last`` is the boundary that was left last.
    ``file`` None keeps it to this process."""

    def __init__(self, file: Path | None = None) -> None:
        self.phase = "starting"
        self.boundary: str | None = None
        self.last: str | None = None
        self._stack: list[str] = []
        self._file = os.open(file, os.O_WRONLY | os.O_CREAT, 0o600) if file else None

    def at(self, phase: str) -> None:
        """Begin something else, outside of all boundaries."""
        self.phase, self.boundary, self.last = phase, None, None
        self._stack.clear()
        self._write()

    def follow(self, model: nn.Module, plan: ApplyPlan) -> None:
        """Notice how forward and backward of a model go through the boundaries of a plan."""
        modules = dict(model.named_modules())
        for boundary in plan.boundaries:
            if module := modules.get(boundary.fqn):
                # Before hooks that styles have put there: what they do to inputs belongs to the module.
                module.register_forward_pre_hook(self._enter(boundary.fqn), prepend=True)
                module.register_forward_hook(self._leave(boundary.fqn))

    def _enter(self, fqn: str) -> Any:
        def hook(module: nn.Module, args: Any) -> None:
            self._stack.append(fqn)
            self._move(fqn)

        return hook

    def _leave(self, fqn: str) -> Any:
        def back(grad: Tensor) -> None:
            self._move(fqn)

        def hook(module: nn.Module, args: Any, output: Any) -> None:
            while self._stack and self._stack.pop() != fqn:
                pass
            self.last = fqn
            self._move(self._stack[-1] if self._stack else None)
            for tensor in output if isinstance(output, tuple | list) else (output,):
                # A tensor that leaves several modules belongs to the innermost one, which it leaves first.
                if isinstance(tensor, Tensor) and tensor.requires_grad and not hasattr(tensor, _LEFT):
                    setattr(tensor, _LEFT, fqn)
                    tensor.register_hook(back)  # type: ignore[no-untyped-call]

        return hook

    def _move(self, fqn: str | None) -> None:
        self.boundary = fqn
        self._write()

    def _write(self) -> None:
        if self._file is not None:
            text = json.dumps({"phase": self.phase, "boundary": self.boundary})
            os.pwrite(self._file, text.ljust(_ROOM).encode()[:_ROOM], 0)


def read_place(file: Path) -> tuple[str, str | None]:
    """Phase and boundary that a rank noted last."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return found["phase"], found["boundary"]
    except (OSError, ValueError, KeyError):
        return "starting", None


def spell_place(phase: str, boundary: str | None) -> str:
    """``the sharded forward, in `model.layers.0` ``."""
    return phase if boundary is None else f"{phase}, in `{boundary or 'the root module'}`"
