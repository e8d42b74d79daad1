"""Answers about a fabric as result directories: the answer, its scenario, a picture."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from fctlab.answers import Answer
from fctlab.errors import SpecError
from fctlab.fabric.types import (
    FabricEpoch,
    FabricImport,
    FabricPlan,
    FabricPrediction,
    FabricWhatIf,
    Verification,
)
from fctlab.results import kinds, store

Found = TypeVar("Found", bound=Answer)

KINDS: dict[type[Answer], tuple[kinds.Kind, str]] = {
    FabricPrediction: (kinds.FABRIC_PREDICTION, kinds.FABRIC_PREDICTION_FILE),
    FabricPlan: (kinds.FABRIC_PLAN, kinds.FABRIC_PLAN_FILE),
    FabricWhatIf: (kinds.FABRIC_WHATIF, kinds.FABRIC_WHATIF_FILE),
    Verification: (kinds.FABRIC_VERIFICATION, kinds.FABRIC_VERIFICATION_FILE),
    FabricImport: (kinds.FABRIC_IMPORT, kinds.FABRIC_IMPORT_FILE),
    FabricEpoch: (kinds.FABRIC_EPOCH, kinds.FABRIC_EPOCH_FILE),
}
"""By type of answer, the kind of its directory and the file that has it."""


def writing(
    of: type[Answer], out: Path, *, reads: Iterable[Path] = (), force: bool = False
) -> AbstractContextManager[store.Draft]:
    """A draft of a result directory; see `fctlab.results.store.writing`."""
    return store.writing(out, None, KINDS[of][0], reads=reads, force=force)


def write(found: Answer, scenario: dict[str, Any], folder: Path) -> None:
    """Write an answer and its resolved scenario; plans and imports have their own."""
    store.write_json(folder / KINDS[type(found)][1], found.whole())
    if isinstance(found, FabricPlan | FabricImport):
        scenario = found.scenario
    store.write_json(folder / kinds.SCENARIO, scenario)
    if isinstance(found, FabricPrediction) and found.links:
        from fctlab.fabric import pictures

        pictures.waits(found).savefig(folder / kinds.WAITS)


def read(of: type[Found], directory: Path) -> Found:
    """The answer that a result directory holds.

    Raises:
        SpecError: it is not there, or not what was written.
    """
    file = directory / KINDS[of][1]
    try:
        return msgspec.convert(kinds.read_json(file), of)
    except msgspec.ValidationError as error:
        raise SpecError(str(file), f"is not what fctlab writes: {error}") from None
