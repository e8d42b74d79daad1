"""A SITE.toml to begin with: safe defaults, each with what it is."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

from fctlab.errors import SpecError
from fctlab.export import form, results, steps
from fctlab.export.site import check_name
from fctlab.export.targets import named
from fctlab.export.targets.base import Target
from fctlab.export.types import Advice, Share

CODES = (10, 18, 26, 34, 12, 20, 28, 36, 14, 22, 30, 38, 2, 6, 1, 7)
"""Assured forwarding (RFC 2597) first, then code points that no standard uses."""
RATE = "100Gbps"

HEAD = """\
# What `fctlab export {target}` cannot know from {source}.
# Every value is a proposal; look at each line before you export.
"""
ABOUT_ROLES = """
# One output per role: leaf, spine, ... Ports as the device names them."""
ABOUT_TIERS = """
# One output per role: a tier, which has the medians of its switches, or a switch ([roles.leaf-0]).
# Ports as the device names them."""
ABOUT_FABRIC = """
# One output per tier of the fabric, which is the role: its ports as the devices name them (leaf-up
# are those of leaves toward spines). A switch that has ports in two tiers takes both outputs."""
ROLE = """
[roles.{role}]
ports = [{port}]
rate = "{rate}"
"""
HOST = """
# Sending hosts, which are part of every export: packets wait there before any switch sees them.
[host]
ports = ["eth0"]
rate = "{rate}"
# ets (Linux 5.6 and later), prio (strict only), or htb where a kernel has neither:
scheduler = "{scheduler}"
nodrop = false # true: red lets packets pass that are not ECN-capable
"""
TAKEN = """
# What lossless and control traffic uses; nothing of the plan goes there.
[taken]
queues = {queues}
tcs = {tcs}
dscps = {dscps}
"""
MARKING = """
# Length of a queue at which packets are marked, for classes with ecn = true.
{off}[marking]
{off}threshold = "{threshold}"
"""
CLASS = """
[classes.{name}]
{queue}dscp = {dscp} # code points of its packets{known}
priority = {priority} # sk_priority in sending hosts (SO_PRIORITY), 0 to 15
ecn = false # true where all of its packets are ECN-capable; others are dropped at the threshold
"""


def text(target: str, result: Path) -> str:
    """The file for a result.

    Args:
        target: a kind of device.
        result: what was found, see `results`.

    Raises:
        SpecError: there is no such target, or the result cannot be read.
    """
    kind, advice = named(target), results.read(result)
    for share in advice.shares:
        check_name(f"a class of {advice.source}", share.name)
    taken, rate = kind.limits.taken, advice.link or RATE
    parts = [HEAD.format(target=target, source=advice.source.replace("\n", " "))]
    if not kind.hosts:
        about = ABOUT_ROLES if advice.places is None else ABOUT_TIERS
        parts.append(ABOUT_FABRIC if advice.tiers else about)
        for role in _roles(advice):
            own = advice.tiers[role].rate if advice.tiers else rate
            parts.append(ROLE.format(role=role, port=f'"{kind.port}"', rate=own))
            parts.append(kind.role_lines)
    scheduler = "ets" if any(share.weight for share in advice.shares) else "prio"
    if advice.tiers and form.NIC in advice.tiers:
        rate = advice.tiers[form.NIC].rate
    parts.append(HOST.format(rate=rate, scheduler=scheduler))
    if not kind.hosts:
        lists = {key: list(getattr(taken, key)) for key in ("queues", "tcs", "dscps")}
        parts.append(TAKEN.format(**lists))
    threshold = f"{advice.mark_bytes}B" if advice.mark_bytes else "300KB"
    parts.append(MARKING.format(off="" if advice.mark_bytes else "# ", threshold=threshold))
    parts += _classes(advice, kind)
    return "".join(parts)


def _classes(advice: Advice, kind: Target[Any]) -> list[str]:
    limits, hosts = kind.limits, kind.hosts
    taken, common = limits.taken, limits.common
    free = [number for number in range(limits.queues) if number not in (*taken.queues, common)]
    if common not in taken.queues:
        free.append(common)
    strict = not any(share.weight for share in advice.shares)
    # Strict queues are served by number, the highest first.
    numbers = sorted(free[: len(advice.shares)], reverse=strict)
    known = {code for share in advice.shares for code in share.dscps}
    free_codes = [c for c in CODES if c not in known and c not in taken.dscps]
    # Code points are steps of priorities where switches divide these as they like.
    each_has = 1 if advice.places is None else max(1, len(free_codes) // len(advice.shares))
    codes = iter(free_codes)
    parts = []
    for place, share in enumerate(advice.shares):
        queue = ""
        if not hosts:
            number = numbers[place] if place < len(numbers) else None
            queue = f"queue = {number} # and traffic class, unless tc says another\n"
            if number is None:
                queue = (
                    "# queue = # none is left: free one in [taken], or plan with fewer classes\n"
                )
        dscp = list(share.dscps) or list(islice(codes, each_has))
        if not dscp:
            raise SpecError(
                advice.source,
                f"has {len(advice.shares)} classes, more than {len(free_codes)}, for which there "
                "are code points",
            )
        parts.append(
            CLASS.format(
                name=share.name,
                queue=queue,
                dscp=dscp,
                known=_known(advice, share),
                priority=place + 1,
            )
        )
    return parts


def _roles(advice: Advice) -> list[str]:
    """Names of roles to begin with."""
    if advice.tiers:
        return [tier for tier in advice.tiers if tier != form.NIC]
    if advice.places is None:
        return ["leaf"]
    return [tier for tier in steps.tiers(advice.places) if tier != form.HOST] or ["leaf"]


def _known(advice: Advice, share: Share) -> str:
    if advice.places is not None:
        return ", in the order of service; each switch divides all of them as it is told"
    return ", as the plan has them" if share.dscps else "; the plan has none"
