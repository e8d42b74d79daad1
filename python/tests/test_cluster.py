"""Points on a real Ray cluster: the same bytes as from threads."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from concurrent.futures import Executor
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from fctlab import SpecError, cluster, sweep
from fctlab.jobs import Job, Told, run_jobs
from fctlab.studies.framework import conduct

from .conftest import SMALL

pytestmark = pytest.mark.xdist_group("ray")  # one cluster


def contents(store: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (store / "points").glob("*/*.json")}


def dies_at_first(given: dict[str, str], told: Told) -> int:
    """Takes its worker with it the first time that it is done."""
    marker = Path(given["marker"])
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 42


@pytest.fixture(scope="class")
def executor() -> Iterator[Executor | None]:
    """A local cluster: a process has one at a time, and it takes seconds to start."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'fctlab[ray]'")
    with cluster.opened("ray") as opened:
        yield opened


class TestALocalCluster:
    """One for all of them."""

    def test_a_sweep_finds_the_same_points(self, executor: Executor, tmp_path: Path) -> None:
        trace = tmp_path / "trace.csv"
        rows = "".join(f"{i * 1e-4},0,1,2000\n" for i in range(50))
        trace.write_text(f"start_s,src,dst,size_bytes\n{rows}")
        scenario = tmp_path / "small.json"
        scenario.write_text(json.dumps({**SMALL, "traffic": {"trace": str(trace)}}))
        given = {"name": "t", "scenario": str(scenario), "schemes": ["dctcp", "pias"], "seeds": 2}
        sweep.sweep(given, out=tmp_path / "threads")
        found = sweep.sweep(given, out=tmp_path / "ray", executor=executor)
        assert found.computed == 4
        assert contents(tmp_path / "ray" / "store") == contents(tmp_path / "threads" / "store")

    @pytest.mark.parametrize(("name", "claim"), [("dsrtf", "dsrtf-c1"), ("bigswitch", "ascc-t3")])
    def test_a_study_finds_the_same_points(
        self, name: str, claim: str, executor: Executor, tmp_path: Path
    ) -> None:
        """Of the first, cells that read a file and keep more; of the second, answers."""
        conduct.study(name, out=tmp_path / "threads", only=[claim], seeds=1)
        conduct.study(name, out=tmp_path / "ray", only=[claim], seeds=1, executor=executor)
        found = contents(tmp_path / "ray" / "store")
        assert found and found == contents(tmp_path / "threads" / "store")

    def test_what_a_lost_worker_did_is_done_again(self, executor: Executor, tmp_path: Path) -> None:
        job = Job("dies", dies_at_first, {"marker": str(tmp_path / "marker")})
        assert [found for _, found in run_jobs([job], 1, executor=executor)] == [42]
        assert (tmp_path / "marker").exists()


def test_what_a_lost_node_did_is_done_elsewhere(tmp_path: Path) -> None:
    """One of two nodes dies after the first point, while it does another."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'fctlab[ray]'")
    from ray.cluster_utils import Cluster

    scenario = tmp_path / "small.json"
    scenario.write_text(json.dumps(SMALL))
    given = {"name": "t", "scenario": str(scenario), "schemes": ["dctcp", "pias"], "seeds": 4}
    sweep.sweep(given, out=tmp_path / "threads")
    # This process is on the head, which does no jobs.
    nodes: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    try:
        alive = [nodes.add_node(num_cpus=1) for _ in range(2)]
        left = []

        def watch(status: sweep.Status) -> None:
            if status.done and len(alive) == 2:
                nodes.remove_node(alive.pop(), allow_graceful=False)
                left.append(status.total - status.done)

        with cluster.opened("ray", nodes.address) as executor:
            found = sweep.sweep(given, out=tmp_path / "ray", executor=executor, watch=watch)
    finally:
        nodes.shutdown()
    assert left and left[0] > 2, "the node was there until the end"
    assert found.computed == 8
    assert contents(tmp_path / "ray" / "store") == contents(tmp_path / "threads" / "store")


def test_an_address_that_does_not_answer() -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'fctlab[ray]'")
    with (
        pytest.raises(SpecError, match=r"address: 127\.0\.0\.1:9 does not answer"),
        cluster.opened("ray", "127.0.0.1:9"),
    ):
        pass


def test_ray_that_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'fctlab[ray]'")

    def late(*_: object, **__: object) -> None:
        raise Exception("The current node timed out during startup.\nIt is busy.")

    monkeypatch.setattr(ray, "init", late)
    says = "executor: Ray does not start here: The current node timed out during startup.$"
    with pytest.raises(SpecError, match=says), cluster.opened("ray"):
        pass


def test_without_an_address_one_is_started_whatever_runs_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'fctlab[ray]'")
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:9")
    with cluster.opened("ray") as executor:
        assert isinstance(executor, cluster.RayExecutor) and executor.cores >= 1


def test_executors_have_names() -> None:
    with (
        pytest.raises(SpecError, match="'dask' is not an executor; known: threads, ray"),
        cluster.opened("dask"),
    ):
        pass
    with (
        pytest.raises(SpecError, match="address: is of a Ray cluster; say executor ray"),
        cluster.opened(None, "x"),
    ):
        pass


def test_nodes_that_would_find_other_numbers() -> None:
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'fctlab[ray]'")
    told = MagicMock(exceptions=ray.exceptions)
    told.nodes.return_value = [{"Alive": True, "NodeID": "0" * 56, "NodeManagerHostname": "far"}]
    executor = cluster.RayExecutor.__new__(cluster.RayExecutor)
    executor._ray = told
    engine, python = cluster._identity()
    told.get.return_value = ("engine 0", python)
    says = f"executor: far would find other numbers: engine 0 there, {engine} here"
    with pytest.raises(SpecError, match=re.escape(says)):
        executor._compare()
    told.get.side_effect = ray.exceptions.RayError("Traceback:\nNo module named 'fctlab'")
    says = "executor: far cannot run fctlab: No module named 'fctlab'"
    with pytest.raises(SpecError, match=says):
        executor._compare()
