"""Keys of input files as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import fctlab
from fctlab.slo import planning
from fctlab.sweep.schema import SCHEMA as SWEEP
from reference import schema
from reference.schema import Key, Schema, Section

SCHEMAS: dict[str, Callable[[], Schema]] = {
    "scenario": fctlab.schema,
    "specification": planning.schema,
    "sweep": lambda: SWEEP,
}
"""What has keys, as ``fctlab schema`` calls it."""


def page(kind: str) -> str:
    """Every key of a kind of file, a section per table."""
    lines = (_section(kind, each) for each in schema.sections(SCHEMAS[kind]()))
    return "\n".join(line for section in lines for line in section)


def quantities(_: str) -> str:
    """What numbers with units are written as."""
    found = {
        name: text for of in SCHEMAS.values() for name, text in schema.quantities(of()).items()
    }
    rows = (f"| {name} | {text} |" for name, text in sorted(found.items()))
    return "\n".join(("| type | |", "|---|---|", *rows))


def _section(kind: str, section: Section) -> Iterator[str]:
    if section.path:
        level = "##" if "." not in section.path and not section.kind else "###"
        name = f' = "{section.kind}"' if section.kind else ""
        yield f"\n{level} `{section.path}{name}`\n"
        yield f"{schema.one_line(section.text)}\n"
    if section.kinds:
        yield "| kind | |\n|---|---|"
        for name, text in section.kinds.items():
            yield f"| `{name}` | {schema.one_line(text)} |"
        yield ""
    for key in section.keys:
        yield from _key(kind, key)


def _key(kind: str, key: Key) -> Iterator[str]:
    yield f":::{{{kind}-key}} {key.name}"
    yield f"{key.type}; {_default(key)}\n"
    yield f"{key.text}\n"
    if any(key.values.values()):
        yield from (f"- `{value}`: {text}" for value, text in key.values.items())
    elif key.values:
        yield f"Words: {', '.join(f'`{value}`' for value in key.values)}."
    yield ":::\n"


def _default(key: Key) -> str:
    if key.required:
        return "has to be given"
    if "" in key.defaults:
        return f"default: {key.defaults['']}"
    by_default: dict[str, list[str]] = {}
    for kind, default in key.defaults.items():
        by_default.setdefault(default, []).append(kind)
    most = max(by_default, key=lambda default: len(by_default[default]), default="none")
    others = (
        f"{default} of {', '.join(f'`{kind}`' for kind in kinds)}"
        for default, kinds in by_default.items()
        if default != most
    )
    return "; ".join((f"default: {most}", *others))
