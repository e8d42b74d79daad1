"""The same flows on Linux: in virtual time where its kernel is built, skipped elsewhere."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fctlab
from fctlab import testbed
from fctlab.jobs import Job, Told, run_jobs
from fctlab.studies import linux
from fctlab.testbed import (
    bpf,
    congestion,
    contained,
    namespaces,
    network,
    plan,
    port,
    queues,
    uml,
)
from fctlab.testbed import (
    running as replaying,
)
from tests.conftest import PROGRAM, SCENARIOS, Program

pytestmark = pytest.mark.xdist_group("linux")  # some look for processes that others start

STAR = fctlab.load_scenario(SCENARIOS / "linux-star.toml")
SHORT = STAR.set("traffic.flows", 80)

in_real_time = pytest.mark.skipif(
    bool(namespaces.lacks()), reason=f"namespaces: {namespaces.lacks()}"
)
in_virtual_time = pytest.mark.skipif(bool(uml.lacks()), reason=f"virtual time: {uml.lacks()}")
with_bpf = pytest.mark.skipif(bool(bpf.lacks()), reason=str(bpf.lacks()))
NO_DCTCP_HERE = congestion.lacks() or queues.lacks()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A guest that stalls fails its test, and not the whole suite."""
    monkeypatch.setattr(uml, "PATIENCE_S", 120.0)


def test_a_plan_has_the_bytes_of_the_scenario() -> None:
    found = plan.of(STAR.resolve())
    # 10 packets and 0.143 of the 12,500 bytes that 100 us are; 240 packets and 2 of them.
    assert found.ports[8].mark_bytes == pytest.approx(15_000 + 0.143 * 12_500, abs=1)
    assert found.ports[8].buffer_bytes == 360_000 + 25_000
    # 100 us without four transmissions, over four links.
    assert found.delay_s == pytest.approx((100e-6 - 2 * 1540 * 8e-9) / 4)
    assert (found.congestion, found.window_packets, found.min_rto_s) == ("dctcp", 10, 0.001)


def test_another_rate_keeps_bytes_and_stretches_times() -> None:
    slow = plan.of(plan.at_rate(STAR, "200Mbps").resolve())
    fast = plan.of(STAR.resolve())
    assert slow.ports[0].rate_bps == 200e6
    assert slow.ports[0].mark_bytes == fast.ports[0].mark_bytes
    assert slow.delay_s == pytest.approx(5 * fast.delay_s)


@pytest.mark.parametrize(
    ("key", "value", "where"),
    [
        ("scheme.preset", "fq", "scheme.port.discipline.kind: 'fq'"),
        ("scheme.preset", "hpcc", "scheme.transport.kind: 'hpcc'"),
        ("scheme.preset", "ads", "scheme.port.discipline.mapping.kind: 'dynamic'"),
        ("scheme.preset", "pfabric", "scheme.transport.kind: 'mintcp'"),
        ("measure.fct_ends", "ack", "measure.fct_ends: 'ack'"),
        ("topology.host_rate", "10Gbps", "topology.host_rate: is beyond"),
    ],
)
def test_what_no_testbed_has_is_told(key: str, value: str, where: str) -> None:
    with pytest.raises(fctlab.SpecError, match=where):
        testbed.run(STAR.set(key, value), "uml")


def test_a_place_that_is_none(program: Program) -> None:
    done = program("testbed", "run", str(SCENARIOS / "linux-star.toml"), "--on", "moon")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: --on: 'moon' is none of uml")


def test_priorities_are_bands_in_the_order_of_service() -> None:
    pias = plan.of(STAR.set("scheme.preset", "pias").resolve())
    lines = port.lines("eth0", pias.ports[0], pias, port.Kernel())
    kinds = [line.split()[8] for line in lines if line.startswith("qdisc") and "parent" in line]
    assert kinds == ["red", "prio", *["bfifo"] * 8]
    filters = [line.split()[-4:] for line in lines if line.startswith("filter")]
    assert filters[0] == ["0x28", "0xfc", "flowid", "3:1"]
    without = port.Kernel(frozenset({"prio", "red", "netem"}))
    leaves = port.lines("eth0", pias.ports[0], pias, without)
    assert sum(line.startswith("class") for line in leaves) == 9
    job = network.job(pias, [(0.0, 0, 8, 1000)], without, network.Made())
    assert len(job["namespaces"]) == 10 and "ifb" not in str(job)


ADS = STAR.set("scheme.preset", "ads").set(
    "scheme.port.discipline.mapping", {"kind": "static", "thresholds": [2, 100, *[1399] * 5]}
)


def test_hosts_of_ads_tag_by_bytes_outstanding() -> None:
    found = plan.of(ADS.resolve())
    # Tags count MTUs and are at most 1399, above which is none.
    assert found.nics[0].thresholds == (3_000, 150_000, *[plan.NEVER] * 5)
    assert (found.tags_by, found.congestion) == ("outstanding", "reno")
    made = network.Made(tagger=Path("tagger.o"))
    job = network.job(found, [(0.0, 0, 8, 1000)], port.Kernel(), made)
    assert job["sizes_marked"]
    assert "egress prio 1 bpf direct-action obj tagger.o sec left" in str(job)


@in_virtual_time
def test_linux_in_virtual_time_is_near_the_engine_and_repeats(tmp_path: Path) -> None:
    ran = testbed.run(SHORT, "uml", out=tmp_path / "linux")
    again = testbed.run(SHORT, "uml")
    fct = float(ran.linux.flows["fct_s"].to_numpy().mean())
    # The same bytes, as far as is known; a kernel's threads may come in another order one day.
    assert fct == pytest.approx(again.linux.flows["fct_s"].to_numpy().mean(), rel=0.01)
    assert fct == pytest.approx(ran.simulated.flows["fct_s"].to_numpy().mean(), rel=0.1)
    saved = fctlab.load(tmp_path / "linux")
    assert isinstance(saved, fctlab.Result)
    assert saved.engine.startswith("Linux 6.") and saved.flows.equals(ran.linux.flows)
    # Connections are opened in one round trip of bare headers: all that a lone flow takes longer.
    longer = ran.linux.flows["fct_s"].to_numpy() - ran.linux.flows["ideal_fct_s"].to_numpy()
    assert 72e-6 < longer.min() < 78e-6


@in_virtual_time
def test_acks_wait_once_the_window_has_grown() -> None:
    """Alone, a flow has an ACK for each packet until then, and for every second one after it."""
    one = STAR.set("traffic.flows", 1).set("scheme.preset", "tcp")
    one = one.set("traffic.workload", {"kind": "fixed", "size": "10MB"})
    ran = testbed.run(one, "uml")
    (row,) = ran.linux.flows.iter_rows(named=True)
    queues = ran.counters["switch"]["queues"]
    (acks,) = (
        queue["packets"]
        for queue in queues
        if (queue["dev"], queue["kind"]) == (f"port{row['src']}", "htb")
    )
    packets = -(-10_000_000 // 1460)
    # Two more are the answers that open and close the connection.
    assert 2 * acks - packets == pytest.approx(linux.GROWS, abs=4)


@in_virtual_time
@with_bpf
def test_hosts_tag_by_bytes_sent() -> None:
    pias = STAR.set("scheme.preset", "pias").set("traffic.flows", 40)
    thresholds = plan.of(pias.resolve()).thresholds
    ran = testbed.run(pias, "uml")
    queues = ran.counters["switch"]["queues"]
    bands = {
        q["handle"]: q["bytes"] for q in queues if q["dev"] == "port8" and len(q["handle"]) == 3
    }
    sizes = ran.linux.flows["size_bytes"].to_numpy()
    # Of each flow, what it sends up to the first threshold.
    first = np.minimum(sizes, thresholds[0] + 1460).sum()
    assert bands["10:"] == pytest.approx(first * 1500 / 1460, rel=0.02)
    assert sum(bands.values()) == pytest.approx(sizes.sum() * 1500 / 1460, rel=0.02)
    assert all(each["timeouts"] < 100 for each in ran.counters.values())


@in_virtual_time
@with_bpf
def test_hosts_tag_by_bytes_outstanding() -> None:
    few = ADS.set("traffic.flows", 20)
    ran = testbed.run(few, "uml")
    bands = {
        q["handle"]: q["bytes"]
        for q in ran.counters["switch"]["queues"]
        if q["dev"] == "port8" and len(q["handle"]) == 3
    }
    sizes = ran.linux.flows["size_bytes"].to_numpy().astype(float)
    # What is sent while more is left; a window later its ACKs have told how much is.
    early = np.maximum(sizes - 150_000, 0).sum() * 1500 / 1460
    assert early < bands["12:"] < 1.1 * early
    assert 0 < bands["10:"] < bands["11:"]


def running(word: str, folder: Path) -> set[str]:
    """Processes of a folder whose command line has a word; other tests have theirs elsewhere."""
    found = set()
    for each in Path("/proc").glob("[0-9]*"):
        try:
            if word in (each / "cmdline").read_text() and (each / "cwd").resolve() == folder:
                found.add(each.name)
        except OSError:
            continue
    return found


@in_real_time
def test_namespaces_finish_all_flows(program: Program) -> None:
    tcp = ("--set", "scheme.preset=tcp", "--set", "traffic.flows=20", "--rate", "400Mbps")
    star = str(SCENARIOS / "linux-star.toml")
    done = program("testbed", "run", star, "--on", "namespaces", *tcp, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    linux, here = (told[key][0] for key in ("summary", "simulated"))
    assert (linux["flows"], linux["unfinished"]) == (20, 0)
    # What waits for the machine takes longer; a link is never faster than it is.
    assert 0.7 * here["avg_fct_s"] < linux["avg_fct_s"] < 10 * here["avg_fct_s"] + 0.2
    assert sum(each["bytes"] for each in told["namespaces"]["switch"]["queues"]) > 0


@in_real_time
def test_what_this_kernel_lacks_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    lacks = namespaces.kernel().lacks
    assert lacks <= {"htb", "prio", "red", "netem", "dctcp"}
    without = port.Kernel(frozenset({"dctcp", "red", "netem"}))
    dctcp, tcp = (plan.of(STAR.set("scheme.preset", name).resolve()) for name in ("dctcp", "tcp"))
    no_netem = "this kernel has no netem: links have no delay but the machine's own"
    assert namespaces.check(tcp, without) == [no_netem]
    for module in (congestion, queues):
        monkeypatch.setattr(module, "lacks", lambda: None)
    assert namespaces.check(dctcp, without) == [
        "this kernel has no dctcp: it is given one in BPF",
        "this kernel has no red: ports mark in BPF, and bands share a buffer",
        no_netem,
    ]
    for module, word in ((queues, "red"), (congestion, "dctcp")):
        monkeypatch.setattr(module, "lacks", lambda: "a reason")
        with pytest.raises(fctlab.SpecError, match=f"this kernel has no {word}, and a reason; "):
            namespaces.check(dctcp, without)


BARE = port.Kernel(frozenset({"dctcp", "red", "prio", "netem"}), burst_bytes=15_000)
"""The least kernel that runs all of it in BPF."""


def in_bpf(ran: testbed.Ran) -> list[dict[str, Any]]:
    """Queues in BPF of a run; nothing waits in them any more."""
    tables = ran.counters.values()
    found = [queue for each in tables for queue in each["queues"] if queue["kind"] == "bpf"]
    assert len(found) == 18 and not any(queue["waits"] for queue in found)
    return found


@in_real_time
@pytest.mark.skipif(bool(NO_DCTCP_HERE), reason=str(NO_DCTCP_HERE))
def test_dctcp_and_marks_in_bpf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespaces, "kernel", lambda: BARE)
    ran = testbed.run(STAR.set("traffic.flows", 20), "namespaces", rate="400Mbps")
    assert ran.linux.report["summary"][0]["unfinished"] == 0
    found = in_bpf(ran)
    to_receiver = next(queue for queue in found if queue["dev"] == "port8")
    sizes = ran.linux.flows["size_bytes"].to_numpy()
    # Packets, and the few that were sent again; as the scenario counts their headers.
    packets = sizes.sum() / 1460
    assert to_receiver["bytes"] == pytest.approx(packets * 1500, rel=0.05)
    # Windows follow marks: a queue seldom gets far above the threshold.
    assert to_receiver["marked"] > 0.01 * packets
    assert sum(queue["drops"] for queue in found) < 0.01 * packets
    # It has gone with its run.
    assert "fctlab" not in namespaces.AVAILABLE.read_text()


@in_virtual_time
@with_bpf
@pytest.mark.skipif(bool(queues.lacks()), reason=str(queues.lacks()))
def test_marks_in_bpf_are_those_of_red(monkeypatch: pytest.MonkeyPatch) -> None:
    pias = SHORT.set("scheme.preset", "pias")
    with_red = testbed.run(pias, "uml")
    monkeypatch.setattr(replaying, "_kernel", lambda *_: port.Kernel(frozenset({"red"})))
    ran = testbed.run(pias, "uml")
    marks = sum(queue["marked"] for queue in in_bpf(ran))
    tables = with_red.counters.values()
    theirs = sum(queue.get("marked", 0) for each in tables for queue in each["queues"])
    assert marks == pytest.approx(theirs, rel=0.15) and theirs > 10_000
    averages = [each.linux.report["summary"][0]["avg_fct_s"] for each in (ran, with_red)]
    assert averages[0] == pytest.approx(averages[1], rel=0.03)


@with_bpf
def test_dctcp_compiles(tmp_path: Path) -> None:
    out = tmp_path / "dctcp.o"
    bpf.build("dctcp", {}, out, "scheme.transport.kind")
    assert b".struct_ops.link" in out.read_bytes()


@with_bpf
def test_what_does_not_compile_is_told(tmp_path: Path) -> None:
    with pytest.raises(fctlab.SpecError, match=r"key: queue does not compile \(clang, "):
        bpf.build("queue", {}, tmp_path / "queue.o", "key")


def test_without_a_compiler_the_key_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bpf, "CLANG", "no-such-clang")
    with pytest.raises(fctlab.SpecError, match="needs a program in BPF: no-such-clang cannot be"):
        bpf.build("queue", {}, tmp_path / "queue.o", "key")


@in_real_time
@with_bpf
def test_the_log_of_the_verifier_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    if NO_DCTCP_HERE:
        pytest.skip(NO_DCTCP_HERE)
    source = "int f(void *c) { return *(int *)(unsigned long)0; }"
    wrong = f'__attribute__((section("enter"))) {source}'
    words = [bpf.CLANG, "-O1", "-g", "-target", "bpf", "-x", "c", "-", "-c", "-o"]
    monkeypatch.setattr(
        queues,
        "build",
        lambda _, out: subprocess.run([*words, out], input=wrong.encode(), check=True),
    )
    monkeypatch.setattr(namespaces, "kernel", lambda: BARE)
    with pytest.raises(fctlab.SpecError, match="its verifier's log is ") as told:
        testbed.run(SHORT, "namespaces")
    log = Path(str(told.value).split("log is ")[1]).read_text()
    assert "BEGIN PROG LOAD LOG" in log


def _left(word: str, folder: Path) -> set[str]:
    """What still runs after five seconds: what is killed ends when the kernel comes to it."""
    for _ in range(50):
        if not running(word, folder):
            break
        time.sleep(0.1)
    return running(word, folder)


def _nothing_is_left(place: str, why: str | None, how: signal.Signals, folder: Path) -> None:
    if why:
        pytest.skip(f"{place}: {why}")
    word = {"uml": "time-travel=inf-cpu", "namespaces": "testbed/inside.py"}[place]
    words = [PROGRAM, "testbed", "run", str(SCENARIOS / "linux-star.toml"), "--on", place]
    words += ["--set", "scheme.preset=tcp"]
    process = subprocess.Popen(words, cwd=folder, stderr=subprocess.PIPE)
    while not running(word, folder):
        time.sleep(0.1)
        assert process.poll() is None, process.communicate()
    process.send_signal(how)
    process.communicate(timeout=20)
    assert not _left(word, folder)
    assert process.returncode == {signal.SIGKILL: -9}.get(how, 130)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_virtual_time(how: signal.Signals, tmp_path: Path) -> None:
    _nothing_is_left("uml", uml.lacks(), how, tmp_path)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_namespaces(how: signal.Signals, tmp_path: Path) -> None:
    _nothing_is_left("namespaces", namespaces.lacks(), how, tmp_path)


def test_containers_end_with_what_they_hold() -> None:
    if why := contained.lacks():
        pytest.skip(why)
    probe = "ip netns add inner && ls /run/netns && ip -n inner link"
    done = subprocess.run(contained.command(["sh", "-c", probe]), capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("inner\n"), done.stderr
    assert "inner" not in subprocess.run(["ip", "netns"], capture_output=True, text=True).stdout


def _waits(given: str, told: Told) -> None:
    contained.run(["sleep", given], network=False)


def _fails(given: str, told: Told) -> None:
    while not running(given, Path.cwd()):
        time.sleep(0.05)
    raise LookupError(given)


def test_what_is_contained_ends_with_its_job() -> None:
    if why := contained.lacks():
        pytest.skip(why)
    both = [Job("waits", _waits, "61.5"), Job("fails", _fails, "61.5")]
    began = time.monotonic()
    with pytest.raises(LookupError):
        list(run_jobs(both, 2))
    assert time.monotonic() - began < 20
    assert not _left("61.5", Path.cwd())


@in_virtual_time
def test_a_guest_that_stalls_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    init = tmp_path / "init"
    init.write_text("#!/bin/sh\nwhile :; do :; done\n")
    init.chmod(0o755)
    monkeypatch.setattr(uml, "PATIENCE_S", 1.0)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fctlab.SpecError, match="did not end within 1 s; it was killed"):
        uml.start_with(init, 1)
    assert not _left(str(init), tmp_path)


@in_virtual_time
def test_a_guest_that_panics_ends(tmp_path: Path) -> None:
    init = tmp_path / "init"
    init.write_text("#!/bin/sh\nexit 3\n")  # A kernel without its first process panics.
    init.chmod(0o755)
    assert uml.start_with(init, 1).returncode != 0
