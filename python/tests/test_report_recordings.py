"""What a run recorded, in its page."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fctlab
from fctlab import report
from fctlab.errors import SpecError
from fctlab.report import recordings
from tests.conftest import SMALL
from tests.opened import Opened, data

RECORD = {
    "ports": {"interval": "5us", "which": ["leaf 0 -> host 0", "leaf 1 -> host 3"]},
    "windows": {"flows": [0, 1, 2]},
    "packets": {"flows": [0], "at": "sender"},
    "waits": {"longest": 5},
    "values": {},
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run under a scheme with several queues, which marks, with every recording."""
    out = tmp_path_factory.mktemp("recorded") / "out"
    traffic = {**SMALL["traffic"], "load": 0.7}
    fctlab.run({**SMALL, "traffic": traffic, "scheme": "pias", "record": RECORD}, out=out)
    report.write(out)
    return out


def test_every_control_changes_what_is_drawn(browser: Any, recorded: Path) -> None:
    page = Opened(browser, recorded / "report.html")
    assert page.charts == ["cdf", "sizes", "ports", "windows", "priorities"]
    # Ports that are one behind the other see the same packets.
    page.click_everything(but="priorities")
    before = page.drawn("priorities")
    page.tab.locator("#priorities select").select_option(index=1)
    assert page.drawn("priorities") != before
    assert page.wrong == []
    text = page.tab.inner_text("body")
    assert "the longest waits" in text and "packets.pcapng has packets" in text


def test_queues_are_those_of_the_file(recorded: Path) -> None:
    found = data(recorded / "report.html")
    chart = next(chart for chart in found["charts"] if chart["id"] == "ports")
    frame = pl.read_parquet(recorded / "recordings" / "port_series.parquet")
    port = chart["choices"][0]["options"][0][0]
    here = frame.filter(pl.col("port") == port)
    whole = next(
        series
        for series in found["series"][chart["series"]]
        if series["keys"] == {"port": port, "what": "queued_bytes", "queue": recordings.WHOLE}
    )
    peak = here.group_by("time_s").agg(pl.col("queued_bytes").sum())["queued_bytes"].max()
    assert max(whole["y"]) == pytest.approx(peak, rel=1e-3)
    queues = {s["keys"]["queue"] for s in found["series"][chart["series"]]}
    assert queues == {recordings.WHOLE, *map(str, frame["queue"].unique())}


def test_a_long_recording_is_thinned_and_keeps_its_peaks() -> None:
    count = 1_000_000
    y = pl.Series([0.0] * count)
    y[123_456], y[654_321] = 7.0, -3.0
    thin = recordings._thinned({}, pl.Series(range(count)), y, 1000)
    assert len(thin.x) <= 1000 and max(thin.y) == 7.0 and min(thin.y) == -3.0
    assert thin.x[thin.y.index(7.0)] == 123_456 and list(thin.x) == sorted(thin.x)


def test_a_run_without_recordings_has_no_such_section(tmp_path: Path) -> None:
    fctlab.run(SMALL, out=tmp_path / "out")
    page = report.page(tmp_path / "out")
    assert [section.title for section in page.sections] == ["Results", "Flows"]


@pytest.mark.parametrize("file", ["recordings/port_series.parquet", "flows.parquet"])
def test_a_broken_file_is_one_error(recorded: Path, tmp_path: Path, file: str) -> None:
    shutil.copytree(recorded, tmp_path / "out")
    (tmp_path / "out" / file).write_bytes(b"PAR1 no")
    with pytest.raises(SpecError, match="out: is not whole, a file of it cannot be read"):
        report.page(tmp_path / "out")
    (tmp_path / "out" / file).unlink()
    with pytest.raises(SpecError, match="out: is not whole, a file of it cannot be read"):
        report.page(tmp_path / "out")
