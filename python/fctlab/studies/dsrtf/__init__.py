"""D-SRTF (Gao et al.): remaining time from bytes sent and DCTCP's alpha.

Two flows (`cases`), web search and data mining alone (`single`), four workloads at once, a
fat-tree and pFabric (`mixed`), queues, thresholds and known sizes (`deep`). `setting` says what
all of them run on.
"""

from __future__ import annotations

from fctlab.studies.dsrtf import cases, deep, mixed, single
from fctlab.studies.dsrtf.left_open import LEFT_OPEN
from fctlab.studies.dsrtf.setting import CLASSES, D_SRTF, INTENDED, Lab
from fctlab.studies.framework.interval import AFTER, WARMUP
from fctlab.studies.framework.runs import Results
from fctlab.studies.framework.study import Check, Mode, Plan, Study

CLAIMS = (
    *cases.CLAIMS,
    *single.CLAIMS,
    *mixed.CLAIMS,
    *deep.CLAIMS,
    mixed.each_workload,
    deep.sweep,
    single.large_of_data_mining,
)


def plan(mode: Mode) -> Plan:
    """Claims, figures and checks in a mode."""
    lab = Lab(mode)
    return Plan(
        claims=[each.of(lab) for each in CLAIMS],
        figures=[cases.figure(lab), *single.figures(lab), *mixed.figures(lab), *deep.figures(lab)],
        checks=[_flows_of_classes(lab)],
        notes=_notes(lab),
        intended=INTENDED,
    )


# Table 2: flows of each workload among 50,000.
TABLE_2 = {"cache": 26_505, "web search": 14_453, "hadoop": 5_829, "data mining": 3_213}


def _flows_of_classes(lab: Lab) -> Check:
    cell = lab.cell(D_SRTF, "mixed", lab.scale.deep[0])

    def shares(results: Results) -> str:
        counts = {
            name: results.mean(cell, lambda run, name=name: run.of("all", name)["flows"])  # type: ignore[misc]
            for name in CLASSES
        }
        return _shares(counts)

    return Check("flows by workload in the mix (table 2)", _shares(TABLE_2), (cell,), shares)


def _shares(counts: dict[str, int] | dict[str, float]) -> str:
    total = sum(counts.values())
    return ", ".join(f"{name} {count / total:.1%}" for name, count in counts.items())


def _notes(lab: Lab) -> list[str]:
    scale = lab.scale
    notes = [
        "The base RTT is not stated; 85.2 us, as in PIAS, is assumed, including the transmission "
        "of a full packet and its ACK. As there, a host takes 20 us on the way out and in, so that "
        "flows inside a rack have a base RTT of 82.6 us; the fat-tree's links have the same "
        "delay, its base RTT is 87.8 us. Completion times end with the last ACK, as in ns-2.",
        "Hosts are as in ns-2, the paper's simulator: a flow puts its whole window into the "
        "host's port, which is like a switch's (200 packets, K = 65).",
        "DCTCP's and L2DCT's alpha start at 0 under every scheme, so that schemes differ in their "
        "scheduling only; D-SRTF needs 0: with 1, RFC 8257's value, a new flow has no capacity.",
        "Losses are found by selective ACKs and by a timer estimated from the RTT, of 5 ms at "
        "least and at first; the paper states only the latter.",
        "L2DCT grows by the law of the ns-2 code that PIAS published: two packets per round trip "
        "for every flow, only the decrease weighted. The paper thanks that code's author; that it "
        "ran this L2DCT is an inference. L2DCT with its own paper's weighted growth stands beside.",
        "D-SRTF-IA takes the flow's size less the bytes sent (section 5.6.2).",
        "PIAS's thresholds are those published for the load; below load 0.5, those of load 0.5.",
        "What the paper says of all loads at once is judged by the geometric mean over the loads; "
        "each load is shown beside.",
        "pFabric was given an RTO of 5 ms like all schemes. Its own setting, beside, is PIAS's for "
        "this RTT: 140-packet ports, windows from a BDP to 139 packets, RTO 250 us.",
        "Load counts payload bytes (equation 4). Flows are measured that start in an interval in "
        "which each host starts, on average, "
        f"{', '.join(f'{each.per_host:g} ({name})' for name, each in scale.intervals.items())}; "
        f"a warm-up of {WARMUP:.0%} of the interval comes first, and flows go on arriving until "
        f"these are done, for {AFTER:.0%} of it more at most. The paper says 50,000 flows, 347 "
        "of each host.",
    ]
    if lab.mode == "full":
        k = scale.fat_tree_k
        return [*notes, f"The fat-tree's size is not stated: {k}-port switches, {k**3 // 4} hosts."]
    return [
        *notes,
        f"Quick: {scale.leaves} leaves x {scale.hosts_per_leaf} hosts and {scale.spines} spines "
        f"instead of 12 x 12 and 12, a fat-tree of {scale.fat_tree_k}-port switches; "
        f"loads {', '.join(map(str, scale.loads))}; 5 seeds instead of 10.",
    ]


STUDY = Study(
    name="dsrtf",
    title="D-SRTF: shortest remaining time first without knowing sizes",
    paper="C. Gao, V. C. S. Lee, K. Li: D-SRTF: Distributed Shortest Remaining Time First "
    "Scheduling for Data Center Networks. IEEE Transactions on Cloud Computing 9(2), 2021.",
    plan=plan,
    left_open=LEFT_OPEN,
)
