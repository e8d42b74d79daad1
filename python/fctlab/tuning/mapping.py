"""Static mappings from priorities to queues, computed from the values that ports have seen.

ADS, section 3.3: "We simulate the static scheme by recording the priority values seen by each
switch when running true SRPT with the corresponding workload and then using the equal-split
heuristic to compute the priority mapping."
"""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from fctlab import _native, choices, readable
from fctlab.errors import SpecError
from fctlab.results import kinds, store
from fctlab.tuning.types import Cuts, Mapping, Scope

if TYPE_CHECKING:
    import polars as pl

VALUES = "values.parquet"
MTU_BITS = 1500 * 8


def compute_mapping(
    result: str | PathLike[str],
    queues: int,
    *,
    policy: str | dict[str, Any] = "equal-split",
    scope: Scope = "switch",
) -> Mapping:
    """The thresholds that a policy derives from a run's recorded values.

    Args:
        result: directory of a run with ``[record.values]``.
        queues: how many to divide values among.
        policy: a mapping policy, by name or as a table (``fctlab list mappings``).
        scope: one list of thresholds for each switch and host, each port, or for all.

    Returns:
        What a mapping file holds. A scheme refers to such a file by
        ``discipline = {kind = "mapped", mapping = {kind = "static", file = ...}}``.

    Raises:
        SpecError: nothing was recorded, or a parameter makes no sense.
    """
    choices.check("scope", scope, get_args(Scope), "a scope")
    if not 1 <= queues <= 64:
        raise SpecError("queues", f"{queues} is not in [1, 64]")
    scenario, _ = kinds.read_run(Path(result))
    file = Path(result) / kinds.RECORDINGS / VALUES
    if not file.exists():
        raise SpecError(str(result), f"has no {VALUES}; run it with --set record.values={{}}")
    values = _recorded(file)
    if not values["packets"].sum():
        raise SpecError(str(file), "is empty: no port has seen any data")
    text = json.dumps(policy)
    key = {"switch": "node", "port": "port", "global": None}[scope]
    thresholds: Cuts | dict[str, Cuts]
    if key is None:
        thresholds = _thresholds(values, queues, text)
    else:
        parts = values.partition_by(key, as_dict=True, maintain_order=True)
        # Ports that saw nothing, such as those of hosts that sent nothing: as all together.
        thresholds = {
            str(name): _thresholds(part if part["packets"].sum() else values, queues, text)
            for (name,), part in parts.items()
        }
    said = {}
    for name in ("name", "topology", "seed"):
        if name not in scenario:
            raise SpecError(str(Path(result) / kinds.SCENARIO), f"has no {name}")
        said[name] = scenario[name]
    return Mapping(
        fctlab_mapping=1,
        queues=queues,
        policy=policy,
        scope=scope,
        scenario=said["name"],
        topology=said["topology"],
        seed=said["seed"],
        span_s=values["span_s"][0],
        packets=int(values["packets"].sum()),
        thresholds=thresholds,
    )


def save_mapping(mapping: Mapping, file: str | PathLike[str], *, force: bool = False) -> None:
    """Write a mapping file, whole or not at all.

    Raises:
        OutputError: the file cannot be written, or there is one that is no mapping (`force`
            overwrites it).
    """
    output(file, force=force).write(as_json(mapping))


def output(file: str | PathLike[str], *, force: bool = False) -> store.FileOutput:
    """The mapping file to be: checked now, written later."""
    return store.FileOutput(file, lambda old: b"fctlab_mapping" in old, force=force)


def as_json(mapping: Mapping) -> str:
    """What the file holds."""
    return json.dumps(mapping.to_dict(), indent=1) + "\n"


COLUMNS = ("node", "port", "value", "packets", "rate_bps", "span_s")


def _recorded(file: Path) -> pl.DataFrame:
    """The values that ports have seen.

    Raises:
        SpecError: the file cannot be read, or lacks a column or a number.
    """
    import polars as pl

    with readable.one_error(str(file), "cannot be read as Parquet: "):
        values = pl.read_parquet(file)
    for name in COLUMNS:
        if name not in values.columns:
            raise SpecError(str(file), f"has no column {name}; it has {', '.join(values.columns)}")
        if values[name].null_count():
            raise SpecError(str(file), f"column {name} has empty values")
    for name in COLUMNS[2:]:
        if not values[name].dtype.is_numeric():
            kind = values[name].dtype
            raise SpecError(str(file), f"column {name} holds {kind}, not numbers")
    low: Any = values["value"].min()
    if len(values) and low < 0:
        raise SpecError(str(file), f"column value has {low}; values are 0 and more")
    return values


def _thresholds(values: pl.DataFrame, queues: int, policy: str) -> Cuts:
    import polars as pl

    counts = [0] * (int(values["value"].max()) + 1)  # type: ignore[arg-type]
    for value, packets in values.group_by("value").agg(pl.col("packets").sum()).iter_rows():
        counts[value] = packets
    ports = values.unique("port")
    capacity = float((ports["rate_bps"] * ports["span_s"]).sum()) / MTU_BITS
    return tuple(_native.map_values(counts, capacity, queues, policy))
