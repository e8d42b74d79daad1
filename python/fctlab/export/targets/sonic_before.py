"""What a SONiC switch has: whether an export fits it, and keys of several ports or queues.

``QUEUE|Ethernet0|0-2`` is three queues, and ``QUEUE|Ethernet0,Ethernet4|3`` two ports (older
releases, and ``PORT_QOS_MAP`` alike). An export changes some of these, so that such a key is taken
apart; the way back puts it together.
"""

from __future__ import annotations

from collections.abc import Iterator

from fctlab.errors import SpecError
from fctlab.export.targets import sonic_rules
from fctlab.export.targets.sonic_rules import State
from fctlab.export.types import DSCPS, Form

DEFAULT_TCS = {3: 3, 4: 4, 5: 2, 8: 0, 46: 5, 48: 6}
"""Of code points that are not of traffic class 1 where nobody has said otherwise."""


def check(form: Form, before: State) -> None:
    """Refuse what does not fit what is there.

    Raises:
        SpecError: with the table, or the key of the site.
    """
    if before.get("DEVICE_METADATA", {}).get("localhost", {}).get("switch_type") == "voq":
        raise SpecError("DEVICE_METADATA", "is that of a chassis with virtual output queues")
    if "PORT" not in before:
        raise SpecError("PORT", "is missing in the existing file, which has to be the whole config")
    for port in form.ports:
        if port not in before["PORT"]:
            raise SpecError("ports", f"{port} is no port of the existing file")
        entry = bound(before, port)
        lossless = [int(tc) for tc in entry.get("pfc_enable", "").split(",") if tc.isdigit()]
        codes = dscp_map(before, port)
        for each in form.queues:
            if each.tc in lossless:
                raise SpecError(
                    f"classes.{each.name}.tc", f"{each.tc} is lossless at {port} (pfc_enable)"
                )
            for code in each.dscps:
                tc = codes.get(str(code), "")
                if tc.isdigit() and int(tc) in (*lossless, *form.taken.tcs):
                    raise SpecError(
                        f"classes.{each.name}.dscp",
                        f"{code} is of traffic class {tc} at {port}, which is taken",
                    )


def apart(form: Form, before: State) -> State:
    """The same with a key of its own for all that the form changes.

    Raises:
        SpecError: two keys are of one port and queue.
    """
    state: State = {table: dict(entries) for table, entries in before.items()}
    for table in sonic_rules.BINDINGS:
        entries: dict[str, dict[str, str]] = {}
        for key, entry in before.get(table, {}).items():
            for one in _keys(form, key) or (key,):
                if one in entries:
                    raise SpecError(f"{table}|{key}", f"{one} has another entry of its own")
                entries[one] = dict(entry)
        if entries:
            state[table] = entries
    return state


def split(form: Form, before: State) -> list[str]:
    """Keys of the file that `apart` takes apart, with their tables."""
    found = []
    for table in sonic_rules.BINDINGS:
        for key in before.get(table, {}):
            if _keys(form, key) not in ((), (key,)):
                found.append(f"{table}|{key}")
    return found


def _keys(form: Form, key: str) -> tuple[str, ...]:
    """What takes the place of a key; nothing if the form leaves it as it is."""
    names, bar, index = key.partition("|")
    ports = names.split(",")
    if not set(ports) & set(form.ports):
        return ()
    if not bar:
        return tuple(ports)
    first, last = sonic_rules.index_range(index)
    if not {each.queue for each in form.queues} & set(range(first, last + 1)):
        return ()
    return tuple(_of_ports(ports, form, index, range(first, last + 1)))


def _of_ports(ports: list[str], form: Form, index: str, queues: range) -> Iterator[str]:
    for port in ports:
        if port in form.ports:
            yield from (f"{port}|{queue}" for queue in queues)
        else:
            yield f"{port}|{index}"


def bound(state: State, port: str) -> dict[str, str]:
    """The entry of a port's maps."""
    for key, entry in state.get("PORT_QOS_MAP", {}).items():
        if port in key.split(","):
            found: dict[str, str] = entry
            return found
    return {}


def dscp_map(state: State, port: str) -> dict[str, str]:
    """The traffic class of every code point at a port.

    Raises:
        SpecError: the port names a map that is not there.
    """
    leaf = "dscp_to_tc_map"
    name = bound(state, port).get(leaf) or bound(state, "global").get(leaf)
    usual = {str(code): str(DEFAULT_TCS.get(code, 1)) for code in DSCPS}
    return usual | _named(state, port, "DSCP_TO_TC_MAP", name)


def queue_map(state: State, port: str) -> dict[str, str]:
    """The queue of every traffic class at a port.

    Raises:
        SpecError: the port names a map that is not there.
    """
    usual = {str(tc): str(tc) for tc in range(sonic_rules.MOST_QUEUES)}
    name = bound(state, port).get("tc_to_queue_map")
    return usual | _named(state, port, "TC_TO_QUEUE_MAP", name)


def _named(state: State, port: str, table: str, name: str | None) -> dict[str, str]:
    if name is None:
        return {}
    if name.startswith("["):
        raise SpecError(
            f"PORT_QOS_MAP|{port}",
            f"{name!r:.60} is how old releases write references; update the switch, or write "
            "names alone",
        )
    if name not in state.get(table, {}):
        raise SpecError(f"PORT_QOS_MAP|{port}", f"{name!r:.60} is not in {table}")
    found: dict[str, str] = state[table][name]
    return found
