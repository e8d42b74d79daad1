"""SONiC: tables of config_db, for ``config load``, and RFC 6902 patches for ``config apply-patch``.

What the tables may hold is said in `sonic_rules`. The default maps are those of
``files/build_templates/qos_config.j2`` in sonic-net/sonic-buildimage; there too: lossless traffic
classes 3 and 4, DSCP 48 to traffic class 6, DSCP 46 to 5. ``ext:create-only`` of
``sonic-scheduler.yang`` is why a profile whose weight is to change gets a new name: a queue is
pointed to the new profile, and the old one goes.
"""

from __future__ import annotations

import hashlib
import json
import shlex

import jsonpatch

from fctlab.errors import SpecError
from fctlab.export.form import Limits
from fctlab.export.targets import order, sonic_before, sonic_patch, sonic_rules
from fctlab.export.targets.base import Target
from fctlab.export.targets.sonic_rules import State
from fctlab.export.types import Form, Queue, Taken

Entry = dict[str, str]

OURS = "fctlab-"
"""How names of our profiles and maps begin."""
LONGEST = 32
"""Letters of a name."""
CONTROL = (46, 48)


class Sonic(Target[State]):
    """See the module."""

    name = "sonic"
    about = "SONiC switches: config_db JSON for config load, patches for config apply-patch"
    suffix = "json"
    limits = Limits(
        queues=sonic_rules.MOST_QUEUES,
        tcs=sonic_rules.MOST_QUEUES,
        taken=Taken(queues=(3, 4, 5, 6), tcs=(3, 4, 5, 6), dscps=(3, 4, *CONTROL)),
        kept=CONTROL,
        common=1,
    )
    existing = "show runningconfiguration all"
    port = "Ethernet0"

    def parse(self, text: str) -> State:
        """See `Target`: a whole config_db."""
        try:
            state = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise SpecError("", f"is not JSON: {error}") from None
        if not isinstance(state, dict):
            raise SpecError("", f"holds no object but {type(state).__name__}")
        for table, entries in state.items():
            if not isinstance(entries, dict):
                raise SpecError(f"{table:.40}", "is no object of entries")
            for name, entry in entries.items():
                if not isinstance(entry, dict):
                    raise SpecError(f"{table:.40}|{name:.60}", "is no object of leaves")
                if table in sonic_rules.TABLES and not all(map(_is_text, entry.values())):
                    raise SpecError(f"{table}|{name:.60}", "has a leaf that is no text")
        return state

    def render(self, state: State) -> str:
        """See `Target`."""
        return json.dumps(state, indent=4) + "\n"

    def wanted(self, form: Form, before: State | None, in_place: bool) -> State:
        """See `Target`."""
        order.check(form)
        state: State = {}
        if before is not None:
            sonic_before.check(form, before)
            state = sonic_before.apart(form, before)
        names = _Names(form, in_place)
        for port in form.ports:
            _bind_maps(state, form, port, names)
            for each in form.queues:
                _bind_queue(state, each, port, names)
        _forget(state)
        sonic_rules.check(_own(form, state))
        return state

    def fresh(self, form: Form, after: State) -> str:
        """See `Target`."""
        return self.render(_own(form, after))

    def change(self, before: State, after: State) -> str:
        """See `Target`: profiles come before queues point to them, and go after."""
        operations = sonic_patch.operations(before, after)
        return json.dumps(operations, indent=4) + "\n" if operations else ""

    def apply(self, state: State, change: str) -> State:
        """See `Target`."""
        if not change.strip():
            return state
        try:
            found: State = jsonpatch.apply_patch(state, change)
        except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
            raise SpecError("patch", str(error)) from None
        return found

    def apply_words(self, form: Form, file: str, change: str | None) -> list[str]:
        """See `Target`."""
        lines = ["sudo config checkpoint before-fctlab"]
        if change:
            lines.append(f"sudo config apply-patch {change}")
            lines.append(
                "Releases that refuse patches of WRED_PROFILE on this ASIC take the whole: "
                f"sudo config load -y {file}"
            )
        else:
            lines.append(f"sudo config load -y {file}")
        lines.append(
            "config load adds and changes and removes nothing: a WRED profile that a queue has now "
            "and its class does not have here stays, and so does a key of several queues or ports "
            "(QUEUE|Ethernet0|0-2); the patch (--existing) removes them."
        )
        lines.append("sudo config save -y    # when it has proved right: else a reboot undoes it")
        lines.append("`config qos reload` and `config qos clear` undo the export.")
        return lines

    def look_words(self, form: Form) -> list[str]:
        """See `Target`."""
        port = shlex.quote(form.ports[0])
        queue = shlex.quote(f"QUEUE|{form.ports[0]}|{form.queues[0].queue}")
        return [
            f"sonic-db-cli CONFIG_DB HGETALL {queue}",
            "sudo grep -i qos /var/log/syslog    # orchagent says here alone what it refused",
            f"show queue counters {port}    # packets per queue, while each class sends",
            f"show queue wredcounters {port}    # marked packets",
        ]

    def back_words(self, form: Form, rollback: str | None) -> list[str]:
        """See `Target`."""
        checkpoint = "sudo config rollback before-fctlab"
        if rollback:
            return [f"sudo config apply-patch {rollback}", f"or: {checkpoint}"]
        return [checkpoint]

    def cannot(self, form: Form, before: State | None) -> list[str]:
        """See `Target`."""
        lines = [
            "Buffers are not touched. Weights count against those of queues that are taken.",
            *self.limits.sharing(form),
            *_others(form, before or {}),
        ]
        if before is not None and (several := sonic_before.split(form, before)):
            lines.append(
                f"Keys of several queues or ports are taken apart: {', '.join(several)}. These "
                "have no entry for a moment; apply it while little is sent."
            )
        marking = [each.name for each in form.queues if each.mark_bytes is not None]
        if marking:
            lines.append(
                "ECN uses the drop thresholds: there packets that are ECN-capable pass marked, and "
                f"those that are not are dropped (of {', '.join(marking)})."
            )
        return lines


class _Names:
    """Names of profiles and maps: by what they hold, or (in place) by whose they are."""

    def __init__(self, form: Form, in_place: bool) -> None:
        self._role = form.role if in_place else ""

    def profile(self, each: Queue, content: str) -> str:
        return _short(f"{OURS}{each.name}" if self._role else f"{OURS}{content}")

    def map(self, port: str, entry: Entry) -> str:
        # Maps differ between ports where those of before did.
        content = hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()[:12]
        return _short(f"{OURS}{self._role}-{port}" if self._role else f"{OURS}{content}")


def _short(name: str) -> str:
    if len(name) <= LONGEST and sonic_rules.NAME.fullmatch(name):
        return name
    return OURS + hashlib.sha256(name.encode()).hexdigest()[:12]


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _others(form: Form, state: State) -> list[str]:
    """Which more code points than a class has its traffic class gets, in a sentence."""
    codes = sonic_before.dscp_map(state, form.ports[0])
    known = {str(code) for each in form.queues for code in each.dscps}
    shared = []
    for each in form.queues:
        more = [code for code, tc in codes.items() if tc == str(each.tc) and code not in known]
        if more and each.tc != Sonic.limits.common:
            shared.append(f"{', '.join(sorted(more, key=int))} with {each.name}")
    if not shared:
        return []
    return [f"Code points of no class share queues at {form.ports[0]}: {'; '.join(shared)}."]


def _bind_maps(state: State, form: Form, port: str, names: _Names) -> None:
    codes, queues = sonic_before.dscp_map(state, port), sonic_before.queue_map(state, port)
    for each in form.queues:
        codes |= {str(code): str(each.tc) for code in each.dscps}
        queues[str(each.tc)] = str(each.queue)
    bound = state.setdefault("PORT_QOS_MAP", {}).setdefault(port, {})
    for leaf, table, entry in (
        ("dscp_to_tc_map", "DSCP_TO_TC_MAP", codes),
        ("tc_to_queue_map", "TC_TO_QUEUE_MAP", queues),
    ):
        name = names.map(port, entry)
        state.setdefault(table, {})[name] = entry
        bound[leaf] = name


def _bind_queue(state: State, each: Queue, port: str, names: _Names) -> None:
    if each.weight is None:
        scheduler, profile = names.profile(each, "strict"), {"type": "STRICT"}
    else:
        scheduler = names.profile(each, f"dwrr-{each.weight}")
        profile = {"type": "DWRR", "weight": str(each.weight)}
    state.setdefault("SCHEDULER", {})[scheduler] = profile
    entry = state.setdefault("QUEUE", {}).setdefault(f"{port}|{each.queue}", {})
    entry["scheduler"] = scheduler
    entry.pop("wred_profile", None)
    if each.mark_bytes is not None:
        wred = names.profile(each, f"ecn-{each.mark_bytes}")
        state.setdefault("WRED_PROFILE", {})[wred] = _wred(each.mark_bytes)
        entry["wred_profile"] = wred


def _wred(threshold: int) -> Entry:
    """Every leaf, as one that is left out keeps its old value; minimum and maximum are a step."""
    entry = {"ecn": "ecn_all"}
    for colour in sonic_rules.COLOURS:
        entry[f"wred_{colour}_enable"] = "true"
        entry[f"{colour}_min_threshold"] = entry[f"{colour}_max_threshold"] = str(threshold)
        entry[f"{colour}_drop_probability"] = "100"
    return entry


def _used(state: State) -> set[tuple[str, str]]:
    """Tables and names of entries that something points to."""
    return {
        (table, entry[leaf])
        for binding, leaves in sonic_rules.REFERENCES.items()
        for entry in state.get(binding, {}).values()
        for leaf, table in leaves.items()
        if leaf in entry
    }


def _forget(state: State) -> None:
    """Remove profiles and maps of ours that nothing points to any more."""
    used = _used(state)
    for table in sonic_rules.TABLES:
        if table in sonic_rules.BINDINGS or table not in state:
            continue
        kept = {
            name: entry
            for name, entry in state[table].items()
            if not name.startswith(OURS) or (table, name) in used
        }
        state[table] = kept
        if not kept:  # config apply-patch refuses a table without entries
            del state[table]


def _own(form: Form, state: State) -> State:
    """What of a state an export is about."""
    keys = [f"{port}|{each.queue}" for port in form.ports for each in form.queues]
    leaves = tuple(sonic_rules.REFERENCES["PORT_QOS_MAP"])
    own: State = {
        "QUEUE": {key: dict(state["QUEUE"][key]) for key in keys},
        "PORT_QOS_MAP": {
            port: {leaf: state["PORT_QOS_MAP"][port][leaf] for leaf in leaves}
            for port in form.ports
        },
    }
    for table, name in sorted(_used(own)):
        own.setdefault(table, {})[name] = state[table][name]
    return {table: own[table] for table in sonic_rules.TABLES if table in own}
