"""Switches that serve strict queues by number, the highest first."""

from __future__ import annotations

from itertools import pairwise

from fctlab.errors import SpecError
from fctlab.export.types import Form


def check(form: Form) -> None:
    """Refuse strict queues whose numbers are not in the order of service.

    Raises:
        SpecError: two classes, with their queues.
    """
    for first, then in pairwise(form.strict):
        if first.queue < then.queue:
            raise SpecError(
                f"classes.{first.name}.queue",
                f"{first.queue} is below {then.queue} of {then.name}; strict queues are served by "
                f"number, the highest first, and {first.name} comes first",
            )
    for each, _ in form.weighted:
        low = [one for one in form.strict if one.queue < each.queue]
        if low:
            raise SpecError(
                f"classes.{each.name}.queue",
                f"{each.queue} has a weight and is above {low[0].queue}, which is strict",
            )
