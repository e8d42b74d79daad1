"""Programs of ``data``, compiled for BPF by clang with what a plan defines."""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from fctlab.errors import SpecError

CLANG = "clang"
PACKAGES = "clang, libbpf-dev and linux-libc-dev"


def lacks() -> str | None:
    """Why none can be compiled here; ``None`` if they can."""
    if shutil.which(CLANG) is None:
        return f"{CLANG} cannot be found (Debian packages {PACKAGES})"
    return None


def build(name: str, defined: Mapping[str, object], out: Path, where: str) -> None:
    """Compile ``NAME.bpf.c``.

    Args:
        name: of the program.
        defined: its macros; of lists all values, and nothing of ``None``.
        out: the object.
        where: the key of a scenario that wants it.

    Raises:
        SpecError: it cannot be compiled, and why.
    """
    why = lacks()
    if why:
        raise SpecError(where, f"needs a program in BPF: {why}")
    words = [
        *(CLANG, "-O2", "-g", "-target", "bpf", f"-I/usr/include/{platform.machine()}-linux-gnu"),
        *(f"-D{key}={_text(value)}" for key, value in defined.items()),
        *("-x", "c", "-", "-c", "-o", str(out)),
    ]
    source = (resources.files("fctlab") / "data" / f"{name}.bpf.c").read_bytes()
    done = subprocess.run(words, input=source, capture_output=True)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()[:300]
        raise SpecError(where, f"{name} does not compile ({PACKAGES} are needed): {said}")


def _text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple | range) else str(value)
