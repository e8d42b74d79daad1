"""Windows: the scenario under seeds of their own, so long as `lengths` has it.

Nothing that is chosen on some flows is judged on them: each purpose has its own seeds, from the
scenario's on. Window k of a purpose is what ``fctlab run SPEC --set seed=N`` runs, N as below.
Windows of a trace are its files: every other one for what is chosen, those between for judging
that, and all for whatever else.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from fctlab.errors import SpecError
from fctlab.fabric.asked import Asked
from fctlab.fabric.types import Engine, Runs
from fctlab.formats import time_s
from fctlab.jobs import Job, Told, cores, run_jobs
from fctlab.results.result import Result, simulate
from fctlab.scenario import Scenario

if TYPE_CHECKING:
    import polars as pl

Purpose: TypeAlias = Literal["predict", "search", "judge", "verify", "warm-up"]
FIRST: dict[Purpose, int] = {
    "predict": 0,
    "search": 1000,
    "judge": 2000,
    "verify": 3000,
    "warm-up": 4000,
}
"""The seed of the first window, counted from the scenario's."""

LOGGED = "fct_s"
"""The column of a trace that has FCTs as they were measured."""


def seeds(asked: Asked, purpose: Purpose, count: int) -> list[int]:
    """Of the first windows of a purpose; of a trace there are no more than it has."""
    if asked.traces:
        count = min(count, len(_traces(asked, purpose)))
    return [asked.seed + FIRST[purpose] + number for number in range(count)]


def _traces(asked: Asked, purpose: Purpose) -> Sequence[Path]:
    """A trace's files for a purpose."""
    if len(asked.traces) == 1 or purpose in ("predict", "verify"):
        return asked.traces
    return asked.traces[purpose == "judge" :: 2]


def _tables(asked: Asked, seed: int) -> dict[str, Any]:
    """The scenario in a window."""
    tables = asked.tables | {"seed": seed}
    if len(asked.traces) > 1:
        far = seed - asked.seed
        purpose = max((each for each in FIRST if FIRST[each] <= far), key=FIRST.__getitem__)
        trace = _traces(asked, purpose)[far - FIRST[purpose]]
        tables["traffic"] = tables["traffic"] | {"trace": str(trace)}
    return tables


@dataclass(frozen=True)
class Windows:
    """The measured flows of several windows.

    Attributes:
        flows: ``window``, ``class`` (its place), ``start`` (in windows, all one after the other),
            ``size_bytes``, ``fct_s``, ``slowdown``, ``src`` and ``dst`` of each that finished;
            ``log_s``, its FCT as the log has it, or null.
        engine: that ran them.
        seeds: of each window.
        unfinished: measured flows that had not finished when a run ended.
        length_s: from the first measured flow's start to the last one's, on average.
        waits: bytes times seconds of waiting, by tier and link; empty of packets.
        cpu_s: of all runs.
    """

    flows: pl.DataFrame
    engine: Engine
    seeds: tuple[int, ...]
    unfinished: int
    length_s: float
    waits: Mapping[tuple[str, str], float] = field(default_factory=dict)
    cpu_s: float = 0.0

    def with_more(self, other: Windows) -> Windows:
        """These windows, and `other` after them."""
        import polars as pl

        later = [pl.col(name) + len(self.seeds) for name in ("window", "start")]
        flows = pl.concat([self.flows, other.flows.with_columns(later)])
        places = {**self.waits, **other.waits}
        waits = {at: self.waits.get(at, 0.0) + other.waits.get(at, 0.0) for at in places}
        return Windows(
            flows,
            self.engine,
            (*self.seeds, *other.seeds),
            self.unfinished + other.unfinished,
            (self.length_s * len(self.seeds) + other.length_s * len(other.seeds))
            / (len(self.seeds) + len(other.seeds)),
            waits,
            self.cpu_s + other.cpu_s,
        )

    def only(self, window: int) -> Windows:
        """One of them."""
        import polars as pl

        flows = self.flows.filter(pl.col("window") == window)
        flows = flows.with_columns(pl.col("start") - window)
        seeds = self.seeds[window : window + 1]
        return Windows(flows, self.engine, seeds, self.unfinished, self.length_s)

    def table(self, chosen: pl.DataFrame | None = None) -> bytes:
        """Flows as the engine takes them."""
        import polars as pl

        table = io.BytesIO()
        numbers = pl.col("start", "size_bytes", "fct_s", "slowdown").cast(pl.Float64)
        flows = self.flows if chosen is None else chosen
        flows.select(pl.col("class").cast(pl.UInt16), numbers).write_ipc_stream(table)
        return table.getvalue()


def run(asked: Asked, numbers: Sequence[int], told: Told | None = None) -> Windows:
    """Run a scenario under seeds, on all cores.

    Args:
        asked: the scenario, with its engine.
        numbers: the seeds.
        told: called with (windows that are over, their flows).
    """
    return run_all([asked], numbers, told)[0]


def run_all(
    scenarios: Sequence[Asked], numbers: Sequence[int], told: Told | None = None
) -> list[Windows]:
    """The same of several scenarios, all on the same seeds."""
    jobs = [
        Job(f"{place}, seed {seed}", _simulated, _tables(of, seed))
        for place, of in enumerate(scenarios)
        for seed in numbers
    ]
    order = {id(job): number for number, job in enumerate(jobs)}
    found: dict[int, Result] = {}

    def tick() -> None:
        if told is not None:
            flows = sum(result.counters["flows_started"] for result in found.values())
            told((len(found), flows))

    for job, result in run_jobs(jobs, cores(), tick=tick):
        found[order[id(job)]] = result
    count = len(numbers)
    return [
        _windows(of, numbers, [found[place * count + k] for k in range(count)])
        for place, of in enumerate(scenarios)
    ]


def told_of(asked: Asked, seeds: Sequence[int], all_windows: Sequence[Windows]) -> Runs:
    """What was simulated.

    Args:
        asked: the scenario.
        seeds: of its windows.
        all_windows: each run of them, with whatever changes.
    """
    return Runs(
        engine=all_windows[0].engine,
        seeds=tuple(seeds),
        flows=sum(len(each.flows) for each in all_windows),
        warmup_s=time_s(asked.tables["measure"]["warmup"]),
        warmup_found=asked.warmup == "found",
        cpu_s=sum(each.cpu_s for each in all_windows),
    )


def _simulated(tables: Mapping[str, Any], told: Told) -> Result:
    if tables["engine"]["kind"] == "fluid":
        measure = tables["measure"]
        extras = [*(each for each in measure["extras"] if each != "waits"), "waits"]
        tables = {**tables, "measure": {**measure, "extras": extras}}
    return simulate(Scenario(tables).resolve(), None, told)


def _windows(asked: Asked, numbers: Sequence[int], results: Sequence[Result]) -> Windows:
    import polars as pl

    names = [each.name for each in asked.classes]
    frames, unfinished, waits = [], 0, dict[tuple[str, str], float]()
    lengths_s: list[float] = []
    for number, result in enumerate(results):
        measured = _beside_log(asked, numbers[number], result.flows).filter(pl.col("measured"))
        unfinished += int((~measured["finished"]).sum())
        flows = measured.filter(pl.col("finished"))
        first, last = measured["start_s"].min(), measured["start_s"].max()
        lengths_s.append(last - first)  # type: ignore[operator, arg-type]
        # The last flow is in the window, not behind it.
        span = (pl.col("start_s") - first) / (last - first) * (1 - 1e-9)  # type: ignore[operator]
        place = pl.col("traffic_class").cast(pl.String)
        place = place.replace_strict(names, range(len(names)), return_dtype=pl.UInt16)
        frames.append(
            flows.select(
                pl.lit(number).alias("window"),
                place.alias("class"),
                (number + span.fill_nan(0.0)).alias("start"),
                *("size_bytes", "fct_s", "slowdown", "src", "dst", "log_s"),
            )
        )
        for row in result.extras.get("waits", ()):
            at = row["tier"], row["link"]
            waits[at] = waits.get(at, 0.0) + row["byte_seconds"]
    cpu_s = sum(result.perf["cpu_s"] for result in results)
    engine = asked.tables["engine"]["kind"]
    length_s = sum(lengths_s) / len(lengths_s)
    return Windows(pl.concat(frames), engine, tuple(numbers), unfinished, length_s, waits, cpu_s)


def _beside_log(asked: Asked, seed: int, flows: pl.DataFrame) -> pl.DataFrame:
    """The flows with the FCTs that their log has, if it has any."""
    import polars as pl

    nothing = pl.lit(None, pl.Float64).alias("log_s")
    trace = Path(_tables(asked, seed)["traffic"]["trace"]) if asked.traces else None
    if trace is None or trace.suffix != ".parquet":
        return flows.with_columns(nothing)
    if LOGGED not in pl.read_parquet_schema(trace):
        return flows.with_columns(nothing)
    logged = pl.read_parquet(trace, columns=[LOGGED])[LOGGED].cast(pl.Float64)
    # Flows are numbered in the order of the trace.
    return flows.with_columns(logged.gather(flows["flow"]).alias("log_s"))


def flows_of(trace: Path) -> pl.DataFrame:
    """The flows of a trace: ``start_s``, ``src``, ``dst``, ``size_bytes``, ``traffic_class``.

    Raises:
        SpecError: it is not in Parquet, or has no classes.
    """
    import polars as pl

    if trace.suffix != ".parquet":
        raise SpecError("traffic.trace", f"{trace} is not in Parquet, as imported traces are")
    columns = ["start_s", "src", "dst", "size_bytes", "traffic_class"]
    return pl.read_parquet(trace, columns=columns)
