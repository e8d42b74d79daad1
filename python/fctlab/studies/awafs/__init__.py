"""AWAFS (Gutierrez et al.): demotion thresholds that follow the flows completed at each port.

Memory and convergence (`adaption`), AWAFS against PIAS with thresholds of another workload
(`comparison`). `setting` says what all of them run on.
"""

from __future__ import annotations

from fctlab.studies.awafs import adaption, comparison
from fctlab.studies.awafs.left_open import LEFT_OPEN
from fctlab.studies.awafs.setting import INTENDED, Lab
from fctlab.studies.framework.lab import Stated
from fctlab.studies.framework.study import Mode, Plan, Study


def _number(claim: Stated[Lab]) -> tuple[bool, int]:
    """The paper's own first."""
    return claim.beyond, int(claim.id.lstrip("awfsx-"))


CLAIMS = sorted((*adaption.CLAIMS, *comparison.CLAIMS), key=_number)


def plan(mode: Mode) -> Plan:
    """Claims, figures and checks in a mode."""
    lab = Lab(mode)
    return Plan(
        claims=[each.of(lab) for each in CLAIMS],
        figures=[*adaption.drawings(lab), *comparison.figures(lab)],
        checks=adaption.checks(lab),
        notes=_notes(lab),
        intended=INTENDED,
    )


def _notes(lab: Lab) -> list[str]:
    scale = lab.scale
    notes = [
        "Transport and ports are those of PIAS's ns-2 experiment, on which the paper builds: "
        "initial window 70 packets, alpha from 0, a fixed RTO of 2 ms, duplicate ACKs ignored, "
        "probes after five timeouts, 240-packet ports, K = 65 packets per port, the same ports in "
        "hosts, spraying.",
        "The paper gives RefPct (0.1, 0.2, 0.3) and initial thresholds (7, 14, 21 KB) for four "
        "queues and compares with eight; their extension to eight (up to 0.7 and 49 KB) is "
        "assumed.",
        "A packet's header says how much its flow has sent: under spraying no spine sees a whole "
        "flow.",
        "PIAS's thresholds are those published for the load. Both published sets demote first "
        "above 745 packets, so PIAS with the thresholds of our solver for data mining stands "
        "beside.",
        "Reductions, and what is said to make no difference, are of the mean over the loads unless "
        "a load is named; each load is shown beside.",
        "A run without timeouts counts as one with half a timeout, so that there is a ratio.",
    ]
    if lab.mode == "full":
        return notes
    return [
        *notes,
        f"Quick: {scale.fabric} instead of 9 x 16 and 4; flows of one second, four updates, "
        f"instead of 100,000; the shift after {scale.shift_s:g} s instead of 35 with "
        f"{scale.shifting}, until {scale.end_s:g} s instead of 65; loads "
        f"{', '.join(map(str, scale.loads))}; 5 seeds instead "
        "of 10 (the paper: 30).",
    ]


STUDY = Study(
    name="awafs",
    title="AWAFS: demotion thresholds that follow the traffic",
    paper="S. A. Gutierrez, J. F. Botero, J. W. Branch: An Adaptable and Agnostic Flow Scheduling "
    "Approach for Data Center Networks. arXiv:2203.00548, 2022.",
    plan=plan,
    left_open=LEFT_OPEN,
)
