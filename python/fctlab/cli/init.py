"""``fctlab init``: a file to begin with."""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer

from fctlab import _native, choices, files
from fctlab.cli.catalog import SCHEMAS
from fctlab.cli.options import examples
from fctlab.cli.terminal import output, say
from fctlab.errors import OutputError, SpecError
from fctlab.results import store
from fctlab.scenario import toml

KINDS = {"scenario": files.SCENARIO, "specification": files.SPECIFICATION}
COMMENT_WIDTH = 94
MOST_VALUES = 6
"""Of a key that are listed; of schemes and the like there is ``fctlab list``."""
SECTION = re.compile(r"(?:# )?\[+(?P<path>\w+)\]+")
KEY = re.compile(r"(?:# )?(?P<key>\w+) = ")


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    lines = "fctlab init scenario mine.toml", "fctlab init specification slos.toml"
    app.command(rich_help_panel="Start", epilog=examples(*lines))(init)


def init(
    kind: Annotated[str, typer.Argument(help=f"What to write: {' or '.join(KINDS)}.")],
    file: Annotated[
        Path, typer.Argument(metavar="FILE", parser=output, help="A .toml file that is not there.")
    ],
) -> None:
    """Write a small scenario or specification of SLOs, every key explained, to begin with."""
    choices.check("init", kind, KINDS, "what it writes")
    if file.suffix.lower() != ".toml":
        raise SpecError("init", f"{file} is no .toml file")
    if file.exists():
        raise OutputError(f"{file} is there already; nothing is written over it")
    store.FileOutput(file, lambda _: False).write(written(kind, file))
    say(f"next: fctlab {KINDS[kind].commands[0]} {shlex.quote(str(file))}")


def written(kind: str, file: Path) -> str:
    """A file to begin with: the template, each key under what the schema says of it."""
    template = resources.files("fctlab") / "data" / f"init-{kind}.toml"
    text = template.read_text(encoding="utf-8")
    text = text.replace("FILE", shlex.quote(str(file))).replace("NAME", shlex.quote(file.stem))
    return "\n".join(_explained(text.splitlines(), SCHEMAS[kind]())) + "\n"


def _explained(lines: list[str], schema: Mapping[str, Any]) -> Iterator[str]:
    """The lines, and what each table and key is before the first of its name."""
    tables = json.loads(_native.parse("\n".join(lines), "toml"))
    section, known = "", [schema]
    told: set[tuple[str, str]] = set()
    for line in lines:
        said = ""
        if found := SECTION.fullmatch(line):
            section, table = found["path"], tables.get(found["path"], {})
            kind = table.get("kind") if isinstance(table, Mapping) else None
            known = list(_tables(schema, schema["properties"][section], kind))
            said = _description(schema["properties"][section])
        elif found := KEY.match(line):
            said = _explanation(schema, known, found["key"])
        key = section, found["key"] if found and "key" in found.groupdict() else ""
        if found and key not in told:
            told.add(key)
            yield from (f"# {part}" for part in textwrap.wrap(said, COMMENT_WIDTH))
        yield line


def _tables(
    schema: Mapping[str, Any], node: Mapping[str, Any], kind: str | None
) -> Iterator[Mapping[str, Any]]:
    """The tables that a part of a schema allows; of those that have kinds, the one of `kind`."""
    node = _referred(schema, node)
    items = [node["items"]] if "items" in node else []
    for inner in (*node.get("anyOf", ()), *node.get("oneOf", ()), *items):
        yield from _tables(schema, inner, kind)
    if node.get("properties", {}).get("kind", {}).get("const") in (None, kind):
        yield node


def _referred(schema: Mapping[str, Any], node: Mapping[str, Any]) -> Mapping[str, Any]:
    name = node.get("$ref")
    return {**schema["$defs"][name.rpartition("/")[2]], **node} if name else node


def _explanation(schema: Mapping[str, Any], tables: Iterable[Mapping[str, Any]], key: str) -> str:
    """What a key of one of the tables is, its values where they are few, and its default."""
    node = next(table["properties"][key] for table in tables if key in table.get("properties", {}))
    said = [_description(node)]
    values = [json.dumps(value) for value in _values(_referred(schema, node))]
    if 0 < len(values) <= MOST_VALUES:
        said.append(f"One of {', '.join(values)}.")
    if node.get("default") and "Default:" not in said[0]:
        said.append(f"Default: {toml(node['default'])}.")
    return " ".join(filter(None, said))


def _description(node: Mapping[str, Any]) -> str:
    return " ".join(node.get("description", "").split())


def _values(node: Mapping[str, Any]) -> list[Any]:
    """The values that are all there are."""
    each = node.get("oneOf") or node.get("anyOf") or ()
    return node.get("enum") or [one["const"] for one in each if "const" in one]
