"""Schedules of the big switch, drawn as in the paper's figures 1 to 3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from fctlab.errors import SpecError
from fctlab.theory import bigswitch
from fctlab.theory.bigswitch import InstanceLike, Policy
from fctlab.theory.types import Instance, Metric, Metrics, Stretch

if TYPE_CHECKING:
    from fctlab.results.drawing import Drawing


class _Drawn(NamedTuple):
    """A schedule to draw."""

    name: str
    ends: Sequence[int]
    metrics: Metrics
    stretches: Sequence[Stretch]


def draw(
    instance: InstanceLike, rows: Sequence[Policy], metric: Metric = "fpt", title: str = ""
) -> Drawing:
    """Schedules of policies (``"opt"`` for an optimal one) as in the paper's figures 1-3.

    A rectangle marked `n` is a group of `n` packets of a flow; the bold number behind a
    flow's last packet is what it adds to the metric.

    Raises:
        SpecError: a mistake, or there is no exact optimum to draw.
    """
    from matplotlib.patches import Patch

    from fctlab.results.drawing import Drawing

    loaded = bigswitch.load(instance)
    found = [_schedule(loaded, row, metric) for row in rows]
    lanes = [flow.ingress or 0 for flow in loaded.flows]
    used = sorted(set(lanes))
    last = max(max(drawn.ends) for drawn in found)
    height = 0.62
    drawing = Drawing(
        figsize=(min(16, 2.5 + 0.42 * last), 1.3 + 0.62 * len(found) * len(used)),
    )
    ax = drawing.subplots()
    colours = [f"C{i % 10}" for i in range(len(lanes))]
    for i, drawn in enumerate(found):
        for stretch in drawn.stretches:
            flow = stretch.flow
            y = i * len(used) + used.index(lanes[flow])
            left, width = stretch.slot - 1, stretch.slots
            ax.barh(y, width, height, left, color=colours[flow], edgecolor="black", linewidth=0.6)
            ax.text(left + width / 2, y, str(width), ha="center", va="center", fontsize=8)
        for flow, end in enumerate(drawn.ends):
            weight = loaded.flows[flow].weight_in(metric)
            top = i * len(used) + used.index(lanes[flow]) - height / 2
            ax.text(
                end, top, f"+{end * weight}", ha="right", va="bottom", fontsize=8, weight="bold"
            )
    centres = [i * len(used) + (len(used) - 1) / 2 for i in range(len(found))]
    what = "FPT" if metric == "fpt" else "weighted FPT"
    ax.set_yticks(centres, [f"{drawn.name}\n{what} {drawn.metrics.of(metric)}" for drawn in found])
    ax.set_ylim(len(found) * len(used) - 0.4, -0.85)
    ax.set_xlim(0, last)
    ax.set_xticks(range(0, last + 1, max(1, last // 20)))
    ax.set_xlabel("slot")
    ax.spines[["top", "right"]].set_visible(False)
    patches = [Patch(facecolor=c, edgecolor="black") for c in colours]
    if len(patches) <= 20:
        drawing.legend(patches, loaded.names, loc="outside right center", frameon=False)
    if title:
        ax.set_title(title, loc="left", fontsize=10)
    return drawing


def _schedule(instance: Instance, row: Policy, metric: Metric) -> _Drawn:
    if row != "opt":
        found = bigswitch.run(instance, row, schedule=True)
        name = bigswitch.label(row).upper()
        return _Drawn(name, found.ends, found.metrics, found.schedule or ())
    best = bigswitch.optimum(instance, metric, schedule=True)
    if best.schedule is None or best.ends is None or best.metrics is None:
        raise SpecError("opt", "the instance is too large for an exact optimum")
    return _Drawn("OPT", best.ends, best.metrics, best.schedule)
