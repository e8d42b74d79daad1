from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest

import fctlab
from fctlab.tuning.types import Scope
from tests.conftest import SMALL, Program

MAPPED: dict[str, Any] = {"preset": "ads", "port": {"discipline": {"queues": 4}}}


def with_mapping(mapping: dict[str, Any]) -> dict[str, Any]:
    discipline = {"queues": 4, "mapping": mapping}
    return SMALL | {"scheme": {"preset": "ads", "port": {"discipline": discipline}}}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run under SRPT whose ports recorded the values they saw."""
    folder = tmp_path_factory.mktemp("mapping") / "seen"
    fctlab.run(SMALL | {"scheme": "srpt", "record": {"values": {}}}, out=folder)
    return folder


def test_every_scope_is_saved_and_runs_as_a_static_mapping(seen: Path, tmp_path: Path) -> None:
    for scope, tables in [("global", None), ("switch", 6 + 4), ("port", 2 * (6 + 4))]:
        mapping = fctlab.compute_mapping(seen, 4, scope=cast(Scope, scope))
        found = mapping.thresholds
        named = found if isinstance(found, dict) else {"": found}
        assert len(named) == (tables or 1)
        assert all(len(cuts) == 3 and list(cuts) == sorted(cuts) for cuts in named.values())
        file = tmp_path / f"{scope}.json"
        fctlab.save_mapping(mapping, file)
        result = fctlab.run(with_mapping({"kind": "static", "file": str(file)}))
        # The resolved scenario holds the table itself and runs again without the file.
        kept = result.scenario["scheme"]["port"]["discipline"]["mapping"]
        assert kept == {"kind": "static", "thresholds": mapping.to_dict()["thresholds"]}
        file.unlink()
        assert fctlab.run(result.scenario).summary.equals(result.summary)


def test_equal_split_gives_each_queue_its_share_of_what_was_seen(seen: Path) -> None:
    values = pl.read_parquet(seen / "recordings" / "values.parquet")
    total = float(values["packets"].sum())
    cuts = fctlab.compute_mapping(seen, 3, scope="global").thresholds
    largest = values.group_by("value").agg(pl.col("packets").sum())["packets"].max()
    assert isinstance(cuts, tuple)
    for i, cut in enumerate(cuts, start=1):
        below = float(values.filter(pl.col("value") <= cut)["packets"].sum())
        assert abs(below - total * i / 3) <= cast("float", largest)


def test_recorded_values_are_those_that_hosts_estimate(tmp_path: Path) -> None:
    """Under a discipline that ignores tags, bytes in MTUs and MTUs count the same."""
    counts = []
    for tagger in ({"kind": "remaining"}, {"kind": "outstanding"}):
        scheme = {"preset": "dctcp", "tagger": tagger}
        folder = tmp_path / tagger["kind"]
        fctlab.run(SMALL | {"scheme": scheme, "record": {"values": {}}}, out=folder)
        counts.append(pl.read_parquet(folder / "recordings" / "values.parquet"))
    assert counts[0].equals(counts[1])


@pytest.mark.usefixtures("with_figures")
def test_the_mapping_in_force_is_recorded_and_drawn(tmp_path: Path) -> None:
    record = {"ports": {"interval": "100us", "which": ["leaf 0 -> host 0"]}}
    mapping = {"kind": "dynamic", "interval": "200us", "window": 2}
    result = fctlab.run(with_mapping(mapping) | {"record": record}, out=tmp_path / "out")
    series = pl.read_parquet(tmp_path / "out" / "recordings" / "port_series.parquet")
    assert set(series["queue"]) == {0, 1, 2, 3}
    assert series.filter(pl.col("queue") == 3)["up_to"].null_count() == len(series) / 4
    assert series.filter(pl.col("queue") == 1)["up_to"].n_unique() > 3
    assert (tmp_path / "out" / "mapping.png").stat().st_size > 10_000
    assert result.plot_mapping() is not None
    assert (tmp_path / "out" / "state.png").stat().st_size > 10_000
    assert fctlab.run(SMALL).plot_mapping() is None


def test_the_command_prints_and_saves(program: Program, seen: Path, tmp_path: Path) -> None:
    done = program("mapping", seen, "--queues", "2", "--policy", "least-slowdown", "--json")
    assert json.loads(done.stdout)["policy"] == "least-slowdown"
    done = program("mapping", seen, "--scope", "global")
    assert "every port" in done.stdout and "queue 6" in done.stdout
    done = program("mapping", seen, "--out", "mapping.json")
    assert done.returncode == 0 and done.stdout == ""
    assert json.loads((tmp_path / "mapping.json").read_text())["queues"] == 8


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--queues", "0"], "--queues: 0 is not in [1, 64]"),
        (["--scope", "rack"], "--scope: 'rack' is not a scope; known: switch, port, global"),
        (["--policy", "equal"], '"equal" is not a mapping policy'),
        (["--out", "no/such/folder.json"], "no/such/folder.json: cannot be written"),
    ],
)
def test_mistakes(program: Program, seen: Path, arguments: list[str], error: str) -> None:
    done = program("mapping", seen, *arguments)
    assert done.returncode == 2 and error in done.stderr and "Traceback" not in done.stderr


def test_mistakes_of_runs_and_files(seen: Path, tmp_path: Path) -> None:
    fctlab.run(SMALL, out=tmp_path / "plain")
    with pytest.raises(fctlab.SpecError, match="has no values"):
        fctlab.compute_mapping(tmp_path / "plain", 2)
    with pytest.raises(fctlab.SpecError, match="does not hold a whole result"):
        fctlab.compute_mapping(tmp_path, 2)
    file = tmp_path / "mapping.json"
    fctlab.save_mapping(fctlab.compute_mapping(seen, 4), file)
    elsewhere = with_mapping({"kind": "static", "file": str(file)})
    elsewhere["topology"] = SMALL["topology"] | {"leaves": 3}
    with pytest.raises(fctlab.SpecError, match="it is for another topology"):
        fctlab.run(elsewhere)
    file.write_text("{}")
    with pytest.raises(fctlab.SpecError, match="thresholds: is missing"):
        fctlab.run(with_mapping({"kind": "static", "file": str(file)}))


@pytest.mark.parametrize("name", ["scenario.json", "report.json", "recordings/values.parquet"])
@pytest.mark.parametrize("content", [b"", b"{", b"[1, 2]", b"\xff\xfe", b"PAR1 but no more"])
def test_a_broken_result_is_named(
    seen: Path, tmp_path: Path, program: Program, name: str, content: bytes
) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(seen, broken)
    (broken / name).write_bytes(content)
    done = program("mapping", str(broken), "--queues", "4", "--out", str(tmp_path / "m.json"))
    assert done.returncode == 2 and done.stderr.startswith("error: "), done.stderr
    assert name in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("column", ["value", "packets", "port", "rate_bps", "span_s"])
def test_a_recording_without_a_column_is_named(seen: Path, tmp_path: Path, column: str) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(seen, broken)
    file = broken / "recordings" / "values.parquet"
    pl.read_parquet(file).drop(column).write_parquet(file)
    with pytest.raises(fctlab.SpecError, match=f"values.parquet: has no column {column}"):
        fctlab.compute_mapping(broken, 4)
