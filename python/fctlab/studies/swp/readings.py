"""How the paper is read where its text can be read in two ways.

The text's own reading is judged: a rate relaxes from r_init (equations 2 and 7), and a slowdown
counts a round trip (the example of section 2). The others stand beside with verdicts of their own,
by the same rules. That flows go on at R(t) was chosen after the fact: it fits packets better.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fctlab.studies.framework import lab
from fctlab.studies.framework.lab import TEXT, Reading
from fctlab.studies.framework.study import Mode


@dataclass(frozen=True)
class Settings:
    """What specifications have of a reading."""

    start: str = "initial"
    """``cc.start``."""
    ends: str = "ack"
    """``network.fct_ends``."""
    header: str = ""
    """``cc.header``; empty for the preset's."""
    thresh: str = "100KB"
    """T at every capacity that is tried: bytes as in table 2, or a time of the link."""
    bucket: float = 60.0
    """That of figure 2, in mean messages: with this one the p99 source delay of Poisson arrivals is
    about a third of what it is with none, a reasonable tail, as the paper has it."""
    length: int = 1
    """How many times as long runs are."""
    seeds: int | None = None
    """Of what is measured by seed; the mode's unless given."""

    def network(self, link: str = "100Gbps") -> dict[str, str]:
        """A specification's table, with the RTT of every experiment."""
        table = {"link": link, "rtt": "10us"}
        return table if self.ends == "ack" else {**table, "fct_ends": self.ends}

    def cc(self, preset: str, **keys: str) -> str | dict[str, str]:
        """A specification's congestion control, with `keys` in place of the preset's."""
        own = {} if self.start == "initial" else {"start": self.start}
        own |= {"header": self.header} if self.header else {}
        return {"preset": preset, **own, **keys} if own or keys else preset


class Lab(lab.Lab[Settings]):
    """What the study's claims are functions of.

    Attributes:
        scenarios: how many of figures 8 to 10, by number of classes; the mode's unless given.
    """

    def __init__(self, mode: Mode, scenarios: Mapping[int, int] | None = None) -> None:
        super().__init__(mode, Settings())
        self.scenarios = scenarios or {}

    def seeds(self, own: Mapping[Mode, int]) -> range:
        """From 1 on, as many as the lab says, or as an experiment has in its mode."""
        return range(1, (self.settings.seeds or own[self.mode]) + 1)


DELIVERY = Reading(
    "-delivery", "slowdown one way (FCT and ideal end at delivery)", {"ends": "delivery"}
)
IDEAL = Reading("-ideal", "flows go on at R(t), chosen after the fact", {"start": "ideal"})
BOTH = Reading(
    "-ideal-delivery",
    f"{IDEAL.words}; {DELIVERY.words}",
    {**IDEAL.changes, **DELIVERY.changes},
)
ALL = (TEXT, DELIVERY, IDEAL, BOTH)
ENDS = (TEXT, DELIVERY)
STARTS = (TEXT, IDEAL)
