"""``fctlab host``: the tagger of a sending host, with thresholds that fctlab found."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from fctlab.cli.options import examples, items

group = typer.Typer(
    help="Tag what a Linux host sends by what its flows have sent (needs fctlab-host).",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Found = Annotated[
    Path, typer.Argument(metavar="THRESHOLDS", help="What fctlab thresholds --json printed.")
]
Device = Annotated[str, typer.Option(help="The device that packets leave by.")]
Codes = Annotated[
    str | None, typer.Option("--dscp", metavar="A,B", help="Code points, one of each band.")
]
THRESHOLDS = "fctlab thresholds pias --workload websearch --load 0.6 --json > thresholds.json"


def register(app: typer.Typer) -> None:
    """Adds the commands to the program, as a group of its own."""
    app.add_typer(group, name="host", rich_help_panel="Keep SLOs")


@group.command(epilog=examples(THRESHOLDS, "fctlab host attach thresholds.json --device eth0"))
def attach(
    thresholds: Found,
    device: Device = "eth0",
    dscp: Codes = None,
    by: Annotated[
        str, typer.Option(help="sent (PIAS), or outstanding (ADS): what thresholds are of.")
    ] = "sent",
    records: Annotated[
        Path | None, typer.Option(help="Write a row for each connection that ends: for fit.")
    ] = None,
    idle_us: Annotated[
        int, typer.Option(min=0, help="Connections that are kept open begin anew after so long.")
    ] = 0,
    cost: Annotated[bool, typer.Option("--cost", help="Count nanoseconds per packet.")] = False,
) -> None:
    """Tag what leaves a device, until Ctrl-C."""
    words = ["--by", by, "--idle-us", str(idle_us)]
    words += ["--records", str(records)] if records else []
    _become("attach", thresholds, device, dscp, [*words, *(["--cost"] if cost else [])])


@group.command(
    name="set-thresholds",
    epilog=examples(THRESHOLDS, "fctlab host set-thresholds thresholds.json --device eth0"),
)
def set_thresholds(thresholds: Found, device: Device = "eth0", dscp: Codes = None) -> None:
    """Change the thresholds of a tagger that runs, while traffic flows."""
    _become("set-thresholds", thresholds, device, dscp, [])


def _become(command: str, thresholds: Path, device: str, dscp: str | None, more: list[str]) -> None:
    """This process is ``fctlab-host`` from here on: signals are its own."""
    from fctlab.testbed import host

    codes = items("--dscp", dscp, int)
    words = host.bands(thresholds, device, codes or None)
    program = host.program()
    os.execv(program, [program, command, *words, *more])
