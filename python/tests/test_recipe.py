"""CONTRIBUTING's "Add a scheme in five steps", applied to a copy of the tree and run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STEP = re.compile(r"<!-- recipe: (.+?) -->\n```\w+\n(.*?)```", re.DOTALL)


def apply(instruction: str, text: str, tree: Path) -> None:
    """Do what one step of the recipe says."""
    if match := re.fullmatch(r"write (\S+)", instruction):
        path = tree / match[1]
        assert not path.exists(), f"{path} is there already: the recipe is no longer an example"
        path.write_text(text)
        return
    match = re.fullmatch(r"add to (\S+) after (.+)", instruction)
    assert match, f"not a step: {instruction}"
    path = tree / match[1]
    before = path.read_text()
    assert before.count(f"\n{match[2]}\n") == 1, f"{match[2]!r} is not once in {path}"
    assert text.count("\n") == 1, "a registry line is one line"
    path.write_text(before.replace(f"\n{match[2]}\n", f"\n{match[2]}\n{text}"))


@pytest.mark.skipif(not shutil.which("cargo"), reason="cargo is not installed")
def test_the_recipe_works_as_written(tmp_path: Path) -> None:
    steps = STEP.findall((ROOT / "CONTRIBUTING.md").read_text())
    assert len(steps) == 5
    tree = tmp_path / "fctlab"
    for name in ["Cargo.toml", "Cargo.lock", "crates"]:
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        (tree).mkdir(exist_ok=True)
        copy(source, tree / name)
    for instruction, text in steps:
        apply(instruction, text, tree)
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(
        """
        scheme = "greedy-srpt"
        [topology]
        kind = "star"
        senders = 4
        host_rate = "10Gbps"
        base_rtt = "20us"
        [traffic]
        workload = "imc10"
        load = 0.5
        flows = 50
        """
    )
    # Third-party crates are the same ones, with the features that the workspace's tests give
    # them: their builds are shared. Ours are not, and need not be fast.
    environment = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target")}
    quick = "profile.release.package.fctlab-fabric"
    build = ["cargo", "build", "--quiet", "--release", "--workspace", "--example", "simulate"]
    for key in ("opt-level=0", "codegen-units=16"):
        build += ["--config", f"{quick}.{key}"]
    made = subprocess.run(build, cwd=tree, env=environment, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    simulate = [ROOT / "target/release/examples/simulate", scenario]
    run = subprocess.run(simulate, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "flows_finished: 50" in run.stdout
    assert 'scheme: "greedy-srpt"' in run.stdout
