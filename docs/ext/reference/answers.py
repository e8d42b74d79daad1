"""Keys of answers in JSON as Markdown, from the types that hold them."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Iterator
from pkgutil import resolve_name
from typing import Any

import msgspec

SHOWN = {
    float: "number",
    int: "whole number",
    str: "text",
    bool: "`true` or `false`",
    type(None): "null",
    Any: "anything",
}


def page(name: str) -> str:
    """The keys of a type (``module:Type``) and, once each, of the types inside it."""
    whole = resolve_name(name)
    return "\n".join(line for each in inside(whole) for line in _table(each, each is whole))


def inside(whole: type[msgspec.Struct]) -> list[type[msgspec.Struct]]:
    """A type of answers and those of its attributes, each once."""
    found: list[type[msgspec.Struct]] = []

    def look(hint: Any) -> None:
        if _is_answer(hint) and hint not in found:
            found.append(hint)
            for inner in _hints(hint).values():
                look(inner)
        for argument in typing.get_args(hint):
            look(argument)

    look(whole)
    return found


def attributes(of: type[msgspec.Struct]) -> dict[str, str]:
    """What a type says of its attributes, Google style."""
    found: dict[str, str] = {}
    for base in reversed(of.__mro__):
        _, _, told = inspect.cleandoc(base.__doc__ or "").partition("Attributes:\n")
        for name, text in re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", told, re.MULTILINE):
            found[name] = re.sub(r"\s*\n\s*", " ", text)
    return {name: found[name] for name in of.__struct_fields__ if name in found}


def _is_answer(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, msgspec.Struct)


def _hints(of: type[msgspec.Struct]) -> dict[str, Any]:
    hints = typing.get_type_hints(of)
    return {field.name: hints[field.name] for field in msgspec.structs.fields(of)}


def _table(of: type[msgspec.Struct], is_whole: bool) -> Iterator[str]:
    about = inspect.cleandoc(of.__doc__ or "").partition("\n")[0]
    if not is_whole:
        yield f"\n{_linked(of)}: {about[:1].lower()}{about[1:]}\n"
    told, hints = attributes(of), _hints(of)
    yield "| key | type | |\n|---|---|---|"
    for field in msgspec.structs.fields(of):
        text = told[field.name].replace("``", "`").replace("|", "\\|")
        yield f"| `{field.encode_name}` | {_type(hints[field.name])} | {text} |"
    yield ""


def _linked(of: type) -> str:
    return f"**{of.__name__}**"


def _type(hint: Any) -> str:
    if _is_answer(hint):
        return str(hint.__name__)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return ", ".join(f"`{each}`" for each in arguments)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(map(_type, arguments))
    if origin in (tuple, list):
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return f"list of {_type(arguments[0])}"
        return f"[{', '.join(map(_type, arguments))}]"
    if origin is dict:
        return f"table of {_type(arguments[1])}"
    return SHOWN.get(hint, getattr(hint, "__name__", str(hint)))
