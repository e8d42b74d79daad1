"""Queues of ports in BPF, ``data/queue.bpf.c``, where the kernel has no ``red``.

They mark and drop in front of ``htb``, by what waits in all bands of a port: what came in at its
egress and has not gone out at the other end of the link. Bands share a buffer.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fctlab.testbed import bpf
from fctlab.testbed.plan import NEVER, Plan, Port
from fctlab.testbed.port import Kernel

READER = "bpftool"
PINNED = "/sys/fs/bpf/tc/globals/fctlab_queues"
"""The map of all links."""


def lacks() -> str | None:
    """Why there can be none here; ``None`` if there can."""
    if os.geteuid() != 0:
        return "programs in BPF need root"
    if shutil.which(READER) is None:
        return f"{READER} cannot be found (Debian package {READER})"
    return bpf.lacks()


def wanted(plan: Plan, kernel: Kernel) -> bool:
    """Whether a plan's ports have them: to mark, or for a buffer that bands share."""
    marks = any(port.mark_bytes is not None for port in links(plan))
    return "red" in kernel.lacks and (marks or bool(plan.thresholds))


def links(plan: Plan) -> Sequence[Port]:
    """Each direction of each link: ports of the switch, then those of hosts."""
    return (*plan.ports, *plan.nics)


def behind(port: Port) -> Port:
    """The disciplines of a port that has one: they neither mark nor drop."""
    return replace(port, buffer_bytes=2 * port.buffer_bytes, mark_bytes=None)


def build(plan: Plan, out: Path) -> None:
    """Compile them for a plan.

    Raises:
        SpecError: they cannot be compiled, and why.
    """
    all_ = links(plan)
    defined = {
        "LINKS": len(all_),
        "MARKS": [NEVER if port.mark_bytes is None else port.mark_bytes for port in all_],
        "BUFFERS": [port.buffer_bytes for port in all_],
        "BANDS": len(all_[0].codes),
        "CODES": all_[0].codes,
        "OVERHEAD": f"({plan.overhead_bytes})",
    }
    bpf.build("queue", defined, out, "scheme.port.ecn_threshold")


def lines(device: str, made: Path, sends: int, receives: int) -> list[str]:
    """Lines of ``tc -batch`` for a device with ``clsact`` that sends to one link, from another.

    The tagger comes before, and the wire behind.
    """
    return [
        f"filter add dev {device} {hook} prio {order} protocol all bpf direct-action "
        f"obj {made} sec {section} flowid 1:{link + 1:x}"
        for hook, order, section, link in (
            ("egress", 2, "enter", sends),
            ("ingress", 1, "leave", receives),
        )
    ]
