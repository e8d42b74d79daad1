"""Commands for SLOs without priorities: ``fctlab predict``, ``plan``, ``provision``, ..."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

import typer
from rich.console import RenderableType

from fctlab.answers import Answer
from fctlab.cli.terminal import AsJson, Force, output, say, show, show_json
from fctlab.errors import SpecError
from fctlab.slo import planning

Found = TypeVar("Found", bound=Answer)

SpecFile = Annotated[
    Path, typer.Argument(metavar="SPEC", help="A file in TOML, YAML, JSON or Dhall.")
]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="PATH=VALUE", help="What if: classes.web.load=+20%; may be repeated."
    ),
]
Seed = Annotated[int | None, typer.Option(help="Instead of the specification's seed.")]
MostFlows = Annotated[int | None, typer.Option(help="Simulate at most so many for one verdict.")]


PANEL = "Keep SLOs"


def register(app: typer.Typer) -> None:
    """Adds the commands to the program."""
    app.command(rich_help_panel=PANEL)(predict)
    app.command(rich_help_panel=PANEL)(plan)
    app.command(rich_help_panel=PANEL)(provision)
    app.command(rich_help_panel=PANEL)(whatif)
    app.command(rich_help_panel=PANEL)(fit)
    app.command(rich_help_panel=PANEL)(calibrate)


def predict(
    spec: SpecFile,
    engine: Annotated[
        str, typer.Option(metavar="model|packet", help="What runs the flows.")
    ] = "model",
    sets: Sets = None,
    seed: Seed = None,
    most_flows: MostFlows = None,
    as_json: AsJson = False,
) -> None:
    """Predict whether each class meets its SLO, and why."""
    found = planning.predict(
        _load(spec, sets, seed), engine=cast(Any, engine), most_flows=_positive(most_flows)
    )
    from fctlab.cli import slo_tables

    _show(found, as_json, slo_tables.prediction)


def plan(
    spec: SpecFile,
    sets: Sets = None,
    seed: Seed = None,
    most_flows: MostFlows = None,
    as_json: AsJson = False,
) -> None:
    """Find scheduling weights that meet every SLO, and what would break them first."""
    found = planning.plan(_load(spec, sets, seed), most_flows=_positive(most_flows))
    from fctlab.cli import slo_tables

    _show(found, as_json, slo_tables.plan)


def provision(
    spec: SpecFile,
    strategies: Annotated[
        str | None,
        typer.Option(metavar="A,B,C", help="Of fifo, static, weights, weights-fq, priority."),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(help="Flows behind each SLI, in multiples of 1,000 for a p99."),
    ] = None,
    sets: Sets = None,
    seed: Seed = None,
    most_flows: Annotated[
        int | None, typer.Option(help="Simulate at most so many at each capacity.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the least link rate that meets every SLO, per scheduling strategy."""
    names = planning.STRATEGIES
    if strategies is not None:
        names = cast(Any, tuple(name.strip() for name in strategies.split(",")))
    found = planning.provision(
        _load(spec, sets, seed), names, precision=precision, most_flows=_positive(most_flows)
    )
    from fctlab.cli import slo_tables

    _show(found, as_json, slo_tables.provisions)


def whatif(
    spec: SpecFile,
    vary: Annotated[
        list[str],
        typer.Option(
            metavar="PATH=FROM:TO:COUNT", help="One or two values; or PATH=A,B,C; may be repeated."
        ),
    ],
    sets: Sets = None,
    most_flows: MostFlows = None,
    out: Annotated[
        Path | None,
        typer.Option(parser=output, help="Write whatif.csv and whatif.png into this directory."),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Predict over a range of one or two values: SLIs against a load, a region of weights."""
    from fctlab.cli import slo_tables
    from fctlab.results import kinds, store
    from fctlab.slo import whatif as sweeping

    varied = [sweeping.read(each) for each in vary]
    loaded = planning.load(spec, sets or [])
    reads = kinds.files_in([spec, loaded])
    with (
        nullcontext()
        if out is None
        else store.writing(out, None, kinds.WHAT_IF, reads=reads, force=force)
    ) as draft:
        found = sweeping.sweep(
            spec, varied, sets=sets or [], most_flows=_positive(most_flows), tell=say
        )
        if draft is not None:
            found.table().write_csv(draft.folder / "whatif.csv")
            sweeping.plot(found).savefig(draft.folder / "whatif.png")
    if out is not None:
        say(f"saved in {out}: {', '.join(kinds.WHATIF)}")
    _show(found, as_json, slo_tables.whatif)


def fit(
    trace: Annotated[
        Path, typer.Argument(metavar="TRACE", help="A flow log in CSV, Parquet or JSON lines.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(parser=output, help="Write classes.toml and size tables into this directory."),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Turn a flow log into traffic classes: sizes, inter-arrival times, burstiness."""
    from fctlab.cli import slo_tables
    from fctlab.slo import fit as fitting

    if out is None:
        found = fitting.fit(trace)
    else:
        with fitting.output(trace, out, force=force) as draft:
            found = fitting.fit(trace)
            names = fitting.write(found, draft.folder)
        say(f"saved in {out}: {', '.join(names)}")
    _show(found, as_json, slo_tables.fit)


def calibrate(
    spec: SpecFile,
    scheme: Annotated[str, typer.Option(help="Of the packet engine: dctcp-rate or hpcc.")],
    preset: Annotated[
        str | None,
        typer.Option(help="Whose headers, window and increase; swp-d: the paper's model."),
    ] = None,
    loads: Annotated[
        str, typer.Option(metavar="A,B", help="Each class alone at each.")
    ] = "0.3,0.6",
    flows: Annotated[
        int, typer.Option(help="Of each run of the class with the longest.", min=1000)
    ] = 20_000,
    sets: Sets = None,
    out: Annotated[
        Path | None,
        typer.Option(parser=output, help="Write the parameters into this file, in TOML."),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Fit the model of a link to packet-level runs of a congestion control."""
    from fctlab.cli import slo_tables
    from fctlab.results import kinds, store
    from fctlab.slo import calibrate as calibration

    loaded = _load(spec, sets, None)
    place = None
    if out is not None:
        reads = kinds.files_in([spec, loaded])
        place = store.FileOutput(out, calibration.is_calibrated, reads=reads, force=force)
    found = calibration.calibrate(
        loaded, scheme, preset=preset, loads=_loads(loads), flows=flows, tell=say
    )
    if place is not None:
        place.write(calibration.as_toml(found))
        say(f"saved in {out}")
    _show(found, as_json, slo_tables.calibration)


def _loads(text: str) -> list[float]:
    try:
        loads = [float(each) for each in text.split(",")]
    except ValueError:
        raise SpecError("--loads", f"{text!r} is not a list of numbers such as 0.3,0.6") from None
    for load in loads:
        if not 0 < load < 1:
            raise SpecError("--loads", f"{load:g} is not in (0, 1)")
    return loads


def _load(spec: Path, sets: list[str] | None, seed: int | None) -> dict[str, Any]:
    loaded = planning.load(spec, sets or [])
    if seed is not None:
        loaded["seed"] = seed
    return loaded


def _positive(most_flows: int | None) -> int | None:
    if most_flows is not None and most_flows < 1:
        raise SpecError("--most-flows", f"{most_flows} is not at least 1")
    return most_flows


def _show(found: Found, as_json: bool, table: Callable[[Found], RenderableType]) -> None:
    if as_json:
        show_json(found.to_dict())
    else:
        show(table(found))
