"""What the cells of the advice are made of: settings that fill a space, schemes, scales.

A setting is a workload, a load, a rate, a base RTT and a size of buffers. Schemes are presets,
whose windows and thresholds follow these (``docs/explanation/presets.md``).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scipy.stats import qmc

from fctlab.studies.framework import lab
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.interval import WARMUP, Interval, mean_bytes
from fctlab.studies.framework.lab import Settled
from fctlab.studies.framework.likeness import ACROSS_PAPERS, Intended
from fctlab.studies.framework.study import Mode

WORKLOADS: Mapping[str, tuple[str, ...]] = {
    "web search": ("websearch",),
    "data mining": ("datamining",),
    "cache": ("cache",),
    "Hadoop": ("hadoop",),
    "mixed": ("websearch", "datamining", "cache", "hadoop"),
}
"""By what people call them; the mix has as many bytes of each."""
LOADS = (0.3, 0.9)
GBPS = (10, 25, 100, 400)
RTTS_US = (10.0, 200.0)
PACKET_BYTES = 1500
USUAL_PACKETS, USUAL_RTTS = 240, 2
BUFFERS = (0.5, 2.0)
"""Of the usual 240 packets and two RTTs; below a half a port would drop before it marks."""


@dataclass(frozen=True)
class Setting:
    """Where schemes are compared.

    Attributes:
        name: different for every one.
        buffer: as a share of the usual.
    """

    name: str
    workload: str
    load: float
    gbps: int
    rtt_us: float
    buffer: float

    @property
    def bdp_packets(self) -> float:
        """A host's rate times the base RTT, in full packets."""
        return self.gbps * 1e9 * self.rtt_us * 1e-6 / 8 / PACKET_BYTES

    @property
    def buffer_packets(self) -> float:
        """What a port holds, in full packets."""
        return self.buffer * (USUAL_PACKETS + USUAL_RTTS * self.bdp_packets)

    @property
    def factors(self) -> dict[str, float | str]:
        """What advice may depend on, by what people call it."""
        return {
            "workload": self.workload,
            "load": self.load,
            "rate (Gbps)": float(self.gbps),
            "base RTT (us)": self.rtt_us,
            "BDP (packets)": self.bdp_packets,
            "buffer (BDP)": self.buffer_packets / self.bdp_packets,
            "mean flow (BDP)": self.mean_flow_packets / self.bdp_packets,
        }

    @property
    def mean_flow_packets(self) -> float:
        """The mean size of flows, in full packets."""
        return mean_bytes(*WORKLOADS[self.workload]) / PACKET_BYTES


def sample(number: int, name: str, seed: int, first: int = 1) -> list[Setting]:
    """Settings that fill the space: a Latin hypercube of all five.

    Args:
        number: of settings.
        name: of all, each with a number, counted up from `first`.
        seed: of the hypercube.
        first: the number of the first.
    """
    points = qmc.LatinHypercube(5, optimization="random-cd", rng=seed).random(number)
    return [_setting(f"{name} {i}", list(map(float, p))) for i, p in enumerate(points, first)]


@functools.cache
def everywhere() -> list[Setting]:
    """Many settings that fill the space, none of which is run: advice is to hold there."""
    points = qmc.LatinHypercube(5, rng=EVERYWHERE_SEED).random(EVERYWHERE)
    return [_setting("", list(map(float, point))) for point in points]


EVERYWHERE, EVERYWHERE_SEED = 1500, 4


def _setting(name: str, at: Sequence[float]) -> Setting:
    workload, load, rate, rtt, buffer = at
    return Setting(
        name,
        _one_of(tuple(WORKLOADS), workload),
        round(LOADS[0] + load * (LOADS[1] - LOADS[0]), 4),
        _one_of(GBPS, rate),
        round(_between(RTTS_US, rtt), 1),
        round(_between(BUFFERS, buffer), 2),
    )


def _one_of(values: Sequence[Any], at: float) -> Any:
    return values[int(at * len(values))]


def _between(ends: tuple[float, float], at: float) -> float:
    """By ratios."""
    low, high = map(math.log, ends)
    return math.exp(low + at * (high - low))


@dataclass(frozen=True)
class Scale:
    """How many settings, and how large each is."""

    settings: tuple[int, ...]
    """Of each hypercube of those that make the advice."""
    held_back: int
    leaves: int
    hosts_per_leaf: int
    spines: int
    host_mb: float
    """That a host sends in the measured interval, on average."""
    held_back_mb: float
    """The same in settings that are held back: which scheme is best in a single one hangs on
    chance, which many settings even out."""


SCALES: dict[Mode, Scale] = {
    "quick": Scale((128, 64), 64, 2, 4, 2, 100, 400),
    "full": Scale((128, 64), 64, 4, 8, 4, 400, 1600),
}

# As in study crosscut: windows from a BDP on, so that schemes that ask for it have no start over
# others, alpha from 0, and a flow puts its window into its host's port, which schedules as
# switches do.
TRANSPORT: dict[str, Any] = {"initial_window": "1bdp", "initial_alpha": 0.0}
MARKS = "10pkt + 0.8rtt"
"""The rule of the presets of schemes with priorities over DCTCP."""


@dataclass(frozen=True)
class Scheme:
    """What advice may name.

    Attributes:
        sizes: whether hosts have to know how large a flow is when it starts.
        sold: whether switches that are sold today can do it.
        needs: what it asks of them, and of who sets it up.
        at: the scheme as scenarios write it; a function of the time that there is
            to learn from traffic, in ms.
    """

    name: str
    sizes: bool
    sold: bool
    needs: str
    at: Callable[[float], dict[str, Any]]


def _preset(preset: str, **discipline: Any) -> Callable[[float], dict[str, Any]]:
    """Over DCTCP, but for what has a transport of its own."""
    own = preset in ("l2dct", "ascc")
    fair = preset in ("dctcp", "l2dct")
    transport = TRANSPORT | ({} if own else {"kind": "dctcp"})
    port = {} if fair else {"ecn_threshold": MARKS}
    return lambda _: {"preset": preset, "transport": transport, "port": port}


def _awafs(learn_ms: float) -> dict[str, Any]:
    discipline = {
        "kind": "awafs",
        "percentiles": [i / 10 for i in range(1, 8)],
        "thresholds": [f"{7 * i}KB" for i in range(1, 8)],
        "window": f"{learn_ms:.6f}ms",
        "interval": f"{learn_ms / 4:.6f}ms",
    }
    return {
        "preset": "awafs",
        "transport": TRANSPORT,
        "port": {"discipline": discipline, "ecn_threshold": MARKS},
    }


def _ads(learn_ms: float) -> dict[str, Any]:
    mapping = {"kind": "dynamic", "interval": f"{learn_ms / 10:.6f}ms", "window": 10}
    discipline = {"kind": "mapped", "queues": 8, "mapping": mapping | {"policy": "equal-split"}}
    return {
        "preset": "ads",
        "transport": TRANSPORT | {"kind": "dctcp"},
        "port": {"discipline": discipline, "ecn_threshold": MARKS},
    }


FIFO, QUEUES = "one FIFO queue with ECN", "strict-priority queues with ECN"
LEARNING, EXACT = "programmable thresholds", "exact priorities"
SCHEMES = (
    Scheme("DCTCP", False, True, FIFO, _preset("dctcp")),
    Scheme("L2DCT", False, True, FIFO, _preset("l2dct")),
    Scheme("PIAS", False, True, f"{QUEUES}, thresholds for the traffic", _preset("pias")),
    Scheme("D-SRTF", False, True, QUEUES, _preset("d-srtf")),
    Scheme("D-SRTF-IA", True, True, QUEUES, _preset("d-srtf-ia")),
    Scheme("AWAFS", False, False, LEARNING, _awafs),
    Scheme("ADS", False, False, LEARNING, _ads),
    Scheme("LAS", False, False, EXACT, _preset("las")),
    Scheme("ASCC", False, False, f"{EXACT}, all data of a flow at its start", _preset("ascc")),
    Scheme("SJF", True, False, EXACT, _preset("sjf")),
    Scheme("pFabric", True, False, EXACT, lambda _: {"preset": "pfabric", "routing": "ecmp"}),
)
BASE = SCHEMES[0]
GROUPS: Mapping[str, tuple[Scheme, ...]] = {
    "sizes unknown, switches as sold": tuple(s for s in SCHEMES if s.sold and not s.sizes),
    "sizes unknown, any switch": tuple(s for s in SCHEMES if not s.sizes),
    "sizes known, switches as sold": tuple(s for s in SCHEMES if s.sold),
    "sizes known, any switch": SCHEMES,
}
"""Whom the advice is for, and what they can have."""

INTENDED = (
    *ACROSS_PAPERS,
    Intended(
        ("scheme.port.ecn_threshold", "scheme.nic.ecn_threshold"),
        "one queue for all marks early, and pFabric does not mark",
        ("*, DCTCP", "*, L2DCT", "*, pFabric"),
    ),
    Intended(
        (
            "scheme.transport.max_window",
            "scheme.transport.min_rto",
            "scheme.port.buffer",
            "scheme.nic.buffer",
        ),
        "pFabric's windows, RTO and tiny buffers are its own",
        ("*, pFabric",),
    ),
)


HELD_BACK_SEED = 3


class Lab(lab.Lab[Settled]):
    """The cells of the study."""

    def __init__(self, mode: Mode) -> None:
        super().__init__(mode, Settled())
        self.scale = SCALES[mode]

    @functools.cached_property
    def sampled(self) -> list[Setting]:
        """From which the advice is made."""
        found: list[Setting] = []
        for seed, number in enumerate(self.scale.settings):
            found += sample(number, "setting", seed, len(found) + 1)
        return found

    @functools.cached_property
    def held_back(self) -> list[Setting]:
        """On which it is tried."""
        return sample(self.scale.held_back, "held back", HELD_BACK_SEED)

    def cells_of(self, setting: Setting, host_mb: float) -> list[Cell]:
        """A cell for each scheme in a setting."""
        return [self._cell(setting, scheme, host_mb) for scheme in SCHEMES]

    def _cell(self, setting: Setting, scheme: Scheme, host_mb: float) -> Cell:
        inside = WORKLOADS[setting.workload]
        mean = mean_bytes(*inside)
        interval = Interval(host_mb * 1e6 / mean)
        keys = interval.tables(mean, setting.load, setting.gbps)
        learn_ms = WARMUP * interval.length_ms(mean, setting.load, setting.gbps)
        name = f"{setting.name}, {scheme.name}"
        own = scheme.at(learn_ms)
        packets, rtts = USUAL_PACKETS * setting.buffer, USUAL_RTTS * setting.buffer
        usual = f"{packets:.0f}pkt + {rtts:g}rtt"
        buffer = {} if scheme.name == "pFabric" else {"buffer": usual}
        scenario = {
            "name": name,
            "topology": self._topology(setting),
            "traffic": {
                "load": setting.load,
                "share_of": "bytes",
                "classes": [{"class": each, "workload": each} for each in inside],
                **keys["traffic"],
            },
            "measure": keys["measure"],
            "scheme": {
                "name": scheme.name,
                "routing": "ecmp",
                "nic": {"per_flow_limit": "none"},
                **own,
                "port": {**own.get("port", {}), **buffer},
            },
        }
        return self.cells.cell(name, scenario, 1.0)

    def _topology(self, setting: Setting) -> dict[str, Any]:
        return {
            "kind": "leaf-spine",
            "leaves": self.scale.leaves,
            "spines": self.scale.spines,
            "hosts_per_leaf": self.scale.hosts_per_leaf,
            "host_rate": f"{setting.gbps}Gbps",
            "fabric_rate": f"{4 * setting.gbps}Gbps",
            "base_rtt": {"value": f"{setting.rtt_us:g}us", "includes": "propagation"},
        }
