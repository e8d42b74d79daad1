"""Which lines of the engines their tests run, in Rust and in Python."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from steps import OURS, ROOT, Rows, done, need

ENGINES = ("core", "workload", "link", "fabric", "planner", "bigswitch", "table", "dhall")
"""Crates whose lines are counted: all but the binding."""
WRAPPER = """#!/bin/sh
case " $* " in
*" --crate-name fctlab_"*) exec "$@" -C instrument-coverage ;;
*) exec "$@" -C link-arg=-Wl,-u,__llvm_profile_runtime ;;
esac
"""
"""Around the compiler, for our crates alone: they are counted, and tests beside them are not, whose
naive models would take most of the time. What counts nothing is told to write what crates count."""
QUICKER = ("codegen-units=16", "opt-level=2")
"""Of the packet engine: as one unit, its counters take minutes to compile."""
LONG = ("threads", "intervals")
"""Programs of tests that are left out: they do many times what others do once."""
BOUND = ("api", "bigswitch", "elsewhere", "errors_engine", "keys", "mapping", "outputs", "packets")
BOUND += ("planning", "telemetry", "thresholds", "traces", "whatif")
"""Tests in Python that hold what tests in Rust do not: planning, the theory bench, tables."""


def coverage(_: Rows) -> Rows:
    """Lines of the engines that their tests run."""
    version = re.search(r"LLVM version: (\d+)", done("rustc", "-vV"))
    llvm = version[1] if version else ""
    how = f"apt install llvm-{llvm}"
    profdata = need(f"llvm-profdata-{llvm}", "llvm-profdata", how)
    cov = need(f"llvm-cov-{llvm}", "llvm-cov", how)
    folder = OURS / "coverage"
    shutil.rmtree(folder, ignore_errors=True)
    profiles = folder / "profiles"
    profiles.mkdir(parents=True)
    programs, library = built(folder)
    # Counters are atomic, and threads wait for each other's: programs run side by side instead.
    alone = {"LLVM_PROFILE_FILE": f"{profiles}/%m.profraw", "RAYON_NUM_THREADS": "1"}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda each: ran(*each, alone), programs.items()))
    bound(library, folder / "tree", alone)
    merged = folder / "all.profdata"
    done(profdata, "merge", "--sparse", "-o", merged, *profiles.glob("*.profraw"))
    objects = [word for each in (*programs, library) for word in ("--object", str(each))]
    command = (cov, "export", "--format=lcov", f"--instr-profile={merged}", *objects[1:])
    told = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return rows(covered(told))


def built(folder: Path) -> tuple[dict[Path, Path], Path]:
    """Every program of tests and where it is to run, and what Python loads.

    Other people's crates stay as ``make build`` has them.
    """
    wrapper = folder / "rustc"
    wrapper.write_text(WRAPPER)
    wrapper.chmod(0o755)
    faster = [f"--config=profile.release.package.fctlab-fabric.{each}" for each in QUICKER]
    asked = ("--release", "--workspace", *faster, "--message-format", "json")
    told = [
        done("cargo", *what, *asked, RUSTC_WORKSPACE_WRAPPER=str(wrapper))
        for what in (("test", "--no-run"), ("build", "--lib"))
    ]
    messages = [json.loads(line) for line in "\n".join(told).split("\n") if line.startswith("{")]
    made = [message for message in messages if message["reason"] == "compiler-artifact"]
    programs = {
        Path(each["executable"]): Path(each["manifest_path"]).parent
        for each in made
        if each["executable"] and each["profile"]["test"] and each["target"]["name"] not in LONG
    }
    (library,) = (
        Path(file)
        for each in made
        for file in each["filenames"]
        if each["target"]["name"] == "_native" and file.endswith((".so", ".dylib"))
    )
    return programs, library


def ran(program: Path, folder: Path, alone: dict[str, str]) -> None:
    """Runs a program of tests, and says how long it took."""
    begun = time.monotonic()
    done(program, "--test-threads=1", "--quiet", folder=folder, **alone)
    print(f"  {program.name}: {time.monotonic() - begun:.0f} s", flush=True)


def bound(library: Path, tree: Path, alone: dict[str, str]) -> None:
    """Runs tests in Python on the library that counts, in a copy of the tree."""
    (tree / "python").mkdir(parents=True)
    for each in ROOT.iterdir():
        if each.name not in ("python", "target", "results") and not each.name.startswith("."):
            (tree / each.name).symlink_to(each)
    ours = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(ROOT / "python", tree / "python", ignore=ours, dirs_exist_ok=True)
    shutil.copy(library, tree / "python/fctlab/_native.abi3.so")
    tests = [f"python/tests/test_{name}.py" for name in BOUND]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "auto", *tests]
    print("$", *command, flush=True)
    # What is so slow may miss a limit of time: whether tests pass is not asked here.
    counted = {**os.environ, **alone, "PYTHONPATH": str(tree / "python")}
    run = subprocess.run(command, cwd=tree, env=counted, capture_output=True, text=True)
    if run.returncode not in (0, 1):
        raise RuntimeError(run.stdout[-3000:])
    print(f"  {run.stdout.splitlines()[-1]}", flush=True)


def tests_begin(file: Path) -> int:
    """The line from which on a file is tests; beyond the last one where it has none."""
    text = file.read_text(encoding="utf-8")
    found = re.search(
        r"^#\[cfg\(test\)\]\n(?:#\[.*\]\n)*(?:pub\(crate\) )?mod ", text, re.MULTILINE
    )
    return text[: found.start()].count("\n") + 1 if found else 1 << 30


def covered(told: str) -> dict[Path, tuple[int, int]]:
    """By file of an engine, how many of its lines are run, and how many there are (LCOV)."""
    found = {}
    for part in told.split("end_of_record"):
        name = re.search(r"^SF:(.*)$", part, re.MULTILINE)
        file = Path(name[1]) if name else ROOT
        if not file.is_relative_to(ROOT / "crates"):
            continue
        crate, place, *_ = file.relative_to(ROOT / "crates").parts
        if crate not in ENGINES or place != "src" or "tests" in (file.stem, file.parent.name):
            continue
        until = tests_begin(file)
        counts = re.findall(r"^DA:(\d+),(\d+)", part, re.MULTILINE)
        lines = [int(count) > 0 for line, count in counts if int(line) < until]
        if lines:
            found[file.relative_to(ROOT)] = (sum(lines), len(lines))
    return found


def rows(files: dict[Path, tuple[int, int]]) -> Rows:
    """By crate, of all, and each file of which less than nine lines in ten are run."""
    made = []
    for crate in ENGINES:
        made.append(row(crate, [count for file, count in files.items() if file.parts[1] == crate]))
    made.append(row("all", files.values()))
    for file, (run, there) in sorted(files.items(), key=lambda each: each[1][0] / each[1][1]):
        if run < 0.9 * there:
            made.append(row(f"`{file}`", [(run, there)]))
    return made


def row(name: str, counts: Iterable[tuple[int, int]]) -> list[str]:
    """Of lines that are run and that there are."""
    run, there = (sum(each) for each in zip(*counts, strict=True))
    return [name, f"{there:,}", f"{run / there:.1%}"]
