"""``fctlab run`` and ``fctlab compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import fctlab
from fctlab import _native
from fctlab.cli import progress as showing
from fctlab.cli import report
from fctlab.cli.options import (
    Engine,
    Out,
    Presets,
    ScenarioFile,
    Seed,
    Sets,
    ShowProgress,
    Workers,
    examples,
    items,
    numbers,
)
from fctlab.cli.terminal import AsJson, Force, say, show, show_json
from fctlab.results import kinds

PANEL = "Simulate"


def register(app: typer.Typer) -> None:
    """Adds the commands to the program."""
    app.command(
        rich_help_panel=PANEL,
        epilog=examples(
            "fctlab init scenario mine.toml", "fctlab run mine.toml --out results/mine"
        ),
    )(run)
    app.command(
        rich_help_panel=PANEL,
        epilog=examples(
            "fctlab init scenario mine.toml",
            "fctlab compare mine.toml --schemes dctcp,pfabric --loads 0.3,0.6",
        ),
    )(compare)


def run(
    scenario: ScenarioFile,
    presets: Presets = None,
    engine: Engine = None,
    sets: Sets = None,
    seed: Seed = None,
    threads: Annotated[
        int, typer.Option(help="That share the work; the result is the same on any number.")
    ] = 1,
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
    progress: ShowProgress = None,
) -> None:
    """Simulate one scenario: packet by packet, as a fluid, or on the model of one bottleneck."""
    loaded = _load(scenario, presets, engine, sets)
    with showing.of_runs(progress) as tell:
        result = fctlab.run(
            loaded,
            seed=seed,
            threads=threads,
            out=out,
            force=force,
            progress=lambda seen: tell("simulating", seen),
        )
    if as_json:
        show_json({"scenario": result.scenario, **result.report})
    else:
        from fctlab.cli import tables

        show(tables.result(result))
    _finish(out)


def compare(
    scenario: ScenarioFile,
    schemes: Annotated[
        str | None,
        typer.Option(metavar="A,B,C", help="Presets, your own too, or tables \\[schemes.NAME]."),
    ] = None,
    loads: Annotated[
        str | None,
        typer.Option(metavar="L,M", help="Loads instead of the scenario's; or FROM:TO:COUNT."),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="How many seeds, counted up from the scenario's.")
    ] = None,
    presets: Presets = None,
    engine: Engine = None,
    sets: Sets = None,
    seed: Seed = None,
    out: Out = None,
    force: Force = False,
    workers: Workers = None,
    as_json: AsJson = False,
    progress: ShowProgress = None,
) -> None:
    """Run the same flows under several schemes, side by side; the first is the baseline."""
    loaded = _load(scenario, presets, engine, sets)
    if seed is not None:
        loaded = loaded.set("seed", seed)
    with showing.of_comparison(progress) as cells:
        comparison = fctlab.compare(
            loaded,
            items("--schemes", schemes, str),
            loads=numbers("--loads", loads),
            seeds=seeds,
            out=out,
            force=force,
            workers=workers,
            progress=cells.tell,
            started=cells.started,
        )
    if as_json:
        show_json({"scenario": comparison.results[0].scenario, **comparison.report})
    else:
        from fctlab.cli import tables

        show(tables.comparison(comparison))
    _finish(out)


def _load(
    file: Path, presets: Path | None, engine: str | None, sets: list[str] | None
) -> fctlab.Scenario:
    """A scenario with the changes of the command line."""
    loaded = fctlab.load_scenario(file, presets=presets)
    if engine is not None:
        loaded = loaded.set("engine", engine)
    return loaded.with_sets(sets or [])


def _finish(out: Path | None) -> None:
    """Write the page of what was saved, and say what is where; and of an engine that is slow."""
    if _native.build_profile() != "release":
        say("this is a development build: the same results, later; make build makes the fast one")
    if out is not None:
        report.write(out)
        say(f"saved in {out}: {', '.join([kinds.FLOWS, kinds.SUMMARY, *kinds.drawn(out), '...'])}")
        say(f"fctlab plot {out} draws its figures for a paper")
