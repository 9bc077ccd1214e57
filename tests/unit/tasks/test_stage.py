"""The policy of all tasks: what a body may raise, and which failures are tried again. No server."""

from __future__ import annotations

import errno
import inspect

import pytest
from prefect.states import Failed  # noqa: TID251 - a state without a server

from novelapi.errors import EndpointError, NovelApiError
from tasks._stage import is_transient, stage_task
from tasks.evaluation import cell


def raising(error):
    @stage_task("demo", version=1, subject="{name}")
    def demo(name: str) -> None:
        raise error

    return demo


@pytest.mark.parametrize(
    ("number", "words"), [(errno.ENOSPC, "the disk is full"), (errno.EDQUOT, "quota"), (errno.EROFS, "read-only")]
)
def test_a_disk_that_takes_no_more_is_one_line_with_the_remedy(number, words):
    with pytest.raises(NovelApiError, match=rf"{words}.*\(/data/rows\): free space") as caught:
        raising(OSError(number, "strange", "/data/rows")).fn("x")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("error", [OSError(errno.ENOENT, "gone", "/x"), KeyError("bug")])
def test_any_other_error_stays_what_it_is(error):
    with pytest.raises(type(error)) as caught:
        raising(error).fn("x")
    assert caught.value is error


def test_the_key_still_knows_the_parameters_by_name():
    assert raising(KeyError("x")).key_of({"name": "numpy"}).startswith("demo/v1/numpy/")
    assert list(inspect.signature(cell.fn).parameters) == ["cell", "access", "jobs"]


@pytest.mark.parametrize(("error", "again"), [(EndpointError("busy"), True), (NovelApiError("no"), False)])
def test_only_what_may_succeed_is_tried_again(error, again):
    assert is_transient(cell, None, Failed(data=error)) is again
