"""A specification's link at packet level: the same flows as the model's, packet by packet.

A star: many senders, one receiver whose link is the bottleneck of the specification, with its
queue discipline over classes. Congestion control is the packet engine's scheme for which the
model's parameters stand (``cc.scheme``), with those parameters that both engines have.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fctlab.errors import SpecError
from fctlab.jobs import Told
from fctlab.results.result import Result, run
from fctlab.slo import planning

if TYPE_CHECKING:
    import polars as pl

SENDERS = 128
"""The more, the less often two flows share a sender's link."""
# As the HPCC simulator sends them, which swp uses.
PACKET = {"payload": "1000B", "header": "48B", "ack": "60B"}
SCHEMES = {"dctcp-rate": "swp-d", "hpcc": "swp-h"}
"""Schemes whose congestion control the model has parameters for: a preset of the scheme's name,
and the paper's (table 2)."""

INT = 42
"""Bytes of HPCC's telemetry in a packet, which are part of the model's header."""
LAWS = {"dctcp-rate": "dctcp", "hpcc": "hpcc"}
"""The law of the model that is a scheme's own."""
CARRIED = {
    "dctcp": {
        "thresh": ("port", "ecn_threshold"),
        "gain": ("transport", "g"),
        "rise": ("transport", "increase"),
        "min_rate": ("transport", "min_rate"),
    },
    "hpcc": {
        "u_target": ("transport", "eta"),
        "additive_increase": ("transport", "additive_increase"),
        "min_rate": ("transport", "min_rate"),
        "window_counts": ("transport", "window_counts"),
    },
}
"""By law: keys of ``cc``, and the scheme's keys that are the same quantity."""


def unused(spec: Mapping[str, Any]) -> list[str]:
    """Keys of ``cc`` that were changed and that packets know nothing of.

    Args:
        spec: resolved, see `planning.load`.
    """
    cc, scheme = spec["cc"], spec["cc"]["scheme"]
    is_own = cc["law"] == LAWS.get(scheme)
    preset = scheme if is_own else SCHEMES.get(scheme)
    if preset is None:
        return []
    usual = planning.load({**spec, "cc": preset})["cc"]
    used = {*CARRIED[cc["law"]], "payload", "header"} if is_own else set()
    return [f"cc.{key}" for key in cc if key not in used and cc[key] != usual[key]]


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
    tables: dict[str, dict[str, Any]] = {"transport": {}, "port": _port(spec, names)}
    packet = PACKET
    if scheme is None and spec["cc"]["law"] == LAWS[chosen]:
        cc = spec["cc"]
        for key, (table, name) in CARRIED[cc["law"]].items():
            tables[table][name] = cc[key]
        packet = PACKET | _packet(cc)
    return {
        "name": spec["name"],
        "seed": spec["seed"],
        "packet": packet,
        "topology": {
            "kind": "star",
            "senders": SENDERS,
            "host_rate": network["link"],
            "base_rtt": {"value": network["rtt"], "includes": "propagation"},
        },
        "traffic": {"trace": str(trace)},
        "measure": {"fct_ends": network["fct_ends"]},
        "scheme": {"preset": chosen, **tables, "nic": {"discipline": "fifo"}},
    }


def _packet(cc: Mapping[str, Any]) -> dict[str, str]:
    """The packets of the model's congestion control `cc`, telemetry apart."""
    header = planning.size_bytes(cc["header"]) - (INT if cc["law"] == "hpcc" else 0)
    if header < 0:
        raise SpecError("cc.header", f"{cc['header']} is less than the telemetry, {INT}B")
    return {"payload": cc["payload"], "header": f"{header:.0f}B"}


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
    spec: Mapping[str, Any],
    drawn: pl.DataFrame,
    scheme: str | None = None,
    told: Told | None = None,
) -> tuple[pl.DataFrame, Result]:
    """Run flows packet by packet.

    Args:
        spec: resolved, see `planning.load`.
        drawn: what `planning.flows` returns.
        scheme: instead of ``cc.scheme``.
        told: how far it has come; what it raises ends it.

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
        result = run(scenario(spec, trace, names, scheme), progress=told)
        fcts = result.flows["fct_s"]
    ideals = drawn["fct_s"] / drawn["slowdown"]
    return drawn.with_columns(fct_s=fcts, slowdown=fcts / ideals), result
