"""What a sweep costs beyond its runs: against plain processes, and on a Ray cluster.

Small points, so that what is the same for every point shows. All are measured side by side with
what they are compared with, one after the other, again and again: a slow minute is everybody's.
"""

from __future__ import annotations

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

from fctlab import cluster, sweep
from fctlab.bench.engine import reference
from fctlab.errors import InternalError
from fctlab.jobs import cores

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


def measure(runs: int, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Wall time of a sweep over that of plain processes, and of Ray over threads."""
    with tempfile.TemporaryDirectory() as folder:
        return list(_measure(Path(folder), runs, say))


def _measure(folder: Path, runs: int, say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
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
