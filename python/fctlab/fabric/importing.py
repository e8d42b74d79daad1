"""`import`: flow logs become a scenario whose flows are windows of the log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fctlab.errors import SpecError
from fctlab.fabric import accuracy, cutting, hosts, samples, underway
from fctlab.fabric.asked import Asked, load
from fctlab.fabric.cutting import PICKS
from fctlab.fabric.types import FabricImport, ImportedClass, ImportedWindow
from fctlab.formats import TIMES, seconds, time_s
from fctlab.scenario import Scenario, ScenarioLike, load_scenario
from fctlab.slo import clock, flowlog

if TYPE_CHECKING:
    import polars as pl

CLASS_KEYS = ("class", "dscp", "slis", "slo")
"""What a class of a trace has."""
MEASURE_KEYS = ("fct_ends", "extras")
"""What a scenario says of measuring that holds for windows, too."""


@dataclass(frozen=True)
class Wanted:
    """What is wanted of a log.

    Attributes:
        columns: of the log, where they are to be named.
        names: what to call its classes, by DSCP or by what the log calls them.
        hosts: a CSV file of ``address,host``.
        sampled: shares of flows that it has, see `samples.Rates`; ``None`` for weights in the log.
        windows: which to take, of `cutting.PICKS`.
        window: how long each is, such as ``100ms``; ``None`` for about `cutting.FLOWS` flows.
        seed: of what is drawn: random windows, flows that were not recorded.
    """

    columns: flowlog.Columns | None = None
    names: Mapping[str, str] | None = None
    hosts: str | PathLike[str] | None = None
    sampled: str | None = None
    windows: Sequence[str] = PICKS
    window: str | None = None
    seed: int = 1


def imported(
    logs: Sequence[str | PathLike[str]],
    topology: ScenarioLike,
    folder: Path,
    wanted: Wanted | None = None,
    sets: Iterable[str] = (),
) -> FabricImport:
    """Write windows of flow logs as traces.

    Args:
        logs: files of one clock, see `flowlog.read`.
        topology: a scenario: its topology, its scheme, and what is asked of which class. Whatever
            else its traffic says is left out.
        folder: that gets a trace per window.
        wanted: of the logs.
        sets: changes ``path=value`` of the scenario.

    Returns:
        What was done; its scenario names the traces without the folder.

    Raises:
        SpecError: a mistake in a log or in the scenario; hosts or classes of the log that the
            scenario does not have; a clock that jumps.
    """
    wanted = wanted or Wanted()
    written = load_scenario(topology).with_sets(list(sets))
    bare, places = _places(written)
    flows, notes = _read(logs, wanted)
    told = ", ".join(Path(log).name for log in logs)
    known = hosts.known(places.tables["topology"], len(places.rack_of), wanted.hosts)
    flows = hosts.placed(flows, known, told)
    inside = flows["src"] == flows["dst"]
    if inside.any():
        notes.append(f"flows from a host to itself are left out: {inside.sum():,}")
        flows = flows.filter(~inside)
    classes = _classes(bare)
    flows = _sorted(_named(flows, classes, told), told)
    length = None if wanted.window is None else _time("window", wanted.window)
    cuts = cutting.cut(flows, wanted.windows, length, max(accuracy.rates(places)), wanted.seed)
    windows = []
    for number, cut in enumerate(cuts):
        rest = underway.resumed(flows, cut, wanted.seed)
        frame = _window(flows, rest, cut, places, wanted.seed)
        windows.append(_written(frame, len(rest), cut, folder / f"window-{number}.parquet"))
    scenario = _scenario(bare, classes, cuts[0].length_s, folder / windows[0].file)
    asked = load(scenario)
    tables = dict(asked.tables)
    tables["traffic"] = {**tables["traffic"], "trace": windows[0].file}
    return FabricImport(
        warnings=tuple(asked.prepared.warnings),
        name=asked.name,
        notes=tuple(notes),
        records=len(flows),
        flows=round(float(flows["weight"].sum())),
        windows=tuple(windows),
        classes=tuple(_counted(flows, each.name) for each in asked.classes),
        scenario=tables,
    )


def _places(written: Scenario) -> tuple[Scenario, Asked]:
    """The scenario without traffic and with any, by which its hosts are known."""
    nothing = {"workload": {"kind": "fixed", "size": "1KB"}, "load": 0.1, "flows": 1}
    measure = {k: v for k, v in (written.value.get("measure") or {}).items() if k in MEASURE_KEYS}
    value = {**written.value, "measure": measure, "engine": "fluid"}
    bare = replace(written, value=value)
    return bare, Asked(replace(bare, value={**value, "traffic": nothing}).resolve())


def _read(logs: Sequence[str | PathLike[str]], wanted: Wanted) -> tuple[pl.DataFrame, list[str]]:
    """The flows of all logs, on one clock, with weights."""
    import polars as pl

    rates = None if wanted.sampled is None else samples.Rates.read(wanted.sampled)
    read = [flowlog.read(log, wanted.columns, wanted.names) for log in logs]
    if not read:
        raise SpecError("logs", "there is none; name a flow log")
    first = min(log.first_s for log in read)
    frames, notes = [], list[str]()
    for log in read:
        _check_clock(log)
        flows = log.flows.with_columns(pl.col("start_s") + (log.first_s - first))
        if rates is not None:
            if "weight" in flows.columns:
                raise SpecError("sampled", f"{log.file} has weights of its own; leave it out")
            shares = rates.shares(flows["bytes"].to_numpy().astype(float))
            flows = flows.with_columns(pl.Series("weight", 1 / shares))
        elif "weight" not in flows.columns:
            flows = flows.with_columns(weight=pl.lit(1.0))
        missing = [pl.lit(None, pl.Float64).alias("duration_s")]
        flows = flows if "duration_s" in flows.columns else flows.with_columns(missing)
        frames.append(flows.with_columns(packets=pl.lit(log.packets)))
        notes += [note for note in log.notes if note not in notes]
    return pl.concat(frames, how="diagonal"), notes


def _check_clock(log: flowlog.FlowLog) -> None:
    if log.jump:
        raise SpecError(str(log.file), f"its clock was set back: {log.jump}; cut the log there")
    silent = clock.silence(log.flows["start_s"])
    if silent is not None:
        begin, end = map(seconds, silent)
        said = (
            f"no flow starts between {begin} and {end} from its first: its clock was set forward, "
        )
        raise SpecError(str(log.file), said + "or it is two logs; cut it there")


def _sorted(flows: pl.DataFrame, log: str) -> pl.DataFrame:
    import polars as pl

    if not len(flows):
        raise SpecError(log, "has no flow between two hosts")
    flows = flows.sort("start_s", maintain_order=True)
    return flows.with_columns(pl.col("start_s") - pl.col("start_s").min())


def _classes(bare: Scenario) -> list[dict[str, Any]]:
    """What the scenario asks of which class."""
    traffic = bare.value.get("traffic") or {}
    classes = traffic.get("classes") if isinstance(traffic, Mapping) else None
    if not classes:
        said = "is missing; write class, dscp, slis and slo of each class of the log"
        raise SpecError("traffic.classes", said)
    return [{key: each[key] for key in CLASS_KEYS if key in each} for each in classes]


def _named(flows: pl.DataFrame, classes: Sequence[Mapping[str, Any]], log: str) -> pl.DataFrame:
    """The flows with the scenario's names of classes."""
    import polars as pl

    names = [str(each.get("class", "")) for each in classes]
    codes = {
        code: name
        for each, name in zip(classes, names, strict=True)
        for code in each.get("dscp", ())
    }
    keys = ["class", *(["dscp"] if "dscp" in flows.columns else [])]
    called: dict[tuple[Any, ...], str] = {}
    for key in flows.select(keys).unique(maintain_order=True).iter_rows():
        name, code = key[0], key[-1]
        if name in names:
            called[key] = name
        elif code in codes:
            called[key] = codes[code]
        elif name == "all" and len(names) == 1:
            called[key] = names[0]
        else:
            raise SpecError(log, _unknown(flows, name, classes))
    column = [called[key] for key in flows.select(keys).iter_rows()]
    return flows.with_columns(pl.Series("class", column, pl.String))


def _unknown(flows: pl.DataFrame, name: str, classes: Sequence[Mapping[str, Any]]) -> str:
    count = int((flows["class"] == name).sum())
    known = ", ".join(f"{each.get('class')} (DSCP {_listed(each)})" for each in classes)
    if name == "all":
        return f"does not say of which class a flow is; the scenario's are {known}"
    return (
        f"class {name} ({count:,} flows) is none of the scenario's, {known}: add it to "
        f"traffic.classes, or name one with --names"
    )


def _listed(each: Mapping[str, Any]) -> str:
    return " ".join(map(str, each.get("dscp", ()))) or "none"


def _window(
    flows: pl.DataFrame, rest: pl.DataFrame, cut: cutting.Cut, places: Asked, seed: int
) -> pl.DataFrame:
    """The flows of a window, from 0 on: those of the log, those that it lacks, and the `rest`."""
    import polars as pl

    end = cut.begin_s + cut.length_s
    inside = flows.filter((pl.col("start_s") >= cut.begin_s) & (pl.col("start_s") < end))
    inside = inside.with_columns(pl.col("start_s") - cut.begin_s)
    if (inside["weight"] > 1).any():
        inside = samples.expanded(inside, len(places.rack_of), cut.length_s, seed)
    inside = pl.concat([rest, inside]).sort("start_s", maintain_order=True)
    base = places.tables["base_rtt_s"]
    delivery = places.tables["measure"]["fct_ends"] == "delivery"
    late = pl.when("packets").then(base * (0.5 if delivery else 1.0)).otherwise(0.0)
    return inside.select(
        "start_s",
        "src",
        "dst",
        pl.col("bytes").alias("size_bytes"),
        pl.col("class").alias("traffic_class"),
        (pl.col("duration_s") + late).alias("fct_s"),
    )


def _written(frame: pl.DataFrame, under_way: int, cut: cutting.Cut, file: Path) -> ImportedWindow:
    frame.write_parquet(file)
    return ImportedWindow(
        pick=cut.pick,
        file=file.name,
        begin_s=cut.begin_s,
        length_s=cut.length_s,
        flows=len(frame),
        under_way=under_way,
        bytes=float(frame["size_bytes"].sum()),
    )


def _scenario(
    bare: Scenario, classes: Sequence[Mapping[str, Any]], length_s: float, trace: Path
) -> Scenario:
    traffic = {"trace": str(trace.absolute()), "classes": classes}
    warmup = f"{round(cutting.WARMUP * length_s / TIMES['ns'])}ns"
    measure = {**bare.value["measure"], "warmup": warmup}
    return replace(bare, value={**bare.value, "traffic": traffic, "measure": measure})


def _counted(flows: pl.DataFrame, name: str) -> ImportedClass:
    import polars as pl

    bytes_ = pl.col("bytes") * pl.col("weight")
    own = flows.filter(pl.col("class") == name)
    of = own.select(bytes_.sum()).item() / flows.select(bytes_.sum()).item()
    return ImportedClass(
        name=name,
        records=len(own),
        flows=round(float(own["weight"].sum())),
        share_of_bytes=float(of),
    )


def _time(path: str, text: str) -> float:
    """A time such as ``100ms``, in seconds."""
    try:
        found = time_s(text.strip())
        if found > 0:
            return found
    except (StopIteration, ValueError):
        pass
    raise SpecError(path, f"{text!r} is not a time above 0, such as 100ms")
