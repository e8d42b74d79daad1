from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fctlab import studies
from fctlab.studies import bigswitch as module
from fctlab.studies.bigswitch import examples, tried
from fctlab.studies.framework import conduct
from fctlab.studies.framework.runs import Results
from fctlab.studies.framework.verdict import Computed, Verdict, Within, judge, weakest
from fctlab.theory import bigswitch
from fctlab.theory.types import Instance


def test_a_bound_holds_or_not() -> None:
    assert judge([2.5], Within(high=3)).verdict is Verdict.AGREES
    assert judge([3.1], Within(high=3)).verdict is Verdict.DIFFERS
    assert judge([0.9], Within(1, 3)).verdict is Verdict.DIFFERS


def test_what_is_computed_is_called_so() -> None:
    assert judge([12.0], Computed(12)).verdict is Verdict.COMPUTED
    assert judge([12.1], Computed(12)).verdict is Verdict.DIFFERS
    assert judge([12.1], Computed(12, 0.01)).verdict is Verdict.COMPUTED
    # It decides nothing beside what was tried.
    assert weakest([Verdict.COMPUTED, Verdict.AGREES]) is Verdict.AGREES
    assert weakest([Verdict.COMPUTED]) is Verdict.COMPUTED


def moved(instance: Instance) -> Iterator[Instance]:
    """The instance with one packet a slot earlier or later, in every way there is."""
    for i, flow in enumerate(instance.flows):
        slots = flow.slots
        for slot in sorted(set(slots)):
            for other in (slot - 1, slot + 1):
                if other < 1:
                    continue
                rest = list(slots)
                rest.remove(slot)
                flows = list(instance.flows)
                flows[i] = replace(flow, packets=tuple(sorted([*rest, other])))
                yield replace(instance, flows=tuple(flows))


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_figure_with_one_packet_moved_differs(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims = {claim.id: claim for claim in module.plan("quick").claims}
    claim = claims[f"ascc-f{number}"]
    assert claim.judge(Results([])).verdict is Verdict.COMPUTED

    def schedules(instance: Instance) -> list[Any]:
        """By policy; and the optimum. A packet that waits anyway may come later for nothing."""
        policies = examples.SCHEDULES[number]
        found = [bigswitch.run(instance, each, schedule=True).schedule for each in policies]
        return [*found, bigswitch.optimum(instance).value]

    instance = bigswitch.load(f"figure-{number}")
    drawn, noticed = schedules(instance), 0
    for mutant in moved(instance):
        monkeypatch.setattr(examples, "_figure", lambda _, mutant=mutant: mutant)
        differs = claim.judge(Results([])).verdict is Verdict.DIFFERS
        assert differs == (schedules(mutant) != drawn), mutant
        noticed += differs
    assert noticed >= 5


def test_every_theorem_and_figure_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = tried.Scale(600, 200, 1, 6, 60, 2, 60, 100, 60)
    monkeypatch.setitem(tried.SCALES, "quick", small)
    report = conduct.study("bigswitch", "quick", out=tmp_path)
    rows = {claim["id"]: claim for claim in report.json["claims"]}
    expected = {f"ascc-t{i}" for i in range(1, 9)} | {f"ascc-f{i}" for i in (1, 2, 3)}
    assert expected | {"ascc-t7w"} <= rows.keys()
    figures = {f"ascc-f{i}" for i in (1, 2, 3)}
    for id, claim in rows.items():
        assert claim["verdict"] == ("computed" if id in figures else "agrees"), claim
    assert report.json["wall_s"] > 0.01
    found = {check["check"]: check["here"] for check in report.json["checks"]}
    assert "600 random instances" in found["worst ratio to the exact optimum: BRR"]
    assert {f.name for f in (tmp_path / "figures").iterdir()} == {
        *(f"figure-{i}.png" for i in (1, 2, 3)),
        "families.png",
    }
    assert "bigswitch" in {row["name"] for row in studies.catalog()}
