"""What steps of ``make trust`` share: commands that have to end well, tools that may be missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OURS = ROOT / "target/trust"
Rows = list[list[str]]
"""Of a table."""


class Skip(Exception):
    """Why a step is not done here."""


class Failed(RuntimeError):
    """What a step found wrong.

    Attributes:
        rows: what it did all the same, which the page keeps.
    """

    def __init__(self, what: str, rows: Rows) -> None:
        super().__init__(what)
        self.rows = rows


def done(*command: str | Path, folder: Path = ROOT, **more: str) -> str:
    """What a command prints; it has to end well.

    Raises:
        RuntimeError: it does not; with the end of what it said.
    """
    print("$", " ".join(map(str, command)), flush=True)
    ran = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**os.environ, **more},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    if ran.returncode:
        raise RuntimeError(f"{command[0]} ends with {ran.returncode}\n{ran.stdout[-3000:]}")
    return ran.stdout


def need(*command: str) -> str:
    """Where a program is, whose last argument says how to get it."""
    *names, how = command
    found = next(filter(None, map(shutil.which, names)), None)
    if not found:
        raise Skip(f"there is no {names[0]} ({how})")
    return found


def programs(name: str) -> tuple[str, str]:
    """Of a Python tool: beside this interpreter, and anywhere."""
    return str(Path(sys.executable).with_name(name)), name
