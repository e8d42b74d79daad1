"""The same flows on Linux: in virtual time where its kernel is built, skipped elsewhere."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

import fctlab
from fctlab import testbed
from fctlab.testbed import contained, network, plan, port, uml
from tests.conftest import PROGRAM, SCENARIOS, Program

STAR = fctlab.load_scenario(SCENARIOS / "linux-star.toml")
SHORT = STAR.set("traffic.flows", 80)

in_virtual_time = pytest.mark.skipif(bool(uml.lacks()), reason=f"virtual time: {uml.lacks()}")


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
        ("scheme.preset", "ads", "scheme.tagger.kind: 'outstanding'"),
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
    lines = port.lines("eth0", pias.ports[0], pias)
    kinds = [line.split()[8] for line in lines if line.startswith("qdisc") and "parent" in line]
    assert kinds == ["red", "prio", *["bfifo"] * 8]
    filters = [line.split()[-4:] for line in lines if line.startswith("filter")]
    assert filters[0] == ["0x28", "0xfc", "flowid", "3:1"]
    leaves = port.lines("eth0", pias.ports[0], pias, lacks=frozenset({"prio", "red"}))
    assert sum(line.startswith("class") for line in leaves) == 9
    job = network.job(pias, [(0.0, 0, 8, 1000)], network.Kernel(frozenset({"netem"})))
    assert len(job["namespaces"]) == 10 and "ifb" not in str(job)


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


def running(word: str) -> set[str]:
    """Processes whose command line has a word."""
    found = set()
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word in each.read_text():
                found.add(each.parent.name)
        except OSError:
            continue
    return found


@in_virtual_time
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left(how: signal.Signals, tmp_path: Path) -> None:
    before = running("time-travel=inf-cpu")
    words = [PROGRAM, "testbed", "run", str(SCENARIOS / "linux-star.toml")]
    process = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE)
    while not running("time-travel=inf-cpu") - before:
        time.sleep(0.1)
        assert process.poll() is None
    process.send_signal(how)
    process.communicate(timeout=20)
    for _ in range(50):
        left = running("time-travel=inf-cpu") - before
        if not left:
            break
        time.sleep(0.1)
    assert not left
    assert process.returncode == {signal.SIGKILL: -9}.get(how, 130)


def test_containers_end_with_what_they_hold() -> None:
    if why := contained.lacks():
        pytest.skip(why)
    probe = "ip netns add inner && ls /run/netns && ip -n inner link"
    done = subprocess.run(contained.command(["sh", "-c", probe]), capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("inner\n"), done.stderr
    assert "inner" not in subprocess.run(["ip", "netns"], capture_output=True, text=True).stdout
