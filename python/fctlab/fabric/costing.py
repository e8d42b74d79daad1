"""What sampling a log costs: SLIs of its flows beside those of a sample that was expanded."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from fctlab.errors import SpecError
from fctlab.fabric import judging, samples, windows
from fctlab.fabric.asked import Asked, load
from fctlab.fabric.types import FabricSampling, SampledSli
from fctlab.jobs import Told
from fctlab.scenario import Scenario, ScenarioLike

TRIES = 3


def sampling(
    spec: ScenarioLike,
    rates: str,
    *,
    sets: Iterable[str] = (),
    tries: int = TRIES,
    told: Told | None = None,
) -> FabricSampling:
    """Sample the flows of a trace, expand them, and predict both on the fluid.

    Args:
        spec: a scenario of a trace, whose flows are taken for all that there are.
        rates: shares of flows by size, see `samples.Rates`.
        sets: changes ``path=value``.
        tries: samples that are drawn.
        told: called with (windows that are over, their flows).

    Raises:
        SpecError: a mistake; flows that are drawn, not those of a trace.
    """
    if tries < 1:
        raise SpecError("tries", f"{tries} is not at least 1")
    read, asked = samples.Rates.read(rates), load(spec, sets)
    if not asked.traces:
        said = "is missing; fctlab fabric import makes a scenario of the flows of a log"
        raise SpecError("traffic.trace", said)
    with tempfile.TemporaryDirectory() as folder:
        made, records = [], 0
        for number in range(tries):
            other, kept = _sampled(asked, read, number, Path(folder))
            made.append(other)
            records += kept
        seeds = windows.seeds(asked, "predict", len(asked.traces))
        runs = windows.run_all([asked, *made], seeds, told)
    found = [[sli for each in judging.judge(asked, run) for sli in each.slis] for run in runs]
    names = [(each.name, sli["name"]) for each in asked.classes for sli in each.slis]
    return FabricSampling(
        warnings=(),
        name=asked.name,
        rates=read.above,
        flows=sum(len(windows.flows_of(trace)) for trace in asked.traces),
        records=records / tries,
        slis=tuple(
            SampledSli(
                traffic_class=name,
                sli=sli,
                attr=found[0][k].attr,
                all_flows=found[0][k].value,
                flows=found[0][k].flows,
                sampled=tuple(each[k].value for each in found[1:]),
            )
            for k, (name, sli) in enumerate(names)
        ),
        runs=windows.told_of(asked, runs[0].seeds, runs[:1]),
    )


def _sampled(asked: Asked, rates: samples.Rates, number: int, folder: Path) -> tuple[Asked, int]:
    """The scenario with flows of a sample, and how many were recorded."""
    import polars as pl

    records = 0
    named = {"size_bytes": "bytes", "traffic_class": "class"}
    for window, trace in enumerate(asked.traces):
        flows = windows.flows_of(trace).rename(named)
        seed = asked.seed + 1000 * number + window
        thin = samples.thinned(flows, rates, seed)
        records += len(thin)
        until: float = flows["start_s"].max()  # type: ignore[assignment]
        whole = samples.expanded(thin, len(asked.rack_of), until * (1 + 1e-9), seed)
        columns = ["start_s", "src", "dst", *named]
        back = whole.rename({new: old for old, new in named.items()}).select(columns)
        back.with_columns(pl.col("src", "dst").cast(pl.UInt32)).write_parquet(
            folder / f"{number}-{window}.parquet"
        )
    traffic = {**asked.tables["traffic"], "trace": str(folder / f"{number}-0.parquet")}
    return Asked(Scenario({**asked.tables, "traffic": traffic}).resolve()), records
