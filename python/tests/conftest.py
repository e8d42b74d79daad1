from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fctlab.results.kinds import DRAWN

PROGRAM = str(Path(sys.executable).parent / "fctlab")
SCENARIOS = Path(__file__).parents[2] / "scenarios"

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # So a shell starts what it starts in the background: no program of ours would hear Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)

EVERYTHING = os.environ.get("FCTLAB_TESTS") == "all"
"""Whether tests of chance look at all they can, and every cell of a table: minutes more."""

os.environ[DRAWN] = "no"  # half of the time of a small run; see `with_figures`

SIZES = {"kind": "uniform", "sizes": ["1KB", "20KB", "300KB"]}
SMALL: dict[str, Any] = {
    "name": "small",
    "topology": {
        "kind": "leaf-spine",
        "leaves": 2,
        "spines": 2,
        "hosts_per_leaf": 3,
        "host_rate": "10Gbps",
        "fabric_rate": "10Gbps",
        "base_rtt": "20us",
    },
    "traffic": {"workload": SIZES, "load": 0.5, "flows": 300},
    "scheme": "dctcp",
}

EIGHT_HOSTS: dict[str, Any] = {
    "kind": "leaf-spine",
    "leaves": 2,
    "spines": 2,
    "hosts_per_leaf": 4,
    "host_rate": "10Gbps",
    "fabric_rate": "20Gbps",
    "base_rtt": "20us",
}

SMALL_TOML = """
name = "small"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 3
host_rate = "10Gbps"
fabric_rate = "10Gbps"
base_rtt = "20us"
[traffic]
workload = { kind = "uniform", sizes = ["1KB", "20KB", "300KB"] }
load = 0.5
flows = 300
[scheme]
preset = "dctcp"
"""

Program = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def with_figures() -> Iterator[None]:
    """From here on in a module results are saved with their figures, as users have it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(DRAWN)
        yield


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A scenario file that runs in milliseconds."""
    file = tmp_path / "small.toml"
    file.write_text(SMALL_TOML)
    return file


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """The program, run in an empty directory."""

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = [PROGRAM, *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, text=True, capture_output=True, timeout=120)

    return run


BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium: playwright's own, or the system's."""
    sync = pytest.importorskip("playwright.sync_api", reason="pages are not opened: no playwright")
    with sync.sync_playwright() as playwright:
        own = Path(playwright.chromium.executable_path)
        found = str(own) if own.exists() else next(filter(None, map(shutil.which, BROWSERS)), None)
        if found is None:
            pytest.skip("pages are not opened: no Chromium (make tools)")
        opened = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()


def busy_s() -> float:
    """What the machine takes to start and end a program: a second more is a second on any."""
    begin = time.monotonic()
    subprocess.run([PROGRAM, "--help"], capture_output=True, check=True)
    return time.monotonic() - begin
