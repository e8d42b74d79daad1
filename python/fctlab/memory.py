"""Memory that something will take, found out before it starts, as room on disk is."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from fctlab.errors import SpecError

BYTES_PER_FLOW = 200
"""Of a flow that is held until the end of a run, a generous estimate."""


def available_bytes() -> int | None:
    """What this process may still take: the least of the system's, its group's and its own limit.

    ``None`` where the system does not say.
    """
    found = []
    with suppress(OSError, ValueError):
        meminfo = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        found += [
            int(line.split()[1]) * 1024 for line in meminfo if line.startswith("MemAvailable")
        ]
    with suppress(OSError, ValueError):
        group = Path("/sys/fs/cgroup")
        limit = int((group / "memory.max").read_text(encoding="ascii"))
        found.append(limit - int((group / "memory.current").read_text(encoding="ascii")))
    with suppress(ImportError, OSError, ValueError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        if soft != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            found.append(soft - pages * resource.getpagesize())
    return max(min(found), 0) if found else None


def check(path: str, count: int, what: str, bytes_each: int) -> None:
    """Check that `count` things of `bytes_each` fit.

    Args:
        path: the key or argument that asks for them.
        count: how many.
        what: what they are, such as ``flows``.
        bytes_each: the memory that each takes.

    Raises:
        SpecError: they do not fit; its message says how many would.
    """
    available = available_bytes()
    if available is None or count * bytes_each <= available:
        return
    raise SpecError(
        path,
        f"{count:,} {what} take some {count * bytes_each / 1e9:.1f} GB of memory; "
        f"{available / 1e9:.1f} GB are free, which is enough for {available // bytes_each:,}",
    )
