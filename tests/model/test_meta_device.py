"""Which errors come from tensors without values."""

import pytest

from hplint.model.meta_device import needs_data


@pytest.mark.parametrize(
    ("error", "needs"),
    [
        (RuntimeError("Tensor.item() cannot be called on meta tensors"), True),
        (NotImplementedError("Cannot copy out of meta tensor; no data!"), True),
        (AssertionError("Torch not compiled with CUDA enabled"), True),
        (RuntimeError("no module torch_npu: an NPU is needed"), True),
        (RuntimeError("Expected inputs of equal sizes"), False),
        (ValueError("got 3 outputs for one input"), False),
        (KeyError("on meta"), False),
    ],
)
def test_only_words_of_their_own_count(error, needs):
    assert needs_data(error) is needs
