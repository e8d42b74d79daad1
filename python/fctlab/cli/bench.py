"""``fctlab bench``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fctlab.cli.options import examples
from fctlab.cli.terminal import AsJson, say, show, show_json


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command(rich_help_panel="Look up", epilog=examples("fctlab bench points"))(bench)


def bench(
    area: Annotated[
        str, typer.Argument(help="packet, scale, points, bigswitch, model or fluid")
    ] = "packet",
    flows: Annotated[
        int | None, typer.Option(help="Instead of 20,000 (packet, fluid) or 50,000 (model).")
    ] = None,
    runs: Annotated[int, typer.Option(help="Runs of each, of which the median counts.")] = 3,
    quick: Annotated[bool, typer.Option(help="A short run of small fabrics (scale).")] = False,
    write: Annotated[
        Path | None,
        typer.Option(help="Put the tables into this page: docs/evidence/scale.md (scale)."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure the engines on this machine with the reference scenario."""
    from fctlab import bench as benchmarks

    found = benchmarks.measure(area, flows, runs, say, quick)
    if write is not None:
        from fctlab.bench import page

        page.write(write, found, area)
    if as_json:
        show_json({"benchmarks": found})
        return
    from fctlab.cli import tables

    show(tables.benchmarks(found))
