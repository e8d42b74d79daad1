"""The crates' modules name each other in one direction; CONTRIBUTING.md has the order.

A folder counts as one module; modules in parentheses name each other, which is to end.
Tests at the end of a file, and `tests.rs`, do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONGEST = 500
"""Lines of a file, tests at its end not counted."""

ORDERS = re.findall(
    r"<!-- order: (\S+) -->\n```\n(.*?)```",
    (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"),
    re.DOTALL,
)


def code(file: Path) -> str:
    """What is compiled when it is not tested, without comments."""
    tests = r"\n#\[cfg\(test\)\]\n(?:#\[.*\]\n)*(?:pub\(crate\) )?mod "
    return re.sub(r"//.*", "", re.split(tests, file.read_text(encoding="utf-8"))[0])


def sources(crate: str) -> Iterator[Path]:
    """Files that are not tests alone."""
    for file in sorted((ROOT / "crates" / crate / "src").rglob("*.rs")):
        if "tests" not in (file.stem, file.parent.name):
            yield file


def module(crate: str, file: Path) -> str:
    """The top-level module that it is a part of."""
    return file.relative_to(ROOT / "crates" / crate / "src").parts[0].removesuffix(".rs")


def named(text: str, depth: int) -> set[str]:
    """Top-level modules that a file `depth` folders below them names, and perhaps other words."""
    above = "super::" * (depth + 1)
    found = set()
    for match in re.finditer(rf"\b(?:crate::|{above})(\w+|\{{[^;]*\}})", text):
        found |= set(re.findall(r"(?:^|[{,]\s*)(\w+)", match[1]))
    return found


@pytest.mark.parametrize(("crate", "order"), ORDERS, ids=[crate for crate, _ in ORDERS])
def test_each_line_names_lines_above_it_only(crate: str, order: str) -> None:
    lines = [re.findall(r"\w+", line) for line in order.splitlines()]
    place = {name: number for number, line in enumerate(lines) for name in line}
    circles = {number for number, line in enumerate(order.splitlines()) if line.startswith("(")}
    modules = {module(crate, file) for file in sources(crate)} - {"lib"}
    assert modules == set(place)
    wrong = set()
    for file in sources(crate):
        own = module(crate, file)
        if own == "lib":
            continue
        depth = len(file.relative_to(ROOT / "crates" / crate / "src").parts) - 1
        depth -= file.stem == "mod"
        for name in named(code(file), depth) & set(place) - {own}:
            in_circle = place[name] == place[own] and place[own] in circles
            if place[name] >= place[own] and not in_circle:
                wrong.add(f"{own} names {name}")
    assert wrong == set()


def test_every_crate_has_an_order_or_is_one_module() -> None:
    crates = {folder.name for folder in (ROOT / "crates").iterdir()}
    assert {crate for crate, _ in ORDERS} == crates - {"table"}


def test_no_file_is_long() -> None:
    files = [file for crate in (ROOT / "crates").iterdir() for file in sources(crate.name)]
    files += (ROOT / "python" / "fctlab").rglob("*.py")
    long = {f for f in files if len(code(f).splitlines()) > LONGEST}
    assert {str(file.relative_to(ROOT)) for file in long} == set()
