"""Which links carry the delay, drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib import rc_context
from matplotlib.ticker import PercentFormatter

from fctlab.results import drawing
from fctlab.results.drawing import Drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fctlab.fabric.types import FabricPrediction

LINKS = 10
"""That are drawn, those at which most waits."""


def waits(found: FabricPrediction) -> Drawing:
    """Shares of all waiting at ports of switches: by tier, and the links at which most waits."""
    tiers = [(tier.name, tier.share or 0.0) for tier in found.tiers if tier.ports != "nic"]
    links = [(link.link, link.share) for link in found.links[:LINKS]]
    with rc_context(drawing.STYLE):
        figure = Drawing(0.5 + 0.14 * (len(tiers) + len(links)))
        heights = [len(tiers) + 1, len(links) + 1]
        above, below = figure.subplots(2, 1, height_ratios=heights)
        _bars(above, tiers, "tier", 0)
        _bars(below, links, "link", 1)
        below.set_xlabel("share of all waiting")
        caption = "Bytes times the seconds that they waited at ports of switches, on the fluid."
        figure.furnish(above, caption)
    return figure


def _bars(ax: Axes, rows: list[tuple[str, float]], label: str, number: int) -> None:
    names, shares = zip(*rows, strict=True) if rows else ((), ())
    ax.barh(names, shares, height=0.6, color=drawing.line(number)["color"], label=label)
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")
    ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
