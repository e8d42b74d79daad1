"""Memory that something will take, found out before it starts, as room on disk is."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from fctlab.errors import SpecError
from fctlab.scenario import Prepared

BYTES_PER_FLOW = 200
"""Of a flow that is held until the end of a run, a generous estimate."""
RESERVE = 150_000_000
"""For what is no flow: modules that are loaded later, threads."""
SHARE = 0.8
"""Of what is free beyond that, for the flows of a question: estimates are rough."""


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


def limit(most_flows: int | None) -> dict[str, int | None]:
    """How many flows a question to the planner may simulate: see `planning.predict`.

    Args:
        most_flows: for one verdict, if somebody said how many.
    """
    available = available_bytes()
    free = None if available is None else int(SHARE * max(available - RESERVE, 0))
    return {"most_flows": most_flows, "free_bytes": free}


Held: TypeAlias = tuple[str, int]
"""Flows of a run that are in memory until it ends: the key that says how many, and how many."""


def held(scenario: Prepared, streamed: bool) -> Held | None:
    """The flows that a run holds; ``None`` where packets' are `streamed` to disk."""
    if streamed and scenario["engine"]["kind"] == "packet":
        return None
    traffic = scenario["traffic"]
    keys = (f"traffic.{key}" for key in ("flows", "trace", "duration") if traffic.get(key))
    # One that replays rows in memory has no traffic that is written.
    return next(keys, "traffic"), scenario.expected_flows


def check_runs(runs: Iterable[Held | None], at_once: int | None = None) -> None:
    """Check that the flows of runs that are held in memory fit.

    Args:
        runs: what each holds (`held`).
        at_once: so many of them run at the same time; all are held if not given.

    Raises:
        SpecError: they do not fit; its message says how many flows would.
    """
    each = sorted((run for run in runs if run), key=lambda run: run[1])
    largest = each if at_once is None else each[-at_once:]
    if not largest:
        return
    path, flows = largest[-1][0], sum(flows for _, flows in largest)
    words = f" of {len(largest)} runs at once" if len(largest) > 1 else ""
    check(path, flows, f"flows{words}", BYTES_PER_FLOW)
