"""Pages of results: what is in them, and what a browser makes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fctlab
from fctlab import report
from fctlab.studies.framework.conduct import study
from tests.conftest import SMALL, Program
from tests.opened import Opened
from tests.test_study import TWO


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison of three schemes at two loads with two seeds."""
    out = tmp_path_factory.mktemp("report") / "compared"
    fctlab.compare(SMALL, ["dctcp", "pfabric", "tcp"], loads=[0.3, 0.6], seeds=2, out=out)
    report.write(out)
    return out


def test_every_control_of_a_comparison_changes_what_is_drawn(browser: Any, compared: Path) -> None:
    page = Opened(browser, compared / "report.html")
    assert page.charts == ["side", "cdf", "sizes"]
    # Three schemes and a load for all charts; then metric, statistic and size, as each has them.
    assert page.click_everything() == 3 + 1 + 3 + 2 + 2
    lines = "id => document.querySelectorAll(`#${id} .cartesianlayer .js-line`).length"
    assert [page.tab.evaluate(lines, chart) for chart in page.charts] == [3, 3, 3]
    page.tab.get_by_label("tcp", exact=True).click()
    assert [page.tab.evaluate(lines, chart) for chart in page.charts] == [2, 2, 2]
    assert page.wrong == []


def test_a_page_is_used_with_the_keyboard_alone(browser: Any, compared: Path) -> None:
    page = Opened(browser, compared / "report.html")
    focused = "() => document.activeElement.className || document.activeElement.value"
    page.tab.keyboard.press("Tab")
    assert page.tab.evaluate(focused) == "skip"
    box = page.tab.evaluate("() => document.activeElement.getBoundingClientRect().left")
    assert box >= 0, "the link to skip by is seen once it has the focus"
    page.tab.keyboard.press("Tab")
    assert page.tab.evaluate(focused) == "dctcp"
    assert (
        page.tab.evaluate("() => getComputedStyle(document.activeElement).outlineStyle") == "solid"
    )
    before = page.drawn("cdf")
    page.tab.keyboard.press("Space")
    assert page.drawn("cdf") != before
    page.tab.keyboard.press("Space")
    for _ in range(3):
        page.tab.keyboard.press("Tab")
    assert page.tab.evaluate(focused) == "0.3"
    page.tab.keyboard.press("ArrowDown")
    assert page.tab.evaluate(focused) == "0.6" and page.drawn("cdf") != before


def test_a_phone_scrolls_no_page_sideways(browser: Any, compared: Path) -> None:
    page = Opened(browser, compared / "report.html", viewport={"width": 375, "height": 700})
    assert page.tab.evaluate("() => document.documentElement.scrollWidth") == 375
    assert page.wrong == []


def test_dark_mode_changes_page_and_charts(browser: Any, compared: Path) -> None:
    looks = []
    for scheme in ("light", "dark"):
        page = Opened(browser, compared / "report.html", color_scheme=scheme)
        text = "() => getComputedStyle(document.querySelector('#cdf .xtick text')).fill"
        back = "() => getComputedStyle(document.body).backgroundColor"
        looks.append((page.tab.evaluate(text), page.tab.evaluate(back)))
    (light_text, light), (dark_text, dark) = looks
    assert light_text != dark_text and light != dark


def test_tables_need_no_script(browser: Any, compared: Path) -> None:
    tab = browser.new_context(java_script_enabled=False).new_page()
    tab.goto((compared / "report.html").as_uri())
    text = tab.inner_text("body")
    assert "The charts need JavaScript" in text and "small <= 100 KB" in text
    assert not tab.query_selector(".plot").is_visible()


def test_a_study_has_charts_of_its_figures(browser: Any, tmp_path: Path) -> None:
    study(TWO, out=tmp_path, seeds=3)
    page = Opened(browser, tmp_path / "report.html", viewport={"width": 375, "height": 700})
    assert page.charts == ["against", "figure-bars"]
    assert page.click_everything() == 2 + 2  # here and paper; FIFO and SRPT
    assert page.tab.evaluate("() => document.documentElement.scrollWidth") == 375
    at = """id => [...document.querySelectorAll(`#${id} .point`)]
      .map(e => Math.round(e.getBoundingClientRect().x))"""
    assert len(set(page.tab.evaluate(at, "figure-bars"))) == 2, "beside each other"
    assert not page.tab.query_selector("#two-2 td.beside, #two-2 .parts").is_visible()
    page.tab.click("#two-2 summary")
    assert page.tab.inner_text("#two-2 tr.beside td").startswith("beside")
    assert page.wrong == []


def test_the_command_writes_the_page_beside_the_result(
    program: Program, small: Path, tmp_path: Path
) -> None:
    for command in (["run", small], ["compare", small, "--schemes", "dctcp,tcp"]):
        done = program(*command, "--out", "out", "--force")
        assert done.returncode == 0 and "open out/report.html in a browser" in done.stderr, done
        first = (tmp_path / "out" / "report.html").read_bytes()
        assert len(first) < 8_000_000 and b"https://" not in first.split(b'id="library"')[0]
        (tmp_path / "out" / "report.html").unlink()
        assert program("report", "out").stderr == "open out/report.html in a browser\n"
        assert (tmp_path / "out" / "report.html").read_bytes() == first
