"""`fctlab study linux`: every row is there, and measured where Linux can be run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fctlab import studies
from fctlab.studies import linux
from fctlab.studies.framework import conduct
from fctlab.studies.framework.study import Mode
from fctlab.testbed import bpf, uml

pytestmark = pytest.mark.xdist_group("linux")  # test_testbed looks for these processes

WHY = uml.lacks() or bpf.lacks()
READINGS = ("", "-handshake", "-prr", "-rto", "-jitter", "-acks")
ROWS = {f"linux-{n}{reading}" for n in range(1, 6) for reading in READINGS}
ROWS |= {"linux-5-drop", "linux-6-acks"}
QUICK = ROWS | {"linux-3-counts", "linux-5-counts"}


@pytest.mark.parametrize("mode", ["quick", "full"])
def test_every_row_has_cells_of_both(mode: Mode) -> None:
    plan = studies.load("linux").plan(mode)
    assert {claim.id for claim in plan.claims} == (QUICK if mode == "quick" else ROWS)
    on_linux = {cell.id for cell in plan.cells() if cell.keep is linux.through_linux}
    in_real_time = [
        cell for cell in plan.cells() if cell.keep in (linux.through_namespaces, linux.nowhere)
    ]
    assert len(in_real_time) == len(linux.SCHEMES)
    changed = [cell.id for cell in plan.cells() if not cell.keep]
    for keys in ("handshake", "handshake, reduction"):
        cut = {id.replace(f", {keys},", ",") for id in changed}
        assert on_linux <= cut, keys


def test_what_this_machine_cannot_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linux, "_lacks", lambda _: "there are no namespaces")
    plan = studies.load("linux").plan("quick")
    assert linux.through_namespaces not in {cell.keep for cell in plan.cells()}
    assert "DCTCP did not: there are no namespaces" in plan.notes


@pytest.mark.skipif(bool(WHY), reason=f"virtual time: {WHY}")
def test_a_small_one_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(linux.SCALES, "quick", linux.Scale(("websearch",), (0.6,), 30))
    monkeypatch.setattr(linux, "REAL_FLOWS", 10)
    conduct.study("linux", "quick", out=tmp_path, seeds=1)
    told = json.loads((tmp_path / "report.json").read_text())
    assert {claim["id"] for claim in told["claims"]} == QUICK
    effects = {part["part"]: part["value"] for claim in told["claims"] for part in claim["parts"]}
    assert 0.5 < effects["websearch 0.6, all, engine / Linux"] < 1.5
