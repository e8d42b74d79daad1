"""Tables of ``docs/`` from reports, so that nobody types a number.

``python -m fctlab.studies.framework.docs docs/evidence/studies.md results/ads-quick`` writes the
table of each report between the lines ``<!-- begin NAME -->`` and ``<!-- end NAME -->`` of a text,
NAME being the study's: the command that made it, what it cost, every claim, and its first table and
advice where it has them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fctlab.studies.framework.report import JSON
from fctlab.studies.framework.report.markdown import table as markdown_table
from fctlab.studies.framework.report.words import FLOWS, flows_per_host


def block(report: dict[str, Any]) -> str:
    """What stands between the two lines."""
    claims = [claim for claim in report["claims"] if "." not in claim["id"]]
    own = [claim["verdict"] for claim in claims if not claim["beyond_the_paper"]]
    counts = [f"{own.count(verdict)} {verdict}" for verdict in dict.fromkeys(sorted(own))]
    runs = report["runs"]
    lines = [
        f"`{report['command']}` ({runs['runs']:,} runs, {runs['cpu_s'] / 60:.0f} min of CPU time): "
        f"{len(own)} claims, {', '.join(counts)}.",
        "",
    ]
    header = ("id", "claim", "paper", "here [95%]", "verdict", FLOWS)
    lines += markdown_table(header, map(row, claims))
    for table in report["tables"][:1]:
        lines += [f"{table['title']}:", "", *markdown_table(table["header"], table["rows"])]
    lines += [*(f"- {sentence}" for sentence in report["advice"]), ""]
    return "\n".join(lines).rstrip()


def row(claim: dict[str, Any]) -> tuple[str, ...]:
    """A claim of a report as it stands in its table."""
    decided = claim["decided_by"]
    counting = [part for part in claim["parts"] if part["counts"]]
    found = f"{claim['here']}"
    if len(counting) == 1:
        found = f"{found} {decided['interval']}".rstrip()
    elif claim["verdict"] not in ("agrees", "computed"):
        by = f"{decided['part']} {decided['here']} {decided['interval']}".rstrip()
        found = f"{found}; decided by {by}"
    flows = flows_per_host(claim["flows_per_host"])
    return claim["id"], claim["claim"], claim["paper"], found, claim["verdict"], flows


def put(text: str, report: dict[str, Any]) -> str:
    """The text with the report's block in its place; as `between`."""
    return between(text, report["study"], block(report))


def between(text: str, name: str, made: str) -> str:
    """The text with `made` between the two lines of a name.

    Raises:
        ValueError: the text has no such place.
    """
    begin, end = (f"<!-- {word} {name} -->" for word in ("begin", "end"))
    before, found, rest = text.partition(begin + "\n")
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"no lines {begin} and {end}")
    return f"{before}{begin}\n\n{made}\n\n{end}{after}"


def main(arguments: Sequence[str]) -> None:
    """A text, then directories of reports."""
    file, *folders = map(Path, arguments)
    text = file.read_text(encoding="utf-8")
    for folder in folders:
        text = put(text, json.loads((folder / JSON).read_text(encoding="utf-8")))
    file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
