"""What was found, read from where it was saved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from fctlab import readable
from fctlab.errors import SpecError
from fctlab.export.form import NIC
from fctlab.export.types import Advice, Cuts, Share, Tier, Unit
from fctlab.fabric import saved as fabric
from fctlab.fabric.asked import Asked
from fctlab.fabric.types import FabricPlan
from fctlab.results import kinds
from fctlab.scenario import Scenario
from fctlab.slo import planning, saved
from fctlab.slo.types import Plan
from fctlab.tuning.types import Mapping, Thresholds

KNOWN = (
    "a directory of `fctlab plan --out` or `fctlab fabric plan --out`, of a run with thresholds, "
    "or a file of `fctlab thresholds --json` or `fctlab mapping --out`"
)
BAND = "band-%d"
"""A class of thresholds: ``band-0`` is served first."""
MOST_WEIGHT = 100
"""As `fctlab plan` has them."""
MARKS = ("dctcp",)
"""Laws of the link model whose ``thresh`` is where packets are marked."""


def read(place: Path) -> Advice:
    """What was found.

    Args:
        place: a directory or file, see `KNOWN`.

    Raises:
        SpecError: it is none of them, or not what fctlab writes there.
    """
    if not place.exists():
        raise SpecError(str(place), f"no such file or directory; RESULT is {KNOWN}")
    if place.is_dir():
        kind = kinds.kind_of(place)
        if kind is kinds.PLAN:
            return _plan(place)
        if kind is kinds.FABRIC_PLAN:
            return _fabric(place)
        if kind is kinds.RUN:
            return _run(place)
        held = f"holds a {kind.name}" if kind else "holds no result of fctlab's"
        raise SpecError(str(place), f"{held}; RESULT is {KNOWN}")
    try:
        found = kinds.read_json(place)
    except SpecError as error:
        raise SpecError(error.path, f"{error.message}; RESULT is {KNOWN}") from None
    for key, reader in _FILES.items():
        if key in found:
            try:
                return reader(str(place), found)
            except msgspec.ValidationError as error:
                raise SpecError(str(place), f"is not what fctlab writes: {error}") from None
    raise SpecError(str(place), f"holds neither thresholds nor a mapping; RESULT is {KNOWN}")


def _plan(place: Path) -> Advice:
    weights = saved.read(Plan, place).plan.weights
    spec = planning.load(place / kinds.SPECIFICATION)
    if len(weights) != len(spec["classes"]):
        classes = len(spec["classes"])
        raise SpecError(str(place), f"has {len(weights)} weights for {classes} classes")
    for weight in weights:
        if not 1 <= weight <= MOST_WEIGHT:
            raise SpecError(str(place), f"has a weight of {weight}, not in [1, {MOST_WEIGHT}]")
    shares = tuple(
        Share(each["name"], weight, tuple(each.get("dscp", ())))
        for each, weight in zip(spec["classes"], weights, strict=True)
    )
    marks = spec["cc"]["law"] in MARKS
    return Advice(
        source=str(place),
        shares=shares,
        spec=spec,
        mark_bytes=round(planning.thresh_bytes(spec)) if marks else None,
        link=spec["network"]["link"],
    )


def _fabric(place: Path) -> Advice:
    found = fabric.read(FabricPlan, place)
    if not found.advice:
        raise SpecError(str(place), f"advises nothing: {found.why}")
    tiers = dict(_tiers(found))
    shares = zip(found.names, found.weights, found.dscp, strict=True)
    lengths = [tier.mark_bytes for tier in tiers.values() if tier.mark_bytes is not None]
    return Advice(
        source=str(place),
        shares=tuple(Share(name, weight, codes) for name, weight, codes in shares),
        mark_bytes=min(lengths, default=None),
        tiers=tiers,
    )


def _tiers(found: FabricPlan) -> Iterator[tuple[str, Tier]]:
    """What each tier is told, marks at the length that they have at the rate of its ports."""
    asked = Asked(Scenario(found.scenario).resolve())
    scheme = asked.tables["scheme"]
    for tier in asked.offered:
        side, bps = asked.sides[tier["tier"]], tier["rate_bps"]
        if side in found.tiers:
            own = scheme.get("ports", {})
            port = own.get(side, own.get(tier["tier"], scheme["port"]))
            length = (scheme["nic"] if side == NIC else port).get("ecn_threshold", "none")
            marks = None if length == "none" else asked.prepared.bytes_at(length, bps)
            yield side, Tier(found.tiers[side], marks, f"{bps / 1e9:g}Gbps")


def _run(place: Path) -> Advice:
    """Thresholds that a run ended with (AWAFS), or that it had (PIAS)."""
    scenario, _ = kinds.read_run(place)
    scheme = scenario["scheme"]
    if scheme.get("tagger", {}).get("kind") != "sent":
        raise SpecError(str(place), "its scheme has no thresholds on bytes sent, which hosts tag")
    fixed = scheme["port"]["discipline"].get("thresholds")
    series = place / kinds.RECORDINGS / kinds.PORT_SERIES
    cuts = _last(series) if series.is_file() else fixed
    if not cuts:
        raise SpecError(
            str(place), "has no thresholds; those that follow flows are in a run with record.ports"
        )
    return _bands(str(place), "bytes sent", [round(cut) for cut in cuts])


def _last(series: Path) -> list[float]:
    """The last thresholds that ports had: of each queue, the median over ports."""
    import polars as pl

    with readable.one_error(str(series)):
        table = pl.read_parquet(series, columns=["time_s", "port", "queue", "up_to"])
    table = table.filter(pl.col("up_to").is_not_null())
    last = table.sort("time_s").group_by("port", "queue").agg(pl.col("up_to").last())
    return last.group_by("queue").agg(pl.col("up_to").median()).sort("queue")["up_to"].to_list()


def _thresholds(source: str, found: dict[str, Any]) -> Advice:
    told = msgspec.convert(found, Thresholds)
    return _bands(source, "bytes sent", told.thresholds_bytes)


def _mapping(source: str, found: dict[str, Any]) -> Advice:
    told = msgspec.convert(found, Mapping)
    tables = told.thresholds
    if not isinstance(tables, dict):
        return _bands(source, "priority", tables)
    if told.scope != "switch":
        raise SpecError(
            source,
            f"has thresholds for each {told.scope}, and a switch is told one map; compute it with "
            "--scope switch or global",
        )
    lengths = {len(cuts) for cuts in tables.values()}
    if len(lengths) != 1 or 0 in lengths:
        raise SpecError(source, "has not as many thresholds for each switch, one at least")
    for name, cuts in tables.items():
        if list(cuts) != sorted(cuts) or cuts[0] < 0:
            raise SpecError(
                source, f"its thresholds {list(cuts)} of {name!r:.40} are not ascending"
            )
    shares = tuple(Share(BAND % i, None) for i in range(lengths.pop() + 1))
    return Advice(source=source, shares=shares, places=dict(tables))


def _bands(source: str, unit: Unit, values: tuple[int, ...] | list[int]) -> Advice:
    ascending = tuple(dict.fromkeys(values))
    if not ascending or list(ascending) != sorted(ascending) or ascending[0] < 0:
        raise SpecError(source, f"its thresholds {list(values)} are not ascending")
    shares = tuple(Share(BAND % i, None) for i in range(len(ascending) + 1))
    return Advice(source=source, shares=shares, cuts=Cuts(unit, ascending))


_FILES: dict[str, Callable[[str, dict[str, Any]], Advice]] = {
    "fctlab_mapping": _mapping,
    "thresholds_bytes": _thresholds,
}
"""By a key that tells it, what reads a file."""
