"""Every long command ends within a second of Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.conftest import PROGRAM, SCENARIOS, busy_s

SPEC = str(SCENARIOS / "slo-two-classes.toml")
CALIBRATION = str(SCENARIOS / "slo-calibrate.toml")
STAR = str(SCENARIOS / "swp-websearch.toml")

LONG = {
    "run": ("run", STAR, "--set", "traffic.flows=500000"),
    "run on the model": ("run", STAR, "--engine", "model", "--set", "traffic.flows=5000000"),
    "compare": ("compare", STAR, "--schemes", "dctcp,pfabric", "--set", "traffic.flows=500000"),
    "predict": ("predict", SPEC, "--set", "classes.storage.interarrivals.sigma=12"),
    "predict, packets": (
        *("predict", SPEC, "--engine", "packet", "--most-flows", "1000000"),
        *("--set", "cc=dctcp-rate"),
    ),
    "plan": ("plan", str(SCENARIOS / "slo-five-classes.toml"), "--most-flows", "160000000"),
    "provision": ("provision", SPEC, "--precision", "100"),
    "whatif": ("whatif", SPEC, "--vary", "classes.storage.rate=5Gbps:40Gbps:80"),
    "whatif, of long runs": (
        *("whatif", SPEC, "--vary", "classes.web.weight=1,2"),
        *("--set", "classes.storage.interarrivals.sigma=12"),
    ),
    "calibrate": ("calibrate", CALIBRATION, "--scheme", "dctcp-rate"),
}


def engines(process: subprocess.Popen[str]) -> set[str]:
    """The threads of a process that work for the engine."""
    found = set()
    for task in Path(f"/proc/{process.pid}/task").glob("*"):
        with suppress(OSError):
            if (task / "comm").read_text().strip() == "engine":
                found.add(task.name)
    return found


def wait_for_engine(process: subprocess.Popen[str]) -> None:
    """Until a thread has worked for half a second."""
    before: set[str] = set()
    for _ in range(120):
        time.sleep(0.5)
        assert process.poll() is None, (process.returncode, process.communicate())
        now = engines(process)
        if before & now:
            return
        before = now
    raise AssertionError("no engine")


def interrupted(arguments: tuple[str, ...]) -> tuple[float, int, str]:
    """Seconds from Ctrl-C in the engine's work to the end, exit code and what was said."""
    process = subprocess.Popen(
        [PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        wait_for_engine(process)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        return time.monotonic() - begin, process.returncode, said
    finally:
        process.kill()


@pytest.mark.parametrize("name", list(LONG))
def test_ctrl_c_ends_every_long_command(name: str) -> None:
    took_s, code, said = interrupted(LONG[name])
    assert code == 130 and "interrupted" in said and "Traceback" not in said, said
    assert took_s < 1.0 + busy_s(), took_s


def test_ctrl_c_ends_a_sweep_over_a_specification(tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    changes = '[set]\n"classes.storage.interarrivals.sigma" = 12'
    file.write_text(f'name = "t"\nspecification = "{SPEC}"\nseeds = 2\n{changes}\n')
    took_s, code, said = interrupted(("sweep", str(file), "--out", str(tmp_path / "out")))
    assert code == 130 and "Traceback" not in said, said
    assert took_s < 1.0 + busy_s(), took_s


def test_ctrl_c_ends_a_fit(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    n = 1_000_000
    start = np.cumsum(rng.exponential(1e-6, n))
    pl.DataFrame({"start_s": start, "size_bytes": np.full(n, 10_000)}).write_csv(
        tmp_path / "log.csv"
    )
    took_s, code, said = interrupted(("fit", str(tmp_path / "log.csv")))
    assert code == 130 and "Traceback" not in said, said
    assert took_s < 1.0 + busy_s(), took_s
