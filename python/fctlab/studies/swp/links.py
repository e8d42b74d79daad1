"""The link model beside packets on links of any rate: tails by size, and long flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fctlab.jobs import Told, deaf
from fctlab.slo import planning
from fctlab.studies.framework.asked import asked
from fctlab.studies.swp.compared import compare

LONG_BDPS = 8
"""From so many BDPs on a flow is long."""


@dataclass(frozen=True)
class Errors:
    """Of a class: how far off slowdowns of the model are, as shares.

    Attributes:
        tails: p99s of size bins with as many flows each.
        mean: of long flows.
        p99: of long flows.
    """

    tails: Sequence[float]
    mean: float
    p99: float


@dataclass(frozen=True)
class Case:
    """Classes on a link: one has a FIFO, several have WFQ.

    Attributes:
        gbps: rate of the link.
        rtt_us: round trip.
        classes: sizes, load and weight of each, by name.
        flows: of a run.
    """

    gbps: int
    rtt_us: int
    classes: Mapping[str, tuple[str, float, int]]
    flows: int

    @property
    def bdp_bytes(self) -> float:
        """What the link carries in a round trip."""
        return self.gbps * self.rtt_us * 125.0

    def beside(self, control: str, seed: int) -> dict[str, Errors]:
        """Each class, under a preset of the model and the scheme that it stands for."""
        spec = self._specification(control, seed)
        found = _measured(spec, self.flows, LONG_BDPS * self.bdp_bytes)
        return {name: Errors(**record) for name, record in found.items()}

    def _specification(self, control: str, seed: int) -> dict[str, Any]:
        rows = [
            {
                "name": name,
                "flowsizes": sizes,
                "interarrivals": {"kind": "lognormal", "sigma": 2.0},
                "load": load,
                "weight": weight,
            }
            for name, (sizes, load, weight) in self.classes.items()
        ]
        given = {
            "network": {"link": f"{self.gbps}Gbps", "rtt": f"{self.rtt_us}us"},
            "seed": seed,
            "queue": "fifo" if len(rows) == 1 else "wfq",
            "cc": control,
            "classes": rows,
        }
        return planning.load(given)


@asked("packets beside the model on a link")
def _measured(
    spec: dict[str, Any], flows: int, long_bytes: float, told: Told = deaf
) -> dict[str, dict[str, Any]]:
    """By class, what `Errors` has."""
    drawn = planning.flows(spec, flows)
    run, _ = planning.replay(spec, drawn, told=told)
    both = {"packet": run["slowdown"].to_numpy(), "windows": drawn["slowdown"].to_numpy()}
    names = drawn["traffic_class"].to_numpy()
    sizes = drawn["size_bytes"].to_numpy().astype(float)
    found: dict[str, Any] = {}
    for each in spec["classes"]:
        of = names == each["name"]
        tails = compare(sizes[of], {k: v[of] for k, v in both.items()})
        long = of & (sizes > long_bytes)
        model, packets = both["windows"][long], both["packet"][long]
        found[each["name"]] = {
            "tails": (tails.p99["windows"] / tails.p99["packet"] - 1).tolist(),
            "mean": float(model.mean() / packets.mean() - 1),
            "p99": float(np.quantile(model, 0.99) / np.quantile(packets, 0.99) - 1),
        }
    return found
