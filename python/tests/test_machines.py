"""What `docs/howto/machines.md` hands to Slurm and Kubernetes."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fctlab.results.points import PointStore

from .conftest import PROGRAM, SMALL

CLUSTERS = Path(__file__).parents[2] / "docs" / "clusters"


def test_tasks_of_an_array_fill_one_store(tmp_path: Path) -> None:
    """The script as Slurm runs it, task after task."""
    (tmp_path / "small.json").write_text(json.dumps(SMALL))
    sweep = tmp_path / "s.toml"
    sweep.write_text('scenario = "small.json"\nschemes = ["dctcp", "pias"]\nloads = [0.3, 0.5]\n')
    path = f"{Path(PROGRAM).parent}{os.pathsep}{os.environ['PATH']}"
    for task in ("1", "2"):
        array = {"SLURM_ARRAY_TASK_ID": task, "SLURM_ARRAY_TASK_COUNT": "2"}
        subprocess.run(
            ["bash", CLUSTERS / "slurm.sh", sweep, tmp_path / "all"],
            env={**os.environ, **array, "PATH": path},
            check=True,
            capture_output=True,
        )
    store = tmp_path / "all" / "store"
    assert len(PointStore(store).names()) == 4
    last = [
        PROGRAM,
        "sweep",
        str(sweep),
        "--store",
        str(store),
        "--out",
        str(tmp_path / "all"),
        "--json",
    ]
    found = json.loads(subprocess.run(last, check=True, capture_output=True).stdout)
    assert found["computed"] == 0


@pytest.fixture
def manifest() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed; Ray brings it")
    found: dict[str, Any] = yaml.safe_load((CLUSTERS / "kuberay.yaml").read_text())
    return found


def test_the_manifests_command_runs_on_a_cluster(manifest: dict[str, Any], tmp_path: Path) -> None:
    """With this folder in the place of the volume."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'fctlab[ray]'")
    from ray.cluster_utils import Cluster

    (tmp_path / "small.json").write_text(json.dumps(SMALL))
    (tmp_path / "marking.toml").write_text('scenario = "small.json"\nseeds = 2\n')
    command = manifest["spec"]["entrypoint"].replace("/work", str(tmp_path))
    head: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    try:
        head.add_node(num_cpus=1)
        program, *options = shlex.split(command.replace("auto", head.address))
        assert program == "fctlab"
        subprocess.run([PROGRAM, *options], check=True, capture_output=True)
    finally:
        head.shutdown()
    assert len(PointStore(tmp_path / "marking" / "store").names()) == 2


def test_the_manifest_is_of_the_operators_schema(manifest: dict[str, Any]) -> None:
    """With the operator's own definition, which is not here: ``ray.io_rayjobs.yaml`` of KubeRay."""
    file = os.environ.get("KUBERAY_CRD")
    if file is None:
        pytest.skip("KUBERAY_CRD does not name KubeRay's ray.io_rayjobs.yaml")
    yaml = pytest.importorskip("yaml")
    versions = yaml.safe_load(Path(file).read_text())["spec"]["versions"]
    (schema,) = (v["schema"]["openAPIV3Schema"] for v in versions if v["name"] == "v1")
    jsonschema.validate(manifest, _closed(schema))


def _closed(schema: Any) -> Any:
    """The same without unknown keys, which Kubernetes would drop without a word."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: _closed(value) for key, value in schema.items()}
    # Where it names no key, as of metadata, it takes all.
    if schema.get("type") == "object" and schema.get("properties"):
        inner.setdefault("additionalProperties", False)
    return inner
