"""Arista EOS: the text is that of AVD's templates, to the byte, and leads there and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fctlab.errors import SpecError
from fctlab.export import percent
from fctlab.export.targets import TARGETS
from fctlab.export.types import Form
from tests import exports

EOS = TARGETS["eos"]

RUNNING = """\
! device: leaf1 (DCS-7050X3, EOS-4.31.2F)
!
hostname leaf1
!
qos profile storage
   qos trust dscp
   !
   tx-queue 3
      no priority
      bandwidth percent 30
!
interface Ethernet1/1
   description to spine1
   mtu 9214
   service-profile storage
!
interface Ethernet7
   service-profile storage
!
qos map dscp 26 to traffic-class 3
qos map traffic-class 3 to tx-queue 3
!
end
"""


def drawn(seed: int) -> Form:
    kind = "uc-tx-queue" if seed % 3 == 0 else "tx-queue"
    return replace(exports.forms(EOS, seed)[1], queue_kind=kind)


def structured(form: Form, profile: str) -> dict[str, Any]:
    """The form as AVD's structured configuration."""
    shares = iter(percent.of([weight for _, weight in form.weighted]))
    widths = {each.name: next(shares) for each, _ in form.weighted}
    queues = []
    for each in form.queues:
        queue: dict[str, Any] = {"id": each.queue, "comment": each.name}
        if each.weight is None:
            queue["priority"] = "priority strict"
        else:
            queue |= {"priority": "no priority", "bandwidth_percent": widths[each.name]}
        if each.mark_bytes is not None:
            length = {"units": "bytes", "min": each.mark_bytes, "max": each.mark_bytes}
            queue["random_detect"] = {
                "ecn": {"threshold": {**length, "max_probability": 100, "weight": 0}}
            }
        queues.append(queue)
    key = form.queue_kind.replace("-", "_") + "s"
    codes = [f"{' '.join(map(str, q.dscps))} to traffic-class {q.tc}" for q in form.queues]
    return {
        "qos_profiles": [{"name": profile, "trust": "dscp", key: queues}],
        "ethernet_interfaces": [{"name": port, "service_profile": profile} for port in form.ports],
        "qos": {
            "map": {
                "dscp": codes,
                "traffic_class": [f"{q.tc} to {form.queue_kind} {q.queue}" for q in form.queues],
            }
        },
    }


def expressible(form: Form) -> Form:
    """With thresholds that EOS has."""
    least = [q.mark_bytes and min(q.mark_bytes, 256_000_000) for q in form.queues]
    return replace(
        form,
        queues=tuple(replace(q, mark_bytes=m) for q, m in zip(form.queues, least, strict=True)),
    )


def test_plans_are_what_avd_makes_of_them() -> None:
    pyavd = pytest.importorskip("pyavd")
    for seed in range(exports.PLANS):
        form = expressible(drawn(seed))
        after = EOS.wanted(form, None, False)
        (profile,) = after.profiles
        data = structured(form, profile)
        if seed < exports.READ:
            assert not pyavd.validate_structured_config(data).validation_result.violations
        assert EOS.fresh(form, after) == pyavd.get_device_config(data)


def test_plans_are_read_back() -> None:
    for seed in range(exports.PLANS):
        form = expressible(drawn(seed))
        state = EOS.parse(EOS.fresh(form, EOS.wanted(form, None, False)))
        for each in form.queues:
            found = {state.queues[state.tcs[code]] for code in each.dscps}
            assert found == {f"{form.queue_kind} {each.queue}"}


@pytest.mark.parametrize("in_place", [False, True])
def test_changes_lead_there_and_back(in_place: bool) -> None:
    for seed in range(exports.PLANS):
        before = EOS.parse(RUNNING)
        for one in (drawn(seed), drawn(seed + 10_000)):  # the second over the first
            after = EOS.wanted(expressible(one), before, in_place)
            assert EOS.parse(EOS.render(after)) == after
            assert EOS.apply(before, EOS.change(before, after)) == after
            assert EOS.apply(after, EOS.change(after, before)) == before
            assert EOS.change(after, after) == ""
            before = after


def test_a_running_configuration_is_read() -> None:
    state = EOS.parse(RUNNING)
    assert list(state.profiles) == ["storage"]
    assert state.services == {"Ethernet1/1": "storage", "Ethernet7": "storage"}
    assert (state.tcs, state.queues) == ({26: 3}, {3: "tx-queue 3"})


def test_weights_77_93_1_are_percent() -> None:
    form = drawn(0)
    queues = tuple(
        replace(
            form.queues[0],
            name=f"c{i}",
            queue=i,
            tc=i,
            dscps=(i + 10,),
            weight=weight,
            mark_bytes=None,
        )
        for i, weight in enumerate((77, 93, 1))
    )
    text = EOS.fresh(form, EOS.wanted(replace(form, queues=queues), None, False))
    found = [int(line.split()[-1]) for line in text.splitlines() if "bandwidth percent" in line]
    assert found == [45, 54, 1]


def test_thresholds_out_of_range_are_refused() -> None:
    form = drawn(0)
    large = replace(form, queues=tuple(replace(q, mark_bytes=2**31) for q in form.queues))
    with pytest.raises(SpecError, match="are not in"):
        EOS.wanted(large, None, False)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("qos map dscp 64 to traffic-class 1", r"line 1: '64' is not in \[0, 63\]"),
        ("!\nqos map dscp 1 to traffic-class 8", r"line 2: '8' is not in \[0, 7\]"),
        ("no qos profile none", "there is no qos profile none"),
        ("qos profile a\x1b[2J", "has a letter that no configuration has"),
    ],
)
def test_text_that_a_switch_would_not_take_is_refused(text: str, wrong: str) -> None:
    with pytest.raises(SpecError, match=wrong):
        EOS.parse(text)
