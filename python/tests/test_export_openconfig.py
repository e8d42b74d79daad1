"""OpenConfig: what is written is read by classes made of the YANG models, and by rules of ours."""

from __future__ import annotations

import copy
import gc
import json
from dataclasses import replace
from typing import Any

import pytest

from fctlab.errors import SpecError
from fctlab.export import percent
from fctlab.export.targets import TARGETS
from fctlab.export.targets import openconfig_rules as rules
from fctlab.export.types import Form
from tests import exports

OC = TARGETS["openconfig"]


def drawn(seed: int) -> Form:
    return exports.forms(OC, seed)[1]


def sorted_lists(node: Any) -> Any:
    """Without the order of entries, which they do not have."""
    if isinstance(node, dict):
        return {key: sorted_lists(value) for key, value in node.items()}
    if isinstance(node, list):
        return sorted(map(sorted_lists, node), key=lambda each: json.dumps(each, sort_keys=True))
    return node


class Model:
    """The classes that oc-config-validate has of the model, which read one plan after the other.

    They take seconds to make the entries of a plan. So entries are made once, and emptied after
    each plan.
    """

    def __init__(self) -> None:
        self._schema = pytest.importorskip("oc_config_validate.schema")
        self._root = self._schema.ocContainerFromPath("qos.openconfig_qos", "/qos")

    def read(self, qos: dict[str, Any]) -> Any:
        """What they have read, as JSON of theirs."""
        from pyangbind.lib import pybindJSON

        self._schema.decodeJson(json.dumps(qos), self._root)
        text = pybindJSON.dumps(self._root, filter=True, mode="ietf")
        self._empty(self._root, qos)
        read = _full(json.loads(self._schema.removeOpenConfigPrefix(text)))
        for policy in read["scheduler-policies"]["scheduler-policy"]:
            for scheduler in policy["schedulers"]["scheduler"]:
                # Its writer does not know that a key is of the type of what it refers to.
                scheduler["sequence"] = int(scheduler["sequence"])
        return read

    def _empty(self, node: Any, read: dict[str, Any]) -> None:
        """Unset every leaf that was read, but for keys of entries."""
        for key, value in read.items():
            name = key.replace("-", "_")
            child = getattr(node, f"_get_{name}")()
            if isinstance(value, dict):
                self._empty(child, value)
            elif hasattr(child, "_keyval"):
                for entry in value:
                    self._empty(child[entry[child._yang_keys]], entry)
            elif not child._is_keyval:
                getattr(node, f"_unset_{name}")()


def _full(node: Any) -> Any:
    """Without entries that hold nothing but their key, which other plans have left."""
    if isinstance(node, dict):
        kept = {key: _full(value) for key, value in node.items()}
        return {key: value for key, value in kept.items() if value not in ({}, [])}
    if isinstance(node, list):
        full = [_full(each) for each in node]
        return [each for each in full if not isinstance(each, dict) or len(each) > 1]
    return node


def config() -> dict[str, Any]:
    """A device with a classifier and a strict queue for control traffic, and another interface."""
    queue = {"id": "NC1", "input-type": "QUEUE", "queue": "NC1", "weight": "200"}
    low = {"id": "BE0", "input-type": "QUEUE", "queue": "BE0", "weight": "5"}
    named: Any = lambda name, **more: {"name": name, "config": {"name": name, **more}}  # noqa: E731
    term: Any = lambda name, codes: {  # noqa: E731
        "id": name,
        "config": {"id": name},
        "conditions": {"ipv4": {"config": {"dscp-set": codes}}},
        "actions": {"config": {"target-group": name}},
    }
    interface: Any = lambda name: {  # noqa: E731
        "interface-id": name,
        "config": {"interface-id": name},
        "input": {
            "classifiers": {
                "classifier": [{"type": "IPV4", "config": {"type": "IPV4", "name": "all"}}]
            }
        },
        "output": {"scheduler-policy": {"config": {"name": "ports"}}},
    }
    schedulers = [
        {
            "sequence": i,
            "config": {"sequence": i, **kind},
            "inputs": {"input": [{"id": x["id"], "config": x}]},
        }
        for i, (kind, x) in enumerate([({"priority": "STRICT"}, queue), ({}, low)])
    ]
    return {
        "classifiers": {
            "classifier": [
                {
                    **named("all", type="IPV4"),
                    "terms": {"term": [term("NC1", [48, 56]), term("BE0", [*range(0, 46), 47])]},
                }
            ]
        },
        "forwarding-groups": {
            "forwarding-group": [named(x, **{"output-queue": x}) for x in ("NC1", "BE0")]
        },
        "queues": {"queue": [named("NC1", **{"queue-id": 7}), named("BE0", **{"queue-id": 0})]},
        "scheduler-policies": {
            "scheduler-policy": [{**named("ports"), "schedulers": {"scheduler": schedulers}}]
        },
        "interfaces": {"interface": [interface(f"Ethernet{i}/1") for i in (9, 1, 2, 3)]},
    }


def before() -> dict[str, Any]:
    return OC.parse(json.dumps({"openconfig-qos:qos": config()}))  # type: ignore[no-any-return]


def read_back(form: Form, qos: dict[str, Any]) -> None:
    """It says what the form says, at every port."""
    shares = dict(
        zip(
            [q.name for q, _ in form.weighted],
            percent.of([w for _, w in form.weighted]),
            strict=True,
        )
    )
    lists = {container: rules.named(qos, container) for container in rules.LISTS}
    for port in form.ports:
        interface = lists["interfaces"][port]
        policy = lists["scheduler-policies"][
            interface["output"]["scheduler-policy"]["config"]["name"]
        ]
        inputs = {
            each["queue"]: (strict, int(each["weight"])) for strict, each in rules.inputs(policy)
        }
        bound = interface["input"]["classifiers"]["classifier"]
        marked = {
            q["name"]: q["config"] for q in interface["output"].get("queues", {}).get("queue", [])
        }
        order = []
        for each in form.queues:
            for classifier in bound:
                terms = lists["classifiers"][classifier["config"]["name"]]["terms"]["term"]
                groups = {
                    t["actions"]["config"]["target-group"]
                    for t in terms
                    if set(rules.codes(t)) & set(each.dscps)
                }
                assert groups == {f"fctlab-{each.name}"}
                assert {c for t in terms if t["id"] in groups for c in rules.codes(t)} == set(
                    each.dscps
                )
            assert {classifier["type"] for classifier in bound} == {"IPV4", "IPV6"}
            queue = lists["forwarding-groups"][f"fctlab-{each.name}"]["config"]["output-queue"]
            assert lists["queues"][queue]["config"]["queue-id"] == each.queue
            strict, weight = inputs[queue]
            assert strict == (each.weight is None)
            if strict:
                order.append(weight)
            else:
                assert weight == shares[each.name]
            assert (queue in marked) == (each.mark_bytes is not None)
            if each.mark_bytes is not None:
                profile = lists["queue-management-profiles"][
                    marked[queue]["queue-management-profile"]
                ]
                assert profile["wred"]["uniform"]["config"]["min-threshold"] == str(each.mark_bytes)
                assert profile["wred"]["uniform"]["config"]["enable-ecn"]
        assert order == sorted(order, reverse=True)


def test_plans_are_read_back() -> None:
    for seed in range(exports.PLANS):
        form = drawn(seed)
        text = OC.fresh(form, OC.wanted(form, None, False))
        qos = json.loads(text)["openconfig-qos:qos"]
        rules.check(qos)
        read_back(form, qos)


def test_classes_of_the_models_read_all_of_it() -> None:
    model = Model()
    gc.disable()  # each leaf is a class of its own: it would look at all of them again and again
    try:
        for seed in range(exports.PLANS):
            qos = OC.wanted(drawn(seed), None, False)
            assert sorted_lists(model.read(qos)) == sorted_lists(qos)
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("leaf", "value"),
    [("queue-id", 256), ("queue-id", "x"), ("colour", "red")],
)
def test_classes_of_the_models_refuse(leaf: str, value: Any) -> None:
    qos = {"queues": {"queue": [{"name": "a", "config": {"name": "a", leaf: value}}]}}
    with pytest.raises((ValueError, AttributeError)):
        Model().read(qos)


def test_requests_lead_there_and_back() -> None:
    for seed in range(exports.PLANS):
        now = before()
        for one in (drawn(seed), drawn(seed + 10_000)):  # the second over the first
            after = OC.wanted(one, now, False)
            assert OC.parse(OC.render(after)) == after
            assert OC.apply(now, OC.change(now, after)) == after
            assert OC.apply(after, OC.change(after, now)) == now
            assert OC.change(after, after) == ""
            now = after


def test_control_traffic_stays_where_it_is() -> None:
    for seed in range(10):
        form = drawn(seed)
        after = OC.wanted(form, before(), False)
        read_back(form, after)
        policy = rules.named(after, "scheduler-policies")["fctlab-leaf"]
        first = next(rules.inputs(policy))
        assert first[0] and first[1]["queue"] == "NC1"
        classifier = rules.named(after, "classifiers")["fctlab-leaf-ipv4"]
        codes = {
            c: t["actions"]["config"]["target-group"]
            for t in classifier["terms"]["term"]
            for c in rules.codes(t)
        }
        assert codes[48] == "NC1"
        assert set(codes) >= {*range(0, 46), 47, 48, 56}


def test_numbers_of_64_bits_are_strings() -> None:
    qos = OC.wanted(drawn(1), None, False)
    for change in (30, "x", str(2**64), True, "-1"):
        broken = copy.deepcopy(qos)
        policy = broken["scheduler-policies"]["scheduler-policy"][0]
        policy["schedulers"]["scheduler"][0]["inputs"]["input"][0]["config"]["weight"] = change
        with pytest.raises(SpecError, match="weight"):
            rules.check(broken)


@pytest.mark.parametrize(
    "container", ["queues", "forwarding-groups", "classifiers", "scheduler-policies"]
)
def test_a_reference_to_nothing_is_refused(container: str) -> None:
    qos = OC.wanted(drawn(1), None, False)
    del qos[container]
    with pytest.raises(SpecError, match=f"is not in {container}"):
        rules.check(qos)


def test_weights_77_93_1_are_percent() -> None:
    form = drawn(0)
    queues = tuple(
        replace(
            form.queues[0], name=f"c{i}", queue=i, dscps=(i + 10,), weight=weight, mark_bytes=None
        )
        for i, weight in enumerate((77, 93, 1))
    )
    qos = OC.wanted(replace(form, queues=queues), None, False)
    weights = [
        int(i["weight"]) for _, i in rules.inputs(rules.entries(qos, "scheduler-policies")[0])
    ]
    assert weights == [45, 54, 1]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "3",
        '{"queues": 3}',
        '{"queues": {"queue": [{"name": "a"}]}}',
        '{"queues": {"queue": [{}]}}',
        '{"interfaces": {"interface": [{"interface-id": "e", "output": 3}]}}',
    ],
)
def test_a_file_that_is_no_model_is_refused(text: str) -> None:
    with pytest.raises(SpecError):
        OC.parse(text)


def test_a_port_that_is_not_there_is_refused() -> None:
    with pytest.raises(SpecError, match="is no interface of the existing file"):
        OC.wanted(replace(drawn(0), ports=("Ethernet99",)), before(), False)
