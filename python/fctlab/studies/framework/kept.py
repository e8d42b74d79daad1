"""What is kept of a report in a repository: every claim as one row, what it cost, how robust it is.

A small file of JSON, ``docs/evidence/claims/NAME.json``, from which pages are made; no runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fctlab import studies
from fctlab.errors import SpecError
from fctlab.studies.framework.report import lengths, readings, settling
from fctlab.studies.framework.report.words import Plain, is_inner, scale
from fctlab.studies.framework.verdict import Verdict

if TYPE_CHECKING:
    from fctlab.studies.framework.study import Study

NOT_RUN = "not run"
"""In the place of a verdict."""
SOME = ("study", "title", "paper", "mode", "seeds", "command", "engine", "advice")


def kept(report: Plain) -> dict[str, Any]:
    """What is kept of a report."""
    return {
        **{key: report[key] for key in SOME},
        "runs": {key: report["runs"][key] for key in ("runs", "cpu_s")},
        "rising": report.get("rising"),
        "claims": [row(claim) for claim in report["claims"] if not is_inner(claim)],
        "tables": report["tables"][:1],
        **{key: _tried(report, make(report)) for key, make in TRIED.items()},
    }


def row(claim: Plain) -> dict[str, Any]:
    """A claim of a report; ``found`` has effect, interval and, of several parts, what decided."""
    decided = claim["decided_by"]
    counting = [part for part in claim["parts"] if part["counts"]]
    found = str(claim["here"])
    if len(counting) == 1:
        found = f"{found} {decided['interval']}".rstrip()
    elif claim["verdict"] not in (Verdict.AGREES.value, Verdict.COMPUTED.value):
        by = f"{decided['part']} {decided['here']} {decided['interval']}".rstrip()
        found = f"{found}; decided by {by}"
    return {
        "id": claim["id"],
        "claim": claim["claim"],
        "paper": claim["paper"],
        "found": found,
        "verdict": claim["verdict"],
        "flows_per_host": scale(claim),
        "beyond_the_paper": claim["beyond_the_paper"],
        "settled": claim.get("settled"),
        "price": claim.get("price"),
    }


def _tried(report: Plain, found: Plain | None) -> list[dict[str, Any]]:
    """With the command that tried it, which need not be that of the rows."""
    return [{**found, "command": report["command"]}] if found else []


def _readings(report: Plain) -> dict[str, Any] | None:
    """Without what each claim was under each reading."""
    found = report.get("readings")
    if not found:
        return None
    claims = [{k: v for k, v in claim.items() if k != "under"} for claim in found["claims"]]
    return {**found, "claims": claims}


TRIED: Mapping[str, Callable[[Plain], Plain | None]] = {
    "lengths": lambda report: report.get("lengths"),
    "readings": _readings,
    "settling": settling.plain,
}
"""What is tried of claims beyond a study's own runs: each a list, a command after the other."""


def merged(old: Plain, new: Plain) -> Plain:
    """What is kept where a new report comes.

    One of some claims alone (``--only``), or one that settled claims, brings what was tried of
    them; the rows stay those of the whole study with as many seeds for each. One in another mode
    takes its place.
    """
    known, there = _ids(old), _ids(new)
    if new["mode"] != old["mode"] or (there >= known and not new["settling"]):
        return new
    return {**old, **{key: _again(old[key], new[key]) for key in TRIED}}


def _again(old: Sequence[Plain], new: Sequence[Plain]) -> list[Plain]:
    """The trials there were, but for those whose claims were all tried again; and the new."""
    again = {id for each in new for id in _ids(each)}
    return [*(each for each in old if not _ids(each) <= again), *new]


def _ids(found: Plain) -> set[str]:
    return {claim["id"] for claim in found["claims"]}


def trial(found: Plain, key: str, claim: str) -> Plain | None:
    """The last trial of a claim.

    Args:
        found: what was kept of a report.
        key: of `TRIED`.
        claim: its id.
    """
    return next((each for each in reversed(found[key]) if claim in _ids(each)), None)


def _last(found: Plain, key: str, claim: str) -> Plain | None:
    """What the last trial of a claim found of it."""
    last = trial(found, key, claim)
    return last and next(each for each in last["claims"] if each["id"] == claim)


def files(place: Path) -> list[Path]:
    """The directory of a report; or of one where reports are kept all files of JSON."""
    there = place.is_dir() and not (place / "report.json").exists()
    return sorted(place.glob("*.json")) or [place] if there else [place]


def read(file: Path) -> dict[str, Any]:
    """What was kept, from its file or from the directory of a report.

    Raises:
        SpecError: there is none.
    """
    whole = file / "report.json" if file.is_dir() else file
    try:
        found: dict[str, Any] = json.loads(whole.read_text(encoding="utf-8"))
        return found if "found" in found["claims"][0] else kept(found)
    except OSError as error:
        raise SpecError(str(whole), f"cannot be read: {error.strerror}") from None
    except (ValueError, LookupError, TypeError):
        raise SpecError(str(whole), "is no report of a study") from None


def robust(found: Plain, claim: str) -> tuple[str, str]:
    """In how many readings a claim holds, and what decides it; empty where none was tried."""
    one = _last(found, "readings", claim)
    if one is None:
        return "", ""
    counts = [f"{verdict} {number}" for verdict, number in one["counts"].items() if number]
    return f"of {one['readings']}: {', '.join(counts)}", readings.decides(one)


def settled(found: Plain, claim: str) -> str:
    """What more seeds made of it, or would; empty where they were not asked for."""
    one = _last(found, "settling", claim)
    return settling.told(one) if one else ""


def unconverged(found: Plain, claim: str) -> str:
    """That a doubling moves its effect, where that was tried and does."""
    return lengths.unconverged(trial(found, "lengths", claim), claim)


def untried(found: Plain) -> str:
    """Which of a paper's claims differ where no reading was tried; empty where there are none.

    One of ours that leaves nothing open has no readings to try.
    """
    name = found["study"]
    if name in studies.STUDIES and not studies.load(name).left_open.settings:
        return ""
    ids = [
        claim["id"]
        for claim in found["claims"]
        if Verdict.DIFFERS.value in (claim["verdict"], _settled_as(found, claim["id"]))
        and not claim["beyond_the_paper"]
        and not trial(found, "readings", claim["id"])
    ]
    return f"Differs, and no reading was tried: {', '.join(ids)}." if ids else ""


def _settled_as(found: Plain, claim: str) -> str | None:
    one = _last(found, "settling", claim)
    return one["verdict"] if one and one["settled"] else None


def not_run(study: Study) -> dict[str, Any]:
    """The same of a study without a report: its paper's claims, and nothing found."""
    claims = [
        {
            "id": claim.id,
            "claim": claim.text,
            "paper": claim.paper,
            "found": "-",
            "verdict": NOT_RUN,
            "flows_per_host": "-",
            "beyond_the_paper": claim.beyond,
            "settled": None,
            "price": None,
        }
        for claim in study.plan("quick").claims
        if "." not in claim.id
    ]
    command = f"fctlab study {study.name}"
    own = {"study": study.name, "title": study.title, "paper": study.paper, "command": command}
    return {**own, "claims": claims, **{key: [] for key in TRIED}}
