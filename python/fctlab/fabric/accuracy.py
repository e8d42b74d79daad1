"""How far the fluid is from packets, as ``fctlab study fabric`` measured it.

``accuracy.json`` has, for each case of the study, its transport, how loaded its busiest link is,
what stands at its ports, and by size of flow the fluid's mean and tail of slowdowns over those of
packets. Of a scenario those cases of its transport count whose loads are next to its own, and those
with its discipline; not those with a discipline or bursts that it has not. An SLI's factor is the
widest of all sizes that it includes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from statistics import geometric_mean
from typing import Any, TypeAlias

import msgspec

from fctlab.answers import Answer
from fctlab.errors import SpecError
from fctlab.fabric.asked import Asked, Class
from fctlab.fabric.types import Error
from fctlab.formats import rate, rate_bps
from fctlab.results.inputs import found
from fctlab.results.points import PointStore
from fctlab.scenario import Scenario
from fctlab.slo import planning

FILE = "accuracy.json"
NEAR = 0.02
"""Loads that are no farther apart are the same one."""
EVEN = 3.0
"""A trace is all to all if no link has more than so many times the mean load of its tier."""
PLAIN = {"fifo", "all-to-all", "matrix"}
"""Disciplines and patterns whose errors count for every scenario."""
Ratios: TypeAlias = Mapping[str, float]
"""By statistic and size, the fluid's over that of packets."""
PERCENTILES = (0.5, 0.99)
"""Between a median and the tail, a percentile is off by no more than mean and tail are."""


class Size(Answer, frozen=True, kw_only=True):
    """Flows of some sizes: the fluid's slowdowns over those of packets.

    Attributes:
        above: bytes that they have more than.
        up_to: bytes that they have at most; ``None`` for no end.
        mean: ratio of means.
        tail: ratio of 99th percentiles, or of the largest with ten flows beyond it.
    """

    above: float
    up_to: float | None
    mean: float
    tail: float


class Measured(Answer, frozen=True, kw_only=True):
    """A case of the study.

    Attributes:
        transport: of its flows.
        load: of its busiest link, as expected.
        rate_bps: of its hosts' links.
        disciplines: kinds at ports of switches.
        patterns: who sends to whom.
        sizes: all flows, then by size.
    """

    transport: str
    load: float
    rate_bps: float
    disciplines: tuple[str, ...]
    patterns: tuple[str, ...]
    sizes: tuple[Size, ...]


class Accuracy(Answer, frozen=True, kw_only=True):
    """What the file holds.

    Attributes:
        engines: that measured.
        cases: of the study, by load.
    """

    engines: tuple[str, ...]
    cases: tuple[Measured, ...]


@cache
def known() -> Accuracy:
    """What was measured."""
    text = resources.files("fctlab.fabric").joinpath(FILE).read_text(encoding="utf-8")
    return msgspec.json.decode(text, type=Accuracy)


def of_study(
    store: PointStore,
    inputs: Path,
    sizes: Mapping[str, tuple[float, float]],
    engine: str | None = None,
) -> Accuracy:
    """The file's contents, from what runs of the study found; runs of several seeds are one case.

    Args:
        store: of the study; points that do not compare the fluid are left out.
        inputs: the folder of the files that its scenarios read.
        sizes: by name, above how many bytes and up to how many.
        engine: whose runs count where the store has those of several: a study that was stopped,
            and went on with another engine.

    Raises:
        SpecError: it has those of several, and `engine` is none of them.
    """
    by_engine: dict[str, dict[str, list[tuple[Asked, Ratios]]]] = {}
    for point in map(store.get, sorted(store.names())):
        ratios = point.found.get("kept", {}).get("fluid")
        if ratios is None:
            continue
        tables = point.input["scenario"]
        case = json.dumps({**tables, "seed": None}, sort_keys=True)
        asked = Asked(Scenario(found(tables, inputs)).resolve())
        cases = by_engine.setdefault(store.times(point.key)["engine"], {})
        cases.setdefault(case, []).append((asked, ratios))
    if len(by_engine) > 1:
        if engine not in by_engine:
            found_of = ", ".join(sorted(by_engine))
            message = f"holds runs of several engines ({found_of}), and no report says of which"
            raise SpecError(str(store.directory), message)
        by_engine = {engine: by_engine[engine]}
    measured = [
        _measured(runs[0][0], _sizes([ratios for _, ratios in runs], sizes))
        for cases in by_engine.values()
        for runs in cases.values()
    ]
    measured.sort(key=lambda case: (case.transport, case.load, case.rate_bps))
    return Accuracy(engines=tuple(by_engine), cases=tuple(measured))


def _sizes(runs: Sequence[Ratios], sizes: Mapping[str, tuple[float, float]]) -> Iterator[Size]:
    """Of each size that any of the runs has, the geometric means of their ratios."""
    for name, (above, up_to) in sizes.items():
        mean, tail = (
            [ratios[f"{of} {name}"] for ratios in runs if f"{of} {name}" in ratios]
            for of in ("mean", "tail")
        )
        if tail:
            yield Size(
                above=above,
                up_to=up_to if math.isfinite(up_to) else None,
                mean=round(geometric_mean(mean), 4),
                tail=round(geometric_mean(tail), 4),
            )


def _measured(asked: Asked, rows: Iterable[Size]) -> Measured:
    return Measured(
        transport=transport(asked),
        load=round(asked.busiest, 3),
        rate_bps=min(rates(asked)),
        disciplines=tuple(sorted(disciplines(asked))),
        patterns=tuple(sorted(patterns(asked))),
        sizes=tuple(rows),
    )


def transport(asked: Asked) -> str:
    """The kind of the scenario's transport."""
    return str(asked.tables["scheme"]["transport"]["kind"])


def disciplines(asked: Asked) -> set[str]:
    """Kinds of disciplines at ports of switches; ``wfq of fq`` if classes serve flows fairly."""
    ports = [each for place, each in asked.disciplines().items() if place != "nic"]
    return {each["kind"] + " of fq" * (each.get("inside") == "fq") for each in ports}


def patterns(asked: Asked) -> set[str]:
    """Kinds of patterns; a trace is one by how even links are loaded."""
    traffic = asked.tables["traffic"]
    if asked.traces:
        even = all(tier["load"] <= EVEN * tier["mean"] for tier in asked.offered)
        return {"all-to-all" if even else "uneven"}
    return {each["pattern"]["kind"] for each in traffic.get("classes") or [traffic]}


def rates(asked: Asked) -> set[float]:
    """Rates of hosts' links, in bits per second."""
    topology = asked.tables["topology"]
    if "host_rate" in topology:
        return {rate_bps(topology["host_rate"])}
    hosts = {each["name"] if isinstance(each, Mapping) else each for each in topology["hosts"]}
    links = topology["links"]
    return {rate_bps(each["rate"]) for each in links if {each["a"], each["b"]} & hosts}


def alike(asked: Asked, accuracy: Accuracy) -> list[Measured]:
    """The cases with the scenario's transport."""
    used = transport(asked)
    return [case for case in accuracy.cases if case.transport == used]


def outside(asked: Asked, accuracy: Accuracy) -> str:
    """What of a scenario the study says nothing of; empty if it says something of all."""
    cases = alike(asked, accuracy)
    if not cases:
        return f"of {transport(asked)} nothing was measured"
    loads = [case.load for case in cases]
    if not asked.offered:
        return "there are too few flows to say how loaded links are"
    if not min(loads) - NEAR <= asked.busiest <= max(loads) + NEAR:
        span = f"{min(loads):.2f} to {max(loads):.2f}"
        return f"the busiest link has a load of {asked.busiest:.2f}, measured were {span}"
    slowest, fastest = (end(case.rate_bps for case in cases) for end in (min, max))
    for each in rates(asked):
        if not slowest <= each <= fastest:
            span = f"{rate(slowest)} to {rate(fastest)}"
            return f"hosts have {rate(each)}, measured were {span}"
    for what, used, measured in (
        ("ports are", disciplines(asked), {kind for case in cases for kind in case.disciplines}),
        ("traffic is", patterns(asked), {kind for case in cases for kind in case.patterns}),
    ):
        if more := sorted(used - measured):
            return f"{what} {', '.join(more)}, measured were {', '.join(sorted(measured))}"
    return ""


def near(asked: Asked, accuracy: Accuracy) -> list[Measured]:
    """The cases that count."""
    cases = alike(asked, accuracy)
    loads = [case.load for case in cases]
    low = max((load for load in loads if load <= asked.busiest + NEAR), default=min(loads))
    high = min((load for load in loads if load >= asked.busiest - NEAR), default=max(loads))
    used = disciplines(asked) | patterns(asked)
    special = used - PLAIN

    def counts(case: Measured) -> bool:
        has = {*case.disciplines, *case.patterns}
        loaded = low - NEAR <= case.load <= high + NEAR
        return has <= used | PLAIN and (loaded or bool(special & has))

    return [case for case in cases if counts(case)]


def errors(asked: Asked, accuracy: Accuracy | None = None) -> tuple[Error, ...]:
    """Of every SLI of every class, how far the fluid may be off; nothing of packets."""
    if asked.tables["engine"]["kind"] != "fluid":
        return ()
    accuracy = accuracy or known()
    left_out = outside(asked, accuracy)
    if not left_out and not (cases := near(asked, accuracy)):
        left_out = "no case of its load had these ports and this traffic"
    if not left_out:
        return tuple(_error(each, sli, cases) for each in asked.classes for sli in each.slis)
    return tuple(
        Error(traffic_class=each.name, sli=sli["name"], low=1.0, high=1.0, open=left_out)
        for each in asked.classes
        for sli in each.slis
    )


def _error(each: Class, sli: Mapping[str, Any], cases: Sequence[Measured]) -> Error:
    ratios, left_out = [1.0], ""
    for case in cases:
        for size in case.sizes:
            if _meets(sli, size):
                ratios += _ratios(str(sli["metric"]), size)
    if len(ratios) == 1:
        least, most = PERCENTILES
        left_out = f"{sli['name']} is no mean and no p{100 * least:.0f} to p{100 * most:.0f}"
    low, high = min(ratios), max(ratios)
    if sli.get("attr", "slowdown") == "throughput":
        low, high = 1 / high, 1 / low
    return Error(traffic_class=each.name, sli=sli["name"], low=low, high=high, open=left_out)


def _meets(sli: Mapping[str, Any], size: Size) -> bool:
    start = planning.size_bytes(sli.get("from", "0B"))
    end = planning.size_bytes(sli["below"]) if "below" in sli else math.inf
    everything = size.above == 0 and size.up_to is None
    if everything:
        return start == 0 and math.isinf(end)
    return start <= (math.inf if size.up_to is None else size.up_to) and end > size.above + 1


def _ratios(metric: str, size: Size) -> Iterator[float]:
    if metric == "mean":
        yield size.mean
    elif PERCENTILES[0] <= float(metric.removeprefix("p")) / 100 <= PERCENTILES[1] + 1e-9:
        yield from (size.mean, size.tail)
