"""Figures 8 to 10 at the paper's scale, some scenarios at a time.

``python -m fctlab.studies.swp.evidence docs/evidence/swp-capacity.jsonl --cpu-hours 1`` finds the
least capacities of scenarios that the file has no line of, three classes before five, in order of
their numbers, each to the ACK and one way, and goes on there when it is started again.
``... --docs docs/evidence/swp.md`` writes what all scenarios up to the first that is missing
say: claims swp-9 to swp-13 by the study's own rules, at both ends of flows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from fctlab.studies.framework import evidence as framework
from fctlab.studies.framework import kept
from fctlab.studies.framework.evidence import Evidence
from fctlab.studies.framework.lab import TEXT
from fctlab.studies.framework.report import json as report
from fctlab.studies.framework.report.markdown import table
from fctlab.studies.framework.runs import Results
from fctlab.studies.swp import capacity
from fctlab.studies.swp.readings import DELIVERY, ENDS, Lab

WORDS = {TEXT.name: "to the ACK", DELIVERY.name: "one way"}
ALL = {classes: capacity.COUNT["full"] for classes in capacity.RATES}
"""Scenarios by number of classes."""


def asking() -> Iterator[tuple[str, Callable[[], object]]]:
    """Every scenario at both ends: a name, and what asks for its least capacities."""
    for classes, most in ALL.items():
        for number in range(1, most + 1):
            yield from _at_both_ends(classes, number)


def _at_both_ends(classes: int, number: int) -> Iterator[tuple[str, Callable[[], object]]]:
    for end in ENDS:
        lab = Lab("full").read(end)
        name = f"{classes} classes, scenario {number}, {WORDS[end.name]}"
        yield name, partial(capacity.scenario, lab, classes, number)


def there(evidence: Evidence) -> dict[int, int]:
    """How many scenarios come before the first that is missing at an end, by number of classes."""

    def whole(classes: int, number: int) -> bool:
        return all(evidence.has(ask) for _, ask in _at_both_ends(classes, number))

    return {
        classes: next((n for n in range(most) if not whole(classes, n + 1)), most)
        for classes, most in ALL.items()
    }


def block(evidence: Evidence, file: str) -> str:
    """What the lines say, for a text: each claim with a verdict at either end."""
    counts = there(evidence)
    lab = Lab("full", counts)
    with evidence.given():
        judged = {
            (each.id, end.name): report.claim(each.under(end).of(lab).judge(Results(())))
            for each in capacity.INFLATIONS
            for end in ENDS
        }
        checks = [
            (check.text, check.measure(Results(())))
            for check in capacity.checks(lab)
            if "swp-15" not in check.claims
        ]
    rows = []
    for each in capacity.INFLATIONS:
        row = [each.id, each.text, each.paper]
        for end in ENDS:
            found = kept.row(judged[each.id, end.name])
            row += [found["found"], found["verdict"]]
        rows.append(row)
    header = ["id", "claim", "paper"]
    for end in ENDS:
        header += [f"{WORDS[end.name]} [95%]", "verdict"]
    return "\n".join(
        [
            f"`python -m fctlab.studies.swp.evidence {file}`: {_cost(evidence, counts)}",
            "",
            *table(header, rows),
            *(line for what, found in checks for line in _items(what, found)),
        ]
    ).rstrip()


def _items(what: str, found: str) -> list[str]:
    """A check as a list: what was measured, and each value."""
    return [f"- {what}:", *(f"  - {each}" for each in found.split("; "))]


def _cost(evidence: Evidence, counts: dict[int, int]) -> str:
    """How much is there, what it took, and what the rest would take."""
    lines = evidence.lines()
    parts, rest = [], []
    for classes, most in ALL.items():
        cost = [line.cpu_s for line in lines if line.name.startswith(f"{classes} classes")]
        parts.append(f"{counts[classes]} of {most} scenarios with {classes} classes")
        if cost and (missing := most * len(ENDS) - len(cost)):
            hours = missing * sum(cost) / len(cost) / 3600
            rest.append(f"{hours:.1f} CPU hours with {classes} classes")
    left = f" The rest takes about {' and '.join(rest)}." if rest else ""
    return (
        f"{', '.join(parts)}, each at both ends, in order of their numbers; {evidence.cost()}{left}"
    )


PAGE = framework.Page("python -m fctlab.studies.swp.evidence", "swp-capacity", asking, block)

if __name__ == "__main__":
    framework.command(PAGE)
