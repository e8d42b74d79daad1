"""Run in namespaces of its own by `test_host_tagger`: a sender, a receiver, and the tagger."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fctlab.testbed import inside

HOST = sys.argv[1]
SYN = 2
BANDS = ("--thresholds", "20000", "--dscp", "10,18")


def network(router: bool) -> None:
    """Sender a, receiver b, and the tagger's device: a's own, or a router's between them."""
    names = ("a", "r", "b") if router else ("a", "b")
    for name in names:
        subprocess.run(["ip", "netns", "add", name], check=True)
        subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
    lines = ["link add eth0 type veth peer name eth0 netns b", "address add 10.9.0.1/24 dev eth0"]
    others = ["address add 10.9.0.2/24 dev eth0", "link set eth0 up"]
    if router:
        lines = [
            "link add eth0 type veth peer name in netns r",
            "address add 10.9.1.1/24 dev eth0",
        ]
        between = [
            "link add eth0 type veth peer name eth0 netns b",
            "address add 10.9.0.1/24 dev eth0",
            "address add 10.9.1.2/24 dev in",
            "link set eth0 up",
            "link set in up",
        ]
    lines += ["link set eth0 up"]
    batch("a", lines + (["route add default via 10.9.1.2"] if router else []))
    if router:
        batch("r", between)
        with inside._turned_to("r"):
            Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
    batch("b", others + (["route add default via 10.9.0.1"] if router else []))
    for name in ("a", "b"):
        with inside._turned_to(name):
            Path("/proc/sys/net/ipv4/tcp_ecn").write_text("1")


def batch(name: str, lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    subprocess.run(["ip", "-n", name, "-batch", "-"], input=text, text=True, check=True)


def attach(where: str, *more: str, rights: str = "+all") -> subprocess.Popen[str]:
    """A tagger that runs, with some rights of root."""
    only = ["setpriv", "--bounding-set", f"-all,{rights}"] if rights != "+all" else []
    words = ["nsenter", f"--net=/run/netns/{where}", *only, HOST, "attach", "--device", "eth0"]
    started = subprocess.Popen([*words, *BANDS, *more], stderr=subprocess.PIPE, text=True)
    assert started.stderr is not None
    line = started.stderr.readline()
    if not line.startswith("tagging"):
        raise RuntimeError(line + started.stderr.read())
    return started


def send(size: int) -> list[tuple[int, int, int, bool, int]]:
    """Of each packet of data: offset, DSCP, ECN, whether its checksum is good, source port."""
    with inside._turned_to("b"):
        heard = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
        heard.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        heard.bind(("eth0", 0))
        listener = socket.create_server(("10.9.0.2", 5001))
    with inside._turned_to("a"):
        sender = socket.create_connection(("10.9.0.2", 5001))
    receiver, _ = listener.accept()
    got = 0

    def read() -> None:
        nonlocal got
        while chunk := receiver.recv(1 << 16):
            got += len(chunk)

    reader = threading.Thread(target=read)
    reader.start()
    sender.sendall(bytes(size))
    sender.close()
    reader.join()
    receiver.close()
    listener.close()
    time.sleep(0.1)
    assert got == size
    return parsed(heard)


def parsed(heard: socket.socket) -> list[tuple[int, int, int, bool, int]]:
    heard.setblocking(False)
    found: list[tuple[int, int, int, bool, int]] = []
    first: int | None = None
    while True:
        try:
            frame = heard.recv(1 << 17)
        except BlockingIOError:
            return found
        if frame[12:14] != b"\x08\x00" or frame[23] != 6:
            continue
        ip = frame[14:34]
        words = [int.from_bytes(ip[i : i + 2], "big") for i in range(0, 20, 2)]
        total = sum(words)
        total = (total & 0xFFFF) + (total >> 16)
        port = int.from_bytes(frame[34:36], "big")
        number = int.from_bytes(frame[38:42], "big")
        data = int.from_bytes(ip[2:4], "big") - 20 - 4 * (frame[46] >> 4)
        good = (total & 0xFFFF) + (total >> 16) == 0xFFFF
        if frame[47] & SYN:
            found.append((-1, ip[1] >> 2, ip[1] & 3, good, port))
        elif data:
            first = number if first is None else first
            found.append((number - first, ip[1] >> 2, ip[1] & 3, good, port))


def left() -> list[str]:
    """What is at the device and among the names."""
    pins = [str(each) for each in Path("/sys/fs/bpf").glob("fctlab/*")]
    words = ["tc", "-n", "a", "filter", "show", "dev", "eth0", "egress"]
    filters = subprocess.run(words, capture_output=True, text=True).stdout.split("\n")
    programs = json.loads(subprocess.run(["bpftool", "-j", "prog"], capture_output=True).stdout)
    here = [each["name"] for each in programs if each.get("name") == "tag_sent"]
    return pins + [line for line in filters if line] + here


def bands() -> dict[str, Any]:
    network(router=False)
    batch("a", ["link set eth0 gso_max_segs 1"])
    tagger = attach("a", rights="+bpf,+net_admin,+perfmon")
    packets = send(200_000)
    words = [HOST, "set-thresholds", "--device", "eth0", "--thresholds", "5000000"]
    subprocess.run([*words, "--dscp", "10,18"], check=True)
    shown = subprocess.run([HOST, "show", "--device", "eth0"], capture_output=True, text=True)
    after = send(200_000)
    tagger.terminate()
    tagger.wait()
    mine = [each[:4] for each in packets if each[0] >= 0]
    return {
        "packets": mine,
        "opening": sorted({each[1] for each in packets if each[0] < 0 and each[4] != 5001}),
        "changed": sorted({each[1] for each in after if each[0] >= 0}),
        "shown": shown.stdout,
    }


def outstanding() -> dict[str, Any]:
    network(router=False)
    batch("a", ["link set eth0 gso_max_segs 1"])
    tagger = attach("a", "--by", "outstanding")
    packets = send(2_000_000)
    tagger.terminate()
    tagger.wait()
    return {"dscps": [each[1] for each in packets if each[0] >= 0]}


def router() -> dict[str, Any]:
    network(router=True)
    tagger = attach("r")
    packets = send(100_000)
    tagger.terminate()
    tagger.wait()
    return {"dscps": sorted({each[1] for each in packets if each[0] >= 0})}


def ends() -> dict[str, Any]:
    network(router=False)
    tagger = attach("a")
    try:
        attach("a")
        second = ""
    except RuntimeError as error:
        second = str(error)
    tagger.terminate()
    tagger.wait()
    after_term = left()
    killed = attach("a")
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    again = attach("a")
    again.terminate()
    again.wait()
    return {"after_term": after_term, "after_kill_and_next": left(), "second": second}


def records(file: str) -> dict[str, Any]:
    network(router=False)
    group = Path(f"/run/cgroup/fctlab-{os.getpid()}")
    Path("/run/cgroup").mkdir()
    subprocess.run(["mount", "-t", "cgroup2", "none", "/run/cgroup"], check=True)
    group.mkdir()
    try:
        tagger = attach("a", "--records", file, "--cgroup", str(group), "--cost")
        (group / "cgroup.procs").write_text("0")
        send(100_000)
        time.sleep(0.3)
        tagger.send_signal(signal.SIGINT)
        assert tagger.stderr is not None
        cost = tagger.stderr.read()
        tagger.wait()
    finally:
        Path("/run/cgroup/cgroup.procs").write_text("0")
        group.rmdir()
    return {"cost": cost}


DOES: dict[str, Callable[..., dict[str, Any]]] = {
    "bands": bands,
    "outstanding": outstanding,
    "router": router,
    "ends": ends,
    "records": records,
}

if __name__ == "__main__":
    print(json.dumps(DOES[sys.argv[2]](*sys.argv[3:])))
