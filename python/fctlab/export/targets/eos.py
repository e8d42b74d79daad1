"""Arista EOS: ``qos profile``, maps and the interfaces that have it, as text for a config session.

Commands are those of the EOS manual, chapter Quality of Service, and of aristanetworks/avd, whose
templates (``eos/qos-profiles.j2``, ``eos/qos.j2``) say in which order a running configuration has
them. Queues are strict unless they have ``no priority``; a queue with a weight makes all below it
so. ``random-detect ecn`` marks and drops nothing.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from fctlab.errors import SpecError
from fctlab.export import percent
from fctlab.export.form import Limits
from fctlab.export.targets import order
from fctlab.export.targets.base import Target
from fctlab.export.types import Form, Queue, Taken

V = TypeVar("V")

OURS = "fctlab-"
QUEUES = 8
KINDS = ("tx-queue", "uc-tx-queue")
"""Platforms that have queues for multicast apart call the others so."""
MOST_THRESHOLD = 256_000_000
"""Bytes."""
STEP = "   "
"""By which lines inside a section stand to the right."""


@dataclass
class State:
    """What of a running configuration an export is about.

    Attributes:
        profiles: by name, the lines of each ``qos profile``.
        services: by interface, the profile that it has.
        tcs: by code point, its traffic class, where it is not the default.
        queues: by traffic class, its queue, such as ``tx-queue 3``, where it is not the default.
    """

    profiles: dict[str, tuple[str, ...]] = field(default_factory=dict)
    services: dict[str, str] = field(default_factory=dict)
    tcs: dict[int, int] = field(default_factory=dict)
    queues: dict[int, str] = field(default_factory=dict)


class Eos(Target[State]):
    """See the module."""

    name = "eos"
    about = "Arista switches: qos profile, maps and interfaces, for a configuration session"
    suffix = "cfg"
    limits = Limits(
        queues=QUEUES,
        tcs=QUEUES,
        taken=Taken(queues=(7,), tcs=(7,), dscps=(46, 48)),
        kept=(48,),
        common=1,
    )
    existing = "show running-config"
    port = "Ethernet1"
    role_lines = 'queue_kind = "tx-queue" # or uc-tx-queue, as `show qos interfaces` says\n'

    def parse(self, text: str) -> State:
        """See `Target`: a running configuration."""
        return _typed(State(), text)

    def render(self, state: State) -> str:
        """See `Target`."""
        parts = [
            _section(f"qos profile {name}", state.profiles[name]) for name in sorted(state.profiles)
        ]
        parts += [
            _section(f"interface {port}", (f"service-profile {state.services[port]}",))
            for port in sorted(state.services, key=_natural)
        ]
        maps = [*_code_lines(state.tcs), *_queue_lines(state.queues)]
        if maps:
            parts.append("!\n" + "".join(f"{line}\n" for line in maps))
        return "".join(parts)

    def wanted(self, form: Form, before: State | None, in_place: bool) -> State:
        """See `Target`."""
        order.check(form)
        _check(form)
        now = before or State()
        lines = _profile(form)
        digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]
        name = f"{OURS}{form.role}" if in_place else f"{OURS}{digest}"
        services = now.services | dict.fromkeys(form.ports, name)
        profiles = {
            other: text
            for other, text in now.profiles.items()
            if not other.startswith(OURS) or other in services.values()
        }
        return State(
            profiles={**profiles, name: lines},
            services=services,
            tcs=now.tcs | {code: each.tc for each in form.queues for code in each.dscps},
            queues=now.queues
            | {each.tc: f"{form.queue_kind} {each.queue}" for each in form.queues},
        )

    def written(self, weights: Sequence[int]) -> tuple[int, ...]:
        """See `Target`: ``bandwidth percent``."""
        return percent.of(weights)

    def fresh(self, form: Form, after: State) -> str:
        """See `Target`."""
        used = {port: after.services[port] for port in form.ports}
        codes = {code for each in form.queues for code in each.dscps}
        tcs = {each.tc for each in form.queues}
        return self.render(
            State(
                profiles={name: after.profiles[name] for name in used.values()},
                services=used,
                tcs={code: tc for code, tc in after.tcs.items() if code in codes},
                queues={tc: queue for tc, queue in after.queues.items() if tc in tcs},
            )
        )

    def change(self, before: State, after: State) -> str:
        """See `Target`: new profiles first, old ones go last."""
        parts = []
        for name in sorted(after.profiles):
            if before.profiles.get(name) != after.profiles[name]:
                parts += [f"no qos profile {name}\n"] if name in before.profiles else []
                parts.append(_section(f"qos profile {name}", after.profiles[name]))
        for port in sorted({*before.services, *after.services}, key=_natural):
            profile = after.services.get(port)
            if profile != before.services.get(port):
                line = f"service-profile {profile}" if profile else "no service-profile"
                parts.append(_section(f"interface {port}", (line,)))
        lines = [f"no qos map dscp {code}" for code in sorted({*before.tcs} - {*after.tcs})]
        lines += [
            f"no qos map traffic-class {tc}" for tc in sorted({*before.queues} - {*after.queues})
        ]
        lines += _code_lines(_news(before.tcs, after.tcs))
        lines += _queue_lines(_news(before.queues, after.queues))
        lines += [
            f"no qos profile {name}" for name in sorted({*before.profiles} - {*after.profiles})
        ]
        if lines:
            parts.append("!\n" + "".join(f"{line}\n" for line in lines))
        return "".join(parts)

    def apply(self, state: State, change: str) -> State:
        """See `Target`."""
        return _typed(state, change)

    def apply_words(self, form: Form, file: str, change: str | None) -> list[str]:
        """See `Target`."""
        return [
            "configure checkpoint save before-fctlab",
            "configure session fctlab",
            f"then type or paste {change or file}, and look at it: show session-config diffs",
            "commit timer 00:10:00, and to keep it: configure session fctlab commit",
            "write memory, when it has proved right",
        ]

    def look_words(self, form: Form) -> list[str]:
        """See `Target`."""
        port = shlex.quote(form.ports[0])
        return [
            f"show qos interfaces {port}",
            "show qos maps",
            f"show interfaces {port} counters queue",
            "The first shows percent, strict and ECN; the last counts while classes send.",
        ]

    def back_words(self, form: Form, rollback: str | None) -> list[str]:
        """See `Target`."""
        checkpoint = "configure checkpoint restore before-fctlab"
        if rollback:
            return [f"in a session as above: {rollback}", f"or: {checkpoint}"]
        return [checkpoint]

    def cannot(self, form: Form, before: State | None) -> list[str]:
        """See `Target`."""
        lines = list(self.limits.sharing(form))
        if form.weighted:
            top = max(each.queue for each, _ in form.weighted)
            lines.append(f"Queues below {top} that are not of the plan share by weight as well.")
        lines.append("Maps from code points to queues are of the whole switch, not of its ports.")
        return lines


def _check(form: Form) -> None:
    if form.queue_kind not in KINDS:
        raise SpecError("queue_kind", f"{form.queue_kind!r:.40} is none of {', '.join(KINDS)}")
    for each in form.queues:
        if each.mark_bytes is not None and not 1 <= each.mark_bytes <= MOST_THRESHOLD:
            raise SpecError(
                "marking.threshold", f"{each.mark_bytes} bytes are not in [1, {MOST_THRESHOLD}]"
            )


def _profile(form: Form) -> tuple[str, ...]:
    """Lines of the profile; those inside a queue stand to the right."""
    shares = percent.of([weight for _, weight in form.weighted])
    if shares and (sum(shares) != 100 or min(shares) < 1):
        raise SpecError("weights", f"{list(shares)} are no percent that sum to 100")
    widths = {each.name: share for (each, _), share in zip(form.weighted, shares, strict=True)}
    lines = ["qos trust dscp"]
    for each in sorted(form.queues, key=lambda one: one.queue):
        lines += ["!", f"{form.queue_kind} {each.queue}"]
        lines += [f"{STEP}{line}" for line in _queue(each, widths.get(each.name))]
    return tuple(lines)


def _queue(each: Queue, share: int | None) -> list[str]:
    lines = [f"!! {each.name}"]
    lines += ["priority strict"] if share is None else ["no priority", f"bandwidth percent {share}"]
    if each.mark_bytes is not None:
        ends = " ".join(
            f"{end}-threshold {each.mark_bytes} bytes" for end in ("minimum", "maximum")
        )
        lines.append(f"random-detect ecn {ends} max-mark-probability 100 weight 0")
    return lines


def _section(head: str, lines: Iterable[str]) -> str:
    return f"!\n{head}\n" + "".join(f"{STEP}{line}\n" for line in lines)


def _code_lines(tcs: dict[int, int]) -> list[str]:
    """A line per traffic class, by the least code point."""
    order_ = dict.fromkeys(tcs[code] for code in sorted(tcs))
    return [f"qos map dscp {_codes(tcs, tc)} to traffic-class {tc}" for tc in order_]


def _codes(tcs: dict[int, int], tc: int) -> str:
    return " ".join(str(code) for code in sorted(tcs) if tcs[code] == tc)


def _queue_lines(queues: dict[int, str]) -> list[str]:
    return [f"qos map traffic-class {tc} to {queues[tc]}" for tc in sorted(queues)]


def _news(before: dict[int, V], after: dict[int, V]) -> dict[int, V]:
    return {key: value for key, value in after.items() if before.get(key) != value}


def _natural(name: str) -> list[tuple[int, str]]:
    """Ethernet2 before Ethernet10."""
    return [(int(part or 0) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", name)]


# Text, as a switch reads it


def _typed(state: State, text: str) -> State:
    found = State(dict(state.profiles), dict(state.services), dict(state.tcs), dict(state.queues))
    head = ""
    for number, line in enumerate(text.splitlines(), 1):
        where = f"line {number}"
        if "\t" in line or not line.isprintable():
            raise SpecError(where, "has a letter that no configuration has")
        if not line.strip() or line.rstrip() == "!":
            continue
        if line.startswith(STEP):
            _inside(found, head, line[len(STEP) :].rstrip())
        else:
            head = line.rstrip()
            _top(found, head, where)
    return found


def _inside(state: State, head: str, line: str) -> None:
    word, _, name = head.rpartition(" ")
    if word == "qos profile":
        state.profiles[name] = (*state.profiles[name], line)
    elif word == "interface" and line.startswith("service-profile "):
        state.services[name] = line.removeprefix("service-profile ")
    elif word == "interface" and line.startswith("no service-profile"):
        state.services.pop(name, None)


def _top(state: State, line: str, where: str) -> None:
    words = line.split()
    if words[:2] == ["qos", "profile"] and len(words) == 3:
        state.profiles.setdefault(words[2], ())
    elif words[:3] == ["no", "qos", "profile"] and len(words) == 4:
        if state.profiles.pop(words[3], None) is None:
            raise SpecError(where, f"there is no qos profile {words[3]:.40}")
    elif words[:3] == ["qos", "map", "dscp"]:
        for code in _numbers(words[3:-3], where):
            state.tcs[code] = _number(words[-1], QUEUES, where)
    elif words[:4] == ["no", "qos", "map", "dscp"]:
        for code in _numbers(words[4:], where):
            state.tcs.pop(code, None)
    elif words[:3] == ["qos", "map", "traffic-class"] and words[-2:-1] and words[-2] in KINDS:
        for tc in _numbers(words[3:-3], where):
            state.queues[tc] = f"{words[-2]} {_number(words[-1], QUEUES, where)}"
    elif words[:4] == ["no", "qos", "map", "traffic-class"]:
        for tc in _numbers(words[4:5], where):
            state.queues.pop(tc, None)


def _numbers(words: list[str], where: str) -> list[int]:
    """``10 12``, ``10,12`` or ``10-12``."""
    found: list[int] = []
    for word in " ".join(words).replace(",", " ").split():
        first, dash, last = word.partition("-")
        ends = _number(first, 64, where), _number(last if dash else first, 64, where)
        found += range(ends[0], ends[1] + 1)
    return found


def _number(word: str, count: int, where: str) -> int:
    if not re.fullmatch(r"[0-9]{1,3}", word) or int(word) >= count:
        raise SpecError(where, f"{word!r:.40} is not in [0, {count - 1}]")
    return int(word)
