"""What the paper on ADS leaves open; its simulator is ns-2 with pFabric's scripts."""

from __future__ import annotations

from fctlab.studies.ads.setting import ACKS_FIRST
from fctlab.studies.framework.left_open import Choice, LeftOpen, OpenSetting, Tables, put
from fctlab.studies.pias import left_open as pias

PFABRIC = ("pfabric/*",)
"""Shown beside, in pFabric's own setting."""
LONGER = 2.0
"""Factor on how long flows are awaited."""


def _acks_first(scenario: Tables) -> None:
    scheme = scenario["scheme"]
    scheme["tagger"] = ACKS_FIRST.tagger
    scheme["port"] |= ACKS_FIRST.port


def _awaited_longer(scenario: Tables) -> None:
    for path, text in (
        ("traffic.duration", scenario["traffic"]["duration"]),
        ("measure.max_time", scenario["measure"]["max_time"]),
    ):
        put(scenario, path, f"{float(text.removesuffix('ms')) * LONGER:g}ms")


LEFT_OPEN = LeftOpen(
    (
        pias.turns(*PFABRIC),
        OpenSetting(
            "what a full port drops",
            "the lowest priority under SRPT and SJF, of the longest queue under FQ, else the new",
            "The paper does not say; pFabric's ports drop the lowest priority, others the new one.",
            (
                Choice(
                    "ads-evicts",
                    "ADS's ports drop the lowest priority",
                    {"scheme.port.drop": "lowest-priority"},
                    cells=("*/ads*",),
                ),
                Choice(
                    "tail-drop",
                    "SRPT's, SJF's and FQ's ports drop what arrives",
                    {"scheme.port.drop": "tail"},
                    cells=("*/srpt", "*/sjf", "*/fq"),
                    but=PFABRIC,
                ),
            ),
        ),
        pias.host_marks(*PFABRIC, "*/tcp/*", "*/mintcp/*"),
        OpenSetting(
            "first window",
            "14 packets, the BDP",
            "pFabric's scripts have 12.",
            (
                Choice(
                    "window-12",
                    "first window of 12 packets",
                    {"scheme.transport.initial_window": "12pkt"},
                    but=(*PFABRIC, "*-window-*"),
                ),
            ),
        ),
        OpenSetting(
            "largest window",
            "none",
            "pFabric's scripts have 332 packets where ports hold 500 KB.",
            (
                Choice(
                    "largest-window",
                    "windows up to 332 packets",
                    {"scheme.transport.max_window": "332pkt"},
                    but=PFABRIC,
                ),
            ),
        ),
        OpenSetting(
            "least RTO",
            "48 us, three times 16 us",
            '"3 RTT" may count the transmission of a packet and its ACK as well: 57 us.',
            (
                Choice(
                    "rto-57us",
                    "the least RTO is 57 us",
                    {"scheme.transport.min_rto": "57us"},
                    but=(*PFABRIC, "*-rto-*"),
                ),
            ),
        ),
        OpenSetting(
            "size of an ACK",
            "40 bytes",
            "Ethernet has no frame below 64 bytes.",
            (Choice("ack-64b", "an ACK has 64 bytes", {"packet.ack": "64B"}, but=PFABRIC),),
        ),
        OpenSetting(
            "ACKs in a FIFO",
            "wait with the data",
            'Footnote 3, "ACKs are assigned the highest priority", hangs on SJF and SRPT; it may '
            "be meant for all.",
            (
                Choice(
                    "acks-first",
                    "ACKs go first in FIFO as well",
                    change=_acks_first,
                    cells=("*/fifo",),
                    but=PFABRIC,
                ),
            ),
        ),
        OpenSetting(
            "size of a packet",
            "1500 bytes with its header",
            "In ns-2 a segment of 1500 bytes gets its header besides.",
            (Choice("payload-1500b", "1540 bytes", {"packet.payload": "1500B"}, but=PFABRIC),),
        ),
        OpenSetting(
            "starvation rule of SRPT",
            "the earliest packet of the most urgent flow leaves",
            "pFabric's paper has both: the rule is an addition of its section 4.1.",
            (
                Choice(
                    "srpt-starves",
                    "SRPT sends the most urgent packet itself",
                    {
                        "scheme.port.discipline": {
                            "kind": "srpt",
                            "starvation_prevention": False,
                        }
                    },
                    cells=("*/srpt",),
                    but=PFABRIC,
                ),
            ),
        ),
        pias.alpha(*PFABRIC, "*/tcp/*", "*/mintcp/*"),
        OpenSetting(
            "interpolation of imc10",
            "steps",
            "With steps there are as many flows as the paper measured; workloads of pFabric's "
            "scripts are interpolated.",
            (
                Choice(
                    "imc10-linear",
                    "imc10 is interpolated",
                    {"traffic.workload.interpolation": "linear"},
                    cells=("imc10/*", "imc10-*"),
                ),
            ),
        ),
        pias.ends(*PFABRIC),
        OpenSetting(
            "how long unfinished flows are awaited",
            "as long as the mode says",
            "Not stated; what has not finished is a bound.",
            (
                Choice(
                    "awaited-longer",
                    "flows are awaited twice as long",
                    change=_awaited_longer,
                    but=PFABRIC,
                ),
            ),
        ),
        pias.load(),
    ),
    pias.NOT_TRIED,
)
