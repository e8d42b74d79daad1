"""One simulation on several threads: the same bytes, or a reason."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import fctlab
from tests.conftest import SCENARIOS, Program

SMALL = fctlab.load_scenario(SCENARIOS / "websearch-leafspine.toml").with_sets(
    ["traffic.flows=60", "traffic.workload=cache", "measure.warmup=0s"]
)


def test_any_number_of_threads_gives_the_same_bytes(tmp_path: Path) -> None:
    for threads in (1, 2, 3):
        ran = fctlab.run(SMALL, threads=threads, out=tmp_path / str(threads))
        assert ran.perf["threads"] == threads
    files = [(tmp_path / str(n) / "flows.parquet").read_bytes() for n in (1, 2, 3)]
    assert files[1] == files[0]
    assert files[2] == files[0]


def test_what_needs_one_thread_says_so(program: Program) -> None:
    star = str(SCENARIOS / "linux-star.toml")
    done = program("run", star, "--threads", "2", "--set", "traffic.flows=20", "--json")
    assert done.returncode == 0, done.stderr
    assert "threads: 1 of 2: a fabric is cut between switches that have hosts" in done.stderr
    with pytest.warns(fctlab.SpecWarning, match="threads: 1 of 3: packets that are paced, shaped"):
        fctlab.run(SMALL.with_scheme("hpcc"), threads=3)
    with pytest.warns(fctlab.SpecWarning, match="threads: 9 of 100: .* there are no more"):
        fctlab.run(SMALL.set("traffic.flows", 5), threads=100)
    with pytest.raises(fctlab.SpecError, match="threads: 0 is not at least 1"):
        fctlab.run(SMALL, threads=0)


def test_all_threads_end_when_the_caller_does() -> None:
    """What a callback raises ends every part, within a second."""
    long = fctlab.load_scenario(SCENARIOS / "websearch-leafspine.toml").set("traffic.flows", 10**6)
    begun = time.monotonic()

    def stop(_: object) -> None:
        if time.monotonic() - begun > 0.5:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fctlab.run(long, threads=2, progress=stop)
    assert time.monotonic() - begun < 20
