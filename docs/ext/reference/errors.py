"""Errors of the code base: what each says, found in its sources.

An error is where `SpecError` or `OutputError` is made. What it says is a text in which ``...``
stands for what is filled in, as in ``... is not in (0, 1)``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
PYTHON = ROOT / "python" / "fctlab"
CRATES = ROOT / "crates"
KINDS = ("SpecError", "OutputError")
HOLE = "..."

_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_NAMED = re.compile(r"^\s*let (?:\w+ = \|[^|]*\| )?(\w+)(?:: \w+)? =", re.MULTILINE)
_MADE = re.compile(r"\bSpecError(?:::new)?\(")
_FILLED = re.compile(r"\{[^{}]*\}")


@dataclass(frozen=True)
class Error:
    """An error that the code makes.

    Attributes:
        place: its file, from the root.
        says: its message, ``...`` for what is filled in; empty where all of it is.
    """

    place: str
    says: str

    @property
    def is_of_its_own(self) -> bool:
        """Whether it has words of its own; others pass on what somebody else says."""
        return len(re.findall(r"[A-Za-z]{2,}", self.says)) > 1


def found() -> list[Error]:
    """Every error with words of its own, once a file, in order of place."""
    errors = [*_of_python(), *_of_rust()]
    return sorted({e for e in errors if e.is_of_its_own}, key=lambda e: (e.place, e.says))


def page(_: str) -> str:
    """The list, by what of the code finds the mistake."""
    lines: list[str] = []
    folder = ""
    for error in found():
        part = "/".join(Path(error.place).parts[:-1])
        if part != folder:
            folder = part
            lines += ["", f"## `{part}`", ""]
        ticks = "``" if "`" in error.says else "`"
        lines.append(f"* {ticks}{error.says}{ticks}")
    return "\n".join(lines).strip()


def _of_python() -> Iterator[Error]:
    for file in sorted(PYTHON.rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        place = str(file.relative_to(ROOT))
        for scope in ast.walk(tree):
            if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
                texts = _assigned(scope)
                for node in ast.walk(scope):
                    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in KINDS:
                        position = 0 if getattr(node.func, "id", "") == "OutputError" else 1
                        message = node.args[position : position + 1]
                        for says in (s for each in message for s in _texts(each, texts)):
                            yield Error(place, says)


def _assigned(scope: ast.AST) -> dict[str, list[str]]:
    """What names of a function stand for, where that is text."""
    found: dict[str, list[str]] = {}
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).extend(_texts(node.value, {}))
    return found


def _texts(node: ast.AST, named: dict[str, list[str]]) -> list[str]:
    """The texts that an expression may be."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        parts = [v.value if isinstance(v, ast.Constant) else HOLE for v in node.values]
        return ["".join(map(str, parts))]
    if isinstance(node, ast.BinOp):
        return [a + b for a in _texts(node.left, named) for b in _texts(node.right, named)]
    if isinstance(node, ast.IfExp):
        return [*_texts(node.body, named), *_texts(node.orelse, named)]
    if isinstance(node, ast.Name) and node.id in named:
        return named[node.id]
    return [HOLE]


def _of_rust() -> Iterator[Error]:
    for file in sorted(CRATES.glob("*/src/**/*.rs")):
        place = str(file.relative_to(ROOT))
        text = file.read_text(encoding="utf-8").partition("#[cfg(test)]")[0]
        text = re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)
        if file.name == "tests.rs":
            continue
        for made in _MADE.finditer(text):
            given = _inside(text, made.end())
            arguments = _split(given)
            if len(arguments) == 2:
                yield Error(place, _said(arguments[1], text[: made.start()]))


def _inside(text: str, start: int) -> str:
    """What stands between brackets, of which the first has been opened."""
    depth, at = 1, start
    while depth and at < len(text):
        if text[at] == '"':
            literal = _LITERAL.match(text, at)
            at = literal.end() if literal else at + 1
            continue
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return text[start : at - 1]


def _split(text: str) -> list[str]:
    """Arguments of a call."""
    parts, depth, at, begin = [], 0, 0, 0
    while at < len(text):
        if text[at] == '"':
            literal = _LITERAL.match(text, at)
            at = literal.end() if literal else at + 1
            continue
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(text[at], 0)
        if text[at] == "," and depth == 0:
            parts.append(text[begin:at])
            begin = at + 1
        at += 1
    return [part for part in (*parts, text[begin:]) if part.strip()]


def _said(argument: str, before: str) -> str:
    """The message of an argument: a literal, or a name to which one was given just before."""
    literal = _LITERAL.search(argument)
    name = re.match(r"\s*(\w+)\s*(?:\.|$)", argument)
    if literal is None and name is not None:
        given = list(re.finditer(rf"\blet {name[1]}\b[^=]*=", before[-1500:]))
        if given:
            literal = _LITERAL.search(before[-1500:], given[-1].end())
    if literal is None:
        return HOLE
    said = re.sub(r"\\\n\s*", "", literal[1]).replace('\\"', '"')
    return (
        _FILLED.sub(HOLE, said.replace("{{", "\x01").replace("}}", "\x02"))
        .replace("\x01", "{")
        .replace("\x02", "}")
    )
