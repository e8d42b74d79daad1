"""``fctlab list`` and ``fctlab schema``: what there is to choose from, and to write."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

import typer
from rich.console import Group

import fctlab
from fctlab import _native, choices, studies
from fctlab.cli.layout import frame, whole
from fctlab.cli.options import Presets, examples
from fctlab.cli.terminal import AsJson, show, show_json

PANEL = "Look up"


def register(app: typer.Typer) -> None:
    """Adds the commands to the program."""
    app.command(name="list", rich_help_panel=PANEL, epilog=examples("fctlab list schemes"))(
        list_parts
    )
    app.command(rich_help_panel=PANEL, epilog=examples("fctlab schema scenario"))(schema)


def list_parts(
    place: Annotated[
        str | None, typer.Argument(help="schemes, workloads, topologies, ...; all unless given.")
    ] = None,
    presets: Presets = None,
    as_json: AsJson = False,
) -> None:
    """Show what there is to choose from."""
    places = fctlab.catalog(presets) | {
        "studies": studies.catalog(),
        "policies": _asked(_native.bigswitch, "policies"),
    }
    places |= _asked(_native.planning, "catalog")
    if place is not None:
        choices.check("list", place, places, "a place")
    chosen = {name: parts for name, parts in places.items() if place in (None, name)}
    if as_json:
        show_json(chosen)
        return
    tables = []
    for name, entries in chosen.items():
        table = frame(name)
        table.add_column("name", no_wrap=True)
        table.add_column("what it is")
        for entry in entries:
            table.add_row(entry["name"], entry["description"])
        tables.append(whole(table))
    show(Group(*tables))


def _asked(engine: Callable[[str, None], str], question: str) -> Any:
    """What an engine says of itself; its Python API, a third of the start, is not needed."""
    return json.loads(engine(json.dumps({"ask": question}), None))


def _specification() -> dict[str, Any]:
    from fctlab.slo import planning

    return planning.schema()


def _sweep() -> dict[str, Any]:
    from fctlab.sweep.schema import SCHEMA

    return SCHEMA


SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "scenario": fctlab.schema,
    "specification": _specification,
    "sweep": _sweep,
}


def schema(
    kind: Annotated[str, typer.Argument(help=f"Of what: {', '.join(SCHEMAS)}.")] = "scenario",
) -> None:
    """Print the JSON Schema of a scenario, a specification of SLOs, or a sweep."""
    choices.check("schema", kind, SCHEMAS, "what has a schema")
    show_json(SCHEMAS[kind]())
