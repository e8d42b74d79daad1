"""Answers about SLOs as result directories: the answer, and the specification that it is about."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from fctlab import formats
from fctlab.answers import Answer
from fctlab.errors import SpecError
from fctlab.results import kinds, store
from fctlab.slo.types import Plan, Prediction, Provision, WhatIf

Found = TypeVar("Found", bound=Answer)

KINDS: dict[type[Answer], tuple[kinds.Kind, str]] = {
    Prediction: (kinds.PREDICTION, kinds.PREDICTION_FILE),
    Plan: (kinds.PLAN, kinds.PLAN_FILE),
    Provision: (kinds.PROVISION, kinds.PROVISION_FILE),
    WhatIf: (kinds.WHAT_IF, kinds.WHATIF_FILE),
}
"""By type of answer, the kind of its directory and the file that has it."""


def writing(
    of: type[Answer],
    out: Path,
    *,
    reads: Iterable[Path] = (),
    force: bool = False,
) -> AbstractContextManager[store.Draft]:
    """A draft of a result directory; see `fctlab.results.store.writing`.

    Args:
        of: the type of the answer that it will hold.
        out: the directory, made if need be.
        reads: files that finding it reads.
        force: overwrite what would otherwise be refused.
    """
    return store.writing(out, None, KINDS[of][0], reads=reads, force=force)


def write(found: Answer, spec: dict[str, Any], folder: Path) -> None:
    """Write an answer and its resolved specification as part of a result directory.

    That of a plan has the weights that were found.
    """
    store.write_json(folder / KINDS[type(found)][1], found.whole())
    if isinstance(found, Plan):
        pairs = zip(spec["classes"], found.plan.weights, strict=True)
        spec = {**spec, "classes": [{**each, "weight": weight} for each, weight in pairs]}
    store.write_json(folder / kinds.SPECIFICATION, spec)
    if isinstance(found, WhatIf):
        from fctlab.slo import whatif

        table, picture = kinds.WHATIF
        (folder / table).write_text(formats.csv(found.table()))
        whatif.plot(found).savefig(folder / picture)


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
