"""Which scheme, when: eleven schemes in settings that fill a space, and advice that was tried.

`setting` draws settings and runs schemes in them, `decide` finds winners and what flips them, and
`table` tells it. The advice of some settings is tried on others, which it has not seen.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from fctlab.studies.advice import table
from fctlab.studies.advice.setting import (
    BUFFERS,
    GBPS,
    INTENDED,
    LOADS,
    RTTS_US,
    SCHEMES,
    WORKLOADS,
    Lab,
)
from fctlab.studies.advice.table import AIMS, DECISIONS, HEADER, WITHIN, Question
from fctlab.studies.framework.lab import claim
from fctlab.studies.framework.runs import Run
from fctlab.studies.framework.study import Advice, Mode, Part, Plan, Study, Table
from fctlab.studies.framework.verdict import Within

SHARE = 0.9


@claim(
    "advice-1",
    f"In settings that were held back the advice is within {WITHIN:.0%} of the best scheme",
    f"in {SHARE:.0%} of them",
)
def holds(lab: Lab) -> Iterator[Part]:
    """The table's advice, tried elsewhere."""
    for each in table.questions():
        measure = functools.partial(_near, lab, each)
        name, paper = f"{each.group}, {each.aim}", f"{SHARE:.0%}"
        cells, expected = table.cells(lab), Within(SHARE)
        yield Part(name, paper, expected, cells, measure, percent=True, pooled=True)


def _near(lab: Lab, asked: Question, *runs: list[Run]) -> float:
    return asked.decided(lab, table.costs(lab, runs, AIMS[asked.aim])).near


CLAIMS = (holds,)


def plan(mode: Mode) -> Plan:
    """The claim, the table and the advice in a mode."""
    lab = Lab(mode)
    answers = functools.cache(lambda results: table.answers(lab, results))
    cells = table.cells(lab)
    shown = Table(
        "decisions",
        "Which scheme, when",
        f"From {len(lab.sampled)} settings. When: what flips the choice, told where it matters by "
        f"a test at 5% over all {DECISIONS} decisions together. Wins in: the share of resamples of "
        "the settings. Not "
        "told apart: by Holm's rule over all schemes, at 5%. Elsewhere: the share of "
        f"{len(lab.held_back)} other settings in which the advice is within {WITHIN:.0%} of the "
        "best scheme there. One seed by another: the same of the scheme that is best in the "
        "setting itself under one seed, tried under another.",
        cells,
        HEADER,
        lambda results: table.rows(answers(results)),
        ("advice-1",),
    )
    return Plan(
        claims=[each.of(lab) for each in CLAIMS],
        tables=[shown],
        advice=Advice(cells, lambda results: table.sentences(answers(results))),
        notes=_notes(lab),
        intended=INTENDED,
    )


def _notes(lab: Lab) -> list[str]:
    scale = lab.scale
    return [
        f"{sum(scale.settings)} settings make the advice and {scale.held_back} others try it: "
        "Latin hypercubes of workload "
        f"({', '.join(WORKLOADS)}), load ({LOADS[0]:g} to {LOADS[1]:g}), rate of a host "
        f"({', '.join(map(str, GBPS))} Gbps, links between switches four times that), base RTT "
        f"({RTTS_US[0]:g} to {RTTS_US[1]:g} us, by ratios) and buffers ({BUFFERS[0]:g} to "
        f"{BUFFERS[1]:g} times 240 packets and two RTTs).",
        "Advice may ask for any of these, for the BDP (the rate times the base RTT, in packets), "
        "and for buffers and the mean size of flows in BDPs.",
        f"{len(SCHEMES)} presets, whose windows and thresholds follow rate, RTT and traffic; but "
        "all start with windows of a BDP and alpha 0, put windows into their host's port, take "
        "one path per flow, and run over DCTCP where they have no transport of their own.",
        "AWAFS learns over a window of the warm-up's length, ADS over ten intervals of a tenth.",
        f"{scale.leaves} x {scale.hosts_per_leaf} hosts and {scale.spines} spines; each host "
        f"sends {scale.host_mb:g} MB in the measured interval, {scale.held_back_mb:g} MB in "
        "settings that are held back, so that there chance counts less.",
        "The winner has the least mean of log(its time / the best scheme's in that setting), as it "
        "is predicted from all settings.",
    ]


STUDY = Study(
    name="advice",
    title="Which scheme, when",
    paper="Mushtaq et al. (ADS), Gao et al. (D-SRTF), Gutierrez et al. (AWAFS), Kogan et al. "
    "(ASCC), Bai et al. (PIAS), Alizadeh et al. (pFabric, DCTCP) and Munir et al. (L2DCT).",
    plan=plan,
)
