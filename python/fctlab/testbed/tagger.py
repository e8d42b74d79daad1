"""The host tagger, ``data/tagger.bpf.c``, compiled for BPF with the thresholds of a plan.

By bytes outstanding it takes a flow's size from its socket (SO_MARK), where `inside` writes it:
the kernel in virtual time has no types (BTF) through which it could be read.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
from importlib import resources
from pathlib import Path

from fctlab.errors import SpecError
from fctlab.testbed.plan import Plan

CLANG = "clang"
PACKAGES = "clang, libbpf-dev and linux-libc-dev"
SECTIONS = {"sent": "classifier", "outstanding": "left"}
"""By what hosts tag."""


def lacks() -> str | None:
    """Why it cannot be compiled here; ``None`` if it can."""
    if shutil.which(CLANG) is None:
        return f"priorities need a tagger, which {CLANG} compiles (Debian packages {PACKAGES})"
    return None


def build(plan: Plan, out: Path) -> None:
    """Compile it for the bands of a plan's hosts.

    Raises:
        SpecError: it cannot be compiled, and why.
    """
    why = lacks()
    if why:
        raise SpecError("scheme.tagger", why)
    port = plan.nics[0]
    bands = len(port.codes)
    words = [
        *(CLANG, "-O2", "-g", "-target", "bpf", f"-I/usr/include/{platform.machine()}-linux-gnu"),
        *("-DLEFT", f"-DBANDS={bands}", f"-DTHRESHOLDS={','.join(map(str, port.thresholds))}"),
        *(f"-DCODES={','.join(map(str, port.codes))}",),
        *(f"-DPRIORITIES={','.join(map(str, range(bands)))}",),
        *("-x", "c", "-", "-c", "-o", str(out)),
    ]
    source = (resources.files("fctlab") / "data" / "tagger.bpf.c").read_bytes()
    done = subprocess.run(words, input=source, capture_output=True)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()[:300]
        raise SpecError("scheme.tagger", f"does not compile ({PACKAGES} are needed): {said}")


def lines(device: str, made: Path, plan: Plan) -> list[str]:
    """Lines of ``tc -batch`` that put it at the egress of a device that has ``clsact``."""
    program = f"obj {made} sec {SECTIONS[plan.tags_by]}"
    return [f"filter add dev {device} egress prio 1 bpf direct-action {program}"]
