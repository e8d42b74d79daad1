"""Tables of ``docs/`` from reports, so that nobody types a number.

``python -m fctlab.studies.framework.docs docs/evidence/studies.md results/ads-quick`` keeps what
`kept` says of each report in ``claims/NAME.json`` beside the text, NAME being the study's. Then it
writes the table of everything kept between the lines ``<!-- begin NAME -->`` and
``<!-- end NAME -->``: the command that made it, what it cost, every claim, and its first table and
advice where it has them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from fctlab.results.drafts import write_whole
from fctlab.studies.framework import kept
from fctlab.studies.framework.report import readings, settling
from fctlab.studies.framework.report.markdown import table as markdown_table
from fctlab.studies.framework.report.words import FLOWS, Plain, rises

FOLDER = "claims"


def block(found: Plain) -> str:
    """What stands between the two lines, of what was kept."""
    claims = found["claims"]
    own = [claim["verdict"] for claim in claims if not claim["beyond_the_paper"]]
    counts = [f"{own.count(verdict)} {verdict}" for verdict in dict.fromkeys(sorted(own))]
    runs = found["runs"]
    cost = f" ({runs['runs']:,} runs, {runs['cpu_s'] / 60:.0f} min of CPU time)"
    cost *= bool(runs["runs"])
    about = f"`{found['command']}`{cost}: {len(own)} claims, {', '.join(counts)}."
    lines = [" ".join(filter(None, (about, rises(found)))), ""]
    header: tuple[str, ...] = ("id", "claim", "paper", "here [95%]", "verdict", FLOWS)
    header += ("with more seeds",) if found["settling"] else ()
    header += ("readings", "what decides it") if found["readings"] else ()
    lines += markdown_table(header, (_row(found, claim) for claim in claims))
    for each in found["settling"]:
        lines += [f"`{each['command']}`: {settling.summary(each)}", ""]
    for each in found["readings"]:
        lines += [f"`{each['command']}`: {' '.join(readings.summary(each))}", ""]
    lines += [told, ""] if (told := kept.untried(found)) else []
    for table in found["tables"]:
        lines += [f"{table['title']}:", "", *markdown_table(table["header"], table["rows"])]
    lines += [*(f"- {sentence}" for sentence in found["advice"]), ""]
    return "\n".join(lines).rstrip()


def _row(found: Plain, claim: Plain) -> tuple[str, ...]:
    """A claim as it stands in its table."""
    id = claim["id"]
    here = "; ".join(filter(None, (claim["found"], kept.unconverged(found, id))))
    told = (id, claim["claim"], claim["paper"], here, claim["verdict"], claim["flows_per_host"])
    settled = (kept.settled(found, id),) if found["settling"] else ()
    return *told, *settled, *(kept.robust(found, id) if found["readings"] else ())


def put(text: str, found: Plain) -> str:
    """The text with the block of what was kept in its place; as `between`."""
    return between(text, found["study"], block(found))


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
    beside = file.parent / FOLDER
    beside.mkdir(exist_ok=True)
    for folder in folders:
        found = kept.read(folder)
        place = beside / f"{found['study']}.json"
        whole = kept.merged(kept.read(place), found) if place.exists() else found
        write_whole(place, json.dumps(whole, indent=1, ensure_ascii=False) + "\n")
    text = file.read_text(encoding="utf-8")
    for each in sorted(beside.glob("*.json")):
        text = put(text, kept.read(each))
    file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
