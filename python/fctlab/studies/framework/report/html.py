"""A report as a page: ``report.html``, one file that needs nothing else.

It is made of ``report.json`` and of `Beside`, which is saved as well: `fctlab.report` makes the
page of a study's directory anew.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from markupsafe import Markup

from fctlab.errors import SpecError
from fctlab.report.charts import Axis, Chart, Choice, Number, Series, rounded
from fctlab.report.page import Page, Section, macros
from fctlab.results import kinds
from fctlab.studies.framework import pictures, verdict
from fctlab.studies.framework.pictures import MOST_MARKERS, Picture
from fctlab.studies.framework.report import left, lengths, readings, words
from fctlab.studies.framework.report.markdown import FIGURES
from fctlab.studies.framework.report.words import Plain
from fctlab.studies.framework.verdict import Bound
from fctlab.tables import Column, Line, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from fctlab.studies.framework.report import Report
    from fctlab.studies.framework.study import Figure

BESIDE = "page.json"
LINES, PANEL = "lines", "panel"
"""Choices of a chart."""
ONE_LINE = 48
"""Letters of a cell that is not broken."""
NUMBER = re.compile(r"[<>?]? ?[-+]?\d[\d.,]*[%x]?( (±|\[).*)?|-|")
HOLLOW = "Hollow: at least, since the paper says so or flows had not finished."


@dataclass(frozen=True)
class Shown:
    """A figure: what it shows, or where that is no bars and lines its drawing as SVG."""

    id: str
    title: str
    caption: str
    claims: Sequence[str]
    picture: Picture | None = None
    svg: str = ""


@dataclass(frozen=True)
class Expected:
    """What the paper says of an effect: from `low` to `high`; only one of them where it is open."""

    claim: str
    part: str
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Beside:
    """What the page shows and ``report.json`` does not have.

    Attributes:
        figures: in order.
        captions: of tables, by id.
        folded: ids of the tables that are shown when asked.
        expected: of effects that the paper gives a number or a range of.
    """

    figures: Sequence[Shown] = ()
    captions: Mapping[str, str] = field(default_factory=dict)
    folded: Sequence[str] = ()
    expected: Sequence[Expected] = ()

    @classmethod
    def of(cls, report: Report, shown: Sequence[tuple[Figure, Picture | Drawing]]) -> Beside:
        """That of a report whose figures show so much."""
        tables = report.plan.tables
        parts = [
            Expected(judged.claim.id, part.name, *span)
            for judged in report.judged
            for part, _ in judged.parts
            if part.counts and (span := verdict.span(part.expected))
        ]
        return cls(
            [_shown(*pair) for pair in shown],
            {table.id: table.caption for table in tables},
            [table.id for table in tables if table.folded],
            parts,
        )

    def encoded(self) -> bytes:
        """As JSON; what is no number is null."""
        return msgspec.json.encode(self)

    @classmethod
    def read(cls, file: Path) -> Beside:
        """From its file; nothing where an older version wrote none."""
        return msgspec.json.decode(file.read_bytes(), type=cls) if file.exists() else cls()


def _shown(figure: Figure, seen: Picture | Drawing) -> Shown:
    told = (figure.id, figure.title, figure.caption, figure.claims)
    if isinstance(seen, Picture):
        return Shown(*told, picture=seen)
    return Shown(*told, svg=pictures.svg(seen, figure.id))


def saved(directory: Path) -> Page:
    """The page of a study's directory.

    Raises:
        SpecError: the study has not ended.
    """
    report = kinds.read_object(directory / kinds.REPORT)
    if not report:
        text = "holds a study that has not ended; the command that started it goes on from there"
        raise SpecError(str(directory), text)
    return page(report, Beside.read(directory / BESIDE))


def page(report: Plain, beside: Beside) -> Page:
    """The page of a report."""
    study = macros("study.html")
    own, beyond = (
        [c for c in report["claims"] if c["beyond_the_paper"] is way and not words.is_inner(c)]
        for way in (False, True)
    )

    def rows(claims: Sequence[Plain]) -> Markup:
        told = [(claim, [dict(c) for c in words.inner(report, claim)]) for claim in claims]
        figures = {c["id"]: [f for f in beside.figures if c["id"] in f.claims] for c in claims}
        moved = {
            c["id"]: lengths.unconverged(report.get("lengths"), c["id"]) for c in report["claims"]
        }
        found: Markup = study.claims(told, figures, words.scale, moved)
        return found

    against = _against(report, beside)
    sections = [
        *([Section("Claim by claim", [rows(own)])] if own else []),
        *([Section("Here and in the paper", charts=[against])] if against else []),
        *_lengths(report),
        *_readings(report, study),
        *_left(report),
        *([Section("Beyond the paper", [rows(beyond)])] if beyond else []),
        *(
            Section(each["title"], _table(each, beside), folded=each["table"] in beside.folded)
            for each in report["tables"]
        ),
        *_list("What to choose", report["advice"], study),
        *_checks(report),
        *_figures(beside, study, {claim["id"] for claim in report["claims"]}),
        *_list("How it was done", words.notes(report), study),
        Section("What verdicts mean", [study.verdicts()]),
    ]
    return Page(
        title=report["title"],
        kind="study",
        facts=[
            ("paper", report["paper"]),
            ("claims", study.tally(words.tally(report))),
            ("mode", words.mode(report)),
            ("took", words.cost(report)),
            ("engine", report["engine"]),
        ],
        command=report["command"],
        sections=sections,
        beside=f"{FIGURES}/*.png",
    )


def _lengths(report: Plain) -> list[Section]:
    """Whether effects are converged; old reports have none."""
    found = report.get("lengths")
    if not found:
        return []
    told: list[Line | Table] = [Line(lengths.summary(found))]
    rows = lengths.rows(found)
    if rows:
        told.append(Table("", tuple(Column(name, "name") for name in lengths.HEADER), rows))
    return [Section("Converged", told)]


def _left(report: Plain) -> list[Section]:
    """What a budget left of doublings, readings and seeds."""
    if not (report.get("lengths") or report.get("readings")):
        return []
    told: list[Line | Table] = [Line(left.summary(report))]
    if rows := left.rows(report):
        told.append(Table("", tuple(map(Column, left.HEADER)), [*rows]))
    return [Section("Left", told)]


def _readings(report: Plain, study: Any) -> list[Section]:
    """Claims under every reading, and what the paper leaves open; old reports have none."""
    found = report.get("readings")
    if not found:
        return []
    own: Markup = study.readings(found, readings.decides)
    open_ = Table("", tuple(map(Column, readings.OPENED)), [*readings.opened(found)])
    return [
        Section("Under every reading", [study.sentences(readings.summary(found)), own]),
        Section("What the paper leaves open", [open_], folded=True),
    ]


def _list(title: str, sentences: Sequence[str], study: Any) -> list[Section]:
    return [Section(title, [study.sentences(sentences)])] if sentences else []


def _checks(report: Plain) -> list[Section]:
    if not report["checks"]:
        return []
    columns = tuple(Column(name) for name in ("check", "paper", "here"))
    rows: list[tuple[str, ...]] = [(c["check"], c["paper"], c["here"]) for c in report["checks"]]
    return [Section("Is it the paper's setting?", [Table("", columns, rows)])]


def _table(found: Plain, beside: Beside) -> list[Line | Table]:
    columns = []
    for name, *cells in zip(found["header"], *found["rows"], strict=True):
        numbers = all(NUMBER.fullmatch(cell) for cell in cells)
        short = max(map(len, cells), default=0) <= ONE_LINE
        columns.append(Column(name, "number" if numbers else "name" if short else "text"))
    rows = [tuple(row) for row in found["rows"]]
    caption = beside.captions.get(found["table"], "")
    return [*([Line(caption, soft=True)] if caption else []), Table("", tuple(columns), rows)]


def _figures(beside: Beside, study: Any, there: Collection[str]) -> list[Section]:
    charts = [_chart(each, each.picture) for each in beside.figures if each.picture]
    drawings = [study.drawing(each, there) for each in beside.figures if each.svg]
    return [Section("Figures", drawings, charts)] if charts or drawings else []


def _chart(figure: Shown, picture: Picture) -> Chart:
    """A picture to point at; of several panels one is chosen."""
    longest = max((len(s.x) for panel in picture.panels for s in panel.series), default=0)
    kind = "points" if picture.kind == "bars" else "steps" if longest > MOST_MARKERS else "lines"
    panels = [(str(i), panel.title) for i, panel in enumerate(picture.panels)]
    axes = {
        str(i): Axis(
            panel.y,
            log=panel.log,
            least=panel.least or 0.0,
            zero=not panel.log and (picture.kind == "bars" or picture.from_zero),
        )
        for i, panel in enumerate(picture.panels)
    }
    x = Axis("", words=True) if picture.kind == "bars" else Axis(picture.x, log=picture.x_log)
    names = picture.names
    return Chart(
        f"figure-{figure.id}",
        figure.title,
        f"{figure.caption} ({', '.join(figure.claims)})",
        kind,  # type: ignore[arg-type]
        x,
        axes,
        [
            _series({PANEL: str(i), LINES: str(names.index(series.name))}, series, longest)
            for i, panel in enumerate(picture.panels)
            for series in panel.series
        ],
        lines=LINES,
        choices=[
            Choice(PANEL, "Panel", panels),
            Choice(LINES, "Show", [(str(i), n) for i, n in enumerate(names)], several=True),
        ],
        by=PANEL,
    )


BOUNDS = {"<": "at most: flows had not finished", "?": "not known: flows had not finished"}


def _series(keys: Mapping[str, str], series: pictures.Series, longest: int) -> Series:
    ends = [(mean - half, mean + half) for mean, half in series.points]
    known = any(series.half) and longest <= MOST_MARKERS
    bounds = series.bounds or [""] * len(ends)
    return Series(
        keys,
        [x.replace("\n", " ") if isinstance(x, str) else x for x in series.x],
        rounded(series.y),
        low=rounded(low for low, _ in ends) if known else (),
        high=rounded(high for _, high in ends) if known else (),
        open=[i for i, bound in enumerate(bounds) if bound == ">"],
        notes=[BOUNDS.get(bound, "") for bound in bounds] if any(bounds) else (),
    )


def _against(report: Plain, beside: Beside) -> Chart | None:
    """Effects beside what the paper says: of each claim the part that decided, where it says.

    Nothing where there is one such claim, which its row tells as well.
    """
    ids: list[str] = []
    here: list[tuple[Plain, Expected]] = []
    for claim in report["claims"]:
        if claim["beyond_the_paper"] or words.is_inner(claim):
            continue
        spans = {each.part: each for each in beside.expected if each.claim == claim["id"]}
        first = [claim["decided_by"], *claim["parts"]]
        told = (p for p in first if p["value"] is not None and p["bound"] != Bound.NOT_KNOWN.value)
        part = next((p for p in told if p["part"] in spans), None)
        if part:
            ids.append(claim["id"])
            here.append((part, spans[part["part"]]))
    if len(ids) < 2:
        return None
    ours = Series(
        {LINES: "here"},
        ids,
        rounded(part["value"] for part, _ in here),
        low=rounded((part["ci95"] or [None])[0] for part, _ in here),
        high=rounded((part["ci95"] or [None])[-1] for part, _ in here),
        open=[i for i, (part, _) in enumerate(here) if part["bound"] == "lower"],
        notes=[f"{part['part']}: {part['verdict']}" for part, _ in here],
    )
    ends: list[tuple[str, Number, bool, str]] = []
    for id, (part, span) in zip(ids, here, strict=True):
        known = dict.fromkeys(end for end in (span.low, span.high) if end)
        ends += [(id, end, span.high is None, part["paper"]) for end in known]
    theirs = Series(
        {LINES: "paper"},
        [id for id, *_ in ends],
        rounded(end for _, end, *_ in ends),
        open=[i for i, (_, _, least, _) in enumerate(ends) if least],
        notes=[text for *_, text in ends],
    )
    return Chart(
        "against",
        "Effects by claim",
        "Of each claim whose effect the paper gives as a number or a range: the part that decided, "
        f"with its 95% interval, and the paper's number or the ends of its range. {HOLLOW}",
        "points",
        Axis("", words=True),
        Axis("effect (ratio)", log=True),
        [ours, theirs],
        lines=LINES,
        choices=[Choice(LINES, "Show", [("here", "here"), ("paper", "paper")], several=True)],
    )
