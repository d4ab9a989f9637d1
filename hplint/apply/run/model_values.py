"""A model with seeded values: the same on every rank, whatever the device, and none of them zero or one by habit."""

import zlib
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from hplint.errors import RequestError
from hplint.model.failure import ModelError
from hplint.model.make_model import make_model


def model_with_values(request: Mapping[str, Any], seed: int, device: torch.device, attention: str) -> nn.Module:
    """Build a model and give it values, in float32 and without dropout.

    ``request`` is what :func:`~hplint.model.make_model.make_model` takes. Raises RequestError with the cause.
    """

    def allocate(factory: Callable[[], Any]) -> Any:
        torch.manual_seed(seed)
        with torch.device(device):
            return factory()

    try:
        model = make_model(dict(request), allocate, attention)
    except ModelError as error:
        raise RequestError(f"the model cannot be made: {error.reason}", error.hint) from None
    if request["kind"] == "py":
        # A spec may name one object, or a factory that gives the same one again: what is sharded must be another.
        model = deepcopy(model)
    where = next((name for name, t in _tensors(model) if t.is_meta), None)
    if where is not None:
        raise RequestError(f"`{where}` of the model is on the meta device, without values: it cannot run")
    model.to(device=device).float().eval()
    give_values(model, seed)
    return model


def _tensors(model: nn.Module) -> list[tuple[str, Tensor]]:
    return [*model.named_parameters(), *model.named_buffers()]


def give_values(model: nn.Module, seed: int) -> None:
    """Fill every float parameter by its name and the seed.

    Fresh models have biases of zero and norms of one, beside which a bias that is added twice goes unnoticed. Matrices
    keep the size of what goes through them: their deviation is 1/sqrt(columns).
    """
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if not parameter.is_floating_point():
                continue
            generator = torch.Generator(parameter.device).manual_seed(zlib.crc32(f"{seed}/{name}".encode()))
            if parameter.dim() > 1:
                parameter.normal_(0.0, parameter.shape[-1] ** -0.5, generator=generator)
            else:
                centre = 0.0 if name.rpartition(".")[2].endswith("bias") else 1.0
                parameter.normal_(centre, 0.1, generator=generator)
            parameter.requires_grad_(True)
