"""A port of the testbed as lines of ``tc -batch``: a rate, a marker, bands.

``htb`` gives the rate, without a burst. In it ``red`` marks by the bytes that wait in the whole
port, and in that ``prio`` has the bands (tc-htb(8), tc-red(8), tc-prio(8)). A kernel without
``prio`` gets leaves of htb with tiny rates, which are lent what the parent has, the first one
first.
"""

from __future__ import annotations

from dataclasses import dataclass

from fctlab.export.targets import qdiscs
from fctlab.testbed.plan import Plan, Port


@dataclass(frozen=True)
class Kernel:
    """Where ports are to be.

    Attributes:
        lacks: of ``htb``, ``prio``, ``red``, ``netem`` and ``dctcp``.
        burst_bytes: what a port sends at once when its timer was late; none is in virtual time.
    """

    lacks: frozenset[str] = frozenset()
    burst_bytes: int = 1


def lines(device: str, port: Port, plan: Plan, kernel: Kernel) -> list[str]:
    """The disciplines of a device.

    Args:
        device: its name.
        port: what it is to be.
        plan: how long packets are.
        kernel: what it has.
    """
    size = f"stab overhead {plan.overhead_bytes} linklayer ethernet"
    found = [f"qdisc add dev {device} root handle 1: {size} htb default 1"]
    if port.thresholds and "prio" in kernel.lacks:
        return found + _leaves(device, port, kernel)
    found.append(f"class add dev {device} parent 1: classid 1:1 {_rate(port, kernel)}")
    parent = "1:1"
    if port.mark_bytes is not None and "red" not in kernel.lacks:
        marker = qdiscs.red(port.mark_bytes, port.rate_bps, nodrop=True)
        found.append(f"qdisc add dev {device} parent {parent} handle 2: {marker}")
        parent = "2:1"
    if not port.thresholds:
        return [*found, _fifo(device, parent, 3, port)]
    return found + _bands(device, parent, port)


def _rate(port: Port, kernel: Kernel, least: str | None = None) -> str:
    """A class that sends at the port's rate, of which `least` is its own."""
    ceil, burst = f"{port.rate_bps:.0f}bit", kernel.burst_bytes
    return f"htb rate {least or ceil} ceil {ceil} burst {burst} cburst {burst} quantum 1514"


def _fifo(device: str, parent: str, handle: int, port: Port) -> str:
    head = f"qdisc add dev {device} parent {parent} handle {handle:x}:"
    return f"{head} bfifo limit {port.buffer_bytes}"


def _bands(device: str, parent: str, port: Port) -> list[str]:
    last = len(port.codes) - 1
    priomap = " ".join([str(last)] * 16)
    prio = f"prio bands {last + 1} priomap {priomap}"
    found = [f"qdisc add dev {device} parent {parent} handle 3: {prio}"]
    for band, code in enumerate(port.codes):
        found.append(_fifo(device, f"3:{band + 1:x}", 0x10 + band, port))
        head = f"filter add dev {device} parent 3: protocol"
        found += qdiscs.code_point(head, code, f"flowid 3:{band + 1:x}")[:1]
    return found


def _leaves(device: str, port: Port, kernel: Kernel) -> list[str]:
    tiny = _rate(port, kernel, qdiscs.TINY)
    found = [f"class add dev {device} parent 1: classid 1:a0 {_rate(port, kernel)}"]
    for band, code in enumerate(port.codes):
        leaf = f"1:{len(port.codes) - band:x}"
        head = f"class add dev {device} parent 1:a0 classid {leaf}"
        found.append(f"{head} {tiny} prio {min(band, 7)}")
        found.append(_fifo(device, leaf, 0x10 + band, port))
        head = f"filter add dev {device} parent 1: protocol"
        found += qdiscs.code_point(head, code, f"flowid {leaf}")[:1]
    return found
