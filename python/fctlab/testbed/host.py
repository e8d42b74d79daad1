"""The program ``fctlab-host``, and what it is told of thresholds that were found."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from fctlab.errors import SpecError
from fctlab.export import results
from fctlab.export.init import CODES

NAME = "fctlab-host"
VARIABLE = "FCTLAB_HOST"
"""Environment variable: where the program is."""
BUILT = Path("target/host/release") / NAME


def program() -> str:
    """Where it is: ``$FCTLAB_HOST``, in ``PATH``, or where ``make host`` puts it.

    Raises:
        SpecError: nowhere.
    """
    found = os.environ.get(VARIABLE) or shutil.which(NAME)
    if found is None and BUILT.exists():
        found = str(BUILT)
    if found is None:
        raise SpecError(NAME, f"cannot be found; make host builds it, {VARIABLE} says where it is")
    return found


def bands(found: Path, device: str, dscp: list[int] | None = None) -> list[str]:
    """Arguments for the bands of thresholds.

    Args:
        found: what ``fctlab thresholds --json`` printed.
        device: such as ``eth0``.
        dscp: code points of the bands, instead of those that ``export --init`` proposes.

    Raises:
        SpecError: it holds no thresholds of bytes sent, or has another number of bands.
    """
    cuts = results.read(found).cuts
    if cuts is None or cuts.unit != "bytes sent":
        raise SpecError(str(found), "holds no thresholds of bytes sent: fctlab thresholds --json")
    codes = dscp or list(CODES[: len(cuts.values) + 1])
    if len(codes) != len(cuts.values) + 1:
        raise SpecError("--dscp", f"has {len(codes)} code points for {len(cuts.values) + 1} bands")
    return [
        *("--device", device),
        *("--thresholds", ",".join(map(str, cuts.values))),
        *("--dscp", ",".join(map(str, codes))),
    ]
