"""How the paper is read where its text can be read in two ways.

The text's own reading is judged: a rate relaxes from r_init (equations 2 and 7), and a slowdown
counts a round trip (the example of section 2). The others stand beside with verdicts of their own,
by the same rules. That flows go on at R(t) was chosen after the fact: it fits packets better.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fctlab.studies.framework.study import Claim, Part


@dataclass(frozen=True)
class Reading:
    """One of the ways."""

    name: str
    """Added to the ids of claims."""
    says: str
    """Added to their texts."""
    start: str = "initial"
    """``cc.start``."""
    ends: str = "ack"
    """``network.fct_ends``."""

    def network(self, link: str = "100Gbps") -> dict[str, str]:
        """A specification's table, with the RTT of every experiment."""
        table = {"link": link, "rtt": "10us"}
        return table if self.ends == "ack" else {**table, "fct_ends": self.ends}

    def cc(self, preset: str) -> str | dict[str, str]:
        """A specification's congestion control."""
        return preset if self.start == "initial" else {"preset": preset, "start": self.start}

    def claim(self, id: str, text: str, paper: str, parts: tuple[Part, ...], **more: Any) -> Claim:
        """A claim so read; only the text's reading is a claim of the paper's."""
        beyond = self is not TEXT
        text = f"... {self.says}: {text}" if beyond else text
        return Claim(id + self.name, text, paper, parts, beyond=beyond, **more)


TEXT = Reading("", "")
DELIVERY = Reading("-delivery", "slowdown one way (FCT and ideal end at delivery)", ends="delivery")
IDEAL = Reading("-ideal", "flows go on at R(t), chosen after the fact", start="ideal")
BOTH = Reading("-ideal-delivery", f"{IDEAL.says}; {DELIVERY.says}", "ideal", "delivery")
ALL = (TEXT, DELIVERY, IDEAL, BOTH)
ENDS = (TEXT, DELIVERY)
STARTS = (TEXT, IDEAL)
