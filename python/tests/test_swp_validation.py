from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pytest
from msgspec.structs import replace

from fctlab.slo import planning
from fctlab.slo.types import ClassPrediction, Sli
from fctlab.studies.swp import validation
from fctlab.studies.swp.capacity import draw_spec
from fctlab.studies.swp.validation import Judgement, Trial


def test_flows_behind_the_rarest_sli() -> None:
    # 1,110 flows have 10 behind the rarest SLI: 2,000 there take 200 times as many.
    assert validation.count_for([[900, 100], [100, 10]], 2000) == 222_000
    assert validation.count_for([[3, 2]], 1) == 3


SLI = Sli(
    name="",
    attr="slowdown",
    value=1.0,
    ci95=(1.0, None),
    ci99=(1.0, None),
    flows=1000,
    flows_needed=1000,
    count_error=0.0,
    work_error=0.0,
    enough=True,
    tight=False,
    targets=(),
)


def answer(losses: Sequence[float]) -> Judgement:
    return Judgement((), tuple(losses), tuple(losses), "", settled=True)


def test_settled_by_hand() -> None:
    row = {"slo": "small < 4.0 and large < 8.0"}

    def settled(small: tuple[float, float], large: tuple[float, float | None]) -> bool:
        ends = zip(("small", "large"), (small, large), strict=True)
        slis = [replace(SLI, name=name, ci95=ci95, value=ci95[0]) for name, ci95 in ends]
        found = ClassPrediction(name="a", verdict=None, why="", loss=None, slis=tuple(slis))
        return validation.is_settled(validation.read_slis(row, found))

    assert settled((3.0, 3.9), (5.0, 7.9))
    assert not settled((3.0, 4.1), (5.0, 7.9))
    # Too few flows for an upper end.
    assert not settled((3.0, 3.9), (5.0, None))
    # One that is missed decides, whatever the other is.
    assert settled((4.0, 4.1), (5.0, None))


def test_search_is_algorithm_1() -> None:
    asked: list[list[float]] = []
    replies = [(-0.4, 0.3), (-0.1, -0.05)]

    def judge(weights: Sequence[float]) -> Judgement:
        asked.append(list(weights))
        return answer(replies[len(asked) - 1])

    assert validation.search(judge, [3, 1]).met
    # Half of 0.4 of its weight moves from the class that has most to spare.
    assert asked[0] == [0.75, 0.25]
    assert asked[1] == pytest.approx([0.6, 0.4])


def test_search_ends_where_no_class_can_give() -> None:
    asked = []

    def judge(weights: Sequence[float]) -> Judgement:
        asked.append(weights)
        return answer((0.2, 0.1))

    assert validation.search(judge, [1, 1]).worst == 0.2
    assert len(asked) == 1


def test_an_answer_may_be_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    lists = {name: [0.5] for name in ("weights", "losses", "model")}
    run = {**lists, "worst_sli": "small", "settled": True}
    answer = {"least_bps": 1e9, "verdict": "met", "margin": 0.1, "packet": run, "smaller": run}
    monkeypatch.setattr(validation, "measured", lambda *_: answer)
    assert validation.trial(1, "quick") == validation.trial(1, "quick")


def test_shares_by_hand() -> None:
    def trial(verdict: validation.Verdict, packet: float, smaller: float) -> Trial:
        return Trial(1, 5e10, 1.0, verdict, 0.1, answer([packet]), answer([smaller]))

    found = [
        trial("met", -0.1, 0.1),
        trial("met", 0.02, 0.1),
        trial("undecided", -0.1, -0.1),
        trial("violated", 0.1, 0.1),
        trial("violated", -0.1, 0.1),
    ]
    assert validation.shares(found) == {"met": (1, 2), "missed": (2, 5), "larger": (1, 5)}
    assert validation.share(found, "met") == [0.5]
    assert validation.share([], "met") == []
    assert validation.errors(found[:1]) == [1.0, 1.0]
    # Wilson's interval of 1 of 2.
    assert validation.written(1, 2) == "1 of 2 (50% [9%, 91%])"
    assert validation.written(0, 0) == "0 of 0"


def test_packets_go_on_while_an_interval_leaves_it_open(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def flows(spec: planning.Spec, count: int) -> pl.DataFrame:
        asked.append(count)
        return real(spec, count)

    real = planning.flows
    monkeypatch.setattr(planning, "flows", flows)
    monkeypatch.setattr(validation, "FLOWS", 10)
    spec = validation.on_link({**draw_spec(3, 2), "cc": "dctcp-rate"}, 400e9)
    behind = [[20, 10], [20, 10], [20, 10]]
    # No p99 has an interval with ten flows.
    found = validation.judged(spec, [1, 1, 1], behind, 1000)
    assert asked == [90, 360, 1000]
    assert not found.settled and found.margin.endswith("?")
    asked.clear()
    validation.judged(spec, [1, 1, 1], behind, most_flows=0)
    assert asked == [90]


def test_packets_agree_with_the_model_where_there_is_plenty(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(validation, "FLOWS", 300)
    spec = {**draw_spec(3, 2), "cc": "hpcc"}
    plenty = validation.on_link(spec, 400e9)
    found = validation.judged(plenty, [1, 1, 1], [[20, 10], [20, 10], [20, 10]], 400_000)
    assert found.met and found.settled and max(found.model) < 0 and len(found.losses) == 3
    size, workload = found.worst_sli.split(", ")
    assert size in ("small", "large")
    assert workload in {each["flowsizes"] for each in spec["classes"]}
