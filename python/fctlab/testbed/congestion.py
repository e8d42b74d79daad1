"""DCTCP for kernels that are built without it: ``fctlab-host dctcp``, in BPF (struct_ops)."""

from __future__ import annotations

import os
from pathlib import Path

from fctlab.errors import SpecError
from fctlab.testbed import host

TYPES = Path("/sys/kernel/btf/vmlinux")
OLDEST = (6, 10)
"""Its `cong_control` tells a congestion control all that it needs."""


def lacks() -> str | None:
    """Why a kernel cannot be given one here; ``None`` if it can."""
    if os.geteuid() != 0:
        return "a congestion control in BPF needs root"
    if not TYPES.exists():
        return f"a congestion control in BPF needs {TYPES} (CONFIG_DEBUG_INFO_BTF)"
    if tuple(map(int, os.uname().release.split(".")[:2])) < OLDEST:
        return f"a congestion control in BPF needs Linux {'.'.join(map(str, OLDEST))}"
    try:
        host.program()
    except SpecError as error:
        return str(error)
    return None


def command() -> tuple[str, ...]:
    """The program that gives the kernel one, prints its name, and takes it away when it ends."""
    return (str(Path(host.program()).resolve()), "dctcp")
