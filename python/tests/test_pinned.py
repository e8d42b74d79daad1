"""What every command prints with ``--json`` stays what it is.

`pinned/NAME.json` has it, without times and versions. Where an answer is to change:
``FCTLAB_PIN=1 .venv/bin/pytest python/tests/test_pinned.py`` writes them anew, and the
difference is read before it is committed.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import fctlab
from fctlab.cli.app import app
from tests.conftest import SCENARIOS, Program

PINNED = Path(__file__).parent / "pinned"

PASSING = {"perf", "wall_s", "cpu_s", "version", "engine", "peak_rss_bytes", "key"}
"""Keys that say when, where and by which build."""

ALWAYS_JSON = ("schema",)
"""Commands that print nothing else."""

NO_ANSWER = {
    "init": "writes a file; test_help reads it",
    "bench": "times this machine",
    "host attach": "runs until it is stopped",
    "host set-thresholds": "prints nothing",
    "testbed build": "compiles a kernel",
    "testbed run": "needs that kernel",
    "bigswitch draw": "writes a picture",
    "plot": "writes pictures",
    "report": "writes a page",
    "claims": "shows reports of studies; test_study_claims holds it against them",
    "fabric accuracy": "reads a study's results; test_fabric_errors holds it against them",
    "fabric predict": "test_fabric holds it against packets",
    "fabric verify": "test_fabric runs it",
    "fabric plan": "test_fabric holds it against packets",
    "fabric whatif": "test_fabric runs it",
    "fabric import": "test_fabric_logs runs it",
    "fabric sampling": "test_fabric_logs holds samples against all flows",
    "fabric watch": "test_fabric_logs runs it",
    "store ls": "lists keys, which belong to a build",
    "store show": "shows what sweep pins",
    "store verify": "prints nothing but lines on stderr",
    "store gc": "prints nothing but lines on stderr",
}
"""Commands that are not pinned, and why."""

TWO = SCENARIOS / "slo-two-classes.toml"
QUICK = ("--set", "traffic.flows=200", "--set", "measure.warmup=0s")

CASES: dict[str, tuple[str | Path, ...]] = {
    "run": ("run", SCENARIOS / "websearch-leafspine.toml", *QUICK),
    "run-model": ("run", SCENARIOS / "swp-websearch.toml", "--engine", "model", *QUICK),
    "compare": (
        *("compare", SCENARIOS / "swp-classes.toml", *QUICK),
        *("--schemes", "fifo,weights", "--seeds", "2"),
    ),
    "summary": ("summary", SCENARIOS / "websearch-leafspine.toml", "theirs.csv", *QUICK),
    "sweep": ("sweep", "sweep.toml"),
    "predict": ("predict", TWO, "--most-flows", "20000"),
    "predict-packet": ("predict", TWO, "--engine", "packet", "--most-flows", "3000"),
    "plan": ("plan", TWO, "--most-flows", "100000"),
    "provision": ("provision", TWO, "--strategies", "fifo,weights", "--precision", "0.1"),
    "whatif": (
        "whatif",
        TWO,
        "--vary",
        "classes.storage.rate=10Gbps,20Gbps",
        "--most-flows",
        "20000",
    ),
    "trace": ("trace", "theirs.csv", "--rate", "10Gbps", "--out", "trace.parquet"),
    "fit": ("fit", "log.csv"),
    "calibrate": (
        *("calibrate", SCENARIOS / "slo-calibrate.toml"),
        *("--scheme", "dctcp-rate", "--loads", "0.3", "--flows", "1000"),
    ),
    "export": ("export", "sonic", "thresholds.json", "--site", "site.toml"),
    "mapping": ("mapping", "seen", "--queues", "4"),
    "thresholds": ("thresholds", "pias", "--workload", "cache", "--load", "0.7"),
    "study": ("study", "bigswitch", "--only", "ascc-t1,ascc-f1", "--out", "study"),
    "list": ("list",),
    "schema": ("schema",),
    "schema-specification": ("schema", "specification"),
    "bigswitch-run": ("bigswitch", "run", "figure-1"),
    "bigswitch-opt": ("bigswitch", "opt", "figure-2"),
    "bigswitch-ratio": ("bigswitch", "ratio", "--instances", "50"),
    "bigswitch-worst-case": ("bigswitch", "worst-case", "las", "--steps", "500"),
    "bigswitch-policies": ("bigswitch", "policies"),
}


SITE = """\
[roles.leaf]
ports = ["Ethernet0"]
rate = "100Gbps"
[host]
ports = ["eth0"]
rate = "100Gbps"
[taken]
queues = [3, 4]
tcs = [3, 4]
dscps = [46, 48]
""" + "".join(
    f"[classes.band-{i}]\nqueue = {queue}\ndscp = [{8 + 2 * i}]\n"
    for i, queue in enumerate((7, 5, 2, 1))
)


def flow_log() -> str:
    """A thousand flows whose gaps and sizes are neither even nor drawn."""
    lines, start = ["start_s,size_bytes"], 0.0
    for i in range(1000):
        start += 1e-6 * (1 + i * i % 37)
        lines.append(f"{start:.9f},{100 + 977 * (i * 7919 % 1009)}")
    return "\n".join(lines) + "\n"


def their_flows() -> str:
    """Some two hundred flows of another simulator, of which every tenth did not finish."""
    lines = ["start_s,src,dst,size_bytes,fct_s"]
    for i in range(200):
        size = 100 + 977 * (i * 7919 % 1009)
        fct = "" if i % 10 == 3 else f"{40e-6 + size * 1e-9 * (1 + i % 7):.9f}"
        lines.append(f"{i * 5e-6:.9f},{i % 144},{(i * 31 + 1) % 144},{size},{fct}")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose ports saw values."""
    ads = fctlab.load_scenario(SCENARIOS / "ads.toml")
    records = ads.set("traffic.flows", 300).set("measure.warmup", "0s").set("record.values", {})
    place = tmp_path_factory.mktemp("pinned") / "seen"
    fctlab.run(records, out=place)
    return place


@pytest.fixture
def place(tmp_path: Path, seen: Path) -> Path:
    """Where commands run, with what they read that is not shipped."""
    (tmp_path / "log.csv").write_text(flow_log())
    (tmp_path / "theirs.csv").write_text(their_flows())
    (tmp_path / "thresholds.json").write_text((PINNED / "thresholds.json").read_text())
    (tmp_path / "site.toml").write_text(SITE)
    (tmp_path / "sweep.toml").write_text(
        f'scenario = "{SCENARIOS / "websearch-leafspine.toml"}"\n'
        'schemes = ["dctcp", "pfabric"]\nloads = [0.4, 0.6]\nseeds = 2\n'
        '[set]\ntraffic.flows = 200\nmeasure.warmup = "0s"\n'
    )
    (tmp_path / "seen").symlink_to(seen)
    return tmp_path


def lasting(value: Any, place: Path) -> Any:
    """What is the same on every machine and in every directory."""
    if isinstance(value, dict):
        return {k: lasting(v, place) for k, v in value.items() if k not in PASSING}
    if isinstance(value, list):
        return [lasting(v, place) for v in value]
    if isinstance(value, str):
        return value.replace(str(SCENARIOS), "SCENARIOS").replace(str(place), "PLACE")
    return value


def differences(found: Any, pinned: Any, path: str = "") -> list[str]:
    """Where two answers differ; numbers by more than the last digits, which libraries choose."""
    if isinstance(found, dict) and isinstance(pinned, dict):
        keys = [*found, *(k for k in pinned if k not in found)]
        absent = object()
        pairs = [(f"{path}.{k}", found.get(k, absent), pinned.get(k, absent)) for k in keys]
        if keys == [*found] and list(found) != list(pinned) and len(found) == len(pinned):
            pairs.append((f"{path} (order of keys)", list(found), list(pinned)))
    elif isinstance(found, list) and isinstance(pinned, list) and len(found) == len(pinned):
        pairs = [(f"{path}.{i}", f, p) for i, (f, p) in enumerate(zip(found, pinned, strict=True))]
    elif isinstance(found, float) and isinstance(pinned, float):
        return [] if found == pytest.approx(pinned, rel=1e-9) else [f"{path}: {found}, {pinned}"]
    else:
        return [] if found == pinned else [f"{path}: {found!r}, was {pinned!r}"]
    return [line for name, f, p in pairs for line in differences(f, p, name)]


@pytest.mark.parametrize("name", CASES)
def test_an_answer_stays_what_it_is(name: str, place: Path, program: Program) -> None:
    json_flag = () if "--json" in CASES[name] or CASES[name][0] in ALWAYS_JSON else ("--json",)
    done = program(*CASES[name], *json_flag)
    assert done.returncode == 0, done.stderr
    found = lasting(json.loads(done.stdout), place)
    file = PINNED / f"{name}.json"
    if os.environ.get("FCTLAB_PIN"):
        file.write_text(json.dumps(found, indent=1) + "\n")
    assert differences(found, json.loads(file.read_text())) == []


def test_every_command_is_pinned() -> None:
    import typer

    def commands(group: Any, prefix: str = "") -> set[str]:
        found: set[str] = set()
        for name, command in group.commands.items():
            whole = prefix + name
            inner = getattr(command, "commands", None)
            found |= commands(command, f"{whole} ") if inner else {whole}
        return found

    pinned = {" ".join(str(word) for word in case) for case in CASES.values()}
    whole = commands(typer.main.get_command(app)) - set(NO_ANSWER)
    missing = {c for c in whole if not any(f"{p} ".startswith(f"{c} ") for p in pinned)}
    assert missing == set()
    assert {file.stem for file in PINNED.glob("*.json")} == set(CASES)
