"""One page over all studies: a line for every claim of every paper, and from it into reports.

It is made of what was kept of each report (`fctlab.studies.framework.kept`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table as Shown
from rich.text import Text

from fctlab.report.page import Page, Section, macros
from fctlab.studies.framework import kept
from fctlab.studies.framework.report import readings, settling, words
from fctlab.studies.framework.report.terminal import COLOURS
from fctlab.studies.framework.report.words import Plain


def rows(found: Plain, link: str = "") -> list[dict[str, Any]]:
    """A row for each claim of a paper: the kept claim, how robust it is, and where it is told.

    Args:
        found: what was kept of a report.
        link: of the report; empty where there is none.
    """
    told = []
    for claim in found["claims"]:
        if not claim["beyond_the_paper"]:
            id = claim["id"]
            robust, decides = kept.robust(found, id)
            more = {
                "unconverged": kept.unconverged(found, id),
                "with_more_seeds": kept.settled(found, id),
                "robust": robust,
                "decides": decides,
                "href": f"{link}#{id}" if link else "",
            }
            told.append({**claim, **more})
    return told


def plain(all_: Sequence[Plain]) -> dict[str, Any]:
    """Everything that the page says, as plain values."""
    return {
        "studies": [
            {
                "study": found["study"],
                "title": found["title"],
                "command": found["command"],
                "verdicts": {v.value: n for v, n in words.tally(found).items()},
                "claims": rows(found),
                "untried": kept.untried(found),
            }
            for found in all_
        ]
    }


def page(all_: Sequence[Plain], links: Mapping[str, str], command: str) -> Page:
    """The page.

    Args:
        all_: what was kept of each report.
        links: of reports, by study.
        command: what makes it.
    """
    study = macros("study.html")
    sections = []
    for found in all_:
        told: Markup = study.overview(
            rows(found, links.get(found["study"], "")), bool(found["readings"])
        )
        about = [found["paper"], found["command"]]
        for each in found["settling"]:
            about += [each["command"], settling.summary(each)]
        for each in found["readings"]:
            about += [each["command"], *readings.summary(each)]
        about += [] if found["readings"] else ["No reading was tried."]
        about += [told_of] if (told_of := kept.untried(found)) else []
        sections.append(Section(found["title"], [study.sentences(about), told]))
    counts = [words.tally(found) for found in all_]
    whole = {v: sum(each.get(v, 0) for each in counts) for each_ in counts for v in each_}
    ordered = {v: whole[v] for v in sorted(whole, key=lambda v: v.weakness)}
    return Page(
        title="Claims of all papers",
        kind="overview of studies",
        facts=[
            ("claims", f"{sum(len(rows(found)) for found in all_)}"),
            ("verdicts", study.tally(ordered)),
        ],
        command=command,
        sections=[*sections, Section("What verdicts mean", [study.verdicts()])],
    )


def table(all_: Sequence[Plain]) -> RenderableType:
    """The same on the terminal, without the words of claims."""
    shown = Shown(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for name in ("id", "paper", "here", "verdict", "tried"):
        shown.add_column(name, no_wrap=name in ("id", "verdict"))
    for found in all_:
        for row in rows(found):
            verdict = Text(row["verdict"], style=COLOURS.get(row["verdict"], "dim"))
            said = (row["with_more_seeds"], row["robust"], row["decides"])
            tried = "; ".join(filter(None, said)) or "-"
            shown.add_row(row["id"], row["paper"], _short(row["found"]), verdict, tried)
    told = [
        Text(". ".join(filter(None, (f"{found['study']}: {_summary(found)}", kept.untried(found)))))
        for found in all_
    ]
    return Group(shown, *told)


def _summary(found: Plain) -> str:
    missing = sum(row["verdict"] == kept.NOT_RUN for row in rows(found))
    return f"{missing} claims, {kept.NOT_RUN}" if missing else words.summary(found)


def _short(found: str) -> str:
    """Of several parts the one that decided."""
    return found.rpartition("; decided by ")[2]
