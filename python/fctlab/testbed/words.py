"""What a testbed found, in words and tables."""

from __future__ import annotations

from typing import Any

from fctlab.formats import count, plain, seconds
from fctlab.results.words import SIZE_CLASSES
from fctlab.tables import Column, Line, Part, Table, numbers
from fctlab.testbed.running import Ran


def ran(found: Ran) -> list[Part]:
    """FCT of every size class on Linux, in the engine, and the one over the other."""
    several = len({row["traffic_class"] for row in found.linux.report["summary"]}) > 1
    heads = (
        f"{what}\n{where}" for what in ("avg", "p99") for where in ("Linux", "engine", "ratio")
    )
    table = Table(
        found.linux.title,
        (
            *([Column("traffic class")] if several else []),
            Column("flow size", "name"),
            *numbers("flows", *heads),
        ),
    )
    summaries = (found.linux.report["summary"], found.simulated.report["summary"])
    for real, here in zip(*summaries, strict=True):
        if real["flows"]:
            names = [real["traffic_class"]] if several else []
            cells = [cell for what in ("avg", "p99") for cell in _beside(real, here, what)]
            table.add(*names, SIZE_CLASSES[real["class"]], f"{real['flows']:,}", *cells)
    return [table, *_counted(found)]


def _beside(real: dict[str, Any], here: dict[str, Any], what: str) -> list[str]:
    key = f"{what}_fct_s"
    bound = real[f"{key}_lower_bound"] or here[f"{key}_lower_bound"]
    ratio = "-" if bound or not here[key] else plain(real[key] / here[key])
    marks = ("> " if each[f"{key}_lower_bound"] else "" for each in (real, here))
    return [
        *(mark + seconds(each[key]) for mark, each in zip(marks, (real, here), strict=True)),
        ratio,
    ]


def _counted(found: Ran) -> list[Part]:
    queues = [queue for table in found.counters.values() for queue in table["queues"]]
    marks = sum(queue.get("marked", 0) for queue in queues)
    drops = sum(queue["drops"] for queue in queues if queue["handle"] in ("1:", "bpf"))
    timeouts = sum(table["timeouts"] for table in found.counters.values())
    again = found.linux.counters["retransmissions"]
    told = f"{count(marks)} ecn marks, {drops} drops, {again} retransmissions, {timeouts} timeouts"
    lines = [Line(f"{found.linux.engine}: {told}"), Line(PLACE[found.on], soft=True)]
    if found.on == "namespaces":
        late = seconds(max(found.late_s, default=0.0))
        lines.append(Line(f"flows were sent up to {late} late", soft=True))
    return [*lines]


PLACE = {
    "uml": "in virtual time, which does not hang on this machine's load",
    "namespaces": "in real time: averages and medians mean something on a busy machine, "
    "percentiles below 10 ms do not",
}
