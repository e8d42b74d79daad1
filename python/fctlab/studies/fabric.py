"""One fluid for a whole fabric beside packets: the same flows, by size.

Beside each number stands its floor, closer than which nothing can be told: packets against
packets, with starts shifted by up to the time of a packet.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fctlab.studies.framework import lab
from fctlab.studies.framework.cells import Cell, Source
from fctlab.studies.framework.lab import beside, claim
from fctlab.studies.framework.runs import Run
from fctlab.studies.framework.study import Mode, Part, Plan, Study, Table
from fctlab.studies.framework.verdict import Band, Within

if TYPE_CHECKING:
    import polars as pl

    from fctlab.results.result import Result

SIZES = {
    "all": (0, math.inf),
    "10 KB": (0, 1e4),
    "100 KB": (1e4, 1e5),
    "1 MB": (1e5, 1e6),
    "more": (1e6, math.inf),
}
"""Flows by size in bytes: above the first number, up to the second."""
BEYOND = 10
"""Flows beyond a tail, where there are less than a thousand."""
PACKET = {"payload": "1000B", "header": "48B", "ack": "60B"}


def _leaf_spine(host: int, fabric: int, leaves: int, hosts: int, rtt: str) -> dict[str, Any]:
    return {
        "kind": "leaf-spine",
        "leaves": leaves,
        "spines": 4,
        "hosts_per_leaf": hosts,
        "host_rate": f"{host}Gbps",
        "fabric_rate": f"{fabric}Gbps",
        "base_rtt": rtt,
    }


EVEN = _leaf_spine(10, 40, 9, 16, "20us")
FAST = _leaf_spine(100, 400, 9, 16, "10us")
HOT = (4, 3, 3, 2, 2, 2, 1, 1, 1)
"""What racks get of the skewed matrix."""


def skewed() -> str:
    """Every rack sends to all others, and some get more than others."""
    rows = ([0 if to == of else share for to, share in enumerate(HOT)] for of in range(len(HOT)))
    return "".join(f"{','.join(map(str, row))}\n" for row in rows)


def _web(
    load: float,
    topology: dict[str, Any] = EVEN,
    scheme: str | dict[str, Any] = "dctcp-rate",
    **more: Any,
) -> dict[str, Any]:
    traffic = {"workload": "websearch", "load": load} | more
    return {"topology": topology, "traffic": traffic, "scheme": scheme}


def _ports(discipline: str, preset: str = "dctcp-rate", **more: Any) -> dict[str, Any]:
    """A scheme with such ports at switches; flows take turns at NICs."""
    port = {"discipline": {"kind": discipline} | more}
    return {"preset": preset, "port": port, "nic": {"discipline": "fifo"}}


def _wfq(*weights: int, preset: str = "dctcp-rate", **more: Any) -> dict[str, Any]:
    """A scheme whose switches divide links by weight; NICs likewise."""
    discipline = {"kind": "wfq", "weights": list(weights)} | more
    return {"preset": preset, "port": {"discipline": discipline}}


def _classes(scheme: dict[str, Any], **workloads: str) -> dict[str, Any]:
    """As many bytes of each class."""
    share = 1 / len(workloads)
    classes = [
        {"class": name, "workload": workload, "share": share}
        for name, workload in workloads.items()
    ]
    return {"topology": EVEN, "traffic": {"load": 0.5, "classes": classes}, "scheme": scheme}


CASES: dict[str, dict[str, Any]] = {
    "10G, load 0.3": _web(0.3),
    "10G, load 0.4": _web(0.4),
    "10G, load 0.5": _web(0.5),
    "10G, load 0.6": _web(0.6),
    "10G, load 0.7": _web(0.7),
    "2:1, load 0.4": _web(0.4, _leaf_spine(10, 20, 4, 16, "20us")),
    "4:1, load 0.2": _web(0.2, _leaf_spine(10, 10, 4, 16, "20us")),
    "25G": _web(0.5, _leaf_spine(25, 100, 9, 16, "16us")),
    "100G": _web(0.5, FAST),
    "400G": _web(0.5, _leaf_spine(400, 1600, 9, 8, "10us")),
    "fat-tree": _web(0.4, {"kind": "fat-tree", "k": 6, "host_rate": "10Gbps", "base_rtt": "30us"}),
    "skewed matrix": _web(0.4, pattern={"kind": "matrix", "file": Source("skewed.csv", skewed)}),
    "rack-local": _web(0.5, pattern={"kind": "matrix", "rack_local": 0.5}),
    "incast": _web(0.4, pattern={"kind": "incast", "fanin": 16}),
    "bursts": _web(0.4, arrivals={"kind": "lognormal", "sigma": 2.0}),
    "data mining": _web(0.5, workload="datamining"),
    "two classes, 4:1": _classes(_wfq(4, 1), web="websearch", bulk="datamining"),
    "three classes, 4:2:1": _classes(
        _wfq(4, 2, 1), web="websearch", bulk="datamining", more="websearch"
    ),
    "two classes, strict": _classes(
        _ports("strict", classes=2), web="websearch", bulk="datamining"
    ),
    "fair queueing": _web(0.5, scheme=_ports("fq")),
    "two classes, 4:1, fair inside": _classes(
        _wfq(4, 1, inside="fq"), web="websearch", bulk="datamining"
    ),
}
"""Fabrics and traffic under DCTCP on rates, by name."""
HPCC: dict[str, dict[str, Any]] = {
    "HPCC, 10G, load 0.3": _web(0.3, scheme="hpcc"),
    "HPCC, 10G, load 0.5": _web(0.5, scheme="hpcc"),
    "HPCC, 10G, load 0.7": _web(0.7, scheme="hpcc"),
    "HPCC, 100G, load 0.5": _web(0.5, FAST, scheme="hpcc"),
    "HPCC, 100G, load 0.7": _web(0.7, FAST, scheme="hpcc"),
}
"""The same under HPCC."""
DCTCP: dict[str, dict[str, Any]] = {
    "DCTCP, 10G, load 0.3": _web(0.3, scheme="dctcp"),
    "DCTCP, 10G, load 0.5": _web(0.5, scheme="dctcp"),
    "DCTCP, 10G, load 0.7": _web(0.7, scheme="dctcp"),
    "DCTCP, 25G": _web(0.5, _leaf_spine(25, 100, 9, 16, "16us"), scheme="dctcp"),
    "DCTCP, 100G, load 0.5": _web(0.5, FAST, scheme="dctcp"),
    "DCTCP, 100G, load 0.7": _web(0.7, FAST, scheme="dctcp"),
    "DCTCP, fair queueing": _web(0.5, scheme=_ports("fq", "dctcp")),
    "DCTCP, two classes, 4:1": _classes(
        _wfq(4, 1, preset="dctcp"), web="websearch", bulk="datamining"
    ),
    "DCTCP, two classes, strict": _classes(
        _ports("strict", "dctcp", classes=2), web="websearch", bulk="datamining"
    ),
}
"""The same under windows as hosts have them, with slow start."""
FLOWS: dict[Mode, int] = {"quick": 3_000, "full": 20_000}
"""Of a case; full, there are at least a thousand of every size."""


def beside_packets(result: Result) -> dict[str, Any]:
    """The run's flows in the fluid, and packets with shifted starts against packets."""
    flows = result.flows
    fluid = _again(result, engine="fluid")
    cost = result.perf["cpu_s"] / fluid.perf["cpu_s"]
    return {
        "fluid": _errors(flows, fluid.flows) | {"cost": cost},
        "floor": _errors(flows, _shifted(result)),
    }


def _again(result: Result, **changes: Any) -> Result:
    """The run with tables changed; what is to be said of its scenario was said of the first."""
    from fctlab.results.result import simulate
    from fctlab.scenario import Scenario

    return simulate(Scenario({**result.scenario, **changes}).resolve(), None, None)


def _shifted(result: Result) -> pl.DataFrame:
    """The run's flows with packets, shifted by up to the time of a packet."""
    import polars as pl

    flows = result.flows
    links = result.scenario["topology"]["host_rate"]
    packet_s = 8 * 1048 / (float(links.removesuffix("Gbps")) * 1e9)
    more = np.random.default_rng(1).uniform(0, packet_s, len(flows))
    if result.scenario["traffic"].get("pattern", {}).get("kind") == "incast":
        # The flows of a query start together.
        more = more[flows["start_s"].rank("dense").to_numpy() - 1]
    columns = {"src": "src", "dst": "dst", "size_bytes": "size_bytes", "class": "traffic_class"}
    rows = flows.select(
        pl.col("flow"),
        (pl.col("start_s") + pl.Series(more)).alias("start_s"),
        *(pl.col(old).alias(new) for new, old in columns.items()),
    )
    order = rows.sort("start_s", maintain_order=True)
    traffic: dict[str, Any] = {}
    if classes := result.scenario["traffic"].get("classes"):
        # In their order, which is that of weights.
        traffic["classes"] = [{"class": each["class"]} for each in classes]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "shifted.csv")
        order.drop("flow").write_csv(file, float_precision=12)
        traffic["trace"] = str(file)
        played = _again(result, traffic=traffic).flows
    return played.with_columns(pl.Series("flow", order["flow"])).sort("flow")


def _errors(truth: pl.DataFrame, other: pl.DataFrame) -> dict[str, Any]:
    """By size and by class the ratios of means and of tails; the median error of a flow."""
    size, classes = truth["size_bytes"].to_numpy(), truth["traffic_class"].to_numpy()
    a, b = (flows["slowdown"].to_numpy() for flows in (truth, other))
    found: dict[str, Any] = {"median": float(np.median(np.abs(b / a - 1)))}
    groups = {name: (size > above) & (size <= most) for name, (above, most) in SIZES.items()}
    groups |= {name: classes == name for name in sorted(set(classes))}
    for name, chosen in groups.items():
        if chosen.sum() > 2 * BEYOND:
            tails = [_tail(each[chosen]) for each in (b, a)]
            found[f"mean {name}"] = float(b[chosen].mean() / a[chosen].mean())
            found[f"tail {name}"] = tails[0] / tails[1]
    return found


def _tail(values: Any) -> float:
    """The 99th percentile, or the largest with so many flows beyond it."""
    return float(np.sort(values)[-max(BEYOND, len(values) // 100)])


@dataclass(frozen=True)
class Settings:
    """The study has no readings."""


class Lab(lab.Lab[Settings]):
    """The cells of the study: packets, after which the fluid has the same flows."""

    def cases(self, chosen: Mapping[str, dict[str, Any]]) -> Iterator[tuple[str, Cell]]:
        """Each of the cases `chosen`."""
        for name, case in chosen.items():
            traffic = {**case["traffic"], "flows": FLOWS[self.mode]}
            scenario = {"packet": PACKET, **case, "traffic": traffic}
            yield name, self.cells.cell(name, scenario, 1.0, beside_packets)


def _parts(
    lab: Lab,
    statistic: str,
    groups: tuple[str, ...],
    most: float,
    cases: Mapping[str, dict[str, Any]] = CASES,
) -> Iterator[Part]:
    """A statistic of groups of flows in every case, as `_parts_of`."""
    for name, cell in lab.cases(cases):
        yield from _parts_of(name, cell, statistic, groups, most)


def _parts_of(
    name: str, cell: Cell, statistic: str, groups: tuple[str, ...], most: float
) -> Iterator[Part]:
    """A statistic of the fluid's over that of packets, and beside it the floor."""

    def part(group: str, of: str) -> Part:
        def measure(run: Run) -> float:
            return float(run.kept[of].get(f"{statistic} {group}", math.nan))

        words = "packets, shifted / packets" if of == "floor" else "fluid / packets"
        bar = Band.within(most)
        text = f"equal (band {most:.0%})"
        return Part(f"{name}, {group}, {words}", text, bar, (cell,), measure, percent=True)

    for group in groups:
        yield part(group, "fluid")
        yield from beside([part(group, "floor")])


@claim("fabric-1", "Mean slowdown of all flows", "equal (band 5%)")
def means(lab: Lab) -> Iterator[Part]:
    """Of all flows, and by size."""
    yield from _parts(lab, "mean", tuple(SIZES), 0.05)


@claim("fabric-2", "p99 slowdown of all flows", "equal (band 7%)")
def tails(lab: Lab) -> Iterator[Part]:
    """Of all flows."""
    yield from _parts(lab, "tail", ("all",), 0.07)


@claim("fabric-3", "p99 slowdown of each size class", "equal (band 10%)")
def tails_by_size(lab: Lab) -> Iterator[Part]:
    """By size."""
    yield from _parts(lab, "tail", tuple(size for size in SIZES if size != "all"), 0.10)


@claim("fabric-4", "Median error of a flow's slowdown", "at most 8%")
def single_flows(lab: Lab) -> Iterator[Part]:
    """Flow by flow."""
    for name, cell in lab.cases(CASES):
        for of in ("fluid", "floor"):

            def measure(run: Run, of: str = of) -> float:
                return float(run.kept[of]["median"])

            words = {"fluid": "fluid", "floor": "packets, shifted"}[of]
            part = Part(
                f"{name}, {words}", "at most 8%", Within(0.0, 0.08), (cell,), measure, percent=True
            )
            yield from [part] if of == "fluid" else beside([part])


@claim("fabric-5", "p99 slowdown of each class", "equal (band 10%)")
def tails_by_class(lab: Lab) -> Iterator[Part]:
    """Under weighted fair queueing and strict priority."""
    for name, cell in lab.cases(CASES | DCTCP):
        classes = [each["class"] for each in cell.scenario["traffic"].get("classes", [])]
        yield from _parts_of(name, cell, "tail", tuple(classes), 0.10)


@claim("fabric-6", "CPU time of packets over the fluid's", "at least 10")
def costs(lab: Lab) -> Iterator[Part]:
    """On the same machine, one after the other."""
    for name, cell in lab.cases(CASES):

        def measure(run: Run) -> float:
            return float(run.kept["fluid"]["cost"])

        yield Part(name, "at least 10", Within(10.0, math.inf), (cell,), measure)


@claim("fabric-7", "HPCC: mean slowdown of all flows, and by size", "equal (band 5%)")
def means_of_hpcc(lab: Lab) -> Iterator[Part]:
    """Under windows that follow the load of the busiest link."""
    yield from _parts(lab, "mean", tuple(SIZES), 0.05, HPCC)


@claim("fabric-8", "HPCC: p99 slowdown of all flows, and by size", "equal (band 10%)")
def tails_of_hpcc(lab: Lab) -> Iterator[Part]:
    """Likewise."""
    yield from _parts(lab, "tail", tuple(SIZES), 0.10, HPCC)


@claim("fabric-9", "DCTCP on windows: mean slowdown of all flows, and by size", "equal (band 5%)")
def means_of_dctcp(lab: Lab) -> Iterator[Part]:
    """Under windows that no rate paces, from slow start on."""
    yield from _parts(lab, "mean", tuple(SIZES), 0.05, DCTCP)


@claim("fabric-10", "DCTCP on windows: p99 slowdown of all flows, and by size", "equal (band 10%)")
def tails_of_dctcp(lab: Lab) -> Iterator[Part]:
    """Likewise."""
    yield from _parts(lab, "tail", tuple(SIZES), 0.10, DCTCP)


CLAIMS = (
    means,
    tails,
    tails_by_size,
    single_flows,
    tails_by_class,
    costs,
    means_of_hpcc,
    tails_of_hpcc,
    means_of_dctcp,
    tails_of_dctcp,
)


def _kept(runs: list[Run], of: str, key: str) -> float:
    return float(np.mean([run.kept[of].get(key, math.nan) for run in runs]))


def _off(runs: list[Run], key: str) -> str:
    """By how much the fluid is off, and packets with shifted starts."""
    return "{:+.1%} ({:+.1%})".format(*(_kept(runs, of, key) - 1 for of in ("fluid", "floor")))


def _row(name: str, cell: Cell, runs: list[Run]) -> tuple[str, ...]:
    errors = {size: abs(_kept(runs, "fluid", f"tail {size}") - 1) for size in SIZES}
    sizes = [size for size, error in errors.items() if size != "all" and not math.isnan(error)]
    worst = max(sizes, key=errors.__getitem__)
    classes = [each["class"] for each in cell.scenario["traffic"].get("classes", [])]
    return (
        name,
        f"{_kept(runs, 'fluid', 'cost'):.1f}",
        _off(runs, "mean all"),
        _off(runs, "tail all"),
        f"{worst}: {_off(runs, f'tail {worst}')}",
        "; ".join(f"{each}: {_off(runs, f'tail {each}')}" for each in classes) or "-",
        "{:.1%} ({:.1%})".format(*(_kept(runs, of, "median") for of in ("fluid", "floor"))),
    )


def _overview(lab: Lab) -> Table:
    cases = dict(lab.cases(CASES)) | dict(lab.cases(HPCC)) | dict(lab.cases(DCTCP))
    return Table(
        "cases",
        "Errors of the fluid, and in brackets the floor",
        "Sizes: up to 10 KB, 100 KB, 1 MB, and more.",
        tuple(cases.values()),
        (
            "case",
            "CPU time of packets / fluid",
            "mean",
            "p99",
            "p99 of the worst size",
            "p99 of classes",
            "median of a flow",
        ),
        lambda results: [_row(name, cell, results.of(cell)) for name, cell in cases.items()],
        tuple(f"fabric-{i}" for i in (1, 2, 3, 4, 7, 8, 9, 10)),
    )


def plan(mode: Mode) -> Plan:
    """Claims in a mode."""
    made = Lab(mode, Settings())
    return Plan(
        claims=[claim for each in CLAIMS if (claim := each.of(made)).parts],
        tables=[_overview(made)],
        notes=[
            "Packets are the truth; the fluid has the same flows on the same paths.",
            "A tail is the 99th percentile, or the largest percentile with ten flows beyond it.",
            "The floor: packets against packets, starts shifted by up to the time of a packet.",
        ],
    )


STUDY = Study(
    name="fabric",
    title="One fluid for a whole fabric beside packets",
    paper="No paper: the packet engine on the same flows.",
    plan=plan,
)
