"""Pages of sweeps and of stores of points."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fctlab import report, sweep
from fctlab.cli.app import app
from fctlab.errors import SpecError
from fctlab.report import sweeps
from fctlab.report.grids import Places
from fctlab.results.points import PointStore
from fctlab.sweep import saved
from tests.conftest import SMALL_TOML, Program
from tests.opened import Opened, data

AXES = """
scenario = "small.toml"
schemes = ["dctcp", "pfabric"]
loads = [0.3, 0.5, 0.7]
seeds = 2
[axes]
topology.base_rtt = ["20us", "40us"]
[[linked]]
traffic.flows = [100, 200]
topology.host_rate = ["5Gbps", "10Gbps"]
"""


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of two schemes over three axes, one of which is two keys that go together."""
    folder = tmp_path_factory.mktemp("swept")
    (folder / "small.toml").write_text(SMALL_TOML)
    (folder / "axes.toml").write_text(AXES)
    sweep.sweep(folder / "axes.toml", out=folder / "out")
    report.write(folder / "out")
    return folder / "out"


def test_a_chart_has_what_the_summary_has(swept: Path) -> None:
    found = data(swept / "report.html")
    one, two = found["charts"]
    assert [len(each["values"]) for each in one["grid"]] == [3, 2, 2]
    assert [each["axis"]["title"] for each in one["grid"]] == [
        "load",
        "base_rtt",
        "flows, host_rate",
    ]
    assert one["series"] == two["series"], "both charts draw the same values"
    wanted = {"scheme": "pfabric", "size": "small", "statistic": "p99", "metric": "slowdown"}
    series = next(
        s for s in found["series"][one["series"]] if s["keys"] == {**wanted, "traffic": "all"}
    )
    rows = [
        row
        for row in saved.read(swept).summary
        if (row["scheme"], row["class"], row["traffic_class"]) == ("pfabric", "small", "all")
    ]
    # In order of load, RTT and flows, the last of which changes fastest.
    assert series["y"] == pytest.approx([row["p99_slowdown"] for row in rows], rel=1e-3)
    ends = [row["p99_slowdown"] - row["p99_slowdown_ci95"] for row in rows]
    assert series["low"] == pytest.approx(ends, rel=1e-2)


def test_every_control_changes_what_is_drawn(browser: Any, swept: Path) -> None:
    page = Opened(browser, swept / "report.html")
    assert page.charts == ["one", "two"]
    # Two schemes; along, two axes that are not drawn along, metric, statistic, size; axes, the
    # third axis, scheme, metric, statistic, size.
    assert page.click_everything() == 2 + 6 + 6
    assert page.wrong == []


def test_an_axis_that_is_drawn_along_has_no_value_to_choose(browser: Any, swept: Path) -> None:
    page = Opened(browser, swept / "report.html")
    load = page.tab.locator('#one [data-choice="at0"]')
    rtt = page.tab.locator('#one [data-choice="at1"]')
    assert not load.is_visible() and rtt.is_visible()
    page.tab.locator('#one [data-choice="along"]').select_option(index=1)
    assert load.is_visible() and not rtt.is_visible()
    cells = "() => document.querySelectorAll('#two .heatmaplayer text').length"
    assert page.tab.evaluate(cells) == 3 * 2


def test_dark_phone(browser: Any, swept: Path) -> None:
    look = {"viewport": {"width": 375, "height": 700}, "color_scheme": "dark"}
    page = Opened(browser, swept / "report.html", **look)
    assert page.tab.evaluate("() => document.documentElement.scrollWidth") == 375
    assert page.wrong == []


def test_a_bare_store_shows_the_axes_in_which_its_points_differ(
    swept: Path, tmp_path: Path
) -> None:
    found = saved.of_store(PointStore(swept / "store"), "bare")
    # The number of flows follows from the host rate.
    assert found.axes == ["traffic.load", "topology.base_rtt.value", "topology.host_rate"]
    assert len(found.points) == len(saved.read(swept).points) == 48
    by_cell = {
        (row["scheme"], row["class"], row["traffic.load"], row["topology.host_rate"], row["seeds"])
        for row in found.summary
    }
    assert ("pfabric", "small", 0.7, "10Gbps", 2) in by_cell
    shutil.copytree(swept / "store", tmp_path / "store")
    page = report.page(tmp_path / "store")
    assert page.kind == "store of points, scenarios" and len(page.charts) == 2
    assert report.page(tmp_path).kind == page.kind, "a sweep that was interrupted has a store alone"


def test_a_sweep_without_axes_has_its_schemes_side_by_side(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL_TOML)
    tables = {"scenario": str(tmp_path / "small.toml"), "schemes": ["dctcp", "pfabric"]}
    sweep.sweep(tables, out=tmp_path / "out")
    (chart,) = report.page(tmp_path / "out").charts
    assert chart.grid[0].values == ["dctcp", "pfabric"]
    assert [s.y for s in chart.series[:1]] != [[None, None]]


def test_a_swept_specification_has_verdicts_and_slis(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "slo.toml").write_text(
        '[network]\nlink = "10Gbps"\nrtt = "10us"\n[[classes]]\nname = "web"\n'
        'flowsizes = { kind = "uniform", sizes = ["1KB", "9KB"] }\nload = 0.3\nslo = "tail < 9.0"\n'
        'slis = [{ name = "tail", metric = "p99" }, { name = "mid", metric = "p50" }]\n'
    )
    tables = {
        "specification": str(tmp_path / "slo.toml"),
        "axes": {"classes.web.load": [0.2, 0.4], "network.rtt": ["10us", "20us"]},
        "seeds": 2,
    }
    out = tmp_path / "out"
    found = sweep.sweep(tables, out=out)
    page = report.page(out)
    assert [chart.id for chart in page.charts] == ["verdicts", "along", "over"]
    assert page.headlines[0].text == "Every SLO is met at 4 of 4 points."
    tail = next(s for s in page.charts[1].series if s.keys["sli"] == "tail (slowdown)")
    rows = found.summary.filter(sli="tail")
    assert list(tail.y) == pytest.approx(rows["value"].to_list(), rel=1e-3)
    low = (rows["value"] - rows["value_ci95"]).to_list()
    assert list(tail.low) == pytest.approx(low, rel=1e-3) and tail.marks == [9.0]
    report.write(out)
    assert Opened(browser, out / "report.html").wrong == []
    # The same of the store alone; SLIs alone where the points are elsewhere.
    assert [chart.id for chart in report.page(out / "store").charts] == [
        "verdicts",
        "along",
        "over",
    ]
    (out / "store").rename(tmp_path / "elsewhere")
    charts = report.page(out).charts
    assert [chart.id for chart in charts] == ["one", "two"]
    assert [series.keys["sli"] for series in charts[0].series] == ["web tail", "web mid"]


def test_places_of_sparse_cells() -> None:
    whole = Places([{"a": a, "b": b, "c": 1} for a in (2, 1) for b in ("x", "y")])
    assert [d.values for d in whole.dimensions] == [[1, 2], ["x", "y"]]
    assert whole.place({"a": 2, "b": "x", "c": 1}) == 2 and whole.fixed == [("c", "1")]
    linked = Places([{"a": 1, "b": 10}, {"a": 2, "b": 20}])
    assert [d.axis.title for d in linked.dimensions] == ["a, b"]
    # Of 24 combinations five are there: they are named one by one.
    few = Places(
        [{"a": a, "b": b} for a, b in ((1, 1), (2, 2), (3, 3), (4, 4), (5, 1), (6, 2))][:5]
    )
    assert few.count == 20 or len(few.dimensions) == 1


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        ("sweep.json", "{", "sweep.json: is not JSON"),
        ("sweep.json", "[]", "sweep.json: holds no object but list"),
        ("sweep.json", '{"sweep": "x"}', "is not what fctlab sweep writes: .*cells"),
        ("store.json", '{"fctlab_store": 1}', "is an empty store: no point is finished"),
        ("store.json", '{"fctlab_store": 9}', "is a store of format 9"),
        (
            "other.txt",
            "",
            "holds no result; a page is made of what --out of run, .* wrote, or a store",
        ),
        ("scenario.json", "{", "scenario.json: is not JSON"),
        (
            "specification.toml",
            "# Classes, by fctlab fit.",
            r"holds a result that has no page \(fit\)",
        ),
    ],
)
def test_what_has_no_page_is_one_error(tmp_path: Path, file: str, content: str, told: str) -> None:
    (tmp_path / file).write_text(content)
    with pytest.raises(SpecError, match=told):
        report.write(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == [file]


def test_a_place_without_a_result(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no such directory"):
        report.page(tmp_path / "nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(SpecError, match="is a file, not a directory"):
        report.page(tmp_path / "file")


def test_what_does_not_fit_is_left_out_the_median_before_small_flows(
    swept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Twelve cells of two schemes: values, ratios and intervals of three sizes and two statistics.
    monkeypatch.setattr(sweeps, "MOST_NUMBERS", 12 * 2 * 12 * 3 * 2)
    series = report.page(swept).charts[0].series
    assert {each.keys["statistic"] for each in series} == {"p99", "avg"}
    assert {each.keys["size"] for each in series} == {"all", "small", "medium"}
    monkeypatch.setattr(sweeps, "MOST_NUMBERS", 12 * 2 * 12)
    only = report.page(swept).charts[0].series
    assert {(each.keys["statistic"], each.keys["size"]) for each in only} == {("p99", "all")}


def test_a_sweep_too_large_for_a_page_is_done_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps, "MOST_NUMBERS", 1)
    (tmp_path / "small.toml").write_text(SMALL_TOML)
    (tmp_path / "axes.toml").write_text('scenario = "small.toml"\nloads = [0.3, 0.5]\n')
    arguments = ["sweep", str(tmp_path / "axes.toml"), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0 and "more than a page can show" in done.output
    assert (tmp_path / "out" / "sweep.json").exists()


def test_the_program_writes_the_page_of_a_sweep(program: Program, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL_TOML)
    (tmp_path / "axes.toml").write_text('scenario = "small.toml"\nloads = [0.3, 0.5]\n')
    done = program("sweep", "axes.toml", "--out", "out")
    assert done.returncode == 0 and "open out/report.html in a browser" in done.stderr, done
    assert "avg slowdown" in done.stdout
    failed = program("report", "small.toml")
    assert failed.returncode == 2 and "is a file" in failed.stderr
