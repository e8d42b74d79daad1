"""``fctlab mapping`` and ``fctlab thresholds``: numbers for schemes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

import fctlab
from fctlab.cli.options import examples
from fctlab.cli.terminal import AsJson, Force, output, say, show, show_json
from fctlab.errors import SpecError
from fctlab.tuning import mapping as learned
from fctlab.tuning.types import Scope

PANEL = "Tune a scheme"


def register(app: typer.Typer) -> None:
    """Adds the commands to the program."""
    app.command(
        rich_help_panel=PANEL,
        epilog=examples(
            "fctlab init scenario mine.toml",
            "fctlab run mine.toml --set scheme=pfabric --set record.values={} --out results/seen",
            "fctlab mapping results/seen --queues 8 --out mapping.json",
        ),
    )(mapping)
    app.command(
        rich_help_panel=PANEL, epilog=examples("fctlab thresholds --workload datamining --load 0.8")
    )(thresholds)


def mapping(
    result: Annotated[Path, typer.Argument(help="Directory of a run with \\[record.values].")],
    queues: Annotated[int, typer.Option(help="How many queues.")] = 8,
    policy: Annotated[str, typer.Option(help="How: fctlab list mappings.")] = "equal-split",
    scope: Annotated[
        str, typer.Option(help="A table for each: switch (and host), port, or global.")
    ] = "switch",
    out: Annotated[Path | None, typer.Option(parser=output, help="The file to write.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Compute a static mapping from priorities to queues, from the values that ports saw."""
    place = None if out is None else learned.output(out, force=force)
    found = fctlab.compute_mapping(result, queues, policy=policy, scope=cast(Scope, scope))
    if place is not None:
        place.write(learned.as_json(found))
        say(f"saved in {out}")
    if as_json:
        show_json(found.to_dict())
    elif out is None:
        from fctlab.cli import tables

        show(tables.mapping(found))


def thresholds(
    scheme: Annotated[str, typer.Argument(help="Whose: pias.")] = "pias",
    workload: Annotated[str, typer.Option(help="A workload's name, or a CDF file.")] = "websearch",
    load: Annotated[float, typer.Option(help="Load of the link.")] = 0.6,
    queues: Annotated[int, typer.Option(help="How many queues.")] = 8,
    as_json: AsJson = False,
) -> None:
    """Compute demotion thresholds for a workload and a load."""
    from fctlab.tuning import thresholds as solver

    if scheme != "pias":
        raise SpecError("thresholds", f"{scheme!r} has no thresholds to solve; known: pias")
    sizes: str | dict[str, Any] = workload
    if Path(workload).suffix:
        sizes = {"kind": "cdf", "file": workload}
    found = solver.pias(sizes, load, queues)
    if as_json:
        show_json(found.to_dict())
        return
    from fctlab.cli import tables

    show(tables.thresholds(found))
