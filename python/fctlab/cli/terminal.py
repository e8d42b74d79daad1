"""What the commands share: options, words on stderr, tables and JSON on stdout."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from fctlab.errors import SpecWarning

if TYPE_CHECKING:
    from rich.console import RenderableType


def output(text: str) -> Path:
    """The name of an output as typed."""
    if not text:
        raise typer.BadParameter("it is empty; give a name, or . for the working directory")
    return Path(text)


output.__name__ = "path"  # what Typer shows as the type of an option that it reads


Force = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Write over more runs, over files that the command reads, or where no result of "
        "fctlab's is.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

WIDTH_OF_PIPES = 140


def say(message: str) -> None:
    """Writes a line to stderr."""
    print(message, file=sys.stderr)


def say_warnings() -> None:
    """From now on, what is warned of is a line on stderr."""

    def line(message: Warning | str, *_: object, **__: object) -> None:
        say("warning: " + " ".join(str(message).split()))

    warnings.simplefilter("always", SpecWarning)
    warnings.showwarning = line


def show(table: RenderableType) -> None:
    """Prints a table to stdout, as wide as the terminal or as its numbers need."""
    console = Console(width=None if sys.stdout.isatty() else WIDTH_OF_PIPES, highlight=False)
    # Rather let a narrow terminal break lines than leave numbers out.
    needed = console.measure(table, options=console.options.update(max_width=1000)).minimum
    console.width = max(console.width, needed)
    console.print(table)


def show_json(value: object) -> None:
    """Prints one JSON value to stdout; NaN and infinities are no JSON and raise ValueError."""
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))
