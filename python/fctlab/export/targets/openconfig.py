"""OpenConfig: the QoS model as JSON for gNMI (JSON_IETF, RFC 7951).

What the model says is in `openconfig_rules`. Weights stand in the inputs of a scheduler and strict
schedulers have ``priority``; among strict inputs the higher ``weight`` is served first
(``openconfig-qos-elements.yang``). A change is a gNMI Set, which a device takes as a whole or not
at all, as the request file of ``gnmic set`` (openconfig/gnmic).
"""

from __future__ import annotations

import copy
import json
import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from fctlab.errors import SpecError
from fctlab.export import percent
from fctlab.export.form import Limits
from fctlab.export.targets import openconfig_rules as rules
from fctlab.export.targets import order
from fctlab.export.targets.base import Target
from fctlab.export.types import Form, Queue, Taken

State = dict[str, Any]
"""The container ``qos``, without operational state."""

ROOT = "openconfig-qos:qos"
OURS = "fctlab-"
FAMILIES = {"IPV4": "ipv4", "IPV6": "ipv6"}
GNMIC = "gnmic -a DEVICE:PORT -u USER"


class OpenConfig(Target[State]):
    """See the module."""

    name = "openconfig"
    about = "switches with OpenConfig's QoS model: JSON for gNMI"
    suffix = "json"
    limits = Limits(
        queues=rules.MOST_QUEUES,
        tcs=rules.MOST_QUEUES,
        taken=Taken(queues=(7,), tcs=(7,), dscps=(46, 48)),
        kept=(48,),
    )
    existing = "the value that a gNMI Get of /qos returns, as JSON_IETF"
    port = "Ethernet1"

    def parse(self, text: str) -> State:
        """See `Target`: ``{"openconfig-qos:qos": ...}`` or what is inside."""
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise SpecError("", f"is not JSON: {error}") from None
        if isinstance(found, dict):
            found = found.get(ROOT, found.get("qos", found))
        if not isinstance(found, dict):
            raise SpecError("", f"holds no object but {type(found).__name__}")
        state: State = _configured(found)
        rules.check_shape("qos", state)
        try:
            rules.check(state)
            _sort(state)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            if isinstance(error, SpecError):
                raise
            raise SpecError("", f"is not of the QoS model: {error!r:.80}") from None
        return state

    def render(self, state: State) -> str:
        """See `Target`."""
        return json.dumps({ROOT: state}, indent=2) + "\n"

    def wanted(self, form: Form, before: State | None, in_place: bool) -> State:
        """See `Target`. A Set is one transaction, so everything changes in place."""
        order.check(form)
        state = copy.deepcopy(before) if before is not None else {}
        _check_ports(form, before)
        queues = {each.name: _queue_name(state, each) for each in form.queues}
        for each in form.queues:
            name = queues[each.name]
            if name not in rules.named(state, "queues"):
                _put(state, "queues", _entry(name, {"queue-id": each.queue}))
            group = {"output-queue": name}
            _put(state, "forwarding-groups", _entry(f"{OURS}{each.name}", group))
            if each.mark_bytes is not None:
                _put(state, "queue-management-profiles", _marking(each.mark_bytes))
        for port in form.ports:
            interface = _interface(state, port)
            for family in FAMILIES:
                _classify(state, form, interface, family)
            _schedule(state, form, interface, queues)
            _mark(form, interface, queues)
            _put(state, "interfaces", interface)
        _forget(state)
        rules.check(state)
        return state

    def written(self, weights: Sequence[int]) -> tuple[int, ...]:
        """See `Target`: percent, as devices that have no other weights take them."""
        return percent.of(weights)

    def fresh(self, form: Form, after: State) -> str:
        """See `Target`."""
        return self.render(_own(form, after))

    def change(self, before: State, after: State) -> str:
        """See `Target`: entries of lists that go, and those that come or change."""
        deletes, replaces = [], []
        for container in rules.LISTS:
            old, new = rules.named(before, container), rules.named(after, container)
            deletes += [_path(container, name) for name in old if name not in new]
            replaces += [
                {"path": _path(container, name), "value": entry, "encoding": "json_ietf"}
                for name, entry in new.items()
                if old.get(name) != entry
            ]
        if not deletes and not replaces:
            return ""
        return json.dumps({"deletes": deletes, "replaces": replaces}, indent=2) + "\n"

    def apply(self, state: State, change: str) -> State:
        """See `Target`."""
        found = copy.deepcopy(state)
        request = json.loads(change or "{}")
        for path in request.get("deletes", []):
            container, name = _place(path)
            if name not in rules.named(found, container):
                raise SpecError(path, "is not there")
            _remove(found, container, name)
        for each in request.get("replaces", []):
            container, name = _place(each["path"])
            if each["value"][rules.LISTS[container][1]] != name:
                raise SpecError(each["path"], "is not the entry of this key")
            _put(found, container, each["value"])
        rules.check(found)
        return found

    def apply_words(self, form: Form, file: str, change: str | None) -> list[str]:
        """See `Target`."""
        if change:
            return [f"{GNMIC} set --request-file {change}"]
        return [
            f"{GNMIC} set --update-path / --update-file {file} --encoding json_ietf",
            "An interface has one classifier and one scheduler policy: this export replaces those "
            "that are there now. With --existing it keeps their other terms and queues.",
        ]

    def look_words(self, form: Form) -> list[str]:
        """See `Target`."""
        port = f"/qos/interfaces/interface[interface-id={form.ports[0]}]"
        return [
            f"{GNMIC} get --type config --path {shlex.quote(port + '/output/scheduler-policy')}",
            f"{GNMIC} subscribe --mode once --path "
            f"{shlex.quote(port + '/output/queues/queue/state')}"
            "    # transmit-pkts, dropped-pkts of each queue",
        ]

    def back_words(self, form: Form, rollback: str | None) -> list[str]:
        """See `Target`."""
        if rollback:
            return [f"{GNMIC} set --request-file {rollback}"]
        return [
            "Save what is there first, and export with --existing: "
            f"{GNMIC} get --path /qos --type config --encoding json_ietf"
        ]

    def cannot(self, form: Form, before: State | None) -> list[str]:
        """See `Target`."""
        lines = [
            "Names of queues are fixed on some devices: with --existing those that are there are "
            "used, by queue-id.",
            *self.limits.sharing(form),
        ]
        if len(form.strict) > 1:
            lines.append(
                "Some devices have one strict queue (Junos on QFX5100): there "
                f"{' and '.join(each.name for each in form.strict)} need another scheduler."
            )
        return lines


def _configured(node: Any) -> Any:
    """What is configured: without ``state``."""
    if isinstance(node, dict):
        return {key: _configured(value) for key, value in node.items() if key != "state"}
    return [_configured(each) for each in node] if isinstance(node, list) else node


def _sort(state: State) -> None:
    """Entries of lists by key, as they have no order; a list without entries is none."""
    for container, (list_, key) in rules.LISTS.items():
        if container in state:
            state[container][list_] = sorted(
                rules.entries(state, container), key=lambda each: str(each[key])
            )
            if not state[container][list_]:
                del state[container]


def _entry(name: str, config: dict[str, Any]) -> rules.Node:
    return {"name": name, "config": {"name": name, **config}}


def _put(state: State, container: str, entry: rules.Node) -> None:
    """Add an entry to a list, or replace the one of its key."""
    list_, key = rules.LISTS[container]
    there = state.setdefault(container, {}).setdefault(list_, [])
    for place, each in enumerate(there):
        if each[key] == entry[key]:
            there[place] = entry
            return
    there.append(entry)
    there.sort(key=lambda each: str(each[key]))


def _remove(state: State, container: str, name: str) -> None:
    list_, key = rules.LISTS[container]
    kept = [each for each in state[container][list_] if each[key] != name]
    state[container][list_] = kept
    if not kept:
        del state[container]


def _check_ports(form: Form, before: State | None) -> None:
    known = None if before is None else rules.named(before, "interfaces")
    for port in form.ports:
        if known and port not in known:
            raise SpecError("ports", f"{port} is no interface of the existing file")


def _queue_name(state: State, each: Queue) -> str:
    """The queue of this number, by its name there if it has one."""
    for entry in rules.entries(state, "queues"):
        if entry["config"].get("queue-id") == each.queue:
            return str(entry["name"])
    return f"{OURS}{each.queue}"


def _marking(threshold: int) -> rules.Node:
    name = _marking_name(threshold)
    config = {
        "min-threshold": str(threshold),
        "max-threshold": str(threshold),
        "enable-ecn": True,
        "drop": False,
        "max-drop-probability-percent": 100,
    }
    return _entry(name, {}) | {"wred": {"uniform": {"config": config}}}


def _marking_name(threshold: int) -> str:
    return f"{OURS}ecn-{threshold}"


def _interface(state: State, port: str) -> rules.Node:
    found = rules.named(state, "interfaces").get(port)
    if found is not None:
        return copy.deepcopy(found)
    return {
        "interface-id": port,
        "config": {"interface-id": port},
        "interface-ref": {"config": {"interface": port}},
    }


def _classify(state: State, form: Form, interface: rules.Node, family: str) -> None:
    """Terms of ours before those that are there, which keep their other code points."""
    name = f"{OURS}{form.role}-{FAMILIES[family]}"
    bound = (
        interface.setdefault("input", {}).setdefault("classifiers", {}).setdefault("classifier", [])
    )
    now = next((each for each in bound if each["type"] == family), None)
    ours = {code for each in form.queues for code in each.dscps}
    terms = [_term(each, FAMILIES[family]) for each in form.queues]
    if now is not None:
        there = rules.named(state, "classifiers").get(now["config"]["name"], {})
        for term in there.get("terms", {}).get("term", []):
            kept = _without(term, ours)
            if kept is not None:
                terms.append(kept)
        bound.remove(now)
    bound.append({"type": family, "config": {"type": family, "name": name}})
    bound.sort(key=lambda each: str(each["type"]))
    _put(state, "classifiers", _entry(name, {"type": family}) | {"terms": {"term": terms}})


def _term(each: Queue, family: str) -> rules.Node:
    name = f"{OURS}{each.name}"
    return {
        "id": name,
        "config": {"id": name},
        "conditions": {family: {"config": {"dscp-set": list(each.dscps)}}},
        "actions": {"config": {"target-group": name}},
    }


def _without(term: rules.Node, ours: set[int]) -> rules.Node | None:
    """A term without code points of ours; ``None`` if nothing of it is left."""
    if str(term["id"]).startswith(OURS):
        return None
    there = rules.codes(term)
    if not there or not ours & set(there):
        return term
    found = copy.deepcopy(term)
    left = [code for code in there if code not in ours]
    if not left:
        return None
    for family in FAMILIES.values():
        config = found["conditions"].get(family, {}).get("config", {})
        if "dscp-set" in config:
            config["dscp-set"] = [code for code in config["dscp-set"] if code not in ours]
    return found


def _schedule(state: State, form: Form, interface: rules.Node, queues: dict[str, str]) -> None:
    """Inputs of ours, and those of other queues as they are."""
    name = f"{OURS}{form.role}"
    output = interface.setdefault("output", {})
    now = output.get("scheduler-policy", {}).get("config", {}).get("name")
    there = rules.named(state, "scheduler-policies").get(now, {})
    others = [
        (s, i)
        for s, i in rules.inputs(there)
        if i["queue"] not in queues.values() and not i["queue"].startswith(OURS)
    ]
    shares = percent.of([weight for _, weight in form.weighted])
    strict = [queues[each.name] for each in form.strict]
    control = sorted((i for s, i in others if s), key=lambda i: -int(i.get("weight", 0)))
    above = [str(i["queue"]) for i in control]
    first = _inputs([*above, *strict], range(len(above) + len(strict), 0, -1))
    weighted = [queues[each.name] for each, _ in form.weighted]
    rest = _inputs(weighted, shares) + [{"id": i["id"], "config": i} for s, i in others if not s]
    schedulers = [
        {
            "sequence": sequence,
            "config": {"sequence": sequence, **priority},
            "inputs": {"input": each},
        }
        for sequence, (priority, each) in enumerate([({"priority": "STRICT"}, first), ({}, rest)])
        if each
    ]
    policy = _entry(name, {}) | {"schedulers": {"scheduler": schedulers}}
    rules.check_sum(policy, set(queues.values()))
    _put(state, "scheduler-policies", policy)
    output["scheduler-policy"] = {"config": {"name": name}}


def _inputs(queues: Iterable[str], weights: Iterable[int]) -> list[rules.Node]:
    return [
        {
            "id": queue,
            "config": {"id": queue, "input-type": "QUEUE", "queue": queue, "weight": str(weight)},
        }
        for queue, weight in zip(queues, weights, strict=True)
    ]


def _mark(form: Form, interface: rules.Node, queues: dict[str, str]) -> None:
    output = interface["output"]
    there = output.get("queues", {}).get("queue", [])
    kept = [each for each in there if each["name"] not in queues.values()]
    for each in form.queues:
        if each.mark_bytes is not None:
            profile = {"queue-management-profile": _marking_name(each.mark_bytes)}
            kept.append(_entry(queues[each.name], profile))
    output.pop("queues", None)
    if kept:
        output["queues"] = {"queue": sorted(kept, key=lambda each: str(each["name"]))}


def _used(state: State) -> dict[str, set[str]]:
    """By container, what interfaces use of it, directly or not."""
    used: dict[str, set[str]] = {container: set() for container in rules.LISTS}
    for interface in rules.entries(state, "interfaces"):
        output = interface.get("output", {})
        bound = interface.get("input", {}).get("classifiers", {}).get("classifier", [])
        used["classifiers"] |= {each["config"]["name"] for each in bound}
        used["scheduler-policies"] |= {
            each.get("config", {}).get("name") for each in [output.get("scheduler-policy", {})]
        }
        for each in output.get("queues", {}).get("queue", []):
            used["queues"].add(each["name"])
            used["queue-management-profiles"].add(
                each["config"].get("queue-management-profile", "")
            )
    for name, classifier in rules.named(state, "classifiers").items():
        if name in used["classifiers"]:
            for term in classifier.get("terms", {}).get("term", []):
                group = term.get("actions", {}).get("config", {}).get("target-group")
                used["forwarding-groups"].add(group)
    for name, group in rules.named(state, "forwarding-groups").items():
        if name in used["forwarding-groups"]:
            used["queues"].add(group["config"].get("output-queue", ""))
    for name, policy in rules.named(state, "scheduler-policies").items():
        if name in used["scheduler-policies"]:
            used["queues"] |= {each["queue"] for _, each in rules.inputs(policy)}
    return used


def _forget(state: State) -> None:
    """Remove what is ours and nobody uses any more."""
    used = _used(state)
    for container in rules.LISTS:
        if container == "interfaces":
            continue
        for name in list(rules.named(state, container)):
            if name.startswith(OURS) and name not in used[container]:
                _remove(state, container, name)


def _own(form: Form, state: State) -> State:
    """What of a state the form's ports use."""
    own: State = {}
    interfaces = [rules.named(state, "interfaces")[port] for port in form.ports]
    used = _used({**state, "interfaces": {"interface": interfaces}})
    for container in rules.LISTS:
        for name, entry in rules.named(state, container).items():
            chosen = form.ports if container == "interfaces" else used[container]
            if name in chosen:
                _put(own, container, entry)
    return own


# Paths


def _path(container: str, name: str) -> str:
    list_, key = rules.LISTS[container]
    escaped = re.sub(r"([\\\]])", r"\\\1", name)
    return f"/qos/{container}/{list_}[{key}={escaped}]"


def _place(path: str) -> tuple[str, str]:
    for container, (list_, key) in rules.LISTS.items():
        head = f"/qos/{container}/{list_}[{key}="
        if path.startswith(head) and path.endswith("]"):
            return container, re.sub(r"\\(.)", r"\1", path[len(head) : -1])
    raise SpecError(f"{path:.60}", "is no path that an export changes")
