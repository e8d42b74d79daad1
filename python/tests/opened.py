"""A page in headless Chromium."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

DRAWN = """id => [...document.querySelectorAll(`#${id} .cartesianlayer :is(
    .js-line, .point, .errorbar path, .xtick text, .ytick text, .hm image)`)]
  .map(e => [e.getAttribute("d"), e.getAttribute("transform"), e.getAttribute("href"),
             e.textContent].join(" ")).join("\\n")"""
"""What can be seen of a chart: lines, points, intervals, cells, and the numbers at its axes."""


def data(page: Path) -> dict[str, Any]:
    """What the charts of a page draw."""
    text = page.read_text(encoding="utf-8")
    found = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    value: dict[str, Any] = json.loads(found[1])
    return value


class Opened:
    """A page in a browser, and what it complained of or asked the network for."""

    def __init__(self, browser: Any, file: Path, **look: Any) -> None:
        self.wrong: list[str] = []
        self.tab = browser.new_page(**look)
        self.tab.on("console", lambda told: self.wrong.append(told.text))
        self.tab.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.tab.on("request", self._asked)
        self.tab.goto(file.as_uri())
        self.tab.wait_for_selector("html[data-ready]", timeout=60_000)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith(("file:", "data:", "blob:")):
            self.wrong.append(request.url)

    @property
    def charts(self) -> list[str]:
        """Ids of the charts."""
        found: list[str] = self.tab.eval_on_selector_all(".chart", "all => all.map(e => e.id)")
        return found

    def drawn(self, chart: str) -> str:
        """What can be seen of a chart."""
        found: str = self.tab.evaluate(DRAWN, chart)
        return found

    def click_everything(self, but: str = "") -> int:
        """Uses every control that is seen, each of which changes a chart that follows it.

        Args:
            but: those of this chart, where options may look the same.

        Returns:
            How many there were.
        """
        every = self.tab.query_selector_all("select[data-choice], [data-choice] input")
        controls = [control for control in every if control.is_visible()]
        for control in controls:
            of = control.evaluate("e => e.closest('[data-choice]').dataset.chart")
            if but and of == but:
                continue
            charts = [of] if of else self.charts
            before = {chart: self.drawn(chart) for chart in charts}
            assert all(before.values())
            if control.evaluate("e => e.tagName") == "SELECT":
                options = control.evaluate("e => e.options.length")
                for number in range(1, options):
                    seen = {chart: self.drawn(chart) for chart in charts}
                    control.select_option(index=number)
                    assert seen != {chart: self.drawn(chart) for chart in charts}, number
                control.select_option(index=0)
            else:
                control.click()
                assert before != {chart: self.drawn(chart) for chart in charts}
                control.click()
            assert before == {chart: self.drawn(chart) for chart in charts}
        return len(controls)
