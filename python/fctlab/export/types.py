"""The form between what was found and what a device is told: queues, maps, schedulers, markers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

DSCPS = range(64)
"""RFC 2474, section 3: six bits."""
MTU_BYTES = 1514
"""An Ethernet frame without its checksum, as Linux counts it."""

Unit = Literal["bytes sent", "priority"]


@dataclass(frozen=True)
class Share:
    """A class as it was found.

    Attributes:
        name: the class.
        weight: its share among those that have one; ``None`` if it is served strictly.
        dscps: code points that its packets are known to have; may be empty.
    """

    name: str
    weight: int | None
    dscps: tuple[int, ...] = ()


@dataclass(frozen=True)
class Cuts:
    """Where packets pass from one queue to the next.

    Attributes:
        unit: what is compared.
        values: the largest value of each queue but the last, ascending.
    """

    unit: Unit
    values: tuple[int, ...]


@dataclass(frozen=True)
class Tier:
    """What the ports of a tier of a fabric are told.

    Attributes:
        weights: of each class.
        mark_bytes: where its queues mark.
        rate: of its ports, as a specification writes it.
    """

    weights: tuple[int, ...]
    mark_bytes: int | None
    rate: str


@dataclass(frozen=True)
class Advice:
    """What was found.

    Attributes:
        source: the file or directory, for messages.
        shares: the classes, those that are served strictly first, in the order of service.
        spec: the specification that weights were found for; ``None`` of thresholds and mappings.
        cuts: of thresholds and mappings that are for all.
        places: of a mapping with thresholds for each switch, these: by its name.
        mark_bytes: where queues mark, as the specification says; ``None`` where it does not.
        link: rate of the link as the specification writes it.
        tiers: of a plan for a whole fabric, by what a tier's ports are called; roles are tiers.
    """

    source: str
    shares: tuple[Share, ...]
    spec: dict[str, Any] | None = None
    cuts: Cuts | None = None
    places: dict[str, tuple[int, ...]] | None = None
    mark_bytes: int | None = None
    link: str | None = None
    tiers: dict[str, Tier] | None = None


@dataclass(frozen=True)
class Queue:
    """A queue of a port and who is in it.

    Attributes:
        name: the class.
        queue: number of the queue at a switch.
        tc: traffic class that leads to it.
        dscps: code points that lead to the traffic class.
        priority: ``sk_priority`` of its packets in a sending host (socket option SO_PRIORITY).
        weight: share among weighted queues; ``None`` if it is served strictly.
        mark_bytes: length at which packets are marked; ``None`` if it does not mark.
    """

    name: str
    queue: int
    tc: int
    dscps: tuple[int, ...]
    priority: int
    weight: int | None
    mark_bytes: int | None = None


@dataclass(frozen=True)
class Taken:
    """What somebody else uses: lossless and control traffic.

    Attributes:
        queues: numbers of queues.
        tcs: traffic classes.
        dscps: code points.
    """

    queues: tuple[int, ...] = ()
    tcs: tuple[int, ...] = ()
    dscps: tuple[int, ...] = ()


@dataclass(frozen=True)
class Form:
    """What the ports of one role are told.

    Attributes:
        role: such as ``leaf``.
        ports: of each device of the role.
        rate_bps: of the ports, in bits per second.
        queues: strict ones first, in the order in which they are served, then weighted ones.
        taken: what others use.
        queue_kind: what EOS calls the queues, ``tx-queue`` or ``uc-tx-queue``.
        host: kind of scheduler of a sending host; empty for switches.
        nodrop: whether a host's marker lets packets pass that cannot be marked.
    """

    role: str
    ports: tuple[str, ...]
    rate_bps: float
    queues: tuple[Queue, ...]
    taken: Taken = Taken()
    queue_kind: str = "tx-queue"
    host: str = ""
    nodrop: bool = False

    @property
    def strict(self) -> tuple[Queue, ...]:
        """Queues that are served in order, the first one first."""
        return tuple(each for each in self.queues if each.weight is None)

    @property
    def weighted(self) -> tuple[tuple[Queue, int], ...]:
        """Queues that share what strict ones leave, with their weights."""
        return tuple((each, each.weight) for each in self.queues if each.weight is not None)
