"""What the program imports before it does anything, and what a release says of itself."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fctlab
from fctlab import _native

ROOT = Path(__file__).parents[2]
HEAVY = {"numpy", "scipy", "polars", "pyarrow", "matplotlib", "plotly", "jinja2", "ray", "pydantic"}
PROGRAM = {"typer", "rich", "msgspec"}
VERSION = re.compile(r"^## (\d+\.\d+\.\d+) \((unreleased|\d{4}-\d{2}-\d{2})\)$", re.MULTILINE)


def imported(*arguments: str) -> set[str]:
    """Modules that the program has imported when it ends, in milliseconds of nobody's clock."""
    command = [sys.executable, "-X", "importtime", "-m", "fctlab", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "|" in line}
    assert "fctlab" in found and done.stdout
    return found


def packages(modules: set[str]) -> set[str]:
    return {module.partition(".")[0] for module in modules}


def test_the_version_needs_nothing() -> None:
    modules = imported("--version")
    assert not packages(modules) & (HEAVY | PROGRAM)
    assert {m for m in modules if m.startswith("fctlab.")} <= {
        *("fctlab._native", "fctlab.errors", "fctlab.cli", "fctlab.__main__"),
    }


@pytest.mark.parametrize("arguments", [["list"], ["list", "schemes"], ["--help"]])
def test_a_look_at_what_there_is_loads_nothing_heavy(arguments: list[str]) -> None:
    assert not packages(imported(*arguments)) & HEAVY


@pytest.mark.parametrize("arguments", [["list"], ["list", "schemes"]])
def test_a_list_asks_engines_alone(arguments: list[str]) -> None:
    """Answers, files and jobs are of who asks them for more."""
    modules = imported(*arguments)
    assert not packages(modules) & {"msgspec", "asyncio", "concurrent"}
    assert not modules & {"fctlab.answers", "fctlab.jobs", "fctlab.slo", "fctlab.theory"}


def test_a_run_loads_one_library_of_tables(small: Path) -> None:
    assert not packages(imported("run", str(small))) & {"numpy", "pyarrow", "scipy", "matplotlib"}


def tables(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_native.parse((ROOT / name).read_text(), "toml"))
    return found


def test_the_changelog_has_a_part_for_each_version_the_newest_first() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    versions = VERSION.findall(text)
    assert len(versions) == len(headings), "a heading is no version with a date"
    numbers = [tuple(map(int, version.split("."))) for version, _ in versions]
    assert numbers == sorted(numbers, reverse=True)
    assert [when for _, when in versions].count("unreleased") <= 1
    assert versions[0][0] == fctlab.__version__


def test_the_citation_names_this_version() -> None:
    yaml = pytest.importorskip("yaml")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    workspace = tables("Cargo.toml")["workspace"]["package"]
    assert cited["version"] == workspace["version"] == fctlab.__version__
    assert " OR ".join(cited["license"]) == workspace["license"]
    assert {"cff-version", "message", "title", "authors"} <= set(cited)


def test_the_oldest_compiler_is_stated_once() -> None:
    """`make trust` builds with it where it is there."""
    oldest = tables("Cargo.toml")["workspace"]["package"]["rust-version"]
    pinned = tables("rust-toolchain.toml")["toolchain"]["channel"]
    assert tuple(map(int, oldest.split("."))) <= tuple(map(int, pinned.split(".")[:2]))
    for manifest in ROOT.glob("crates/*/Cargo.toml"):
        assert tables(str(manifest))["package"]["rust-version"] == {"workspace": True}
