"""The job that `inside` does: namespaces, links, settings and queues of a plan, and its flows.

A host is a namespace with one device, ``eth0``; the switch is one that routes. A link's rate is
in the queue before it. Its delay, and the time that a packet takes to be sent, are in a ``netem``
at the far end (an ``ifb`` device): in the host they would count as bytes that wait, and TCP would
send no more (TCP small queues).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fctlab.testbed import port as ports
from fctlab.testbed import queues, tagger
from fctlab.testbed.plan import IP_AND_TCP, Plan, Port
from fctlab.testbed.port import Kernel

PATIENCE_S = 120.0
"""Without a byte received or a flow started, the rest is unfinished."""
SWITCH = "switch"
MANY = 1_000_000
"""Packets on a wire."""
WIRE_SPEED = 1.02
"""A wire is faster than the port before it, or packets would queue in it."""
MEMORY = "4096 4194304 67108864"
"""Least, first and most bytes of a socket's buffer."""

SETTINGS = {
    "net/ipv4/tcp_timestamps": "0",
    "net/ipv4/tcp_no_metrics_save": "1",
    "net/ipv4/tcp_slow_start_after_idle": "0",
    "net/ipv4/tcp_wmem": MEMORY,
    "net/ipv4/tcp_rmem": MEMORY,
    "net/ipv4/tcp_max_syn_backlog": "4096",
    "net/core/somaxconn": "4096",
}


@dataclass(frozen=True)
class Made:
    """Programs in BPF; ``None`` where none is needed.

    Attributes:
        tagger: compiled, of a plan with priorities.
        queues: compiled, where the kernel does not mark.
        congestion: the command that gives the kernel a congestion control and prints its name.
    """

    tagger: Path | None = None
    queues: Path | None = None
    congestion: Sequence[str] = ()


def job(
    plan: Plan,
    flows: Sequence[tuple[float, int, int, int]],
    kernel: Kernel,
    made: Made,
    settings: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """What `inside.main` reads.

    Args:
        plan: the network.
        flows: start in seconds, source, destination, bytes; in order of start.
        kernel: where it is to run.
        made: programs that the plan needs there.
        settings: of hosts, besides those that all have.
    """
    hosts = range(len(plan.ports))
    tables = {SWITCH: _switch(plan, kernel, made)}
    for host in hosts:
        tables[f"host{host}"] = _host(host, plan, kernel, made)
        tables[f"host{host}"]["settings"] |= settings or {}
    return {
        "namespaces": tables,
        "hosts": [(f"host{host}", _address(host)) for host in hosts],
        "flows": list(flows),
        "congestion": plan.congestion,
        "gives_congestion": list(made.congestion),
        "queues": queues.PINNED if made.queues else None,
        "links": [(SWITCH, f"port{host}") for host in hosts]
        + [(f"host{host}", "eth0") for host in hosts],
        "sizes_marked": plan.tags_by == "outstanding",
        "patience_s": PATIENCE_S,
    }


def _address(host: int, end: int = 2) -> str:
    """A /24 for each link: the host is 2, the switch 1."""
    return f"10.7.{host}.{end}"


def _mac(host: int, end: int) -> str:
    return f"02:00:00:00:{host:02x}:{end:02x}"


def _host(host: int, plan: Plan, kernel: Kernel, made: Made) -> dict[str, Any]:
    window = f"initcwnd {plan.window_packets} initrwnd {max(plan.window_packets, 64)}"
    timer = f"rto_min {max(round(plan.min_rto_s * 1000), 1)}ms"
    ip = [
        "link set lo up",
        f"address add {_address(host)}/24 dev eth0",
        "link set eth0 up",
        f"neighbour replace {_address(host, 1)} lladdr {_mac(host, 1)} dev eth0",
        f"route add default via {_address(host, 1)} {window} {timer}",
    ]
    wire_ip, wire_tc = _wire("eth0", "wire", plan.ports[host].rate_bps, plan, kernel)
    tc = _port("eth0", plan.nics[host], plan, kernel, made, len(plan.ports) + host, host)
    tags = tagger.lines("eth0", made.tagger, plan) if made.tagger else []
    settings = SETTINGS | {"net/ipv4/tcp_ecn": str(int(plan.congestion == "dctcp"))}
    return {"ip": ip + wire_ip, "tc": tc + wire_tc + tags, "settings": settings}


def _port(
    device: str, port: Port, plan: Plan, kernel: Kernel, made: Made, sends: int, receives: int
) -> list[str]:
    """A device that sends to one link, and receives from another."""
    clsact = f"qdisc add dev {device} clsact"
    if made.queues is None:
        return [*ports.lines(device, port, plan, kernel), clsact]
    disciplines = ports.lines(device, queues.behind(port), plan, kernel)
    return [*disciplines, clsact, *queues.lines(device, made.queues, sends, receives)]


def _switch(plan: Plan, kernel: Kernel, made: Made) -> dict[str, Any]:
    ip, tc = [], []
    mtu = plan.payload_bytes + IP_AND_TCP
    for host, port in enumerate(plan.ports):
        device = f"port{host}"
        sizes = f"mtu {mtu} gso_max_segs 1 numtxqueues 1 numrxqueues 1"
        ip += [
            f"link add {device} address {_mac(host, 1)} {sizes} type veth "
            f"peer name eth0 address {_mac(host, 2)} {sizes} netns host{host}",
            f"address add {_address(host, 1)}/24 dev {device}",
            f"link set {device} up",
            f"neighbour replace {_address(host)} lladdr {_mac(host, 2)} dev {device}",
        ]
        wire_ip, wire_tc = _wire(device, f"wire{host}", plan.nics[host].rate_bps, plan, kernel)
        ip += wire_ip
        tc += _port(device, port, plan, kernel, made, host, len(plan.ports) + host) + wire_tc
    return {"ip": ip, "tc": tc, "settings": {"net/ipv4/ip_forward": "1"}}


def _wire(
    device: str, name: str, rate: float, plan: Plan, kernel: Kernel
) -> tuple[list[str], list[str]]:
    """What arrives at a device was on a wire before."""
    if "netem" in kernel.lacks:
        return [], []
    ip = [f"link add {name} numtxqueues 1 numrxqueues 1 type ifb", f"link set {name} up"]
    speed = f"rate {rate * WIRE_SPEED:.0f}bit {plan.overhead_bytes}"
    delay = f"delay {plan.delay_s * 1e6:.3f}us"
    tc = [
        f"qdisc add dev {name} root netem limit {MANY} {delay} {speed}",
        f"filter add dev {device} ingress protocol all prio 2 matchall "
        f"action mirred egress redirect dev {name}",
    ]
    return ip, tc
