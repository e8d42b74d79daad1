"""What the YANG model of OpenConfig's QoS says and readers of it do not check.

Facts are from openconfig/public, ``release/models/qos`` (``openconfig-qos-elements.yang``,
``openconfig-qos-interfaces.yang``, ``openconfig-qos-mem-mgmt.yang``), and from RFC 7951, section
6.1: numbers of 64 bits are strings in JSON, shorter ones are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fctlab.errors import SpecError

Node = dict[str, Any]

LISTS = {
    "classifiers": ("classifier", "name"),
    "forwarding-groups": ("forwarding-group", "name"),
    "queues": ("queue", "name"),
    "queue-management-profiles": ("queue-management-profile", "name"),
    "scheduler-policies": ("scheduler-policy", "name"),
    "interfaces": ("interface", "interface-id"),
}
"""Containers of the model that exports write: the list in each and its key."""
WIDE = ("weight", "min-threshold", "max-threshold")
"""Leaves of 64 bits."""
NARROW = ("sequence", "queue-id", "max-drop-probability-percent")
"""Leaves of 8 and 32 bits."""
ENTRIES = (*LISTS, "terms", "schedulers", "inputs")
"""Containers of a list."""
KEYS = ("name", "id", "type", "sequence", "interface-id")
"""Keys of lists, which stand beside the containers of an entry."""
TEXTS = (
    *("name", "id", "interface-id", "queue", "target-group", "output-queue"),
    *("queue-management-profile", "type", "priority", "input-type"),
)
"""Leaves that are texts."""
MOST_QUEUES = 8


def entries(qos: Node, container: str) -> list[Node]:
    """The list in a container; empty if it is not there."""
    found: list[Node] = qos.get(container, {}).get(LISTS[container][0], [])
    return found


def named(qos: Node, container: str) -> dict[str, Node]:
    """The same by key."""
    key = LISTS[container][1]
    return {each[key]: each for each in entries(qos, container)}


def inputs(policy: Node) -> Iterator[tuple[bool, Node]]:
    """Of a scheduler policy, each input and whether it is served strictly, in order."""
    schedulers = policy.get("schedulers", {}).get("scheduler", [])
    for scheduler in sorted(schedulers, key=lambda each: int(each["sequence"])):
        strict = scheduler.get("config", {}).get("priority") == "STRICT"
        for each in scheduler.get("inputs", {}).get("input", []):
            yield strict, each["config"]


def check_shape(where: str, node: object) -> None:
    """Refuse what is no container, list or leaf where the model has one.

    Names with a prefix are of other modules, and theirs.

    Raises:
        SpecError: the first place.
    """
    if not isinstance(node, dict):
        raise SpecError(where, f"{node!r:.40} is no container")
    name = where.rpartition("/")[2]
    for key, value in node.items():
        place = f"{where}/{key:.40}"
        if ":" in key:
            continue
        if name == "config" or key in KEYS:
            texts = str if key in TEXTS else str | int | list
            if value is None or not isinstance(value, texts):
                raise SpecError(place, f"{value!r:.40} is no leaf of its type")
        elif name in ENTRIES:
            if not isinstance(value, list):
                raise SpecError(place, f"{value!r:.40} is no list")
            for each in value:
                check_shape(place, each)
        else:
            check_shape(place, value)


def check(qos: Node) -> None:
    """All of it.

    Raises:
        SpecError: the first rule that is broken, with where.
    """
    _numbers("qos", qos)
    for container in LISTS:
        list_, key = LISTS[container]
        seen = set()
        for each in entries(qos, container):
            name = each.get(key)
            if each.get("config", {}).get(key) != name or name in seen:
                raise SpecError(f"{container}/{list_}", f"{name!r:.40}: key and config differ")
            seen.add(name)
    _references(qos)
    for each in entries(qos, "queues"):
        number = each["config"].get("queue-id", 0)
        if not 0 <= number < MOST_QUEUES:
            raise SpecError(f"queues/{each['name']}", f"queue-id {number} is not in [0, 7]")
    for each in entries(qos, "queue-management-profiles"):
        config = each["wred"]["uniform"]["config"]
        if int(config["max-threshold"]) < int(config["min-threshold"]):
            raise SpecError(each["name"], "max-threshold is below min-threshold")
    _codes(qos)


def check_sum(policy: Node, ours: set[str]) -> None:
    """Weights of our queues are percent.

    Raises:
        SpecError: they do not sum to 100, or one is below 1.
    """
    weights = [
        int(i["weight"]) for strict, i in inputs(policy) if not strict and i["queue"] in ours
    ]
    if weights and (sum(weights) != 100 or min(weights) < 1):
        raise SpecError(policy["name"], f"weights {weights} are no percent that sum to 100")


def _numbers(where: str, node: object) -> None:
    if isinstance(node, list):
        for each in node:
            _numbers(where, each)
    if not isinstance(node, dict):
        return
    for key, value in node.items():
        if key in WIDE and not (isinstance(value, str) and value.isascii() and value.isdigit()):
            raise SpecError(f"{where}/{key}", f"{value!r:.40} is no string of digits (64 bits)")
        if key in WIDE and int(value) >= 2**64:
            raise SpecError(f"{where}/{key}", f"{value:.40} is not below 2^64")
        if key in NARROW and (isinstance(value, bool) or not isinstance(value, int)):
            raise SpecError(f"{where}/{key}", f"{value!r:.40} is no number")
        _numbers(f"{where}/{key}", value)


def _references(qos: Node) -> None:
    names = {container: set(named(qos, container)) for container in LISTS}

    def there(where: str, container: str, name: object) -> None:
        if name not in names[container]:
            raise SpecError(where, f"{name!r:.40} is not in {container}")

    for classifier in entries(qos, "classifiers"):
        for term in classifier.get("terms", {}).get("term", []):
            group = term.get("actions", {}).get("config", {}).get("target-group")
            if group is not None:
                there(f"{classifier['name']}/{term['id']}", "forwarding-groups", group)
    for group in entries(qos, "forwarding-groups"):
        if "output-queue" in group["config"]:
            there(group["name"], "queues", group["config"]["output-queue"])
    for policy in entries(qos, "scheduler-policies"):
        for _, each in inputs(policy):
            there(policy["name"], "queues", each.get("queue"))
    for interface in entries(qos, "interfaces"):
        where, output = interface["interface-id"], interface.get("output", {})
        for each in interface.get("input", {}).get("classifiers", {}).get("classifier", []):
            there(f"{where}/{each['type']}", "classifiers", each["config"]["name"])
        if policy_name := output.get("scheduler-policy", {}).get("config", {}).get("name"):
            there(where, "scheduler-policies", policy_name)
        for each in output.get("queues", {}).get("queue", []):
            there(where, "queues", each["name"])
            if profile := each["config"].get("queue-management-profile"):
                there(where, "queue-management-profiles", profile)


def _codes(qos: Node) -> None:
    for classifier in entries(qos, "classifiers"):
        seen: dict[int, str] = {}
        for term in classifier.get("terms", {}).get("term", []):
            name = term["id"]
            for code in codes(term):
                if isinstance(code, bool) or not isinstance(code, int) or not 0 <= code < 64:
                    raise SpecError(classifier["name"], f"{code!r:.40} is no DSCP in [0, 63]")
                if code in seen:
                    raise SpecError(classifier["name"], f"DSCP {code} is in two terms")
                seen[code] = name


def codes(term: Node) -> list[Any]:
    """Code points of a classifier's term."""
    found: list[Any] = []
    for family in ("ipv4", "ipv6"):
        config = term.get("conditions", {}).get(family, {}).get("config", {})
        found += config.get("dscp-set", [])
        found += [config["dscp"]] if "dscp" in config else []
    return found
