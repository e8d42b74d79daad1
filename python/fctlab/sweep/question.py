"""A question to the planner as a job whose answer is a point."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from fctlab.jobs import Told
from fctlab.results.points import Found
from fctlab.slo import planning


def asked(given: Mapping[str, Any], told: Told) -> Found:
    """Ask the planner.

    Args:
        given: ``specification``, resolved; ``ask``, ``"predict"`` or ``"plan"``.
        told: that it is under way.
    """
    question = planning.predict if given["ask"] == "predict" else planning.plan
    start, cpu = time.monotonic(), time.process_time()
    answer = question(given["specification"], told=told).to_dict()
    times = {"wall_s": time.monotonic() - start, "cpu_s": time.process_time() - cpu}
    answer.pop("spec")  # what was asked, with names of this machine's files
    answer["cost"].pop("wall_s")
    return Found(answer, times)
