from __future__ import annotations

from pathlib import Path

import pytest

from fctlab import studies
from fctlab.studies import bigswitch as module
from fctlab.studies import conduct
from fctlab.studies.verdict import Verdict, Within, judge


def test_a_bound_holds_or_not() -> None:
    assert judge([2.5], Within(high=3)).verdict is Verdict.AGREES
    assert judge([3.1], Within(high=3)).verdict is Verdict.DIFFERS
    assert judge([0.9], Within(1, 3)).verdict is Verdict.DIFFERS


def test_every_theorem_and_figure_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = module.Scale(600, 200, 1, 6, 60, 2, 60, 100, 60)
    monkeypatch.setitem(module.SCALES, "quick", small)
    report = conduct.study("bigswitch", "quick", out=tmp_path)
    rows = {claim["id"]: claim for claim in report.json["claims"]}
    expected = {f"ascc-t{i}" for i in range(1, 9)} | {f"ascc-f{i}" for i in (1, 2, 3)}
    assert expected | {"ascc-t7w"} <= rows.keys()
    assert all(claim["verdict"] == "agrees" for claim in rows.values()), rows
    assert report.json["wall_s"] > 0.01
    found = {check["check"]: check["here"] for check in report.json["checks"]}
    assert "600 random instances" in found["worst ratio to the exact optimum: BRR"]
    assert {f.name for f in (tmp_path / "figures").iterdir()} == {
        *(f"figure-{i}.png" for i in (1, 2, 3)),
        "families.png",
    }
    assert "bigswitch" in {row["name"] for row in studies.catalog()}
