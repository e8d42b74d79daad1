"""Section 5.6: queues, thresholds, known sizes. Claims dsrtf-10 to dsrtf-12 and dsrtf-14."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from fctlab.studies.dsrtf.setting import (
    D_SRTF,
    D_SRTF_IA,
    FCT,
    LONG,
    OWN_SETTING,
    PANELS,
    PFABRIC,
    PFABRIC_OWN,
    SHORT,
    T0_US,
    WITH_QUEUES,
    E,
    Lab,
    Scheme,
    d_srtf,
)
from fctlab.studies.framework import loads
from fctlab.studies.framework.figures import Quantity, bar_figure
from fctlab.studies.framework.judged import shown
from fctlab.studies.framework.lab import beside, claim
from fctlab.studies.framework.runs import Results, Run
from fctlab.studies.framework.study import Figure, Part
from fctlab.studies.framework.verdict import Band, Expectation, Sign

T0S_US = (40.0, 120.0, 360.0)
ES = (2.0, 3.0, 5.0)


def _swept(t0_us: float, e: float) -> Scheme:
    """D-SRTF with other thresholds, or with its own."""
    if (t0_us, e) == (T0_US, E):
        return D_SRTF
    return d_srtf(f"D-SRTF, T0 = {t0_us:g} us, E = {e:g}", t0_us=t0_us, e=e)


def _compared(
    lab: Lab,
    over: Scheme,
    under: Scheme,
    words: str,
    of: Callable[[Run], float],
    expected: Expectation,
    paper: str,
    chosen: tuple[float, ...] | None = None,
) -> tuple[Part, ...]:
    """A scheme over another in the mix."""
    chosen = chosen or lab.scale.deep
    a, b = (lab.loads(s, "mixed", loads=chosen) for s in (over, under))
    name = f"{words}, {over.name} / {lab.scheme(under).name}"
    return loads.across(name, a, b, expected, paper, of=of)


SAME = Band.within(0.03), "almost the same (band 3%)"


@claim(
    "dsrtf-10",
    "Queues: short flows are the same with 2, 4, 8 and 16; 16 are like 8; overall more "
    "are better; for large flows two are better",
    "band 3%; better; better",
)
def queues(lab: Lab) -> Iterator[Part]:
    """Two to sixteen queues."""
    for scheme in WITH_QUEUES.values():
        yield from _compared(lab, scheme, D_SRTF, "short flows", SHORT, *SAME)
    yield from _compared(lab, WITH_QUEUES[16], D_SRTF, "all flows", FCT, *SAME)
    for n in (2, 4):
        worse = Sign(1), "worse than 8"
        yield from _compared(lab, WITH_QUEUES[n], D_SRTF, "all flows", FCT, *worse)
    better = Sign(-1), "better than 8"
    yield from _compared(lab, WITH_QUEUES[2], D_SRTF, "large flows", LONG, *better)


@claim(
    "dsrtf-11",
    "D-SRTF against D-SRTF-IA, which knows sizes: overall; short flows",
    "within 8%; equal (band 3%)",
)
def known_sizes(lab: Lab) -> Iterator[Part]:
    """What knowing sizes is worth."""
    near = Band.within(0.08), "within 8%"
    yield from _compared(lab, D_SRTF, D_SRTF_IA, "all flows", FCT, *near)
    yield from _compared(lab, D_SRTF, D_SRTF_IA, "short flows", SHORT, *SAME)


def _over_pfabric(lab: Lab) -> tuple[Part, ...]:
    """D-SRTF-IA over pFabric as the lab runs it."""
    return _compared(lab, D_SRTF_IA, PFABRIC, "all flows", FCT, Sign(-1), "better")


def _why_pfabric(lab: Lab, results: Results) -> str:
    own = _over_pfabric(lab.read(OWN_SETTING))[0]
    windows = _compared(lab, PFABRIC, PFABRIC_OWN, "all flows", FCT, Sign(-1), "-")[0]
    return (
        f"With pFabric's own windows, buffer and RTO: {shown(own, results)}. With the "
        f"paper's, pFabric is {shown(windows, results)} against its own setting here: "
        "windows that start at ten packets spare long flows losses."
    )


@claim(
    "dsrtf-12",
    "D-SRTF-IA against pFabric, overall average FCT",
    "better",
    why=_why_pfabric,
)
def against_pfabric(lab: Lab) -> Iterator[Part]:
    """As the paper ran pFabric; its own setting beside."""
    yield from _over_pfabric(lab)
    yield from beside(_over_pfabric(lab.read(OWN_SETTING)))


@claim("dsrtf-14", "T0 = 120 us, E = 3 is the best of a sweep", "near the best (3%)")
def sweep(lab: Lab) -> Iterator[Part]:
    """Other thresholds."""
    near = Band(1 / 1.03, math.inf), "none is better (by 3%)"
    for t0 in T0S_US:
        for e in ES:
            if (t0, e) != (T0_US, E):
                scheme, chosen = _swept(t0, e), lab.scale.swept
                yield from _compared(lab, scheme, D_SRTF, "all flows", FCT, *near, chosen=chosen)


CLAIMS = (queues, known_sizes, against_pfabric)


def figures(lab: Lab) -> list[Figure]:
    """The paper's figures 14 to 16, and the sweep over T0 and E."""
    chosen = lab.scale.deep
    eight = {"8 queues": lab.loads(D_SRTF, "mixed", loads=chosen)}
    others = {f"{n} queues": lab.loads(s, "mixed", loads=chosen) for n, s in WITH_QUEUES.items()}
    known = {s.name: lab.loads(s, "mixed", loads=chosen) for s in (D_SRTF_IA, D_SRTF)}
    three = (PFABRIC_OWN, PFABRIC, D_SRTF_IA)
    pfabric = {s.name: lab.loads(s, "mixed", loads=chosen) for s in three}
    load = lab.scale.swept[0]
    sweep = {
        f"T0 = {t0:g} us": {
            f"E = {e:g}": (
                (lab.cell(_swept(t0, e), "mixed", load),),
                FCT,
            )
            for e in ES
        }
        for t0 in T0S_US
    }
    return [
        loads.relative(
            "figure-14",
            "Figure 14: number of queues",
            "The paper's figure 14: D-SRTF with 2 to 16 queues, as shares of the completion times "
            "with 8.",
            ("dsrtf-10",),
            PANELS,
            eight | others,
            "8 queues",
        ),
        loads.relative(
            "figure-15",
            "Figure 15: estimated and known sizes",
            "The paper's figure 15: D-SRTF as shares of D-SRTF-IA's completion times.",
            ("dsrtf-11",),
            PANELS,
            known,
            D_SRTF_IA.name,
        ),
        loads.relative(
            "figure-16",
            "Figure 16: D-SRTF-IA and pFabric",
            "The paper's figure 16, with pFabric as the paper ran it (RTO 5 ms) and in its own "
            "setting.",
            ("dsrtf-12",),
            {"all flows, average": FCT},
            pfabric,
            PFABRIC_OWN.name,
        ),
        bar_figure(
            "thresholds",
            "A sweep over T0 and E",
            f"Overall average completion time of D-SRTF, four workloads mixed at load {load:g}. "
            "The paper found T0 = 120 us with E = 3 best and shows no numbers.",
            ("dsrtf-14",),
            [("", Quantity("average completion time (ms)", 1e3), sweep)],
        ),
    ]
