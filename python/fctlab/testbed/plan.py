"""What a scenario asks of a testbed, in bytes, bits per second and seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fctlab.errors import SpecError
from fctlab.export.init import CODES
from fctlab.formats import rate_bps, time_s
from fctlab.scenario import Prepared, Scenario

CONGESTION = {"dctcp": "dctcp", "tcp": "reno"}
"""What Linux calls a transport (RFC 8257; RFC 5681 with RFC 6582 and 6675)."""
IP_AND_TCP = 40
"""Bytes of the headers that Linux sends without options."""
ETHERNET = 14
"""Bytes of the header of a frame, which Linux counts."""
MOST_HOSTS = 250
TAGGERS = ("none", "sent", "outstanding")
NEVER = 1 << 62
"""Bytes that no flow has."""


@dataclass(frozen=True)
class Port:
    """Queues in front of a link.

    Attributes:
        rate_bps: of the link.
        buffer_bytes: of each queue.
        mark_bytes: above which waiting bytes of the port packets are marked; ``None`` if never.
        thresholds: largest bytes of each band but the last, sent or outstanding; none of a FIFO.
    """

    rate_bps: float
    buffer_bytes: int
    mark_bytes: int | None
    thresholds: tuple[int, ...]

    @property
    def codes(self) -> tuple[int, ...]:
        """The code point of each band."""
        return CODES[: len(self.thresholds) + 1]


@dataclass(frozen=True)
class Plan:
    """A star on Linux.

    Attributes:
        ports: of the switch, one to each host.
        nics: of the hosts.
        delay_s: of each link, one way.
        payload_bytes, header_bytes: of a full packet.
        congestion: a module of Linux.
        window_packets: initial window.
        min_rto_s: least retransmission timeout.
        tags_by: what hosts compare with thresholds, ``"sent"`` or ``"outstanding"``.
    """

    ports: tuple[Port, ...]
    nics: tuple[Port, ...]
    delay_s: float
    payload_bytes: int
    header_bytes: int
    congestion: str
    window_packets: int
    min_rto_s: float
    tags_by: str

    @property
    def thresholds(self) -> tuple[int, ...]:
        """Those of hosts, which tag by them."""
        return self.nics[0].thresholds

    @property
    def overhead_bytes(self) -> int:
        """What the scenario counts of a packet and Linux does not; less than 0 the other way."""
        return self.header_bytes - IP_AND_TCP - ETHERNET


def at_rate(scenario: Scenario, rate: str) -> Scenario:
    """The scenario at another rate of its hosts: times are longer as rates are smaller.

    Raises:
        SpecError: `rate` is none, or the topology has no `host_rate` and base RTT to change.
    """
    try:
        wanted = rate_bps(rate)
    except (StopIteration, ValueError):
        raise SpecError("--rate", f"{rate!r} is no rate such as 200Mbps") from None
    tables = scenario.resolve().tables
    topology = _star(tables)
    factor = rate_bps(topology["host_rate"]) / wanted
    changed = scenario.set("topology.host_rate", rate)
    if "bottleneck_rate" in topology:
        bottleneck = rate_bps(topology["bottleneck_rate"]) / factor
        changed = changed.set("topology.bottleneck_rate", f"{bottleneck:.0f}bps")
    if "link_delay" in topology:
        longer = time_s(topology["link_delay"]) * factor
        return changed.set("topology.link_delay", f"{longer * 1e12:.0f}ps")
    value = time_s(topology["base_rtt"]["value"]) * factor
    base = topology["base_rtt"] | {"value": f"{value * 1e12:.0f}ps"}
    return changed.set("topology.base_rtt", base)


def of(prepared: Prepared) -> Plan:
    """The plan of a scenario.

    Raises:
        SpecError: it has what no testbed does, with the key and what there is.
    """
    tables = prepared.tables
    topology, scheme = _star(tables), tables["scheme"]
    transport = scheme["transport"]
    _one_of("scheme.transport.kind", transport["kind"], CONGESTION)
    _one_of("scheme.transport.connections", transport.get("connections", "per-flow"), ["per-flow"])
    _one_of("scheme.tagger.kind", scheme["tagger"]["kind"], TAGGERS)
    _one_of("measure.fct_ends", tables["measure"]["fct_ends"], ["delivery"])
    host_bps = rate_bps(topology["host_rate"])
    payload, header, ack = (
        prepared.bytes_at(tables["packet"][key], host_bps) for key in ("payload", "header", "ack")
    )
    base_s = float(tables["base_rtt_s"])
    sink_bps = rate_bps(topology.get("bottleneck_rate", topology["host_rate"]))
    on_wire = (payload + header + ack) * 8 * (1 / host_bps + 1 / sink_bps)
    window = prepared.bytes_at(transport["initial_window"], host_bps)
    rates = [host_bps] * topology["senders"] + [sink_bps]
    return Plan(
        ports=tuple(_port(prepared, "port", rate) for rate in rates),
        nics=tuple(_port(prepared, "nic", rate) for rate in rates),
        delay_s=max(base_s - on_wire, 0.0) / 4,
        payload_bytes=payload,
        header_bytes=header,
        congestion=CONGESTION[transport["kind"]],
        window_packets=max(round(window / (payload + header)), 1),
        min_rto_s=prepared.seconds(transport["min_rto"]),
        tags_by=scheme["tagger"]["kind"],
    )


def _star(tables: dict[str, Any]) -> dict[str, Any]:
    topology: dict[str, Any] = tables["topology"]
    _one_of("topology.kind", topology["kind"], ["star"])
    if topology["senders"] >= MOST_HOSTS:
        message = f"{topology['senders']} are too many; a testbed has fewer than {MOST_HOSTS}"
        raise SpecError("topology.senders", message)
    return topology


def _one_of(path: str, value: str, known: Any) -> None:
    if value not in known:
        raise SpecError(path, f"{value!r} is not what a testbed has: {', '.join(known)}")


def _port(prepared: Prepared, key: str, rate: float) -> Port:
    scheme = prepared.tables["scheme"]
    port = scheme[key]
    kind = port["discipline"]["kind"]
    _one_of(f"scheme.{key}.discipline.kind", kind, ["fifo", "priority", "mapped"])
    marks = None
    if port["ecn_threshold"] != "none":
        _one_of(f"scheme.{key}.ecn_scope", port["ecn_scope"], ["port"])
        _one_of(f"scheme.{key}.ecn_at", port["ecn_at"], ["enqueue"])
        marks = prepared.bytes_at(port["ecn_threshold"], rate)
    thresholds = () if kind == "fifo" else _thresholds(prepared, key)
    if len(thresholds) >= len(CODES):
        raise SpecError(f"scheme.{key}.discipline", f"has more than {len(CODES)} queues")
    return Port(rate, prepared.bytes_at(port["buffer"], rate), marks, thresholds)


def _thresholds(prepared: Prepared, key: str) -> tuple[int, ...]:
    """Of a port with bands, in bytes that a flow has sent, or that it has outstanding."""
    scheme = prepared.tables["scheme"]
    discipline, tagger = scheme[key]["discipline"], scheme["tagger"]
    _one_of("scheme.tagger.kind", tagger["kind"], TAGGERS[1:])
    if discipline["kind"] == "mapped":
        mapping = discipline["mapping"]
        _one_of(f"scheme.{key}.discipline.mapping.kind", mapping["kind"], ["static"])
        discipline = mapping
    if not isinstance(discipline["thresholds"], list):
        message = "has a table for each switch; a testbed's ports have thresholds in common"
        raise SpecError(f"scheme.{key}.discipline", message)
    if tagger["kind"] == "sent":
        return tuple(discipline["thresholds"])
    # Tags count MTUs, rounded up, and end at the cap.
    unit, *caps = (prepared.bytes_at(tagger[k], 0) for k in ("mtu", "cap", "write_buffer"))
    in_bytes = (tag * unit for tag in discipline["thresholds"])
    return tuple(value if value < min(caps) else NEVER for value in in_bytes)
