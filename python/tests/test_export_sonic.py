"""SONiC: tables and patches, against both layers of rules and a config_db as it comes."""

from __future__ import annotations

import copy
import json
import random
from dataclasses import replace
from typing import Any

import jsonpatch
import pytest

from fctlab.errors import SpecError
from fctlab.export.targets import TARGETS, sonic_rules
from fctlab.export.types import Form
from tests import exports

SONIC = TARGETS["sonic"]


def config(ports: int = 4) -> dict[str, Any]:
    """What a switch has from its template."""
    names = [f"Ethernet{4 * i}" for i in range(ports)]
    codes = {str(i): "1" for i in range(64)} | {"3": "3", "4": "4", "46": "5", "48": "6", "8": "0"}
    maps = {"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE", "pfc_enable": "3,4"}
    profiles = ["scheduler.0"] * 3 + ["scheduler.1"] * 2 + ["scheduler.0"] * 2
    queues = {
        f"{name}|{i}": {"scheduler": profile}
        | ({"wred_profile": "AZURE_LOSSLESS"} if i in (3, 4) else {})
        for name in names
        for i, profile in enumerate(profiles)
    }
    wred = {"ecn": "ecn_all"}
    for colour in sonic_rules.COLOURS:
        wred |= {f"{colour}_min_threshold": "250000", f"{colour}_max_threshold": "2097152"}
    return {
        "DEVICE_METADATA": {"localhost": {"hwsku": "Force10-S6000", "type": "LeafRouter"}},
        "PORT": {name: {"lanes": "1,2,3,4", "speed": "100000"} for name in names},
        "DSCP_TO_TC_MAP": {"AZURE": codes},
        "TC_TO_QUEUE_MAP": {"AZURE": {str(i): str(i) for i in range(8)}},
        "SCHEDULER": {f"scheduler.{i}": {"type": "DWRR", "weight": str(14 + i)} for i in (0, 1)},
        "WRED_PROFILE": {"AZURE_LOSSLESS": wred},
        "QUEUE": queues,
        "PORT_QOS_MAP": {"global": {"dscp_to_tc_map": "AZURE"}}
        | {name: dict(maps) for name in names},
    }


def drawn(seed: int) -> Form:
    return exports.forms(SONIC, seed)[1]


def read_back(form: Form, state: dict[str, Any]) -> None:
    """The state leads packets where the form says, at every port."""
    for port in form.ports:
        bound = state["PORT_QOS_MAP"][port]
        codes = state["DSCP_TO_TC_MAP"][bound["dscp_to_tc_map"]]
        queues = state["TC_TO_QUEUE_MAP"][bound["tc_to_queue_map"]]
        assert (codes["48"], codes["46"], codes["3"], codes["4"]) == ("6", "5", "3", "4")
        for each in form.queues:
            assert {queues[codes[str(code)]] for code in each.dscps} == {str(each.queue)}
            entry = state["QUEUE"][f"{port}|{each.queue}"]
            profile = state["SCHEDULER"][entry["scheduler"]]
            if each.weight is None:
                assert profile == {"type": "STRICT"}
            else:
                assert profile == {"type": "DWRR", "weight": str(each.weight)}
            assert ("wred_profile" in entry) == (each.mark_bytes is not None)
            if each.mark_bytes is not None:
                wred = state["WRED_PROFILE"][entry["wred_profile"]]
                ends = {
                    wred[f"{c}_{e}_threshold"] for c in sonic_rules.COLOURS for e in ("min", "max")
                }
                assert ends == {str(each.mark_bytes)}
                assert wred["ecn"] == "ecn_all"


@pytest.mark.parametrize("in_place", [False, True])
def test_plans_are_read_back(in_place: bool) -> None:
    for seed in range(exports.PLANS):
        form = drawn(seed)
        text = SONIC.fresh(form, SONIC.wanted(form, None, in_place))
        tables = json.loads(text)
        sonic_rules.check(tables)
        read_back(form, tables)


@pytest.mark.parametrize("in_place", [False, True])
def test_patches_lead_there_and_back(in_place: bool) -> None:
    for seed in range(exports.PLANS):
        before = config()
        for one in (drawn(seed), drawn(seed + 10_000)):  # the second over the first
            after = SONIC.wanted(one, before, in_place)
            patch = SONIC.change(before, after)
            assert SONIC.apply(before, patch) == after
            assert SONIC.apply(after, SONIC.change(after, before)) == before
            assert SONIC.change(after, after) == ""
            read_back(one, after)
            before = after


def joined(draw: random.Random) -> dict[str, Any]:
    """The same switch with keys of several queues and ports, as templates write them."""
    found = config()
    ports = list(found["PORT"])
    some = draw.sample(ports, 2)
    found["QUEUE"] = {}
    for names in (some, *([port] for port in ports if port not in some)):
        for first, last, number in ((0, 2, 0), (3, 4, 1), (5, 6, 0)):
            key = f"{','.join(names)}|{first}-{last}"
            found["QUEUE"][key] = {"scheduler": f"scheduler.{number}"}
    maps = {"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE", "pfc_enable": "3,4"}
    found["PORT_QOS_MAP"] = {",".join(ports): maps}
    return found


@pytest.mark.parametrize("in_place", [False, True])
def test_keys_of_several_queues_and_ports_are_taken_apart(in_place: bool) -> None:
    for seed in range(exports.PLANS):
        before, form = joined(random.Random(seed)), drawn(seed)
        after = SONIC.wanted(form, before, in_place)
        read_back(form, after)
        for one, other in ((before, after), (after, before)):
            patch = SONIC.change(one, other)
            assert SONIC.apply(one, patch) == other
            state = copy.deepcopy(one)
            for operation in json.loads(patch) if seed < 10 else ():
                state = jsonpatch.apply_patch(state, [operation], in_place=True)
                assert all(state.values()), "no table is empty meanwhile"
        for port in before["PORT"]:
            assert after["PORT_QOS_MAP"][port]["pfc_enable"] == "3,4"
        assert _served(after) == _served(before) | {
            (port, each.queue): after["QUEUE"][f"{port}|{each.queue}"]
            for port in form.ports
            for each in form.queues
        }
        assert any("are taken apart" in line for line in SONIC.cannot(form, before))
        assert not any("are taken apart" in line for line in SONIC.cannot(form, after))


def _served(state: dict[str, Any]) -> dict[tuple[str, int], Any]:
    """The entry of every queue of every port."""
    found: dict[tuple[str, int], Any] = {}
    for key, entry in state["QUEUE"].items():
        ports, _, index = key.partition("|")
        first, last = sonic_rules.index_range(index)
        for port in ports.split(","):
            for queue in range(first, last + 1):
                assert (port, queue) not in found, "two entries of one queue"
                found[port, queue] = entry
    return found


def test_no_step_of_a_patch_points_to_nothing() -> None:
    before = config()
    for seed in range(20):
        after = SONIC.wanted(drawn(seed), before, False)
        state = before
        for operation in json.loads(SONIC.change(before, after) or "[]"):
            state = jsonpatch.apply_patch(state, [operation])
            assert all(state.values()), "config apply-patch refuses empty tables"
            for binding, leaves in sonic_rules.REFERENCES.items():
                for entry in state[binding].values():
                    for leaf, table in leaves.items():
                        assert leaf not in entry or entry[leaf] in state[table]
        before = after


def test_new_weights_rebind_and_in_place_replaces() -> None:
    form = replace(drawn(0), ports=("Ethernet0",))
    form = replace(
        form, queues=tuple(replace(q, weight=7, mark_bytes=None) for q in form.queues[:1])
    )
    other = replace(form, queues=(replace(form.queues[0], weight=9),))
    for in_place, steps in ((False, ["add", "replace", "remove"]), (True, ["replace"])):
        before = SONIC.wanted(form, config(), in_place)
        patch = json.loads(SONIC.change(before, SONIC.wanted(other, before, in_place)))
        assert [each["op"] for each in patch] == steps
    before = SONIC.wanted(form, config(), False)
    paths = [
        each["path"]
        for each in json.loads(SONIC.change(before, SONIC.wanted(other, before, False)))
    ]
    queue = f"/QUEUE/Ethernet0|{form.queues[0].queue}/scheduler"
    assert paths == ["/SCHEDULER/fctlab-dwrr-9", queue, "/SCHEDULER/fctlab-dwrr-7"]


def test_what_an_export_does_not_own_stays() -> None:
    form, before = drawn(3), config()
    after = SONIC.wanted(form, before, False)
    for table in before:
        if table not in ("QUEUE", "PORT_QOS_MAP"):
            assert all(after[table][name] == entry for name, entry in before[table].items())
    for port in before["PORT"]:
        assert after["PORT_QOS_MAP"][port]["pfc_enable"] == "3,4"
        assert after["QUEUE"][f"{port}|3"] == before["QUEUE"][f"{port}|3"]


WRED = SONIC.wanted(
    replace(drawn(0), queues=tuple(replace(q, mark_bytes=30_000) for q in drawn(0).queues)),
    None,
    False,
)["WRED_PROFILE"]["fctlab-ecn-30000"]


@pytest.mark.parametrize(
    ("tables", "wrong"),
    [
        ({"ACL_TABLE": {}}, "ACL_TABLE: is no table"),
        ({"SCHEDULER": {"a;b": {"type": "DWRR", "weight": "1"}}}, "no name of 1 to 32"),
        ({"SCHEDULER": {"a" * 300: {"type": "DWRR", "weight": "1"}}}, "no name of 1 to 32"),
        ({"SCHEDULER": {"a": {"type": "DWRR", "weight": "101"}}}, r"not in \[1, 100\]"),
        ({"SCHEDULER": {"a": {"type": "DWRR"}}}, "has no weight"),
        ({"SCHEDULER": {"a": {"type": "SP", "weight": "1"}}}, "none of DWRR, WRR, STRICT"),
        ({"SCHEDULER": {"a": {"type": "STRICT", "priority": "1"}}}, "priority does nothing"),
        ({"DSCP_TO_TC_MAP": {"a": {"64": "1"}}}, r"no DSCP in \[0, 63\]"),
        ({"DSCP_TO_TC_MAP": {"a": {"1": "16"}}}, r"no TC in \[0, 15\]"),
        ({"TC_TO_QUEUE_MAP": {"a": {"1": "8"}}}, r"queue 8 is not in \[0, 7\]"),
        ({"TC_TO_QUEUE_MAP": {"a": {"1": "10"}}}, "no index of a queue"),
        ({"QUEUE": {"Ethernet0|8": {}}}, r"queue 8 is not in \[0, 7\]"),
        ({"QUEUE": {"Ethernet0|4-3": {}}}, "needs a < b"),
        ({"QUEUE": {"Ethernet0|3-3": {}}}, "needs a < b"),
        ({"QUEUE": {"Ethernet0|0": {"scheduler": "none"}}}, "'none' is not in SCHEDULER"),
        ({"WRED_PROFILE": {"a": {**WRED, "green_max_threshold": "1"}}}, "below the minimum"),
        ({"WRED_PROFILE": {"a": {**WRED, "green_max_threshold": str(2**31)}}}, r"not below 2\^31"),
        ({"WRED_PROFILE": {"a": {**WRED, "ecn": "ecn_blue"}}}, "none of ecn_none"),
        (
            {"WRED_PROFILE": {"a": {**WRED, "ecn_green_min_threshold": "1"}}},
            "whole profile refused",
        ),
        (
            {"WRED_PROFILE": {"a": {k: v for k, v in WRED.items() if k != "red_min_threshold"}}},
            "has no red_min_threshold",
        ),
    ],
)
def test_rules(tables: dict[str, Any], wrong: str) -> None:
    with pytest.raises(SpecError, match=wrong):
        sonic_rules.check(tables)


def test_what_does_not_fit_the_existing_file_is_refused() -> None:
    form = replace(drawn(0), ports=("Ethernet0",))
    first = form.queues[0]
    cases: list[tuple[dict[str, Any], str]] = [
        ({"PORT": {}}, "Ethernet0 is no port of the existing file"),
        (
            {"PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": f"{first.tc}"}}},
            "is lossless at Ethernet0",
        ),
        (
            {"DSCP_TO_TC_MAP": {"AZURE": {str(first.dscps[0]): "3"}}},
            "of traffic class 3 at Ethernet0",
        ),
        ({"QUEUE": {"Ethernet0|0-7": {}, "Ethernet0|2": {}}}, "has another entry of its own"),
        ({"QUEUE": {"Ethernet0|7-0": {}}}, "needs a < b"),
        ({"DSCP_TO_TC_MAP": {}}, "'AZURE' is not in DSCP_TO_TC_MAP"),
        (
            {"PORT_QOS_MAP": {"Ethernet0": {"dscp_to_tc_map": "[DSCP_TO_TC_MAP|AZURE]"}}},
            "how old releases write references",
        ),
        ({"DEVICE_METADATA": {"localhost": {"switch_type": "voq"}}}, "virtual output queues"),
    ]
    for change, wrong in cases:
        with pytest.raises(SpecError, match=wrong):
            SONIC.wanted(form, config() | change, False)
    with pytest.raises(SpecError, match="has to be the whole config"):
        SONIC.wanted(form, {}, False)


def test_who_shares_a_queue_is_told() -> None:
    form = drawn(0)
    low = replace(form, queues=(replace(form.queues[0], name="web", queue=0, tc=0, dscps=(10,)),))
    told = " ".join(SONIC.cannot(low, None))
    assert f"Code points of no class share queues at {form.ports[0]}: 8 with web." in told
    own = replace(low, queues=(replace(low.queues[0], dscps=(8, 10)),))
    assert "share queues" not in " ".join(SONIC.cannot(own, config()))


def test_strict_queues_are_served_by_number() -> None:
    _, form = exports.forms(SONIC, 5, strict=True)
    assert len(form.queues) > 1
    SONIC.wanted(form, None, False)
    turned = [replace(q, queue=number) for q, number in zip(form.queues, (0, 7), strict=False)]
    with pytest.raises(SpecError, match="strict queues are served by number"):
        SONIC.wanted(replace(form, queues=tuple(turned)), None, False)


def test_thresholds_beyond_31_bits_are_refused() -> None:
    form = drawn(0)
    large = replace(form, queues=tuple(replace(q, mark_bytes=2**31) for q in form.queues))
    with pytest.raises(SpecError, match=r"not below 2\^31"):
        SONIC.wanted(large, None, False)


@pytest.mark.parametrize(
    "text",
    [
        '{"DEVICE_METADATA": 3}',
        '{"DEVICE_METADATA": {"localhost": 3}}',
        "",
        "[]",
        "{",
        '{"QUEUE": 3}',
        '{"QUEUE": {"a": {"b": 3}}}',
        "[" * 9999,
    ],
)
def test_a_file_that_is_no_config_is_refused(text: str) -> None:
    with pytest.raises(SpecError):
        SONIC.parse(text)


def test_random_hostile_tables_never_pass() -> None:
    draw = random.Random(1)
    for _ in range(500):
        tables = json.loads(SONIC.fresh(drawn(1), SONIC.wanted(drawn(1), None, False)))
        table = draw.choice(list(tables))
        name = draw.choice(list(tables[table]))
        leaf = draw.choice(list(tables[table][name]))
        tables[table][name][leaf] = draw.choice(
            ["$(reboot)", "-1", "1e3", "", "a b", "\n", "9" * 300]
        )
        with pytest.raises(SpecError):
            sonic_rules.check(tables)
