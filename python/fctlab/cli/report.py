"""``fctlab report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fctlab.cli.options import examples
from fctlab.cli.terminal import Force, say


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command(
        rich_help_panel="Look up",
        epilog=examples(
            "fctlab init scenario mine.toml",
            "fctlab run mine.toml --out results/mine",
            "fctlab report results/mine",
        ),
    )(report)


def report(
    place: Annotated[
        Path, typer.Argument(metavar="DIR", help="What --out of another command wrote.")
    ],
    force: Force = False,
) -> None:
    """Write the page of a saved result: tables and charts in one HTML file, no network needed."""
    write(place, force=force)


def write(place: Path, *, force: bool = False) -> None:
    """Write the page of what is saved somewhere, and say where it is."""
    from fctlab import report as pages

    say(f"open {pages.write(place, force=force)} in a browser")
