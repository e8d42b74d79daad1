"""Dhall, read by a process of its own.

A few lines of Dhall can compute for ever, recurse without end and fill the memory; the
library that reads them has no bounds of its own. A process has, and may end without taking
anything with it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from fctlab import _native
from fctlab.errors import InternalError, SpecError

MEMORY_BYTES = 4 << 30
"""What reading may take."""
LONGEST_S = 20.0
"""For all of it; the reader itself gives up after 10 s and says why."""


def read(text: str, file: Path) -> str:
    """Read a Dhall file.

    Args:
        text: what is in it.
        file: its absolute path; imports start from its folder.

    Returns:
        The same as JSON.

    Raises:
        SpecError: it is not Dhall, or takes too long or too much memory to read.
        InternalError: the process did not start.
    """
    command = [sys.executable, "-c", "from fctlab.dhall import main; main()", str(file)]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTHONSAFEPATH": "1",
    }
    try:
        done = subprocess.run(
            command,
            input=text.encode(),
            capture_output=True,
            env=environment,
            timeout=LONGEST_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise SpecError("", f"takes more than {LONGEST_S:g} s to read") from None
    if done.returncode > 0:
        raise InternalError(f"{file}: {done.stderr.decode(errors='replace').strip()}")
    if done.returncode:
        gigabytes = MEMORY_BYTES >> 30
        message = f"recurses too deep, or takes more than {gigabytes} GB of memory to read"
        raise SpecError("", message)
    answer = json.loads(done.stdout)
    if "error" in answer:
        raise SpecError(*answer["error"])
    value: str = answer["value"]
    return value


def main() -> None:
    """The process: text on standard input; its value, or what is wrong, on standard output."""
    # Not on every system, and nobody needs it who only imports this module.
    import resource

    def lower(limit: int, to: int) -> None:
        _, hard = resource.getrlimit(limit)
        resource.setrlimit(limit, (to if hard == resource.RLIM_INFINITY else min(to, hard), hard))

    lower(resource.RLIMIT_CORE, 0)
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        lower(resource.RLIMIT_AS, pages * resource.getpagesize() + MEMORY_BYTES)
    text = sys.stdin.buffer.read().decode()
    try:
        answer: dict[str, object] = {"value": _native.parse(text, "dhall", Path(sys.argv[1]))}
    except SpecError as error:
        answer = {"error": (error.path, error.message)}
    json.dump(answer, sys.stdout)
    sys.stdout.flush()
    # Without waiting for a thread that still computes.
    os._exit(0)
