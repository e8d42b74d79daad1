"""``fctlab init``: a file to begin with."""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer

from fctlab import _native, choices
from fctlab.cli.catalog import SCHEMAS
from fctlab.cli.options import examples
from fctlab.cli.terminal import output, say
from fctlab.errors import OutputError, SpecError
from fctlab.results import store
from fctlab.scenario import toml


@dataclass(frozen=True)
class Kind:
    """What is written.

    Attributes:
        schema: whose keys it has (`SCHEMAS`).
        command: that reads it.
        file: its name in examples.
    """

    schema: str
    command: str
    file: str


KINDS = {
    "scenario": Kind("scenario", "run", "mine.toml"),
    "specification": Kind("specification", "predict", "slos.toml"),
    "fabric": Kind("scenario", "fabric predict", "fabric.toml"),
}
COMMENT_WIDTH = 94
MOST_VALUES = 6
"""Of a key that are listed; of schemes and the like there is ``fctlab list``."""
SECTION = re.compile(r"(?:# )?\[+(?P<path>[\w.]+)\]+")
KEY = re.compile(r"(?:# )?(?P<key>\w+) = ")


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    lines = [f"fctlab init {name} {kind.file}" for name, kind in KINDS.items()]
    app.command(rich_help_panel="Start", epilog=examples(*lines))(init)


def known(kind: str) -> str:
    """What is to be written; an error comes before one of a file that is missing."""
    choices.check("init", kind, KINDS, "what it writes")
    return kind


def init(
    kind: Annotated[
        str,
        typer.Argument(callback=known, help=f"What to write: {', '.join(KINDS)}."),
    ],
    file: Annotated[
        Path, typer.Argument(metavar="FILE", parser=output, help="A .toml file that is not there.")
    ],
) -> None:
    """Write a small file to begin with, every key explained.

    A scenario has flows, a fabric and a scheme: fctlab run and compare.
    A specification has the SLOs of one bottleneck: fctlab predict and plan.
    A fabric has those of classes across all ports: fctlab fabric.
    """
    if file.suffix.lower() != ".toml":
        raise SpecError("init", f"{file} is no .toml file")
    if file.exists():
        raise OutputError(f"{file} is there already; nothing is written over it")
    store.FileOutput(file, lambda _: False).write(written(kind, file))
    say(f"next: fctlab {KINDS[kind].command} {shlex.quote(str(file))}")


def written(kind: str, file: Path) -> str:
    """A file to begin with: the template, each key under what the schema says of it."""
    template = resources.files("fctlab") / "data" / f"init-{kind}.toml"
    text = template.read_text(encoding="utf-8")
    text = text.replace("FILE", shlex.quote(str(file))).replace("NAME", shlex.quote(file.stem))
    return "\n".join(_explained(text.splitlines(), SCHEMAS[KINDS[kind].schema]())) + "\n"


def _explained(lines: list[str], schema: Mapping[str, Any]) -> Iterator[str]:
    """The lines, and what each table and key is before the first of its name."""
    tables = json.loads(_native.parse("\n".join(lines), "toml"))
    section, known = "", [schema]
    told: set[tuple[str, str]] = set()
    for line in lines:
        said = ""
        if found := SECTION.fullmatch(line):
            section, table, known = found["path"], tables, [schema]
            for name in section.split("."):
                table = _first(table).get(name, {})
                node = next(_keys(each)[name] for each in known if name in _keys(each))
                known = list(_tables(schema, node, _first(table).get("kind")))
                said = _description(node)
        elif found := KEY.match(line):
            said = _explanation(schema, known, found["key"])
        key = section, found["key"] if found and "key" in found.groupdict() else ""
        if found and key not in told:
            told.add(key)
            yield from (f"# {part}" for part in textwrap.wrap(said, COMMENT_WIDTH))
        yield line


def _keys(node: Mapping[str, Any]) -> Mapping[str, Any]:
    keys: Mapping[str, Any] = node.get("properties", {})
    return keys


def _first(table: Any) -> Mapping[str, Any]:
    """A table, or the first of several; an empty one for anything else."""
    first = table[0] if isinstance(table, list) and table else table
    return first if isinstance(first, Mapping) else {}


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
    node = next(_keys(table)[key] for table in tables if key in _keys(table))
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
