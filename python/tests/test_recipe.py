"""CONTRIBUTING's recipes, applied to one copy of the tree, built once and run."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
STEP = re.compile(r"<!-- recipe: (.+?) -->\n```\w+\n(.*?)```", re.DOTALL)

pytestmark = [
    pytest.mark.skipif(not shutil.which("cargo"), reason="cargo is not installed"),
    pytest.mark.xdist_group("recipe"),  # one build
]

Answer = Callable[..., subprocess.CompletedProcess[str]]

STAR = {"kind": "star", "senders": 4, "host_rate": "10Gbps", "base_rtt": "20us"}
SCENARIO: dict[str, Any] = {
    "scheme": "greedy-srpt",
    "topology": STAR,
    "traffic": {"workload": "imc10", "load": 0.5, "flows": 50},
    "measure": {"warmup": "0s"},
}


def apply(instruction: str, text: str, tree: Path) -> None:
    """Do what one step of a recipe says."""
    if match := re.fullmatch(r"write (\S+)", instruction):
        path = tree / match[1]
        assert not path.exists(), f"{path} is there already: the recipe is no longer an example"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return
    match = re.fullmatch(r"add to (\S+) (after|before) (.+)", instruction)
    assert match, f"not a step: {instruction}"
    path = tree / match[1]
    lines = path.read_text().splitlines(keepends=True)
    assert lines.count(match[3] + "\n") == 1, f"{match[3]!r} is not once in {path}"
    assert text.count("\n") == 1, "a registry line is one line"
    lines.insert(lines.index(match[3] + "\n") + (match[2] == "after"), text)
    path.write_text("".join(lines))


def build(tree: Path) -> Path:
    """Builds the tree's engine; returns it."""
    # Third-party crates are the same ones, with the features that the workspace's tests give
    # them: their builds are shared. Ours are not, and need not be fast.
    command = ["cargo", "build", "--release", "--workspace", "--lib", "--example", "simulate"]
    command += ["--message-format", "json-render-diagnostics"]
    command += ["--config", "profile.release.opt-level=0"]
    for crate in ("fctlab-fabric", "fctlab-link"):
        command += ["--config", f"profile.release.package.{crate}.codegen-units=16"]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target")}
    made = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    assert "warning: " not in made.stderr, made.stderr
    messages = [json.loads(line) for line in made.stdout.splitlines()]
    built = [m for m in messages if m.get("target", {}).get("name") == "_native"]
    (library,) = [file for m in built for file in m.get("filenames", []) if "lib_native" in file]
    return Path(library)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree after all recipes, with its engine."""
    tree = tmp_path_factory.mktemp("recipe") / "fctlab"
    ignore = shutil.ignore_patterns("*.so", "__pycache__")
    for name in ["crates", "python/fctlab", "scenarios"]:
        shutil.copytree(ROOT / name, tree / name, ignore=ignore)
    for name in ["Cargo.toml", "Cargo.lock", "pyproject.toml", "rust-toolchain.toml"]:
        shutil.copy(ROOT / name, tree / name)
    for instruction, text in STEP.findall((ROOT / "CONTRIBUTING.md").read_text()):
        apply(instruction, text, tree)
    shutil.copy(build(tree), tree / "python/fctlab/_native.abi3.so")
    return tree


@pytest.fixture
def program(tree: Path, tmp_path: Path) -> Answer:
    """The copy's program; tables among its arguments are files."""

    def answer(*arguments: str | dict[str, Any]) -> subprocess.CompletedProcess[str]:
        words = []
        for i, argument in enumerate(arguments):
            if isinstance(argument, dict):
                file = tmp_path / f"{i}.json"
                file.write_text(json.dumps(argument))
                argument = str(file)
            words.append(argument)
        command = [sys.executable, "-c", "from fctlab.cli.app import main; main()", *words]
        environment = {**os.environ, "PYTHONPATH": str(tree / "python")}
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True
        )

    return answer


def told(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_what_was_written_is_formatted(tree: Path) -> None:
    subprocess.run(["cargo", "fmt", "--check"], cwd=tree, check=True)
    ruff = Path(sys.executable).parent / "ruff"
    for check in (["check"], ["format", "--check"]):
        subprocess.run([ruff, *check, "python"], cwd=tree, check=True)


def test_schemes_without_compiling(tree: Path, program: Answer) -> None:
    scenario = str(tree / "scenarios/my-scheme.toml")
    quick = ("--set", "traffic.flows=50", "--set", "measure.warmup=0s", "--json")
    found = told(program("compare", scenario, *quick))
    assert {row["scheme"] for row in found["summary"]} == {"dctcp", "dctcp-srpt"}
    presets = ("--presets", str(tree / "my-presets"))
    names = ("--schemes", "dctcp,dctcp-srpt,dctcp-short-buffer")
    found = told(program("compare", scenario, *presets, *names, *quick))
    assert len({row["scheme"] for row in found["summary"]}) == 3
    (own,) = [
        part
        for part in told(program("list", "schemes", *presets, "--json"))["schemes"]
        if part["name"] == "dctcp-short-buffer"
    ]
    assert own["description"].startswith("DCTCP whose ports send what is nearly done first")


def test_an_engine_that_is_built_quickly_says_so(program: Answer) -> None:
    assert "(development build)" in program("--version").stdout
    assert "a development build: the same results, later" in program("run", SCENARIO).stderr
    assert "a development build is no measure" in program("bench", "packet").stderr


def test_a_transport_and_a_scheme(program: Answer) -> None:
    found = told(program("run", SCENARIO, "--json"))
    assert found["scenario"]["scheme"]["transport"]["kind"] == "greedy"
    assert found["counters"]["flows_finished"] == 50
    assert "greedy-srpt" in program("list", "schemes").stdout


def test_a_discipline(program: Answer) -> None:
    def mean(discipline: str) -> float:
        scheme = {"preset": "dctcp", "port": {"discipline": discipline}}
        found = told(program("run", {**SCENARIO, "scheme": scheme}, "--json"))
        assert found["counters"]["flows_finished"] == 50
        value: float = found["summary"][0]["avg_slowdown"]
        return value

    assert mean("lifo") != mean("fifo")


def test_a_topology(program: Answer) -> None:
    row = {"kind": "row", "switches": 6, "hosts_per_switch": 2, "host_rate": "10Gbps"}
    traffic = {**SCENARIO["traffic"], "load": 0.2}
    scenario = {**SCENARIO, "topology": {**row, "link_delay": "1us"}, "traffic": traffic}
    assert told(program("run", scenario, "--json"))["counters"]["flows_finished"] == 50
    long = program("run", {**scenario, "scheme": "hpcc"})
    assert long.returncode == 2
    assert "has 6 switches; hpcc works with at most 5" in long.stderr


def test_a_law_of_the_link_model(program: Answer) -> None:
    def spec(cc: Any) -> dict[str, Any]:
        sizes = {"kind": "fixed", "size": "10MB"}
        median = [{"name": "median", "metric": "p50"}]
        only = {"name": "a", "flowsizes": sizes, "load": 0.01, "slis": median}
        return {"network": {"link": "100Gbps", "rtt": "10us"}, "cc": cc, "classes": [only]}

    def slowdown(cc: Any) -> float:
        found = told(program("predict", spec(cc), "--most-flows", "200", "--json"))
        value: float = found["classes"][0]["slis"][0]["value"]
        return value

    # Alone it has half a BDP in flight, and so half the link.
    half = slowdown("half-a-bdp") / slowdown({"preset": "half-a-bdp", "window": 1.0})
    assert 1.8 < half < 2.0
    lacking = program("predict", spec({"preset": "half-a-bdp", "window": 0}))
    assert 'cc.window: has to be above zero under law = "constant"' in lacking.stderr


def test_a_command(program: Answer) -> None:
    assert told(program("base-rtt", SCENARIO, "--json"))["base_rtt_s"] == pytest.approx(2e-5)
    assert program("base-rtt", SCENARIO).stdout == "2e-05 s\n"
