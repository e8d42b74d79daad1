"""Claims under every reading of their paper, as plain values and as rows of text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from fctlab.studies.framework.judged import effect, interval
from fctlab.studies.framework.report.words import Plain
from fctlab.studies.framework.verdict import Verdict

if TYPE_CHECKING:
    from fctlab.studies.framework.readings import Decides, Readings
    from fctlab.studies.framework.under import Read

COUNTED = (Verdict.AGREES, Verdict.DIRECTION, Verdict.UNDECIDED, Verdict.DIFFERS)
HEADER = ("id", "as read", "agrees", "direction", "undecided", "differs", "what decides it")
NARROW = ("id", "as read", "a", "d", "u", "x", "what decides it")
"""The same where there is little room; `LEGEND` says what the letters are."""
LEGEND = "In how many readings a claim agrees (a), is in direction (d), undecided (u), differs (x)."


def plain(found: Readings) -> dict[str, Any]:
    """Everything that was found."""
    nearest = found.nearest
    return {
        "open": [
            {
                "setting": each.name,
                "default": each.default,
                "why": each.why,
                "choices": [{"choice": c.name, "words": c.words} for c in each.choices],
            }
            for each in found.left_open.settings
        ],
        "not_tried": [{"setting": n.name, "why": n.why} for n in found.left_open.not_tried],
        "readings": [_reading(found, read) for read in found.read],
        "left": [
            {
                "reading": each.variant.name,
                "words": each.variant.words,
                "cpu_hours": each.cpu_s / 3600,
            }
            for each in found.left
        ],
        "cpu_hours": (found.cpu_s - found.read[0].cpu_s) / 3600,
        "nearest": {**_reading(found, nearest), "of": len(found.claims)},
        "claims": [_claim(found, claim.id) for claim in found.claims],
    }


def _reading(found: Readings, read: Read) -> dict[str, Any]:
    distance = found.distance(read)
    return {
        "reading": read.variant.name,
        "words": read.variant.words,
        "choices": [choice.name for choice in read.variant.choices],
        "agreeing": read.agreeing,
        "distance": distance if math.isfinite(distance) else None,
        "cpu_s": read.cpu_s,
    }


def _claim(found: Readings, claim: str) -> dict[str, Any]:
    counts = found.counts(claim)
    own, best = found.read[0].judged[claim], found.best(claim)
    return {
        "id": claim,
        "verdict": own.verdict.value,
        "counts": {verdict.value: counts[verdict] for verdict in COUNTED},
        "readings": len(found.read),
        "best": {
            "reading": best.variant.name,
            "words": best.variant.words,
            "verdict": best.judged[claim].verdict.value,
            "changes": len(best.variant.choices),
        },
        "deciding": [_decides(found, each, claim) for each in found.deciding(claim)],
        "longer": [
            {"reading": reading, "as_read": own.value, "verdict": verdict.value}
            for (reading, id), (own, verdict) in found.longer.items()
            if id == claim
        ],
        "under": [_under(read, claim) for read in found.read],
    }


def _decides(found: Readings, each: Decides, claim: str) -> dict[str, Any]:
    moved, longer = each.moved, found.longer.get((each.choice.name, claim))
    return {
        "setting": found.left_open.setting_of(each.choice).name,
        "choice": each.choice.name,
        "words": each.choice.words,
        "verdict": each.verdict.value,
        "longer": longer and [verdict.value for verdict in longer],
        "moved": moved.point,
        "ci95": [moved.low, moved.high if math.isfinite(moved.high) else None],
    }


def _under(read: Read, claim: str) -> dict[str, Any]:
    judged = read.judged[claim]
    part, finding = judged.decisive
    return {
        "reading": read.variant.name,
        "verdict": judged.verdict.value,
        "part": part.name,
        "here": effect(part, finding),
        "interval": interval(part, finding),
    }


def decides(claim: Plain) -> str:
    """What decides a claim's verdict, and where no reading reproduces it that and their number."""
    number = claim["readings"]
    never = not claim["counts"][Verdict.AGREES.value]
    none = f"none of {number} readings reproduces it" if never else ""
    return "; ".join(filter(None, (_change(claim), none)))


def _change(claim: Plain) -> str:
    """The change that decides it."""
    if claim["deciding"]:
        first, *more = claim["deciding"]
        others = f" (and {len(more)} more)" if more else ""
        moved = f"effect {first['moved'] - 1:+.0%}"
        long = first["longer"]
        twice = f"; twice as long {long[1]}, as read {long[0]}" if long else ""
        return f"{first['words']}: {first['verdict']}, {moved}{twice}{others}"
    best, number = claim["best"], claim["readings"]
    if claim["verdict"] == Verdict.AGREES.value:
        agreeing = claim["counts"][Verdict.AGREES.value]
        return "nothing tried" if agreeing == number else "no single change beyond chance"
    if best["verdict"] == claim["verdict"]:
        return ""
    if best["changes"] > 1:
        return f"only together: {best['words']}: {best['verdict']}"
    return f"no change beyond chance; {best['verdict']} where {best['words']}"


def rows(settings: Plain) -> list[tuple[str, ...]]:
    """A row per claim, as wide as `HEADER`."""
    return [
        (
            claim["id"],
            claim["verdict"],
            *(str(number) for number in claim["counts"].values()),
            decides(claim),
        )
        for claim in settings["claims"]
    ]


def summary(settings: Plain) -> list[str]:
    """Sentences: what no reading reproduces, the nearest reading, what is left."""
    tried = len(settings["readings"])
    never = [
        claim["id"] for claim in settings["claims"] if not claim["counts"][Verdict.AGREES.value]
    ]
    sentences = [f"Readings tried: {tried}."]
    if never:
        sentences.append(f"None of them reproduces {', '.join(never)}.")
    nearest = settings["nearest"]
    own = settings["readings"][0]
    distance = nearest["distance"]
    same = nearest["reading"] == own["reading"]
    beside = "" if same else f"; as the study reads it {own['agreeing']}"
    off = "" if distance is None else f", numbers off by {math.exp(distance) - 1:.0%} on average"
    sentences.append(
        f"Nearest to the paper, chosen after the fact: {nearest['words']} ({nearest['agreeing']} "
        f"of {nearest['of']} claims agree{off}{beside})."
    )
    if settings["left"]:
        hours = math.fsum(each["cpu_hours"] for each in settings["left"])
        amount = f"{hours:.2g}" if hours < 10 else f"{hours:,.0f}"
        number = len(settings["left"])
        sentences.append(
            f"Left: {number} reading{'s'[: number > 1]}, about {amount} CPU hours more."
        )
    return sentences


def opened(settings: Plain) -> list[tuple[str, str, str, str]]:
    """A row per open setting: its name, what the study takes, what else was tried, and why."""
    found = [
        (
            each["setting"],
            each["default"],
            "; ".join(choice["words"] for choice in each["choices"]),
            each["why"],
        )
        for each in settings["open"]
    ]
    rest = [(each["setting"], "-", "not tried", each["why"]) for each in settings["not_tried"]]
    return [*found, *rest]


OPENED = ("left open", "as read", "tried instead", "why")
