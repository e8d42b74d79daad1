"""What was found and where it goes, put together: one form per role, and one for hosts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from fctlab.errors import SpecError
from fctlab.export import site as sites
from fctlab.export import steps
from fctlab.export.types import DSCPS, Advice, Form, Queue, Share, Taken

HOST = "host"
"""Name of the role of sending hosts."""
NIC = "nic"
"""What a plan for a fabric calls their ports."""


@dataclass(frozen=True)
class Limits:
    """What a kind of device has.

    Attributes:
        queues: of a port.
        tcs: traffic classes.
        taken: what is taken where a site does not say.
        kept: code points that are never moved, whatever a site says.
        common: traffic class and queue of code points that nobody has named.
    """

    queues: int
    tcs: int
    taken: Taken
    kept: tuple[int, ...] = ()
    common: int = 0

    def sharing(self, form: Form) -> list[str]:
        """Who shares a queue with packets of no class, in a sentence; nothing if nobody does."""
        shared = [each.name for each in form.queues if self.common in (each.queue, each.tc)]
        return [f"Packets of no class share a queue with {name}." for name in shared]


def of(advice: Advice, site: sites.Site, limits: Limits) -> list[Form]:
    """The forms of a site, hosts last.

    Raises:
        SpecError: the site does not fit what was found or what devices have, with the key.
    """
    _check_classes(advice, site)
    if not site.roles and site.host is None:
        raise SpecError("roles", "there is none, and no [host] either: no port to write for")
    taken = _taken(site, limits)
    marks = _mark_bytes(advice, site)
    forms = []
    queues = tuple(
        _queue(place, share, site.classes[share.name], marks)
        for place, share in enumerate(advice.shares)
    )
    _check_codes(queues, taken, limits)
    _unlike("priority", queues, [(each.priority,) for each in queues])
    if site.roles:
        _check_queues(queues, taken, limits, site)
    led = steps_of(advice, site)
    for role, table in site.roles.items():
        rate = sites.rate_bps(f"roles.{role}.rate", table.rate)
        own = led.queues(role, queues) if led else _of_tier(advice, site, role, queues)
        forms.append(Form(role, table.ports, rate, own, taken, table.queue_kind))
    if site.host is not None:
        rate = sites.rate_bps("host.rate", site.host.rate)
        host = site.host
        own = led.queues(HOST, queues) if led and HOST in led.asked else queues
        if advice.tiers and NIC in advice.tiers:
            own = _of_tier(advice, site, NIC, queues)
        made = Form(HOST, host.ports, rate, own, taken)
        forms.append(replace(made, host=host.scheduler, nodrop=host.nodrop))
    return forms


def steps_of(advice: Advice, site: sites.Site) -> steps.Steps | None:
    """Steps of a mapping that has thresholds for each switch; ``None`` of all else.

    Raises:
        SpecError: a role is no switch or tier of it.
    """
    if advice.places is None:
        return None
    hosts = site.host is not None and HOST in steps.tiers(advice.places)
    codes = [code for share in advice.shares for code in site.classes[share.name].dscp or ()]
    return steps.of(advice.places, [*site.roles, *([HOST] if hosts else [])], codes)


def _of_tier(
    advice: Advice, site: sites.Site, role: str, queues: tuple[Queue, ...]
) -> tuple[Queue, ...]:
    """The queues with a tier's weights, and marks at its length where the site names none."""
    if advice.tiers is None:
        return queues
    if role not in advice.tiers:
        known = ", ".join(name for name in advice.tiers if name != NIC)
        raise SpecError(f"roles.{role}", f"is no tier of {advice.source}; it has {known}")
    tier = advice.tiers[role]
    marks = tier.mark_bytes if site.marking is None else None
    return tuple(
        replace(
            each,
            weight=weight,
            mark_bytes=each.mark_bytes if each.mark_bytes is None or marks is None else marks,
        )
        for each, weight in zip(queues, tier.weights, strict=True)
    )


def _check_classes(advice: Advice, site: sites.Site) -> None:
    names = [share.name for share in advice.shares]
    for name in names:
        sites.check_name(f"a class of {advice.source}", name)
        if name not in site.classes:
            raise SpecError(f"classes.{name}", f"is missing; {advice.source} has this class")
    for name in site.classes:
        if name not in names:
            known = ", ".join(names)
            raise SpecError(f"classes.{name}", f"is no class of {advice.source}; it has {known}")


def _taken(site: sites.Site, limits: Limits) -> Taken:
    if site.taken is None:
        return limits.taken
    return Taken(site.taken.queues, site.taken.tcs, site.taken.dscps)


def _mark_bytes(advice: Advice, site: sites.Site) -> int | None:
    if site.marking is None:
        return advice.mark_bytes
    return sites.size_bytes("marking.threshold", site.marking.threshold)


def _queue(place: int, share: Share, asked: sites.Class, marks: int | None) -> Queue:
    path = f"classes.{share.name}"
    if asked.dscp is not None:
        dscps = asked.dscp
        if share.dscps and set(dscps) - set(share.dscps):
            known = ", ".join(map(str, share.dscps))
            raise SpecError(f"{path}.dscp", f"{list(dscps)} is not what the plan has: {known}")
    else:
        dscps = share.dscps
    if not dscps:
        raise SpecError(f"{path}.dscp", "is missing: no code point leads to the class")
    if asked.ecn and marks is None:
        raise SpecError(f"{path}.ecn", "marks at no length; give [marking] threshold")
    number = asked.queue if asked.queue is not None else 0
    return Queue(
        name=share.name,
        queue=number,
        tc=asked.tc if asked.tc is not None else number,
        dscps=tuple(sorted(dscps)),
        priority=asked.priority if asked.priority is not None else place + 1,
        weight=share.weight,
        mark_bytes=marks if asked.ecn else None,
    )


def _check_codes(queues: tuple[Queue, ...], taken: Taken, limits: Limits) -> None:
    _unlike("dscp", queues, [each.dscps for each in queues])
    for each in queues:
        path = f"classes.{each.name}.dscp"
        for code in each.dscps:
            if code not in DSCPS:
                raise SpecError(path, f"{code} is not in [0, 63]")
            if code in taken.dscps:
                raise SpecError(path, f"{code} is taken ([taken] dscps)")
            if code in limits.kept:
                raise SpecError(path, f"{code} is control or voice traffic and stays where it is")


def _check_queues(
    queues: tuple[Queue, ...], taken: Taken, limits: Limits, site: sites.Site
) -> None:
    for each in queues:
        path = f"classes.{each.name}"
        if site.classes[each.name].queue is None:
            free = [str(i) for i in range(limits.queues) if i not in taken.queues]
            raise SpecError(f"{path}.queue", f"is missing; not taken are {', '.join(free)}")
        for key, number, count, used in (
            ("queue", each.queue, limits.queues, taken.queues),
            ("tc", each.tc, limits.tcs, taken.tcs),
        ):
            if number >= count:
                raise SpecError(f"{path}.{key}", f"{number} is not in [0, {count - 1}]")
            if number in used:
                raise SpecError(
                    f"{path}.{key}", f"{number} is taken by lossless or control traffic ([taken])"
                )
    _unlike("queue", queues, [(each.queue,) for each in queues])
    _unlike("tc", queues, [(each.tc,) for each in queues])


def _unlike(key: str, queues: tuple[Queue, ...], values: Iterable[tuple[int, ...]]) -> None:
    """Refuse a number that two classes have."""
    seen: dict[int, str] = {}
    for each, numbers in zip(queues, values, strict=True):
        for number in dict.fromkeys(numbers):
            if number in seen:
                raise SpecError(
                    f"classes.{each.name}.{key}", f"{number} is that of {seen[number]} as well"
                )
            seen[number] = each.name
