"""Ratios of pFabric to DCTCP under 300 seeds in three small cells, against which rules are tried.

``python -m tests.pool`` in ``python/`` writes ``ratios.json``; a test runs its first seeds again.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from fctlab import sweep
from tests.conftest import SMALL

FILE = Path(__file__).with_name("ratios.json")
SEEDS = 300
CELLS: Mapping[str, tuple[float, str, str]] = {
    "average slowdown, load 0.5": (0.5, "all", "avg_slowdown"),
    "average FCT of flows of 300 KB, load 0.8": (0.8, "medium", "avg_fct_s"),
    # Of some 200 flows: the second largest.
    "p99 slowdown of small flows, load 0.8": (0.8, "small", "p99_slowdown"),
}
"""Load, size class and metric of each cell."""


def ratios(seeds: int) -> dict[str, list[float]]:
    """Logarithms of ratios, by cell, under the seeds 1, 2, ...."""
    schemes = ["dctcp-paper", "pfabric-paper"]
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "small.json"
        scenario.write_text(json.dumps(SMALL))
        grid = {
            "name": "pool",
            "scenario": str(scenario),
            "schemes": schemes,
            "loads": [0.5, 0.8],
            "seeds": seeds,
        }
        points = sweep.sweep(grid, out=Path(folder) / "out").points
    found = {}
    for name, (load, size, metric) in CELLS.items():
        cell = points.filter(pl.col("traffic.load") == load, pl.col("class") == size).sort("seed")
        values = [cell.filter(scheme=scheme)[metric] for scheme in schemes]
        logs = [math.log(b / a) for a, b in zip(*values, strict=True)]
        found[name] = [round(value, 6) for value in logs]
    return found
