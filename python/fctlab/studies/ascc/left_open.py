"""What ASCC's paper leaves open; it refers to PIAS's ns-2 experiment for transport and ports."""

from __future__ import annotations

from fctlab.studies.framework.left_open import Choice, LeftOpen, OpenSetting
from fctlab.studies.pias import left_open as pias

ASCC = "*, ASCC*"
EXACT = ("*, ASCC, *", "*, SRPT, *")
"""Schemes whose ports have a rule against starvation."""

LEFT_OPEN = LeftOpen(
    (
        pias.thresholds("*, PIAS, *"),
        pias.host_marks(),
        OpenSetting(
            "ASCC's marking threshold",
            "65 packets, as PIAS's",
            "The paper marks by departures and gives no K; a base RTT's worth is 71 packets, and "
            "DCTCP's guideline a seventh of it at least.",
            (
                Choice(
                    "k-20",
                    "ASCC marks above 20 packets",
                    {"scheme.port.ecn_threshold": "20pkt"},
                    cells=(ASCC,),
                ),
            ),
        ),
        OpenSetting(
            "when ASCC marks",
            "by departures",
            "Section VII can be read so that arrivals count, as in every DCTCP switch.",
            (
                Choice(
                    "marks-at-enqueue",
                    "ASCC marks what arrives",
                    {"scheme.port.ecn_at": "enqueue"},
                    cells=(ASCC,),
                ),
            ),
        ),
        OpenSetting(
            "starvation rule",
            "the earliest packet of the most urgent flow leaves, under SRPT and ASCC",
            "pFabric's rule; the paper does not say.",
            (
                Choice(
                    "starving",
                    "the most urgent packet itself leaves",
                    {
                        "scheme.port.discipline.kind": "srpt",
                        "scheme.port.discipline.starvation_prevention": False,
                    },
                    cells=("*, SRPT, *",),
                ),
                Choice(
                    "ascc-starving",
                    "under ASCC the most urgent packet itself leaves",
                    {
                        "scheme.port.discipline.kind": "ascc",
                        "scheme.port.discipline.starvation_prevention": False,
                    },
                    cells=("*, ASCC, *",),
                ),
            ),
        ),
        pias.alpha(),
        OpenSetting(
            "recovery",
            "duplicate ACKs are ignored, a fixed timer of 2 ms",
            'The paper names "rtomin" of 24 RTTs: a least timeout may be meant, above an estimate.',
            (
                Choice(
                    "estimated-timer",
                    "the timer is estimated, and doubles",
                    {"scheme.transport.rto": "estimated", "scheme.transport.rto_backoff": True},
                ),
                Choice(
                    "fast-retransmit",
                    "selective ACKs find losses",
                    {"scheme.transport.fast_retransmit": True},
                ),
            ),
        ),
        pias.windows(),
        pias.connections(),
        pias.echoes(ASCC),
        pias.acks(),
        pias.turns(ASCC),
        pias.delay(),
        pias.spraying(),
        OpenSetting(
            "first window",
            "70 packets, as PIAS's",
            "The paper does not say; 10 packets are RFC 6928's.",
            (
                Choice(
                    "window-10",
                    "first window of 10 packets",
                    {"scheme.transport.initial_window": "10pkt"},
                ),
            ),
        ),
        pias.ends(),
        pias.load(),
    ),
    pias.NOT_TRIED,
)
