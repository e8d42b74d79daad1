"""What does not fit into memory is found out before it is tried."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import fctlab
from fctlab import memory
from fctlab.errors import SpecError
from tests.conftest import PROGRAM, SCENARIOS, SMALL

LIMITS = (6_000_000_000, 1_200_000_000)
STAR = str(SCENARIOS / "swp-websearch.toml")
TWO_CLASSES = str(SCENARIOS / "slo-two-classes.toml")


def limited(bytes_: int, *command: str) -> subprocess.CompletedProcess[str]:
    """A command under a limit of its address space."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (bytes_, bytes_))

    return subprocess.run(command, capture_output=True, text=True, timeout=120, preexec_fn=limit)


def refused(bytes_: int, *arguments: str) -> str:
    """The one line with which the program ends under a limit."""
    done = limited(bytes_, PROGRAM, *arguments)
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    return line


@pytest.mark.parametrize("bytes_", LIMITS)
def test_a_sweep_of_too_many_points(bytes_: int) -> None:
    line = refused(bytes_, "whatif", TWO_CLASSES, "--vary", "classes.web.load=0.1:0.5:1000000000")
    assert line.startswith("error: --vary: 1,000,000,000 points take some "), line
    assert "which is enough for" in line


@pytest.mark.parametrize("engine", ["model", "packet"])
@pytest.mark.parametrize("bytes_", LIMITS)
def test_a_run_of_too_many_flows(bytes_: int, engine: str) -> None:
    line = refused(bytes_, "run", STAR, "--engine", engine, "--set", "traffic.flows=1000000000")
    message = "error: traffic.flows: 1,000,000,000 flows take some 200.0 GB of memory; "
    assert line.startswith(message), line


def test_a_run_of_too_long_a_time(tmp_path: Path) -> None:
    scenario = tmp_path / "long.toml"
    text = Path(STAR).read_text(encoding="utf-8")
    assert "flows = 50_000\n" in text
    scenario.write_text(text.replace("flows = 50_000\n", 'duration = "2000s"\n'), "utf-8")
    for engine in ("model", "packet"):
        line = refused(LIMITS[1], "run", str(scenario), "--engine", engine)
        # 60 Gbps in flows of 1.7 MB are 4,383 a second.
        assert line.startswith("error: traffic.duration: 8,76"), line
        assert " flows take some 1.8 GB of memory; " in line


def test_runs_at_once(tmp_path: Path) -> None:
    compare = ("compare", STAR, "--schemes", "dctcp-rate", "--seeds", "4", "--set")
    flows = (*compare, "traffic.flows=3000000", "--set", "engine.kind=model")
    # One fits, and so would one after the other.
    line = refused(LIMITS[1], *flows, "--workers", "3", "--out", str(tmp_path / "out"))
    assert line.startswith(
        "error: traffic.flows: 9,000,000 flows of 3 runs at once take some 1.8 GB of memory; "
    ), line
    # Without an output directory all are held.
    line = refused(LIMITS[1], *flows, "--workers", "1")
    assert line.startswith("error: traffic.flows: 12,000,000 flows of 4 runs at once"), line


def test_a_calibration_of_too_many_flows() -> None:
    spec = str(SCENARIOS / "slo-calibrate.toml")
    many = ("--scheme", "dctcp-rate", "--flows", "1000000000")
    line = refused(LIMITS[1], "calibrate", spec, *many)
    assert line.startswith("error: --flows: ") and "flows of all runs take some " in line, line


def test_a_prediction_takes_what_fits_and_says_so() -> None:
    # The threshold is what the class comes to: no number of flows decides.
    close = (
        "--set",
        "classes.web.slo=small_p99 < 7.75",
        "--set",
        "classes.storage.slo=small_p99 < 9",
    )
    done = limited(700_000_000, PROGRAM, "predict", TWO_CLASSES, *close, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (warning,) = found["warnings"]
    assert warning.endswith(" flows: more might decide") and "GB of memory are free" in warning
    assert found["flows"] > 100_000
    assert "undecided" in [each["verdict"] for each in found["classes"]]


@pytest.mark.parametrize("command", ["predict", "plan"])
def test_a_trace_of_too_many_flows(tmp_path: Path, command: str) -> None:
    rows = 6_000_000
    flows = {"start_s": np.arange(rows) * 1e-6, "src": 0, "dst": 1, "size_bytes": 1000}
    trace = tmp_path / "flows.parquet"
    pl.DataFrame(flows).write_parquet(trace)
    spec = tmp_path / "spec.toml"
    spec.write_text(
        f"""
network = {{ link = "100Gbps", rtt = "10us" }}
queue = "wfq"
[[classes]]
name = "web"
trace = "{trace}"
slo = "tail < 3"
slis = [{{ name = "tail", metric = "p99" }}]
""",
        encoding="utf-8",
    )
    line = refused(600_000_000, command, str(spec))
    assert line.startswith("error: classes[0].trace: 6000000 flows take some 0."), line
    assert "GB are free, which is enough for " in line


def test_an_allocation_that_fails_is_an_error() -> None:
    # Nothing is known of the limit beforehand.
    code = """
from fctlab.slo import planning
spec = planning.load({spec!r})
try:
    planning.ask("predict", spec=spec, limit={{"most_flows": 40_000_000}}, fixed=True)
except ValueError as error:
    print(error)
"""
    done = limited(600_000_000, sys.executable, "-c", code.format(spec=TWO_CLASSES))
    assert done.returncode == 0, done.stderr[-500:]
    assert "there is no memory for more than" in done.stdout, done.stdout


def test_flows_are_counted_by_the_key_that_says_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: 900_000)
    small = fctlab.load_scenario(SMALL)
    prepared = [small.set("traffic.flows", flows).resolve() for flows in (1000, 2000, 3000)]
    runs = [memory.held(each, streamed=False) for each in prepared]
    assert memory.held(prepared[0], streamed=True) is None
    memory.check_runs(runs, 1)
    memory.check_runs(runs[:2])
    with pytest.raises(SpecError, match="5,000 flows of 2 runs at once"):
        memory.check_runs(runs, 2)
