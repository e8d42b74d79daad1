"""Section 4: what the paper leaves open. Entries ads-x1 to ads-x3."""

from __future__ import annotations

from dataclasses import replace

from fctlab.studies.ads.setting import DESCRIPTIONS, WORKLOADS, Lab, Setting, ads
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.figures import Quantity, bar_figure, slowdowns
from fctlab.studies.framework.study import Claim, Figure, Part, ratio
from fctlab.studies.framework.verdict import Band, Sign

SLOWDOWN_AXIS = Quantity("average slowdown")


def patterns(lab: Lab) -> tuple[list[Claim], Figure]:
    """Entry ads-x1: load patterns that might break the conclusions."""
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

    drawn = bar_figure(
        "patterns",
        "Where are the limits?",
        "Load patterns at the edge of what the paper looked at, TCP unless said otherwise. Flows "
        "larger than the 2 MB cap all look alike to ADS.",
        ("ads-x1",),
        [("", SLOWDOWN_AXIS, slowdowns(groups))],
    )
    return [everything, *claims], drawn


def policies(lab: Lab) -> tuple[list[Claim], Figure]:
    """Entries ads-x2 and ads-x3: thresholds for the least slowdown, against equal split."""
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
            if queues == 2:
                kept = lab.cell("tcp", lab.static(2, setting, "least", "least-slowdown"), setting)
                simple = lab.cell("tcp", lab.static(2, setting), setting)
                found.append(
                    ratio(f"{name}, static", kept, simple, Sign(-1), "better", percent=True)
                )

    drawn = bar_figure(
        "policies",
        "A better mapping",
        "Dynamic ADS with the thresholds that minimise the predicted average slowdown of what a "
        "port has seen, against the paper's equal split of packets; TCP.",
        ("ads-x2", "ads-x3"),
        [("", SLOWDOWN_AXIS, slowdowns(groups))],
    )
    two, more = parts[2], (*parts[4], *parts[8])
    text = "Is there a 2-queue ADS that is clearly better?"
    better = Claim("ads-x2", text, "open", tuple(two), beyond=True)
    text = "Is there a better adaptive mapping for 4 and 8 queues?"
    return [better, Claim("ads-x3", text, "open", more, beyond=True)], drawn
