"""What a study found, for programs and for people: a file per form.

`json` is everything as plain values, and the others are made of that: `markdown`, `html`, and
`terminal`. `words` has what several of them say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from matplotlib import rc_context

from fctlab.results import store
from fctlab.studies.framework.judged import Judged
from fctlab.studies.framework.lengths import Converged
from fctlab.studies.framework.pictures import INKED, Picture, paint, png
from fctlab.studies.framework.readings import Readings
from fctlab.studies.framework.report import html, json, markdown
from fctlab.studies.framework.report.markdown import FIGURES
from fctlab.studies.framework.runs import Results
from fctlab.studies.framework.study import Mode, Plan, Study

__all__ = ["FIGURES", "HTML", "JSON", "MARKDOWN", "Report"]

JSON = "report.json"
MARKDOWN = "report.md"
HTML = "report.html"


@dataclass
class Report:
    """A study that is done.

    Attributes:
        results: runs with the first `seeds` seeds, which figures, tables and checks show.
        runs: all of them; with more seeds where claims were given more.
        command: what repeats it.
        wall_s: how long this took; runs that were there already cost nothing.
    """

    study: Study
    plan: Plan
    results: Results
    runs: Results
    mode: Mode
    seeds: int
    command: str
    wall_s: float
    judged: Sequence[Judged]
    readings: Readings | None = None
    """Claims under every reading of the paper, where that was asked for."""
    lengths: Converged | None = None
    """Whether effects are converged, where that was asked for."""
    asked_s: float = 0.0
    """CPU seconds of what claims asked for by seed, where more seeds were wanted."""

    @cached_property
    def json(self) -> dict[str, Any]:
        """The report as plain values; its claims are rows with an id and a verdict."""
        return json.plain(self)

    def save(self, out: Path) -> None:
        """Write every file of the report into `out`."""
        # Another that ended in the same place takes it along where it has none.
        (out / FIGURES).mkdir(exist_ok=True)
        with rc_context(INKED):
            shown = [(figure, figure.draw(self.results)) for figure in self.plan.figures]
        names = {f"{figure.id}.png" for figure in self.plan.figures}
        for file in (out / FIGURES).iterdir():
            if file.suffix == ".png" and file.name not in names:
                file.unlink()  # of an earlier report with other claims
        for figure, seen in shown:
            drawing = paint(seen) if isinstance(seen, Picture) else seen
            store.write_whole(out / FIGURES / f"{figure.id}.png", png(drawing))
        beside = html.Beside.of(self, shown)
        store.write_whole(out / MARKDOWN, markdown.text(self.json, self.plan))
        store.write_whole(out / html.BESIDE, beside.encoded())
        store.write_whole(out / HTML, html.page(self.json, beside).html())
        store.write_whole(out / JSON, json.text(self.json))
