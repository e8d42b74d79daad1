"""Linux hosts: queueing disciplines as a ``tc -batch`` file.

Facts are from the manual pages of iproute2 (tc-ets(8), tc-prio(8), tc-htb(8), tc-red(8), tc-u32(8),
tc-ematch(8)) and from net/sched of Linux (``sch_ets.c``, ``sch_prio.c``, ``sch_htb.c``,
``sch_red.c``): band n of ets and prio is class 1:(n+1); a priomap gives the band of each of 16
values of ``sk_priority``; htb lends what a parent has left by ``prio`` first and by ``quantum``
then, so that leaves with tiny rates are served strictly or by weight; red drops what is not ECT
unless it has ``nodrop``.
"""

from __future__ import annotations

import shlex

from fctlab.errors import SpecError
from fctlab.export.form import Limits
from fctlab.export.targets import qdiscs
from fctlab.export.targets.base import Target
from fctlab.export.targets.dcb import batch as dcb_batch
from fctlab.export.types import MTU_BYTES, Form, Queue, Taken

Line = tuple[str, ...]
Tree = dict[str, Line]
"""Of a device, what it has: by what it is, such as ``class 1:2``, its words without the verb."""
State = dict[str, Tree]
"""By device."""

PRIORITIES = 16
"""Entries of a priomap."""
MOST_BANDS = 16
MOST_HTB = 8
"""Values of ``prio``."""
BURST_S = 100e-6
"""What a class may send at once, in seconds of the line: a timer of the kernel is about as late."""
PARENT = "1:a0"
SCHEDULERS = ("ets", "prio", "htb")
CHANGEABLE = ("ets", "prio", "red")
"""Disciplines whose parameters change without a new one."""


class Tc(Target[State]):
    """See the module."""

    name = "tc"
    about = "sending Linux hosts: ets, prio or htb, red, filters; a tc -batch file"
    suffix = "tc"
    hosts = True
    limits = Limits(queues=MOST_BANDS, tcs=MOST_BANDS, taken=Taken())
    port = "eth0"
    existing = "the file that was applied before (what `tc -batch` read)"

    def parse(self, text: str) -> State:
        """See `Target`: a batch file."""
        return _applied({}, text)

    def render(self, state: State) -> str:
        """See `Target`."""
        return self.change({}, state)

    def wanted(self, form: Form, before: State | None, in_place: bool) -> State:
        """See `Target`."""
        _check(form)
        trees = {port: _tree(form, port) for port in form.ports}
        return {**(before or {}), **trees}

    def change(self, before: State, after: State) -> str:
        """See `Target`."""
        lines: list[str] = []
        for device in sorted({*before, *after}):
            old, new = before.get(device, {}), after.get(device, {})
            if old == new:
                continue
            if _alike(old, new):
                lines += [_text("change", new[key]) for key in new if new[key] != old[key]]
                continue
            if old:
                lines.append(f"qdisc del dev {device} root")
            lines += [_text("add", line) for line in new.values()]
        return "".join(f"{line}\n" for line in lines)

    def fresh(self, form: Form, after: State) -> str:
        """See `Target`."""
        return self.render({port: after[port] for port in form.ports})

    def apply(self, state: State, change: str) -> State:
        """See `Target`."""
        return _applied(state, change)

    def extra(self, form: Form) -> dict[str, str]:
        """See `Target`: the same for network cards that schedule by themselves."""
        lines = dcb_batch(form)
        return {"dcb": lines} if lines else {}

    def apply_words(self, form: Form, file: str, change: str | None) -> list[str]:
        """See `Target`."""
        back = " ; ".join(_remove(port) for port in form.ports)
        return [
            f"sudo tc -batch {change or file}",
            "tc stops at the first line that the kernel refuses. If that is the first, somebody "
            f"has set a root and nothing was changed; after a later one go back: {back}",
            "Where the network card schedules by itself (dcb ets show dev DEVICE prints "
            f"something): sudo dcb -batch {_sibling(file, 'dcb')}",
        ]

    def look_words(self, form: Form) -> list[str]:
        """See `Target`."""
        return [
            command
            for port in form.ports
            for command in (
                f"tc -s class show dev {shlex.quote(port)}",
                f"tc -s qdisc show dev {shlex.quote(port)}    # red: marked, early, pdrop",
            )
        ]

    def back_words(self, form: Form, rollback: str | None) -> list[str]:
        """See `Target`."""
        if rollback:
            return [f"sudo tc -batch {rollback}"]
        return [_remove(port) for port in form.ports]

    def cannot(self, form: Form, before: State | None) -> list[str]:
        """See `Target`."""
        last = form.queues[-1].name
        lines = [f"Packets with another code point and sk_priority go with {last}."]
        if any(each.mark_bytes for each in form.queues) and not form.nodrop:
            lines.append("red drops packets that are not ECT at the threshold (host.nodrop).")
        return lines


def _remove(port: str) -> str:
    return f"sudo tc qdisc del dev {shlex.quote(port)} root"


def _sibling(file: str, suffix: str) -> str:
    return file.rpartition(".")[0] + f".{suffix}"


def _check(form: Form) -> None:
    if form.host not in SCHEDULERS:
        raise SpecError("host.scheduler", f"{form.host!r:.40} is none of {', '.join(SCHEDULERS)}")
    bands = len(form.queues)
    if bands > MOST_BANDS:
        raise SpecError("classes", f"are {bands}; {form.host} has at most {MOST_BANDS} bands")
    if form.host == "prio":
        if form.weighted:
            raise SpecError("host.scheduler", "prio has no weights; ets and htb have")
        if bands < 2:
            raise SpecError("host.scheduler", "prio has at least 2 bands; ets and htb may have 1")
    if form.host == "htb" and len(form.strict) + bool(form.weighted) > MOST_HTB:
        raise SpecError(
            "host.scheduler", f"htb has {MOST_HTB} values of prio; ets has {MOST_BANDS}"
        )
    for port in form.ports:
        if len(port) > 15 or "/" in port:
            raise SpecError("host.ports", f"{port!r:.40} is no name of a network device")
    for each in form.queues:
        if each.mark_bytes is not None and not qdiscs.AVERAGE_PACKET <= each.mark_bytes < 2**29:
            raise SpecError(
                "marking.threshold",
                f"{each.mark_bytes} bytes are not in [{qdiscs.AVERAGE_PACKET}, 2^29)",
            )


def _tree(form: Form, port: str) -> Tree:
    lines = _htb(form, port) if form.host == "htb" else _bands(form, port)
    for band, each in enumerate(form.queues):
        if each.mark_bytes is not None:
            lines.append(_red(form, each.mark_bytes, port, band))
        lines += _filters(form, each, port, band)
    return {_key(line): line for line in lines}


def _line(text: str) -> Line:
    return tuple(text.split())


def _bands(form: Form, port: str) -> list[Line]:
    """``prio``, or ``ets``: strict bands first, then those with a quantum."""
    root = f"qdisc dev {port} root handle 1: {form.host} bands {len(form.queues)}"
    if form.host == "ets" and form.strict:
        root += f" strict {len(form.strict)}"
    if form.weighted:
        root += " quanta " + " ".join(str(weight * MTU_BYTES) for _, weight in form.weighted)
    return [_line(f"{root} priomap {' '.join(map(str, _priomap(form)))}")]


def _priomap(form: Form) -> list[int]:
    bands = {each.priority: band for band, each in enumerate(form.queues)}
    return [bands.get(priority, len(form.queues) - 1) for priority in range(PRIORITIES)]


def _htb(form: Form, port: str) -> list[Line]:
    rate = qdiscs.mbit(form.rate_bps)
    burst = max(round(form.rate_bps / 8 * BURST_S), 10 * MTU_BYTES)
    ceil = f"ceil {rate} cburst {burst}"
    parent = f"class dev {port} parent 1: classid {PARENT} htb rate {rate} burst {burst} {ceil}"
    lines = [
        _line(f"qdisc dev {port} root handle 1: htb default {len(form.queues):x}"),
        _line(f"{parent} quantum {MTU_BYTES}"),
    ]
    for band, each in enumerate(form.queues):
        level = len(form.strict) if each.weight is not None else band
        served = f"prio {level} quantum {(each.weight or 1) * MTU_BYTES}"
        head = f"class dev {port} parent {PARENT} classid {_class(band)}"
        lines.append(_line(f"{head} htb rate {qdiscs.TINY} {ceil} {served}"))
    return lines


def _class(band: int) -> str:
    return f"1:{band + 1:x}"


def _red(form: Form, least: int, port: str, band: int) -> Line:
    head = f"qdisc dev {port} parent {_class(band)} handle {0x10 + band:x}: "
    return _line(head + qdiscs.red(least, form.rate_bps, form.nodrop))


def _filters(form: Form, each: Queue, port: str, band: int) -> list[Line]:
    head, to = f"filter dev {port} parent 1: protocol", f"flowid {_class(band)}"
    lines = [_line(text) for code in each.dscps for text in qdiscs.code_point(head, code, to)]
    if form.host == "htb":  # the others have a priomap
        meta = f"meta(priority eq {each.priority})"
        lines.append((*_line(f"{head} all prio 12 basic match"), meta, *_line(to)))
    return lines


# Batch files


def _key(line: Line) -> str:
    """What a line is about: a device has one discipline per parent and one class per classid."""
    if line[0] == "qdisc":
        return f"qdisc {line[line.index('parent') + 1] if 'parent' in line[:-1] else 'root'}"
    if line[0] == "class":
        return f"class {line[line.index('classid') + 1]}"
    return " ".join(line)


def _kind(line: Line) -> str:
    """The discipline of a line; no word before it is one."""
    return next((word for word in line if word in (*CHANGEABLE, "htb")), "")


def _alike(old: Tree, new: Tree) -> bool:
    """Whether the one becomes the other by changes of parameters alone."""
    if list(old) != list(new):
        return False
    for key in new:
        one, other = old[key], new[key]
        if one == other:
            continue
        fixed = 7 if one[0] == "class" or "parent" in one else 6
        if _kind(one) != _kind(other) or one[:fixed] != other[:fixed] or one[0] == "filter":
            return False
        if one[0] == "qdisc" and _kind(one) not in CHANGEABLE:
            return False
        if _kind(one) in ("ets", "prio") and one[7:9] != other[7:9]:  # bands
            return False
    return True


def _text(verb: str, line: Line) -> str:
    words = [f"'{word}'" if " " in word else word for word in line]
    return " ".join([words[0], verb, *words[1:]])


def _applied(state: State, text: str) -> State:
    found = {device: dict(tree) for device, tree in state.items()}
    for number, written in enumerate(text.splitlines(), 1):
        if words := _words(written, f"line {number}"):
            _obey(found, words, f"line {number}")
    return {device: tree for device, tree in found.items() if tree}


def _words(line: str, where: str) -> list[str]:
    """Words as tc splits a line of a batch file: at white space, with quotes and comments."""
    if not set(line) & set("'\"#\\"):
        return line.split()
    try:
        return shlex.split(line, comments=True)
    except ValueError as error:
        raise SpecError(where, str(error)) from None


def _obey(state: State, words: list[str], where: str) -> None:
    """What a line does, as the kernel would."""
    if words[0] not in ("qdisc", "class", "filter") or len(words) < 5 or words[2] != "dev":
        raise SpecError(
            where, f"{' '.join(words)!r:.60} is no line such as: qdisc add dev eth0 ..."
        )
    verb, line = words[1], (words[0], *words[2:])
    device = words[3]
    tree = state.setdefault(device, {})
    if verb == "del" and line[3:] == ("root",) and line[0] == "qdisc":
        if not tree:
            raise SpecError(where, f"{device} has no root that could be deleted")
        state[device] = {}
        return
    if verb not in ("add", "change", "replace"):
        raise SpecError(where, f"{verb!r:.20} is none of add, change, replace and del ... root")
    if line[0] == "class" and "classid" not in line[:-1]:
        raise SpecError(where, "a class without classid")
    key = _key(line)
    if verb == "add" and key in tree:
        raise SpecError(where, f"{device} has {key} already")
    if verb == "change" and key not in tree:
        raise SpecError(where, f"{device} has no {key}")
    if key != "qdisc root" and "qdisc root" not in tree:
        raise SpecError(where, f"{device} has no root yet")
    tree[key] = line
