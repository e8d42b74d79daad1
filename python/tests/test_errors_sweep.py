"""Errors of sweeps and stores, each provoked once: where, what is there and what is allowed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fctlab.results import kinds
from fctlab.results.kinds import STORE_FILE
from fctlab.results.points import PointStore
from fctlab.sweep import grid, listing, running, saved
from tests.conftest import SMALL_TOML
from tests.refusing import refuses
from tests.test_points import filled

TWO: dict[str, Any] = {"scenario": "base.toml", "schemes": ["dctcp", "pfabric"]}
DECIDED: dict[str, Any] = {"decided": True}
SPECIFIED: dict[str, Any] = {"specification": "base.toml"}


def linked(*tables: dict[str, Any]) -> dict[str, Any]:
    return {**TWO, "linked": list(tables)}


SWEEPS: list[tuple[dict[str, Any], str]] = [
    ({}, "scenario: give either scenario or specification, a file"),
    ({**TWO, **SPECIFIED}, "scenario: give either scenario or specification, a file"),
    ({**TWO, "name": 3}, "name: 3 is not a text"),
    ({**TWO, "schemes": "dctcp"}, "schemes: 'dctcp' is not a list; write ['dctcp'], or a range"),
    ({**TWO, "schemes": [3]}, "schemes: 3 is not a text"),
    ({**TWO, "loads": []}, "loads: is empty: there would be no point"),
    ({**TWO, "loads": {"from": 0.1}}, "loads: a range has the keys from, to and steps"),
    (
        {**TWO, "loads": {"from": "a", "to": 0.9, "steps": 3}},
        "loads: a range goes from a number to a number, not ('a', 0.9)",
    ),
    ({**TWO, "axes": 3}, "axes: 3 is not a table"),
    ({**TWO, "axes": {"seed": [1, 2]}}, "seed: is no axis; say seeds at the top of the sweep"),
    ({**TWO, "linked": 3}, "linked: is not a list of tables; write [[linked]]"),
    (
        linked({"a": [1, 2], "b": [1]}),
        "linked[0]: axes that go together have equally many values; a has 2, b has 1",
    ),
    (
        {**SPECIFIED, "loads": [0.3]},
        "loads: is of scenarios; a specification has axes only",
    ),
    (
        {**TWO, "seeds": 3, "until": DECIDED},
        "seeds: and until contradict each other: until looks at fixed numbers",
    ),
    (
        {**TWO, "max_seeds": 3},
        "max_seeds: limits what until adds; without it the points are what they are",
    ),
    ({**TWO, "until": 3}, 'until: 3 is neither "decided" nor a table'),
    ({**TWO, "until": {}}, 'until: give either ci, such as "5%", or decided = true'),
    (
        {**TWO, "until": {**DECIDED, "against": "las"}},
        "until.against: 'las' is not one of several schemes: dctcp, pfabric",
    ),
    (
        {**TWO, "schemes": ["dctcp"], "until": DECIDED},
        "until.against: is missing: a decision is about two schemes",
    ),
    (
        {**TWO, "until": {"ci": "5%", "margin": "1%"}},
        "until.margin: belongs to decided, not to ci",
    ),
    (
        {**TWO, "until": {"ci": "5"}},
        "until.ci: '5' is not a share above 0 and below 1, such as 5%",
    ),
    (
        {**TWO, "until": {**DECIDED, "metric": "p99"}},
        "until.metric: 'p99' is not written as in small.p99_slowdown",
    ),
    (
        {**SPECIFIED, "until": {"ci": "5%"}},
        "until.metric: is missing; name a class and its SLI, such as web.tail",
    ),
]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A folder with a scenario to sweep over."""
    (tmp_path / "base.toml").write_text(SMALL_TOML)
    return tmp_path


@pytest.mark.parametrize(("tables", "says"), SWEEPS, ids=[says for _, says in SWEEPS])
def test_a_sweep_is_refused(tables: dict[str, Any], says: str, base: Path) -> None:
    refuses(says, grid.parse, tables, base)


def test_points_are_no_recordings_and_no_run_twice(base: Path) -> None:
    def plan(**keys: Any) -> None:
        running.plan(grid.parse({**TWO, **keys}, base), 1)

    says = "record: a sweep keeps no recordings; run one scenario"
    refuses(says, plan, set={"record": {"windows": {"flows": [1]}}})
    says = (
        "axes: traffic.pattern=all-to-all, dctcp is the same run as "
        "traffic.pattern=all-to-all, dctcp; leave one of them out"
    )
    refuses(says, plan, axes={"traffic.pattern": ["all-to-all", {"kind": "all-to-all"}]})


def test_saved_sweeps_have_points_and_not_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = filled(tmp_path / "store", 3)
    monkeypatch.setattr(saved, "MOST_POINTS", 2)
    says = "store: holds 3 points; a page reads at most 2; name the directory of the sweep instead"
    refuses(says, saved.of_store, store, "s")
    refuses("key: '0': 3 points start so; fctlab store ls lists them", listing.key_of, store, "0")
    refuses("key: 'z': no point starts so; fctlab store ls", listing.key_of, store, "z")
    empty = PointStore(tmp_path / "none", create=True)
    refuses("none: holds no points; fctlab sweep computes them", listing.first, empty)


def test_a_sweep_without_points_has_no_page(tmp_path: Path) -> None:
    kept: dict[str, Any] = {"sweep": "s", "cells": [], "summary": [], "decisions": [], "points": []}
    (tmp_path / kinds.SWEEP_FILE).write_text(json.dumps(kept))
    refuses(f"{kinds.SWEEP_FILE}: has no point; fctlab sweep computes them", saved.read, tmp_path)


def test_what_is_no_store(tmp_path: Path) -> None:
    refuses(f"holds no store of points: it has no {STORE_FILE}", PointStore, tmp_path)
    (tmp_path / STORE_FILE).write_text("3")
    refuses(f"{STORE_FILE}: is not the manifest of a store", PointStore, tmp_path)
    store = filled(tmp_path / "store", 1)
    key = f"{0:032x}"
    store.file(key).write_bytes(b"{}")
    says = f"{key}.json: is damaged: its digest is another; fctlab store gc removes it"
    refuses(says, store.get, key)
