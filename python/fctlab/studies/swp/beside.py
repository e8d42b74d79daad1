"""How far the link model is from packets: the tables of ``docs/evidence/model-accuracy.md``.

``python -m fctlab.studies.swp.beside docs/evidence/model-accuracy.jsonl --cpu-hours 1`` runs what
the file has no line of, the same flows through both engines, and goes on there when it is started
again. ``... --docs docs/evidence/model-accuracy.md`` writes what the lines say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import product

import numpy as np

from fctlab.studies.framework import evidence
from fctlab.studies.framework.evidence import Evidence
from fctlab.studies.framework.report.markdown import table
from fctlab.studies.swp import accuracy
from fctlab.studies.swp.compared import Compared
from fctlab.studies.swp.links import Case
from fctlab.studies.swp.readings import Lab

LAB = Lab("full")
MIXES = (*accuracy.ALONE, *accuracy.WEIGHTED)


PAIR = {"WebSearch": ("websearch_bytes", 0.3, 1), "Facebook": ("facebook_hadoop_bytes", 0.3, 2)}
LINKS = tuple(
    Case(gbps, rtt_us, PAIR, 40_000)
    for gbps, rtt_us in ((100, 50), (40, 30), (50, 10), (40, 10), (25, 10), (10, 10))
)
HIGH = {
    load: Case(100, 10, {"Facebook": ("facebook_hadoop_bytes", load, 1)}, 30_000)
    for load in (0.7, 0.8, 0.85)
}
CONTROLS = tuple(own for own, _ in accuracy.SCHEMES.values())
SEEDS = (1, 2)


def asking() -> Iterator[tuple[str, Callable[[], object]]]:
    """All runs: a name, and what asks for one."""
    for case in (*LINKS, *HIGH.values()):
        for control, seed in product(CONTROLS, SEEDS):
            loads = ", ".join(f"{name} {load:g}" for name, (_, load, _) in case.classes.items())
            name = f"{case.gbps} Gbps, {case.rtt_us} us, {loads}, {control}, seed {seed}"
            yield name, partial(case.beside, control, seed)
    for mix, load, scheme in accuracy.settings(MIXES):
        name = f"{scheme}, {mix.name}, load {load:g}"
        yield name, partial(accuracy.measured, LAB, mix, load, scheme, 1)


def block(found: Evidence, file: str) -> str:
    """What the lines say, for a page."""
    with found.given():
        parts = [
            f"`python -m fctlab.studies.swp.beside {file} --cpu-hours 1`: {found.cost()}",
            "",
            "**Short flows: p99 slowdown by size, mean error over size bins; largest**",
            "",
            *_by_mix(_tails),
            "**Flows above 1 MB: mean slowdown of packets; error of the model**",
            "",
            *_by_mix(_means),
            "**Other links, two classes at 0.3 each: WebSearch of weight 1, Facebook of weight 2**",
            "",
            *_by_link(),
            "**High load: Facebook alone, FIFO, 100 Gbps, 10 us**",
            "",
            *_by_load(),
        ]
    return "\n".join(parts).rstrip()


def _by_mix(cell: Callable[[Compared], str]) -> list[str]:
    """A row per class of each mix, a column per congestion control and load."""
    columns = [(scheme, load) for scheme in accuracy.SCHEMES for load in accuracy.LOADS]
    rows = []
    for mix in MIXES:
        runs = [accuracy.measured(LAB, mix, load, scheme, 1) for scheme, load in columns]
        for each in mix.classes:
            name = mix.name if len(mix.classes) == 1 else f"{mix.name}: {each.name}"
            rows.append((name, f"{each.weight}", *(cell(run[each.name]) for run in runs)))
    header = ["traffic", "weight", *(f"{scheme}, load {load:g}" for scheme, load in columns)]
    return table(header, rows)


def _tails(one: Compared) -> str:
    errors = np.abs(one.errors("windows"))
    return f"{errors.mean():.1%}; {errors.max():.1%}" if len(errors) else "-"


def _means(one: Compared) -> str:
    return f"{one.mean['packet']:.3g}; {one.long_ratio('windows') - 1:+.1%}" if one.long else "-"


def _by_link() -> list[str]:
    rows = []
    for control, case in product(CONTROLS, LINKS):
        runs = [case.beside(control, seed) for seed in SEEDS]
        row = [control, f"{case.gbps} Gbps, {case.rtt_us} us", f"{case.bdp_bytes / 1000:g}"]
        row += [_span(run["Facebook"].tails for run in runs)]
        for name in PAIR:
            row += [_span(run[name].mean for run in runs), _span(run[name].p99 for run in runs)]
        rows.append(row)
    header = ["preset", "link, RTT", "BDP (KB)", "Facebook: p99s by size"]
    header += [f"{name}, long: {what}" for name, what in product(PAIR, ("mean", "p99"))]
    return table(header, rows)


def _by_load() -> list[str]:
    rows = []
    for control, (load, case) in product(CONTROLS, HIGH.items()):
        runs = [case.beside(control, seed)["Facebook"] for seed in SEEDS]
        spans = (
            _span(values)
            for values in (
                [run.tails for run in runs],
                [run.mean for run in runs],
                [run.p99 for run in runs],
            )
        )
        rows.append([control, f"{load:g}", *spans])
    return table(["preset", "load", "p99s by size", "long: mean", "long: p99"], rows)


def _span(errors: Iterable[float | Sequence[float]]) -> str:
    """The least and the largest error over seeds, and over bins where there are several."""
    values = np.concatenate([np.atleast_1d(each) for each in errors])
    return f"{values.min():+.0%} to {values.max():+.0%}"


PAGE = evidence.Page("python -m fctlab.studies.swp.beside", "model-accuracy", asking, block)

if __name__ == "__main__":
    evidence.command(PAGE)
