"""Mushtaq et al.: what is essential in datacenter congestion control, and ADS.

Rate setting {minTCP, TCP, DCTCP} times scheduling {FIFO, FQ, SJF, SRPT} (section 2), and
approximate deployable SRPT on 2, 4 or 8 priority queues whose mapping from remaining size
to queue is static or follows what each port sees (section 3).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fctlab.studies import figures
from fctlab.studies.figures import Bar, Quantity
from fctlab.studies.study import (
    SLOWDOWN,
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


PAPER = Scale()
SMALL = Scale(2, 8, 2, 50, 50, 300)
SCALES: dict[Mode, Scales] = {
    "quick": Scales(
        main=SMALL,
        grid=replace(SMALL, warmup_ms=10, window_ms=20, end_ms=100),
        workloads=replace(SMALL, warmup_ms=10, window_ms=30, end_ms=150),
        converged=replace(SMALL, warmup_ms=110, end_ms=360),
    ),
    "full": Scales(PAPER, PAPER, PAPER, converged=replace(PAPER, warmup_ms=110)),
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
                },
                "tagger": scheme.tagger,
                "port": {"buffer": "500KB", "ecn_threshold": "15pkt", **scheme.port},
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


def ads(
    queues: int, mapping: Mapping[str, Any] | None = None, tag: str = "", **dynamic: Any
) -> Scheme:
    """ADS with so many queues: a static `mapping`, or a dynamic one with changed parameters."""
    kind = "static" if mapping else "dynamic"
    default = {"kind": "dynamic", "interval": "5ms", "window": 10, "policy": "equal-split"}
    port = {"kind": "mapped", "queues": queues, "mapping": mapping or default | dynamic}
    name = "-".join(filter(None, (f"ads{queues}", kind, tag)))
    tagger = {"kind": "outstanding", "cap": f"{CAP}B", "write_buffer": "3MB"}
    return Scheme(name, tagger, {"discipline": port, "drop": "tail"})


class Lab:
    """The cells of the study, each made once."""

    def __init__(self, mode: Mode) -> None:
        self.mode = mode
        self.scales = SCALES[mode]
        self.main = Setting(self.scales.main)
        self._cells: dict[str, Cell] = {}
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
        scheme = SCHEMES[scheme] if isinstance(scheme, str) else scheme
        name = f"{setting.id}/{transport}/{scheme.id}"
        if name not in self._cells:
            scale = setting.scale
            length = scale.leaves * scale.hosts_per_leaf * (scale.warmup_ms + scale.window_ms)
            collapses = transport == "mintcp" and scheme.id in ("fifo", "sjf")
            cost = length * (8 if collapses else 1)
            self._cells[name] = Cell(name, setting.scenario(transport, scheme), cost, keep)
        return self._cells[name]

    def static(self, queues: int, setting: Setting, tag: str = "") -> Scheme:
        """ADS with the mapping of each port from what it saw under SRPT in `setting`."""
        name = f"mapping-{setting.id}-{queues}.json"
        if name not in self._mappings:
            scenario = setting.scenario("tcp", SCHEMES["srpt"]) | {"record": {"priorities": True}}
            self._mappings[name] = Source(name, _mapping(queues), scenario)
        return ads(queues, {"kind": "static", "file": self._mappings[name]}, tag)


def _mapping(queues: int) -> Callable[[Result | None], str]:
    def make(result: Result | None) -> str:
        import json

        import fctlab

        return json.dumps(fctlab.mapping(result, queues))  # type: ignore[attr-defined]

    return make


# Section 2: scheduling and rate setting


def _factor_parts(lab: Lab, of: Callable[[Run], float]) -> dict[str, list[Part]]:
    """The parts of ads-1 to ads-5, of some metric, with the paper's numbers for the slowdown."""

    def over_srpt(
        transport: str, scheme: str, expected: Any, paper: str, percent: bool = False
    ) -> Part:
        name = f"{TRANSPORTS[transport]}, {SCHEDULERS[scheme]} / SRPT"
        cells = lab.cell(transport, scheme), lab.cell(transport, "srpt")
        return ratio(name, *cells, expected, paper, of=of, percent=percent)

    mintcp = tuple(lab.cell("mintcp", scheme) for scheme in SCHEDULERS)
    pairs = itertools.combinations(TRANSPORTS, 2)
    return {
        "ads-1": [
            over_srpt("tcp", "fifo", Number(9.7), "9.7x"),
            over_srpt("tcp", "fq", Number(1.8), "1.8x"),
        ],
        "ads-2": [over_srpt("dctcp", "fifo", Number(2.2), "2.2x")],
        "ads-3": [
            Part(
                "minTCP, worst / best scheduling",
                "70x",
                Number(70),
                mintcp,
                lambda *runs: max(map(of, runs)) / min(map(of, runs)),
            )
        ],
        "ads-4": [
            ratio(
                f"SRPT, {TRANSPORTS[a]} / {TRANSPORTS[b]}",
                lab.cell(a, "srpt"),
                lab.cell(b, "srpt"),
                Band.within(0.10),
                "within 5% (band 10%)",
                of=of,
                percent=True,
            )
            for a, b in pairs
        ],
        "ads-5": [
            over_srpt("tcp", "sjf", Band.within(0.08), "within 5% (band 8%)", percent=True),
            over_srpt("dctcp", "sjf", Band.within(0.08), "within 1.5% (band 8%)", percent=True),
            over_srpt("mintcp", "sjf", Range(1.08), "much worse (above the band)"),
        ],
    }


def _trend(part: Part) -> Part:
    """The same part where the paper says only that the ordering holds."""
    if isinstance(part.expected, Number | Range):
        ratio_or_low = (
            part.expected.ratio if isinstance(part.expected, Number) else part.expected.low
        )
        return replace(part, expected=Sign(1 if ratio_or_low >= 1 else -1), paper="ordering holds")
    return part


def _factor_claims(lab: Lab) -> list[Claim]:
    slowdown = _factor_parts(lab, SLOWDOWN)
    pfabric = _pfabric(lab)
    beside = ratio(
        "minTCP in pFabric's setting, SJF / SRPT",
        pfabric["sjf"],
        pfabric["srpt"],
        Band.within(0.08),
        "no such gap (band 8%)",
        counts=False,
        percent=True,
    )
    tails = []
    for transport in ("dctcp", "mintcp"):
        for scheme, expected in (("fifo", Sign(1)), ("fq", Sign(1)), ("sjf", Band(0.95, math.inf))):
            cells = lab.cell(transport, scheme), lab.cell(transport, "srpt")
            name = f"{TRANSPORTS[transport]}, {SCHEDULERS[scheme]} / SRPT"
            tails.append(ratio(name, *cells, expected, "SRPT best", of=TAIL))
    fifo, srpt = lab.cell("tcp", "fifo"), lab.cell("tcp", "srpt")
    tails += [
        ratio("TCP, FIFO / SRPT", fifo, srpt, Sign(-1), "FIFO best", of=TAIL),
        ratio("TCP, SRPT / FIFO", srpt, fifo, Band(0, 1.08), "within 8%", of=TAIL, percent=True),
    ]
    by_fct = [_trend(part) for parts in _factor_parts(lab, FCT).values() for part in parts]
    claims = [
        (
            "ads-1",
            "TCP: average slowdown of FIFO and of FQ over SRPT's",
            "9.7x; 1.8x",
            slowdown["ads-1"],
        ),
        ("ads-2", "DCTCP: average slowdown of FIFO over SRPT's", "2.2x", slowdown["ads-2"]),
        ("ads-3", "minTCP: worst over best scheduling", "70x", slowdown["ads-3"]),
        ("ads-4", "With SRPT the three rate settings are close", "within 5%", slowdown["ads-4"]),
        (
            "ads-5",
            "SJF is close to SRPT with TCP and DCTCP, much worse with minTCP",
            "within 5%; within 1.5%; much worse",
            [*slowdown["ads-5"], beside],
        ),
        ("ads-6", "The orderings of ads-1 to ads-5 hold for the average FCT", "same", by_fct),
        (
            "ads-7",
            "99th percentile of the FCT: SRPT is best with DCTCP and minTCP; with TCP FIFO is, "
            "and SRPT is near",
            "SRPT best; FIFO best, SRPT within 8%",
            tails,
        ),
    ]
    return [Claim(name, text, paper, tuple(parts)) for name, text, paper, parts in claims]


def _pfabric(lab: Lab) -> dict[str, Cell]:
    """SJF and SRPT with minTCP in pFabric's own setting: spraying, 24-packet ports."""
    cells = {}
    for name in ("sjf", "srpt"):
        scheme = SCHEMES[name]
        scenario = lab.main.scenario("mintcp", scheme) | {
            "scheme": {
                "name": f"pfabric-{name}",
                "preset": "pfabric",
                "tagger": scheme.tagger,
                "port": {"discipline": scheme.port["discipline"]},
            }
        }
        cells[name] = Cell(f"pfabric/{name}", scenario)
    return cells


# Section 2.3.2: robustness


def _variants(lab: Lab) -> dict[str, tuple[str, Setting]]:
    """What is varied: its name in ids and in words, and the setting."""
    scales = lab.scales
    variants = {
        workload: (DESCRIPTIONS[workload], Setting(scales.workloads, workload, "grid"))
        for workload in ("facebook", "websearch", "uniform", "bimodal", "point")
    }
    for load in (0.3, 0.5):
        setting = Setting(scales.grid, tag=f"load-{load}", load=load)
        variants[f"load-{load}"] = (f"load {load}", setting)
    for window in (2, 7, 21):
        setting = Setting(scales.grid, tag=f"window-{window}", window=window)
        variants[f"window-{window}"] = (f"initial window {window}", setting)
    for rto in ("16us", "160us", "1ms"):
        setting = Setting(scales.grid, tag=f"rto-{rto}", min_rto=rto)
        variants[f"rto-{rto}"] = (f"minimum RTO {rto}", setting)
    return variants


UNREASONABLE = "rto-1ms"


def _robustness(lab: Lab) -> tuple[list[Claim], list[Figure]]:
    claims = []
    variants = _variants(lab)
    for name, (words, setting) in variants.items():
        parts = []
        for transport in TRANSPORTS:
            srpt = lab.cell(transport, "srpt", setting)
            for scheme in ("fifo", "fq", "sjf"):
                expected = Band(0.95, math.inf) if scheme == "sjf" else Sign(1)
                label = f"{TRANSPORTS[transport]}, {SCHEDULERS[scheme]} / SRPT"
                paper = "SRPT best" if scheme != "sjf" else "SRPT best or within 5%"
                parts.append(
                    ratio(label, lab.cell(transport, scheme, setting), srpt, expected, paper)
                )
        for a, b in itertools.combinations(TRANSPORTS, 2):
            label = f"SRPT, {TRANSPORTS[a]} / {TRANSPORTS[b]}"
            cells = lab.cell(a, "srpt", setting), lab.cell(b, "srpt", setting)
            band, reasonable = Band.within(0.10), name != UNREASONABLE
            paper = "close (band 10%)" if reasonable else "may be far apart"
            parts.append(ratio(label, *cells, band, paper, percent=True, counts=reasonable))
        text = f"... {words}"
        paper = "same" if name != UNREASONABLE else "rate settings far from optimal"
        claims.append(Claim(f"ads-8.{name}", text, paper, tuple(parts)))
    everything = Claim(
        "ads-8",
        "The orderings hold for other workloads, loads, initial windows and minimum RTOs: SRPT is "
        "best for every rate setting, and reasonable rate settings are close under it",
        "same, except unreasonable RTO",
        tuple(
            replace(part, name=f"{words}: {part.name}")
            for claim, (words, _) in zip(claims, variants.values(), strict=True)
            for part in claim.parts
        ),
        combines=True,
    )

    def draw(results: Results) -> Drawing:
        best: dict[str, dict[str, Bar]] = {}
        alike: dict[str, dict[str, Bar]] = {}
        for words, setting in variants.values():
            label = words.replace("initial ", "").replace("minimum ", "").replace(" ", "\n", 1)
            cells = {t: lab.cell(t, "srpt", setting) for t in TRANSPORTS}
            best[label] = {
                TRANSPORTS[t]: ((lab.cell(t, "fifo", setting), cells[t]), _over(SLOWDOWN))
                for t in TRANSPORTS
            }
            alike[label] = {TRANSPORTS[t]: ((cells[t],), SLOWDOWN) for t in TRANSPORTS}
        return figures.bars(
            results,
            [
                ("FIFO over SRPT", Quantity("average slowdown, FIFO / SRPT"), best),
                ("SRPT itself", Quantity("average slowdown under SRPT"), alike),
            ],
            below=True,
        )

    users = {c: None for claim in claims for part in claim.parts for c in part.cells}
    caption = (
        "Above: how much FIFO costs, by rate setting; above 1, SRPT is better. Below: the average "
        "slowdown under SRPT; bars of equal height mean that the rate setting does not matter. "
        "One parameter differs from the default scenario in each group."
    )
    figure = Figure(
        "robustness", "Section 2.3.2: other settings", caption, tuple(users), draw, ("ads-8",)
    )
    return [everything, *claims], [figure]


def _over(of: Callable[[Run], float]) -> Callable[[Run, Run], float]:
    return lambda a, b: of(a) / of(b)


# Section 3: ADS


def _emulation_parts(lab: Lab, transport: str, setting: Setting) -> dict[str, Part]:
    """Ratios of ads-9 to ads-12 in one setting."""

    def cell(scheme: str | Scheme) -> Cell:
        return lab.cell(transport, scheme, setting)

    srpt, fifo = cell("srpt"), cell("fifo")
    two, four, eight = (cell(ads(n)) for n in (2, 4, 8))
    static2, static8 = (cell(lab.static(n, setting)) for n in (2, 8))
    band = "little difference (band 5%)"
    return {
        "8": ratio("ADS-8 dynamic / SRPT", eight, srpt, Number(1.066), "+6.6%", percent=True),
        "8s": ratio("ADS-8 static / SRPT", static8, srpt, Number(1.066), "+6.6%", percent=True),
        "2/8": ratio("ADS-2 / ADS-8, dynamic", two, eight, Number(3.0), "about 3x"),
        "4/8": ratio("ADS-4 / ADS-8, dynamic", four, eight, Number(1.13), "+13%", percent=True),
        "s/d8": ratio(
            "ADS-8, static / dynamic", static8, eight, Band.within(0.05), band, percent=True
        ),
        "s/d2": ratio("ADS-2, static / dynamic", static2, two, Sign(1), "dynamic better"),
        "fifo/2": ratio("FIFO / ADS-2 dynamic", fifo, two, Range(3.0), "more than 3x"),
    }


def _beside(part: Part, prefix: str) -> Part:
    return replace(part, name=f"{prefix}, {part.name}", counts=False)


def _emulation(lab: Lab) -> tuple[list[Claim], list[Figure]]:
    parts = _emulation_parts(lab, "tcp", lab.main)
    others = {TRANSPORTS[t]: _emulation_parts(lab, t, lab.main) for t in ("dctcp", "mintcp")}

    def with_others(*names: str) -> tuple[Part, ...]:
        beside = [_beside(other[n], words) for words, other in others.items() for n in names]
        return (*(parts[n] for n in names), *beside)

    static = replace(parts["8s"], counts=False)
    claims = [
        Claim(
            "ads-9",
            "ADS with 8 queues is almost as good as true SRPT",
            "+6.6%",
            (*with_others("8"), static),
        ),
        Claim(
            "ads-10",
            "ADS with 2 and with 4 queues against 8",
            "about 3x; +13%",
            with_others("2/8", "4/8"),
        ),
        Claim(
            "ads-11",
            "Static against dynamic: little difference with 8 queues, dynamic better with 2",
            "band 5%; dynamic better",
            with_others("s/d8", "s/d2"),
        ),
        Claim("ads-12", "FIFO against ADS with 2 queues", "more than 3x", with_others("fifo/2")),
    ]
    trends = []
    for workload in ("uniform", "facebook"):
        for part in _emulation_parts(lab, "tcp", Setting(lab.scales.main, workload)).values():
            if part.name == "ADS-8 static / SRPT":
                continue
            trend = _trend(part)
            if part.name == "ADS-8 dynamic / SRPT":
                trend = replace(part, expected=Band(0, 1.10), paper="almost as good (band 10%)")
            trends.append(replace(trend, name=f"{DESCRIPTIONS[workload]}: {part.name}"))
    claims.append(
        Claim(
            "ads-13",
            "ads-9 to ads-12 hold for the uniform and the Facebook workload",
            "same trends",
            tuple(trends),
        )
    )
    drawings = [
        _emulation_figure(lab, number, workload)
        for number, workload in ((2, "imc10"), (3, "uniform"), (4, "facebook"))
    ]
    return claims, drawings


def _emulation_figure(lab: Lab, number: int, workload: str) -> Figure:
    setting = Setting(lab.scales.main, workload)
    schemes: dict[str, str | Scheme] = {
        "FIFO": "fifo",
        "ADS-2\nstatic": lab.static(2, setting),
        "ADS-2\ndynamic": ads(2),
        "ADS-8\nstatic": lab.static(8, setting),
        "ADS-8\ndynamic": ads(8),
        "SRPT": "srpt",
    }
    cells = {name: lab.cell("tcp", scheme, setting) for name, scheme in schemes.items()}

    def draw(results: Results) -> Drawing:
        groups = {name: {"TCP": ((cell,), SLOWDOWN)} for name, cell in cells.items()}
        return figures.bars(results, [("", Quantity("average slowdown"), groups)])

    claims = ("ads-9", "ads-10", "ads-11", "ads-12") if workload == "imc10" else ("ads-13",)
    caption = (
        f"The paper's figure {number}: average slowdown with SRPT emulated on 2 and 8 queues, "
        f"{DESCRIPTIONS[workload]} workload at 70% load, TCP."
    )
    title = f"Figure {number}: ADS, {DESCRIPTIONS[workload]}"
    return Figure(f"figure-{number}", title, caption, tuple(cells.values()), draw, claims)


def _factor_figure(lab: Lab) -> Figure:
    def draw(results: Results) -> Drawing:
        def groups(of: Callable[[Run], float]) -> dict[str, dict[str, Bar]]:
            return {
                words: {SCHEDULERS[s]: ((lab.cell(t, s),), of) for s in SCHEDULERS}
                for t, words in TRANSPORTS.items()
            }

        slowdown = Quantity("slowdown (FCT / ideal)", least=1.0)
        time = Quantity("completion time (ms)", 1e3)
        panels = [
            ("(a) average slowdown", slowdown, groups(SLOWDOWN)),
            ("(b) average FCT", time, groups(FCT)),
            ("(c) 99th percentile of the FCT", time, groups(TAIL)),
        ]
        return figures.bars(results, panels)

    cells = tuple(lab.cell(t, s) for t in TRANSPORTS for s in SCHEDULERS)
    caption = (
        "The paper's figure 1: every scheduling algorithm with every rate setting in the default "
        "scenario (heavy-tailed workload at 70% load). Means over the seeds with 95% intervals."
    )
    claims = tuple(f"ads-{n}" for n in (1, 2, 3, 4, 5, 6, 7, 16))
    return Figure("figure-1", "Figure 1: scheduling and rate setting", caption, cells, draw, claims)


# Section 3.3.2: robustness of ADS


def _borrowed(lab: Lab) -> tuple[Claim, Figure]:
    """A static mapping computed from another workload."""
    parts, groups = [], {}
    imc10 = lab.static(8, lab.main, "imc10")
    for workload in ("facebook", "websearch", "short"):
        setting = Setting(lab.scales.main, workload)
        own, other = (lab.cell("tcp", s, setting) for s in (lab.static(8, setting), imc10))
        fifo, srpt = (lab.cell("tcp", s, setting) for s in ("fifo", "srpt"))
        words = DESCRIPTIONS[workload]
        groups[words] = {"FIFO": fifo, "imc10's mapping": other, "own mapping": own, "SRPT": srpt}
        if workload == "short":
            name = f"{words}: imc10's mapping / FIFO"
            parts.append(
                ratio(
                    name,
                    other,
                    fifo,
                    Band.within(0.05),
                    "collapses into FIFO (band 5%)",
                    percent=True,
                )
            )
            parts.append(ratio(f"{words}: imc10's mapping / own", other, own, Sign(1), "worse"))
        else:
            name = f"{words}: imc10's mapping / own"
            parts.append(
                ratio(name, other, own, Band.within(0.05), "almost as good (band 5%)", percent=True)
            )

    def draw(results: Results) -> Drawing:
        bars = {w: {n: ((c,), SLOWDOWN) for n, c in cells.items()} for w, cells in groups.items()}
        return figures.bars(results, [("", Quantity("average slowdown"), bars)])

    caption = (
        "Static ADS with 8 queues and TCP. The mapping computed from imc10 is used for other "
        "workloads, beside the one computed from each workload itself. All flows of the last "
        "workload are so short that imc10's mapping puts them into one queue."
    )
    cells = tuple(cell for inside in groups.values() for cell in inside.values())
    claim = Claim(
        "ads-14",
        "A static mapping computed from imc10 is almost as good as their own for Facebook and web "
        "search; for some workload it collapses into FIFO",
        "almost as good (band 5%); FIFO",
        tuple(parts),
    )
    return claim, Figure(
        "borrowed-mapping", "A mapping from another workload", caption, cells, draw, ("ads-14",)
    )


BIN_MS = 5.0


def slowdown_by_start(result: Result) -> dict[str, Any]:
    """Average slowdown of the flows that start in each 5 ms before the measured ones end."""
    import polars as pl

    measure = result.extras["measured"]
    flows = result.flows.filter(pl.col("start_s") < measure["until_s"])
    bins = (pl.col("start_s") * 1e3 / BIN_MS).floor().cast(pl.Int64).alias("bin")
    found = flows.group_by(bins).agg(pl.col("slowdown").mean(), pl.len()).sort("bin")
    return {
        "bin": found["bin"].to_list(),
        "slowdown": found["slowdown"].to_list(),
        "flows": found["len"].to_list(),
    }


def _first_100_ms(run: Run) -> float:
    """Average slowdown of the flows that start in the first 100 ms."""
    rows = zip(run.kept["bin"], run.kept["slowdown"], run.kept["flows"], strict=True)
    early = [(slowdown, flows) for number, slowdown, flows in rows if (number + 1) * BIN_MS <= 100]
    total: int = sum(n for _, n in early)
    return math.fsum(s * n for s, n in early) / total


INTERVALS = ("500us", "5ms", "20ms", "100ms")
WINDOWS = (1, 10, 50)


def _parameters(lab: Lab) -> tuple[Claim, Figure]:
    """Update interval and window of the dynamic mapping."""
    setting = Setting(lab.scales.converged, tag="converged")

    def cell(queues: int, interval: str = "5ms", window: int = 10) -> Cell:
        scheme = ads(queues, tag=f"{interval}-{window}", interval=interval, window=window)
        return lab.cell("tcp", scheme, setting, slowdown_by_start)

    band = "negligible (band 5%)"
    parts = []
    for queues in (8, 2):
        base = cell(queues)
        for interval in INTERVALS:
            if interval != "5ms":
                name = f"ADS-{queues}, I = {interval} / 5 ms"
                parts.append(
                    ratio(name, cell(queues, interval), base, Band.within(0.05), band, percent=True)
                )
        for window in WINDOWS:
            if window != 10:
                name = f"ADS-{queues}, W = {window} / 10"
                parts.append(
                    ratio(
                        name,
                        cell(queues, window=window),
                        base,
                        Band.within(0.05),
                        band,
                        percent=True,
                    )
                )
    for slow, fast in (("20ms", "5ms"), ("100ms", "20ms")):
        name = f"ADS-8, flows of the first 100 ms, I = {slow} / {fast}"
        over, under = cell(8, slow), cell(8, fast)
        parts.append(ratio(name, over, under, Sign(1), "converges later", of=_first_100_ms))

    def draw(results: Results) -> Drawing:
        lines = []
        for interval in INTERVALS:
            if results.has(cell(8, interval)):
                runs = results.of(cell(8, interval))
                bins = runs[0].kept["bin"]
                seeds = [[run.kept["slowdown"][i] for run in runs] for i in range(len(bins))]
                lines.append(
                    figures.Line(f"I = {interval}", [(b + 0.5) * BIN_MS for b in bins], seeds)
                )
        return figures.lines([("ADS-8", lines)], "start of the flow (ms)", "average slowdown")

    cells = {c: None for part in parts for c in part.cells}
    caption = (
        "Dynamic ADS with 8 queues and TCP from an empty network on: average slowdown of the flows "
        "that start in each 5 ms, by update interval. All ports start with one queue for "
        "everything and have no mapping before the first update."
    )
    claim = Claim(
        "ads-15",
        "The update interval (0.5 to 100 ms) and the window W (1 to 50) do not matter after "
        "convergence; convergence takes longer with the interval",
        "negligible (band 5%); grows",
        tuple(parts),
    )
    return claim, Figure(
        "convergence", "How fast a mapping converges", caption, tuple(cells), draw, ("ads-15",)
    )


def _rest(lab: Lab) -> list[Claim]:
    entries = math.ceil(CAP / MTU)
    bits = math.ceil(math.log2(entries + 1))
    about = 0.05
    tcp, dctcp = lab.cell("tcp", "srpt"), lab.cell("dctcp", "srpt")
    return [
        Claim(
            "ads-16",
            "The 99th percentile of the FCT depends on the transport even under SRPT",
            "TCP and DCTCP differ clearly",
            (
                ratio(
                    "SRPT, TCP / DCTCP", tcp, dctcp, Apart(0.05), "differ (by 5% at least)", of=TAIL
                ),
            ),
        ),
        Claim(
            "ads-17",
            "Table entries per port and for 48 ports, and the width of the field",
            "about 1,400; 67,200; 12 bits",
            (
                Part("entries per port", "about 1,400", Exact(1400, about), (), lambda: entries),
                Part(
                    "entries for 48 ports", "67,200", Exact(67_200, about), (), lambda: 48 * entries
                ),
                Part(
                    "bits of the VLAN id that hold them", "12", Exact(12), (), lambda: max(12, bits)
                ),
            ),
        ),
    ]


# Section 4: open questions


def _patterns(lab: Lab) -> tuple[list[Claim], Figure]:
    """Load patterns that might break the conclusions."""
    scale = lab.scales.workloads
    incast = {"pattern": {"kind": "incast", "fanin": 12, "query_size": "1MB"}}
    bursts = {"workload": WORKLOADS["imc10"], "arrivals": {"kind": "lognormal", "sigma": 2.0}}
    settings = {
        "load-0.9": ("load 0.9", Setting(scale, tag="load-0.9", load=0.9)),
        "bursts": ("log-normal arrivals", Setting(scale, tag="bursts", traffic=bursts)),
        "incast": ("incast 12 to 1", Setting(scale, "incast", traffic=incast)),
        "huge": (DESCRIPTIONS["huge"], Setting(replace(scale, end_ms=3 * scale.end_ms), "huge")),
        "point": (DESCRIPTIONS["point"], Setting(scale, "point", "grid")),
    }
    claims, groups = [], {}
    for name, (words, setting) in settings.items():
        fifo, srpt, eight = (lab.cell("tcp", s, setting) for s in ("fifo", "srpt", ads(8)))
        dctcp = lab.cell("dctcp", "fifo", setting)
        parts = (
            ratio("TCP, FIFO / SRPT", fifo, srpt, Sign(1), "SRPT better"),
            ratio("DCTCP over FIFO / TCP over ADS-8", dctcp, eight, Sign(1), "ADS better"),
            ratio("ADS-8 / SRPT", eight, srpt, Band(0, 1.10), "close (band 10%)", percent=True),
        )
        claims.append(Claim(f"ads-x1.{name}", f"... {words}", "", parts, beyond=True))
        groups[words] = {
            "TCP over FIFO": fifo,
            "DCTCP over FIFO": dctcp,
            "ADS-8": eight,
            "SRPT": srpt,
        }
    all_parts = tuple(replace(p, name=f"{c.text[4:]}: {p.name}") for c in claims for p in c.parts)
    text = "Are there load patterns where the conclusions do not hold?"
    everything = Claim("ads-x1", text, "open", all_parts, beyond=True, combines=True)

    def draw(results: Results) -> Drawing:
        bars = {w: {n: ((c,), SLOWDOWN) for n, c in cells.items()} for w, cells in groups.items()}
        return figures.bars(results, [("", Quantity("average slowdown"), bars)])

    caption = (
        "Load patterns at the edge of what the paper looked at, TCP unless said otherwise. "
        "Flows larger than the 2 MB cap all look alike to ADS."
    )
    cells = tuple(cell for inside in groups.values() for cell in inside.values())
    return [everything, *claims], Figure(
        "patterns", "Where are the limits?", caption, cells, draw, ("ads-x1",)
    )


def _policies(lab: Lab) -> tuple[list[Claim], Figure]:
    """Thresholds that minimise the predicted slowdown, against equal split."""
    parts: dict[int, list[Part]] = {2: [], 4: [], 8: []}
    groups: dict[str, dict[str, Cell]] = {}
    for workload in ("imc10", "facebook", "uniform"):
        setting = Setting(lab.scales.main, workload)
        srpt = lab.cell("tcp", "srpt", setting)
        for queues, found in parts.items():
            even = lab.cell("tcp", ads(queues), setting)
            least = lab.cell("tcp", ads(queues, tag="least", policy="least-slowdown"), setting)
            name = f"{DESCRIPTIONS[workload]}: least slowdown / equal split, {queues} queues"
            found.append(ratio(name, least, even, Sign(-1), "better", percent=True))
            label = f"{workload}\n{queues} queues"
            groups[label] = {"equal split": even, "least slowdown": least, "SRPT": srpt}

    def draw(results: Results) -> Drawing:
        bars = {w: {n: ((c,), SLOWDOWN) for n, c in cells.items()} for w, cells in groups.items()}
        return figures.bars(results, [("", Quantity("average slowdown"), bars)])

    caption = (
        "Dynamic ADS with the thresholds that minimise the predicted average slowdown of what a "
        "port has seen, against the paper's equal split of packets; TCP."
    )
    cells = {c: None for inside in groups.values() for c in inside.values()}
    claims = [
        Claim(
            "ads-x2",
            "Is there a 2-queue ADS that is clearly better?",
            "open",
            tuple(parts[2]),
            beyond=True,
        ),
        Claim(
            "ads-x3",
            "Is there a better adaptive mapping for 4 and 8 queues?",
            "open",
            (*parts[4], *parts[8]),
            beyond=True,
        ),
    ]
    return claims, Figure(
        "policies", "A better mapping", caption, tuple(cells), draw, ("ads-x2", "ads-x3")
    )


# The study


def _notes(mode: Mode, scales: Scales) -> list[str]:
    notes = [
        "The transport of section 3's figures is not stated; ads-1, 9, 10 and 12 together fit only "
        "TCP SACK, so the verdicts are for TCP, with DCTCP and minTCP beside.",
        "The drop rule is not stated: under SRPT and SJF a full port drops the packet of the "
        "lowest priority (as pFabric does), under FQ one of the longest queue, else the new one.",
        "imc10 is read as a step distribution: it gives the paper's number of measured flows.",
        "Facebook is the Hadoop distribution of Roy et al. (2015) cut at 100 MB; uniform is over "
        "1 KB, 0.5, 1, 1.5, 2, 2.5 and 3 MB: the paper does not list its sizes.",
        "The initial window of 14 packets and the minimum RTO of 48 us (3 x 16 us) hold for every "
        "rate setting; ACKs have the highest priority; ECN marks above 15 packets.",
    ]
    if mode == "quick":
        main = scales.main
        notes.append(
            f"Quick: {main.leaves} x {main.hosts_per_leaf} hosts and {main.spines} spines (full "
            f"bisection as in the paper) instead of 9 x 16 and 4, {main.window_ms:g} ms of "
            f"measured flows instead of 100 ({scales.grid.window_ms:g} and "
            f"{scales.workloads.window_ms:g} ms in ads-8 and ads-x1), the end at "
            f"{main.end_ms:g} ms instead of 1500, 5 seeds instead of 10."
        )
    return notes


def plan(mode: Mode) -> Plan:
    """Claims, figures and checks in a mode."""
    lab = Lab(mode)
    robustness, robustness_figures = _robustness(lab)
    emulation, emulation_figures = _emulation(lab)
    borrowed, borrowed_figure = _borrowed(lab)
    parameters, parameters_figure = _parameters(lab)
    patterns, patterns_figure = _patterns(lab)
    policies, policies_figure = _policies(lab)
    base = lab.cell("tcp", "srpt")

    def flows(results: Results) -> str:
        found = results.mean(base, lambda run: run.of("all")["flows"])
        share = lab.main.scale.share
        scaled = "" if share == 1 else f", which is {found / share:,.0f} at the paper's scale"
        return f"{found:,.0f} per seed{scaled}"

    return Plan(
        claims=[
            *_factor_claims(lab),
            *robustness,
            *emulation,
            borrowed,
            parameters,
            *_rest(lab),
            *patterns,
            *policies,
        ],
        figures=[
            _factor_figure(lab),
            *emulation_figures,
            *robustness_figures,
            borrowed_figure,
            parameters_figure,
            patterns_figure,
            policies_figure,
        ],
        checks=[Check("measured flows, default scenario", "about 44,000", (base,), flows)],
        notes=_notes(mode, lab.scales),
    )


STUDY = Study(
    name="ads",
    title="What is essential in datacenter congestion control, and ADS",
    paper="A. Mushtaq, R. Mittal, J. McCauley, M. Alizadeh, S. Ratnasamy, S. Shenker: Datacenter "
    "Congestion Control: Identifying what is essential and making it practical. ACM SIGCOMM "
    "Computer Communication Review (editorial note).",
    plan=plan,
)
