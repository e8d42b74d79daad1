"""A specification's link at packet level: the same flows as the model's, packet by packet.

A star: many senders, one receiver whose link is the bottleneck of the specification, with its
queue discipline over classes. Congestion control is the packet engine's scheme for which the
model's parameters stand (``cc.scheme``).
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fctlab.errors import SpecError
from fctlab.result import Result, run

if TYPE_CHECKING:
    import polars as pl

SENDERS = 128
"""The more, the less often two flows share a sender's link."""
# As the HPCC simulator sends them, which swp uses.
PACKET = {"payload": "1000B", "header": "48B", "ack": "60B"}
SCHEMES = {"dctcp-rate": "swp-d", "hpcc": "swp-h"}
"""Schemes whose congestion control the model has parameters for: a preset of the scheme's name,
and the paper's (table 2)."""


def scenario(
    spec: Mapping[str, Any], trace: Path, names: Sequence[str], scheme: str | None = None
) -> dict[str, Any]:
    """The scenario of the packet engine that replays `trace` over the link of `spec`.

    Args:
        spec: resolved, see `planning.load`.
        trace: flows with ``traffic_class``, to host `SENDERS`.
        names: the classes of `trace` in the order in which they first appear.
        scheme: instead of ``cc.scheme``.

    Raises:
        SpecError: a scheme that the model does not stand for.
    """
    chosen = scheme or spec["cc"]["scheme"]
    if chosen not in SCHEMES:
        raise SpecError("cc.scheme", f"{chosen!r} is not one of {', '.join(SCHEMES)}")
    network = spec["network"]
    return {
        "name": spec["name"],
        "seed": spec["seed"],
        "packet": PACKET,
        "topology": {
            "kind": "star",
            "senders": SENDERS,
            "host_rate": network["link"],
            "base_rtt": {"value": network["rtt"], "includes": "propagation"},
        },
        "traffic": {"trace": str(trace)},
        "measure": {"fct_ends": network["fct_ends"]},
        "scheme": {"preset": chosen, "port": _port(spec, names), "nic": {"discipline": "fifo"}},
    }


def _port(spec: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The bottleneck's discipline over the classes `names`."""
    queue = dict(spec["queue"])
    kind = queue.pop("kind")
    if kind in ("fifo", "fq"):
        return {"discipline": {"kind": kind}}
    classes = {each["name"]: each for each in spec["classes"]}
    if kind == "priority":
        order = [names.index(name) for name in classes if name in names]
        return {
            "discipline": {"kind": "strict", "classes": len(names), "order": order, **queue},
            "ecn_scope": "queue",
        }
    weights = [classes[name]["weight"] for name in names]
    if kind == "wrr":  # Packets per round.
        for name, weight in zip(names, weights, strict=True):
            if weight != round(weight):
                at = f"classes[{list(classes).index(name)}].weight"
                message = f"{weight:g} is not a whole number of packets, which wrr takes per round"
                raise SpecError(at, f"{message} (packet engine)")
        weights = [round(weight) for weight in weights]
    return {"discipline": {"kind": kind, "weights": weights, **queue}, "ecn_scope": "queue"}


def replay(
    spec: Mapping[str, Any], drawn: pl.DataFrame, scheme: str | None = None
) -> tuple[pl.DataFrame, Result]:
    """Run flows packet by packet.

    Args:
        spec: resolved, see `planning.load`.
        drawn: what `planning.flows` returns.
        scheme: instead of ``cc.scheme``.

    Returns:
        `drawn` with ``fct_s`` and ``slowdown`` (over RTT + size / rate, as in the model) of
        this run, and its result.

    Raises:
        SpecError: as `scenario`.
    """
    import polars as pl

    senders = np.random.default_rng(spec["seed"]).integers(0, SENDERS, len(drawn))
    names = drawn["traffic_class"].unique(maintain_order=True).to_list()
    with tempfile.TemporaryDirectory(prefix="fctlab-") as folder:
        trace = Path(folder) / "flows.parquet"
        columns = drawn.select("start_s", "size_bytes", "traffic_class")
        columns.with_columns(src=pl.Series(senders), dst=pl.lit(SENDERS)).write_parquet(trace)
        result = run(scenario(spec, trace, names, scheme))
        fcts = result.flows["fct_s"]
    ideals = drawn["fct_s"] / drawn["slowdown"]
    return drawn.with_columns(fct_s=fcts, slowdown=fcts / ideals), result
