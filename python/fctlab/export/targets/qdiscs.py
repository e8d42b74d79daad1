"""Words of tc(8) for the disciplines that a port is made of, here and in the testbed."""

from __future__ import annotations

import math

TINY = "8kbit"
"""Rate of an htb leaf: as good as all that it sends is lent."""
AVERAGE_PACKET = 1000
"""``avpkt`` of red, in bytes."""
MOST_RED_BPS = 34e9
"""``bandwidth`` of red has 32 bits for bytes per second; it is about queues that were empty."""
ROOM = 4
"""Length at which red drops all, in thresholds."""


def mbit(rate_bps: float) -> str:
    """A rate in whole Mbit/s."""
    return f"{rate_bps / 1e6:.0f}mbit"


def red(least: int, rate_bps: float, nodrop: bool) -> str:
    """Marks everything beyond `least` bytes, a length that is averaged as little as tc allows."""
    lengths = f"limit {ROOM * least} min {least} max {least + 1}"
    burst = math.ceil(least / AVERAGE_PACKET)
    idle = f"bandwidth {mbit(min(rate_bps, MOST_RED_BPS))}"
    average = f"avpkt {AVERAGE_PACKET} burst {burst} probability 1 {idle}"
    return f"red {lengths} {average} ecn{' nodrop' if nodrop else ''}"


def code_point(head: str, dscp: int, to: str) -> list[str]:
    """Filters by the code point of a packet, of IPv4 and IPv6.

    Args:
        head: up to ``protocol``.
        dscp: the code point.
        to: such as ``flowid 1:1``.
    """
    tos = f"0x{dscp << 2:02x} 0xfc"
    return [
        f"{head} ip prio 10 u32 match ip dsfield {tos} {to}",
        f"{head} ipv6 prio 11 u32 match ip6 priority {tos} {to}",
    ]
