"""Kinds of devices: a module each, and a line here."""

from __future__ import annotations

from typing import Any

from fctlab.errors import SpecError
from fctlab.export.targets.base import Target
from fctlab.export.targets.eos import Eos
from fctlab.export.targets.openconfig import OpenConfig
from fctlab.export.targets.sonic import Sonic
from fctlab.export.targets.tc import Tc

TARGETS: dict[str, Target[Any]] = {each.name: each for each in (Sonic(), OpenConfig(), Eos(), Tc())}
HOST = TARGETS["tc"]
"""What sending hosts are told in, whatever the switches are."""


def named(name: str) -> Target[Any]:
    """A kind of device.

    Raises:
        SpecError: there is none of this name.
    """
    if name not in TARGETS:
        raise SpecError("TARGET", f"{name!r:.40} is none of {', '.join(TARGETS)}")
    return TARGETS[name]
