"""Commands of the program as Markdown, from its own parser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import cleandoc
from typing import Any

import typer.main
from rich.text import Text

from fctlab.cli.app import app


def page(_: str) -> str:
    """Every command, in the panels of ``fctlab --help``."""
    panels: dict[str, list[str]] = {}
    for words, command in commands():
        panel = command.rich_help_panel or _root().commands[words[0]].rich_help_panel or "Others"
        panels.setdefault(panel, []).extend(_command(words, command))
    return "\n".join(
        line for panel, lines in panels.items() for line in (f"\n## {panel}\n", *lines)
    )


def commands() -> Iterator[tuple[tuple[str, ...], Any]]:
    """Words of a command after ``fctlab``, and the command."""

    def inside(group: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
        for name, command in group.commands.items():
            if hasattr(command, "commands"):
                yield from inside(command, (*words, name))
            else:
                yield (*words, name), command

    return inside(_root(), ())


def _root() -> Any:
    return typer.main.get_command(app)


def _command(words: tuple[str, ...], command: Any) -> Iterator[str]:
    name = " ".join(("fctlab", *words))
    shown = [param for param in command.params if not param.hidden and param.name != "help"]
    arguments = [param for param in shown if param.param_type_name == "argument"]
    options = [param for param in shown if param.param_type_name == "option"]
    usage = (
        f"{each.name.upper()}" if each.required else f"[{each.name.upper()}]" for each in arguments
    )
    yield f"### {name}\n"
    yield f":::{{command}} {' '.join((name, *usage, '[OPTIONS]'))}\n:::\n"
    yield f"{_plain(cleandoc(command.help or ''))}\n"
    if command.epilog:
        yield f"{_epilog(command.epilog)}\n"
    if shown:
        yield "| | default | |\n|---|---|---|"
        yield from map(_row, (*arguments, *options))
        yield ""


def _row(param: Any) -> str:
    if param.param_type_name == "argument":
        name = f"`{param.name.upper()}`"
    else:
        name = " ".join(f"`{each}`" for each in (*param.opts, *param.secondary_opts))
        name += "" if param.is_flag else f" {_value(param)}"
    return f"| {name} | {_default(param)} | {_plain(param.help or '').replace('|', '&#124;')} |"


def _value(param: Any) -> str:
    """What stands for the value of an option, as in the help."""
    return str(param.metavar or param.type.name.upper())


def _default(param: Any) -> str:
    if param.required:
        return "has to be given"
    if isinstance(param.show_default, str):
        return param.show_default
    if param.default in (None, False, ()) or callable(param.default):
        return "off" if param.param_type_name == "option" and param.is_flag else ""
    return f"`{param.default}`"


def _plain(text: str) -> str:
    """Rich's markup as Markdown."""
    text = re.sub(r"\\\[", "[", text)
    return re.sub(r"\s*\n\s*", " ", re.sub(r"\n\n", "<br>", text))


def _epilog(text: str) -> str:
    """The examples below the help, without what they are headed by."""
    lines = Text.from_markup(text).plain.splitlines()[1:]
    return "\n".join(["```sh", *lines, "```"])
