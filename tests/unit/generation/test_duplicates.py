"""Tasks that ask the same are one task, and no submodule fills a library's list."""

from novelapi.generation.duplicates import SUBMODULE_SHARE, distinct, submodule
from tests.fakes.tasks import numpy_task


def task(number, api="numpy.unstack", expected=(1, 2), args=("1", "2"), call="np.unstack"):
    return numpy_task(
        number,
        task_id=f"numpy/{api.rsplit('.', 1)[-1]}/{number}",
        api=api,
        reference_solution=f"def solve(x, axis):\n    return {call}(x, {number})\n",
        inputs=[{"args": [item, "0"]} for item in args],
        expected=list(expected),
    )


def test_equal_behaviour_of_one_api_is_one_task():
    assert len(distinct([task(1), task(2)])) == 1
    assert len(distinct([task(1), task(2, expected=(1, 3))])) == 2
    assert len(distinct([task(1), task(2, args=("1", "3"))])) == 2


def test_equal_references_under_two_names_are_one_task():
    one = task(1, "numpy.strings.find", call="np.strings.find")
    other = task(1, "numpy.char.find", call="np.strings.find")
    assert len(distinct([one, other])) == 1


def test_ids_are_unique_and_numbered_anew():
    found = distinct([task(7), task(9, expected=(5, 6)), task(3, "numpy.ma.unstack", expected=(8, 9))])
    assert sorted(item.task_id for item in found) == [f"numpy/unstack/{number}" for number in (1, 2, 3)]


def test_no_submodule_takes_more_than_its_share():
    crowd = [
        task(number, f"numpy.linalg.f{api}", expected=(api, number)) for api in range(10) for number in range(1, 5)
    ]
    rest = [task(number, f"numpy.g{number}", expected=(100 + number, 0)) for number in range(1, 21)]
    found = distinct([*crowd, *rest])
    share = sum(submodule(item) == "linalg" for item in found) / len(found)
    assert share <= SUBMODULE_SHARE
    assert {item.api for item in rest} <= {item.api for item in found}


def test_a_library_of_one_submodule_keeps_its_tasks():
    crowd = [task(number, f"numpy.linalg.f{number}", expected=(number, 0)) for number in range(1, 9)]
    assert len(distinct(crowd)) == len(crowd)
