"""ASCC (Kogan et al.), section VIII: packet level; study bigswitch has sections II to VI.

The paper's comparisons (`claims`) and what each of its rules is worth (`rules`). `setting` says
what all of them run on.
"""

from __future__ import annotations

from fctlab.studies.ascc import claims, rules
from fctlab.studies.ascc.left_open import LEFT_OPEN
from fctlab.studies.ascc.setting import INTENDED, Lab
from fctlab.studies.framework.interval import AFTER, WARMUP
from fctlab.studies.framework.study import Mode, Plan, Study

CLAIMS = (*claims.CLAIMS, *rules.CLAIMS, claims.large_under_ascc)


def plan(mode: Mode) -> Plan:
    """Claims and figures in a mode."""
    lab = Lab(mode)
    return Plan(
        claims=[each.of(lab) for each in CLAIMS],
        figures=[*claims.figures(lab), rules.figure(lab)],
        notes=_notes(lab),
        intended=INTENDED,
    )


def _notes(lab: Lab) -> list[str]:
    scale = lab.scale
    notes = [
        "Theorems 1 to 8 and figures 1 to 3 (ascc-t1 to ascc-t8, ascc-f1 to ascc-f3) are in study "
        "bigswitch: `fctlab study bigswitch`.",
        "Transport and ports are those of PIAS's ns-2 experiment, to which the paper refers: "
        "initial window 70 packets, alpha from 0, a fixed RTO of 2 ms (24 RTTs), duplicate ACKs "
        "ignored, 240-packet ports, K = 65 packets per port, the same ports in hosts, spraying. "
        "ASCC's K is not stated: PIAS's.",
        "PIAS's thresholds are those published for workload and load. SRPT has pFabric's rules "
        "against starvation and for drops, LAS none against starvation.",
        "Load sweeps are at alpha = 1. The load of the alpha sweeps is not stated: "
        f"{' and '.join(map(str, scale.at))}, judged by their mean, each beside.",
        "Equal parts of a flow are its 1460-byte packets; the first is there at the start.",
        "The paper does not say how many flows it ran. Here flows are measured that start in an "
        "interval in which each host starts, on average, "
        f"{', '.join(f'{each.per_host:g} ({name})' for name, each in scale.intervals.items())}; "
        f"a warm-up of {WARMUP:.0%} of the interval comes first, and flows go on arriving until "
        f"these are done, for {AFTER:.0%} of it more at most.",
    ]
    if lab.mode == "full":
        return notes
    return [
        *notes,
        f"Quick: {scale.fabric} instead of 9 x 16 and 4; loads "
        f"{', '.join(map(str, scale.loads))}; alpha {', '.join(f'{a:g}' for a in scale.alphas)}; 5 "
        "seeds instead of 10.",
    ]


STUDY = Study(
    name="ascc",
    title="ASCC: SRPT for flows whose sizes become known",
    paper="K. Kogan et al.: congestion control without prior knowledge of flow sizes (ASCC), "
    "sections VII and VIII.",
    plan=plan,
    left_open=LEFT_OPEN,
)
