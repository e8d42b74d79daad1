"""Windows of packets while an SLO is open, and what of the fluid's error withholds advice."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from fctlab import fabric
from fctlab.errors import SpecError
from fctlab.fabric import planning
from fctlab.fabric.types import ClassFound, Verification
from tests.test_fabric import spec

pytestmark = pytest.mark.filterwarnings("ignore::fctlab.SpecWarning")


def bounded(*bounds: float) -> dict[str, Any]:
    """The small fabric with other thresholds."""
    tables = spec()
    for each, bound in zip(tables["traffic"]["classes"], bounds, strict=True):
        each["slo"] = f"tail < {bound:.6g}"
    return tables


@pytest.fixture(scope="module")
def once() -> Verification:
    """One window of packets."""
    return fabric.verify(bounded(20, 40), count=1, most_windows=1, flows=6000)


def test_packets_look_longer_while_an_slo_is_open(once: Verification) -> None:
    assert once.verdict == "met" and len(once.windows) == 1
    tables = bounded(once.classes[0].slis[0].value, 40)
    found = [fabric.verify(tables, count=1, most_windows=most, flows=6000) for most in (1, 2, 3)]
    assert [len(each.windows) for each in found] == [1, 2, 2]
    assert {each.verdict for each in found} == {"undecided"}
    # What is decided by the first look has no other.
    assert len(fabric.verify(bounded(20, 40), count=1, most_windows=8, flows=6000).windows) == 1
    with pytest.raises(SpecError, match="most_windows: 0 is not at least 1"):
        fabric.verify(spec(), most_windows=0)


def said(classes: tuple[ClassFound, ...], factor: float) -> tuple[ClassFound, ...]:
    """What a fluid says that is off by a factor."""
    first, *rest = classes
    slis = tuple(structs.replace(sli, value=factor * sli.value) for sli in first.slis)
    return (structs.replace(first, slis=slis), *rest)


def test_what_the_fluid_promised_too_much_withholds_advice(once: Verification) -> None:
    assert planning._apart(said(once.classes, 1.0), once.classes) == 0
    # Better than it says: what it says holds all the more.
    assert planning._apart(said(once.classes, 1.5), once.classes) == 0
    worse = planning._apart(said(once.classes, 0.5), once.classes)
    assert 0.3 < worse <= 0.5
    advice, why = planning._advice(once, worse, 0.1)
    assert not advice and f"packets are {worse:.0%} worse than the fluid says" in why
    assert planning._advice(once, 0.0, 0.1)[0]
    opened = structs.replace(once, verdict="undecided")
    assert planning._advice(opened, 0.0, 0.1) == (
        False,
        "packets leave it undecided, windows: 1; give more (--most-windows)",
    )
