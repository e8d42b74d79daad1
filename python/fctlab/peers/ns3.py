"""Flows through ns-3's TcpDctcp, as Debian packages it: what other parts are compared with.

The program (``data/leafspine_dctcp.cc``) is compiled where ns-3's headers are found, and kept.
`benches/peers/ns3/README.md` says what is the same in the two simulators and what differs.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from fctlab.answers import Answer
from fctlab.errors import InternalError

PACKAGE = "libns3-dev"
COMPILER = os.environ.get("CXX", "g++")
MODULES = ("point-to-point", "internet", "traffic-control", "network", "core")
SCHEDULER = "ns3::PriorityQueueScheduler"
"""The fastest of ns-3's event queues on web search."""


def missing() -> str | None:
    """Why ns-3 cannot be run here; ``None`` if it can."""
    probe = "#include <ns3/tcp-dctcp.h>\n"
    command = [COMPILER, "-E", "-x", "c++", "-"]
    try:
        done = subprocess.run(command, input=probe, text=True, capture_output=True)
    except FileNotFoundError:
        return f"there is no compiler {COMPILER} (Debian package g++)"
    if done.returncode != 0:
        return f"{COMPILER} finds no ns-3 headers (Debian package {PACKAGE})"
    return None


def build() -> Path:
    """The program, compiled unless it is there.

    Raises:
        InternalError: it does not compile.
    """
    source = (resources.files("fctlab") / "data" / "leafspine_dctcp.cc").read_bytes()
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    program = caches / "fctlab" / f"leafspine_dctcp-{hashlib.sha256(source).hexdigest()[:12]}"
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        partial = program.with_suffix(f".{os.getpid()}")
        libraries = [f"-lns3-{module}" for module in MODULES]
        flags = ["-std=c++17", "-O3", "-DNDEBUG", "-x", "c++", "-", "-o", str(partial)]
        done = subprocess.run([COMPILER, *flags, *libraries], input=source, capture_output=True)
        if done.returncode != 0:
            raise InternalError(done.stderr.decode(errors="replace"))
        partial.replace(program)
    return program


class Replay(Answer, frozen=True, kw_only=True):
    """What ns-3 counted.

    Attributes:
        flows: of the trace.
        finished: of these, how many.
        packet_hops: packets that crossed a link.
        drops: packets that found a buffer full.
        ecn_marks: packets marked with CE.
        events: that it handled.
        simulated_s: simulated time, in seconds.
        cpu_s: of the simulation alone, in seconds.
        wall_s: the same by time of day.
        packet_hops_per_cpu_s: per second of CPU time.
    """

    flows: int
    finished: int
    packet_hops: int
    drops: int
    ecn_marks: int
    events: int
    simulated_s: float
    cpu_s: float
    wall_s: float
    packet_hops_per_cpu_s: float


def replay(
    trace: Path, out: Path, parameters: Mapping[str, Any], program: Path | None = None
) -> Replay:
    """Run the flows of `trace`.

    Args:
        trace: CSV with ``start_s``, ``src``, ``dst`` and ``size_bytes``.
        out: gets the same rows with ``fct_s`` (to the receiver's last byte), empty where a flow
            did not finish: a table for `fctlab.Result.of_flows`.
        parameters: of the program (``--help`` lists them); rates and times in ns-3's units.
        program: instead of the one that is compiled here.

    Raises:
        InternalError: ns-3 failed.
    """
    given = {"SchedulerType": SCHEDULER, **parameters, "trace": trace, "out": out}
    command = [str(program or build()), *(f"--{key}={value}" for key, value in given.items())]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise InternalError(done.stderr or done.stdout)
    return Replay.read(json.loads(done.stdout))
