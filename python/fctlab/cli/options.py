"""Options that several commands have, and lists as people type them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.markup import escape

from fctlab import choices
from fctlab.cli.terminal import output
from fctlab.errors import SpecError

ScenarioFile = Annotated[Path, typer.Argument(help="A scenario in TOML, YAML, JSON or Dhall.")]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Change one key; may be repeated."),
]
Presets = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="A directory of presets of your own: files NAME.toml."),
]
Engine = Annotated[
    str | None,
    typer.Option(help="packet, fluid or model (one bottleneck), instead of the scenario's own."),
]
Seed = Annotated[int | None, typer.Option(help="Instead of the scenario's seed.")]
Out = Annotated[Path | None, typer.Option(parser=output, help="Save the result in this directory.")]
Workers = Annotated[int | None, typer.Option(help="Runs at once.", show_default="one per core")]
Executor = Annotated[
    str | None, typer.Option(help="threads or ray: what does the runs.", show_default="threads")
]
Address = Annotated[
    str | None,
    typer.Option(help="Of a Ray cluster: auto, or HOST:PORT.", show_default="a local one"),
]
ShowProgress = Annotated[
    bool | None,
    typer.Option(
        "--progress/--no-progress",
        help="Progress on stderr.",
        show_default="on a tty; elsewhere of many runs a line now and then",
    ),
]

MOST_STEPS = 10_000
"""Numbers of a range."""

T = TypeVar("T", str, float, int)


FABRIC = "fctlab init fabric fabric.toml"
"""With which examples of `fctlab fabric` begin."""


def examples(*lines: str) -> str:
    """The end of a command's help: lines that run as they are, one after the other."""
    return "\n".join(["[dim]Example:[/dim]", *(f"[cyan]{escape(line)}[/cyan]" for line in lines)])


def items(option: str, text: str | None, convert: type[T]) -> list[T]:
    """Splits ``a,b,c``.

    Raises:
        SpecError: it is empty, or an item is, is no `convert`, or is there twice.
    """
    if text is None:
        return []
    what = {str: "name", float: "number", int: "whole number"}[convert]
    if not text.strip():
        raise SpecError(option, f"is empty; write a {what}, or several with commas between")
    items = []
    for item in text.split(","):
        try:
            if not item.strip():
                raise ValueError
            items.append(convert(item.strip()))
        except ValueError:
            raise SpecError(option, f"{item!r} in {text!r} is not a {what}") from None
    choices.check_distinct(option, items)
    return items


def numbers(option: str, text: str | None) -> list[float]:
    """``0.3,0.6``, or ``0.3:0.9:7``: from, to, how many.

    Raises:
        SpecError: it is neither, or a range of fewer than two numbers.
    """
    if text is None or ":" not in text:
        return items(option, text, float)
    try:
        first, last, count = text.split(":")
        steps = int(count) - 1
        if not 1 <= steps < MOST_STEPS:
            raise ValueError
        width = (float(last) - float(first)) / steps
        # Twelve digits: 0.4, not 0.39999999999999997.
        return [float(f"{float(first) + i * width:.12g}") for i in range(steps + 1)]
    except ValueError:
        what = f"is no A,B,C and no FROM:TO:COUNT with a count from 2 to {MOST_STEPS:,}"
        raise SpecError(option, f"{text!r} {what}") from None
