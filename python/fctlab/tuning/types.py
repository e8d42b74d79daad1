"""Numbers for schemes, and where they are from."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from fctlab.answers import Answer

Scope: TypeAlias = Literal["switch", "port", "global"]
Cuts: TypeAlias = tuple[int, ...]
"""The largest value of each queue but the last."""


class Mapping(Answer, frozen=True, kw_only=True):
    """A static mapping from priorities to queues: what a mapping file holds.

    Attributes:
        fctlab_mapping: version of the format.
        queues: how many values are divided among.
        policy: that divided them, by name or as a table.
        scope: what has thresholds of its own.
        scenario: name of the scenario whose ports saw the values.
        topology: of it, as the resolved scenario has it.
        seed: of it.
        span_s: over which values were seen, in seconds.
        packets: how many had one.
        thresholds: for every port (scope ``"global"``), or by name of the switch, host or port.
    """

    fctlab_mapping: int
    queues: int
    policy: str | dict[str, Any]
    scope: Scope
    scenario: str
    topology: dict[str, Any]
    seed: int
    span_s: float
    packets: int
    thresholds: Cuts | dict[str, Cuts]


class Thresholds(Answer, frozen=True, kw_only=True):
    """Demotion thresholds for a workload at a load.

    Attributes:
        scheme: whose: ``"pias"``.
        workload: as asked for.
        load: of the link, in (0, 1).
        queues: as asked for.
        thresholds: as a scenario takes them: ``"2920B"``.
        empty_queues: how many of the queues would stay empty, and are left out.
        thresholds_bytes: the same in bytes, increasing.
        thresholds_packets: the same in packets of 1460 B.
        objective: mean delay of flows, in mean service times of the link.
    """

    scheme: str
    workload: str | dict[str, Any]
    load: float
    queues: int
    thresholds: tuple[str, ...]
    empty_queues: int
    thresholds_bytes: tuple[int, ...]
    thresholds_packets: tuple[int, ...]
    objective: float
