"""What an export is: files, and what to know about them."""

from __future__ import annotations

from msgspec import field

from fctlab.answers import Answer
from fctlab.slo.types import Verdict


class File(Answer, frozen=True, kw_only=True):
    """A file.

    Attributes:
        name: of it.
        text: in it.
        what: what it is for.
    """

    name: str
    text: str
    what: str


class Steps(Answer, frozen=True, kw_only=True):
    """What to do at the devices of a role, in shell commands and sentences.

    Attributes:
        role: the role.
        apply: how to apply it.
        look: how to see that it took.
        back: the way back.
        cannot: what the device cannot express, or does besides.
    """

    role: str
    apply: tuple[str, ...]
    look: tuple[str, ...]
    back: tuple[str, ...]
    cannot: tuple[str, ...]


class Effect(Answer, frozen=True, kw_only=True):
    """An SLI, as planned and as the device has it.

    Attributes:
        cause: what differs from the plan.
        traffic_class: the class.
        sli: name of the SLI.
        attr: what it is of.
        planned: its value with the plan's weights, in its unit.
        written: its value as the device has it.
        target: what the SLO compares it with; may be empty.
        verdict: what becomes of the SLO of the class; ``None`` without one.
        before: what became of it as planned.
    """

    cause: str
    traffic_class: str = field(name="class")
    sli: str
    attr: str
    planned: float
    written: float
    target: str
    verdict: Verdict | None
    before: Verdict | None


class Export(Answer, frozen=True, kw_only=True):
    """A plan, thresholds or a mapping as configuration.

    Attributes:
        target: the kind of device.
        result: what is exported.
        weights: of each class that has one, as found.
        written: the same, as devices are told.
        files: all of them.
        steps: per role, hosts last.
        lost: what of the plan no device here expresses.
        effects: what that and rounding do, as `predict` says; none where nothing is to predict.
    """

    target: str
    result: str
    weights: dict[str, int]
    written: dict[str, int]
    files: tuple[File, ...]
    steps: tuple[Steps, ...]
    lost: tuple[str, ...]
    effects: tuple[Effect, ...]
