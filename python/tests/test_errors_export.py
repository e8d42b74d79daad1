"""Errors of exports, each provoked once: where it is, what is there and what is allowed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fctlab.errors import SpecError
from fctlab.export import exporting, form, init, results, site
from fctlab.export.targets import TARGETS, openconfig_rules, sonic_rules
from fctlab.export.types import Advice, Share
from tests import test_export_openconfig, test_export_sonic
from tests.refusing import changed, refuses
from tests.test_export import ADVICE, MAPPING, THRESHOLDS, tables

UNMARKED = replace(ADVICE, mark_bytes=None)
STRICT = replace(ADVICE, shares=(Share("web", None), Share("bulk", None)))
MIXED = replace(ADVICE, shares=(Share("web", 2), Share("bulk", None)))
CODES = replace(ADVICE, shares=(Share("web", 2, (10, 12)), Share("bulk", 1)))
ONE = replace(ADVICE, shares=(Share("web", None),))
MANY = replace(ADVICE, shares=tuple(Share(f"c{i}", None) for i in range(16)))


def of_one() -> dict[str, Any]:
    return changed(tables(), ("classes.bulk", None))


def of_many() -> dict[str, Any]:
    """A host that has more strict classes than htb has values of prio."""
    classes = {f"c{i}": {"dscp": [20 + i], "priority": i} for i in range(16)}
    return changed(tables(), ("classes", classes), ("roles", {}))


SITES: list[tuple[str, Advice, dict[str, Any], str]] = [
    ("sonic", ADVICE, changed(tables(), ("taken", 3)), "taken: 3 is not a table; write [taken]"),
    (
        "sonic",
        ADVICE,
        changed(tables(), ("classes.web", 3)),
        "classes.web: 3 is not a table; write [classes.web]",
    ),
    (
        "sonic",
        ADVICE,
        changed(tables(), ("roles", {}), ("host", None)),
        "roles: there is none, and no [host] either: no port to write for",
    ),
    (
        "sonic",
        ADVICE,
        changed(tables(), ("classes.web", None)),
        "classes.web: is missing; plan has this class",
    ),
    (
        "sonic",
        CODES,
        changed(tables(), ("classes.web.dscp", [10, 20])),
        "classes.web.dscp: [10, 20] is not what the plan has: 10, 12",
    ),
    (
        "sonic",
        UNMARKED,
        changed(tables(), ("classes.web.ecn", True)),
        "classes.web.ecn: marks at no length; give [marking] threshold",
    ),
    (
        "sonic",
        MIXED,
        changed(tables(), ("classes.web.queue", 2), ("classes.bulk.queue", 1)),
        "classes.web.queue: 2 has a weight and is above 1, which is strict",
    ),
    (
        "eos",
        ADVICE,
        changed(tables(), ("classes.web.ecn", True), ("marking", {"threshold": "1GB"})),
        "marking.threshold: 1000000000 bytes are not in [1, 256000000]",
    ),
    (
        "tc",
        ADVICE,
        changed(tables(), ("host.scheduler", "prio")),
        "host.scheduler: prio has no weights; ets and htb have",
    ),
    (
        "tc",
        ONE,
        changed(of_one(), ("host.scheduler", "prio")),
        "host.scheduler: prio has at least 2 bands; ets and htb may have 1",
    ),
    (
        "tc",
        MANY,
        changed(of_many(), ("host.scheduler", "htb")),
        "host.scheduler: htb has 8 values of prio; ets has 16",
    ),
    (
        "tc",
        ADVICE,
        changed(tables(), ("classes.web.ecn", True), ("marking", {"threshold": "1B"})),
        "marking.threshold: 1 bytes are not in [",
    ),
]


@pytest.mark.parametrize(("target", "advice", "written", "says"), SITES, ids=[s[3] for s in SITES])
def test_a_site_is_refused(target: str, advice: Advice, written: dict[str, Any], says: str) -> None:
    kind = TARGETS[target]

    def made() -> None:
        forms = form.of(advice, site.of(written), kind.limits)
        kind.wanted(forms[-1 if kind.hosts else 0], None, in_place=False)

    refuses(says, made)


SONIC = test_export_sonic.config()
"""A whole config_db."""
PROFILE = {"SCHEDULER": {"s": {"type": "DWRR", "weight": "2"}}}
MARKS = {
    f"{colour}_{end}_threshold": "9" for colour in sonic_rules.COLOURS for end in ("min", "max")
}


def wred(**leaves: str) -> dict[str, Any]:
    return {"WRED_PROFILE": {"w": {**MARKS, "ecn": "ecn_all", **leaves}}}


RULES: list[tuple[dict[str, Any], str]] = [
    ({"PORT": {}}, "PORT: is no table that an export writes"),
    (
        changed(PROFILE, ("SCHEDULER.s.priority", "3")),
        "SCHEDULER|s: priority does nothing: strict queues go by index",
    ),
    (
        changed(PROFILE, ("SCHEDULER.s.weight", None)),
        "SCHEDULER|s: has no weight; a leaf that is left out keeps its old value",
    ),
    (
        wred(ecn_green_min_threshold="3"),
        "WRED_PROFILE|w ecn_green_min_threshold: is unknown, and the whole profile refused",
    ),
    (wred(colour="3"), "WRED_PROFILE|w colour: is no leaf of WRED_PROFILE"),
    (
        wred(green_max_threshold=str(2**31)),
        "WRED_PROFILE|w green_max_threshold: 2147483648 is not below 2^31",
    ),
    (
        wred(green_max_threshold="3"),
        "WRED_PROFILE|w: green_max_threshold 3 is below the minimum, 9",
    ),
    (
        wred(wred_red_enable="yes"),
        "WRED_PROFILE|w wred_red_enable: 'yes' is neither true nor false",
    ),
    ({"QUEUE": {"Ethernet0": {}}}, "QUEUE|Ethernet0: is no key of a port and an index of a queue"),
    ({"QUEUE": {"Ethernet0|x": {}}}, "QUEUE: 'x' is no index and no range a-b of queues"),
    ({"QUEUE": {"Ethernet0|3-3": {}}}, "QUEUE: '3-3': a range a-b needs a < b"),
]


@pytest.mark.parametrize(("state", "says"), RULES, ids=[says for _, says in RULES])
def test_what_sonic_does_not_take(state: dict[str, Any], says: str) -> None:
    refuses(says, sonic_rules.check, state)


OPEN = test_export_openconfig.config()
TERMS = "classifiers.classifier.0.terms.term"
WRED = {
    "queue-management-profile": [
        {
            "name": "p",
            "config": {"name": "p"},
            "wred": {"uniform": {"config": {"min-threshold": "9", "max-threshold": "3"}}},
        }
    ]
}
WEIGHT = "scheduler-policies.scheduler-policy.0.schedulers.scheduler.0.inputs.input.0.config.weight"

EXISTING: list[tuple[str, str, str]] = [
    ("sonic", json.dumps({"PORT": 3}), "PORT: is no object of entries"),
    ("sonic", json.dumps({"PORT": {"Ethernet0": 3}}), "PORT|Ethernet0: is no object of leaves"),
    ("sonic", json.dumps({"QUEUE": {"a|1": {"x": 3}}}), "QUEUE|a|1: has a leaf that is no text"),
    ("openconfig", json.dumps({"queues": 3}), "qos/queues: 3 is no container"),
    ("openconfig", json.dumps({"queues": {"queue": 3}}), "qos/queues/queue: 3 is no list"),
    (
        "openconfig",
        json.dumps({"queues": {"queue": [{"name": 3}]}}),
        "qos/queues/queue/name: 3 is no leaf of its type",
    ),
    (
        "openconfig",
        json.dumps({"queues": {"queue": [{"name": "a", "config": {"name": "b"}}]}}),
        "queues/queue: 'a': key and config differ",
    ),
    (
        "openconfig",
        json.dumps({"queue-management-profiles": {"queue-management-profile": [{}]}}),
        "is not of the QoS model: KeyError('name')",
    ),
    (
        "openconfig",
        json.dumps({"queue-management-profiles": WRED}),
        "p: max-threshold is below min-threshold",
    ),
    (
        "openconfig",
        json.dumps(changed(OPEN, (WEIGHT, 200))),
        "weight: 200 is no string of digits (64 bits)",
    ),
    (
        "openconfig",
        json.dumps(changed(OPEN, (WEIGHT, str(2**64)))),
        "weight: 18446744073709551616 is not below 2^64",
    ),
    (
        "openconfig",
        json.dumps(changed(OPEN, (f"{TERMS}.0.conditions.ipv4.config.dscp-set", [1]))),
        "all: DSCP 1 is in two terms",
    ),
    ("tc", "qdisc add eth0", "line 1: 'qdisc add eth0' is no line such as: qdisc add dev eth0 ..."),
    (
        "tc",
        "qdisc show dev eth0 root",
        "line 1: 'show' is none of add, change, replace and del ... root",
    ),
    ("tc", "class add dev eth0 parent 1:", "line 1: a class without classid"),
    ("tc", "qdisc add dev eth0 parent 1:1 red", "line 1: eth0 has no root yet"),
]


@pytest.mark.parametrize(("target", "text", "says"), EXISTING, ids=[s[2] for s in EXISTING])
def test_what_a_device_has_is_refused(target: str, text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "existing"
    file.write_text(text)
    refuses(f"{file}: ", exporting.read_existing, TARGETS[target], file)
    refuses(says, exporting.read_existing, TARGETS[target], file)


def test_what_a_device_has_is_text(tmp_path: Path) -> None:
    file = tmp_path / "existing"
    file.write_bytes(b"ab\xff")
    says = "existing: is not UTF-8 text (byte 2)"
    refuses(says, exporting.read_existing, TARGETS["eos"], file)


BEFORE: list[tuple[dict[str, Any], str]] = [
    (
        changed(SONIC, ("DEVICE_METADATA", {"localhost": {"switch_type": "voq"}})),
        "DEVICE_METADATA: is that of a chassis with virtual output queues",
    ),
    (
        changed(SONIC, ("PORT_QOS_MAP", {"Ethernet0": {"dscp_to_tc_map": "[DSCP_TO_TC_MAP|A]"}})),
        "'[DSCP_TO_TC_MAP|A]' is how old releases write references; update the switch, or write",
    ),
    (
        changed(
            SONIC,
            ("PORT_QOS_MAP", {"Ethernet0": {"dscp_to_tc_map": "A"}}),
            ("DSCP_TO_TC_MAP", {"A": {"10": "3"}}),
        ),
        "classes.web.dscp: 10 is of traffic class 3 at Ethernet0, which is taken",
    ),
]


@pytest.mark.parametrize(("before", "says"), BEFORE, ids=[says for _, says in BEFORE])
def test_a_switch_that_the_plan_does_not_fit(before: dict[str, Any], says: str) -> None:
    sonic = TARGETS["sonic"]
    first = form.of(ADVICE, site.of(tables()), sonic.limits)[0]
    refuses(says, sonic.wanted, first, sonic.parse(json.dumps(before)), in_place=False)


def test_changes_of_openconfig_are_of_entries() -> None:
    device = TARGETS["openconfig"]
    state = device.parse(json.dumps(OPEN))
    path = "/qos/queues/queue[name=NC1]"
    other = {"path": path, "value": {"name": "BE0"}}
    for request, says in (
        ({"deletes": ["/system"]}, "/system: is no path that an export changes"),
        ({"replaces": [other]}, f"{path}: is not the entry of this key"),
    ):
        refuses(says, device.apply, state, json.dumps(request))
    with pytest.raises(SpecError, match="no percent"):
        openconfig_rules.check_sum(OPEN["scheduler-policies"]["scheduler-policy"][0], {"BE0"})


FOUND = json.loads(THRESHOLDS.read_text())
PER_SWITCH = json.loads(MAPPING.read_text()) | {"scope": "switch"}

RESULTS: list[tuple[dict[str, Any], str]] = [
    (FOUND | {"thresholds_bytes": [9, 3]}, "its thresholds [9, 3] are not ascending"),
    (
        PER_SWITCH | {"thresholds": {"leaf 0": [9], "leaf 1": [3, 9]}},
        "has not as many thresholds for each switch, one at least",
    ),
    (
        PER_SWITCH | {"thresholds": {"leaf 0": [9, 3]}},
        "its thresholds [9, 3] of 'leaf 0' are not ascending",
    ),
]


@pytest.mark.parametrize(("found", "says"), RESULTS, ids=[says for _, says in RESULTS])
def test_thresholds_that_are_none(found: dict[str, Any], says: str, tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    file.write_text(json.dumps(found))
    refuses(f"{file}: {says}", results.read, file)


def test_more_classes_than_code_points(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    file.write_text(json.dumps(FOUND | {"thresholds_bytes": list(range(1, 20))}))
    says = "has 20 classes, more than 16, for which there are code points"
    refuses(says, init.text, "eos", file)


def test_a_site_of_several_roles_has_several_existing_files(tmp_path: Path) -> None:
    written, existing = tmp_path / "site.toml", tmp_path / "running.cfg"
    written.write_text(init.text("eos", THRESHOLDS))
    text = written.read_text()
    spine = "[roles.spine]\nports = ['Ethernet2']\nrate = '1Gbps'\n"
    written.write_text(text.replace("[host]", f"{spine}[host]"))
    existing.write_text("")
    says = "role: is missing; an existing file is of one: leaf, spine"
    refuses(says, exporting.export, "eos", THRESHOLDS, written, existing=existing, predict=False)
