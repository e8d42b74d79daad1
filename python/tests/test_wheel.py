"""What a wheel holds, and what it needs. `make try-wheel` tries one without a compiler."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from fctlab import _native

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "fctlab"
WHEELS = sorted((ROOT / "dist").glob("*.whl"), key=lambda file: file.stat().st_mtime)


def imported(tree: ast.AST) -> Iterator[str]:
    """Top-level modules that a file imports when it runs."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
        yield from imported(node)


def needed() -> set[str]:
    """Distributions that fctlab requires."""
    project = json.loads(_native.parse((ROOT / "pyproject.toml").read_text("utf-8"), "toml"))
    listed = project["project"]["dependencies"]
    return {re.split(r"[\s<>=!~;\[(]", requirement)[0].lower() for requirement in listed}


def test_everything_that_is_imported_is_required() -> None:
    """Ray alone is an extra, and said to be missing where it is."""
    found = packages_distributions()
    known = needed() | {"ray"}
    lacking = {
        (name, str(file.relative_to(ROOT)))
        for file in PACKAGE.rglob("*.py")
        for name in imported(ast.parse(file.read_text(encoding="utf-8")))
        if name not in sys.stdlib_module_names | {"fctlab"}
        and not {each.lower() for each in found.get(name, [name])} & known
    }
    assert lacking == set()


def test_nothing_of_the_package_is_left_out() -> None:
    """maturin takes what git does not ignore."""
    files = [str(file) for file in PACKAGE.rglob("*") if "__pycache__" not in file.parts]
    ignored = subprocess.run(
        ["git", "check-ignore", *files], cwd=ROOT, capture_output=True, text=True
    ).stdout.split()
    assert {Path(file).suffix for file in ignored} <= {".so"}


@pytest.mark.skipif(not WHEELS, reason="there is no wheel in dist; make wheel")
def test_a_wheel_holds_the_package() -> None:
    with zipfile.ZipFile(WHEELS[-1]) as wheel:
        held = {name for name in wheel.namelist() if name.startswith("fctlab/")}
    tracked = subprocess.run(
        ["git", "ls-files", "python/fctlab"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    there = {name.removeprefix("python/") for name in tracked} | {"fctlab/_native.abi3.so"}
    assert there - held == set()
    assert "-cp310-abi3-manylinux" in WHEELS[-1].name
