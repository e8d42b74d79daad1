"""What D-SRTF's paper leaves open."""

from __future__ import annotations

from fctlab.studies.dsrtf.setting import PFABRIC_OWN
from fctlab.studies.framework.left_open import Choice, LeftOpen, NotTried, OpenSetting, Tables
from fctlab.studies.pias import left_open as pias

IDEALS = ("case study *",)
"""Ideal schedulers: their setting is the paper's."""
NOT_DCTCP = (*IDEALS, "*, pFabric*")


def _own_pfabric(scenario: Tables) -> None:
    own = PFABRIC_OWN.at(scenario["traffic"]["load"])
    scenario["scheme"] = {"name": scenario["scheme"]["name"], **own}


LEFT_OPEN = LeftOpen(
    (
        pias.thresholds("*, PIAS-*"),
        pias.marking(*NOT_DCTCP),
        pias.host_marks(*NOT_DCTCP),
        pias.alpha(*NOT_DCTCP, "*, D-SRTF*"),
        OpenSetting(
            "L2DCT's growth",
            "two packets per round trip, as in the code that PIAS published",
            "L2DCT's own paper weighs growth by what a flow has sent.",
            (
                Choice(
                    "l2dct-weighted",
                    "L2DCT's growth is weighted",
                    {"scheme.transport.increase": "weighted"},
                    cells=("*, L2DCT, *",),
                ),
            ),
        ),
        OpenSetting(
            "pFabric's RTO",
            "5 ms, as for every scheme",
            "PIAS gave pFabric 250 us, windows from a BDP on and 140-packet ports.",
            (
                Choice(
                    "pfabric-own",
                    "pFabric in its own setting",
                    change=_own_pfabric,
                    cells=("*, pFabric*",),
                ),
            ),
        ),
        OpenSetting(
            "pFabric's starvation rule",
            "the earliest packet of the most urgent flow leaves",
            "pFabric's paper has both: the rule is an addition of its section 4.1.",
            (
                Choice(
                    "pfabric-starves",
                    "pFabric sends the most urgent packet itself",
                    {
                        "scheme.port.discipline.kind": "srpt",
                        "scheme.port.discipline.starvation_prevention": False,
                    },
                    cells=("*, pFabric*",),
                ),
            ),
        ),
        pias.turns(*IDEALS),
        pias.connections(*IDEALS),
        pias.windows(*IDEALS),
        pias.echoes(*NOT_DCTCP),
        pias.acks(*NOT_DCTCP),
        OpenSetting(
            "largest window",
            "none",
            "PIAS's scripts let a window grow to a packet less than the port holds.",
            (
                Choice(
                    "largest-window",
                    "windows up to 199 packets",
                    {"scheme.transport.max_window": "199pkt"},
                    but=NOT_DCTCP,
                ),
            ),
        ),
        OpenSetting(
            "base RTT",
            "85.2 us with the transmission of a packet and its ACK, as in PIAS",
            "Not stated. K = 65 packets at 10 Gbps is DCTCP's, whose testbed had 100 us.",
            (
                Choice(
                    "rtt-100us",
                    "the base RTT is 100 us",
                    {"topology.base_rtt": {"value": "100us", "includes": "transmission"}},
                    but=(*IDEALS, "fat-tree, *"),
                ),
            ),
        ),
        pias.delay(*IDEALS, "fat-tree, *"),
        OpenSetting(
            "recovery",
            "selective ACKs, and an estimated timer of at least 5 ms",
            "Not stated. PIAS's code ignores duplicate ACKs and has a fixed timer.",
            (
                Choice(
                    "timer-alone",
                    "only a fixed timer of 5 ms finds losses",
                    {
                        "scheme.transport.fast_retransmit": False,
                        "scheme.transport.rto": "fixed",
                        "scheme.transport.rto_backoff": False,
                    },
                    but=NOT_DCTCP,
                ),
            ),
        ),
        pias.ends(*IDEALS),
    ),
    (
        *pias.NOT_TRIED,
        NotTried("D-SRTF's tag by bytes acknowledged", "the engine's tag counts bytes sent"),
    ),
)
