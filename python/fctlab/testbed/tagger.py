"""The host tagger, ``data/tagger.bpf.c``, compiled for BPF with the thresholds of a plan."""

from __future__ import annotations

import platform
import shutil
import subprocess
from importlib import resources
from pathlib import Path

from fctlab.errors import SpecError
from fctlab.testbed.plan import Port

CLANG = "clang"
PACKAGES = "clang, libbpf-dev and linux-libc-dev"
SECTION = "classifier"


def lacks() -> str | None:
    """Why it cannot be compiled here; ``None`` if it can."""
    if shutil.which(CLANG) is None:
        return f"priorities need a tagger, which {CLANG} compiles (Debian packages {PACKAGES})"
    return None


def build(port: Port, out: Path) -> None:
    """Compile it for the bands of a host's port.

    Raises:
        SpecError: it cannot be compiled, and why.
    """
    why = lacks()
    if why:
        raise SpecError("scheme.tagger", why)
    bands = len(port.codes)
    words = [
        *(CLANG, "-O2", "-g", "-target", "bpf", f"-I/usr/include/{platform.machine()}-linux-gnu"),
        *(f"-DBANDS={bands}", f"-DTHRESHOLDS={','.join(map(str, port.thresholds))}"),
        *(f"-DCODES={','.join(map(str, port.codes))}",),
        *(f"-DPRIORITIES={','.join(map(str, range(bands)))}",),
        *("-x", "c", "-", "-c", "-o", str(out)),
    ]
    source = (resources.files("fctlab") / "data" / "tagger.bpf.c").read_bytes()
    done = subprocess.run(words, input=source, capture_output=True)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()[:300]
        raise SpecError("scheme.tagger", f"does not compile ({PACKAGES} are needed): {said}")


def lines(device: str, made: Path) -> list[str]:
    """Lines of ``tc -batch`` that put it at the egress of a device that has ``clsact``."""
    return [f"filter add dev {device} egress prio 1 bpf direct-action obj {made} sec {SECTION}"]
