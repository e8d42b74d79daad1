"""What does not fit into memory is found out before it is tried."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.conftest import PROGRAM, SCENARIOS


def limited(kilobytes: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The program under a limit of its address space."""
    command = f'ulimit -v {kilobytes} && exec "$0" "$@"'
    return subprocess.run(
        ["bash", "-c", command, PROGRAM, *arguments], capture_output=True, text=True, timeout=60
    )


def test_a_sweep_of_too_many_points() -> None:
    spec = str(SCENARIOS / "slo-two-classes.toml")
    done = limited(6_000_000, "whatif", spec, "--vary", "classes.web.load=0.1:0.5:1000000000")
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    assert done.stderr.startswith("error: --vary: 1,000,000,000 points take some "), done.stderr
    assert "which is enough for" in done.stderr


def test_a_run_of_too_many_flows(tmp_path: Path) -> None:
    star = str(SCENARIOS / "swp-websearch.toml")
    for engine in ("model", "packet"):
        run = ("run", star, "--engine", engine, "--set", "traffic.flows=1000000000")
        done = limited(6_000_000, *run)
        assert done.returncode == 2, done.stderr
        message = "error: traffic.flows: 1,000,000,000 flows take some 200.0 GB of memory; "
        assert done.stderr.startswith(message), done.stderr
