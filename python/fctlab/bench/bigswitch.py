"""The theory bench: scheduled packets per second on one port."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from fctlab.theory import bigswitch

SWITCH_POLICIES = ("fifo", "brr", "las", "srpt", "asrpt")
SWITCH_PACKETS = 5_000_000


def measure(runs: int, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Scheduled packets per second on one port, on one core."""
    found = []
    for policy in SWITCH_POLICIES:
        for spread, suffix in ((False, ""), (True, "_arriving_one_by_one")):
            speeds, flows = [], 0
            for i in range(runs):
                say(f"{policy}{suffix}: run {i + 1} of {runs}")
                done = bigswitch.ask(
                    "speed",
                    policy={"kind": policy},
                    packets=SWITCH_PACKETS,
                    spread=spread,
                    seed=i + 1,
                )
                speeds.append(done["packets"] / done["wall_s"])
                flows = done["flows"]
            what = (
                "each packet of a flow arrives in a slot of its own"
                if spread
                else "flows arrive whole"
            )
            found.append(
                {
                    "name": f"bigswitch.{policy}.packets{suffix}_per_s",
                    "value": statistics.median(speeds),
                    "unit": "packets/s",
                    "note": f"one core; {what}; {SWITCH_PACKETS:,} packets of {flows:,} flows, "
                    f"heavy tail, load 0.95; {min(speeds) / 1e6:.1f} to {max(speeds) / 1e6:.1f} "
                    "million",
                }
            )
    return found
