"""The reference: what the code knows, as Markdown, where a page asks for it.

A line ``<!-- made of: NAME ARGUMENT -->`` of a page is replaced when the site is built, so no key,
option or column is written twice. `MADE` has the names.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from reference import answers, commands, errors, keys, parts

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ASKED = re.compile(r"^<!-- made of: (\S+) ?(.*?) -->$", re.MULTILINE)

MADE: dict[str, Callable[[str], str]] = {
    "answer": answers.page,
    "commands": commands.page,
    "errors": errors.page,
    "keys": keys.page,
    "quantities": keys.quantities,
    "schemes": parts.schemes,
    "controls": parts.controls,
    "workloads": parts.workloads,
}


def render(text: str) -> str:
    """A page with all that it asks for."""
    return ASKED.sub(lambda asked: MADE[asked[1]](asked[2]), text)


def setup(app: Sphinx) -> dict[str, Any]:
    """Makes it part of the build."""
    from pygments.lexers.haskell import HaskellLexer

    def read(app: Sphinx, page: str, source: list[str]) -> None:
        source[0] = render(source[0])

    app.connect("source-read", read)
    app.connect("autodoc-process-docstring", _whole, priority=100)
    for kind in keys.SCHEMAS:
        app.add_object_type(f"{kind}-key", f"{kind}-key", objname=f"{kind} key")
    app.add_object_type("command", "command", objname="command")
    app.add_lexer("dhall", HaskellLexer)  # near enough
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _whole(_: Sphinx, what: str, name: str, it: object, options: object, lines: list[str]) -> None:
    """Keeps napoleon from reading ``Whether it is so: a reason`` as a type and its description."""
    if what in ("attribute", "data", "property") and lines:
        lines[0] = f": {lines[0]}"
