"""What befalls `testbed run`: cells of `docs/reference/faults.md`, in namespaces.

Times are those of the machine, so a result that is whole has every flow, and no two are the same.
"""

from __future__ import annotations

import random
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fctlab import load
from fctlab.testbed import namespaces
from tests.conftest import PROGRAM, SCENARIOS
from tests.faults import Done, disk, fill

pytestmark = [
    pytest.mark.xdist_group("linux"),  # some look for processes that others start
    pytest.mark.skipif(bool(namespaces.lacks()), reason=f"namespaces: {namespaces.lacks()}"),
]

FLOWS = 20
TAKES_S = 1.5
"""Some of it; whatever a command is doing then."""


def started(out: Path) -> subprocess.Popen[str]:
    words = [PROGRAM, "testbed", "run", str(SCENARIOS / "linux-star.toml"), "--on", "namespaces"]
    words += ["--set", "scheme.preset=tcp", "--set", f"traffic.flows={FLOWS}", "--rate", "400Mbps"]
    return subprocess.Popen(
        [*words, "--out", str(out)],
        cwd=out.parent,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> Done:
    """What it said first is what this kernel lacks, and how much it is about to send."""
    _, said = process.communicate(timeout=120)
    before, _, said = said.rpartition("about 20 flows through Linux\n")
    assert before.count("error") == 0, before
    return Done(process.returncode, said, 0.0)


def is_whole(out: Path) -> bool:
    """Whether the result has every flow."""
    flows = load(out).flows
    return len(flows) == FLOWS and bool(flows["finished"].all())


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    with disk(tmp_path / "disk", "20m") as place:
        yield place


def test_a_full_disk_is_one_error_and_loses_nothing(small: Path) -> None:
    out = small / "out"
    assert ended(started(out)).code == 0
    before = {file: file.read_bytes() for file in out.rglob("*") if file.is_file()}
    fill(small)
    done = ended(started(out))
    assert done.is_one_error and "the disk has 0 MB left" in done.said, done
    assert {file: file.read_bytes() for file in out.rglob("*") if file.is_file()} == before


def test_a_read_only_disk_is_one_error(small: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
    done = ended(started(small / "out"))
    assert done.is_one_error and "Read-only file system" in done.said, done
    assert not list(small.iterdir())


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_stopped_and_started_again_all_flows_are_there(how: signal.Signals, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = started(out)
    moment = random.Random(str(how)).uniform(0.3, 1.0) * TAKES_S
    try:
        process.wait(timeout=moment)
    except subprocess.TimeoutExpired:
        process.send_signal(how)
    done = ended(process)
    assert done.code in (0, 130, -how) and "Traceback" not in done.said, done
    assert how == signal.SIGKILL or not out.exists() or is_whole(out)
    again = ended(started(out))
    assert again.code == 0, again
    assert is_whole(out) and not list(tmp_path.rglob(".fctlab-*"))


def test_two_at_once_leave_one_result(tmp_path: Path) -> None:
    out = tmp_path / "out"
    ends = [ended(process) for process in [started(out) for _ in range(2)]]
    assert 0 in [done.code for done in ends], ends
    assert all(done.code == 0 or done.is_one_error for done in ends), ends
    assert is_whole(out) and not list(tmp_path.rglob(".fctlab-*"))
