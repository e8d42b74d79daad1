"""What fuzzing has kept is tried again, and the page of ``make trust`` is what it wrote."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def script(name: str) -> ModuleType:
    """A script of the repository."""
    file = ROOT / name
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(file.parent), *sys.path])
        spec = importlib.util.spec_from_file_location(file.stem, file)
        assert spec and spec.loader
        made = importlib.util.module_from_spec(spec)
        patch.setitem(sys.modules, file.stem, made)
        spec.loader.exec_module(made)
    return made


@pytest.mark.parametrize("reader", ["logs", "configurations"])
def test_what_fuzzing_kept_is_read_or_refused(reader: str) -> None:
    readers = script("fuzz/readers.py")
    kept = sorted((ROOT / "fuzz/corpus" / reader).iterdir())
    assert kept
    for file in kept:
        readers.one_error(readers.READERS[reader], file.read_bytes())


def test_nobody_types_a_number_of_the_page() -> None:
    trust = script("packaging/trust.py")
    kept = json.loads(trust.KEPT.read_text(encoding="utf-8"))
    text = trust.PAGE.read_text(encoding="utf-8")
    assert trust.page(kept, text) == text
    assert set(kept) <= set(trust.STEPS)


def test_parts_of_the_mutants_say_how_many_of_all_are_killed_at_least() -> None:
    mutants = script("packaging/mutants.py")
    rows = [["a part", "0/2", "9 of 9"], ["a part", "1/2", "3 of 4"], ["`+ for -`", "1/2", "no"]]
    least = "12 of 13; at 95% at least 68% of all"
    assert mutants.together(rows) == [mutants.ALL, "2", least]
    # The chance to kill so many of 13, were it that much: one in twenty.
    chance = 13 * 0.684**12 * 0.316 + 0.684**13
    assert chance == pytest.approx(0.05, abs=2e-3)


def test_every_target_has_inputs() -> None:
    fuzz = script("packaging/fuzz.py")
    assert {file.stem for file in (ROOT / "fuzz/targets").iterdir()} == set(fuzz.RUST)
    for target in (*fuzz.RUST, *fuzz.PYTHON):
        kept = list((fuzz.CORPORA / target).iterdir())
        assert kept and sum(file.stat().st_size for file in kept) <= fuzz.KEPT_BYTES


def test_an_unknown_target_is_refused() -> None:
    asked = {**os.environ, "TARGETS": "engine enigne"}
    command = [sys.executable, str(ROOT / "packaging/trust.py"), "fuzzing"]
    found = subprocess.run(command, env=asked, capture_output=True, text=True)
    assert found.returncode == 1
    assert "TARGETS: enigne is not a target; there are text, " in found.stderr


def test_jobs_of_ci_are_commands_that_are_here() -> None:
    steps = script("packaging/trust.py").STEPS
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    commands = re.findall(r"- run: (.+)", (ROOT / ".github/workflows/ci.yml").read_text())
    assert ".ci/run" in commands and "make fuzz SECONDS=120" in commands
    for command in commands:
        program, *rest = command.split(" ", 1)
        if program == "make":
            target, _, asked = rest[0].partition(" ")
            assert target in targets
            named = re.search(r'STEPS="(.*)"', asked)
            assert set(named[1].split() if named else []) <= set(steps)
        else:
            assert os.access(ROOT / program, os.X_OK)
