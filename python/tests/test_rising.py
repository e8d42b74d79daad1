"""A run starts empty: whether slowdowns still rise while they are measured, and who is told."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import fctlab
from fctlab import SpecWarning
from fctlab.results import rising
from fctlab.studies.framework import docs, kept
from fctlab.studies.framework.report import json as json_report
from fctlab.studies.framework.report import words
from fctlab.studies.framework.runs import Results, Run
from fctlab.sweep import sweep
from tests.conftest import SCENARIOS
from tests.pages import ROOT

EMPTY: dict[str, Any] = {
    "topology": {
        "kind": "leaf-spine",
        "leaves": 4,
        "spines": 4,
        "hosts_per_leaf": 8,
        "host_rate": "10Gbps",
        "fabric_rate": "20Gbps",
        "base_rtt": "16us",
    },
    "traffic": {"workload": "websearch", "load": 0.6, "flows": 500},
    "scheme": {"preset": "dctcp"},
}
"""Too few flows for as many large ones at once as the load makes."""


def test_chance_is_rarely_called_a_rise() -> None:
    rng = np.random.default_rng(1)
    drawn = rng.lognormal(0.0, 0.3, (2000, 10))
    told = [rising.rise(list(row[:5]), list(row[5:])) for row in drawn]
    assert 0 < sum(each is not None for each in told) <= 0.05 * len(told)
    stricter = [rising.rise(list(row[:5]), list(row[5:]), 0.01) for row in drawn]
    assert sum(each is not None for each in stricter) <= 0.01 * len(told)


def test_a_rise_is_more_than_a_tenth() -> None:
    assert rising.rise([1.0, 1.02], [1.3, 1.32]) == pytest.approx(1.31 / 1.01 - 1)
    assert rising.rise([1.0, 1.0001], [1.09, 1.0901]) is None
    assert rising.rise([1.3, 1.32], [1.0, 1.02]) is None


def test_tenths_are_those_of_arrays_and_columns() -> None:
    flows = np.random.default_rng(2).random(1237)
    found = rising.tenths(flows)
    assert found is not None and len(found) == 10
    assert found[0] == pytest.approx(flows[:123].mean())
    assert np.mean(found) == pytest.approx(flows.mean(), abs=1e-3)
    assert rising.tenths(pl.Series(flows)) == pytest.approx(found)
    assert rising.tenths(flows[:99]) is None and rising.tenths(flows[:100]) is not None


def test_a_run_that_starts_empty_says_so_and_a_long_warm_up_mends_it(tmp_path: Path) -> None:
    with pytest.warns(SpecWarning, match=r"second half of the measured flows are \d+% above"):
        result = fctlab.run(EMPTY, out=tmp_path / "run")
    kept = json.loads((tmp_path / "run" / "report.json").read_text())
    assert kept["tenths"] == result.report["tenths"] and kept["warnings"]
    flows = result.flows.filter("measured")["slowdown"].to_numpy()
    assert kept["tenths"][0] == pytest.approx(flows[:50].mean())
    assert fctlab.Result.load(tmp_path / "run").report["tenths"] == kept["tenths"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        longer = EMPTY["traffic"] | {"flows": 3000}
        fctlab.run(EMPTY | {"traffic": longer, "measure": {"warmup": "100ms"}})


def test_a_comparison_puts_seeds_together_and_names_schemes() -> None:
    with pytest.warns(SpecWarning) as found:
        fctlab.compare(EMPTY, ["dctcp", "pfabric"], seeds=3)
    (line,) = {str(each.message) for each in found}
    assert line.startswith("slowdowns of the second half of the measured flows are above")
    assert "under dctcp (" in line and rising.ADVICE in line


def test_other_reasons_to_rise_are_not_told() -> None:
    tenths = [1.0, 1.1, 1.2, 1.3, 1.4, 2.0, 2.1, 2.2, 2.3, 2.4]
    assert rising.of_runs([tenths, None]) == pytest.approx(2.2 / 1.2 - 1)
    assert rising.of_runs([None]) is None
    assert rising.told_of({"traffic": {"load": 0.5}})
    for tables in (
        {"traffic": {"trace": "flows.csv"}},
        {"traffic": {"load": 1.2, "overload": True}},
        {"traffic": {"load": 0.5}, "capacity": [{"from": "1ms"}]},
    ):
        assert not rising.told_of(tables)


def test_of_several_the_level_is_shared() -> None:
    # By one test in twenty chance alone would do; not by one in two hundred.
    tenths = [1.0, 1.2, 1.0, 1.2, 1.1, 1.2, 1.35, 1.15, 1.35, 1.25]
    assert rising.of_several({"one": [tenths]}) != []
    flat = [1.0] * 10
    assert rising.of_several({"one": [tenths], **{f"{i}": [flat] for i in range(9)}}) == []
    assert rising.of_several({}) == []


def test_a_sweep_says_so_too(tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_text(json.dumps(EMPTY))
    grid = {"name": "s", "scenario": str(tmp_path / "empty.json"), "schemes": ["dctcp"]}
    with pytest.warns(SpecWarning, match=r"under dctcp at traffic.load=0.6 \("):
        sweep({**grid, "loads": [0.6], "seeds": 3}, out=tmp_path / "out")


def test_a_study_says_which_of_its_scenarios_are_too_short() -> None:
    def run(cell: str, seed: int, tenths: list[float] | None) -> Run:
        found: dict[str, Any] = {"summary": [], "counters": {}, "extras": {}, "tenths": tenths}
        return Run(cell, seed, {}, found)

    even, steep = [2.0, 2.1] * 5, [1.0, 1.1, 1.2, 1.3, 1.4, 2.0, 2.1, 2.2, 2.3, 2.4]
    runs = [run(cell, seed, even) for cell in ("a", "b") for seed in (1, 2)]
    quiet = {"rising": json_report.rising_of(Results([*runs, run("a trace", 1, None)]))}
    told = words.rises(quiet)
    assert told == "Slowdowns still rise while they are measured in none of 2 scenarios."
    loud = {"rising": json_report.rising_of(Results([*runs, run("short", 1, steep)]))}
    assert words.rises(loud).endswith(
        "in 1 of 3 scenarios, which are too short for their load: short (83%)."
    )
    row = kept.read(ROOT / "docs" / "evidence" / "claims" / "dsrtf.json")
    assert words.rises(loud) in docs.block({**row, **loud}), "and so does its page"
    assert words.rises({"rising": json_report.rising_of(Results([]))}) == words.rises({}) == ""


def test_many_are_named_in_a_few_words() -> None:
    text = rising.words_of_several({"a": 0.2, "b": 0.4, "c": 0.3, "d": 0.11})
    assert "under b (40%), c (30%), a (20%) and 1 more: " in text


def test_the_main_scenario_is_warmed_up() -> None:
    web = fctlab.load_scenario(SCENARIOS / "websearch-leafspine.toml")
    tenths = fctlab.run(web).report["tenths"]
    assert max(tenths[5:]) < (1 + rising.RISE) * float(np.mean(tenths[:5]))
