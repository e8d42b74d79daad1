"""What runs where the namespaces are: builds the network, sends the flows, reads the counters.

A program of the standard library alone, given a job as JSON (`fctlab.testbed.network`): it is the
first process of a User Mode Linux, or runs in namespaces that end with it. Every socket belongs to
the namespace of its host, and one process sees all of them, so that there is one clock.

FCT starts where a socket starts to connect and ends where the receiver has read the last byte.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000
TFD_TIMER_ABSTIME = 1
POWER_OFF = 0x4321FEDC
"""reboot(2)."""
PORT = 5001
CHUNK = memoryview(bytes(1 << 20))
ROOM = bytearray(1 << 20)
WAKE_AT = 1 << 18
"""Bytes that a receiver waits for at most (SO_RCVLOWAT)."""
TOTAL_RETRANS = 100
"""Offset of ``tcpi_total_retrans`` in ``struct tcp_info``."""
MOST_MARK = (1 << 32) - 1
VERIFIER = "BEGIN PROG LOAD LOG"
CLOSES_S = 5.0
"""A queue is empty by then."""
READ = ("bpftool", "-j", "map", "dump", "pinned")
SETTLE_S = 0.5
"""Between the network and the first flow."""


def main(job_file: str, answer_file: str) -> None:
    """Do a job; what went wrong is an answer, too."""
    try:
        job = json.loads(Path(job_file).read_text())
        build(job)
        with given(job):
            answer = Flows(job).run()
        answer["counters"] = {name: counters(name) for name in job["namespaces"]}
        if job["queues"]:
            for (name, device), queue in zip(job["links"], closed(job["queues"]), strict=False):
                answer["counters"][name]["queues"].append({"dev": device, **queue})
        answer["kernel"] = os.uname().release
    except BaseException as error:
        answer = {"error": f"{type(error).__name__}: {error}", "log": getattr(error, "log", "")}
    written = Path(f"{answer_file}.new")
    written.write_text(json.dumps(answer))
    written.rename(answer_file)
    if os.getpid() == 1 and "poweroff" in sys.argv:
        os.sync()
        LIBC.reboot(POWER_OFF)


# Namespaces


@contextmanager
def _turned_to(name: str) -> Iterator[None]:
    """Sockets and ``/proc/sys/net`` are those of a namespace meanwhile."""
    before = os.open("/proc/self/ns/net", os.O_RDONLY)
    try:
        there = os.open(f"/run/netns/{name}", os.O_RDONLY)
        _enter(there)
        os.close(there)
        yield
    finally:
        _enter(before)
        os.close(before)


def _enter(handle: int) -> None:
    if LIBC.setns(handle, CLONE_NEWNET):
        code = ctypes.get_errno()
        raise OSError(code, f"setns: {os.strerror(code)}")


def build(job: dict[str, Any]) -> None:
    """Namespaces, links, addresses, settings and queues; whatever is refused ends it."""
    tables: dict[str, dict[str, Any]] = job["namespaces"]
    for name in tables:
        _do(["ip", "netns", "add", name])
    for program in ("ip", "tc"):
        for name, table in tables.items():
            if program == "tc":
                _settings(name, table["settings"])
            if table[program]:
                # Not -n, which has a /sys/fs/bpf of its own.
                with _turned_to(name):
                    _do([program, "-batch", "-"], "".join(f"{x}\n" for x in table[program]))


def _settings(name: str, settings: dict[str, str]) -> None:
    with _turned_to(name):
        for key, value in settings.items():
            try:
                Path("/proc/sys", key).write_text(value)
            except OSError as error:
                raise RuntimeError(f"{key} = {value}: {error.strerror}") from None


class Refused(RuntimeError):
    """A command that failed; `log` is what the kernel's verifier says, if it does."""

    def __init__(self, command: list[str], said: str) -> None:
        super().__init__(f"{' '.join(command)}: {said[:500]}")
        self.log = said if VERIFIER in said else ""


def _do(command: list[str], text: str = "") -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode != 0:
        raise Refused(command, (done.stderr or done.stdout).strip())
    return done.stdout


def counters(name: str) -> dict[str, Any]:
    """What the queues and TCP of a namespace have counted."""
    with _turned_to(name):
        lines = [
            line.split() for line in Path("/proc/thread-self/net/netstat").read_text().splitlines()
        ]
        tcp = dict(zip(lines[0][1:], map(int, lines[1][1:]), strict=True))
    queues = json.loads(_do(["tc", "-n", name, "-s", "-j", "qdisc", "show"]) or "[]")
    kept = ("dev", "kind", "handle", "packets", "bytes", "drops", "marked", "early", "pdrop")
    return {
        "timeouts": tcp["TCPTimeouts"],
        "queues": [{key: each[key] for key in kept if key in each} for each in queues],
    }


@contextmanager
def given(job: dict[str, Any]) -> Iterator[None]:
    """Meanwhile the kernel has a congestion control that a program of the job gives it."""
    if not job["gives_congestion"]:
        yield
        return
    with subprocess.Popen(
        job["gives_congestion"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as giver:
        assert giver.stdout and giver.stderr
        name = giver.stdout.readline().strip()
        if not name:
            raise RuntimeError(giver.stderr.read().strip())
        try:
            yield job.update(congestion=name)
        finally:
            giver.terminate()


def closed(pinned: str) -> list[dict[str, Any]]:
    """What the queues of links in BPF have counted, once nothing waits in them any more."""
    until = time.monotonic() + CLOSES_S
    while True:
        found = [_queue(entry["value"]) for entry in json.loads(_do([*READ, pinned]))]
        waits = sum(queue["waits"] for queue in found)
        if not waits:
            return found
        if time.monotonic() > until:
            raise RuntimeError(f"{waits} bytes of queues in BPF neither wait nor have gone out")
        time.sleep(0.01)


def _queue(value: list[str]) -> dict[str, Any]:
    """``struct queue`` of ``queue.bpf.c``."""
    raw = bytes(int(byte, 16) for byte in value)
    marked, dropped, *bands = struct.unpack(f"={len(raw) // 8}Q", raw)
    half = len(bands) // 2
    came, went = bands[:half], bands[half:]
    return {
        **{"kind": "bpf", "handle": "bpf", "bytes": sum(went), "drops": dropped, "marked": marked},
        "waits": sum(abs(a - b) for a, b in zip(came, went, strict=True)),
        "bands": [band for band in went if band],
    }


# Flows


class Flow:
    """A flow on its way."""

    def __init__(self, number: int, src: int, dst: int, size: int) -> None:
        self.number, self.src, self.dst, self.size = number, src, dst, size
        self.to_send = self.to_receive = size
        self.began = 0.0
        self.wakes_at = 0


class Flows:
    """Sends the flows of a job: start in seconds, source, destination, bytes."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.flows: list[tuple[float, int, int, int]] = job["flows"]
        self.hosts: list[tuple[str, str]] = job["hosts"]
        self.congestion: bytes = job["congestion"].encode()
        self.patience_s: float = job["patience_s"]
        self.sizes_marked: bool = job["sizes_marked"]
        self.fct_s: list[float | None] = [None] * len(self.flows)
        self.late_s = [0.0] * len(self.flows)
        self.resent = [0] * len(self.flows)
        self.poll = select.epoll()
        self.at: dict[int, Callable[[], None]] = {}
        self.coming: dict[tuple[str, int], Flow] = {}
        self.handles = [os.open(f"/run/netns/{name}", os.O_RDONLY) for name, _ in self.hosts]
        self.next = 0
        self.left = len(self.flows)
        self.heard = 0.0

    def run(self) -> dict[str, Any]:
        """All of them, until the last one is done or none has moved for a while."""
        listening = [self._listen(host) for host in range(len(self.hosts))]
        timer = LIBC.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK)
        self._watch(timer, select.EPOLLIN, lambda: None)
        self.zero = time.monotonic() + SETTLE_S
        self.heard = self.zero
        self._wake(timer)
        while self.left and time.monotonic() - self.heard < self.patience_s:
            for handle, _ in self.poll.poll(1.0):
                if handle == timer:
                    os.read(timer, 8)
                    self._start_due()
                    self._wake(timer)
                elif handle in self.at:  # Else closed by an event before it.
                    self.at[handle]()
        for each in listening:
            each.close()
        keys = ("fct_s", "late_s", "resent")
        return {key: getattr(self, key) for key in keys} | {"end_s": time.monotonic() - self.zero}

    def _listen(self, host: int) -> socket.socket:
        listener = self._socket(host)
        listener.bind((self.hosts[host][1], PORT))
        listener.listen(4096)
        self._watch(listener.fileno(), select.EPOLLIN, lambda: self._accept(listener))
        return listener

    def _socket(self, host: int) -> socket.socket:
        _enter(self.handles[host])
        made = socket.socket()
        made.setblocking(False)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self.congestion)
        return made

    def _watch(self, handle: int, events: int, then: Callable[[], None]) -> None:
        self.at[handle] = then
        self.poll.register(handle, events)

    def _wake(self, timer: int) -> None:
        """At the start of the next flow."""
        if self.next == len(self.flows):
            return
        at = max(self.zero + self.flows[self.next][0], 1e-9)
        whole = int(at)
        spec = (ctypes.c_long * 4)(0, 0, whole, int((at - whole) * 1e9))
        LIBC.timerfd_settime(timer, TFD_TIMER_ABSTIME, ctypes.byref(spec), None)

    def _start_due(self) -> None:
        now = time.monotonic()
        while self.next < len(self.flows) and self.zero + self.flows[self.next][0] <= now:
            _, src, dst, size = self.flows[self.next]
            self._start(Flow(self.next, src, dst, size))
            self.next += 1
            now = time.monotonic()

    def _start(self, flow: Flow) -> None:
        sender = self._socket(flow.src)
        if self.sizes_marked:
            size = min(flow.size, MOST_MARK).to_bytes(4, sys.byteorder)
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, size)
        sender.bind((self.hosts[flow.src][1], 0))
        flow.began = time.monotonic()
        self.heard = max(self.heard, flow.began)
        self.late_s[flow.number] = flow.began - self.zero - self.flows[flow.number][0]
        self.coming[sender.getsockname()] = flow
        sender.connect_ex((self.hosts[flow.dst][1], PORT))
        self._watch(sender.fileno(), select.EPOLLOUT, lambda: self._send(flow, sender))

    def _send(self, flow: Flow, sender: socket.socket) -> None:
        try:
            flow.to_send -= sender.send(CHUNK[: min(flow.to_send, len(CHUNK))])
        except BlockingIOError:
            return
        if flow.to_send == 0:
            sender.shutdown(socket.SHUT_WR)
            self.at[sender.fileno()] = lambda: self._sent(flow, sender)
            self.poll.modify(sender.fileno(), select.EPOLLRDHUP)

    def _sent(self, flow: Flow, sender: socket.socket) -> None:
        told = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TOTAL_RETRANS + 4)
        self.resent[flow.number] = int.from_bytes(told[TOTAL_RETRANS:], sys.byteorder)
        self._close(sender)

    def _accept(self, listener: socket.socket) -> None:
        receiver, peer = listener.accept()
        receiver.setblocking(False)
        flow = self.coming.pop(peer)
        self._wait_for(flow, receiver)
        self._watch(receiver.fileno(), select.EPOLLIN, lambda: self._receive(flow, receiver))

    def _wait_for(self, flow: Flow, receiver: socket.socket) -> None:
        wanted = min(flow.to_receive, WAKE_AT)
        if wanted != flow.wakes_at:
            receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, wanted)
            flow.wakes_at = wanted

    def _receive(self, flow: Flow, receiver: socket.socket) -> None:
        try:
            # TCP throws away what is truncated: nothing is copied.
            got = receiver.recv_into(ROOM, len(ROOM), socket.MSG_TRUNC)
        except BlockingIOError:
            return
        now = time.monotonic()
        self.heard = max(self.heard, now)
        if got == 0:
            raise RuntimeError(f"flow {flow.number} ended {flow.to_receive} bytes too early")
        flow.to_receive -= got
        if flow.to_receive:
            self._wait_for(flow, receiver)
            return
        self.fct_s[flow.number] = now - flow.began
        self.left -= 1
        self._close(receiver)

    def _close(self, one: socket.socket) -> None:
        del self.at[one.fileno()]
        self.poll.unregister(one.fileno())
        one.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
