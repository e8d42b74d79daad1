"""Mushtaq et al.: what is essential in datacenter congestion control, and ADS.

Rate setting {minTCP, TCP, DCTCP} times scheduling {FIFO, FQ, SJF, SRPT} (`factors`), and
approximate deployable SRPT on 2, 4 or 8 priority queues whose mapping from remaining size
to queue is static or follows what each port sees (`emulation`); what the paper leaves open
(`questions`). `setting` says what all of them run on.
"""

from __future__ import annotations

from fctlab.studies.ads import emulation, factors, questions
from fctlab.studies.ads.left_open import LEFT_OPEN
from fctlab.studies.ads.setting import INTENDED, Lab, Scales
from fctlab.studies.framework.runs import Results
from fctlab.studies.framework.study import Check, Mode, Plan, Study

CLAIMS = (
    *factors.CLAIMS,
    *emulation.CLAIMS,
    factors.tail,
    emulation.table_size,
    *questions.CLAIMS,
)


def plan(mode: Mode) -> Plan:
    """Claims, figures and checks in a mode."""
    lab = Lab(mode)
    base = lab.cell("tcp", "srpt")

    def flows(results: Results) -> str:
        found = results.mean(base, lambda run: run.of("all")["flows"])
        share = lab.main.scale.share
        scaled = "" if share == 1 else f", which is {found / share:,.0f} at the paper's scale"
        return f"{found:,.0f} per seed{scaled}"

    return Plan(
        claims=[each.of(lab) for each in CLAIMS],
        figures=[
            factors.figure(lab),
            *(
                emulation.figure(lab, n, w)
                for n, w in ((2, "imc10"), (3, "uniform"), (4, "facebook"))
            ),
            factors.robustness(lab),
            emulation.borrowed_figure(lab),
            emulation.parameters_figure(lab),
            questions.patterns_figure(lab),
            questions.policies_figure(lab),
        ],
        checks=[Check("measured flows, default scenario", "about 44,000", (base,), flows)],
        notes=_notes(mode, lab.scales),
        intended=INTENDED,
    )


def _notes(mode: Mode, scales: Scales) -> list[str]:
    notes = [
        "The transport of section 3's figures is not stated; ads-1, 9, 10 and 12 together fit only "
        "TCP SACK, so the verdicts are for TCP, with DCTCP and minTCP beside.",
        "The drop rule is not stated: under SRPT and SJF a full port drops the packet of the "
        "lowest priority (as pFabric does), under FQ one of the longest queue, else the new one.",
        "imc10 is read as a step distribution: it gives the paper's number of measured flows.",
        "Hosts are as in ns-2, the paper's simulator: a flow puts its whole window into the host's "
        "port (500 KB, same discipline as in switches). Where flows take turns in the host "
        "instead, FIFO costs less: shown beside ads-1 and ads-2.",
        "Facebook is the Hadoop distribution of Roy et al. (2015) cut at 100 MB; uniform is over "
        "1 KB, 0.5, 1, 1.5, 2, 2.5 and 3 MB: the paper does not list its sizes.",
        "The initial window of 14 packets and the minimum RTO of 48 us (3 x 16 us) hold for every "
        "rate setting; ECN marks above 15 packets; DCTCP's alpha starts at 0 and completion times "
        "end with the last ACK, as in ns-2.",
        '"ACKs are assigned the highest priority" is a footnote of SJF and SRPT. So ACKs go first '
        "under them, under ADS and under FQ, and wait with the data in a FIFO, which has no "
        "priorities; FIFO with ACKs first stands beside ads-1, 2, 7 and 12.",
    ]
    main = scales.main
    if mode == "full":
        notes.append(
            "Full: the paper's scale. Only where the paper shows no numbers (ads-8, 15, x1) a run "
            f"ends at {scales.grid.end_ms:g} or {scales.workloads.end_ms:g} ms at the latest, not "
            "1500: minTCP over FIFO and SJF would take a quarter of an hour for each."
        )
    else:
        notes.append(
            f"Quick: {main.leaves} x {main.hosts_per_leaf} hosts and {main.spines} spines (full "
            "bisection as in the paper) instead of 9 x 16 and 4; the measured flows start in "
            f"{main.window_ms:g} ms instead of 100 ({scales.grid.window_ms:g} and "
            f"{scales.workloads.window_ms:g} in ads-8 and ads-x1), after {main.warmup_ms:g} ms "
            f"instead of 50; the end is at {main.end_ms:g} ms instead of 1500 at the latest; "
            "5 seeds instead of 10."
        )
    return notes


STUDY = Study(
    name="ads",
    title="What is essential in datacenter congestion control, and ADS",
    paper="A. Mushtaq, R. Mittal, J. McCauley, M. Alizadeh, S. Ratnasamy, S. Shenker: Datacenter "
    "Congestion Control: Identifying what is essential and making it practical. ACM SIGCOMM "
    "Computer Communication Review (editorial note).",
    plan=plan,
    left_open=LEFT_OPEN,
)
