"""The harness itself: what tests of ranks rely on."""

import time

import pytest
import torch
import torch.distributed as dist
from ranks import RANKS, RankError, on_ranks

pytestmark = RANKS


def _sum(number):
    tensor = torch.tensor([dist.get_rank() + number])
    dist.all_reduce(tensor)
    return tensor


def _fail_on(rank):
    if dist.get_rank() == rank:
        raise ValueError("no such luck")
    dist.barrier()


def _sleep(seconds):
    time.sleep(seconds)


def test_every_rank_answers_and_calls_do_not_disturb_each_other():
    assert [t.item() for t in on_ranks(2, _sum, 1)] == [3, 3]
    assert [t.item() for t in on_ranks(4, _sum, 0)] == [6] * 4


def test_an_error_of_one_rank_comes_back_as_text_and_the_next_call_works():
    with pytest.raises(RankError, match=r"rank 1(.|\n)*no such luck"):
        on_ranks(2, _fail_on, 1)
    assert [t.item() for t in on_ranks(2, _sum, 1)] == [3, 3]


def test_a_call_that_hangs_is_ended():
    on_ranks(1, _sleep, 0)
    with pytest.raises(RankError, match="did not answer within"):
        on_ranks(1, _sleep, 100, timeout=0.5)
