"""Measured intervals: as many flows as they promise, at a load that does not fall."""

from __future__ import annotations

import pytest

import fctlab
from fctlab.studies.ascc import setting as ascc
from fctlab.studies.dsrtf import setting as dsrtf
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.interval import (
    AFTER,
    WARMUP,
    Interval,
    mean_bytes,
    mean_of_table,
)
from fctlab.studies.framework.left_open import got
from fctlab.studies.framework.longer import LONGER


def test_an_interval_is_as_long_as_its_flows_take() -> None:
    # 100 flows of 1 MB are 0.8 Gb, which half of 10 Gbps carries in 160 ms.
    found = Interval(100).tables(1e6, 0.5, 10)
    assert found == {
        "traffic": {"duration": f"{160 * (1 + WARMUP + AFTER):g}ms"},
        "measure": {
            "warmup": f"{160 * WARMUP:g}ms",
            "window": "160ms",
            "stop": "measured",
            "max_time": "300s",
        },
    }


def test_means_of_sizes() -> None:
    assert mean_of_table([10.0, 20.0, 40.0], [0.0, 0.5, 1.0]) == 0.5 * 15 + 0.5 * 30
    assert mean_of_table([10.0, 20.0], [0.4, 1.0]) == pytest.approx(0.4 * 10 + 0.6 * 15)
    web, cache = mean_bytes("websearch"), mean_bytes("cache")
    # With equal bytes there are as many more of the smaller ones: the harmonic mean.
    assert mean_bytes("websearch", "cache") == pytest.approx(2 / (1 / web + 1 / cache))


CELLS = {
    "dsrtf": (
        dsrtf.Lab("quick").cell(dsrtf.D_SRTF, "mixed", 0.6),
        dsrtf.SCALES["quick"].intervals["mixed"],
    ),
    "ascc": (
        ascc.Lab("quick").cell(ascc.SRPT, "websearch", 0.9),
        ascc.SCALES["quick"].intervals["websearch"],
    ),
}


@pytest.mark.parametrize("name", CELLS)
def test_a_run_measures_about_as_many_flows_as_it_says(name: str) -> None:
    cell, interval = CELLS[name]
    found = fctlab.run({**cell.scenario, "seed": 1})
    hosts = got(cell.scenario, "topology.leaves") * got(cell.scenario, "topology.hosts_per_leaf")
    measured = found.report["extras"]["measured"]
    assert measured["flows"] / hosts == pytest.approx(interval.per_host, rel=0.1)
    assert measured["unfinished"] == 0
    started = found.report["counters"]["flows_started"]
    assert started > (1 + WARMUP) * 0.9 * measured["flows"], "before the interval, and after it"


@pytest.mark.parametrize("name", CELLS)
def test_twice_as_long_is_twice_the_interval_after_the_same_warm_up(name: str) -> None:
    cell: Cell = CELLS[name][0]
    (longer,) = LONGER.cells([cell])
    for path, factor in (("measure.window", 2), ("traffic.duration", 2), ("measure.warmup", 1)):
        before, after = (float(got(c.scenario, path)[:-2]) for c in (cell, longer))
        assert after == pytest.approx(factor * before), path
