"""What AWAFS's paper leaves open; its experiment is PIAS's in ns-2."""

from __future__ import annotations

from fctlab.studies.framework.left_open import Choice, LeftOpen, NotTried, OpenSetting
from fctlab.studies.pias import left_open as pias

LEFT_OPEN = LeftOpen(
    (
        pias.thresholds("*, PIAS-*"),
        pias.host_marks(),
        pias.alpha(),
        pias.turns(),
        pias.connections(),
        pias.windows(),
        pias.echoes(),
        pias.acks(),
        pias.holes(),
        OpenSetting(
            "timer",
            "fixed, 2 ms",
            "PIAS's code has a fixed one, its testbed the kernel's, of 10 ms at least.",
            (
                Choice(
                    "timer-10ms",
                    "the timer is 10 ms",
                    {"scheme.transport.min_rto": "10ms"},
                ),
                Choice(
                    "estimated-timer",
                    "the timer is estimated, and doubles",
                    {"scheme.transport.rto": "estimated", "scheme.transport.rto_backoff": True},
                ),
            ),
        ),
        OpenSetting(
            "first window",
            "70 packets, as PIAS's",
            "Not stated; 10 packets are RFC 6928's.",
            (
                Choice(
                    "window-10",
                    "first window of 10 packets",
                    {"scheme.transport.initial_window": "10pkt"},
                ),
            ),
        ),
        pias.delay(),
        pias.spraying(),
        pias.ends(),
        pias.load(),
    ),
    (
        *pias.NOT_TRIED,
        NotTried("AWAFS's percentiles for eight queues", "swept in awafs-2 and awafs-x1 instead"),
        NotTried(
            "where bytes sent are counted",
            "the header carries them; under spraying no switch sees all of a flow",
        ),
    ),
)
