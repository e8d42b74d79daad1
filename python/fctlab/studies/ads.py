"""Mushtaq et al.: what is essential in datacenter congestion control, and ADS.

Rate setting {minTCP, TCP, DCTCP} times scheduling {FIFO, FQ, SJF, SRPT} (section 2), and
approximate deployable SRPT on 2, 4 or 8 priority queues whose mapping from remaining size
to queue is static or follows what each port sees (section 3).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fctlab.studies import figures
from fctlab.studies.figures import Bar, Quantity
from fctlab.studies.study import (
    Cell,
    Check,
    Claim,
    Figure,
    Mode,
    Part,
    Plan,
    Results,
    Run,
    Source,
    Study,
    metric,
    ratio,
)
from fctlab.studies.verdict import Apart, Band, Exact, Number, Range, Sign

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from fctlab.result import Result

TRANSPORTS = {"mintcp": "minTCP", "tcp": "TCP", "dctcp": "DCTCP"}
SCHEDULERS = {"fifo": "FIFO", "fq": "FQ", "sjf": "SJF", "srpt": "SRPT"}
SLOWDOWN = metric("avg_slowdown")
FCT = metric("avg_fct_s")
TAIL = metric("p99_fct_s")
CAP = 2_000_000
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


def _packets(count: int) -> str:
    return f"{count}pkt"


SHORT = ["1KB", *(f"{kb}KB" for kb in range(10, 70, 10))]
HUGE = ["4MB", "8MB", "16MB", "32MB"]
WORKLOADS: dict[str, Any] = {
    "imc10": {"kind": "imc10", "interpolation": "step"},
    "facebook": {"kind": "cdf", "file": Source("facebook.csv", lambda _: _cut(FACEBOOK))},
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
    """How large a fabric, and which flows are measured."""

    leaves: int
    hosts_per_leaf: int
    spines: int
    warmup_ms: float
    window_ms: float
    end_ms: float
    """Arrivals go on until the measured flows are done, but no longer than this."""

    @property
    def share(self) -> float:
        """Of the measured flows that there are at the paper's scale."""
        return self.leaves * self.hosts_per_leaf * self.window_ms / (144 * 100)


PAPER = Scale(9, 16, 4, 50, 100, 1500)


@dataclass(frozen=True)
class Setting:
    """Everything but the scheme; the defaults are the paper's."""

    scale: Scale
    workload: str = "imc10"
    load: float = 0.7
    window: int = 14
    min_rto: str = "48us"
    arrivals: Any = "poisson"
    pattern: Any = "all-to-all"
    tag: str = ""
    """What tells it from others in the id of a cell."""

    @property
    def id(self) -> str:
        """For ids of cells."""
        return "-".join(filter(None, (self.workload, self.tag)))


@dataclass(frozen=True)
class Mapping_:
    """How an ADS port maps remaining size to queues."""


def _port(discipline: Any, drop: str) -> dict[str, Any]:
    return {
        "discipline": discipline,
        "drop": drop,
        "buffer": "500KB",
        "ecn_threshold": _packets(15),
    }


PORTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "fifo": ("none", _port("fifo", "tail")),
    "fq": ("none", _port("fq", "longest-queue")),
    "sjf": ("size", _port({"kind": "srpt", "starvation_prevention": False}, "lowest-priority")),
    "srpt": ("remaining", _port("srpt", "lowest-priority")),
}
OUTSTANDING = {"kind": "outstanding", "cap": "2MB", "write_buffer": "3MB"}


@dataclass(frozen=True)
class Scheme:
    """Tagger and port."""

    id: str
    tagger: Any
    port: Mapping[str, Any]


def scheduler(name: str) -> Scheme:
    """FIFO, FQ, SJF or SRPT."""
    return Scheme(name, *PORTS[name])
