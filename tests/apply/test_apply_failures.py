"""Which rank is to blame, and what is said of it."""

import pytest

from hplint.apply.errors import BoundaryError, CannotApply
from hplint.apply.run.failure import Failure, died, failure_of, the_cause
from hplint.apply.run.peers import is_lost_peer
from hplint.apply.run.place import Place, read_place, spell_place

GLOO = "[gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:1234"


def _of(error: BaseException, rank: int = 0, time: float = 0.0) -> Failure:
    return failure_of(error, rank, time, "the sharded forward", "layers.1")


def test_the_rank_that_raised_is_to_blame_and_not_the_first_that_lost_it():
    words = {0: _of(RuntimeError(GLOO), 0, 1.0), 1: _of(ValueError("bad"), 1, 2.0)}
    assert the_cause(words, []).rank == 1


def test_a_rank_that_died_without_a_word_comes_before_those_that_lost_it():
    words = {0: _of(RuntimeError(GLOO), 0, 1.0)}
    assert the_cause(words, [died(1, -9, "the sharded forward", None)]).rank == 1


def test_of_several_ranks_that_raised_the_first_one_counts():
    assert the_cause({0: _of(ValueError("b"), 0, 2.0), 1: _of(ValueError("a"), 1, 1.0)}, []).message == "ValueError: a"


def test_ranks_that_all_lost_each_other_are_still_told():
    assert "it lost another rank" in the_cause({0: _of(RuntimeError(GLOO))}, []).error().message


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (7, "it ended with status 7 before it was done"),
        (-9, "it was killed by signal 9 (SIGKILL), as it is when memory runs out"),
        (-11, "it was killed by signal 11 (SIGSEGV)"),
    ],
)
def test_a_death_is_told_by_its_status_and_its_place(status, told):
    error = died(3, status, "the sharded backward", "", "last words").error()
    assert error.message == f"rank 3 failed (the sharded backward, in `the root module`): {told}"
    assert (error.exit_code, error.hint) == (2, "the last line that it wrote: last words")


def test_what_holds_for_all_ranks_is_told_without_a_rank_and_with_its_own_exit_code():
    assert _of(CannotApply("too few ranks")).error().message == "too few ranks"
    error = _of(BoundaryError("no", "lm_head")).error()
    assert (error.exit_code, error.boundary) == (1, "lm_head")


def test_code_that_ends_the_process_is_told_as_that():
    assert "ended the process (sys.exit(3))" in _of(SystemExit(3)).message


def test_errors_of_the_models_own_code_are_no_lost_peers():
    assert is_lost_peer(RuntimeError(GLOO))
    assert not is_lost_peer(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    assert not is_lost_peer(KeyError("connection closed by peer"))


def test_a_place_can_be_read_by_another_process_at_any_time(tmp_path):
    place = Place(tmp_path / "place-0")
    place.at("a phase with a long name")
    place.at("applying")
    assert read_place(tmp_path / "place-0") == ("applying", None)
    assert read_place(tmp_path / "nowhere") == ("starting", None)
    assert spell_place("applying", "lm_head") == "applying, in `lm_head`"


def test_an_operator_that_dtensors_cannot_go_through_comes_with_a_way_out():
    from hplint.apply.errors import hint_on

    raised = NotImplementedError("Operator aten.some.default does not have a sharding strategy registered.")
    assert "use_local_output=True" in hint_on(raised)
    assert hint_on(NotImplementedError("something else")) == ""
