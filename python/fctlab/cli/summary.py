"""``fctlab summary``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import fctlab
from fctlab.cli import report
from fctlab.cli.options import Out, ScenarioFile, Sets, examples
from fctlab.cli.terminal import AsJson, Force, say, show, show_json


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command(
        rich_help_panel="Look up",
        epilog=examples(
            "fctlab init scenario mine.toml",
            "fctlab run mine.toml --out results/mine",
            "fctlab summary mine.toml results/mine/flows.parquet",
        ),
    )(summary)


def summary(
    scenario: ScenarioFile,
    flows: Annotated[
        Path,
        typer.Argument(
            help="A row per flow (.parquet, .csv): start_s, src, dst, size_bytes and fct_s."
        ),
    ],
    made_by: Annotated[str, typer.Option(help="What made the flows.")] = "elsewhere",
    sets: Sets = None,
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Summarise flows that another simulator or a testbed has made, as if they were of a run."""
    loaded = fctlab.load_scenario(scenario).with_sets(sets or [])
    result = fctlab.Result.of_flows(loaded, flows, made_by=made_by)
    if out is not None:
        reads = [file for file in (scenario, flows) if file.is_file()]
        result.save(out, force=force, reads=reads)
    if as_json:
        show_json({"scenario": result.scenario, **result.report})
    else:
        from fctlab.cli import tables

        show(tables.result(result))
    if out is not None:
        report.write(out)
        say(f"saved in {out}")
