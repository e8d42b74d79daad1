"""The host tagger, ``data/tagger.bpf.c``, with the thresholds of a plan.

By bytes outstanding it takes a flow's size from its socket (SO_MARK), where `inside` writes it:
the kernel in virtual time has no types (BTF) through which it could be read.
"""

from __future__ import annotations

from pathlib import Path

from fctlab.testbed import bpf
from fctlab.testbed.plan import Plan

SECTIONS = {"sent": "classifier", "outstanding": "left"}
"""By what hosts tag."""


def build(plan: Plan, out: Path) -> None:
    """Compile it for the bands of a plan's hosts.

    Raises:
        SpecError: it cannot be compiled, and why.
    """
    port = plan.nics[0]
    bands = len(port.codes)
    defined = {
        "LEFT": 1,
        "BANDS": bands,
        "THRESHOLDS": port.thresholds,
        "CODES": port.codes,
        "PRIORITIES": range(bands),
    }
    bpf.build("tagger", defined, out, "scheme.tagger")


def lines(device: str, made: Path, plan: Plan) -> list[str]:
    """Lines of ``tc -batch`` that put it at the egress of a device that has ``clsact``."""
    program = f"obj {made} sec {SECTIONS[plan.tags_by]}"
    return [f"filter add dev {device} egress prio 1 bpf direct-action {program}"]
