"""What a sweep costs beyond its runs: against plain processes, on a Ray cluster, and to be read.

Small points, so that what is the same for every point shows. All are measured side by side with
what they are compared with, one after the other, again and again: a slow minute is everybody's.
"""

from __future__ import annotations

import io
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fctlab import cluster, sweep
from fctlab.bench.engine import reference
from fctlab.errors import InternalError
from fctlab.jobs import cores
from fctlab.results.points import Point, PointStore

POINTS_PER_CORE = 32
FLOWS = 500
"""Of a point."""
PLAIN = """
import json, sys
import fctlab
file, first, count = sys.argv[1:]
scenario = fctlab.load_scenario(file)
for seed in range(int(first), int(first) + int(count)):
    fctlab.run(scenario, seed=seed)
"""
"""A person's own program: runs seeds one after the other and keeps nothing."""
KEPT = 10
"""Points whose flows are summarised,"""
KEPT_FLOWS = 1_000_000
"""and flows of each."""
SUMMARY = """
import json, resource, sys, time
import polars as pl
from fctlab.results.points import PointStore
store = PointStore(sys.argv[1])
start = time.perf_counter()
values = [pl.col("fct_s").mean(), pl.col("slowdown").quantile(0.99)]
store.of_each(lambda flows: flows.group_by("key", "size_bytes").agg(pl.len(), *values))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([time.perf_counter() - start, peak * 1024]))
"""
"""Count, mean and p99 by point and size, in a process of its own."""


def measure(runs: int, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """A sweep against plain processes, Ray against threads, and a question to many flows."""
    with tempfile.TemporaryDirectory() as folder:
        return [*_of_points(Path(folder), runs, say), *_of_flows(Path(folder) / "flows", say)]


def _of_flows(folder: Path, say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """Time and memory of a question to flows that are kept."""
    say(f"a store of {KEPT * KEPT_FLOWS:,} flows")
    store = PointStore(folder, create=True)
    random = np.random.default_rng(1)
    sizes = np.array([1_000, 100_000, 10_000_000])
    for k in range(KEPT):
        fct_s = random.exponential(1e-3, KEPT_FLOWS)
        columns = {
            "start_s": np.sort(random.random(KEPT_FLOWS)),
            "size_bytes": random.choice(sizes, KEPT_FLOWS),
            "fct_s": fct_s,
            "slowdown": 1 + 1e3 * fct_s,
        }
        with io.BytesIO() as buffer:
            pl.DataFrame(columns).write_parquet(buffer)
            store.put(Point(f"{k:032x}", {}, {}), flows=buffer.getvalue())
    done = subprocess.run(
        [sys.executable, "-c", SUMMARY, folder], capture_output=True, text=True, check=True
    )
    took_s, peak_bytes = json.loads(done.stdout)
    told = f"count, mean and p99 by point and size of {KEPT * KEPT_FLOWS:,} flows in {KEPT} points"
    yield {"name": "points.flows_summary_s", "value": took_s, "unit": "s", "note": told}
    note = "peak of that process"
    yield {"name": "points.flows_summary_rss", "value": peak_bytes, "unit": "B", "note": note}


def _of_points(folder: Path, runs: int, say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    many = cores()
    points = many * POINTS_PER_CORE
    scenario = folder / "scenario.json"
    scenario.write_text(json.dumps(reference().set("traffic.flows", FLOWS).resolve().tables))
    grid = folder / "sweep.json"
    grid.write_text(json.dumps({"name": "b", "scenario": str(scenario), "seeds": points}))
    with_ray = find_spec("ray") is not None
    if not with_ray:
        say("skipped: Ray is not installed (pip install 'fctlab[ray]')")
    plain, swept = [], []
    by_threads: list[float] = []
    by_ray: list[float] = []
    with ExitStack() as opened:
        executor = opened.enter_context(cluster.opened("ray")) if with_ray else None
        for i in range(runs):
            say(f"run {i + 1} of {runs}: {many} plain processes")
            first = range(1, points, POINTS_PER_CORE)
            program = ["-c", PLAIN, str(scenario)]
            plain.append(_together([*program, str(at), str(POINTS_PER_CORE)] for at in first))
            say(f"run {i + 1} of {runs}: a sweep")
            kept = str(folder / f"sweep-{i}")
            swept.append(_together([["-m", "fctlab", "sweep", str(grid), "--out", kept]]))
            if executor is not None:
                for times, on in ((by_threads, None), (by_ray, executor)):
                    say(f"run {i + 1} of {runs}: {'Ray' if on else 'threads'}")
                    start = time.perf_counter()
                    sweep.sweep(grid, out=folder / f"{'ray' if on else 'threads'}-{i}", executor=on)
                    times.append(time.perf_counter() - start)
    ratios = [a / b for a, b in zip(swept, plain, strict=True)]
    told = f"{points} points of {FLOWS} flows on {many} cores"
    yield {
        "name": "points.sweep_of_plain",
        "value": statistics.median(ratios),
        "unit": "x",
        "note": f"wall time of {told}, start included, over that of {many} processes which keep "
        f"nothing; {min(ratios):.2f} to {max(ratios):.2f}",
    }
    if executor is not None:
        beyond = [(b - a) / points for a, b in zip(by_threads, by_ray, strict=True)]
        yield {
            "name": "points.ray_s_per_point",
            "value": statistics.median(beyond),
            "unit": "s",
            "note": f"wall time beyond that of threads, Ray's start left out; {told}; "
            f"{min(beyond) * 1e3:.0f} to {max(beyond) * 1e3:.0f} ms",
        }


def _together(programs: Iterable[Sequence[str]]) -> float:
    """Seconds until processes of Python with these arguments, started at once, have ended."""
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    start = time.perf_counter()
    started = [subprocess.Popen([sys.executable, *program], **quiet) for program in programs]
    for process in started:
        _, errors = process.communicate()
        if process.returncode != 0:
            raise InternalError(errors)
    return time.perf_counter() - start
