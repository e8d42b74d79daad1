"""Whether tests notice when a line is made wrong: cargo-mutants for Rust, cosmic-ray for Python."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from steps import OURS, ROOT, Rows, done, need, programs

MUTATED = (
    *("crates/core/src", "crates/link/src", "crates/planner/src"),
    *(f"crates/fabric/src/{part}" for part in ("disciplines", "taggers", "transports", "scheme")),
    *(f"crates/fabric/src/{part}" for part in ("engine", "network", "fluid")),
    *("crates/bigswitch/src/policies", "crates/bigswitch/src/switch.rs"),
)
"""What decides a number in Rust."""
SLOW = "profile.release.package.fctlab-link.opt-level=3"
"""Tests of one small crate would take most of the time: it is built as for a release."""
VERDICTS = {"studies/framework/verdict.py": "test_study_verdict.py"}
"""What is made wrong in Python, and the tests that are to notice it, in seconds."""
SETTLING = {
    "studies/framework/settle.py": "test_study_settle.py",
    "studies/framework/regions.py": "test_study_settle.py",
}
LOOKS = {"sweep/looks.py": "test_looks.py"}
ADVICE = {
    f"studies/advice/{name}.py": "test_study_advice.py" for name in ("decide", "predict", "tree")
}
ALIKE = (
    *("core/ReplaceBinaryOperator_BitOr_.*", "core/ReplaceUnaryOperator_.*_(Invert|Not)"),
    "core/ReplaceBinaryOperator_.*_(RShift|LShift|Pow|Mod|FloorDiv|BitXor|BitOr|BitAnd)",
    "core/ReplaceComparisonOperator_.*_(Is|IsNot)",
)
"""Mutants that are not tried: most are of annotations, or fail whatever is tested."""
HARMLESS = {
    "MOST_SEEDS = ": "a search gives up somewhere",
    "FAR = ": "whatever is far does",
    "1 / FAR": "whatever is far does, and members are the same or not equal",
    "expected.way > 0": "a sign is +1 or -1",
    "Region.of(": "no ratio is below 0 or beyond infinity",
    "math.inf": "nothing is beyond infinity",
    " is Bound.": "members are the same or not equal, and first or last in order",
    " is Verdict.": "members are the same or not equal, and first in order beside the others",
    "len(ratios) < 2": "of one ratio the spread is infinite, and so are the seeds",
    "while low < high": "`low` never passes `high`",
    "(found.point > 1)": "a point of 1 was undecided before, and truths are the same or not equal",
    "near_low < near_high": "halfway, both ends are as near",
    "len(verdicts) == 1": "there is one at least",
    "right = verdicts": "there are two, of two",
    "e >= 0": "0 stays 0",
    "found.low <= 1 <= found.high": "of what is apart, an end at 1 to the last bit",
    "RULE = Decided(": "settling takes its looks and their confidence, not its margin",
    "nothing(expected) or 0.0": "effects that have such a share have one above 0",
    "if look > 1": "looks are counted from 1",
    "region.room(end) >= 0": "an end on a border to the last bit",
    "ends[0] <= 0 <= ends[1]": "an end at no effect to the last bit",
    "for n in range(2, most + 1)": "looks have five seeds at least, and `widest` has some room",
    '"narrow" if found.half_width <=': "a half-width that is the share to the last bit",
    "elif low > 0": "an end at no effect to the last bit",
    "elif high < 0": "an end at no effect to the last bit",
    "if ratio <= 0": "no ratio is below 0",
    "@dataclass(frozen": "nobody changes one",
    "inside = near.low": "a point at the lower end to the last bit",
}
"""By a part of its line, why a mutant that survives says nothing else."""
SHARD = os.environ.get("SHARD", "0/80")
"""Which part of all mutants is tried: `make trust SHARD=1/80`."""
ALL = "all parts that were tried"


def rust(before: Rows) -> Rows:
    """Whether tests in Rust notice when a line of an engine is wrong.

    Parts add up; one that was tried before makes room for any that has a mutant of it.
    """
    need("cargo-mutants", "cargo install cargo-mutants")
    folder = OURS / "rust-mutants"
    folder.mkdir(parents=True, exist_ok=True)  # cargo-mutants makes the last folder only
    files = [f"--file={name if name.endswith('.rs') else f'{name}/**'}" for name in MUTATED]
    command = ["cargo", "mutants", f"--shard={SHARD}", "--sharding=round-robin", *files]
    # As `make dev` builds, and beside it: other people's crates are compiled already.
    built = ["--config=.cargo/dev.toml", f"--config={SLOW}", f"--target-dir={ROOT / 'target'}"]
    command += ["--profile=release", *(f"--cargo-arg={word}" for word in (*built, "--tests"))]
    # Without a mutant first: a fixed time would kill all of them where a machine is slow.
    command += ["--test-workspace=true", "--timeout-multiplier=3", f"--output={folder}"]
    print("$", " ".join(command), flush=True)
    # Survivors end it with 2, what took too long with 3.
    ran = subprocess.run(command, cwd=ROOT)
    if ran.returncode not in (0, 2, 3):
        raise RuntimeError("cargo mutants fails")
    found = {
        name: (folder / "mutants.out" / f"{name}.txt").read_text().splitlines()
        for name in ("caught", "missed", "timeout", "unviable")
    }
    killed = len(found["caught"]) + len(found["timeout"])
    rows = [row for row in before if row[0] != ALL and apart(row[1], SHARD)]
    rows += [["a part", SHARD, f"{killed} of {killed + len(found['missed'])}"]]
    rows += [[f"`{name}`", SHARD, "no"] for name in found["missed"]]
    return [together(rows), *sorted(rows, key=of_a_part)]


def together(rows: Rows) -> list[str]:
    """The row of all parts: what is killed of those that were tried, and at least of all there are.

    Parts are spread evenly over all mutants, so they are a sample: the bound is one-sided, at 95%
    (Clopper and Pearson, Biometrika 26, 1934).
    """
    from scipy.stats import binomtest

    parts = [row[2].split(" of ") for row in rows if row[2] != "no"]
    killed, tried = (sum(int(part[i]) for part in parts) for i in (0, 1))
    low = binomtest(killed, tried).proportion_ci(0.9).low
    return [ALL, str(len(parts)), f"{killed} of {tried}; at 95% at least {low:.0%} of all"]


def apart(one: str, other: str) -> bool:
    """Whether two parts, such as 1/80 and 3/160, have no mutant in common."""
    (k, n), (j, m) = (map(int, part.split("/")) for part in (one, other))
    return (k - j) % math.gcd(n, m) != 0


def of_a_part(row: list[str]) -> tuple[str, bool, str]:
    """Order of rows: each part, and then what survives of it."""
    return row[1], row[2] == "no", row[0]


def python(modules: Mapping[str, str], _: Rows) -> Rows:
    """Whether tests notice when a line of a module is wrong; a copy is changed.

    Args:
        modules: of `python/fctlab`, each with the tests that are to notice it.
    """
    how = "pip install cosmic-ray"
    cosmic, chosen = need(*programs("cosmic-ray"), how), need(*programs("cr-filter-operators"), how)
    killed, left = 0, Rows()
    for module, tests in modules.items():
        told = tried(cosmic, chosen, module, tests)
        found = survivors(ROOT / "python/fctlab" / module, told)
        killed += found[0]
        left += found[1]
    return [["killed", f"{killed} of {killed + len(left)}", ""], *sorted(left)]


def tried(cosmic: str, chosen: str, module: str, tests: str) -> str:
    """What cosmic-ray dumps of the mutants of a module."""
    folder = OURS / "mutants" / Path(module).stem
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "python", folder / "python")
    command = (
        f"{sys.executable} -m pytest -x -q --noconftest -c {os.devnull} --rootdir . "
        f"-p no:cacheprovider python/tests/{tests}"
    )
    config, session = folder / "mutants.toml", folder / "mutants.sqlite"
    config.write_text(
        f"[cosmic-ray]\nmodule-path = {json.dumps(f'python/fctlab/{module}')}\n"
        f"timeout = 120.0\nexcluded-modules = []\ntest-command = {json.dumps(command)}\n"
        '[cosmic-ray.distributor]\nname = "local"\n'
        f"[cosmic-ray.filters.operators-filter]\nexclude-operators = {json.dumps(ALIKE)}\n"
    )
    alone = {
        "PYTHONPATH": os.pathsep.join([str(folder / "python"), os.environ.get("PYTHONPATH", "")]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    done(cosmic, "baseline", config, folder=folder, **alone)
    done(cosmic, "init", config, session, folder=folder)
    done(chosen, session, config, folder=folder)
    done(cosmic, "exec", config, session, folder=folder, **alone)
    return done(cosmic, "dump", session, folder=folder)


def survivors(file: Path, told: str) -> tuple[int, Rows]:
    """How many mutants of a file tests noticed, and rows of those that none did."""
    lines = file.read_text(encoding="utf-8").splitlines()
    killed, left = 0, Rows()
    for item, result in map(json.loads, told.splitlines()):
        if result is None or result["worker_outcome"] == "skipped":
            continue
        if result["test_outcome"] == "survived":
            (made,) = item["mutations"]
            line = lines[made["start_pos"][0] - 1].strip().replace("|", "\\|")
            why = next((why for part, why in HARMLESS.items() if part in line), "")
            left.append([made["operator_name"].removeprefix("core/"), f"`{line}`", why])
        else:
            killed += 1
    return killed, left
