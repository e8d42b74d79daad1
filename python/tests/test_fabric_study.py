"""`fctlab study fabric`: every case beside its floor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fctlab import studies
from fctlab.studies import fabric
from fctlab.studies.framework import conduct
from fctlab.studies.framework.study import Mode


@pytest.mark.parametrize("mode", ["quick", "full"])
def test_every_case_stands_beside_its_floor(mode: Mode) -> None:
    plan = studies.load("fabric").plan(mode)
    assert {cell.id for cell in plan.cells()} == {*fabric.CASES, *fabric.HPCC, *fabric.DCTCP}
    for claim in plan.claims:
        decide = [part for part in claim.parts if part.counts]
        floors = 0 if claim.id == "fabric-6" else len(decide)
        assert len(claim.parts) == len(decide) + floors


def test_every_class_of_a_case_has_its_row() -> None:
    (claim,) = [
        each for each in studies.load("fabric").plan("full").claims if each.id == "fabric-5"
    ]
    named = {part.name.removesuffix(", fluid / packets") for part in claim.parts if part.counts}
    assert {"two classes, strict, bulk", "three classes, 4:2:1, more"} <= named


@pytest.mark.filterwarnings("error::fctlab.SpecWarning")  # said of the first run of three
def test_a_small_one_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(fabric.FLOWS, "quick", 2_000)
    kept = {"10G, load 0.3", "HPCC, 100G, load 0.5", "DCTCP, 100G, load 0.5"}
    for cases in (fabric.CASES, fabric.HPCC, fabric.DCTCP):
        for name in {*cases} - kept:
            monkeypatch.delitem(cases, name)
    conduct.study("fabric", "quick", out=tmp_path, seeds=1)
    told = json.loads((tmp_path / "report.json").read_text())
    effects = {
        (claim["id"], part["part"]): part["value"]
        for claim in told["claims"]
        for part in claim["parts"]
    }
    means = {"fabric-1": fabric.CASES, "fabric-7": fabric.HPCC, "fabric-9": fabric.DCTCP}
    tails = {"fabric-2": fabric.CASES, "fabric-8": fabric.HPCC, "fabric-10": fabric.DCTCP}
    for claims, most in ((means, 0.05), (tails, 0.1)):
        for claim, (case,) in claims.items():
            for words in ("fluid / packets", "packets, shifted / packets"):
                assert abs(effects[claim, f"{case}, all, {words}"] - 1) < most, (claim, words)
