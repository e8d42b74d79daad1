"""One server: the port to the receiver of a star, and flows that are its jobs.

Senders have links so fast that a flow is at the port at once, and nothing reacts to anything.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from fctlab.studies.framework import lab
from fctlab.studies.framework.cells import Cell, Source
from fctlab.studies.framework.interval import Interval
from fctlab.studies.framework.lab import Settled
from fctlab.studies.framework.study import Mode
from fctlab.studies.queueing import formulas
from fctlab.studies.queueing.formulas import Sizes

if TYPE_CHECKING:
    from fctlab.results.result import Result

GBPS = 4
"""Of the port."""
FASTER = 100
"""How much faster links of senders are, where a flow comes at once."""
PACKET = 1_000
"""Bytes of a packet, without a header, where flows are of many."""
PACKETS = {"payload": f"{PACKET}B", "header": "0B", "ack": "1B"}
SPREAD = Sizes(((10e3, 0.0), (40e3, 0.6), (80e3, 0.9), (250e3, 1.0)))
LARGE = 80e3
"""The largest tenth of flows are at least so large, in bytes."""
WHOLE = Sizes(tuple((size / 5, share) for size, share in SPREAD.points))
"""Sizes of flows that are one packet each."""
ONE = Sizes(((10e3, 1.0),))
FIRST = 0.4
"""Share of flows that the first of two classes has."""
BEHIND = 3
"""Packets of a flow at once where its tag is what remains of it: the port always has one."""

Job: TypeAlias = "Callable[[float, Sizes, float], float]"


@dataclass(frozen=True)
class Server:
    """A discipline of the port, and how flows come to it.

    Attributes:
        sizes: of flows.
        scheme: of the packet engine.
        formula: the mean time in system of a flow of a size.
        whole: a flow is one packet.
        window: packets of a flow at once; all without one.
    """

    sizes: Sizes
    scheme: Mapping[str, Any]
    formula: Job
    whole: bool = False
    window: int | None = None


def _by_tag(tagger: str) -> dict[str, Any]:
    discipline = {"kind": "srpt", "starvation_prevention": tagger == "remaining"}
    return {"tagger": tagger, "port": {"discipline": discipline}}


SERVERS: dict[str, Server] = {
    "M/D/1": Server(ONE, {}, formulas.fifo, whole=True),
    "M/G/1 FIFO": Server(WHOLE, {}, formulas.fifo, whole=True),
    "PS": Server(SPREAD, {"port": {"discipline": "fq"}}, formulas.sharing),
    "SRPT": Server(SPREAD, _by_tag("remaining"), formulas.srpt, window=BEHIND),
    "SJF": Server(SPREAD, _by_tag("size"), formulas.shortest_first),
    "FB": Server(SPREAD, _by_tag("sent"), formulas.least_attained),
}
FAR = "5ms"
"""Of links, where flows come at the port's rate: every flow is sent within a round trip, as long as
which no sender reacts to anything."""
POLICIES = {"none": "brr", "remaining": "srpt", "size": "sjf", "sent": "las"}
"""Of the big switch, which are what ports do with packets whose tagger is this."""
LINE: dict[str, tuple[str, Job]] = {
    "FIFO": ("fifo", formulas.line_rate),
    "PS": ("fq", formulas.sharing),
}
"""Disciplines of flows that come at the port's rate, as both engines have them."""
DELAY_US = 10
"""Of each link, where windows bound flows."""
ROUND_TRIP = 4 * DELAY_US * 1e-6 * GBPS * 1e9 / 8 / PACKET + 1 + 1 / FASTER
"""Packets that the port sends in a round trip of one that does not wait there."""
ENDLESS = 10_000
"""Packets of a flow that is so long that its mean rate is its rate."""
CHAINS = ((1, 5), (1, 20), (1, 40), (4, 2), (4, 5), (4, 20))
"""Flows at once, and packets of each flow's window: some leave the port idle, some fill it."""


@dataclass(frozen=True)
class Scale:
    """How much is run: loads, and flows that are measured per run, of one packet and of many."""

    loads: tuple[float, ...]
    whole: int
    spread: int


SCALES: dict[Mode, Scale] = {
    "quick": Scale((0.5, 0.7), 200_000, 24_000),
    "full": Scale((0.3, 0.5, 0.7, 0.8, 0.9), 1_000_000, 100_000),
}


def times(result: Result) -> dict[str, Any]:
    """Mean times in system in bytes: of all flows, of the largest tenth, and by class."""
    import polars as pl

    flows = _measured(result)
    large = flows.filter(pl.col("size_bytes") >= LARGE)["time"].mean()
    classes = flows.group_by("traffic_class").agg(pl.col("time").mean()).iter_rows()
    return {"all": flows["time"].mean(), "large": large, **dict(classes)}


def beside_switch(result: Result) -> dict[str, Any]:
    """The same, and the big switch's mean time on the same flows, a packet a slot."""
    import numpy as np

    from fctlab.theory import bigswitch

    flows = result.flows
    starts = _bytes(result, flows["start_s"].to_numpy())
    slots = np.ceil(starts / PACKET).astype(int) + 1
    sizes = np.maximum(1, np.rint(flows["size_bytes"].to_numpy() / PACKET).astype(int))
    pairs = zip(slots.tolist(), sizes.tolist(), strict=True)
    instance = {"flows": [{"packets": [list(pair)]} for pair in pairs]}
    policy = POLICIES[result.scenario["scheme"]["tagger"]["kind"]]
    ends = np.array(bigswitch.run(instance, policy).ends)
    chosen = flows["measured"].to_numpy()
    mean = float((ends - slots + 1)[chosen].mean() * PACKET)
    return {**times(result), "switch": mean}


def _measured(result: Result) -> Any:
    """Measured flows with `time`, in bytes: less what a flow alone spends beside its own bytes."""
    import polars as pl

    flows = result.flows.filter("measured")
    beside = _bytes(result, (flows["fct_s"] - flows["ideal_fct_s"]).to_numpy())
    return flows.with_columns(time=pl.Series(beside) + flows["size_bytes"])


def _bytes(result: Result, seconds: Any) -> Any:
    """Times as bytes that the port sends in them."""
    return seconds * (GBPS * 1e9 / 8)


class Lab(lab.Lab[Settled]):
    """The cells of the study."""

    @property
    def scale(self) -> Scale:
        """How much is run."""
        return SCALES[self.mode]

    def server(self, name: str, load: float) -> Cell:
        """A discipline at a load."""
        server = SERVERS[name]
        scheme: dict[str, Any] = _at_once(server.window)
        for key, value in server.scheme.items():
            scheme[key] = {**scheme[key], **value} if isinstance(value, dict) else value
        scenario = self._scenario(server.sizes, load, scheme, server.whole)
        return self.cells.cell(
            f"{name} {load:g}", scenario, 1.0, times if server.whole else beside_switch
        )

    def classes(self, load: float) -> Cell:
        """Two classes at a load, whose flows are of one size."""
        scheme = _at_once(None)
        scheme["port"]["discipline"] = {"kind": "strict", "classes": 2}
        scenario = self._scenario(WHOLE, load, scheme, True)
        shares = {"first": FIRST, "second": 1 - FIRST}
        scenario["traffic"]["classes"] = [
            {"class": name, "share": share} for name, share in shares.items()
        ]
        return self.cells.cell(f"two classes {load:g}", scenario, 1.0, times)

    def line_rate(self, name: str, load: float, engine: str) -> Cell:
        """Flows that come at the port's rate, in an engine."""
        scheme = {
            "preset": "dctcp-rate",
            "port": {"discipline": LINE[name][0], "buffer": "1GB", "ecn_threshold": "1GB"},
        }
        scenario = self._scenario(SPREAD, load, scheme, False, faster=1)
        scenario["engine"] = engine
        scenario["topology"]["link_delay"] = FAR
        return self.cells.cell(f"line rate, {name} {load:g}, {engine}", scenario, 1.0, times)

    def closed(self, flows: int, window: int) -> Cell:
        """So many long flows at once, each with a fixed window."""
        trace = Source(f"closed-{flows}.csv", _together, (flows,))
        scenario = {
            "packet": PACKETS,
            "topology": _star(flows, FASTER, f"{DELAY_US}us"),
            "traffic": {"trace": trace},
            "scheme": _at_once(window),
        }
        return self.cells.cell(f"closed, {flows} x {window}", scenario, 1.0, times)

    def _scenario(
        self, sizes: Sizes, load: float, scheme: Any, whole: bool, faster: int = FASTER
    ) -> dict[str, Any]:
        senders = 100 if faster > 1 else 1_000
        flows = self.scale.whole if whole else self.scale.spread
        window = Interval(flows / senders).tables(sizes.mean, load, GBPS / senders)
        payload = int(sizes.points[-1][0]) if whole else PACKET
        workload: dict[str, Any] = {"kind": "fixed", "size": f"{int(sizes.mean)}B"}
        if len(sizes.points) > 1:
            workload = {"kind": "cdf", "file": _file(sizes)}
        return {
            "packet": {**PACKETS, "payload": f"{payload}B"},
            "topology": _star(senders, faster, "0us"),
            "traffic": {"workload": workload, "load": load, **window["traffic"]},
            "scheme": scheme,
            "measure": window["measure"],
        }


def _star(senders: int, faster: int, delay: str) -> dict[str, Any]:
    return {
        "kind": "star",
        "senders": senders,
        "host_rate": f"{GBPS * faster}Gbps",
        "bottleneck_rate": f"{GBPS}Gbps",
        "link_delay": delay,
    }


def _together(flows: int) -> str:
    """Flows of a sender each as a trace."""
    rows = (f"0,{sender},{flows},{ENDLESS * PACKET}" for sender in range(flows))
    return "\n".join(["start_s,src,dst,size_bytes", *rows]) + "\n"


def _at_once(window: int | None) -> dict[str, Any]:
    return {
        "transport": {"kind": "fixed-window", "initial_window": f"{window or 1_000_000}pkt"},
        "port": {"discipline": "fifo", "buffer": "1GB"},
        "nic": {"discipline": "fifo", "per_flow_limit": "none"},
    }


@functools.cache
def _file(sizes: Sizes) -> Source:
    return Source(f"sizes-{sizes.points[-1][0]:.0f}.csv", _table, (sizes.points,))


def _table(points: tuple[tuple[float, float], ...]) -> str:
    """The sizes as a file of a scenario."""
    rows = [f"{size:.0f},{share:g}" for size, share in points]
    return "\n".join(["size_bytes,cumulative_probability", *rows]) + "\n"
