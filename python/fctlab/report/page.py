"""One page: facts, tables and charts, in one file that needs nothing else.

Templates are Jinja2's. The charts are drawn by plotly.js, which the Python package plotly carries;
it is in the page, compressed, and unpacked by the browser.
"""

from __future__ import annotations

import base64
import gzip
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from fctlab import _native
from fctlab.errors import SpecError
from fctlab.report.charts import Chart, Choice, Series
from fctlab.results.colours import COLOURS
from fctlab.tables import Line, Part, Table

MARK = '<meta name="generator" content="fctlab">'
"""In every page: a file with it may be written over."""
LONGEST_START = 1000
"""Bytes of a page in which `MARK` is."""
QUICKLY = 5
"""How hard the library is compressed: harder takes twice the time for a hundredth less."""
MOST_BYTES = 8_000_000
TEMPLATES = ("frame.html", "page.html")
"""Of which every page here is made."""


@dataclass
class Section:
    """A part of a page under a heading of its own; a folded one is shown when asked.

    Parts that are markup go into the page as they are: see `macros`.
    """

    title: str
    parts: Sequence[Part | Markup] = ()
    charts: Sequence[Chart] = ()
    folded: bool = False


@dataclass(frozen=True)
class Headline:
    """What matters most, at the top of a page.

    Attributes:
        state: ``"met"``, ``"violated"`` or ``"undecided"``: its colour and sign.
        text: a sentence.
    """

    state: str
    text: str


@dataclass
class Page:
    """What a page shows.

    Attributes:
        title: of the page.
        kind: what it is of, such as ``"comparison"``.
        headlines: what came out, before everything else.
        advice: what to do next, as sentences.
        facts: pairs of a word and what it is.
        command: what repeats the result; empty where that is not known.
        warnings: lines.
        choices: that all charts follow.
        sections: from top to bottom.
        beside: what somebody without JavaScript can look at instead of charts.
    """

    title: str
    kind: str
    headlines: Sequence[Headline] = ()
    advice: Sequence[str] = ()
    facts: Sequence[tuple[str, str | Markup]] = ()
    command: str = ""
    warnings: Sequence[str] = ()
    choices: Sequence[Choice] = ()
    sections: Sequence[Section] = field(default_factory=list)
    beside: str = ""

    @property
    def charts(self) -> list[Chart]:
        """All of them."""
        return [chart for section in self.sections for chart in section.charts]

    @property
    def open_choices(self) -> list[Choice]:
        """Those that leave something to choose."""
        return [choice for choice in self.choices if choice.open]

    @property
    def data(self) -> Markup:
        """What the charts draw, as JSON inside a page."""
        shared = {id(chart.series): chart.series for chart in self.charts}
        value = {
            "colours": COLOURS,
            "choices": [asdict(choice) for choice in self.choices],
            "series": [[_as_json(each) for each in series] for series in shared.values()],
            "charts": [
                {
                    **asdict(replace(chart, series=())),
                    "series": list(shared).index(id(chart.series)),
                }
                for chart in self.charts
            ],
        }
        return Markup(_inside(json.dumps(value, separators=(",", ":"), allow_nan=False)))

    def html(self) -> str:
        """The page.

        Raises:
            SpecError: it would be too large.
        """
        text = render("page.html", page=self, library=library() if self.charts else "")
        if len(text.encode()) > MOST_BYTES:
            raise SpecError(self.title, f"its page would be larger than {MOST_BYTES / 1e6:.0f} MB")
        return text


def _as_json(series: Series) -> dict[str, Any]:
    """Without what is empty, but for its keys."""
    found = {each.name: getattr(series, each.name) for each in fields(series)}
    return {name: value for name, value in found.items() if value or name == "keys"}


def _inside(text: str) -> str:
    """JSON that cannot end the element that it is in."""
    return text.replace("<", "\\u003c")


def render(template: str, **values: object) -> str:
    """A template of this package, filled in."""
    date, version = time.strftime("%Y-%m-%d"), _native.version()
    return environment().get_template(template).render(**values, date=date, version=version)


def macros(template: str) -> Any:
    """The macros of a template of this package, as functions that return markup."""
    return environment().get_template(template).module


@cache
def environment() -> jinja2.Environment:
    """Templates of this package; whatever is put into them is escaped."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("fctlab.report", "assets"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["asset"] = asset
    made.globals["mark"] = Markup(MARK)
    made.tests["table"] = lambda part: isinstance(part, Table)
    made.tests["line"] = lambda part: isinstance(part, Line)
    return made


@cache
def asset(name: str) -> Markup:
    """A style sheet or script of this package."""
    return Markup(resources.files("fctlab.report").joinpath("assets", name).read_text("utf-8"))


@cache
def library() -> str:
    """plotly.js, compressed: a quarter of the page that it would be."""
    return base64.b64encode(gzip.compress(get_plotlyjs().encode(), QUICKLY, mtime=0)).decode()
