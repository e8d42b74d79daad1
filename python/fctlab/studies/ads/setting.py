"""What the cells of the ADS study are made of: workloads, scales, settings, schemes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import fctlab
from fctlab.studies.framework import lab
from fctlab.studies.framework.cells import Cell, Source
from fctlab.studies.framework.lab import Reading
from fctlab.studies.framework.likeness import RECOVERY, SCHEDULES, Intended
from fctlab.studies.framework.runs import metric
from fctlab.studies.framework.study import Mode

if TYPE_CHECKING:
    from fctlab.results.result import Result

TRANSPORTS = {"mintcp": "minTCP", "tcp": "TCP", "dctcp": "DCTCP"}
SCHEDULERS = {"fifo": "FIFO", "fq": "FQ", "sjf": "SJF", "srpt": "SRPT"}
FCT = metric("avg_fct_s")
TAIL = metric("p99_fct_s")
CAP = 2 << 20
"""Of ADS's estimate of the remaining size; 2 MiB, since the paper counts about 1400 values."""
MTU = 1500

# Roy et al., SIGCOMM 2015, Facebook Hadoop as used by MQ-ECN, D-SRTF and AWAFS, in 1460-byte
# packets, cut at 100 MB: the paper's Facebook workload has flows of 1 KB to 100 MB.
FACEBOOK = """size_bytes,cumulative_probability
1460,0
35040,0.1
43800,0.2
48180,0.3
48180,0.4
73000,0.5
77380,0.6
97820,0.7
175200,0.8
233600,0.9
292000,0.95
973820,0.96
9733820,0.97
97333820,0.99
"""


def _cut(table: str) -> str:
    """The table with its last point made the largest size."""
    header, *rows = table.split()
    points = [row.split(",") for row in rows]
    last = float(points[-1][1])
    return "\n".join([header, *(f"{size},{float(p) / last:.9g}" for size, p in points)]) + "\n"


SHORT = ["1KB", *(f"{kb}KB" for kb in range(10, 70, 10))]
HUGE = ["4MB", "8MB", "16MB", "32MB"]
WORKLOADS: dict[str, Any] = {
    "imc10": {"kind": "imc10", "interpolation": "step"},
    "facebook": {"kind": "cdf", "file": Source("facebook.csv", _cut, (FACEBOOK,))},
    "websearch": "websearch",
    "uniform": {"kind": "uniform", "sizes": ["1KB", *(f"{kb}KB" for kb in range(500, 3500, 500))]},
    "bimodal": {"kind": "bimodal", "small": "2KB", "large": "2MB"},
    "point": {"kind": "fixed", "size": "2MB"},
    "short": {"kind": "uniform", "sizes": SHORT},
    "huge": {"kind": "uniform", "sizes": HUGE},
}
DESCRIPTIONS = {
    "imc10": "heavy-tailed (imc10)",
    "facebook": "Facebook",
    "websearch": "web search",
    "uniform": "uniform 1 KB to 3 MB",
    "bimodal": "bimodal 2 KB / 2 MB",
    "point": "all 2 MB",
    "short": "uniform 1 to 60 KB",
    "huge": "uniform 4 to 32 MB",
}


@dataclass(frozen=True)
class Scale:
    """How large a fabric, and which flows are measured. The paper's unless said otherwise."""

    leaves: int = 9
    hosts_per_leaf: int = 16
    spines: int = 4
    warmup_ms: float = 50
    window_ms: float = 100
    end_ms: float = 1500
    """Arrivals go on until the measured flows are done, but no longer than this."""

    @property
    def share(self) -> float:
        """Of the measured flows that there are at the paper's scale."""
        return self.leaves * self.hosts_per_leaf * self.window_ms / (144 * 100)


@dataclass(frozen=True)
class Scales:
    """The scales of a mode."""

    main: Scale
    grid: Scale
    """Variations of one parameter."""
    workloads: Scale
    """Variations of the workload: larger flows, so a longer window."""
    converged: Scale
    """After the slowest mapping has settled."""


HOSTS: dict[str, Any] = {"per_flow_limit": "none"}
"""As in ns-2, a flow puts its whole window into the port of its host."""
PAPER = Scale()
SMALL = Scale(2, 8, 2, 20, 35, 140)
SCALES: dict[Mode, Scales] = {
    "quick": Scales(
        main=SMALL,
        grid=replace(SMALL, warmup_ms=5, window_ms=12, end_ms=55),
        workloads=replace(SMALL, warmup_ms=5, window_ms=20, end_ms=85),
        converged=replace(SMALL, warmup_ms=110, window_ms=25, end_ms=200),
    ),
    "full": Scales(
        main=PAPER,
        grid=replace(PAPER, end_ms=300),
        workloads=replace(PAPER, end_ms=500),
        converged=replace(PAPER, warmup_ms=110, end_ms=500),
    ),
}


@dataclass(frozen=True)
class Setting:
    """Everything but the scheme and the transport's kind; the paper's unless said otherwise."""

    scale: Scale
    workload: str = "imc10"
    tag: str = ""
    """What tells it from others of the same workload, in the ids of cells."""
    load: float = 0.7
    window: int = 14
    min_rto: str = "48us"
    traffic: Mapping[str, Any] | None = None
    """Keys of ``[traffic]`` instead of the workload's."""
    nic: Mapping[str, Any] | None = None
    """Of the hosts' ports; as in ns-2 (see `HOSTS`) unless said otherwise."""

    @property
    def id(self) -> str:
        """For the ids of cells."""
        return "-".join(filter(None, (self.workload, self.tag)))

    def scenario(self, transport: str, scheme: Scheme) -> dict[str, Any]:
        """As people write it."""
        scale = self.scale
        traffic = self.traffic or {"workload": WORKLOADS[self.workload]}
        return {
            "name": f"{self.id}, {TRANSPORTS[transport]}, {scheme.id}",
            "topology": {
                "kind": "leaf-spine",
                "leaves": scale.leaves,
                "spines": scale.spines,
                "hosts_per_leaf": scale.hosts_per_leaf,
                "host_rate": "10Gbps",
                "fabric_rate": "40Gbps",
                "base_rtt": {"value": "16us", "includes": "propagation"},
            },
            "traffic": {"load": self.load, "duration": f"{scale.end_ms:g}ms", **traffic},
            "measure": {
                "fct_ends": "ack",
                "warmup": f"{scale.warmup_ms:g}ms",
                "window": f"{scale.window_ms:g}ms",
                "max_time": f"{scale.end_ms:g}ms",
                "stop": "measured",
            },
            "scheme": {
                "name": f"{transport}-{scheme.id}",
                "transport": {
                    "kind": transport,
                    "initial_window": f"{self.window}pkt",
                    "min_rto": self.min_rto,
                    **({"initial_alpha": 0.0} if transport == "dctcp" else {}),
                },
                "tagger": scheme.tagger,
                "port": {"buffer": "500KB", "ecn_threshold": "15pkt", **scheme.port},
                "nic": {**HOSTS, **(self.nic or {})},
                "routing": "ecmp",
            },
        }


@dataclass(frozen=True)
class Scheme:
    """What the header says and what a port does."""

    id: str
    tagger: Any
    port: Mapping[str, Any]


SJF_PORT = {"kind": "srpt", "starvation_prevention": False}
SCHEMES = {
    "fifo": Scheme("fifo", "none", {"discipline": "fifo", "drop": "tail"}),
    "fq": Scheme("fq", "none", {"discipline": "fq", "drop": "longest-queue"}),
    "sjf": Scheme("sjf", "size", {"discipline": SJF_PORT, "drop": "lowest-priority"}),
    "srpt": Scheme("srpt", "remaining", {"discipline": "srpt", "drop": "lowest-priority"}),
}

# Footnote 3, "ACKs are assigned the highest priority", hangs on SJF and SRPT, which have
# priorities; a FIFO has none. Were it meant for FIFO too, its ports would be these.
ACKS_FIRST = Scheme(
    "fifo-acks-first",
    "size",
    {"discipline": {"kind": "priority", "thresholds": [0]}, "drop": "tail"},
)

COLLAPSES = {"fq": 6, "fifo": 4, "sjf": 2}
"""What a millisecond of these costs with minTCP, which fills every port, beside other cells."""


def ads(
    queues: int, mapping: Mapping[str, Any] | None = None, tag: str = "", **dynamic: Any
) -> Scheme:
    """ADS with so many queues: a static `mapping`, or a dynamic one with changed parameters."""
    kind = "static" if mapping else "dynamic"
    default = {"kind": "dynamic", "interval": "5ms", "window": 10, "policy": "equal-split"}
    port = {"kind": "mapped", "queues": queues, "mapping": mapping or default | dynamic}
    name = "-".join(filter(None, (f"ads{queues}", kind, tag)))
    tagger = {"kind": "outstanding", "cap": f"{CAP}B", "mtu": f"{MTU}B"}
    return Scheme(name, tagger, {"discipline": port, "drop": "tail"})


def evicting(queues: int) -> Scheme:
    """ADS whose full ports drop the lowest priority."""
    even = ads(queues)
    return replace(even, id=f"{even.id}-evicting", port={**even.port, "drop": "lowest-priority"})


INTENDED = (
    Intended(
        RECOVERY,
        "minTCP recovers by its own rules: a fixed timer that does not back off, probes, no fast "
        "retransmit",
        (
            "*/mintcp/*",
            "pfabric/*",
        ),
    ),
    *SCHEDULES,
    Intended(("scheme.transport.kind",), "three rate settings are compared"),
    Intended(
        ("scheme.port.drop", "scheme.nic.drop"),
        "the drop rule belongs to the scheduling, see above",
    ),
    Intended(
        ("scheme.nic.per_flow_limit",),
        "shown beside: flows take turns in their hosts",
        ("*-turns/*",),
    ),
    Intended(
        ("scheme.nic.ecn_threshold",),
        "shown beside: hosts' own ports do not mark",
        ("*-no-marks-in-hosts/*", "pfabric/*"),
    ),
    Intended(("scheme.transport.initial_window",), "varied by ads-8", ("*-window-*", "pfabric/*")),
    Intended(("scheme.transport.min_rto",), "varied by ads-8", ("*-rto-*", "pfabric/*")),
    Intended(
        (
            "scheme.transport.max_window",
            "scheme.routing",
            "scheme.port.buffer",
            "scheme.nic.buffer",
            "scheme.port.ecn_threshold",
        ),
        "shown beside: SJF and SRPT in pFabric's own setting",
        ("pfabric/*",),
    ),
)


@dataclass(frozen=True)
class Settings:
    """What the paper leaves open."""

    nic: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the hosts' ports that are not as in ns-2."""
    instead: Mapping[str, Scheme] = field(default_factory=dict)
    """Schemes in the place of others, by these others' ids."""


TURNS = Reading("turns", "flows take turns in the host", {"nic": {"per_flow_limit": 1}})
NO_MARKS = Reading(
    "no-marks-in-hosts", "hosts' own ports do not mark", {"nic": {"ecn_threshold": "none"}}
)
FIRST = Reading("acks-first", "FIFO with ACKs first", {"instead": {"fifo": ACKS_FIRST}})
EVICTING = Reading(
    "evicting", "dropping the lowest priority", {"instead": {ads(8).id: evicting(8)}}
)


class Lab(lab.Lab[Settings]):
    """The cells of the study, each made once."""

    def __init__(self, mode: Mode) -> None:
        super().__init__(mode, Settings())
        self.scales = SCALES[mode]
        self.main = Setting(self.scales.main)
        self._mappings: dict[str, Source] = {}

    def cell(
        self,
        transport: str,
        scheme: str | Scheme,
        setting: Setting | None = None,
        keep: Callable[[Result], dict[str, Any]] | None = None,
    ) -> Cell:
        """The cell of a transport and a scheme, in the main setting unless given."""
        setting = setting or self.main
        if self.settings.nic:
            tag = "-".join(filter(None, (setting.tag, self.reading.name)))
            setting = replace(setting, tag=tag, nic=self.settings.nic)
        scheme = SCHEMES[scheme] if isinstance(scheme, str) else scheme
        scheme = self.settings.instead.get(scheme.id, scheme)
        name = f"{setting.id}/{transport}/{scheme.id}"
        scale = setting.scale
        length = scale.warmup_ms + 2 * scale.window_ms
        if transport == "mintcp" and scheme.id in COLLAPSES:
            length = COLLAPSES[scheme.id] * scale.end_ms
        cost = scale.leaves * scale.hosts_per_leaf * length
        return self.cells.cell(name, setting.scenario(transport, scheme), cost, keep)

    def static(
        self, queues: int, setting: Setting, tag: str = "", policy: str = "equal-split"
    ) -> Scheme:
        """ADS with the mapping of each switch from what it saw under SRPT in `setting`."""
        own = "" if policy == "equal-split" else f"-{policy}"
        name = f"mapping-{setting.id}{own}-{queues}.json"
        if name not in self._mappings:
            scenario = setting.scenario("tcp", SCHEMES["srpt"]) | {"record": {"values": {}}}
            self._mappings[name] = Source(name, _mapping, (queues, policy), scenario)
        return ads(queues, {"kind": "static", "file": self._mappings[name]}, tag)


def _mapping(result: Result, queues: int, policy: str) -> str:
    assert result.directory is not None
    result.write_tables(result.directory)
    found = fctlab.compute_mapping(result.directory, queues, policy=policy)
    return json.dumps(found.to_dict())
