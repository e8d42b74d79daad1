"""Every column and key of every output is in the documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fctlab
from tests.conftest import SCENARIOS, SMALL

DOCS = SCENARIOS.parent / "docs"
METRIC = re.compile(r"(?:avg|p50|p99)_(?:fct_s|slowdown)")


def documented(file: str, section: str) -> set[str]:
    """Names in backticks in the tables and lines of a section."""
    text = (DOCS / file).read_text(encoding="utf-8")
    _, _, rest = text.partition(f"\n## {section}")
    assert rest, section
    return set(re.findall(r"`([\w.]+)`", rest.split("\n## ")[0]))


def table(file: str, name: str) -> set[str]:
    """Names in the first column of the table that follows a file's name."""
    _, found, rest = (DOCS / file).read_text(encoding="utf-8").partition(f"\n`{name}`")
    assert found, name
    rows = re.findall(r"^\| (`.*?) \|", rest.split("\n\n`")[0], re.MULTILINE)
    return set(re.findall(r"`(\w+)`", " ".join(rows)))


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys(inner)
    elif isinstance(value, list):
        for each in value:
            yield from keys(each)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that records everything."""
    out = tmp_path_factory.mktemp("outputs") / "seen"
    fctlab.run(
        fctlab.load_scenario(SCENARIOS / "look-inside.toml").set("record.values", {}), out=out
    )
    return out


def test_columns_of_summaries_and_flows(tmp_path: Path) -> None:
    fctlab.compare(SMALL, ["dctcp", "tcp"], seeds=2, out=tmp_path / "out")
    told = documented("explanation/definitions.md", "`summary.csv` and `--json`")
    ends = {"_lower_bound", "_ci95", "_ratio", "_ratio_ci95"}
    assert {f"...{end}" for end in ends} <= told
    for summary in (tmp_path / "out" / "summary.csv", *tmp_path.glob("out/runs/*/summary.csv")):
        for name in pl.read_csv(summary).columns:
            metric = METRIC.match(name)
            base, end = (metric[0], name[metric.end() :]) if metric else (name, "")
            assert base in told and end in ends | {""}, name
    flows = documented("explanation/definitions.md", "`flows.parquet`") | {"scheme", "load", "seed"}
    assert {"scheme", "load", "seed"} <= told
    assert set(pl.read_parquet_schema(tmp_path / "out" / "flows.parquet")) <= flows


def test_keys_of_reports(seen: Path, tmp_path: Path) -> None:
    told = documented("reference/outputs.md", "`report.json` and `--json`")
    told |= documented("explanation/definitions.md", "`summary.csv` and `--json`")
    bound = {"..._lower_bound"} <= told
    incast = fctlab.load_scenario(SCENARIOS / "star-incast.toml").set("measure.max_time", "2ms")
    for result in (fctlab.load(seen), fctlab.run(incast), fctlab.run(SMALL)):
        report = {key: value for key, value in result.report.items() if key != "recordings"}
        names = {n for n in keys(report) if not (bound and n.endswith("_lower_bound"))}
        recorders = {"windows", "packets", "ports", "waits", "values"}
        assert names - recorders <= told, names - recorders - told


def test_columns_of_recordings(seen: Path) -> None:
    files = sorted((seen / "recordings").glob("*.*"))
    assert len(files) == 5
    for file in files:
        if file.suffix == ".pcapng":
            continue
        columns = (
            pl.read_csv(file).columns
            if file.suffix == ".csv"
            else list(pl.read_parquet_schema(file))
        )
        assert set(columns) == table("reference/outputs.md", file.name), file.name
