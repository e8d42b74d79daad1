"""Random plans, and sites for them, for the tests of exports."""

from __future__ import annotations

import os
import random
from typing import Any

from fctlab.export import form, site
from fctlab.export.targets.base import Target
from fctlab.export.types import Advice, Form, Share

PLANS = int(os.environ.get("FCTLAB_EXPORT_PLANS", "100"))
"""Per target; 1,000 take about ten times as long."""
READ = PLANS if PLANS > 100 else 3
"""Of these, how many go through a reader that takes a second each."""


def advice(draw: random.Random, most: int, strict: bool | None = None) -> Advice:
    """Classes with weights, or strict ones."""
    count = draw.randint(1, most)
    if strict is None:
        strict = draw.random() < 0.3
    weights = [
        None if strict else draw.choice((1, 1, 2, draw.randint(1, 100))) for _ in range(count)
    ]
    shares = tuple(Share(f"class-{i}", weight) for i, weight in enumerate(weights))
    return Advice("plan", shares, mark_bytes=draw.choice((None, draw.randint(1000, 2**29 - 1))))


def tables(draw: random.Random, target: Target[Any], found: Advice) -> dict[str, Any]:
    """A SITE.toml for them."""
    limits = target.limits
    free = [i for i in range(min(limits.queues, limits.tcs)) if i not in limits.taken.queues]
    queues = sorted(draw.sample(free, len(found.shares)), reverse=True)
    codes = [i for i in range(64) if i not in (*limits.taken.dscps, *limits.kept)]
    draw.shuffle(codes)
    priorities = draw.sample(range(16), len(found.shares))
    classes = {}
    for share, queue, priority in zip(found.shares, queues, priorities, strict=True):
        dscp = [codes.pop() for _ in range(draw.randint(1, 3))]
        ecn = found.mark_bytes is not None and draw.random() < 0.5
        classes[share.name] = {"queue": queue, "dscp": dscp, "priority": priority, "ecn": ecn}
    written: dict[str, Any] = {"classes": classes}
    if not target.hosts:
        ports = [port(target, i) for i in range(draw.randint(1, 3))]
        written["roles"] = {"leaf": {"ports": ports, "rate": draw.choice(("25Gbps", "100Gbps"))}}
    return written


def port(target: Target[Any], number: int) -> str:
    """The name of a port."""
    return {"sonic": f"Ethernet{4 * number}", "tc": f"eth{number}"}.get(
        target.name, f"Ethernet{number + 1}/1"
    )


def forms(target: Target[Any], seed: int, **more: Any) -> tuple[Advice, Form]:
    """A random plan and its form for a role (hosts: `host` is their table)."""
    draw = random.Random(f"{target.name} {seed}")
    most = min(len(set(range(target.limits.queues)) - set(target.limits.taken.queues)), 15)
    found = advice(draw, more.get("most", most), more.get("strict"))
    written = tables(draw, target, found)
    if "host" in more:
        written["host"] = more["host"]
    return found, form.of(found, site.of(written), target.limits)[-1]
