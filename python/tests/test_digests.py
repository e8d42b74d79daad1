"""The frozen table of digests, from Python, and the rule by which it may change.

`crates/fabric/tests/digests.json` has what small runs of every scheme and engine find. The
changelog's unreleased part names the digest of that table: who changes a result changes that line,
and says beside it what changed. `crates/fabric/tests/digests.rs` writes the table anew.
"""

from __future__ import annotations

import hashlib
import json
import re
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import fctlab
from fctlab import cluster
from fctlab.jobs import Job, Told, run_jobs

ROOT = Path(__file__).parents[2]
TABLE = json.loads((ROOT / "crates/fabric/tests/digests.json").read_text())
DIGESTS: dict[str, str] = TABLE["digests"]
NAMED = re.compile(r"Digests of results: `(\w+)`")
COLUMNS = {
    "flow": "<u8",
    "src": "<u4",
    "dst": "<u4",
    "size_bytes": "<u8",
    "start_s": "<f8",
    "fct_s": "<f8",
    "ideal_fct_s": "<f8",
    "slowdown": "<f8",
    "retransmissions": "<u4",
}
FEW = ("leaf-spine dctcp", "leaf-spine ads", "fluid dctcp-rate", "model hpcc")


def scenario(run: str) -> dict[str, Any]:
    """That of a run, ``"BASE SCHEME"``."""
    base, scheme = run.split()
    tables = dict(TABLE["bases"][base])
    changed = tables.pop("scheme", None)
    return {**tables, "scheme": {**changed, "preset": scheme} if changed else scheme}


def digest(run: str, told: Told | None = None) -> str:
    """What a run finds, as `digests.rs` has it."""
    found = fctlab.run(scenario(run))
    whole = hashlib.sha256()
    for name, kind in COLUMNS.items():
        whole.update(found.flows[name].to_numpy().astype(kind).tobytes())
    for name in ("data_packets", "drops", "ecn_marks", "packet_hops"):
        whole.update(found.counters[name].to_bytes(8, "little"))
    return whole.hexdigest()[:16]


@pytest.mark.filterwarnings("ignore::fctlab.SpecWarning")
@pytest.mark.parametrize("run", FEW)
def test_python_finds_what_the_engine_found(run: str) -> None:
    assert digest(run) == DIGESTS[run]


JOBS = [Job(run, digest, run) for run in FEW]


@pytest.mark.filterwarnings("ignore::fctlab.SpecWarning")
def test_threads_find_the_same() -> None:
    found = {job.name: each for job, each in run_jobs(JOBS, 2)}
    assert found == {run: DIGESTS[run] for run in FEW}


@pytest.mark.filterwarnings("ignore::fctlab.SpecWarning")
def test_another_process_finds_the_same() -> None:
    """One that begins anew, and has nothing of this one."""
    with ProcessPoolExecutor(1, get_context("spawn")) as executor:
        found = {job.name: each for job, each in run_jobs(JOBS, 2, executor=executor)}
    assert found == {run: DIGESTS[run] for run in FEW}


@pytest.mark.filterwarnings("ignore::fctlab.SpecWarning")
def test_the_hundredth_run_of_a_process_finds_the_same() -> None:
    for number in range(99):
        base = scenario(FEW[number % len(FEW)])
        fctlab.run(fctlab.load_scenario(base).set("traffic.flows", 10))
    assert digest(FEW[0]) == DIGESTS[FEW[0]]


@pytest.mark.xdist_group("ray")  # one cluster at a time
def test_a_cluster_finds_the_same() -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'fctlab[ray]'")
    with cluster.opened("ray") as executor:
        found = {job.name: each for job, each in run_jobs(JOBS, 2, executor=executor)}
    assert found == {run: DIGESTS[run] for run in FEW}


def test_every_scheme_and_engine_has_a_digest() -> None:
    schemes = {part["name"] for part in fctlab.catalog()["schemes"]}
    assert schemes <= {run.split()[1] for run in DIGESTS if run.startswith("leaf-spine ")}
    engines = [base.get("engine", "packet") for base in TABLE["bases"].values()]
    kinds = {each if isinstance(each, str) else each["kind"] for each in engines}
    assert kinds == {"packet", "fluid", "model"}


def test_the_changelog_names_the_table() -> None:
    """The unreleased part is the first."""
    changelog = (ROOT / "CHANGELOG.md").read_text()
    unreleased = re.split(r"^## ", changelog, flags=re.MULTILINE)[1]
    now = hashlib.sha256(json.dumps(DIGESTS, sort_keys=True).encode()).hexdigest()[:16]
    assert NAMED.findall(unreleased) == [now], "results changed: say so in CHANGELOG.md"
