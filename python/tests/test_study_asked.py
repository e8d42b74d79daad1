"""Answers that claims ask for are jobs: computed once, all that is missing at once, anywhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path

import pytest

from fctlab.jobs import Told, deaf
from fctlab.results.points import PointStore
from fctlab.studies.framework.asked import Answers, Missing, asked, of_each
from fctlab.studies.framework.conduct import study
from fctlab.studies.framework.report import terminal
from fctlab.studies.framework.runner import Status, Task, Work
from fctlab.studies.framework.study import Claim, Part, Plan, Study
from fctlab.studies.framework.verdict import Exact

computed: list[tuple[int, int]] = []


@asked("sums")
def total(one: int, other: int = 1, told: Told = deaf) -> dict[str, int]:
    """An answer."""
    computed.append((one, other))
    told(None)
    return {"sum": one + other}


@asked("sleep")
def sleep(number: int, told: Told = deaf) -> int:
    """An answer that takes ten seconds."""
    for _ in range(100):
        time.sleep(0.1)
        told(None)
    return number


def chain() -> float:
    """What is asked last hangs on what was answered before."""
    first = of_each(lambda n: total(n)["sum"], range(3))
    return float(total(sum(first), 10)["sum"])


def asking(measure: Callable[[], float], value: float) -> Study:
    """A study of one number."""
    part = Part("it", "", Exact(value), (), measure)
    return Study("s", "s", "s", lambda _: Plan([Claim("s-1", "s", "s", (part,))]))


def test_answers_are_computed_once_and_kept(tmp_path: Path) -> None:
    computed.clear()
    assert chain() == 16  # nobody keeps answers
    assert len(computed) == 4
    computed.clear()
    found = study(asking(chain, 16), out=tmp_path / "a", seeds=1)
    assert found.judged[0].verdict.value == "agrees"
    assert sorted(computed) == [(0, 1), (1, 1), (2, 1), (6, 10)]
    study(asking(chain, 16), out=tmp_path / "a", seeds=1)
    assert len(computed) == 4
    points = PointStore(tmp_path / "a" / "store")
    assert len(points.names()) == 4 and not list(points.damaged())


def test_who_reads_a_report_asks_nothing_again(tmp_path: Path) -> None:
    part = Part("it", "", Exact(17), (), chain)  # differs, so that the reason is told
    claim = Claim("s-1", "s", "s", (part,), lambda _: f"It is {chain():g}.")
    found = study(Study("s", "s", "s", lambda _: Plan([claim])), out=tmp_path, seeds=1)
    computed.clear()
    assert found.json["claims"][0]["why"].endswith("It is 16.")
    assert terminal.table(found.json) and computed == []


def test_all_that_is_missing_is_asked_for_at_once(tmp_path: Path) -> None:
    points = PointStore(tmp_path, create=True)
    with Answers(points).given():
        with pytest.raises(Missing) as first:
            chain()
        assert len(first.value.wanted) == 3
        Work(points, 2).do(map(Task, first.value.wanted))
        with pytest.raises(Missing) as second:
            chain()
        assert len(second.value.wanted) == 1
        Work(points, 2).do(map(Task, second.value.wanted))
        assert chain() == 16


def test_a_question_is_its_arguments_however_they_are_written(tmp_path: Path) -> None:
    points = PointStore(tmp_path, create=True)
    with Answers(points).given():
        keys = set()
        ways: list[Callable[[], object]] = [
            lambda: total(1),
            lambda: total(1, 1),
            lambda: total(other=1, one=1),
        ]
        for question in ways:
            with pytest.raises(Missing) as missing:
                question()
            keys |= {wanted.key for wanted in missing.value.wanted}
    assert len(keys) == 1


def test_other_processes_find_the_same_points(tmp_path: Path) -> None:
    def points(executor: Executor | None, name: str) -> dict[str, bytes]:
        study(asking(chain, 16), out=tmp_path / name, seeds=1, executor=executor)
        files = (tmp_path / name / "store" / "points").glob("*/*.json")
        return {file.name: file.read_bytes() for file in files}

    with ProcessPoolExecutor(2) as executor:
        assert points(executor, "processes") == points(None, "threads")


def test_an_answer_under_way_ends_within_a_second(tmp_path: Path) -> None:
    started: list[float] = []

    def stop(seen: Status) -> None:
        if seen.running:
            started.append(time.monotonic())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"nothing was kept in .*store"):
        study(asking(lambda: float(sleep(1)), 1), out=tmp_path / "out", seeds=1, watch=stop)
    assert time.monotonic() - started[0] < 1


def test_only_a_function_at_module_level_can_be_asked(tmp_path: Path) -> None:
    def inside(number: int) -> int:
        return number

    question = asked("nothing")(inside)
    with (
        Answers(PointStore(tmp_path, create=True)).given(),
        pytest.raises(ValueError, match="is not at module level"),
    ):
        question(1)
