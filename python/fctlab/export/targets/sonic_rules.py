"""What SONiC takes: its YANG models, and what orchagent adds to them without saying so there.

Facts are from sonic-net/sonic-buildimage, ``src/sonic-yang-models/yang-models``
(``sonic-scheduler``, ``sonic-queue``, ``sonic-wred-profile``, ``sonic-dscp-tc-map``,
``sonic-tc-queue-map``, ``sonic-port-qos-map``, ``sonic-types``), and from sonic-net/sonic-swss,
``orchagent/qosorch.cpp`` (``WredMapHandler``, ``handleSchedulerTable``, ``handleQueueTable``) and
``orchagent/orch.cpp`` (``parseIndexRange``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fctlab.errors import SpecError

Entry = Mapping[str, str]
Tables = Mapping[str, Mapping[str, Entry]]
State = dict[str, Any]
"""A whole config_db: tables of entries of leaves."""

NAME = re.compile(r"[a-zA-Z0-9][-a-zA-Z0-9_]{0,31}")
DSCP = re.compile(r"6[0-3]|[1-5][0-9]|[0-9]")
TC = re.compile(r"1[0-5]|[0-9]")
NUMBER = re.compile(r"[0-9]{1,20}")
TYPES = ("DWRR", "WRR", "STRICT")
COLOURS = ("green", "yellow", "red")
ECN = (
    "ecn_none",
    "ecn_green",
    "ecn_yellow",
    "ecn_red",
    "ecn_green_yellow",
    "ecn_green_red",
    "ecn_yellow_red",
    "ecn_all",
)
TABLES = (
    "DSCP_TO_TC_MAP",
    "TC_TO_QUEUE_MAP",
    "SCHEDULER",
    "WRED_PROFILE",
    "QUEUE",
    "PORT_QOS_MAP",
)
REFERENCES = {
    "QUEUE": {"scheduler": "SCHEDULER", "wred_profile": "WRED_PROFILE"},
    "PORT_QOS_MAP": {"dscp_to_tc_map": "DSCP_TO_TC_MAP", "tc_to_queue_map": "TC_TO_QUEUE_MAP"},
}
"""By table and leaf, the table whose entry it names."""
BINDINGS = tuple(REFERENCES)
"""Tables that point to the others."""
MOST_THRESHOLD = 2**31 - 1
"""orchagent reads with ``stoi``."""
MOST_QUEUES = 8


def check(tables: Tables) -> None:
    """Both layers.

    Raises:
        SpecError: the first rule that is broken, with table, entry and leaf.
    """
    yang(tables)
    orchagent(tables)


def yang(tables: Tables) -> None:
    """What the models say of the tables that exports write.

    Raises:
        SpecError: the first rule that is broken.
    """
    for table, entries in tables.items():
        if table not in TABLES:
            raise SpecError(f"{table[:40]}", "is no table that an export writes")
        for name, entry in entries.items():
            where = f"{table}|{name[:80]}"
            _YANG[table](where, name, entry)
            for leaf, other in REFERENCES.get(table, {}).items():
                if leaf in entry and entry[leaf] not in tables.get(other, {}):
                    raise SpecError(f"{where} {leaf}", f"{entry[leaf]!r:.40} is not in {other}")


def orchagent(tables: Tables) -> None:
    """What the daemon that programs the ASIC refuses or does not do, although the models allow it.

    Raises:
        SpecError: the first rule that is broken.
    """
    for name, entry in tables.get("SCHEDULER", {}).items():
        if "priority" in entry:
            raise SpecError(f"SCHEDULER|{name}", "priority does nothing: strict queues go by index")
        missing = {"type"} | ({"weight"} if entry.get("type") != "STRICT" else set())
        _whole(f"SCHEDULER|{name}", entry, missing)
    for name, entry in tables.get("WRED_PROFILE", {}).items():
        where = f"WRED_PROFILE|{name}"
        for leaf in entry:
            if re.fullmatch(r"ecn_.*_(threshold|probability)|.*_ect_.*", leaf):
                raise SpecError(f"{where} {leaf}", "is unknown, and the whole profile refused")
        lengths = [f"{colour}_{end}_threshold" for colour in COLOURS for end in ("min", "max")]
        _whole(where, entry, {*lengths, "ecn"})
        for leaf in lengths:
            if int(entry[leaf]) > MOST_THRESHOLD:
                raise SpecError(f"{where} {leaf}", f"{entry[leaf]} is not below 2^31")
    for name in tables.get("QUEUE", {}):
        _, last = index_range(name.partition("|")[2])
        if last >= MOST_QUEUES:
            raise SpecError(f"QUEUE|{name}", f"queue {last} is not in [0, {MOST_QUEUES - 1}]")
    for name, entry in tables.get("TC_TO_QUEUE_MAP", {}).items():
        for tc, queue in entry.items():
            if int(queue) >= MOST_QUEUES:
                raise SpecError(f"TC_TO_QUEUE_MAP|{name} {tc}", f"queue {queue} is not in [0, 7]")


def index_range(text: str) -> tuple[int, int]:
    """``3``, or ``3-4``: the first and the last queue.

    Raises:
        SpecError: it is neither; or a range of one, which orchagent refuses.
    """
    found = re.fullmatch(r"([0-9]{1,2})(?:-([0-9]{1,2}))?", text)
    if not found:
        raise SpecError("QUEUE", f"{text!r:.40} is no index and no range a-b of queues")
    first = int(found[1])
    if found[2] is None:
        return first, first
    if int(found[2]) <= first:
        raise SpecError("QUEUE", f"{text!r}: a range a-b needs a < b")
    return first, int(found[2])


def _whole(where: str, entry: Entry, leaves: set[str]) -> None:
    missing = sorted(leaves - set(entry))
    if missing:
        raise SpecError(where, f"has no {missing[0]}; a leaf that is left out keeps its old value")


def _name(where: str, name: str) -> None:
    if not NAME.fullmatch(name):
        raise SpecError(where, "is no name of 1 to 32 letters, digits, - and _ (no - or _ first)")


def _dscp_map(where: str, name: str, entry: Entry) -> None:
    _name(where, name)
    for dscp, tc in entry.items():
        if not DSCP.fullmatch(dscp):
            raise SpecError(where, f"{dscp!r:.40} is no DSCP in [0, 63]")
        if not TC.fullmatch(tc):
            raise SpecError(f"{where} {dscp}", f"{tc!r:.40} is no TC in [0, 15]")


def _queue_map(where: str, name: str, entry: Entry) -> None:
    _name(where, name)
    for tc, queue in entry.items():
        if not TC.fullmatch(tc):
            raise SpecError(where, f"{tc!r:.40} is no TC in [0, 15]")
        if not re.fullmatch(r"[0-9]", queue):
            raise SpecError(f"{where} {tc}", f"{queue!r:.40} is no index of a queue in [0, 9]")


def _scheduler(where: str, name: str, entry: Entry) -> None:
    _name(where, name)  # the model takes any string; ours keep the form of all others
    _known(where, entry, ("type", "weight", "priority"))
    if entry.get("type", "WRR") not in TYPES:
        raise SpecError(f"{where} type", f"{entry['type']!r:.40} is none of {', '.join(TYPES)}")
    _in(where, entry, "weight", 1, 100)
    _in(where, entry, "priority", 0, 9)


def _wred(where: str, name: str, entry: Entry) -> None:
    _name(where, name)
    for leaf, value in entry.items():
        if leaf == "ecn":
            if value not in ECN:
                raise SpecError(f"{where} ecn", f"{value!r:.40} is none of {', '.join(ECN)}")
        elif re.fullmatch(r"wred_(green|yellow|red)_enable", leaf):
            if value not in ("true", "false"):
                raise SpecError(f"{where} {leaf}", f"{value!r:.40} is neither true nor false")
        elif re.fullmatch(r"(green|yellow|red)_drop_probability", leaf):
            _in(where, entry, leaf, 0, 100)
        elif re.fullmatch(r"(ecn_)?(green|yellow|red)_(min|max)_threshold", leaf):
            _in(where, entry, leaf, 0, 2**64 - 1)
        elif not re.fullmatch(r"ecn_(green|yellow|red)_mark_probability", leaf):
            raise SpecError(f"{where} {leaf[:40]}", "is no leaf of WRED_PROFILE")
    for colour in COLOURS:
        low, high = (entry.get(f"{colour}_{end}_threshold", "0") for end in ("min", "max"))
        if f"{colour}_max_threshold" in entry and int(high) < int(low):
            raise SpecError(where, f"{colour}_max_threshold {high} is below the minimum, {low}")


def _queue(where: str, name: str, entry: Entry) -> None:
    port, bar, index = name.partition("|")
    if not bar or not port or not index or "|" in index:
        raise SpecError(where, "is no key of a port and an index of a queue")
    _known(where, entry, tuple(REFERENCES["QUEUE"]))


def _port(where: str, name: str, entry: Entry) -> None:
    _known(where, entry, tuple(REFERENCES["PORT_QOS_MAP"]))


_YANG = {
    "DSCP_TO_TC_MAP": _dscp_map,
    "TC_TO_QUEUE_MAP": _queue_map,
    "SCHEDULER": _scheduler,
    "WRED_PROFILE": _wred,
    "QUEUE": _queue,
    "PORT_QOS_MAP": _port,
}


def _known(where: str, entry: Entry, leaves: tuple[str, ...]) -> None:
    for leaf in entry:
        if leaf not in leaves:
            raise SpecError(f"{where} {leaf[:40]}", f"is none of {', '.join(leaves)}")


def _in(where: str, entry: Entry, leaf: str, low: int, high: int) -> None:
    text = entry.get(leaf, str(low))
    if not NUMBER.fullmatch(text) or not low <= int(text) <= high:
        raise SpecError(f"{where} {leaf}", f"{text!r:.40} is not in [{low}, {high}]")
