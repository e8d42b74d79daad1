"""SITE.toml: what nobody can know from a plan, read with one clear error for what is wrong."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from fctlab import files
from fctlab.errors import SpecError
from fctlab.formats import RATES
from fctlab.slo import planning

NAME = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_]{0,31}")
"""Of classes and roles: what every device, shell and file system takes as it is."""
PORT = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_/.:]{0,63}")
"""Of ports: ``Ethernet0``, ``Ethernet1/1``, ``eth0``, ``et-0/0/1:2``."""

Small = Annotated[int, Meta(ge=0, le=255)]
Dscp = Annotated[int, Meta(ge=0, le=63)]
Priority = Annotated[int, Meta(ge=0, le=15)]


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of the file."""


class Role(Table, frozen=True):
    """Devices that are told the same: ``[roles.leaf]``.

    Attributes:
        ports: names of their ports.
        rate: of the ports, such as ``100Gbps``.
        queue_kind: of EOS alone: ``tx-queue``, or ``uc-tx-queue`` where the platform says so.
    """

    ports: tuple[str, ...]
    rate: str
    queue_kind: str = "tx-queue"


class Host(Table, frozen=True):
    """Sending hosts: ``[host]``.

    Attributes:
        ports: names of network devices.
        rate: of them.
        scheduler: ``ets``, ``prio`` or ``htb``: what their kernels have.
        nodrop: whether red lets packets pass that cannot be marked.
    """

    ports: tuple[str, ...]
    rate: str
    scheduler: str = "ets"
    nodrop: bool = False


class Class(Table, frozen=True):
    """Where a class goes: ``[classes.web]``.

    Attributes:
        queue: number of its queue.
        tc: traffic class that leads to it; the number of the queue if absent.
        dscp: its code points; those of the specification if absent.
        priority: ``sk_priority`` in sending hosts; its place among classes if absent.
        ecn: whether all of its packets are ECN-capable transport (RFC 3168), so that marking
            drops none.
    """

    queue: Small | None = None
    tc: Small | None = None
    dscp: tuple[Dscp, ...] | None = None
    priority: Priority | None = None
    ecn: bool = False


class Others(Table, frozen=True):
    """What lossless and control traffic uses: ``[taken]``."""

    queues: tuple[Small, ...] = ()
    tcs: tuple[Small, ...] = ()
    dscps: tuple[Dscp, ...] = ()


class Marking(Table, frozen=True):
    """``[marking]``.

    Attributes:
        threshold: length of a queue at which packets are marked, such as ``300KB``.
    """

    threshold: str


class Site(Table, frozen=True):
    """The whole file.

    Attributes:
        roles: by name, devices that are told the same.
        classes: by name, where each class of the result goes; all of them.
        taken: what others use; where it is absent, what is usual for the kind of device.
        marking: where queues mark; where it is absent, what the plan says.
        host: sending hosts.
    """

    roles: dict[str, Role]
    classes: dict[str, Class]
    taken: Others | None = None
    marking: Marking | None = None
    host: Host | None = None


T = TypeVar("T", bound=Table)
_TABLES: dict[str, type[Table]] = {"taken": Others, "marking": Marking, "host": Host}
_NAMED: dict[str, type[Table]] = {"roles": Role, "classes": Class}


def read(file: Path) -> Site:
    """Read a file.

    Raises:
        SpecError: the first mistake: file, key, what is there and what is allowed.
    """
    tables = files.read_tables(file, files.SITE)
    try:
        return of(tables)
    except SpecError as error:
        raise SpecError(str(file), str(error)) from None


def of(tables: dict[str, Any]) -> Site:
    """The same of tables.

    Raises:
        SpecError: the first mistake.
    """
    known = (*_NAMED, *_TABLES)
    for key in tables:
        if key not in known:
            raise SpecError(key[:40], f"is no table of a site; known: {', '.join(known)}")
        if not isinstance(tables[key], dict):
            raise SpecError(key, f"{_short(tables[key])} is not a table; write [{key}]")
    found: dict[str, Any] = {}
    for key, kind in _TABLES.items():
        if key in tables:
            found[key] = _table(key, tables[key], kind)
    for key, kind in _NAMED.items():
        found[key] = {}
        for name, table in tables.get(key, {}).items():
            check_name(key, name)
            found[key][name] = _table(f"{key}.{name}", table, kind)
    site = Site(**found)
    _check_ports(site)
    return site


def check_name(where: str, name: str) -> None:
    """Refuse a name that a device, a shell or a file system would not take as it is.

    Raises:
        SpecError: with what is allowed.
    """
    if not NAME.fullmatch(name):
        raise SpecError(
            where,
            f"{_short(name)} is no name of 1 to 32 letters, digits, - and _ (no - or _ first)",
        )


def rate_bps(where: str, text: str) -> float:
    """A rate such as ``100Gbps``, in bits per second.

    Raises:
        SpecError: it is none.
    """
    found = re.fullmatch(r"([0-9]{1,6}(?:\.[0-9]{1,6})?) ?([TGMK]?bps)", text)
    if not found or float(found[1]) == 0:
        raise SpecError(where, f"{_short(text)} is no rate such as 100Gbps")
    return float(found[1]) * RATES[found[2]]


def size_bytes(where: str, text: str) -> int:
    """A size such as ``300KB``, in bytes.

    Raises:
        SpecError: it is none.
    """
    try:
        return round(planning.size_bytes(text))
    except SpecError:
        raise SpecError(where, f"{_short(text)} is no size such as 300KB") from None


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 48 else f"{text[:45]}..."


def _table(path: str, table: Any, kind: type[T]) -> T:
    if not isinstance(table, dict):
        raise SpecError(path, f"{_short(table)} is not a table; write [{path}]")
    for key in table:
        if key not in kind.__struct_fields__:
            known = ", ".join(kind.__struct_fields__)
            raise SpecError(f"{path}.{key[:40]}", f"is no key of this table; known: {known}")
    for key in kind.__struct_fields__:
        if key not in table and key in _required(kind):
            raise SpecError(f"{path}.{key}", "is missing")
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        said, _, at = str(error).partition(" - at `$.")
        key = at.rstrip("`")
        value = table
        for step in re.findall(r"\w+", key):
            value = value[int(step) if step.isdigit() else step]
        said = f"{said[0].lower()}{said[1:]}".replace(" | null", "")
        raise SpecError(f"{path}.{key}", f"{_short(value)}: {said}") from None


def _required(kind: type[Table]) -> list[str]:
    return [each.name for each in msgspec.structs.fields(kind) if each.required]


def _check_ports(site: Site) -> None:
    places: dict[str, Role | Host] = {f"roles.{name}": role for name, role in site.roles.items()}
    if site.host is not None:
        places["host"] = site.host
    for path, place in places.items():
        if not place.ports:
            raise SpecError(f"{path}.ports", "names no port")
        for port in place.ports:
            if not PORT.fullmatch(port):
                raise SpecError(f"{path}.ports", f"{_short(port)} is no name of a port")
        twice = [port for i, port in enumerate(place.ports) if port in place.ports[:i]]
        if twice:
            raise SpecError(f"{path}.ports", f"names {twice[0]} twice")
        rate_bps(f"{path}.rate", place.rate)
    if "host" in site.roles:
        raise SpecError("roles.host", "hosts have a table of their own, [host]")
