"""What papers leave open that refer to PIAS's ns-2 experiment, and what that code does.

The code is the one that PIAS published. What it does and the studies do not is told in
``docs/explanation/limitations.md``, under `pias-ns2`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fctlab.studies.framework.left_open import Choice, NotTried, OpenSetting, Tables, got
from fctlab.studies.pias import published

THRESHOLDS = "scheme.port.discipline.thresholds"


def _solved(scenario: Tables) -> None:
    """Published thresholds become those that the solver gives for the same workload and load."""
    name = got(scenario, THRESHOLDS)
    if isinstance(name, str):
        found = published.pias_solved(name.partition("@")[0], got(scenario, "traffic.load"))
        scenario["scheme"]["port"] = _with_thresholds(scenario["scheme"]["port"], list(found))


def _with_thresholds(port: Mapping[str, Any], thresholds: list[int]) -> dict[str, Any]:
    return {**port, "discipline": {**port["discipline"], "thresholds": thresholds}}


def thresholds(*cells: str) -> OpenSetting:
    """Of PIAS, which these cells run."""
    return OpenSetting(
        "PIAS's thresholds",
        "as published, for workload and load",
        "PIAS's code has them for two workloads; its paper gives the problem that they solve.",
        (Choice("solved", "PIAS's thresholds are solved", change=_solved, cells=cells),),
    )


def marking(*but: str) -> OpenSetting:
    """What marks."""
    keys = {"scheme.port.ecn_scope": "queue"}
    return OpenSetting(
        "marking",
        "a port marks by all that waits in it",
        "PIAS discusses both; its code has a switch for each.",
        (Choice("marks-per-queue", "each queue marks by itself", keys, but=but),),
    )


def host_marks(*but: str) -> OpenSetting:
    """Whether hosts mark."""
    keys = {"scheme.nic.ecn_threshold": "none"}
    return OpenSetting(
        "marks of hosts' own ports",
        "they mark as switches do",
        "In ns-2 hosts have the queues of switches; real hosts do not mark.",
        (Choice("no-marks-in-hosts", "hosts' own ports do not mark", keys, but=but),),
    )


def turns(*but: str) -> OpenSetting:
    """How flows share their host."""
    keys = {"scheme.nic.per_flow_limit": 1}
    return OpenSetting(
        "flows of a host",
        "each puts its whole window into the host's port",
        "So does ns-2; in real hosts flows take turns.",
        (Choice("turns", "flows of a host take turns", keys, but=but),),
    )


def ends(*but: str) -> OpenSetting:
    """Where an FCT ends."""
    keys = {"measure.fct_ends": "delivery"}
    return OpenSetting(
        "end of an FCT",
        "the last ACK is back",
        "So do PIAS's scripts; an application waits for the last byte.",
        (Choice("ends-at-delivery", "an FCT ends with the last byte's arrival", keys, but=but),),
    )


def connections(*but: str) -> OpenSetting:
    """Whether flows share connections."""
    keys = {"scheme.transport.connections": "persistent"}
    return OpenSetting(
        "connections",
        "one for each flow",
        "PIAS's scripts keep connections between the same hosts, and their windows' state.",
        (Choice("persistent", "connections are persistent", keys, but=but),),
    )


def windows(*but: str) -> OpenSetting:
    """What a window limits."""
    keys = {"scheme.transport.window_limits": "sequence"}
    return OpenSetting(
        "what a window limits",
        "what is in flight",
        "In ns-2 it limits sequence numbers beyond the last ACK.",
        (Choice("sequence-windows", "windows limit sequence numbers", keys, but=but),),
    )


def echoes(*but: str) -> OpenSetting:
    """What an echo does to a window."""
    keys = {"scheme.transport.echoes": "grow"}
    return OpenSetting(
        "ACKs with an echo",
        "grow no window",
        "In PIAS's code they do; RFC 8257 leaves it to the implementation.",
        (Choice("echoes-grow", "ACKs with an echo grow the window", keys, but=but),),
    )


def acks(*but: str) -> OpenSetting:
    """For how many packets a receiver sends an ACK."""
    keys = {"scheme.transport.ack_every": 2}
    return OpenSetting(
        "ACKs",
        "one for each packet",
        "So in PIAS's scripts (`segsperack_`); hosts delay them.",
        (Choice("delayed-acks", "an ACK for every second packet", keys, but=but),),
    )


def holes(*but: str) -> OpenSetting:
    """What repairs losses without fast retransmit."""
    keys = {"scheme.transport.holes": "after-cut"}
    return OpenSetting(
        "holes below selective ACKs",
        "wait for a timeout",
        "PIAS's code sends them again after the window was cut.",
        (Choice("holes-after-cut", "holes are sent again after a cut", keys, but=but),),
    )


def alpha(*but: str) -> OpenSetting:
    """DCTCP's first alpha."""
    keys = {"scheme.transport.initial_alpha": 1.0}
    return OpenSetting(
        "first alpha",
        "0",
        "0 in DCTCP's ns-2 code; 1 in RFC 8257.",
        (Choice("alpha-from-1", "alpha starts at 1", keys, but=but),),
    )


def delay(*but: str) -> OpenSetting:
    """Where the base RTT's delay sits."""
    keys = {"topology.host_delay": "0s"}
    return OpenSetting(
        "where the base RTT's delay sits",
        "nearly all of it in hosts",
        "PIAS's scripts put it there; a base RTT alone says nothing about paths inside a rack.",
        (Choice("delay-in-links", "all delay is in the links", keys, but=but),),
    )


def spraying(default: str = "round robin") -> OpenSetting:
    """How packets are sprayed."""
    keys = {"scheme.routing": "spray-random"}
    return OpenSetting(
        "spraying",
        default,
        "PIAS's scripts take ns-2's multipath, which goes round; pFabric draws paths.",
        (Choice("random-spraying", "packets take random paths", keys),),
    )


def load(default: str = "counts headers") -> OpenSetting:
    """Which bytes a load counts."""
    keys = {"traffic.load_counts": "payload"}
    return OpenSetting(
        "bytes that load counts",
        default,
        "PIAS's scripts divide by the sizes of flows, which have no headers.",
        (Choice("load-of-payload", "load counts payload only", keys),),
    )


NOT_TRIED = (
    NotTried(
        "SACK blocks",
        "an ACK has one; the engine has no key for the two or three of RFC 2018",
    ),
)
