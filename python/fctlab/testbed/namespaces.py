"""Namespaces of this machine's kernel, in real time.

Its timers are late on a busy machine, so ports may catch up with ten packets at once.
"""

from __future__ import annotations

import subprocess
import sys
from importlib import resources
from pathlib import Path

from fctlab.errors import SpecError
from fctlab.export.types import MTU_BYTES
from fctlab.testbed import congestion, contained, queues
from fctlab.testbed.plan import Plan
from fctlab.testbed.port import Kernel

RATE = "200Mbps"
"""What one process sends and receives without being late."""
PROBE = """
ip link add fctlab0 type veth peer name fctlab1
for kind in htb prio red netem; do
    words=$kind
    test $kind = red && words="red limit 40000 min 3000 max 3001 avpkt 1000 burst 4"
    tc qdisc add dev fctlab0 root handle 1: $words 2>/dev/null || echo $kind
    tc qdisc del dev fctlab0 root 2>/dev/null
done
"""
TCP = "--set scheme.preset=tcp runs, or --on uml"
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


def lacks() -> str | None:
    """Why there can be none here; ``None`` if there can."""
    if sys.platform != "linux":
        return "namespaces are of Linux"
    return contained.lacks() or ("this kernel has no htb" if "htb" in kernel().lacks else None)


def kernel() -> Kernel:
    """What this machine's kernel has not."""
    done = subprocess.run(contained.command(["sh", "-c", PROBE]), capture_output=True, text=True)
    known = AVAILABLE.read_text().split()
    lacks = frozenset(done.stdout.split()) | {c for c in ("dctcp",) if c not in known}
    return Kernel(lacks, burst_bytes=10 * MTU_BYTES)


def check(plan: Plan, here: Kernel) -> list[str]:
    """What a run here leaves out of a plan, in sentences.

    Raises:
        SpecError: nothing of it would be left.
    """
    told = []
    if plan.congestion in here.lacks:
        _needs("scheme.transport.kind", "this kernel has no dctcp", congestion.lacks(), TCP)
        told.append("this kernel has no dctcp: it is given one in BPF")
    if queues.wanted(plan, here):
        _needs("scheme.port", "this kernel has no red", queues.lacks(), TCP)
        told.append("this kernel has no red: ports mark in BPF, and bands share a buffer")
    if "netem" in here.lacks:
        told.append("this kernel has no netem: links have no delay but the machine's own")
    if "prio" in here.lacks and plan.thresholds:
        told.append("this kernel has no prio: bands are leaves of htb with tiny rates")
    return told


def _needs(key: str, missing: str, why: str | None, instead: str) -> None:
    if why:
        raise SpecError(key, f"{missing}, and {why}; {instead}")


def run(job: Path, answer: Path) -> None:
    """Run `inside` on a job, as a process of this machine.

    Raises:
        SpecError: it ended without an answer.
    """
    program = resources.files("fctlab.testbed") / "inside.py"
    words: list[str | Path] = [sys.executable, "-I", "-S", "-B", str(program), job, answer]
    done = contained.run(words)
    if not answer.exists():
        raise SpecError("--on namespaces", f"ended without an answer: {done.stderr.strip()[-300:]}")
