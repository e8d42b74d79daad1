"""PIAS's published ns-2 experiment, on which AWAFS and ASCC build.

Bai et al., NSDI 2015, section 5.2, and ToN 25(4), 2017: 9 leaves x 16 hosts and 4 spines, 10
and 40 Gbps, 20 us of delay in a host and 0.2 us on a link, which is a base RTT of 85.2 us; an
initial window of 70 packets; 240-packet ports shared by all queues, marking above 65 packets in
the whole port; a fixed RTO of 2 ms without backoff; duplicate ACKs ignored; probes after five
timeouts in a row; packets sprayed; completion times end with the last ACK. What the preset
`pias-ns2` is, for any scheme, but for its connections, its windows of sequence numbers, its
echoes and its holes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

TRANSPORT: dict[str, Any] = {
    "initial_window": "70pkt",
    "max_window": "239pkt",
    "initial_alpha": 0.0,
    "rto": "fixed",
    "min_rto": "2ms",
    "rto_backoff": False,
    "fast_retransmit": False,
    "probe_after": 5,
}
PORT: dict[str, Any] = {"buffer": "240pkt", "ecn_threshold": "65pkt"}
NIC: dict[str, Any] = {"per_flow_limit": "none"}
"""A flow puts its whole window into the port of its host."""
ROUTING = "spray-round-robin"


@dataclass(frozen=True)
class Fabric:
    """A leaf-spine fabric; the paper's unless said otherwise."""

    leaves: int = 9
    hosts_per_leaf: int = 16
    spines: int = 4

    @property
    def hosts(self) -> int:
        """How many there are."""
        return self.leaves * self.hosts_per_leaf

    @property
    def topology(self) -> dict[str, Any]:
        """As scenarios write it."""
        return {
            "kind": "leaf-spine",
            "leaves": self.leaves,
            "spines": self.spines,
            "hosts_per_leaf": self.hosts_per_leaf,
            "host_rate": "10Gbps",
            "fabric_rate": "40Gbps",
            "base_rtt": {"value": "85.2us", "includes": "transmission"},
            "host_delay": "20us",
        }

    def __str__(self) -> str:
        return f"{self.leaves} x {self.hosts_per_leaf} hosts and {self.spines} spines"


def scheme(name: str, preset: str, discipline: dict[str, Any] | None = None) -> dict[str, Any]:
    """The `preset` in this setting, with another discipline if one is given."""
    port = PORT | ({"discipline": discipline} if discipline else {})
    return {
        "name": name,
        "preset": preset,
        "transport": TRANSPORT,
        "port": port,
        "nic": NIC,
        "routing": ROUTING,
    }
