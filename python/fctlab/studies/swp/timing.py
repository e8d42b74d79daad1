"""Table 3: what 50,000 flows cost in the model, in our packet engine and in ns-3.

The same flows through all three, in CPU time of one core: making the flows and running them
(model), running them (the others).
"""

from __future__ import annotations

import functools
import math
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fctlab.peers import ns3
from fctlab.slo import planning
from fctlab.studies.framework.lab import claim
from fctlab.studies.framework.runs import Results
from fctlab.studies.framework.study import Check, Mode, Part, Table
from fctlab.studies.framework.verdict import Number, Sign
from fctlab.studies.swp.accuracy import ALONE, LOADS, Mix, specification
from fctlab.studies.swp.compared import Compared, compare
from fctlab.studies.swp.readings import Lab

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

TABLE_3 = {
    ("WebSearch", 0.3): 67.39,
    ("WebSearch", 0.6): 53.06,
    ("Google", 0.3): 81.75,
    ("Google", 0.6): 69.94,
}
"""CPU time of ns-3 over that of swp's simulator."""
FLOWS: dict[Mode, dict[str, int]] = {
    "quick": {"WebSearch": 10_000, "Google": 50_000},
    "full": {"WebSearch": 50_000, "Google": 50_000},
}
SEEDS: dict[Mode, int] = {"quick": 2, "full": 3}
NS3_PACKETS: dict[Mode, int] = {"quick": 200_000, "full": 5_000_000}
"""ns-3 runs the first flows that take so many packets."""
PER_CONNECTION = 7
"""Packets that open and close one in ns-3."""
SCHEME = "dctcp-rate"
CONTROLS = {"swp-d": "table 2", SCHEME: "windows"}
PAYLOAD_BYTES, HEADER_BYTES = 1000, 48
NS3 = {
    "leaves": 1,
    "spines": 1,
    "host_rate": "100Gbps",
    "fabric_rate": "100Gbps",
    "link_delay": "2500ns",
    "buffer": "1000000000B",
    "payload": PAYLOAD_BYTES,
    "mark_packets": 300_000 // (PAYLOAD_BYTES + HEADER_BYTES),
    "initial_window": math.ceil(125_000 / (PAYLOAD_BYTES + HEADER_BYTES)),
    "min_rto": "100ms",
    "lead": "100us",
    "msl": "50us",
}
"""The star of `planning.replay`: a propagation RTT of 10 us over four links, DCTCP's K of 300 KB, a
BDP at once, buffers that lose nothing. ns-3 looks for a packet's connection in a list, so
connections open late and are forgotten soon: with 1 ms and 10 ms Google's many take 3 times as
long."""


@dataclass(frozen=True)
class Timed:
    """CPU seconds of one flow list."""

    flows: int
    model_s: float
    packet_s: float
    ns3_s: float
    """NaN without ns-3."""
    ns3_share: float
    """Of the packets: how much ns-3 was given; `ns3_s` is divided by it."""
    tails: Compared | None
    """p99 slowdowns of what ns-3 was given, ``"packet"`` being ns-3."""


@functools.cache
def timed(mix: Mix, load: float, seed: int, mode: Mode) -> Timed:
    """A flow list of table 3 through all three."""
    spec = specification(mix, load, seed, "swp-d")
    count = FLOWS[mode][mix.name]
    begin = time.process_time()
    planning.ask("speed", spec=spec, flows=count)
    model_s = time.process_time() - begin
    drawn = planning.flows(spec, count)
    _, result = planning.replay(spec, drawn, scheme=SCHEME)
    ours = (len(drawn), model_s, result.perf["cpu_s"])
    if ns3.missing():
        return Timed(*ours, math.nan, 0.0, None)
    sizes = drawn["size_bytes"].to_numpy().astype(float)
    # Data and ACKs.
    packets = np.cumsum(2 * np.ceil(sizes / PAYLOAD_BYTES) + PER_CONNECTION)
    first = max(1, int((packets <= NS3_PACKETS[mode]).sum()))
    share = float(packets[first - 1] / packets[-1])
    done, fcts = _through_ns3(result.flows.head(first))
    slowdowns = {"packet": fcts / (drawn["fct_s"] / drawn["slowdown"]).head(first).to_numpy()}
    for control, name in CONTROLS.items():
        found = planning.flows(specification(mix, load, seed, control), count)
        slowdowns[name] = found["slowdown"].head(first).to_numpy()
    return Timed(*ours, done.cpu_s / share, share, compare(sizes[:first], slowdowns))


def _through_ns3(flows: pl.DataFrame) -> tuple[ns3.Replay, NDArray[np.float64]]:
    """Counters, and FCTs to the ACK: ns-3's end with the last byte at the receiver."""
    import polars as pl

    rows = flows.select("start_s", "size_bytes", "src", "dst")
    hosts = rows["dst"][0] + 1
    with tempfile.TemporaryDirectory(prefix="fctlab-") as folder:
        trace, out = Path(folder) / "flows.csv", Path(folder) / "fcts.csv"
        rows.write_csv(trace)
        done = ns3.replay(trace, out, {**NS3, "hosts_per_leaf": hosts})
        fcts = pl.read_csv(out, schema_overrides={"fct_s": pl.Float64})["fct_s"]
    return done, fcts.to_numpy() + 5e-6


def _runs(mode: Mode, name: str, load: float) -> list[Timed]:
    (mix,) = (mix for mix in ALONE if mix.name == name)
    return [timed(mix, load, seed, mode) for seed in range(1, SEEDS[mode] + 1)]


def _why(lab: Lab, _: Results) -> str:
    reason = ns3.missing()
    if reason:
        return f"skipped: {reason}."
    return (
        "swp's simulator takes fixed steps, 40 to 141 s for 50,000 flows; this model's steps "
        "end at events, and a flow beyond its transient costs next to nothing."
    )


@claim(
    "swp-8",
    "Table 3: for 50,000 flows the model takes less CPU time than ns-3, by",
    "53x to 82x",
    why=_why,
)
def cpu_time(lab: Lab) -> Iterator[Part]:
    """ns-3's and our packet engine's CPU time over the model's."""

    def over(name: str, load: float, slow: str, fast: str) -> list[float]:
        runs = _runs(lab.mode, name, load)
        return [getattr(each, slow) / getattr(each, fast) for each in runs]

    for (name, load), paper in TABLE_3.items():
        title = f"{name} {load:.0%}"
        ns3_s = functools.partial(over, name, load, "ns3_s", "model_s")
        packet_s = functools.partial(over, name, load, "packet_s", "model_s")
        yield Part(f"{title}: ns-3 over model", f"{paper}x", Number(paper), (), ns3_s)
        ours = f"{title}: packet engine over model"
        yield Part(ours, "> 1", Sign(+1), (), packet_s, counts=False)


CLAIMS = (cpu_time,)


def tables(lab: Lab) -> list[Table]:
    """Table 3."""

    def rows(_: Results) -> list[tuple[str, ...]]:
        found: list[tuple[str, ...]] = []
        for (name, load), paper in TABLE_3.items():
            runs = _runs(lab.mode, name, load)
            scale = 50_000 / float(np.mean([each.flows for each in runs]))
            model, packet, theirs = (
                float(np.mean([getattr(each, key) for each in runs])) * scale
                for key in ("model_s", "packet_s", "ns3_s")
            )
            share = float(np.mean([each.ns3_share for each in runs]))
            without = math.isnan(theirs)
            found.append(
                (
                    f"{name} {load:.0%}",
                    f"{model:.3g}",
                    f"{packet:.3g}",
                    "skipped" if without else f"{theirs:,.0f}",
                    "-" if without else f"{share:.1%}",
                    f"{packet / model:,.3g}x",
                    "-" if without else f"{theirs / model:,.0f}x",
                    "-" if without else f"{theirs / packet:,.0f}x",
                    f"{paper}x",
                )
            )
        return found

    counts = ", ".join(f"{name} {count:,}" for name, count in FLOWS[lab.mode].items())
    return [
        Table(
            "table-3",
            "Table 3: CPU seconds of 50,000 flows",
            f"One core; measured on {counts} flows, mean of {SEEDS[lab.mode]} seeds; the model's "
            f"SWP-D, the packet engine's {SCHEME}, ns-3's TcpDctcp. ns-3 was given the first flows "
            f"of each list, {NS3_PACKETS[lab.mode]:,} packets at most: that share of the list's, "
            "and its time is divided by it.",
            (),
            (
                "flows",
                "model (s)",
                "packet engine (s)",
                "ns-3 (s)",
                "share run",
                "packet / model",
                "ns-3 / model",
                "ns-3 / packet",
                "paper: ns-3 / swp",
            ),
            rows,
            ("swp-8",),
        )
    ]


def checks(lab: Lab) -> list[Check]:
    """Whose parameters table 2 has."""

    def text(_: Results) -> str:
        reason = ns3.missing()
        if reason:
            return f"skipped: {reason}"
        parts = []
        for load in LOADS:
            tails = [each.tails for each in _runs(lab.mode, "Google", load)]
            for which in CONTROLS.values():
                ratios = np.array(
                    [np.mean(t.p99[which][:-1] / t.p99["packet"][:-1]) for t in tails if t]
                )
                parts.append(f"load {load:.0%}, {which}: {ratios.mean() - 1:+.0%}")
        return "; ".join(parts)

    return [
        Check(
            "p99 slowdown of Google's flows below the largest tenth, model over ns-3's TcpDctcp, "
            "mean over bins (slow start and windows, no pacing: not the paper's DCTCP)",
            "",
            (),
            text,
            ("swp-8", "swp-6"),
        )
    ]


def notes(mode: Mode) -> list[str]:
    """How table 3 is measured."""
    return [
        f"Table 3: CPU time, {SEEDS[mode]} seeds. ns-3 3.37 from Debian, which is built with its "
        "log and assertion checks (benches/peers/ns3), runs the first "
        f"{NS3_PACKETS[mode]:,} packets of each list; the paper's is another ns-3 with another "
        "DCTCP."
    ]
