"""``fctlab plot``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fctlab.cli.options import examples, items
from fctlab.cli.terminal import Force, output, say


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command(
        rich_help_panel="Look up",
        epilog=examples(
            "fctlab init scenario mine.toml",
            "fctlab run mine.toml --out results/mine",
            "fctlab plot results/mine --formats pdf",
        ),
    )(plot)


def plot(
    place: Annotated[
        Path, typer.Argument(metavar="DIR", help="What run --out or compare --out wrote.")
    ],
    only: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Figures by name.", show_default="all that there are"),
    ] = None,
    formats: Annotated[str, typer.Option(metavar="A,B", help="Some of png, pdf, svg.")] = (
        "png,pdf,svg"
    ),
    sizes: Annotated[
        str,
        typer.Option(
            metavar="A,B", help="Rows of figures against load: all, small, medium, large."
        ),
    ] = "all,small,large",
    traffic_class: Annotated[
        str | None,
        typer.Option("--class", help="Whose flows, in figures against load.", show_default="all"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(parser=output, help="Write into this folder.", show_default="DIR"),
    ] = None,
    force: Force = False,
) -> None:
    """Draw the figures of a saved run or comparison again, as wide as a column of a paper."""
    from fctlab.results import figures

    found = figures.saved(
        place,
        only=items("--only", only, str),
        sizes=items("--sizes", sizes, str),
        traffic_class=traffic_class,
    )
    wanted = items("--formats", formats, str)
    for files, caption in figures.save(found, out or place, wanted, force=force):
        names = ", ".join([str(files[0]), *(file.name for file in files[1:])])
        say(f"{names}: {caption}".removesuffix(": "))
